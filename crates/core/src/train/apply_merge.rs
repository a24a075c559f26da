//! One training step: merging the pair (a, b) into the new symbol m, at the positions in its list.
//!
//! Only pairs next to an occurrence change. If x and y are the neighbouring tokens,
//!
//! ```text
//!     ... x a b y ...    becomes    ... x m y ...
//! ```
//!
//! so (x, a) and (b, y) lose the occurrence's weight, and (x, m) and (m, y) gain it. A step has three passes:
//!
//! ```text
//! replace_pair:                                       # threads share the list
//!     for p in the list of (a, b), ascending:
//!         if symbols[p] != a or symbols[p + len(a)] != b:
//!             continue                                # an earlier merge took this occurrence
//!         left[symbols[p - 1]]       += weight(p)     # x
//!         right[symbols[p + len(m)]] += weight(p)     # y
//!         write m over the occurrence; keep p
//!
//! apply_deltas (pair_index.rs):                       # one thread, one table lookup per distinct neighbour
//!     for y in right: count(b, y) -= right[y];  if (m, y) is frequent: insert it, assign list slots
//!     for x in left:  count(x, a) -= left[x];   if (x, m) is frequent: insert it, assign list slots
//!
//! collect_positions:                                  # threads share the kept positions
//!     for p in the kept positions:
//!         append p - len(x) to the list of (x, m) and p to the list of (m, y), if they have one
//! ```
//!
//! The lists are written in a separate pass because a pair can appear and disappear within the step: in "abab" the pair
//! (m, a) exists only until the second "ab" is merged.
//!
//! Runs such as "aaaa" need no special case. Positions are visited left to right, so an m written in this step is seen
//! as a left neighbour, never as a right one. So `left[m]` is the weight of adjacent merges (m, m), and `right[a]`
//! overcounts (m, a) by the same weight, which [`PairIndex::apply_deltas`] subtracts.
//!
//! [`PairIndex::apply_deltas`]: super::pair_index::PairIndex::apply_deltas

use std::ops::Range;

use super::atomic_cell::AtomicCell;
use super::symbol_array::{SEPARATOR, SymbolArray};
use crate::error::Result;
use crate::memory::TryReserve;
use crate::prefetch::prefetch;

/// The pair that a step merges.
#[derive(Clone, Copy, Default)]
pub(super) struct MergeStep {
    /// The left symbol.
    pub a: usize,
    /// The right symbol.
    pub b: usize,
    /// The new symbol.
    pub merged: usize,
    /// Number of symbols in use, including the new one.
    pub n_symbols: usize,
    /// Bytes of `a`.
    pub a_len: usize,
    /// Bytes of `merged`.
    pub merged_len: usize,
}

/// The change of one pair in one step.
#[derive(Clone, Copy, Default)]
pub(super) struct PairDelta {
    /// The summed weight of its occurrences.
    pub weight: u64,
    /// The number of its occurrences. Once slots are assigned: the next slot to write, or 0 if the pair has no list.
    pub n: usize,
}

/// The changes of one step on one side of the pair, by neighbouring symbol.
#[derive(Default)]
pub(super) struct NeighborDeltas {
    /// Indexed by symbol.
    pub deltas: Vec<PairDelta>,
    /// The symbols that have a delta, in the order of their first occurrence.
    pub seen: Vec<u32>,
}

impl NeighborDeltas {
    /// Makes room for symbols below `n`, so that `add` never allocates.
    fn grow_to(&mut self, n: usize) -> Result<()> {
        if self.deltas.len() < n {
            let what = "the changes of neighbouring pairs";
            self.deltas.try_resize(n.next_power_of_two(), PairDelta::default(), what)?;
            self.seen.grow(n.next_power_of_two(), what)?;
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

/// Number of symbols before the first merge: the bytes and the separator.
pub(super) const N_BYTE_SYMBOLS: usize = SEPARATOR + 1;

/// The working memory for one part of a task.
#[derive(Default)]
pub(super) struct ThreadState {
    /// The changes of the pairs of `a` with its left neighbours.
    pub left: NeighborDeltas,
    /// The changes of the pairs of `b` with its right neighbours.
    pub right: NeighborDeltas,
    /// The arena slots of the pair's list that this part visits; after `replace_pair`, only the slots of live
    /// positions. For byte pairs: the positions to count.
    pub range: Range<usize>,
    /// Counts of byte pairs, at the index left symbol times [`N_BYTE_SYMBOLS`] plus right symbol.
    pub byte_pairs: Vec<PairDelta>,
}

impl ThreadState {
    /// Prepares a step over the arena slots `range`, with symbols below `n_symbols`.
    pub fn prepare(&mut self, range: Range<usize>, n_symbols: usize) -> Result<()> {
        self.range = range;
        self.left.grow_to(n_symbols)?;
        self.right.grow_to(n_symbols)
    }

    /// Prepares to count the byte pairs at `positions`.
    pub fn prepare_count(&mut self, positions: Range<usize>) -> Result<()> {
        self.range = positions;
        self.byte_pairs.try_resize(
            N_BYTE_SYMBOLS * N_BYTE_SYMBOLS,
            PairDelta::default(),
            "the table of byte pairs",
        )
    }

    /// Resets the deltas after a step.
    pub fn clear(&mut self) {
        self.left.clear();
        self.right.clear();
    }
}

/// Positions visited between two calls of `on_progress`.
const POSITIONS_PER_TICK: usize = 1 << 18;

/// How many slots ahead symbols are prefetched: slots are read in sequence, but symbols in random order. Tried (`cargo
/// run --release --example train`): 8 and 64 are no better; without prefetching, training takes 40 % longer.
const PREFETCH_DISTANCE: usize = 32;

/// Calls `visit` with the positions in the arena slots `slots`, in order. Prefetches the symbol at each position and
/// the one `reach` positions later.
#[inline(always)]
fn for_each_position<S: AtomicCell, P: AtomicCell>(
    array: &SymbolArray<S, P>,
    slots: Range<usize>,
    reach: usize,
    on_progress: &mut dyn FnMut() -> Result<()>,
    mut visit: impl FnMut(usize),
) -> Result<()> {
    let (symbols, arena) = (&array.symbols[..], &array.arena[..]);
    let Range { start: mut from, end } = slots;
    let prefetch_slot = |slot: usize| {
        let p = arena[slot].get();
        prefetch(symbols.as_ptr().wrapping_add(p));
        prefetch(symbols.as_ptr().wrapping_add(p + reach));
    };
    // Prefetch the start separately: most lists are shorter than the distance.
    (from..end.min(from + PREFETCH_DISTANCE)).for_each(prefetch_slot);
    while from < end {
        let to = end.min(from + POSITIONS_PER_TICK);
        for (ahead, cell) in (from + PREFETCH_DISTANCE..).zip(&arena[from..to]) {
            if ahead < end {
                prefetch_slot(ahead);
            }
            visit(cell.get());
        }
        from = to;
        on_progress()?;
    }
    Ok(())
}

/// Merges the pair at every live position of the part, and sums the weights of its neighbours.
///
/// Afterwards `state.range` covers the live positions, moved to the front of the part's slots.
pub(super) fn replace_pair<S: AtomicCell, P: AtomicCell>(
    array: &SymbolArray<S, P>,
    step: MergeStep,
    state: &mut ThreadState,
    on_progress: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let MergeStep { a, b, merged, a_len, merged_len, .. } = step;
    let (symbols, arena) = (&array.symbols[..], &array.arena[..]);
    let ThreadState { left, right, range, .. } = state;
    // Positions ascend within a list, so a cursor finds their weights.
    let mut weights = array.weights.cursor();
    let mut live = range.start;
    for_each_position(array, range.clone(), step.merged_len, on_progress, |p| {
        // The pair was here when the list was written. It still is if and only if both symbols are unchanged: see the
        // invariants of `SymbolArray`.
        if symbols[p].get() != a || symbols[p + a_len].get() != b {
            return;
        }
        let weight = weights.at(p);
        // The left neighbour has its symbol at its last position, the right neighbour at its first.
        left.add(symbols[p - 1].get(), weight);
        right.add(symbols[p + merged_len].get(), weight);
        // Clear the start of `b` first: if `b` is one byte long, that is also the last position of `merged`.
        symbols[p + a_len].set(SEPARATOR);
        symbols[p].set(merged);
        symbols[p + merged_len - 1].set(merged);
        // `live` never passes the slot being read.
        arena[live].set(p);
        live += 1;
    })?;
    range.end = live;
    Ok(())
}

/// Writes the positions of those new pairs that were assigned a list.
pub(super) fn collect_positions<S: AtomicCell, P: AtomicCell>(
    array: &SymbolArray<S, P>,
    step: MergeStep,
    state: &mut ThreadState,
    on_progress: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let (symbols, arena) = (&array.symbols[..], &array.arena[..]);
    let ThreadState { left, right, range, .. } = state;
    for_each_position(array, range.clone(), step.merged_len, on_progress, |p| {
        let symbol = symbols[p - 1].get();
        let next = &mut left.deltas[symbol].n;
        if *next != 0 {
            arena[*next].set(p - array.lengths[symbol].get());
            *next += 1;
        }
        // There is no delta if the right neighbour is another `merged`: that pair was listed on its left side.
        let next = &mut right.deltas[symbols[p + step.merged_len].get()].n;
        if *next != 0 {
            arena[*next].set(p);
            *next += 1;
        }
    })
}
