//! Where the counts of all threads meet: tables cut by hash, each behind a lock of its own.
//!
//! Enters: batches of keys with counts, from the threads' own tables when those make room. Leaves: the
//! columns of [`PretokenCounts`]. Cost: one probe per key that a thread's table put out, in batches, so
//! that a lock is taken once for many keys; freezing is one pass, in parallel over partitions. Memory
//! depends on the number of distinct pretokens, not on that of threads: this is why threads do not keep
//! maps of their own, to be added at the end.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hashbrown::HashTable;

use super::pretoken_counts::PretokenCounts;
use super::short_key_table::{Addend, ShortKeyTable};
use crate::budget::Budget;
use crate::cpu::CpuTier;
use crate::error::{Error, Result};
use crate::memory::{TryReserve, filled};
use crate::pretokens::key::{KeyHasher, PretokenKey};

/// How many partitions there are: enough that threads seldom meet at a lock.
const N_PARTITIONS: usize = 64;

/// Keys that gather for a partition before its lock is taken.
const BATCH: usize = 32;

const TABLE: &str = "the table of distinct pretokens";

/// The counts of all threads.
pub(super) struct SharedTable {
    parts: Vec<Mutex<Partition>>,
    pub(super) hasher: KeyHasher,
    pub(super) budget: Budget,
}

#[derive(Default)]
struct Partition {
    short: ShortKeyTable,
    long: HashTable<LongEntry>,
    arena: Vec<u8>,
}

/// A pretoken that has no [`PretokenKey`]: where it stands in its partition's arena, and its count.
struct LongEntry {
    hash: u64,
    start: usize,
    n_bytes: usize,
    count: u64,
}

/// The partition that a hash belongs to, by bits that no table within uses: threads' and partitions' use
/// the lowest, hashbrown the seven highest too.
fn partition_of(hash: u64) -> usize {
    (hash >> 48) as usize % N_PARTITIONS
}

impl SharedTable {
    /// Empty partitions with an account of memory that starts at nothing.
    pub(super) fn new(max_memory: Option<u64>) -> Result<Self> {
        let mut parts = Vec::with_room(N_PARTITIONS, TABLE)?;
        parts.resize_with(N_PARTITIONS, || Mutex::new(Partition::default()));
        Ok(SharedTable { parts, hasher: KeyHasher::new(CpuTier::best()), budget: Budget::new(max_memory) })
    }

    /// Adds to the count of a pretoken that has no [`PretokenKey`].
    pub(super) fn add_long(&self, hash: u64, pretoken: &[u8], count: u64) -> Result<()> {
        let mut part = self.lock(partition_of(hash));
        let Partition { long, arena, .. } = &mut *part;
        let found = long.find_mut(hash, |entry| entry.hash == hash && entry.bytes(arena) == pretoken);
        if let Some(entry) = found {
            entry.count += count;
            return Ok(());
        }
        reserve(long, &self.budget)?;
        let start = arena.len();
        append(arena, pretoken, &self.budget)?;
        let entry = LongEntry { hash, start, n_bytes: pretoken.len(), count };
        long.insert_unique(hash, entry, |entry| entry.hash);
        Ok(())
    }

    /// The columns, their totals at nothing yet, made by up to `threads` threads. SharedTable are given up
    /// as they are read.
    pub(super) fn into_counts(self, threads: usize) -> Result<PretokenCounts> {
        let mut parts = Vec::with_room(N_PARTITIONS, TABLE)?;
        parts.extend(
            self.parts.into_iter().map(|part| part.into_inner().unwrap_or_else(PoisonError::into_inner)),
        );
        let sizes: Vec<(usize, usize)> = parts.iter().map(Partition::size).collect();
        let n_bytes: usize = sizes.iter().map(|size| size.0 * 2 * size_of::<u64>() + size.1).sum();
        self.budget.take(n_bytes, "the columns of the counts")?;
        PretokenCounts::assemble(&sizes, parts, threads, |part, columns| {
            for (key, count) in part.short.iter() {
                columns.push(&key.padded()[..key.n_bytes()], count);
            }
            for entry in part.long.iter().filter(|entry| entry.count != 0) {
                columns.push(entry.bytes(&part.arena), entry.count);
            }
        })
    }

    fn lock(&self, index: usize) -> MutexGuard<'_, Partition> {
        // A poisoned lock means that a thread panicked, and that panic is already on its way out.
        self.parts[index].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Partition {
    /// How many pretokens there are whose count is not 0, and the bytes of them.
    fn size(&self) -> (usize, usize) {
        let short = self.short.iter().map(|(key, _)| key.n_bytes());
        let long = self.long.iter().filter(|entry| entry.count != 0).map(|entry| entry.n_bytes);
        short.chain(long).fold((0, 0), |(n, n_bytes), length| (n + 1, n_bytes + length))
    }
}

impl LongEntry {
    fn bytes<'a>(&self, arena: &'a [u8]) -> &'a [u8] {
        &arena[self.start..self.start + self.n_bytes]
    }
}

/// Short keys on their way to the partitions, gathered by partition.
pub(super) struct Batches {
    /// [`BATCH`] places for each partition.
    places: Vec<Addend>,
    n_taken: [u8; N_PARTITIONS],
}

impl Batches {
    /// Nothing on its way; the memory is on the partitions' books.
    pub(super) fn new(table: &SharedTable) -> Result<Self> {
        const WHAT: &str = "the counting table of a thread";
        table.budget.take(N_PARTITIONS * BATCH * size_of::<Addend>(), WHAT)?;
        let places =
            filled(N_PARTITIONS * BATCH, Addend { key: PretokenKey::EMPTY, hash: 0, count: 0 }, WHAT)?;
        Ok(Batches { places, n_taken: [0; N_PARTITIONS] })
    }

    /// Sends a key with its count on the way.
    pub(super) fn add(&mut self, table: &SharedTable, key: PretokenKey, count: u64) -> Result<()> {
        let hash = table.hasher.hash(key);
        let index = partition_of(hash);
        let n_taken = &mut self.n_taken[index];
        self.places[index * BATCH + usize::from(*n_taken)] = Addend { key, hash, count };
        *n_taken += 1;
        if usize::from(*n_taken) == BATCH { self.flush_one(table, index) } else { Ok(()) }
    }

    /// Lets all that is on its way arrive.
    pub(super) fn flush(&mut self, table: &SharedTable) -> Result<()> {
        (0..N_PARTITIONS).try_for_each(|index| self.flush_one(table, index))
    }

    fn flush_one(&mut self, table: &SharedTable, index: usize) -> Result<()> {
        let n_taken = usize::from(std::mem::take(&mut self.n_taken[index]));
        let batch = &self.places[index * BATCH..index * BATCH + n_taken];
        table.lock(index).short.add(batch, table.hasher, &table.budget)
    }
}

/// Makes room for one more entry, on the books of `budget`.
fn reserve(table: &mut HashTable<LongEntry>, budget: &Budget) -> Result<()> {
    if table.len() < table.capacity() {
        return Ok(());
    }
    // hashbrown doubles: an entry and a control byte for each bucket, a bucket for at most 7/8 of an entry.
    let n_buckets = (table.len() + 1).saturating_mul(8).div_ceil(7).next_power_of_two().max(4);
    budget.take(n_buckets.saturating_mul(size_of::<LongEntry>() + 1) + 16, TABLE)?;
    let before = table.allocation_size();
    table.try_reserve(1, |entry| entry.hash).map_err(Error::out_of_memory(TABLE))?;
    budget.give(before);
    Ok(())
}

/// Appends to an arena, on the books of `budget`.
pub(super) fn append(arena: &mut Vec<u8>, bytes: &[u8], budget: &Budget) -> Result<()> {
    const ARENA: &str = "the arena of long pretokens";
    if arena.capacity() - arena.len() < bytes.len() {
        let before = arena.capacity();
        let wanted = (arena.len() + bytes.len()).max(arena.len() + arena.len() / 2).max(256);
        budget.take(wanted, ARENA)?;
        arena.try_reserve_exact(wanted - arena.len()).map_err(Error::out_of_memory(ARENA))?;
        budget.give(before);
    }
    arena.extend_from_slice(bytes);
    Ok(())
}
