//! The engine: exactly the merges of [`super::naive`], in a fraction of the time.
//!
//! Enters: a [`Field`]. Leaves: merges. Cost: every merged occurrence is touched once, plus a few
//! passes over the field; an occurrence that died in a list is skipped once.
//!
//! What makes it exact:
//! - A pair can gain occurrences only in the step that makes the younger of its two symbols. Its list
//!   is therefore born whole, and its count only falls from then on.
//! - Only pairs of at least `threshold` are kept. A pair below it cannot rise, so as long as the best
//!   kept pair is not below it either, the best kept pair is the best of all. Otherwise the threshold is
//!   lowered and a census of the field finds every pair that is now above it.
//!
//! The arena never overflows. After a census it holds at most one slot a token of the field, and a
//! step adds at most two for each of the tokens that it removes, and no more than there are tokens; so
//! with two slots a token there is always room for one step more, and when there is not, a census (which
//! drops what died) makes it.

use super::cells::Cell;
use super::census;
use super::field::{Field, SEPARATOR};
use super::pairs::{List, Pairs, key_of, pair_of};
use super::pulse::Pulse;
use super::queue::Queue;
use super::sweep::{Lane, Pairing, gather, sweep};
use super::{Merge, MergeOptions};
use crate::error::Result;

/// The state between two steps.
pub(super) struct Engine<'f, 'p, S, P> {
    field: &'f Field<S, P>,
    pairs: Pairs,
    queue: Queue,
    lanes: Vec<Lane>,
    pulse: Pulse<'p>,
    /// By symbol below 256: its byte.
    bytes: [u8; 256],
    n_symbols: usize,
    n_merges: usize,
    /// Adjacent tokens in the field, or a bound of them.
    n_tokens: usize,
    arena_next: usize,
    threshold: u64,
    min_frequency: u64,
    max_len: usize,
}

impl<'f, 'p, S: Cell, P: Cell> Engine<'f, 'p, S, P> {
    pub fn new(
        field: &'f Field<S, P>,
        n_tokens: u64,
        options: &MergeOptions,
        pulse: Pulse<'p>,
    ) -> Result<Self> {
        let mut bytes = [0; 256];
        for (byte, &symbol) in (0..=255u8).zip(&options.byte_order) {
            bytes[usize::from(symbol)] = byte;
        }
        let threshold = std::env::var("TAU").map_or(1, |t| t.parse().unwrap());
        Ok(Engine {
            field,
            pairs: Pairs::new()?,
            queue: Queue::new(options),
            lanes: vec![Lane::default()],
            pulse,
            bytes,
            n_symbols: SEPARATOR + 1,
            n_merges: options.n_merges,
            n_tokens: n_tokens as usize,
            arena_next: 1,
            threshold,
            min_frequency: options.min_frequency.max(1),
            max_len: options.max_token_bytes.unwrap_or(usize::MAX),
        })
    }

    /// Learns until there are `n_merges` merges or no pair is left.
    pub fn learn(mut self) -> Result<Vec<Merge>> {
        self.threshold = self.threshold.max(self.min_frequency);
        let Engine { field, ref mut queue, threshold, max_len, .. } = self;
        if max_len >= 2 {
            let keep = |left, right, count| {
                let kept = count >= threshold;
                if kept {
                    queue.push(key_of(left, right), count)?;
                }
                Ok(kept)
            };
            self.arena_next = census::of_bytes(field, &mut self.pairs, keep, &mut || self.pulse.beat())?;
        }
        while self.pulse.merges.len() < self.n_merges {
            let Some((key, list)) = self.choose()? else { break };
            self.step(key, list)?;
            self.pulse.beat()?;
        }
        self.pulse.flush()?;
        Ok(self.pulse.merges)
    }

    /// The best pair and its list.
    fn choose(&mut self) -> Result<Option<(u64, List)>> {
        loop {
            let Some((key, bound)) = self.queue.top() else {
                if self.threshold == self.min_frequency {
                    return Ok(None);
                }
                self.threshold = (self.threshold / 4).max(self.min_frequency);
                self.recount()?;
                continue;
            };
            match self.pairs.get(key) {
                Some((count, list)) if count == bound => {
                    if self.arena_next + self.n_tokens.min(2 * list.len) > self.field.arena.len() {
                        self.recount()?;
                        continue;
                    }
                    self.queue.pop();
                    return Ok(Some((key, list)));
                }
                Some((count, _)) if count >= self.threshold => self.queue.lower(count),
                _ => self.queue.pop(),
            }
        }
    }

    /// Finds all pairs of at least `threshold`, and their lists, anew.
    fn recount(&mut self) -> Result<()> {
        let Engine { field, ref mut queue, threshold, max_len, .. } = *self;
        queue.clear();
        let keep = |left: usize, right: usize, count| {
            let kept = field.lengths[left].get() + field.lengths[right].get() <= max_len;
            if kept {
                queue.push(key_of(left, right), count)?;
            }
            Ok(kept)
        };
        self.arena_next =
            census::of_tokens(field, self.n_symbols, threshold, &mut self.pairs, keep, &mut || {
                self.pulse.beat()
            })?;
        Ok(())
    }

    /// Merges a pair.
    fn step(&mut self, key: u64, list: List) -> Result<()> {
        let (a, b) = pair_of(key);
        let field = self.field;
        let a_len = field.lengths[a].get();
        let pairing = Pairing { a, b, made: self.n_symbols, a_len, made_len: a_len + field.lengths[b].get() };
        field.lengths[pairing.made].set(pairing.made_len);
        self.n_symbols += 1;
        self.pulse.merges.push((self.public(a), self.public(b)));
        self.queue.join(a, b)?;
        self.pairs.retire(key);

        let mut lanes = std::mem::take(&mut self.lanes);
        for lane in &mut lanes {
            lane.prepare(list.start..list.start + list.len, self.n_symbols)?;
            sweep(field, pairing, lane, &mut || self.pulse.beat())?;
            self.n_tokens -= lane.slots.len();
        }
        if self.settle(pairing, &mut lanes)? {
            for lane in &mut lanes {
                gather(field, pairing, lane, &mut || self.pulse.beat())?;
            }
        }
        for lane in &mut lanes {
            lane.clear();
        }
        self.lanes = lanes;
        Ok(())
    }

    /// Changes the counts of the old pairs and gives lists to the new ones; says whether to any.
    fn settle(&mut self, pairing: Pairing, lanes: &mut [Lane]) -> Result<bool> {
        let Pairing { a, b, made, .. } = pairing;
        let before = self.arena_next;
        for first in 0..lanes.len() {
            for index in 0..lanes[first].right.seen.len() {
                let right = lanes[first].right.seen[index] as usize;
                let mut lost = 0;
                for lane in &lanes[first..] {
                    lost += lane.right.tallies[right].weight;
                }
                if lost == 0 {
                    continue;
                }
                if right != SEPARATOR && (right, b) != (b, a) {
                    self.pairs.subtract(key_of(b, right), lost);
                }
                let (mut weight, mut n) = (0, 0);
                for lane in &mut lanes[first..] {
                    let merged = if right == a { lane.left.tallies[made] } else { Default::default() };
                    let tally = &mut lane.right.tallies[right];
                    weight += std::mem::take(&mut tally.weight) - merged.weight;
                    tally.n -= merged.n;
                    n += tally.n;
                }
                let mut next = self.admit(made, right, weight, n)?;
                for lane in &mut lanes[first..] {
                    let n = std::mem::replace(&mut lane.right.tallies[right].n, next);
                    next += if next == 0 { 0 } else { n };
                }
            }
        }
        for first in 0..lanes.len() {
            for index in 0..lanes[first].left.seen.len() {
                let left = lanes[first].left.seen[index] as usize;
                let (mut weight, mut n) = (0, 0);
                for lane in &mut lanes[first..] {
                    let tally = &mut lane.left.tallies[left];
                    weight += std::mem::take(&mut tally.weight);
                    n += tally.n;
                }
                if weight == 0 {
                    continue;
                }
                if left != SEPARATOR && left != made {
                    self.pairs.subtract(key_of(left, a), weight);
                }
                let mut next = self.admit(left, made, weight, n)?;
                for lane in &mut lanes[first..] {
                    let n = std::mem::replace(&mut lane.left.tallies[left].n, next);
                    next += if next == 0 { 0 } else { n };
                }
            }
        }
        Ok(self.arena_next > before)
    }

    /// The first slot of a list for the pair, or 0 if it needs none.
    fn admit(&mut self, left: usize, right: usize, weight: u64, n: usize) -> Result<usize> {
        let n_bytes = self.field.lengths[left].get() + self.field.lengths[right].get();
        if weight < self.threshold || left == SEPARATOR || right == SEPARATOR || n_bytes > self.max_len {
            return Ok(0);
        }
        let list = List { start: self.arena_next, len: n };
        self.arena_next += n;
        self.pairs.put(key_of(left, right), weight, list, self.threshold)?;
        self.queue.push(key_of(left, right), weight)?;
        Ok(list.start)
    }

    fn public(&self, symbol: usize) -> u32 {
        match self.bytes.get(symbol) {
            Some(&byte) => u32::from(byte),
            None => symbol as u32 - 1,
        }
    }
}
