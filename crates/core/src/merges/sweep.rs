//! One merge, over one stretch of the pair's positions.
//!
//! A step has two sweeps with a settlement between them. [`sweep`] rewrites every position where the
//! pair still stands, and sums what the neighbours lose and gain into arrays indexed by neighbour: an
//! addition an occurrence, so that the settlement needs one look into the table of pairs a distinct
//! neighbour. The settlement decides which of the new pairs are worth a list, and where in the arena it
//! lies. [`gather`] then writes those lists. It must come second: in "abab" the pair (ab, a) is born
//! and dies within the step.
//!
//! Runs need no special case. Positions are visited left to right, so a merge that has just been made
//! is seen as a left neighbour, never as a right one: `left[made]` holds the weight of adjacent merges,
//! and just as much of `right[a]` was gained by (made, a) only for a moment.

use std::ops::Range;

use super::cells::Cell;
use super::field::{Field, SEPARATOR};
use crate::error::{Error, Result};
use crate::prefetch::prefetch;

/// The pair that a step merges.
#[derive(Clone, Copy, Default)]
pub(super) struct Pairing {
    /// The left symbol.
    pub a: usize,
    /// The right symbol.
    pub b: usize,
    /// The symbol that the two make.
    pub made: usize,
    /// Bytes in `a`.
    pub a_len: usize,
    /// Bytes in `a` and `b`.
    pub made_len: usize,
}

/// What a step has seen of one neighbour.
#[derive(Clone, Copy, Default)]
pub(super) struct Tally {
    /// The weight of its occurrences.
    pub weight: u64,
    /// The number of its occurrences; after the settlement the next slot to write, or 0 for no list.
    pub n: usize,
}

/// What a step has seen on one side of its pair, by neighbour.
#[derive(Default)]
pub(super) struct Side {
    /// By symbol.
    pub tallies: Vec<Tally>,
    /// The symbols whose tally is not zero, in the order in which they were met.
    pub seen: Vec<u32>,
}

impl Side {
    /// Makes room for symbols below `n`.
    fn fit(&mut self, n: usize) -> Result<()> {
        if self.tallies.len() < n {
            let what = "the sums of the neighbours";
            let more = n.next_power_of_two() - self.tallies.len();
            self.tallies.try_reserve_exact(more).map_err(Error::out_of_memory(what))?;
            self.tallies.resize(n.next_power_of_two(), Tally::default());
            self.seen.try_reserve_exact(n.next_power_of_two()).map_err(Error::out_of_memory(what))?;
        }
        Ok(())
    }

    #[inline(always)]
    fn add(&mut self, symbol: usize, weight: u64) {
        let tally = &mut self.tallies[symbol];
        if tally.n == 0 {
            self.seen.push(symbol as u32);
        }
        tally.weight += weight;
        tally.n += 1;
    }

    fn clear(&mut self) {
        for symbol in self.seen.drain(..) {
            self.tallies[symbol as usize] = Tally::default();
        }
    }
}

/// Bytes and the separator.
pub(super) const WIDTH: usize = SEPARATOR + 1;

/// One thread's share of a step.
#[derive(Default)]
pub(super) struct Lane {
    /// What stood to the left of the pair.
    pub left: Side,
    /// What stood to the right of it.
    pub right: Side,
    /// The slots of the pair's list that this lane sweeps; afterwards those that were alive.
    pub slots: Range<usize>,
    /// What a census of single bytes has seen, by left symbol times [`WIDTH`] plus right symbol.
    pub square: Vec<Tally>,
}

impl Lane {
    /// Makes ready for a step over `slots`, with symbols below `n_symbols`.
    pub fn prepare(&mut self, slots: Range<usize>, n_symbols: usize) -> Result<()> {
        self.slots = slots;
        self.left.fit(n_symbols)?;
        self.right.fit(n_symbols)
    }

    /// Makes ready for a census of the bytes at `positions`.
    pub fn prepare_census(&mut self, positions: Range<usize>) -> Result<()> {
        self.slots = positions;
        let what = "the table of byte pairs";
        self.square.try_reserve_exact(WIDTH * WIDTH).map_err(Error::out_of_memory(what))?;
        self.square.resize(WIDTH * WIDTH, Tally::default());
        Ok(())
    }

    /// Forgets the step.
    pub fn clear(&mut self) {
        self.left.clear();
        self.right.clear();
    }
}

/// How many positions are swept between two calls of `pause`.
const PAUSE_EVERY: usize = 1 << 18;

/// How many slots ahead symbols are asked for. Lists are short: those first in a stretch are asked for
/// before it begins.
const AHEAD: usize = 32;

/// Visits the positions in `slots`, asking ahead for their symbols and for those that lie `reach` further.
#[inline(always)]
fn visit<S: Cell, P: Cell>(
    field: &Field<S, P>,
    slots: Range<usize>,
    reach: usize,
    pause: &mut dyn FnMut() -> Result<()>,
    mut visit: impl FnMut(usize),
) -> Result<()> {
    let (symbols, arena) = (&field.symbols[..], &field.arena[..]);
    let Range { start: mut from, end } = slots;
    let ask = |slot: usize| {
        let p = arena[slot].get();
        prefetch(symbols.as_ptr().wrapping_add(p));
        prefetch(symbols.as_ptr().wrapping_add(p + reach));
    };
    (from..end.min(from + AHEAD)).for_each(ask);
    while from < end {
        let to = end.min(from + PAUSE_EVERY);
        for (ahead, cell) in (from + AHEAD..).zip(&arena[from..to]) {
            if ahead < end {
                ask(ahead);
            }
            visit(cell.get());
        }
        from = to;
        pause()?;
    }
    Ok(())
}

/// Rewrites the pair at every live position of the lane's slots, and tallies the neighbours.
pub(super) fn sweep<S: Cell, P: Cell>(
    field: &Field<S, P>,
    pairing: Pairing,
    lane: &mut Lane,
    pause: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let Pairing { a, b, made, a_len, made_len } = pairing;
    let (symbols, arena) = (&field.symbols[..], &field.arena[..]);
    let Lane { left, right, slots, .. } = lane;
    let mut weights = field.weights.cursor();
    let mut live = slots.start;
    visit(field, slots.clone(), pairing.made_len, pause, |p| {
        if symbols[p].get() != a || symbols[p + a_len].get() != b {
            return;
        }
        let weight = weights.at(p);
        left.add(symbols[p - 1].get(), weight);
        right.add(symbols[p + made_len].get(), weight);
        symbols[p + a_len].set(SEPARATOR);
        symbols[p].set(made);
        symbols[p + made_len - 1].set(made);
        arena[live].set(p);
        live += 1;
    })?;
    slots.end = live;
    Ok(())
}

/// Writes the positions of the new pairs that the settlement gave a list.
pub(super) fn gather<S: Cell, P: Cell>(
    field: &Field<S, P>,
    pairing: Pairing,
    lane: &mut Lane,
    pause: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let (symbols, arena) = (&field.symbols[..], &field.arena[..]);
    let Lane { left, right, slots, .. } = lane;
    visit(field, slots.clone(), pairing.made_len, pause, |p| {
        let symbol = symbols[p - 1].get();
        let next = &mut left.tallies[symbol].n;
        if *next != 0 {
            arena[*next].set(p - field.lengths[symbol].get());
            *next += 1;
        }
        let next = &mut right.tallies[symbols[p + pairing.made_len].get()].n;
        if *next != 0 {
            arena[*next].set(p);
            *next += 1;
        }
    })
}
