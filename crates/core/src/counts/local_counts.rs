//! The counts of one thread.
//!
//! Short pretokens go through the thread's [`LocalTable`]; what that evicts waits in a [`PartitionLog`], and so do longer
//! pretokens.

use super::count_batch::{BATCH_SIZE, Batch};
use super::local_table::LocalTable;
use super::partition_log::PartitionLog;
use super::shared_table::SharedTable;
use crate::error::Result;
use crate::pretokens::key::PaddedText;

/// Bytes of a thread's table of short pretokens.
const LOCAL_TABLE_BYTES: usize = 2 << 20;

/// The counts of one thread that are not in the partitions yet.
pub(super) struct LocalCounts {
    short_table: LocalTable,
    batch: Batch,
    log: PartitionLog,
}

impl LocalCounts {
    /// What the counts of a thread take at least once it counts.
    pub(super) const LEAST_BYTES: usize = LOCAL_TABLE_BYTES + PartitionLog::LEAST_BYTES;

    /// Counts of nothing; the memory is booked with the shared table's budget. `log_bytes`: [`PartitionLog::new`].
    pub(super) fn new(table: &SharedTable, log_bytes: usize) -> Result<Self> {
        Ok(LocalCounts {
            short_table: LocalTable::new(LOCAL_TABLE_BYTES, &table.budget)?,
            batch: Batch::new(),
            log: PartitionLog::new(log_bytes),
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
            self.log.make_room(table, BATCH_SIZE)?;
            self.batch.count(table.hasher, &mut self.short_table, &mut self.log, &padded, start, ends);
            for &(start, end) in self.batch.long() {
                self.log.add_long(table, &text[start..end], 1)?;
            }
            start = ends.last().copied().unwrap_or(start);
        }
        Ok(())
    }

    /// Moves all counts to the shared table.
    pub(super) fn flush(&mut self, table: &SharedTable) -> Result<()> {
        self.short_table.drain(|key, count| {
            self.log.make_room(table, 1)?;
            self.log.add_key(key, table.hasher.hash(key), count);
            Ok(())
        })?;
        self.log.flush(table)
    }
}
