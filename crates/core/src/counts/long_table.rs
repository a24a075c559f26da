//! Counts of pretokens that are too long to be their own key: a hash table with open addressing over an arena of bytes.
//!
//! A batch is added in three passes, so that it waits for memory twice in total and not twice per pretoken:
//!
//! ```text
//! prefetch the slot of each hash
//! if the slot has the same hash: prefetch its bytes in the arena
//! compare the bytes and add; append new pretokens to the arena
//! ```
//!
//! Invariants: the number of slots is 0 or a power of two, at most three quarters are taken, and no slot between the
//! first slot of a hash and the one that holds its pretoken is empty.
//!
//! Tried: a general hash table, which cannot prefetch. Counting was 10 to 15 % slower on text with many long words.

use super::table_memory::TableMemory;
use crate::error::Result;
use crate::memory::{Zero, Zeros};
use crate::prefetch::prefetch;
use crate::short_bytes;

const TABLE: &str = "the table of distinct pretokens";
const ARENA: &str = "the arena of long pretokens";

/// Approximate bytes of a long pretoken in a log.
const LOGGED_BYTES: usize = 64;

/// A count to add to a long pretoken, with the pretoken's hash.
#[derive(Clone, Copy, Default)]
pub(super) struct LongAddend<'a> {
    pub(super) pretoken: &'a [u8],
    pub(super) hash: u64,
    pub(super) count: u64,
}

/// The table. Its memory comes from the [`TableMemory`] that is passed to its methods.
#[derive(Default)]
pub(super) struct LongTable {
    slots: Zeros<Slot>,
    n_taken: usize,
    arena: Zeros<u8>,
    /// Number of bytes in use in the arena.
    n_bytes: usize,
}

/// Half a cache line.
#[derive(Clone, Copy, Default)]
#[repr(align(32))]
struct Slot {
    hash: u64,
    /// Where the pretoken starts in the arena.
    start: usize,
    /// The length of the pretoken; 0 in an empty slot.
    n_bytes: usize,
    count: u64,
}

// SAFETY: All fields are integers, and zeroed memory is 0, their default.
unsafe impl Zero for Slot {}

impl LongTable {
    /// Adds counts to pretokens, which must not be empty.
    pub(super) fn add(&mut self, batch: &[LongAddend<'_>], memory: &TableMemory) -> Result<()> {
        self.reserve(batch.len(), memory)?;
        let mask = self.slots.len().wrapping_sub(1);
        if batch.len() > 1 {
            for addend in batch {
                prefetch(self.slots.as_ptr().wrapping_add(addend.hash as usize & mask));
            }
            for addend in batch {
                let slot = &self.slots[addend.hash as usize & mask];
                if slot.hash == addend.hash {
                    prefetch(self.arena.as_ptr().wrapping_add(slot.start));
                }
            }
        }
        batch.iter().try_for_each(|addend| self.add_one(addend, memory))
    }

    #[inline]
    fn add_one(&mut self, addend: &LongAddend<'_>, memory: &TableMemory) -> Result<()> {
        let mask = self.slots.len() - 1;
        let mut index = addend.hash as usize & mask;
        loop {
            let slot = &mut self.slots[index];
            if slot.n_bytes == 0 {
                break;
            }
            if slot.hash == addend.hash
                && slot.n_bytes == addend.pretoken.len()
                && short_bytes::are_equal(&self.arena[slot.start..slot.start + slot.n_bytes], addend.pretoken)
            {
                slot.count += addend.count;
                return Ok(());
            }
            index = (index + 1) & mask;
        }
        let &LongAddend { pretoken, hash, count } = addend;
        self.reserve_arena(pretoken.len(), memory)?;
        let start = self.n_bytes;
        self.slots[index] = Slot { hash, start, n_bytes: pretoken.len(), count };
        short_bytes::copy(pretoken, &mut self.arena[start..]);
        self.n_bytes += pretoken.len();
        self.n_taken += 1;
        Ok(())
    }

    /// Returns the number of pretokens, and their total length in bytes.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.n_taken, self.n_bytes)
    }

    /// Iterates over the pretokens and their counts.
    pub(super) fn iter(&self) -> impl Iterator<Item = LongAddend<'_>> {
        self.slots.iter().filter(|slot| slot.n_bytes != 0).map(|slot| LongAddend {
            pretoken: &self.arena[slot.start..slot.start + slot.n_bytes],
            hash: slot.hash,
            count: slot.count,
        })
    }

    /// Reserves capacity in an empty table for the first pretokens, which take `n_bytes` in a log with their hashes and
    /// counts. About half of them are new, and each doubling of the table would cost as much as adding them.
    pub(super) fn reserve_first(&mut self, n_bytes: usize, memory: &TableMemory) -> Result<()> {
        // Under a limit there may be no memory to spare.
        if self.n_taken > 0 || memory.budget.is_limited() {
            return Ok(());
        }
        self.reserve_total(n_bytes / (2 * LOGGED_BYTES), n_bytes / 4, memory)
    }

    /// Reserves capacity for a total of `n` pretokens with `n_bytes` bytes.
    pub(super) fn reserve_total(&mut self, n: usize, n_bytes: usize, memory: &TableMemory) -> Result<()> {
        self.reserve(n.saturating_sub(self.n_taken), memory)?;
        self.reserve_arena(n_bytes.saturating_sub(self.n_bytes), memory)
    }

    /// Reserves slots for `n_more` pretokens, but no bytes in the arena: most are already in the table.
    fn reserve(&mut self, n_more: usize, memory: &TableMemory) -> Result<()> {
        let n_needed = self.n_taken.saturating_add(n_more);
        if n_needed <= self.slots.len() / 4 * 3 {
            return Ok(());
        }
        let n_slots = n_needed.saturating_mul(4).div_ceil(3).next_power_of_two().max(8);
        let slots = memory.zeros(n_slots, TABLE)?;
        let old = std::mem::replace(&mut self.slots, slots);
        let mask = n_slots - 1;
        for &slot in old.iter().filter(|slot| slot.n_bytes != 0) {
            let mut index = slot.hash as usize & mask;
            while self.slots[index].n_bytes != 0 {
                index = (index + 1) & mask;
            }
            self.slots[index] = slot;
        }
        memory.free(old);
        Ok(())
    }

    fn reserve_arena(&mut self, n_more: usize, memory: &TableMemory) -> Result<()> {
        if self.arena.len() - self.n_bytes >= n_more {
            return Ok(());
        }
        let needed = self.n_bytes.saturating_add(n_more).max(256);
        // Double the capacity; under a limit, which may be too close for that, grow by half.
        let wanted = match memory.budget.is_limited() {
            true => needed.max(self.n_bytes + self.n_bytes / 2),
            false => needed.checked_next_power_of_two().unwrap_or(needed),
        };
        let mut arena = memory.zeros(wanted, ARENA)?;
        arena[..self.n_bytes].copy_from_slice(&self.arena[..self.n_bytes]);
        memory.free(std::mem::replace(&mut self.arena, arena));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn table_adds_counts_of_equal_pretokens_where_many_hashes_are_equal() {
        let (memory, mut table) = (TableMemory::new(None), LongTable::default());
        let mut expected = BTreeMap::new();
        let pretokens: Vec<String> = (0..700).map(|n| format!("a pretoken of some length {n}")).collect();
        for round in 0..4 {
            for batch in pretokens[..175 * (round + 1)].chunks(23) {
                let addends: Vec<_> = batch
                    .iter()
                    .flat_map(|pretoken| [pretoken, pretoken])
                    .map(|text| LongAddend {
                        pretoken: text.as_bytes(),
                        hash: text.len() as u64 % 2,
                        count: 3,
                    })
                    .collect();
                table.add(&addends, &memory).unwrap();
                batch.iter().for_each(|pretoken| *expected.entry(pretoken.as_bytes()).or_insert(0) += 6);
            }
        }
        let counts: BTreeMap<_, _> = table.iter().map(|held| (held.pretoken, held.count)).collect();
        assert_eq!((counts.len(), table.size().0), (700, 700));
        assert_eq!(counts, expected);
    }
}
