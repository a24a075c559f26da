//! The counts of all threads: 64 partitions, each with a lock, selected by bits of the hash.
//!
//! Threads add counts evicted from their own tables, many at a time ([`super::partition_log`]), so a lock is taken once
//! for many counts. The memory of the tables depends on the number of distinct pretokens, not on the number of threads.
//! [`SharedTable::into_counts`] turns the tables into columns in one parallel pass.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::long_table::{LongAddend, LongTable};
use super::pretoken_counts::PretokenCounts;
use super::short_key_table::ShortKeyTable;
use super::table_memory::TableMemory;
use crate::cpu::CpuTier;
use crate::error::Result;
use crate::memory::TryReserve;
use crate::pretokens::key::{KeyHasher, MAX_BYTES};
use crate::train::WeightedPretokens;

/// Number of partitions: enough that threads rarely wait for a lock.
pub(super) const N_PARTITIONS: usize = 64;

const TABLE: &str = "the table of distinct pretokens";

/// The counts of all threads.
pub(super) struct SharedTable {
    parts: Vec<Mutex<Partition>>,
    /// Number of calls of [`SharedTable::for_each_partition`].
    n_passes: AtomicUsize,
    pub(super) hasher: KeyHasher,
    pub(super) memory: TableMemory,
}

#[derive(Default)]
pub(super) struct Partition {
    pub(super) short: ShortKeyTable,
    pub(super) long: LongTable,
}

/// Returns the partition of a hash, selected by bits that no table uses: the tables of threads and partitions use the
/// lowest bits.
pub(super) fn partition_of(hash: u64) -> usize {
    (hash >> 48) as usize % N_PARTITIONS
}

impl SharedTable {
    /// Creates an empty table.
    pub(super) fn new(max_memory: Option<u64>) -> Result<Self> {
        let mut parts = Vec::with_reserved(N_PARTITIONS, TABLE)?;
        parts.resize_with(N_PARTITIONS, || Mutex::new(Partition::default()));
        Ok(SharedTable {
            parts,
            n_passes: AtomicUsize::new(0),
            hasher: KeyHasher::new(CpuTier::best()),
            memory: TableMemory::new(max_memory),
        })
    }

    /// Reserves capacity for the pretokens of `part`, which must be distinct: growing later would cost as much as
    /// adding them. Each partition gets a little less than an equal share, so that none gets more than it needs.
    pub(super) fn reserve(&self, part: WeightedPretokens<'_>) -> Result<()> {
        let long = part.iter().map(|(pretoken, _)| pretoken.len()).filter(|&length| length > MAX_BYTES);
        let (n_long, n_long_bytes) = long.fold((0, 0), |(n, n_bytes), length| (n + 1, n_bytes + length));
        let share = |n: usize| n / N_PARTITIONS / 16 * 15;
        for part_of_table in 0..N_PARTITIONS {
            let Partition { short, long } = &mut *self.lock(part_of_table);
            short.reserve_total(share(part.ends.len() - n_long), &self.memory)?;
            long.reserve_total(share(n_long), share(n_long_bytes), &self.memory)?;
        }
        Ok(())
    }

    /// Adds to the count of a pretoken that is too long to be a key.
    pub(super) fn add_long(&self, addend: LongAddend<'_>) -> Result<()> {
        self.lock(partition_of(addend.hash)).long.add(&[addend], &self.memory)
    }

    /// Calls `work` with each partition, holding its lock. Each call starts at a different partition, so that threads
    /// rarely wait for each other.
    pub(super) fn for_each_partition(
        &self,
        mut work: impl FnMut(usize, &mut Partition) -> Result<()>,
    ) -> Result<()> {
        let first = self.n_passes.fetch_add(1, Ordering::Relaxed).wrapping_mul(N_PARTITIONS / 3);
        (0..N_PARTITIONS)
            .map(|index| first.wrapping_add(index) % N_PARTITIONS)
            .try_for_each(|index| work(index, &mut self.lock(index)))
    }

    /// Converts the table to columns, with totals of 0, on up to `threads` threads. Each partition is dropped once it
    /// is written.
    pub(super) fn into_counts(self, threads: usize) -> Result<PretokenCounts> {
        let mut parts = Vec::with_reserved(N_PARTITIONS, TABLE)?;
        parts.extend(
            self.parts.into_iter().map(|part| part.into_inner().unwrap_or_else(PoisonError::into_inner)),
        );
        let sizes: Vec<(usize, usize)> = parts.iter().map(Partition::size).collect();
        let n_bytes: usize = sizes.iter().map(|size| size.0 * 2 * size_of::<u64>() + size.1).sum();
        self.memory.budget.take(n_bytes, "the columns of the counts")?;
        let is_limited = self.memory.budget.is_limited();
        PretokenCounts::assemble(&sizes, parts, threads, is_limited, |part, columns| {
            for short in part.short.iter() {
                columns.push(&short.key.padded()[..short.key.n_bytes()], short.count);
            }
            for long in part.long.iter() {
                columns.push(long.pretoken, long.count);
            }
        })
    }

    fn lock(&self, index: usize) -> MutexGuard<'_, Partition> {
        // A poisoned lock means that another thread panicked, and that panic is already being reported.
        self.parts[index].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Partition {
    /// Returns the number of pretokens, and their total length in bytes.
    fn size(&self) -> (usize, usize) {
        let (short, long) = (self.short.size(), self.long.size());
        (short.0 + long.0, short.1 + long.1)
    }
}
