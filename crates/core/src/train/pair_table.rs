//! The pairs that may still be merged: pair -> count and list of positions.
//!
//! An open-addressed table, probed linearly. Counts lie apart from lists, since a step of the engine
//! changes the counts of many pairs and reads the list of one. A pair whose count falls below the
//! threshold stays until the table grows, and is dropped then.

use crate::error::{Error, Result};
use crate::prefetch::prefetch;

/// A pair as one integer: the left symbol above, the right one below.
pub(super) fn key_of(left: usize, right: usize) -> u64 {
    (left as u64) << 32 | right as u64
}

/// The symbols of a key.
pub(super) fn pair_of(key: u64) -> (usize, usize) {
    ((key >> 32) as usize, (key & 0xFFFF_FFFF) as usize)
}

const VACANT: u64 = u64::MAX;
const WHAT: &str = "the table of pairs";

#[derive(Clone, Copy)]
struct Count {
    key: u64,
    count: u64,
}

/// A slice of the arena.
#[derive(Clone, Copy, Default)]
pub(super) struct List {
    /// The first slot.
    pub start: usize,
    /// How many slots.
    pub len: usize,
}

/// The table.
pub(super) struct PairTable {
    counts: Vec<Count>,
    lists: Vec<List>,
    n_used: usize,
    shift: u32,
}

impl PairTable {
    /// An empty table.
    pub fn new() -> Result<PairTable> {
        let mut pairs = PairTable { counts: Vec::new(), lists: Vec::new(), n_used: 0, shift: 0 };
        pairs.clear(1 << 10)?;
        Ok(pairs)
    }

    /// Empties the table and makes room for `n` pairs.
    pub fn clear(&mut self, n: usize) -> Result<()> {
        let n_slots = (n.max(8) * 2).next_power_of_two();
        self.counts.clear();
        self.lists.clear();
        self.counts.try_reserve_exact(n_slots).map_err(Error::out_of_memory(WHAT))?;
        self.lists.try_reserve_exact(n_slots).map_err(Error::out_of_memory(WHAT))?;
        self.counts.resize(n_slots, Count { key: VACANT, count: 0 });
        self.lists.resize(n_slots, List::default());
        self.n_used = 0;
        self.shift = 64 - n_slots.trailing_zeros();
        Ok(())
    }

    /// Where the search for `key` begins. The product is folded so that every bit of the key counts.
    #[inline(always)]
    fn home(&self, key: u64) -> usize {
        let product = u128::from(key ^ 0x9E37_79B9_7F4A_7C15) * 0xA076_1D64_78BD_642F;
        (((product >> 64) as u64 ^ product as u64) >> self.shift) as usize
    }

    /// The slot of `key`, or the vacant slot where it would go.
    #[inline(always)]
    fn slot(&self, key: u64) -> usize {
        let mask = self.counts.len() - 1;
        let mut slot = self.home(key);
        loop {
            let found = self.counts[slot & mask].key;
            if found == key || found == VACANT {
                return slot & mask;
            }
            slot += 1;
        }
    }

    /// Asks for the place of a pair that will soon be looked up.
    #[inline(always)]
    pub fn prefetch(&self, key: u64) {
        prefetch(self.counts.as_ptr().wrapping_add(self.home(key)));
    }

    /// The count and the list of a pair, if it is in the table.
    pub fn get(&self, key: u64) -> Option<(u64, List)> {
        let slot = self.slot(key);
        (self.counts[slot].key == key).then(|| (self.counts[slot].count, self.lists[slot]))
    }

    /// Takes `weight` from the count of a pair, if it is in the table.
    #[inline]
    pub fn subtract(&mut self, key: u64, weight: u64) {
        let slot = self.slot(key);
        let entry = &mut self.counts[slot];
        if entry.key == key {
            entry.count -= weight;
        }
    }

    /// The list of a pair, if it is in the table.
    pub fn list_mut(&mut self, key: u64) -> Option<&mut List> {
        let slot = self.slot(key);
        if self.counts[slot].key == key { Some(&mut self.lists[slot]) } else { None }
    }

    /// Gives every pair the list that starts where `start_of(key, count, length)` says, still empty, and
    /// drops the pairs for which it says 0.
    pub fn open_lists(&mut self, mut start_of: impl FnMut(u64, u64, usize) -> Result<usize>) -> Result<()> {
        for (entry, list) in self.counts.iter().zip(&mut self.lists) {
            if entry.key != VACANT {
                *list = List { start: start_of(entry.key, entry.count, list.len)?, len: 0 };
            }
        }
        self.retain(0, |_, list| list.start != 0)
    }

    /// Counts one more occurrence of a pair; its list grows in length only.
    pub fn add(&mut self, key: u64, weight: u64) -> Result<()> {
        if (self.n_used + 1) * 2 > self.counts.len() {
            self.grow(0)?;
        }
        let slot = self.slot(key);
        let entry = &mut self.counts[slot];
        if entry.key == VACANT {
            *entry = Count { key, count: 0 };
            self.n_used += 1;
        }
        entry.count += weight;
        self.lists[slot].len += 1;
        Ok(())
    }

    /// Takes all of a pair's count, and its list.
    pub fn retire(&mut self, key: u64) {
        let slot = self.slot(key);
        if self.counts[slot].key == key {
            self.counts[slot].count = 0;
            self.lists[slot] = List::default();
        }
    }

    /// Puts a pair in, or changes it; drops those below `threshold` when there is no room left.
    pub fn put(&mut self, key: u64, count: u64, list: List, threshold: u64) -> Result<()> {
        if (self.n_used + 1) * 2 > self.counts.len() {
            self.grow(threshold)?;
        }
        let slot = self.slot(key);
        self.n_used += usize::from(self.counts[slot].key == VACANT);
        self.counts[slot] = Count { key, count };
        self.lists[slot] = list;
        Ok(())
    }

    fn grow(&mut self, threshold: u64) -> Result<()> {
        self.retain(self.n_used, |count, _| count >= threshold)
    }

    /// How many pairs are in the table.
    pub fn len(&self) -> usize {
        self.n_used
    }

    /// How many pairs have a count of at least `threshold`.
    pub fn n_from(&self, threshold: u64) -> usize {
        self.counts.iter().filter(|entry| entry.key != VACANT && entry.count >= threshold).count()
    }

    /// Makes room for `n` pairs in all. Tables hash alike, so filling one in the order of another and
    /// letting it grow meanwhile would put all pairs in one place.
    pub fn reserve(&mut self, n: usize) -> Result<()> {
        if n * 2 > self.counts.len() { self.retain(n, |_, _| true) } else { Ok(()) }
    }

    /// Moves the pairs that `keep` to a table with room for twice as many, and no fewer than `n_least`.
    pub fn retain(&mut self, n_least: usize, keep: impl Fn(u64, &List) -> bool) -> Result<()> {
        let kept = |entry: &Count, list: &List| entry.key != VACANT && keep(entry.count, list);
        let entries = || self.counts.iter().zip(&self.lists).filter(|(entry, list)| kept(entry, list));
        let n_kept = entries().count();
        let mut grown = PairTable { counts: Vec::new(), lists: Vec::new(), n_used: n_kept, shift: 0 };
        grown.clear((n_kept * 2).max(n_least))?;
        for (&entry, &list) in entries() {
            let slot = grown.slot(entry.key);
            grown.counts[slot] = entry;
            grown.lists[slot] = list;
        }
        grown.n_used = n_kept;
        *self = grown;
        Ok(())
    }
}
