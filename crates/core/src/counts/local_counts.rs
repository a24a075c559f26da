//! The counts of one thread.
//!
//! Short pretokens go through the thread's [`LocalTable`]; what that evicts waits in a batch for each partition of the
//! [`SharedTable`]. Longer pretokens, a few in a thousand, wait in a table of their own; very long ones are added to the
//! shared table at once.

use super::count_batch::{BATCH_SIZE, Batch};
use super::local_table::LocalTable;
use super::long_table::{LongAddend, LongTable};
use super::shared_table::{Batches, SharedTable};
use super::short_key_table::Addend;
use crate::error::Result;
use crate::pretokens::key::PaddedText;

/// Bytes of a thread's table of short pretokens.
const LOCAL_TABLE_BYTES: usize = 2 << 20;
/// Long pretokens that a thread holds, and the bytes of them, before they go to the partitions.
const MOST_LONG: usize = 4096;
const MOST_LONG_BYTES: usize = 1 << 18;
/// A pretoken of more bytes than this is not held by the thread at all.
const MOST_HELD: usize = 1 << 12;

/// The counts of one thread that are not in the partitions yet.
pub(super) struct LocalCounts {
    short_table: LocalTable,
    batch: Batch,
    batches: Batches<Addend>,
    long: LongTable,
}

impl LocalCounts {
    /// Counts of nothing; the memory is booked with the shared table's budget.
    pub(super) fn new(table: &SharedTable) -> Result<Self> {
        Ok(LocalCounts {
            short_table: LocalTable::new(LOCAL_TABLE_BYTES, &table.budget)?,
            batch: Batch::new(),
            batches: Batches::new(table)?,
            long: LongTable::default(),
        })
    }

    /// Counts the pretokens of `text` from `start` on that end at `ends`, which ascend.
    pub(super) fn add_pretokens(
        &mut self,
        table: &SharedTable,
        text: &[u8],
        mut start: usize,
        ends: &[usize],
    ) -> Result<()> {
        let padded = PaddedText::new(text);
        for ends in ends.chunks(BATCH_SIZE) {
            self.batch.count(table.hasher, &mut self.short_table, &padded, start, ends);
            for &(key, count) in self.batch.out() {
                self.batches.add_key(table, key, count)?;
            }
            for index in 0..self.batch.long().len() {
                let (start, end) = self.batch.long()[index];
                self.add_long(table, &text[start..end])?;
            }
            start = ends.last().copied().unwrap_or(start);
        }
        Ok(())
    }

    /// Moves all counts to the shared table.
    pub(super) fn flush(&mut self, table: &SharedTable) -> Result<()> {
        self.short_table.drain(|key, count| self.batches.add_key(table, key, count))?;
        self.batches.flush(table)?;
        self.flush_long(table)
    }

    #[cold]
    #[inline(never)]
    fn add_long(&mut self, table: &SharedTable, pretoken: &[u8]) -> Result<()> {
        let addend = LongAddend { pretoken, hash: table.hasher.hash_bytes(pretoken), count: 1 };
        if pretoken.len() > MOST_HELD {
            return table.add_long(addend);
        }
        let (n, n_bytes) = self.long.size();
        if n == MOST_LONG || n_bytes + pretoken.len() > MOST_LONG_BYTES {
            self.flush_long(table)?;
        }
        self.long.add(&[addend], &table.budget)
    }

    fn flush_long(&mut self, table: &SharedTable) -> Result<()> {
        if self.long.size().0 == 0 {
            return Ok(());
        }
        let mut batches = Batches::new(table)?;
        self.long.iter().try_for_each(|addend| batches.add(table, addend))?;
        batches.flush(table)?;
        batches.give_back(table);
        self.long.clear();
        Ok(())
    }
}
