//! One merge, over one stretch of the pair's positions.
//!
//! A step has two sweeps with a settlement between them. [`replace_pair`] rewrites every position where the
//! pair still stands, and sums what the neighbours lose and gain into arrays indexed by neighbour: an
//! addition an occurrence, so that the settlement needs one look into the table of pairs a distinct
//! neighbour. The settlement decides which of the new pairs are worth a list, and where in the arena it
//! lies. [`collect_positions`] then writes those lists. It must come second: in "abab" the pair (ab, a) is born
//! and dies within the step.
//!
//! Runs need no special case. Positions are visited left to right, so a merge that has just been made
//! is seen as a left neighbour, never as a right one: `left[merged]` holds the weight of adjacent merges,
//! and just as much of `right[a]` was gained by (made, a) only for a moment.

use std::ops::Range;

use super::atomic_array::AtomicCell;
use super::symbol_array::{SEPARATOR, SymbolArray};
use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::prefetch::prefetch;

/// The pair that a step merges.
#[derive(Clone, Copy, Default)]
pub(super) struct MergeStep {
    /// The left symbol.
    pub a: usize,
    /// The right symbol.
    pub b: usize,
    /// The symbol that the two make.
    pub merged: usize,
    /// Bytes in `a`.
    pub a_len: usize,
    /// Bytes in `a` and `b`.
    pub merged_len: usize,
}

/// What a step has seen of one neighbour.
#[derive(Clone, Copy, Default)]
pub(super) struct PairDelta {
    /// The weight of its occurrences.
    pub weight: u64,
    /// The number of its occurrences; after the settlement the next slot to write, or 0 for no list.
    pub n: usize,
}

/// What a step has seen on one side of its pair, by neighbour.
#[derive(Default)]
pub(super) struct NeighborDeltas {
    /// By symbol.
    pub deltas: Vec<PairDelta>,
    /// The symbols whose tally is not zero, in the order in which they were met.
    pub seen: Vec<u32>,
}

impl NeighborDeltas {
    /// Makes room for symbols below `n`.
    fn fit(&mut self, n: usize) -> Result<()> {
        if self.deltas.len() < n {
            let what = "the sums of the neighbours";
            let more = n.next_power_of_two() - self.deltas.len();
            self.deltas.try_reserve_exact(more).map_err(Error::out_of_memory(what))?;
            self.deltas.resize(n.next_power_of_two(), PairDelta::default());
            self.seen.try_reserve_exact(n.next_power_of_two()).map_err(Error::out_of_memory(what))?;
        }
        Ok(())
    }

    #[inline(always)]
    fn add(&mut self, symbol: usize, weight: u64) {
        let delta = &mut self.deltas[symbol];
        if delta.n == 0 {
            self.seen.push(symbol as u32);
        }
        delta.weight += weight;
        delta.n += 1;
    }

    fn clear(&mut self) {
        for symbol in self.seen.drain(..) {
            self.deltas[symbol as usize] = PairDelta::default();
        }
    }
}

/// Bytes and the separator.
pub(super) const WIDTH: usize = SEPARATOR + 1;

/// One thread's share of a step.
#[derive(Default)]
pub(super) struct ThreadState {
    /// What stood to the left of the pair.
    pub left: NeighborDeltas,
    /// What stood to the right of it.
    pub right: NeighborDeltas,
    /// The slots of the pair's list that this lane sweeps; afterwards those that were alive.
    pub slots: Range<usize>,
    /// What a census of single bytes has seen, by left symbol times [`WIDTH`] plus right symbol.
    pub byte_pairs: Vec<PairDelta>,
}

impl ThreadState {
    /// Makes ready for a step over `slots`, with symbols below `n_symbols`.
    pub fn prepare(&mut self, slots: Range<usize>, n_symbols: usize) -> Result<()> {
        self.slots = slots;
        self.left.fit(n_symbols)?;
        self.right.fit(n_symbols)
    }

    /// Makes ready for a census of the bytes at `positions`.
    pub fn prepare_count(&mut self, positions: Range<usize>) -> Result<()> {
        self.slots = positions;
        let what = "the table of byte pairs";
        self.byte_pairs.try_resize(WIDTH * WIDTH, PairDelta::default(), what)?;
        Ok(())
    }

    /// Forgets the step.
    pub fn clear(&mut self) {
        self.left.clear();
        self.right.clear();
    }
}

/// How many positions are swept between two calls of `on_progress`.
const POSITIONS_PER_TICK: usize = 1 << 18;

/// How many slots ahead symbols are asked for. Lists are short: those first in a stretch are asked for
/// before it begins.
const AHEAD: usize = 32;

/// Visits the positions in `slots`, asking ahead for their symbols and for those that lie `reach` further.
#[inline(always)]
fn visit<S: AtomicCell, P: AtomicCell>(
    array: &SymbolArray<S, P>,
    slots: Range<usize>,
    reach: usize,
    on_progress: &mut dyn FnMut() -> Result<()>,
    mut visit: impl FnMut(usize),
) -> Result<()> {
    let (symbols, arena) = (&array.symbols[..], &array.arena[..]);
    let Range { start: mut from, end } = slots;
    let ask = |slot: usize| {
        let p = arena[slot].get();
        prefetch(symbols.as_ptr().wrapping_add(p));
        prefetch(symbols.as_ptr().wrapping_add(p + reach));
    };
    (from..end.min(from + AHEAD)).for_each(ask);
    while from < end {
        let to = end.min(from + POSITIONS_PER_TICK);
        for (ahead, cell) in (from + AHEAD..).zip(&arena[from..to]) {
            if ahead < end {
                ask(ahead);
            }
            visit(cell.get());
        }
        from = to;
        on_progress()?;
    }
    Ok(())
}

/// Rewrites the pair at every live position of the lane's slots, and tallies the neighbours.
pub(super) fn replace_pair<S: AtomicCell, P: AtomicCell>(
    array: &SymbolArray<S, P>,
    step: MergeStep,
    state: &mut ThreadState,
    on_progress: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let MergeStep { a, b, merged, a_len, merged_len } = step;
    let (symbols, arena) = (&array.symbols[..], &array.arena[..]);
    let ThreadState { left, right, slots, .. } = state;
    let mut weights = array.weights.cursor();
    let mut live = slots.start;
    visit(array, slots.clone(), step.merged_len, on_progress, |p| {
        if symbols[p].get() != a || symbols[p + a_len].get() != b {
            return;
        }
        let weight = weights.at(p);
        left.add(symbols[p - 1].get(), weight);
        right.add(symbols[p + merged_len].get(), weight);
        symbols[p + a_len].set(SEPARATOR);
        symbols[p].set(merged);
        symbols[p + merged_len - 1].set(merged);
        arena[live].set(p);
        live += 1;
    })?;
    slots.end = live;
    Ok(())
}

/// Writes the positions of the new pairs that the settlement gave a list.
pub(super) fn collect_positions<S: AtomicCell, P: AtomicCell>(
    array: &SymbolArray<S, P>,
    step: MergeStep,
    state: &mut ThreadState,
    on_progress: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let (symbols, arena) = (&array.symbols[..], &array.arena[..]);
    let ThreadState { left, right, slots, .. } = state;
    visit(array, slots.clone(), step.merged_len, on_progress, |p| {
        let symbol = symbols[p - 1].get();
        let next = &mut left.deltas[symbol].n;
        if *next != 0 {
            arena[*next].set(p - array.lengths[symbol].get());
            *next += 1;
        }
        let next = &mut right.deltas[symbols[p + step.merged_len].get()].n;
        if *next != 0 {
            arena[*next].set(p);
            *next += 1;
        }
    })
}
