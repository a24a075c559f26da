//! The counts of all threads: 64 hash tables, each behind a lock, chosen by bits of the hash.
//!
//! Threads add what their own tables evict, in batches, so that a lock is taken once for many keys. Memory depends on the
//! number of distinct pretokens, not on the number of threads. [`SharedTable::into_counts`] turns the tables into columns
//! in one parallel pass.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::long_table::{LongAddend, LongTable};
use super::pretoken_counts::PretokenCounts;
use super::short_key_table::{Addend, ShortKeyTable};
use crate::budget::Budget;
use crate::cpu::CpuTier;
use crate::error::Result;
use crate::memory::{TryReserve, filled};
use crate::pretokens::key::{KeyHasher, MAX_BYTES, PretokenKey};
use crate::train::WeightedPretokens;

/// The number of partitions: enough that threads seldom wait for a lock.
const N_PARTITIONS: usize = 64;

/// Keys that wait for a partition before its lock is taken.
const BATCH: usize = 32;

const TABLE: &str = "the table of distinct pretokens";

/// The counts of all threads.
pub(super) struct SharedTable {
    parts: Vec<Mutex<Partition>>,
    pub(super) hasher: KeyHasher,
    pub(super) budget: Budget,
}

#[derive(Default)]
pub(super) struct Partition {
    short: ShortKeyTable,
    long: LongTable,
}

/// The partition that a hash belongs to, by bits that no table within uses: threads' and partitions' use the lowest.
fn partition_of(hash: u64) -> usize {
    (hash >> 48) as usize % N_PARTITIONS
}

impl SharedTable {
    /// An empty table.
    pub(super) fn new(max_memory: Option<u64>) -> Result<Self> {
        let mut parts = Vec::with_room(N_PARTITIONS, TABLE)?;
        parts.resize_with(N_PARTITIONS, || Mutex::new(Partition::default()));
        Ok(SharedTable { parts, hasher: KeyHasher::new(CpuTier::best()), budget: Budget::new(max_memory) })
    }

    /// Makes room for the pretokens of `part`, which are distinct: growing later costs as much as adding them does. The
    /// partitions get a little less than their share, so that none gets more than it needs.
    pub(super) fn reserve(&self, part: WeightedPretokens<'_>) -> Result<()> {
        let starts = [0].into_iter().chain(part.ends.iter().copied());
        let lengths = part.ends.iter().zip(starts).map(|(&end, start)| (end - start) as usize);
        let long = lengths.filter(|&length| length > MAX_BYTES);
        let (n_long, n_long_bytes) = long.fold((0, 0), |(n, n_bytes), length| (n + 1, n_bytes + length));
        let share = |n: usize| n / N_PARTITIONS / 16 * 15;
        for part_of_table in 0..N_PARTITIONS {
            let Partition { short, long } = &mut *self.lock(part_of_table);
            short.reserve_total(share(part.ends.len() - n_long), self.hasher, &self.budget)?;
            long.reserve_total(share(n_long), share(n_long_bytes), &self.budget)?;
        }
        Ok(())
    }

    /// Adds to the count of a pretoken that has no [`PretokenKey`].
    pub(super) fn add_long(&self, addend: LongAddend<'_>) -> Result<()> {
        self.lock(partition_of(addend.hash)).long.add(&[addend], &self.budget)
    }

    /// The columns, their totals still 0, written by up to `threads` threads. Each partition is dropped once it is
    /// written.
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
            for long in part.long.iter().filter(|long| long.count != 0) {
                columns.push(long.pretoken, long.count);
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
        let long = self.long.iter().filter(|long| long.count != 0).map(|long| long.pretoken.len());
        short.chain(long).fold((0, 0), |(n, n_bytes), length| (n + 1, n_bytes + length))
    }
}

/// A count on its way to a partition.
pub(super) trait Waiting: Copy {
    /// Fills slots that are not in use.
    const NONE: Self;

    fn hash(&self) -> u64;

    fn add_batch(batch: &[Self], partition: &mut Partition, table: &SharedTable) -> Result<()>;
}

impl Waiting for Addend {
    const NONE: Self = Addend { key: PretokenKey::EMPTY, hash: 0, count: 0 };

    fn hash(&self) -> u64 {
        self.hash
    }

    fn add_batch(batch: &[Self], partition: &mut Partition, table: &SharedTable) -> Result<()> {
        partition.short.add(batch, table.hasher, &table.budget)
    }
}

impl Waiting for LongAddend<'_> {
    const NONE: Self = LongAddend { pretoken: &[], hash: 0, count: 0 };

    fn hash(&self) -> u64 {
        self.hash
    }

    fn add_batch(batch: &[Self], partition: &mut Partition, table: &SharedTable) -> Result<()> {
        partition.long.add(batch, &table.budget)
    }
}

/// Counts that wait to be added to the partitions, a batch for each.
pub(super) struct Batches<A> {
    /// [`BATCH`] slots for each partition.
    slots: Vec<A>,
    n_taken: [u8; N_PARTITIONS],
}

impl<A: Waiting> Batches<A> {
    const N_BYTES: usize = N_PARTITIONS * BATCH * size_of::<A>();

    /// Empty batches; their memory is booked with the table's budget.
    pub(super) fn new(table: &SharedTable) -> Result<Self> {
        const WHAT: &str = "the counting table of a thread";
        table.budget.take(Self::N_BYTES, WHAT)?;
        let slots = filled(N_PARTITIONS * BATCH, A::NONE, WHAT)?;
        Ok(Batches { slots, n_taken: [0; N_PARTITIONS] })
    }

    /// Returns the memory to the table's budget.
    pub(super) fn give_back(self, table: &SharedTable) {
        table.budget.give(Self::N_BYTES);
    }

    /// Adds a count, once its batch is full.
    pub(super) fn add(&mut self, table: &SharedTable, addend: A) -> Result<()> {
        let index = partition_of(addend.hash());
        let n_taken = &mut self.n_taken[index];
        self.slots[index * BATCH + usize::from(*n_taken)] = addend;
        *n_taken += 1;
        if usize::from(*n_taken) == BATCH { self.flush_one(table, index) } else { Ok(()) }
    }

    /// Adds all that waits.
    pub(super) fn flush(&mut self, table: &SharedTable) -> Result<()> {
        (0..N_PARTITIONS).try_for_each(|index| self.flush_one(table, index))
    }

    fn flush_one(&mut self, table: &SharedTable, index: usize) -> Result<()> {
        let n_taken = usize::from(std::mem::take(&mut self.n_taken[index]));
        let batch = &self.slots[index * BATCH..index * BATCH + n_taken];
        if batch.is_empty() { Ok(()) } else { A::add_batch(batch, &mut table.lock(index), table) }
    }
}

impl Batches<Addend> {
    /// Adds to the count of a key, once its batch is full.
    pub(super) fn add_key(&mut self, table: &SharedTable, key: PretokenKey, count: u64) -> Result<()> {
        self.add(table, Addend { key, hash: table.hasher.hash(key), count })
    }
}
