//! The pair index: the count and the position list of each pair worth merging, and the best pair.
//!
//! It combines three structures: the table of counts and lists ([`PairTable`]), the priority queue ([`PairQueue`]) and
//! the arena that holds the lists ([`SymbolArray::arena`](super::symbol_array::SymbolArray::arena)). Queue entries are
//! not updated when a count falls; [`PairIndex::best`] checks them against the table (lazy deletion).
//!
//! Considered but not built: storing no counts, and recounting a pair from its list when it reaches the top.
//! Maintaining the counts takes only 8 to 10 % of the time.

use std::ops::{DerefMut, Range};

use super::apply_merge::{MergeStep, ThreadState};
use super::atomic_cell::AtomicCell;
use super::options::MergeOptions;
use super::pair_queue::{NextSymbol, PairQueue};
use super::pair_table::{PairTable, PositionList, key_of};
use super::symbol_array::SEPARATOR;
use crate::budget::Budget;
use crate::error::Result;
use crate::memory::{TryReserve, Zeros};

/// The index of pairs; see the module docs.
pub(super) struct PairIndex<'a, P> {
    lengths: &'a Zeros<P>,
    /// Limits the memory of the table and the queue of pairs.
    pub budget: &'a Budget,
    pairs: PairTable<'a>,
    queue: PairQueue<'a>,
    /// Pairs with a lower count are not kept.
    pub threshold: u64,
    /// An upper bound on the count of each pair that was left out since the pairs were last counted.
    pub max_skipped_count: u64,
    /// The summed weight of all merged occurrences.
    pub merged_weight: u64,
    max_len: usize,
    /// The length of each symbol in bytes, if some existing token of several bytes takes one position; otherwise
    /// `lengths` has it.
    n_bytes: Option<Vec<usize>>,
    /// The first arena slot that was never used.
    pub arena_next: usize,
    /// Slots of a list that is no longer used. New lists that fit go there first, because these slots are cached.
    spare: Range<usize>,
}

impl<'a, P: AtomicCell> PairIndex<'a, P> {
    /// Creates an empty index. With `has_multibyte_base`, the existing tokens must be added next.
    pub fn new(
        options: &MergeOptions,
        lengths: &'a Zeros<P>,
        has_multibyte_base: bool,
        budget: &'a Budget,
    ) -> Result<Self> {
        Ok(PairIndex {
            lengths,
            budget,
            pairs: PairTable::with_reserved(0, budget)?,
            queue: PairQueue::new(options, budget),
            threshold: 0,
            max_skipped_count: 0,
            merged_weight: 0,
            max_len: options.max_token_bytes.unwrap_or(usize::MAX),
            n_bytes: has_multibyte_base.then(|| vec![1; SEPARATOR + 1]),
            arena_next: 1,
            spare: 0..0,
        })
    }

    /// Adds the next symbol. All existing tokens must be added before the first merge.
    pub fn add_symbol(&mut self, next: NextSymbol<'_>) -> Result<()> {
        if let Some(n_bytes) = &mut self.n_bytes {
            let n = match next {
                NextSymbol::Merge(left, right) => n_bytes[left] + n_bytes[right],
                NextSymbol::Token(token) => token.len(),
            };
            n_bytes.try_push(n, "the lengths of the tokens")?;
        }
        self.queue.add_symbol(next)
    }

    /// Returns whether merging `left` and `right` stays within `max_token_bytes`.
    pub fn is_short_enough(&self, left: usize, right: usize) -> bool {
        let n_bytes = match &self.n_bytes {
            Some(n_bytes) => n_bytes[left] + n_bytes[right],
            None => self.lengths[left].get() + self.lengths[right].get(),
        };
        n_bytes <= self.max_len
    }

    /// Removes all pairs, before they are counted again.
    pub fn reset(&mut self) -> Result<()> {
        self.pairs = PairTable::with_reserved(0, self.budget)?;
        self.queue.clear();
        (self.arena_next, self.spare, self.max_skipped_count) = (1, 0..0, 0);
        Ok(())
    }

    /// Reserves capacity for `n` more pairs.
    pub fn reserve(&mut self, n: usize) -> Result<()> {
        self.pairs.reserve(self.pairs.len() + n)
    }

    /// Returns the best pair and its count; `None` if no remaining pair reaches `threshold`.
    pub fn best(&mut self) -> Option<(u64, u64)> {
        loop {
            // The count in the queue is an upper bound: counts only fall after a pair is queued.
            let (key, bound) = self.queue.top()?;
            match self.pairs.get(key) {
                Some((count, _)) if count == bound => return Some((key, count)),
                Some((count, _)) if count >= self.threshold => self.queue.lower_top(count),
                fallen => {
                    // A pair that is no longer in the table was dropped because it was below the threshold.
                    self.note_skipped(fallen.map_or(self.threshold - 1, |(count, _)| count));
                    self.queue.pop();
                }
            }
        }
    }

    /// Returns the `n` best pairs and their counts; fewer if fewer remaining pairs reach `threshold`.
    pub fn best_pairs(&mut self, n: usize) -> Result<Vec<(u64, u64)>> {
        let mut found = Vec::new();
        while found.len() < n
            && let Some(best) = self.best()
        {
            found.try_push(best, "the best pairs")?;
            self.queue.pop();
        }
        found.iter().try_for_each(|&(key, count)| self.queue.push(key, count))?;
        Ok(found)
    }

    /// Records that a pair with a count of at most `count` is not in the index.
    pub fn note_skipped(&mut self, count: u64) {
        self.max_skipped_count = self.max_skipped_count.max(count);
    }

    /// Returns the position list of a pair; it is empty if the pair is not in the index.
    pub fn list(&self, key: u64) -> PositionList {
        self.pairs.get(key).map_or(PositionList::default(), |(_, list)| list)
    }

    /// Removes the pair that is about to be merged, and adds the merged symbol.
    pub fn start_merge(&mut self, key: u64, step: MergeStep) -> Result<()> {
        self.pairs.retire(key);
        self.add_symbol(NextSymbol::Merge(step.a, step.b))
    }

    /// Lets new lists reuse the slots of `list`, if it has more slots than are currently available for reuse.
    pub fn reuse_slots(&mut self, list: PositionList) {
        if list.len > self.spare.len() {
            self.spare = list.start..list.start + list.len;
        }
    }

    /// Inserts a new pair with `n` occurrences; returns the first slot of its list, or 0 if the pair is not kept.
    pub fn insert(&mut self, left: usize, right: usize, count: u64, n: usize) -> Result<usize> {
        if left == SEPARATOR || right == SEPARATOR || !self.is_short_enough(left, right) {
            return Ok(0);
        }
        if count < self.threshold {
            self.note_skipped(count);
            return Ok(0);
        }
        let from = if n <= self.spare.len() { &mut self.spare.start } else { &mut self.arena_next };
        let list = PositionList { start: *from, len: n };
        *from += n;
        let key = key_of(left, right);
        self.pairs.put(key, count, list, self.threshold)?;
        self.queue.push(key, count)?;
        Ok(list.start)
    }

    /// Applies the changes that `replace_pair` found: lowers the counts of old pairs and inserts new ones.
    ///
    /// Afterwards the `n` of each delta is the first slot to which its part writes positions, or 0 for no list. The
    /// changes of all parts are summed, so the result does not depend on how the list was divided. Returns whether any
    /// list has to be written.
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
                    continue; // Summed with an earlier part.
                }
                let (mut lost, mut gained, mut n) = (0, 0, 0);
                for state in &mut states[first..] {
                    // Adjacent occurrences: the first one saw `a` on its right, but the second one then merged it. So
                    // (b, a) is lost, but (merged, a) is not gained.
                    let adjacent = if right == a { state.left.deltas[merged] } else { Default::default() };
                    let delta = &mut state.right.deltas[right];
                    let weight = std::mem::take(&mut delta.weight);
                    lost += weight;
                    gained += weight - adjacent.weight;
                    delta.n -= adjacent.n;
                    n += delta.n;
                }
                // In a run "aaaa" the lost pair (b, a) is the merged pair itself, which has already been removed.
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
        // Only after all right neighbours: their loop reads the weights in `left.deltas[merged]`.
        for first in 0..states.len() {
            for index in 0..states[first].left.seen.len() {
                let left = states[first].left.seen[index] as usize;
                if states[first].left.deltas[left].weight == 0 {
                    continue; // Summed with an earlier part.
                }
                let (mut weight, mut n) = (0, 0);
                for state in &mut states[first..] {
                    let delta = &mut state.left.deltas[left];
                    weight += std::mem::take(&mut delta.weight);
                    n += delta.n;
                }
                self.merged_weight += weight;
                // (merged, a) existed only within this step.
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

/// Replaces each part's number of positions by the slot at which that part starts to write. The first part starts at
/// `start`; if that is 0, all become 0. Parts are in list order, so the new list ascends too.
pub(super) fn assign_offsets<'n>(start: usize, numbers: impl Iterator<Item = &'n mut usize>) {
    let mut next = start;
    for n in numbers.filter(|n| **n > 0) {
        let len = std::mem::replace(n, next);
        next += if start == 0 { 0 } else { len };
    }
}
