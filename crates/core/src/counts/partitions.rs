//! Where the counts of all threads meet: tables cut by hash, each behind a lock of its own.
//!
//! Enters: batches of keys with counts, from the threads' own tables when those make room. Leaves: the
//! columns of [`PretokenCounts`]. Cost: one probe per key that a thread's table put out, in batches, so
//! that a lock is taken once for many keys and the partition is in cache for all of them; freezing is one
//! pass, in parallel over partitions. Memory depends on the number of distinct pretokens, not on that of
//! threads: this is why threads do not keep maps of their own, to be added at the end.
//!
//! Counts are added modulo 2^64. Where a seam between ranges takes pretokens back (see `seams`), a count
//! may be "negative" for a while; the sum is exact in the end, and entries whose sum is 0 are dropped.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hashbrown::HashTable;

use super::budget::Budget;
use super::frozen::PretokenCounts;
use super::keys::{Hashing, MOST_SHORT, ShortKey};
use crate::error::{Error, Result};

/// How many partitions there are: enough that threads seldom meet at a lock.
pub(super) const N_PARTITIONS: usize = 64;

const TABLE: &str = "the table of distinct pretokens";

/// A pretoken too long for a [`ShortKey`]: where it stands in its partition's arena, and its count.
struct LongEntry {
    hash: u64,
    start: usize,
    n_bytes: usize,
    count: u64,
}

#[derive(Default)]
struct Partition {
    short: HashTable<(ShortKey, u64)>,
    long: HashTable<LongEntry>,
    arena: Vec<u8>,
}

/// The counts of all threads.
pub(super) struct Partitions {
    parts: Vec<Mutex<Partition>>,
    pub(super) hashing: Hashing,
    pub(super) budget: Budget,
}

/// The partition that a hash belongs to. The bits are those that neither a thread's table (the lowest)
/// nor a partition's (the lowest and the seven highest) uses.
#[inline]
pub(super) fn partition_of(hash: u64) -> usize {
    (hash >> 48) as usize % N_PARTITIONS
}

impl Partitions {
    /// Empty partitions with an account of memory that starts at nothing.
    pub(super) fn new(max_memory: Option<u64>) -> Result<Self> {
        let mut parts = Vec::new();
        parts.try_reserve_exact(N_PARTITIONS).map_err(Error::out_of_memory(TABLE))?;
        parts.resize_with(N_PARTITIONS, || Mutex::new(Partition::default()));
        Ok(Partitions { parts, hashing: Hashing::new(), budget: Budget::new(max_memory) })
    }

    /// Adds a batch of short keys, all of partition `index`.
    pub(super) fn add_short(&self, index: usize, batch: &[(ShortKey, u64)]) -> Result<()> {
        let mut part = self.lock(index);
        for &(key, count) in batch {
            let hash = self.hashing.short(key);
            if let Some(entry) = part.short.find_mut(hash, |entry| entry.0 == key) {
                entry.1 = entry.1.wrapping_add(count);
                continue;
            }
            reserve(&mut part.short, &self.budget, |entry| self.hashing.short(entry.0))?;
            part.short.insert_unique(hash, (key, count), |entry| self.hashing.short(entry.0));
        }
        Ok(())
    }

    /// Adds one long pretoken whose hash is `hash`.
    pub(super) fn add_long(&self, hash: u64, pretoken: &[u8], count: u64) -> Result<()> {
        let mut part = self.lock(partition_of(hash));
        let Partition { long, arena, .. } = &mut *part;
        let found = long.find_mut(hash, |entry| {
            entry.hash == hash && arena[entry.start..entry.start + entry.n_bytes] == *pretoken
        });
        if let Some(entry) = found {
            entry.count = entry.count.wrapping_add(count);
            return Ok(());
        }
        reserve(long, &self.budget, |entry| entry.hash)?;
        let start = arena.len();
        append(arena, pretoken, &self.budget)?;
        let entry = LongEntry { hash, start, n_bytes: pretoken.len(), count };
        long.insert_unique(hash, entry, |entry| entry.hash);
        Ok(())
    }

    /// The columns, with totals still at nothing. Partitions are given up as they are read.
    pub(super) fn freeze(self) -> Result<PretokenCounts> {
        let mut frozen = PretokenCounts::default();
        let (mut n_pretokens, mut n_bytes) = (0, 0);
        for index in 0..N_PARTITIONS {
            let part = self.lock(index);
            n_pretokens += part.short.len() + part.long.len();
            n_bytes += part.arena.len();
            n_bytes += part.short.iter().map(|entry| entry.0.n_bytes()).sum::<usize>();
        }
        self.budget.take(n_bytes + 16 * n_pretokens, "the columns of the counts")?;
        frozen.reserve(n_pretokens, n_bytes)?;
        for part in self.parts {
            let part = part.into_inner().unwrap_or_else(PoisonError::into_inner);
            for (key, count) in part.short.iter().filter(|entry| entry.1 != 0) {
                frozen.push(&key.padded()[..key.n_bytes().min(MOST_SHORT)], *count)?;
            }
            for entry in part.long.iter().filter(|entry| entry.count != 0) {
                frozen.push(&part.arena[entry.start..entry.start + entry.n_bytes], entry.count)?;
            }
        }
        Ok(frozen)
    }

    fn lock(&self, index: usize) -> MutexGuard<'_, Partition> {
        // A poisoned lock means that a thread panicked, and that panic is already on its way out.
        self.parts[index].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes room for one more entry, on the books of `budget`.
fn reserve<T>(table: &mut HashTable<T>, budget: &Budget, hasher: impl Fn(&T) -> u64) -> Result<()> {
    if table.len() < table.capacity() {
        return Ok(());
    }
    // hashbrown doubles: a slot and a control byte for each bucket, at most 8/7 of the entries rounded up
    // to a power of two.
    let n_buckets = (table.len() + 1).saturating_mul(8).div_ceil(7).next_power_of_two().max(4);
    let n_bytes = n_buckets.saturating_mul(size_of::<T>() + 1) + 16;
    budget.take(n_bytes, TABLE)?;
    let before = table.allocation_size();
    table.try_reserve(1, hasher).map_err(Error::out_of_memory(TABLE))?;
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
