//! The counts of all threads: hash tables partitioned by hash, each behind a lock.
//!
//! Threads add batches of keys that their own tables put out, so one lock serves many keys. Memory depends on the
//! number of distinct pretokens and not on the number of threads, which is why threads do not keep a map each. The
//! columns of the result are written in one pass, in parallel over partitions.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hashbrown::HashTable;

use super::pretoken_counts::PretokenCounts;
use super::short_key_table::{Addend, ShortKeyTable};
use crate::budget::Budget;
use crate::cpu::CpuTier;
use crate::error::{Error, Result};
use crate::memory::{TryReserve, filled};
use crate::pretokens::key::{KeyHasher, PretokenKey};

/// Enough partitions that threads seldom wait for a lock.
const N_PARTITIONS: usize = 64;

/// Keys that are collected for a partition before its lock is taken.
const BATCH: usize = 32;

const TABLE: &str = "the table of distinct pretokens";

/// The counts of all threads.
pub(super) struct SharedTable {
    partitions: Vec<Mutex<Partition>>,
    pub(super) hasher: KeyHasher,
    pub(super) budget: Budget,
}

#[derive(Default)]
struct Partition {
    short: ShortKeyTable,
    long: HashTable<LongEntry>,
    arena: Vec<u8>,
}

/// A pretoken too long for a [`PretokenKey`]: its bytes in the arena of the partition, and its count.
struct LongEntry {
    hash: u64,
    start: usize,
    n_bytes: usize,
    count: u64,
}

/// The partition of a hash. Uses bits that the tables do not: those of threads and partitions use the lowest ones,
/// hashbrown also the seven highest.
fn partition_of(hash: u64) -> usize {
    (hash >> 48) as usize % N_PARTITIONS
}

impl SharedTable {
    /// An empty table; `max_memory` bounds its budget.
    pub(super) fn new(max_memory: Option<u64>) -> Result<Self> {
        let mut partitions = Vec::with_room(N_PARTITIONS, TABLE)?;
        partitions.resize_with(N_PARTITIONS, || Mutex::new(Partition::default()));
        Ok(SharedTable {
            partitions,
            hasher: KeyHasher::new(CpuTier::best()),
            budget: Budget::new(max_memory),
        })
    }

    /// Adds to the count of a pretoken that is too long for a [`PretokenKey`].
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

    /// The columns, with totals of zero, written by up to `threads` threads. Each partition is freed once it is
    /// written.
    pub(super) fn into_counts(self, threads: usize) -> Result<PretokenCounts> {
        let mut partitions = Vec::with_room(N_PARTITIONS, TABLE)?;
        partitions.extend(
            self.partitions.into_iter().map(|part| part.into_inner().unwrap_or_else(PoisonError::into_inner)),
        );
        let sizes: Vec<(usize, usize)> = partitions.iter().map(Partition::size).collect();
        let n_bytes: usize = sizes.iter().map(|size| size.0 * 2 * size_of::<u64>() + size.1).sum();
        self.budget.take(n_bytes, "the columns of the counts")?;
        PretokenCounts::assemble(&sizes, partitions, threads, |part, columns| {
            for (key, count) in part.short.iter() {
                columns.push(&key.padded()[..key.n_bytes()], count);
            }
            for entry in part.long.iter().filter(|entry| entry.count != 0) {
                columns.push(entry.bytes(&part.arena), entry.count);
            }
        })
    }

    fn lock(&self, index: usize) -> MutexGuard<'_, Partition> {
        // A poisoned lock means that a thread panicked; that panic is propagated when the threads are joined.
        self.partitions[index].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Partition {
    /// The number of pretokens whose count is not 0, and their bytes.
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

/// Short keys that a thread collects for each partition.
pub(super) struct Batches {
    /// [`BATCH`] slots for each partition.
    slots: Vec<Addend>,
    n_taken: [u8; N_PARTITIONS],
}

impl Batches {
    /// Empty batches; their memory is taken from the budget of `table`.
    pub(super) fn new(table: &SharedTable) -> Result<Self> {
        const WHAT: &str = "the counting table of a thread";
        table.budget.take(N_PARTITIONS * BATCH * size_of::<Addend>(), WHAT)?;
        let slots =
            filled(N_PARTITIONS * BATCH, Addend { key: PretokenKey::EMPTY, hash: 0, count: 0 }, WHAT)?;
        Ok(Batches { slots, n_taken: [0; N_PARTITIONS] })
    }

    /// Adds a key with its count.
    pub(super) fn add(&mut self, table: &SharedTable, key: PretokenKey, count: u64) -> Result<()> {
        let hash = table.hasher.hash(key);
        let index = partition_of(hash);
        let n_taken = &mut self.n_taken[index];
        self.slots[index * BATCH + usize::from(*n_taken)] = Addend { key, hash, count };
        *n_taken += 1;
        if usize::from(*n_taken) == BATCH { self.flush_one(table, index) } else { Ok(()) }
    }

    /// Moves all keys to the partitions.
    pub(super) fn flush(&mut self, table: &SharedTable) -> Result<()> {
        (0..N_PARTITIONS).try_for_each(|index| self.flush_one(table, index))
    }

    fn flush_one(&mut self, table: &SharedTable, index: usize) -> Result<()> {
        let n_taken = usize::from(std::mem::take(&mut self.n_taken[index]));
        let batch = &self.slots[index * BATCH..index * BATCH + n_taken];
        table.lock(index).short.add(batch, table.hasher, &table.budget)
    }
}

/// Makes room for one more entry, within `budget`.
fn reserve(table: &mut HashTable<LongEntry>, budget: &Budget) -> Result<()> {
    if table.len() < table.capacity() {
        return Ok(());
    }
    // hashbrown doubles the number of buckets; a bucket takes an entry and a control byte, and at most 7/8 are used.
    let n_buckets = (table.len() + 1).saturating_mul(8).div_ceil(7).next_power_of_two().max(4);
    budget.take(n_buckets.saturating_mul(size_of::<LongEntry>() + 1) + 16, TABLE)?;
    let before = table.allocation_size();
    table.try_reserve(1, |entry| entry.hash).map_err(Error::out_of_memory(TABLE))?;
    budget.give_freed(before);
    Ok(())
}

/// Appends to an arena, within `budget`.
pub(super) fn append(arena: &mut Vec<u8>, bytes: &[u8], budget: &Budget) -> Result<()> {
    const ARENA: &str = "the arena of long pretokens";
    if arena.capacity() - arena.len() < bytes.len() {
        let before = arena.capacity();
        let wanted = (arena.len() + bytes.len()).max(arena.len() + arena.len() / 2).max(256);
        budget.take(wanted, ARENA)?;
        arena.try_reserve_exact(wanted - arena.len()).map_err(Error::out_of_memory(ARENA))?;
        budget.give_freed(before);
    }
    arena.extend_from_slice(bytes);
    Ok(())
}
