//! Pretokens that are too long to be their own key, with their counts: a hash table over an arena of bytes.

use hashbrown::HashTable;

use crate::budget::Budget;
use crate::error::{Error, Result};

const TABLE: &str = "the table of distinct pretokens";
const ARENA: &str = "the arena of long pretokens";

/// The table; its memory is booked with the budget that is passed to [`LongTable::add`].
#[derive(Default)]
pub(super) struct LongTable {
    entries: HashTable<Entry>,
    arena: Vec<u8>,
}

struct Entry {
    hash: u64,
    /// Where the pretoken is in the arena.
    start: usize,
    n_bytes: usize,
    count: u64,
}

impl LongTable {
    /// Adds to the count of a pretoken.
    pub(super) fn add(&mut self, hash: u64, pretoken: &[u8], count: u64, budget: &Budget) -> Result<()> {
        let LongTable { entries, arena } = self;
        let is_same = |entry: &Entry| {
            entry.hash == hash && arena[entry.start..entry.start + entry.n_bytes] == *pretoken
        };
        if let Some(entry) = entries.find_mut(hash, is_same) {
            entry.count += count;
            return Ok(());
        }
        if entries.len() == entries.capacity() {
            // hashbrown doubles: an entry and a control byte for each bucket, a bucket for at most 7/8 of an entry.
            let n_buckets = (entries.len() + 1).saturating_mul(8).div_ceil(7).next_power_of_two().max(4);
            budget.take(n_buckets.saturating_mul(size_of::<Entry>() + 1) + 16, TABLE)?;
            let before = entries.allocation_size();
            entries.try_reserve(1, |entry| entry.hash).map_err(Error::out_of_memory(TABLE))?;
            budget.give_freed(before);
        }
        if arena.capacity() - arena.len() < pretoken.len() {
            let before = arena.capacity();
            let wanted = (arena.len() + pretoken.len()).max(arena.len() + arena.len() / 2).max(256);
            budget.take(wanted, ARENA)?;
            arena.try_reserve_exact(wanted - arena.len()).map_err(Error::out_of_memory(ARENA))?;
            budget.give_freed(before);
        }
        let entry = Entry { hash, start: arena.len(), n_bytes: pretoken.len(), count };
        arena.extend_from_slice(pretoken);
        entries.insert_unique(hash, entry, |entry| entry.hash);
        Ok(())
    }

    /// How many pretokens there are, and their bytes.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.entries.len(), self.arena.len())
    }

    /// The hash, the bytes and the count of each pretoken.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &[u8], u64)> {
        let bytes = |entry: &Entry| &self.arena[entry.start..entry.start + entry.n_bytes];
        self.entries.iter().map(move |entry| (entry.hash, bytes(entry), entry.count))
    }

    /// Removes all pretokens; the memory is kept.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.arena.clear();
    }
}
