//! The table of pairs: pair -> count and position list.
//!
//! A hash table with open addressing and linear probing, at most half full. Counts and lists are in separate arrays: a
//! step changes the counts of many pairs but reads the list of only one. A pair whose count falls below the threshold
//! stays until the table grows, and is then dropped. A vacant slot is all zeros, so a new table needs no
//! initialisation.

use crate::budget::Budget;
use crate::error::Result;
use crate::memory::{Zero, Zeros};
use crate::prefetch::prefetch;

/// Returns a pair as one integer: the left symbol in the high half, the right symbol in the low half.
pub(super) fn key_of(left: usize, right: usize) -> u64 {
    (left as u64) << 32 | right as u64
}

/// Returns the symbols of a key.
pub(super) fn pair_of(key: u64) -> (usize, usize) {
    ((key >> 32) as usize, (key & 0xFFFF_FFFF) as usize)
}

const WHAT: &str = "the table of pairs";

/// A pair and its count.
#[derive(Clone, Copy, Default)]
struct Count {
    /// The complement of the key. It is never 0 for a pair, because symbols are less than `u32::MAX`; 0 marks a vacant
    /// slot.
    inverse: u64,
    count: u64,
}

// SAFETY: All fields are integers, and zeroed memory is 0, their default.
unsafe impl Zero for Count {}

impl Count {
    fn new(key: u64, count: u64) -> Count {
        Count { inverse: !key, count }
    }

    fn is_vacant(&self) -> bool {
        self.inverse == 0
    }

    fn key(&self) -> u64 {
        !self.inverse
    }
}

/// The arena slots that hold the ascending positions of a pair.
#[derive(Clone, Copy, Default)]
pub(super) struct PositionList {
    /// The first slot.
    pub start: usize,
    /// The number of slots.
    pub len: usize,
}

// SAFETY: All fields are integers, and zeroed memory is 0, their default.
unsafe impl Zero for PositionList {}

/// Bytes per slot of both arrays together.
const SLOT_BYTES: usize = size_of::<Count>() + size_of::<PositionList>();

/// The table of pairs; see the module docs.
pub(super) struct PairTable<'a> {
    budget: &'a Budget,
    counts: Zeros<Count>,
    lists: Zeros<PositionList>,
    /// Number of slots in use.
    n_used: usize,
    /// 64 minus the binary logarithm of the number of slots.
    shift: u32,
}

impl<'a> PairTable<'a> {
    /// Creates an empty table with room for `n` pairs; its memory is charged to `budget`.
    pub fn with_reserved(n: usize, budget: &'a Budget) -> Result<PairTable<'a>> {
        let n_slots = (n.max(8) * 2).next_power_of_two();
        budget.take(n_slots * SLOT_BYTES, WHAT)?;
        // From here on, dropping the table returns this memory to the budget, even after an error.
        let mut pairs = PairTable {
            budget,
            counts: Zeros::default(),
            lists: Zeros::default(),
            n_used: 0,
            shift: 64 - n_slots.trailing_zeros(),
        };
        pairs.counts = Zeros::new(n_slots, WHAT)?;
        pairs.lists = Zeros::new(n_slots, WHAT)?;
        Ok(pairs)
    }

    /// Returns the slot where probing for `key` starts. Combines both halves of the product (multiply-fold hashing), so
    /// that each bit of the key matters.
    #[inline(always)]
    fn first_slot(&self, key: u64) -> usize {
        let product = u128::from(key ^ 0x9E37_79B9_7F4A_7C15) * 0xA076_1D64_78BD_642F;
        (((product >> 64) as u64 ^ product as u64) >> self.shift) as usize
    }

    /// Returns the slot of `key`, or the vacant slot where it would be inserted. Terminates because half of the slots
    /// are vacant.
    #[inline(always)]
    fn slot(&self, key: u64) -> usize {
        let mask = self.counts.len() - 1;
        let mut slot = self.first_slot(key);
        loop {
            let found = self.counts[slot & mask].inverse;
            if found == !key || found == 0 {
                return slot & mask;
            }
            slot += 1;
        }
    }

    /// Prefetches the slot of a pair that will soon be looked up.
    #[inline(always)]
    pub fn prefetch(&self, key: u64) {
        prefetch(self.counts.as_ptr().wrapping_add(self.first_slot(key)));
    }

    /// Returns the count and the list of a pair, if it is in the table.
    pub fn get(&self, key: u64) -> Option<(u64, PositionList)> {
        let slot = self.slot(key);
        (self.counts[slot].key() == key).then(|| (self.counts[slot].count, self.lists[slot]))
    }

    /// Subtracts `weight` from the count of a pair, if it is in the table.
    #[inline]
    pub fn subtract(&mut self, key: u64, weight: u64) {
        let slot = self.slot(key);
        let entry = &mut self.counts[slot];
        if entry.key() == key {
            entry.count -= weight;
        }
    }

    /// Returns the list of a pair, if it is in the table.
    pub fn list_mut(&mut self, key: u64) -> Option<&mut PositionList> {
        let slot = self.slot(key);
        if self.counts[slot].key() == key { Some(&mut self.lists[slot]) } else { None }
    }

    /// Gives each pair an empty list that starts at slot `start_of(key, count, length)`; removes the pairs for which
    /// this is 0.
    pub fn assign_list_starts(
        &mut self,
        mut start_of: impl FnMut(u64, u64, usize) -> Result<usize>,
    ) -> Result<()> {
        for (entry, list) in self.counts.iter().zip(&mut *self.lists) {
            if !entry.is_vacant() {
                *list = PositionList { start: start_of(entry.key(), entry.count, list.len)?, len: 0 };
            }
        }
        self.retain(0, |_, list| list.start != 0)
    }

    /// Counts one more occurrence of a pair: adds `weight` to its count and 1 to the length of its list.
    pub fn add(&mut self, key: u64, weight: u64) -> Result<()> {
        if (self.n_used + 1) * 2 > self.counts.len() {
            self.retain(self.n_used, |_, _| true)?;
        }
        let slot = self.slot(key);
        let entry = &mut self.counts[slot];
        if entry.is_vacant() {
            *entry = Count::new(key, 0);
            self.n_used += 1;
        }
        entry.count += weight;
        self.lists[slot].len += 1;
        Ok(())
    }

    /// Sets a pair's count to 0 and removes its list. Its slot stays in use until the table grows.
    pub fn retire(&mut self, key: u64) {
        let slot = self.slot(key);
        if self.counts[slot].key() == key {
            self.counts[slot].count = 0;
            self.lists[slot] = PositionList::default();
        }
    }

    /// Inserts or replaces a pair; drops pairs below `threshold` when the table has to grow.
    pub fn put(&mut self, key: u64, count: u64, list: PositionList, threshold: u64) -> Result<()> {
        if (self.n_used + 1) * 2 > self.counts.len() {
            self.retain(self.n_used, |count, _| count >= threshold)?;
        }
        let slot = self.slot(key);
        self.n_used += usize::from(self.counts[slot].is_vacant());
        self.counts[slot] = Count::new(key, count);
        self.lists[slot] = list;
        Ok(())
    }

    /// Returns the number of pairs in the table.
    pub fn len(&self) -> usize {
        self.n_used
    }

    /// Returns the number of pairs with a count of at least `threshold`.
    pub fn n_at_least(&self, threshold: u64) -> usize {
        self.counts.iter().filter(|entry| !entry.is_vacant() && entry.count >= threshold).count()
    }

    /// Reserves capacity for `n` pairs in total. Call it before filling one table in the slot order of another: both
    /// use the same hash, so a table that grew while being filled would get all pairs in one long cluster (39 % of the
    /// time of such a run).
    pub fn reserve(&mut self, n: usize) -> Result<()> {
        if n * 2 > self.counts.len() { self.retain(n, |_, _| true) } else { Ok(()) }
    }

    /// Rebuilds the table with the pairs for which `keep(count, list)` is true, and with room for twice as many pairs
    /// but at least `n_least`.
    fn retain(&mut self, n_least: usize, keep: impl Fn(u64, &PositionList) -> bool) -> Result<()> {
        let kept = |entry: &Count, list: &PositionList| !entry.is_vacant() && keep(entry.count, list);
        let entries = || self.counts.iter().zip(&*self.lists).filter(|(entry, list)| kept(entry, list));
        let n_kept = entries().count();
        let mut grown = PairTable::with_reserved((n_kept * 2).max(n_least), self.budget)?;
        for (&entry, &list) in entries() {
            let slot = grown.slot(entry.key());
            grown.counts[slot] = entry;
            grown.lists[slot] = list;
        }
        grown.n_used = n_kept;
        *self = grown;
        Ok(())
    }
}

impl Drop for PairTable<'_> {
    fn drop(&mut self) {
        (self.counts, self.lists) = (Zeros::default(), Zeros::default());
        self.budget.release_freed((1 << (64 - self.shift)) * SLOT_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn table_holds_what_was_put_in_while_it_grows_into_pages_of_its_own() {
        let budget = Budget::new(None);
        let mut table = PairTable::with_reserved(0, &budget).unwrap();
        let mut expected: HashMap<u64, (u64, usize)> = HashMap::new();
        // Includes the pair (0, 0), whose key is 0.
        let keys: Vec<u64> = (0..70_000).map(|n| key_of(n % 300, n / 300 * 7)).collect();
        for (n, &key) in keys.iter().enumerate() {
            let (count, start) = (n as u64 % 50, n + 1);
            table.put(key, count, PositionList { start, len: 1 }, 5).unwrap();
            table.subtract(key, count / 2);
            if n % 11 == 0 {
                table.retire(key);
            }
            expected.insert(key, if n % 11 == 0 { (0, 0) } else { (count - count / 2, start) });
        }
        assert!(size_of_val(&*table.counts) >= crate::pages::HUGE_BYTES);
        for (key, &(count, start)) in &expected {
            match table.get(*key) {
                Some((found, list)) => assert_eq!((found, list.start), (count, start), "{key}"),
                None => assert!(count < 5, "{key} was dropped with a count of {count}"),
            }
        }
        assert_eq!(table.n_at_least(5), expected.values().filter(|value| value.0 >= 5).count());
        assert!(table.get(key_of(1, 3)).is_none());
    }
}
