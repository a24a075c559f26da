//! The counts of one thread that wait to be added to the partitions of a [`SharedTable`].
//!
//! Each partition has a chain of chunks that are filled one after another, so counts are always written to cached
//! memory. [`PartitionLog::flush`] takes the partitions one by one:
//!
//! ```text
//! for each partition, with its lock: for each of its chunks: add the counts to its tables
//! ```
//!
//! Meanwhile the tables of that partition stay in the cache. So if many counts wait, adding them waits for memory once
//! per cache line of a table and not once per count. A log of more counts than that gains nothing: it no longer fits in
//! the cache itself, and its new memory has to be cleared. So the log grows with the tables.
//!
//! Tried (`cargo run --release --example count`): a log of 1 or 2 MB (languages 2 to 4 % slower), or of 16 MB from the
//! start (English and C 7 %, languages 19 % slower, because of its pages); chunks of 512 bytes to 8 KB (no difference
//! beyond noise); postponing partitions that another thread has locked (no difference); at the end, one thread per
//! partition for the logs of all threads (languages 10 % faster and English 5 % slower on a Zen 3, no difference on a
//! Zen 4).

use super::long_table::LongAddend;
use super::shared_table::{N_PARTITIONS, SharedTable, partition_of};
use super::short_key_table::KeyCount;
use crate::budget::Budget;
use crate::error::Result;
use crate::memory::{TryReserve, Zero, Zeros};
use crate::prefetch::{LINE_BYTES, prefetch};
use crate::pretokens::key::PretokenKey;
use crate::short_bytes;

/// Number of counts that are added to a table together: all their slots are prefetched before the first is read.
const BATCH: usize = 32;

/// Bytes of a chunk.
const CHUNK_BYTES: usize = 4096;

/// Bytes of the three numbers before each long pretoken in a chunk: its hash, its count and its length.
const HEADER_BYTES: usize = 3 * size_of::<u64>();

/// Longer pretokens do not wait in the log; they are added to the shared table at once.
const MAX_LOGGED_BYTES: usize = CHUNK_BYTES / 4;

/// Initial maximum bytes of the log. It rises to the bytes of all tables divided by [`TABLES_PER_LOG`] once that is at
/// least twice as much.
const FIRST_BYTES: usize = 4 << 20;

/// Bytes of the tables per byte of the log. So a partition gets about one count per line of its table.
const TABLES_PER_LOG: usize = 8;

const WHAT: &str = "the counts of a thread";

/// The waiting counts of one thread.
pub(super) struct PartitionLog {
    short: Chains<KeyCount>,
    long: Chains<u8>,
}

/// Returns the maximum bytes of the waiting short pretokens of one of `n_threads` threads; the same again for its long
/// ones.
pub(super) fn max_bytes(max_memory: Option<u64>, n_threads: usize) -> usize {
    let (of_all, of_one) = if usize::BITS < 64 { (1 << 24, 1 << 20) } else { (1 << 28, 1 << 24) };
    // Under a limit, stay below a huge page, which would be touched as a whole.
    let (of_all, of_one) =
        max_memory.map_or((of_all, of_one), |max_memory| (of_all.min(max_memory / 32), of_one.min(1 << 20)));
    (of_all / n_threads.max(1) as u64).min(of_one) as usize
}

impl PartitionLog {
    /// The minimum memory of a log with short and long pretokens: for each kind, a chunk per partition.
    pub(super) const MIN_BYTES: usize = 2 * N_PARTITIONS * CHUNK_BYTES;

    /// Creates an empty log. `max_bytes` is the result of [`max_bytes`], or less.
    pub(super) fn new(max_bytes: usize) -> Self {
        PartitionLog { short: Chains::new(max_bytes), long: Chains::new(max_bytes) }
    }

    /// Makes room for `n` calls of [`add_key`](Self::add_key), by growing or by flushing.
    #[inline(always)]
    pub(super) fn make_room(&mut self, table: &SharedTable, n: usize) -> Result<()> {
        if self.short.has_room(n) { Ok(()) } else { self.make_more_room(table, n) }
    }

    #[cold]
    #[inline(never)]
    fn make_more_room(&mut self, table: &SharedTable, n: usize) -> Result<()> {
        if self.short.grow(n, &table.memory.budget)? { Ok(()) } else { self.flush_short(table) }
    }

    /// Adds to the count of a key.
    #[inline(always)]
    pub(super) fn add_key(&mut self, key: &PretokenKey, hash: u64, count: u64) {
        self.short.take(partition_of(hash), 1)[0] = KeyCount { key: *key, hash, count };
    }

    /// Adds to the count of a pretoken that has no key.
    pub(super) fn add_long(&mut self, table: &SharedTable, pretoken: &[u8], count: u64) -> Result<()> {
        let hash = table.hasher.hash_bytes(pretoken);
        if pretoken.len() > MAX_LOGGED_BYTES {
            return table.add_long(LongAddend { pretoken, hash, count });
        }
        if !self.long.has_room(1) && !self.long.grow(1, &table.memory.budget)? {
            self.flush_long(table)?;
        }
        let room = self.long.take(partition_of(hash), HEADER_BYTES + pretoken.len());
        let (header, bytes) = room.split_at_mut(HEADER_BYTES);
        let (numbers, _) = header.as_chunks_mut::<8>();
        for (number, value) in numbers.iter_mut().zip([hash, count, pretoken.len() as u64]) {
            *number = value.to_le_bytes();
        }
        short_bytes::copy(pretoken, bytes);
        Ok(())
    }

    /// Adds all waiting counts to the partitions.
    pub(super) fn flush(&mut self, table: &SharedTable) -> Result<()> {
        self.flush_short(table)?;
        self.flush_long(table)
    }

    fn flush_short(&mut self, table: &SharedTable) -> Result<()> {
        table.for_each_partition(|index, partition| {
            let n_waiting = self.short.chunks(index).map(<[_]>::len).sum();
            partition.short.reserve_first(n_waiting, &table.memory)?;
            let mut batches = self.short.chunks(index).flat_map(|chunk| chunk.chunks(BATCH));
            batches.try_for_each(|batch| partition.short.add(batch, &table.memory))
        })?;
        self.short.clear(table.memory.n_bytes());
        Ok(())
    }

    fn flush_long(&mut self, table: &SharedTable) -> Result<()> {
        table.for_each_partition(|index, partition| {
            let mut batch = [LongAddend::default(); BATCH];
            let mut n_taken = 0;
            partition.long.reserve_first(self.long.chunks(index).map(<[_]>::len).sum(), &table.memory)?;
            for addend in self.long.chunks(index).flat_map(addends) {
                batch[n_taken] = addend;
                n_taken += 1;
                if n_taken == BATCH {
                    partition.long.add(&batch, &table.memory)?;
                    n_taken = 0;
                }
            }
            partition.long.add(&batch[..n_taken], &table.memory)
        })?;
        self.long.clear(table.memory.n_bytes());
        Ok(())
    }

    /// Drops the log and returns its memory to the budget of `table`.
    pub(super) fn release(self, table: &SharedTable) {
        table.memory.budget.release((self.short.n_chunks + self.long.n_chunks) * CHUNK_BYTES);
    }
}

/// Iterates over the long pretokens in the bytes of a chunk.
fn addends(mut bytes: &[u8]) -> impl Iterator<Item = LongAddend<'_>> {
    std::iter::from_fn(move || {
        let (header, rest) = bytes.split_first_chunk::<HEADER_BYTES>()?;
        let (numbers, _) = header.as_chunks::<8>();
        let [hash, count, n_bytes] = [0, 1, 2].map(|index| u64::from_le_bytes(numbers[index]));
        let pretoken;
        (pretoken, bytes) = rest.split_at(n_bytes as usize);
        Some(LongAddend { pretoken, hash, count })
    })
}

/// Chains of chunks, one for each partition.
struct Chains<T> {
    /// Space for the maximum number of chunks, of [`Self::SIZE`] items each; empty until the first is needed. Untouched
    /// memory costs only address space.
    items: Zeros<T>,
    /// For each chunk in use, the previous chunk of its chain.
    before: Vec<Taken>,
    /// For each partition, the last chunk of its chain.
    last: [Taken; N_PARTITIONS],
    /// Number of chunks charged to the budget.
    n_chunks: usize,
    /// Maximum of `n_chunks`, until the tables grow.
    n_wanted: usize,
    max_bytes: usize,
}

/// A chunk, and how many of its items are in use.
#[derive(Clone, Copy)]
struct Taken {
    chunk: u32,
    n: u32,
}

impl<T: Zero> Chains<T> {
    /// Number of items in a chunk.
    const SIZE: usize = CHUNK_BYTES / size_of::<T>();

    /// Stands for no chunk. It counts as full, so that a real one is started.
    const NONE: Taken = Taken { chunk: u32::MAX, n: Self::SIZE as u32 };

    fn new(max_bytes: usize) -> Self {
        let last = [Self::NONE; N_PARTITIONS];
        let n_wanted = max_bytes.min(FIRST_BYTES) / CHUNK_BYTES;
        Chains { items: Zeros::default(), before: Vec::new(), last, n_chunks: 0, n_wanted, max_bytes }
    }

    /// Returns whether `n` more chunks can be started without growing.
    #[inline(always)]
    fn has_room(&self, n: usize) -> bool {
        self.before.len() + n <= self.n_chunks
    }

    /// Doubles the memory charged to the budget; returns false if that is not possible. The first call charges a chunk
    /// per partition, and at least `n`.
    fn grow(&mut self, n: usize, budget: &Budget) -> Result<bool> {
        if self.n_chunks == 0 {
            let n_first = n.max(N_PARTITIONS);
            // Take the first of these sizes that can be mapped.
            let most = [self.max_bytes / CHUNK_BYTES, self.n_wanted, 0].map(|n| n.max(n_first));
            self.map_chunks(most[0])
                .or_else(|_| self.map_chunks(most[1]))
                .or_else(|_| self.map_chunks(most[2]))?;
            budget.take(n_first * CHUNK_BYTES, WHAT)?;
            self.n_chunks = n_first;
            return Ok(true);
        }
        let has_room = 2 * self.n_chunks <= self.n_wanted.min(self.items.len() / Self::SIZE);
        if !has_room || budget.take(self.n_chunks * CHUNK_BYTES, WHAT).is_err() {
            return Ok(false);
        }
        self.n_chunks *= 2;
        Ok(true)
    }

    /// Maps memory for `n_chunks` chunks. None must be mapped yet.
    fn map_chunks(&mut self, n_chunks: usize) -> Result<()> {
        self.before.grow(n_chunks, WHAT)?;
        self.items = Zeros::in_pages(n_chunks * Self::SIZE, WHAT)?;
        Ok(())
    }

    /// Returns the next `n` items of a partition, all in one chunk.
    ///
    /// Prefetches the line after them: the stores of a thread finish in order, so one that waits for memory delays all
    /// later ones (without the prefetch, one thread is 5 to 7 % slower).
    #[inline(always)]
    fn take(&mut self, partition: usize, n: usize) -> &mut [T] {
        if self.last[partition].n as usize + n > Self::SIZE {
            self.start_chunk(partition);
        }
        let last = &mut self.last[partition];
        let start = last.chunk as usize * Self::SIZE + last.n as usize;
        last.n += n as u32;
        prefetch(self.items.as_ptr().wrapping_add(start + n).cast::<u8>().wrapping_add(LINE_BYTES));
        &mut self.items[start..start + n]
    }

    #[cold]
    #[inline(never)]
    fn start_chunk(&mut self, partition: usize) {
        let chunk = Taken { chunk: self.before.len() as u32, n: 0 };
        self.before.push(std::mem::replace(&mut self.last[partition], chunk));
    }

    /// Iterates over the chunks of a partition, the last chunk first.
    fn chunks(&self, partition: usize) -> impl Iterator<Item = &[T]> {
        let mut next = self.last[partition];
        std::iter::from_fn(move || {
            let Taken { chunk, n } = next;
            next = *self.before.get(chunk as usize)?;
            let start = chunk as usize * Self::SIZE;
            Some(&self.items[start..start + n as usize])
        })
    }

    /// Empties all chains but keeps their memory. Raises its maximum if the tables of all partitions, with
    /// `table_bytes` in total, have grown enough.
    fn clear(&mut self, table_bytes: usize) {
        self.before.clear();
        self.last = [Self::NONE; N_PARTITIONS];
        let n_wanted = (table_bytes / TABLES_PER_LOG).min(self.max_bytes) / CHUNK_BYTES;
        if n_wanted >= 2 * self.n_wanted {
            self.n_wanted = n_wanted;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn log_adds_each_count_once_however_often_it_is_full() {
        for most in [0, 1 << 19, 1 << 25] {
            let table = SharedTable::new(None).unwrap();
            let mut log = PartitionLog::new(most);
            let mut expected = BTreeMap::new();
            for number in 0..60_000_u64 {
                let (key, count) = (PretokenKey { lo: 1 + number % 7_000, hi: 0 }, number % 5 + 1);
                let width = 16 + number as usize % 90;
                let long = format!("{:0width$}", number % 3_000);
                log.make_room(&table, 1).unwrap();
                log.add_key(&key, table.hasher.hash(key), count);
                log.add_long(&table, long.as_bytes(), count).unwrap();
                *expected.entry(key.padded().to_vec()).or_insert(0) += count;
                *expected.entry(long.into_bytes()).or_insert(0) += count;
                assert!(log.short.n_chunks * CHUNK_BYTES <= most.max(N_PARTITIONS * CHUNK_BYTES));
            }
            let very_long = vec![b'x'; 3 * CHUNK_BYTES];
            log.add_long(&table, &very_long, 4).unwrap();
            expected.insert(very_long, 4);
            log.flush(&table).unwrap();
            let mut found = BTreeMap::new();
            table
                .for_each_partition(|_, partition| {
                    let short =
                        partition.short.iter().map(|short| (short.key.padded().to_vec(), short.count));
                    let long = partition.long.iter().map(|long| (long.pretoken.to_vec(), long.count));
                    for (pretoken, count) in short.chain(long) {
                        assert!(found.insert(pretoken, count).is_none(), "each pretoken is in one partition");
                    }
                    Ok(())
                })
                .unwrap();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn log_waits_for_no_memory_that_is_refused() {
        let table = SharedTable::new(Some(1_500_000)).unwrap();
        let mut log = PartitionLog::new(1 << 25);
        for number in 0..100_000_u64 {
            let key = PretokenKey { lo: 1 + number % 100, hi: 0 };
            log.make_room(&table, 1).unwrap();
            log.add_key(&key, table.hasher.hash(key), 1);
        }
        log.flush(&table).unwrap();
        log.release(&table);
        let mut n = 0;
        table
            .for_each_partition(|_, partition| {
                n += partition.short.iter().map(|short| short.count).sum::<u64>();
                Ok(())
            })
            .unwrap();
        assert_eq!(n, 100_000);
    }

    #[test]
    fn chains_grow_with_the_tables_and_keep_what_is_taken() {
        let budget = Budget::new(None);
        let mut chains = Chains::<u8>::new(1 << 24);
        // Bytes of the tables, and the log's maximum after that.
        for (table_bytes, expected) in
            [(0, FIRST_BYTES), (1 << 20, FIRST_BYTES), (1 << 26, 1 << 23), (usize::MAX, 1 << 24)]
        {
            let mut n_taken = 0;
            for number in 0..20_000_usize {
                if !chains.has_room(1) && !chains.grow(1, &budget).unwrap() {
                    break;
                }
                chains.take(number % N_PARTITIONS, 700).fill((number % N_PARTITIONS) as u8);
                n_taken += 1;
            }
            let mut n_found = 0;
            for partition in 0..N_PARTITIONS {
                for chunk in chains.chunks(partition) {
                    assert!(chunk.iter().all(|&byte| byte == partition as u8));
                    n_found += chunk.len() / 700;
                }
            }
            assert_eq!(n_found, n_taken);
            chains.clear(table_bytes);
            assert_eq!(chains.n_wanted * CHUNK_BYTES, expected);
            assert_eq!(chains.items.len(), 1 << 24, "mapped once");
        }
    }

    #[test]
    fn threads_share_the_memory_of_the_log() {
        assert_eq!(max_bytes(None, 2), if usize::BITS < 64 { 1 << 20 } else { 1 << 24 });
        assert!(max_bytes(None, 1000) * 1000 <= 1 << 28);
        assert!(max_bytes(Some(64_000_000), 4) * 4 <= 2_000_000);
        assert!(max_bytes(Some(1 << 40), 2) < 2 << 20, "no huge pages under a limit");
    }
}
