//! What one thread counts with.
//!
//! Enters: a text and the ends of its pretokens. Leaves: counts, in the shared [`SharedTable`] once
//! [`LocalCounts::flush`] was called. Short pretokens go through the thread's [`LocalTable`]; what that puts out
//! gathers in a small batch per partition. Longer pretokens, a few in a thousand, gather in a map with an
//! arena that is emptied into the partitions when it is full. Very long ones go there at once.

use hashbrown::HashTable;

use super::count_batch::{BATCH_SIZE, Batch};
use super::local_table::LocalTable;
use super::shared_table::{Batches, SharedTable};
use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::pretokens::key::PaddedText;

/// Bytes of a thread's table of short pretokens.
const LOCAL_TABLE_BYTES: usize = 2 << 20;
/// Long pretokens that a thread holds, and the bytes of them, before they go to the partitions.
const MOST_LONG: usize = 4096;
const MOST_LONG_BYTES: usize = 1 << 18;
/// A pretoken of more bytes than this is not held by the thread at all.
const MOST_HELD: usize = 1 << 12;

struct LongEntry {
    hash: u64,
    start: u32,
    n_bytes: u32,
    count: u64,
}

/// The counts of one thread that are not in the partitions yet.
pub(super) struct LocalCounts {
    short_table: LocalTable,
    batch: Batch,
    batches: Batches,
    long: HashTable<LongEntry>,
    arena: Vec<u8>,
}

impl LocalCounts {
    /// An empty tally; its memory is on the partitions' books.
    pub(super) fn new(table: &SharedTable) -> Result<Self> {
        const WHAT: &str = "the counting table of a thread";
        let n_bytes = 2 * MOST_LONG * (size_of::<LongEntry>() + 1) + MOST_LONG_BYTES;
        table.budget.take(n_bytes, WHAT)?;
        let short_table = LocalTable::new(LOCAL_TABLE_BYTES, &table.budget)?;
        let batches = Batches::new(table)?;
        let mut long = HashTable::new();
        long.try_reserve(MOST_LONG, |entry: &LongEntry| entry.hash).map_err(Error::out_of_memory(WHAT))?;
        let arena = Vec::with_room(MOST_LONG_BYTES, WHAT)?;
        Ok(LocalCounts { short_table, batch: Batch::new(), batches, long, arena })
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
                self.batches.add(table, key, count)?;
            }
            for index in 0..self.batch.long().len() {
                let (start, end) = self.batch.long()[index];
                self.add_long(table, &text[start..end])?;
            }
            start = ends.last().copied().unwrap_or(start);
        }
        Ok(())
    }

    /// Moves all counts to the partitions.
    pub(super) fn flush(&mut self, table: &SharedTable) -> Result<()> {
        self.short_table.drain(|key, count| self.batches.add(table, key, count))?;
        self.batches.flush(table)?;
        self.flush_long(table)
    }

    #[cold]
    #[inline(never)]
    fn add_long(&mut self, table: &SharedTable, pretoken: &[u8]) -> Result<()> {
        let hash = table.hasher.hash_bytes(pretoken);
        if pretoken.len() > MOST_HELD {
            return table.add_long(hash, pretoken, 1);
        }
        let arena = &self.arena;
        let found = self.long.find_mut(hash, |entry| entry.hash == hash && entry.bytes(arena) == pretoken);
        if let Some(entry) = found {
            entry.count += 1;
            return Ok(());
        }
        if self.long.len() == MOST_LONG || self.arena.len() + pretoken.len() > MOST_LONG_BYTES {
            self.flush_long(table)?;
        }
        let start = self.arena.len() as u32;
        self.arena.extend_from_slice(pretoken);
        let entry = LongEntry { hash, start, n_bytes: pretoken.len() as u32, count: 1 };
        self.long.insert_unique(hash, entry, |entry| entry.hash);
        Ok(())
    }

    fn flush_long(&mut self, table: &SharedTable) -> Result<()> {
        for entry in self.long.drain() {
            table.add_long(entry.hash, entry.bytes(&self.arena), entry.count)?;
        }
        self.arena.clear();
        Ok(())
    }
}

impl LongEntry {
    fn bytes<'a>(&self, arena: &'a [u8]) -> &'a [u8] {
        &arena[self.start as usize..self.start as usize + self.n_bytes as usize]
    }
}
