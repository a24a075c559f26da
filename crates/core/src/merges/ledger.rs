//! The account of the pairs: counts, lists, and which is best.
//!
//! Enters: new pairs, and what old ones lose. Leaves: the best pair.

use std::ops::{DerefMut, Range};

use super::MergeOptions;
use super::cells::{Cell, Cells};
use super::field::SEPARATOR;
use super::pairs::{List, Pairs, key_of};
use super::queue::Queue;
use super::sweep::{Lane, Pairing};
use crate::error::Result;

/// The account.
pub(super) struct Ledger<'f, P> {
    lengths: &'f Cells<P>,
    pairs: Pairs,
    queue: Queue,
    /// Pairs below it are not kept.
    pub threshold: u64,
    /// No pair that was left out since the last census occurs more often.
    pub most_refused: u64,
    max_len: usize,
    /// The first slot of the arena that no list has had.
    pub arena_next: usize,
    /// Slots of a list that is done with; new lists that fit go there first, where the cache is warm.
    spare: Range<usize>,
}

impl<'f, P: Cell> Ledger<'f, P> {
    /// An empty account.
    pub fn new(options: &MergeOptions, lengths: &'f Cells<P>) -> Result<Self> {
        Ok(Ledger {
            lengths,
            pairs: Pairs::new()?,
            queue: Queue::new(options),
            threshold: 0,
            most_refused: 0,
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
        (self.arena_next, self.spare, self.most_refused) = (1, 0..0, 0);
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
                    self.refuse(fallen.map_or(self.threshold - 1, |(count, _)| count));
                    self.queue.pop();
                }
            }
        }
    }

    /// Notes that a pair was left out whose count is at most `count`.
    pub fn refuse(&mut self, count: u64) {
        self.most_refused = self.most_refused.max(count);
    }

    /// The list of a pair.
    pub fn list(&self, key: u64) -> List {
        self.pairs.get(key).map_or(List::default(), |(_, list)| list)
    }

    /// Takes a pair out, because it is merged now.
    pub fn begin(&mut self, key: u64, pairing: Pairing) -> Result<()> {
        self.pairs.retire(key);
        self.queue.join(pairing.a, pairing.b)
    }

    /// Learns that the slots of a list may be used again.
    pub fn end(&mut self, list: List) {
        if list.len > self.spare.len() {
            self.spare = list.start..list.start + list.len;
        }
    }

    /// A new pair that occurs `n` times: where its list starts, or 0 if it is not kept.
    pub fn admit(&mut self, left: usize, right: usize, count: u64, n: usize) -> Result<usize> {
        if left == SEPARATOR || right == SEPARATOR {
            return Ok(0);
        }
        if !self.may_join(left, right) {
            return Ok(0);
        }
        if count < self.threshold {
            self.refuse(count);
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
    pub fn settle(&mut self, pairing: Pairing, lanes: &mut [impl DerefMut<Target = Lane>]) -> Result<bool> {
        let Pairing { a, b, made, .. } = pairing;
        let mut n_admitted = 0;
        for first in 0..lanes.len() {
            lanes[first].right.seen.iter().for_each(|&right| self.pairs.prefetch(key_of(b, right as usize)));
            lanes[first].left.seen.iter().for_each(|&left| self.pairs.prefetch(key_of(left as usize, a)));
            for index in 0..lanes[first].right.seen.len() {
                let right = lanes[first].right.seen[index] as usize;
                if lanes[first].right.tallies[right].weight == 0 {
                    continue; // Settled with an earlier lane.
                }
                let (mut lost, mut gained, mut n) = (0, 0, 0);
                for lane in &mut lanes[first..] {
                    let merged = if right == a { lane.left.tallies[made] } else { Default::default() };
                    let tally = &mut lane.right.tallies[right];
                    let weight = std::mem::take(&mut tally.weight);
                    lost += weight;
                    gained += weight - merged.weight;
                    tally.n -= merged.n;
                    n += tally.n;
                }
                if (b, right) != (a, b) {
                    self.pairs.subtract(key_of(b, right), lost);
                }
                let start = self.admit(made, right, gained, n)?;
                n_admitted += usize::from(start != 0);
                deal(start, lanes[first..].iter_mut().map(|lane| &mut lane.right.tallies[right].n));
            }
        }
        for first in 0..lanes.len() {
            for index in 0..lanes[first].left.seen.len() {
                let left = lanes[first].left.seen[index] as usize;
                if lanes[first].left.tallies[left].weight == 0 {
                    continue;
                }
                let (mut weight, mut n) = (0, 0);
                for lane in &mut lanes[first..] {
                    let tally = &mut lane.left.tallies[left];
                    weight += std::mem::take(&mut tally.weight);
                    n += tally.n;
                }
                if left != made {
                    self.pairs.subtract(key_of(left, a), weight);
                }
                let start = self.admit(left, made, weight, n)?;
                n_admitted += usize::from(start != 0);
                deal(start, lanes[first..].iter_mut().map(|lane| &mut lane.left.tallies[left].n));
            }
        }
        Ok(n_admitted > 0)
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
pub(super) fn deal<'n>(start: usize, numbers: impl Iterator<Item = &'n mut usize>) {
    let mut next = start;
    for n in numbers.filter(|n| **n > 0) {
        let len = std::mem::replace(n, next);
        next += if start == 0 { 0 } else { len };
    }
}
