//! The counts of one thread.
//!
//! Short pretokens are counted in the thread's [`LocalTable`]. Counts that it evicts wait in a [`PartitionLog`], and so
//! do longer pretokens.

use super::count_batch::{BATCH_SIZE, Batch};
use super::local_table::LocalTable;
use super::partition_log::PartitionLog;
use super::shared_table::SharedTable;
use crate::error::Result;
use crate::pretokens::key::PaddedText;

/// Bytes of a thread's table of short pretokens, unless there is little text.
const LOCAL_TABLE_BYTES: usize = 2 << 20;

/// Bytes of the table per byte of a small text: half a line for a short pretoken.
const BYTES_OF_TEXT_BYTE: u64 = 16;

/// The counts of one thread that are not in the shared table yet.
pub(super) struct LocalCounts {
    short_table: LocalTable,
    batch: Batch,
    log: PartitionLog,
}

impl LocalCounts {
    /// The minimum memory of a thread's counts, once its table has its full size.
    pub(super) const MIN_BYTES: usize = LOCAL_TABLE_BYTES + PartitionLog::MIN_BYTES;

    /// Creates empty counts, sized for `n_bytes` of text and charged to the budget of `table`. For `log_bytes` see
    /// [`PartitionLog::new`].
    pub(super) fn new(table: &SharedTable, n_bytes: u64, log_bytes: usize) -> Result<Self> {
        let table_bytes = table_bytes(table, n_bytes);
        let log_bytes = if table_bytes < LOCAL_TABLE_BYTES { log_bytes.min(table_bytes) } else { log_bytes };
        Ok(LocalCounts {
            short_table: LocalTable::new(table_bytes, &table.memory.budget)?,
            batch: Batch::new(),
            log: PartitionLog::new(log_bytes),
        })
    }

    /// Grows to the size for `n_bytes` of text, if that is larger.
    pub(super) fn grow(&mut self, table: &SharedTable, n_bytes: u64, log_bytes: usize) -> Result<()> {
        if table_bytes(table, n_bytes) > self.short_table.n_bytes() {
            self.flush(table)?;
            *self = LocalCounts::new(table, n_bytes, log_bytes)?;
        }
        Ok(())
    }

    /// Counts the pretokens of `text`, which end at the ascending `ends`.
    pub(super) fn add_pretokens(&mut self, table: &SharedTable, text: &[u8], ends: &[u32]) -> Result<()> {
        let padded = PaddedText::new(text);
        let mut start = 0;
        for ends in ends.chunks(BATCH_SIZE) {
            self.log.make_room(table, BATCH_SIZE)?;
            self.batch.count(table.hasher, &mut self.short_table, &mut self.log, &padded, start, ends);
            for &(start, end) in self.batch.long() {
                self.log.add_long(table, &text[start..end], 1)?;
            }
            start = ends.last().map_or(start, |&end| end as usize);
        }
        Ok(())
    }

    /// Moves all counts to the shared table.
    pub(super) fn flush(&mut self, table: &SharedTable) -> Result<()> {
        self.short_table.drain(|key, count| {
            self.log.make_room(table, 1)?;
            self.log.add_key(&key, table.hasher.hash(key), count);
            Ok(())
        })?;
        self.log.flush(table)
    }
}

/// Returns the size of a thread's table in bytes. Little text does not fill a large table, and zeroing one takes as
/// long as counting 100 kB. Under a memory limit the table starts at its full size and does not grow.
fn table_bytes(table: &SharedTable, n_bytes: u64) -> usize {
    if table.memory.budget.is_limited() {
        return LOCAL_TABLE_BYTES;
    }
    let wanted = n_bytes.saturating_mul(BYTES_OF_TEXT_BYTE).min(LOCAL_TABLE_BYTES as u64);
    (wanted as usize).next_power_of_two().max(1 << 12)
}
