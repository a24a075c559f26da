//! The short pretokens of a partition: a hash table with open addressing and linear probing.
//!
//! A batch of keys is added at once: all their slots are prefetched first, so the batch waits for memory once.
//! Invariants: the number of slots is 0 or a power of two, at most three quarters are taken, and no slot between a
//! key's first slot and the one that holds it is empty.
//!
//! Tried: a general hash table, which cannot prefetch, took twice as long. Buckets of two keys, compared without a
//! branch: 0 to 5 % slower, since the first access to a line is what takes time.

use super::table_memory::TableMemory;
use crate::error::Result;
use crate::memory::{Zero, Zeros};
use crate::prefetch::prefetch;
use crate::pretokens::key::PretokenKey;

/// A key, its hash, and its count or the amount to add to it. The key of an empty slot is [`PretokenKey::EMPTY`].
///
/// The hash takes the place of padding, and need not be computed again when a table grows.
#[derive(Clone, Copy, Default)]
pub(super) struct KeyCount {
    pub(super) key: PretokenKey,
    pub(super) hash: u64,
    pub(super) count: u64,
}

// SAFETY: Zeroed memory is an empty key and the numbers 0, which is the default.
unsafe impl Zero for KeyCount {}

/// An open-addressing table of short keys.
#[derive(Default)]
pub(super) struct ShortKeyTable {
    slots: Zeros<KeyCount>,
    n_taken: usize,
    /// Total bytes of the pretokens.
    n_bytes: usize,
}

const TABLE: &str = "the table of distinct pretokens";

impl ShortKeyTable {
    /// Adds counts to keys.
    pub(super) fn add(&mut self, batch: &[KeyCount], memory: &TableMemory) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        self.reserve(batch.len(), memory)?;
        let mask = self.slots.len() - 1;
        for addend in batch {
            prefetch(self.slots.as_ptr().wrapping_add(addend.hash as usize & mask));
        }
        for addend in batch {
            let slot = self.slot_of(addend.key, addend.hash);
            let is_new = slot.key.equals(PretokenKey::EMPTY);
            let count = slot.count + addend.count;
            *slot = KeyCount { count, ..*addend };
            self.n_taken += usize::from(is_new);
            self.n_bytes += if is_new { addend.key.n_bytes() } else { 0 };
        }
        Ok(())
    }

    /// Returns the number of keys, and the total length of their pretokens in bytes.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.n_taken, self.n_bytes)
    }

    /// Iterates over the keys, their hashes and counts.
    pub(super) fn iter(&self) -> impl Iterator<Item = KeyCount> + '_ {
        self.slots.iter().copied().filter(|slot| !slot.key.equals(PretokenKey::EMPTY))
    }

    /// Returns the slot of a key, or the empty slot where it belongs. There is always an empty slot.
    #[inline]
    fn slot_of(&mut self, key: PretokenKey, hash: u64) -> &mut KeyCount {
        let mask = self.slots.len() - 1;
        let mut index = hash as usize & mask;
        while !(self.slots[index].key.equals(key) | self.slots[index].key.equals(PretokenKey::EMPTY)) {
            index = (index + 1) & mask;
        }
        &mut self.slots[index]
    }

    /// Reserves capacity for `n_addends` keys if the table is empty: most of the first keys are new, and each doubling
    /// of the table would cost as much as adding them.
    pub(super) fn reserve_first(&mut self, n_addends: usize, memory: &TableMemory) -> Result<()> {
        // Under a limit there may be no memory to spare.
        if self.n_taken > 0 || memory.budget.is_limited() {
            return Ok(());
        }
        self.reserve(n_addends, memory)
    }

    /// Reserves capacity for `n` keys in total.
    pub(super) fn reserve_total(&mut self, n: usize, memory: &TableMemory) -> Result<()> {
        self.reserve(n.saturating_sub(self.n_taken), memory)
    }

    /// Reserves capacity for `n_more` keys.
    fn reserve(&mut self, n_more: usize, memory: &TableMemory) -> Result<()> {
        let n_needed = self.n_taken.saturating_add(n_more);
        if n_needed <= self.slots.len() / 4 * 3 {
            return Ok(());
        }
        let n_slots = n_needed.saturating_mul(4).div_ceil(3).next_power_of_two().max(64);
        let slots = memory.zeros(n_slots, TABLE)?;
        let old = std::mem::replace(&mut self.slots, slots);
        let old = ShortKeyTable { slots: old, ..Self::default() };
        for held in old.iter() {
            *self.slot_of(held.key, held.hash) = held;
        }
        memory.free(old.slots);
        Ok(())
    }
}
