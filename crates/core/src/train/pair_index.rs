//! The account of the pairs: counts, lists, and which is best.
//!
//! Enters: new pairs, and what old ones lose. Leaves: the best pair.

use std::ops::{DerefMut, Range};

use super::MergeOptions;
use super::apply_merge::{MergeStep, ThreadState};
use super::atomic_array::{AtomicArray, AtomicCell};
use super::pair_queue::PairQueue;
use super::pair_table::{List, PairTable, key_of};
use super::symbol_array::SEPARATOR;
use crate::error::Result;

/// The account.
pub(super) struct PairIndex<'f, P> {
    lengths: &'f AtomicArray<P>,
    pairs: PairTable,
    queue: PairQueue,
    /// PairTable below it are not kept.
    pub threshold: u64,
    /// No pair that was left out since the last census occurs more often.
    pub most_skipped: u64,
    max_len: usize,
    /// The first slot of the arena that no list has had.
    pub arena_next: usize,
    /// Slots of a list that is done with; new lists that fit go there first, where the cache is warm.
    spare: Range<usize>,
}

impl<'f, P: AtomicCell> PairIndex<'f, P> {
    /// An empty account.
    pub fn new(options: &MergeOptions, lengths: &'f AtomicArray<P>) -> Result<Self> {
        Ok(PairIndex {
            lengths,
            pairs: PairTable::new()?,
            queue: PairQueue::new(options),
            threshold: 0,
            most_skipped: 0,
            max_len: options.max_token_bytes.unwrap_or(usize::MAX),
            arena_next: 1,
            spare: 0..0,
        })
    }

    /// Whether the token that `left` and `right` would make is short enough.
    pub fn may_join(&self, left: usize, right: usize) -> bool {
        self.lengths[left].get() + self.lengths[right].get() <= self.max_len
    }

    /// Forgets all pairs, before a census.
    pub fn reset(&mut self) -> Result<()> {
        self.pairs.clear(0)?;
        self.queue.clear();
        (self.arena_next, self.spare, self.most_skipped) = (1, 0..0, 0);
        Ok(())
    }

    /// Makes room for `n` more pairs.
    pub fn expect(&mut self, n: usize) -> Result<()> {
        self.pairs.reserve(self.pairs.len() + n)
    }

    /// The best pair with its count, if one of at least `threshold` is left.
    pub fn best(&mut self) -> Option<(u64, u64)> {
        loop {
            let (key, bound) = self.queue.top()?;
            match self.pairs.get(key) {
                Some((count, _)) if count == bound => return Some((key, count)),
                Some((count, _)) if count >= self.threshold => self.queue.lower(count),
                fallen => {
                    self.note_skipped(fallen.map_or(self.threshold - 1, |(count, _)| count));
                    self.queue.pop();
                }
            }
        }
    }

    /// Notes that a pair was left out whose count is at most `count`.
    pub fn note_skipped(&mut self, count: u64) {
        self.most_skipped = self.most_skipped.max(count);
    }

    /// The list of a pair.
    pub fn list(&self, key: u64) -> List {
        self.pairs.get(key).map_or(List::default(), |(_, list)| list)
    }

    /// Takes a pair out, because it is merged now.
    pub fn begin(&mut self, key: u64, step: MergeStep) -> Result<()> {
        self.pairs.retire(key);
        self.queue.join(step.a, step.b)
    }

    /// Learns that the slots of a list may be used again.
    pub fn end(&mut self, list: List) {
        if list.len > self.spare.len() {
            self.spare = list.start..list.start + list.len;
        }
    }

    /// A new pair that occurs `n` times: where its list starts, or 0 if it is not kept.
    pub fn insert(&mut self, left: usize, right: usize, count: u64, n: usize) -> Result<usize> {
        if left == SEPARATOR || right == SEPARATOR {
            return Ok(0);
        }
        if !self.may_join(left, right) {
            return Ok(0);
        }
        if count < self.threshold {
            self.note_skipped(count);
            return Ok(0);
        }
        let list = allot(&mut self.spare, &mut self.arena_next, n);
        let key = key_of(left, right);
        self.pairs.put(key, count, list, self.threshold)?;
        self.queue.push(key, count)?;
        Ok(list.start)
    }

    /// Books what a step found: takes from the old pairs what they lost, and admits the new ones. The
    /// tallies of the lanes then say where to write. Lanes are added up, so how a list was cut shows
    /// nowhere. Says whether there is anything to gather.
    pub fn apply_deltas(
        &mut self,
        step: MergeStep,
        states: &mut [impl DerefMut<Target = ThreadState>],
    ) -> Result<bool> {
        let MergeStep { a, b, merged, .. } = step;
        let mut n_inserted = 0;
        for first in 0..states.len() {
            states[first].right.seen.iter().for_each(|&right| self.pairs.prefetch(key_of(b, right as usize)));
            states[first].left.seen.iter().for_each(|&left| self.pairs.prefetch(key_of(left as usize, a)));
            for index in 0..states[first].right.seen.len() {
                let right = states[first].right.seen[index] as usize;
                if states[first].right.deltas[right].weight == 0 {
                    continue; // Settled with an earlier lane.
                }
                let (mut lost, mut gained, mut n) = (0, 0, 0);
                for state in &mut states[first..] {
                    let merged = if right == a { state.left.deltas[merged] } else { Default::default() };
                    let delta = &mut state.right.deltas[right];
                    let weight = std::mem::take(&mut delta.weight);
                    lost += weight;
                    gained += weight - merged.weight;
                    delta.n -= merged.n;
                    n += delta.n;
                }
                if (b, right) != (a, b) {
                    self.pairs.subtract(key_of(b, right), lost);
                }
                let start = self.insert(merged, right, gained, n)?;
                n_inserted += usize::from(start != 0);
                assign_offsets(
                    start,
                    states[first..].iter_mut().map(|state| &mut state.right.deltas[right].n),
                );
            }
        }
        for first in 0..states.len() {
            for index in 0..states[first].left.seen.len() {
                let left = states[first].left.seen[index] as usize;
                if states[first].left.deltas[left].weight == 0 {
                    continue;
                }
                let (mut weight, mut n) = (0, 0);
                for state in &mut states[first..] {
                    let delta = &mut state.left.deltas[left];
                    weight += std::mem::take(&mut delta.weight);
                    n += delta.n;
                }
                if left != merged {
                    self.pairs.subtract(key_of(left, a), weight);
                }
                let start = self.insert(left, merged, weight, n)?;
                n_inserted += usize::from(start != 0);
                assign_offsets(start, states[first..].iter_mut().map(|state| &mut state.left.deltas[left].n));
            }
        }
        Ok(n_inserted > 0)
    }
}

/// A list of `n` slots.
fn allot(spare: &mut Range<usize>, arena_next: &mut usize, n: usize) -> List {
    let from = if n <= spare.len() { &mut spare.start } else { arena_next };
    let list = List { start: *from, len: n };
    *from += n;
    list
}

/// Turns the numbers of slots that lanes need into the places where they write, from `start` on.
pub(super) fn assign_offsets<'n>(start: usize, numbers: impl Iterator<Item = &'n mut usize>) {
    let mut next = start;
    for n in numbers.filter(|n| **n > 0) {
        let len = std::mem::replace(n, next);
        next += if start == 0 { 0 } else { len };
    }
}
