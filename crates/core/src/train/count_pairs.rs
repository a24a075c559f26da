//! Counts all pairs in the symbol array, and writes the position lists of the frequent ones.
//!
//! Cost: two passes over the array while all tokens are single bytes, three later. Before the first merge, pairs are
//! counted in a square table by (left byte, right byte), and threads share the array. Later they are counted in a hash
//! table, which leaves out pairs with a symbol that is itself too rare.

use super::apply_merge::{MergeStep, N_BYTE_SYMBOLS};
use super::atomic_cell::AtomicCell;
use super::pair_index::{PairIndex, assign_offsets};
use super::pair_table::{PairTable, key_of, pair_of};
use super::symbol_array::{SEPARATOR, SymbolArray};
use super::workers::{PoolHandle, Task};
use crate::error::Result;
use crate::memory::filled;

/// Indexes the pairs before the first merge. `pair_index` must be empty.
pub(super) fn index_byte_pairs<S: AtomicCell, P: AtomicCell>(
    pair_index: &mut PairIndex<'_, P>,
    pool: &mut PoolHandle<'_, '_, S, P>,
    is_shared: bool,
    on_progress: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    pool.divide_array(is_shared)?;
    pool.run(Task::CountBytePairs, MergeStep::default(), on_progress)?;
    {
        let mut states = pool.states()?;
        for index in 0..N_BYTE_SYMBOLS * N_BYTE_SYMBOLS {
            let seen = states.iter().map(|state| state.byte_pairs[index]);
            let (weight, n) = seen.fold((0, 0), |(weight, n), seen| (weight + seen.weight, n + seen.n));
            // The `n` of each part becomes the slot where that part writes: see `PairDelta::n`.
            let start = if n > 0 {
                pair_index.insert(index / N_BYTE_SYMBOLS, index % N_BYTE_SYMBOLS, weight, n)?
            } else {
                0
            };
            assign_offsets(start, states.iter_mut().map(|state| &mut state.byte_pairs[index].n));
        }
    }
    pool.run(Task::ListBytePairs, MergeStep::default(), on_progress)?;
    pool.states()?.iter_mut().for_each(|state| state.byte_pairs = Vec::new());
    Ok(())
}

/// Indexes the pairs of tokens; all symbols are below `n_symbols`. `pair_index` must be empty.
pub(super) fn index_token_pairs<S: AtomicCell, P: AtomicCell>(
    array: &SymbolArray<S, P>,
    n_symbols: usize,
    pair_index: &mut PairIndex<'_, P>,
    on_progress: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let mut frequencies = filled(n_symbols, 0u64, "the counts of the tokens")?;
    for_each_pair(array, on_progress, |_, left, right, count| {
        // Saturating: all pair counts together fit in 64 bits, but each is added to two symbols.
        frequencies[left] = frequencies[left].saturating_add(count);
        frequencies[right] = frequencies[right].saturating_add(count);
        Ok(())
    })?;
    let threshold = pair_index.threshold;
    // A pair is at most as frequent as either symbol. `frequencies` counts most tokens twice, once per neighbour, so it
    // also lets some rare pairs through.
    let may_reach = |left: usize, right: usize| frequencies[left].min(frequencies[right]) >= threshold;
    let mut pairs = PairTable::with_reserved(0, pair_index.budget)?;
    for_each_pair(array, on_progress, |_, left, right, count| {
        if may_reach(left, right) {
            return pairs.add(key_of(left, right), count);
        }
        pair_index.note_skipped(threshold - 1);
        Ok(())
    })?;
    pair_index.reserve(pairs.n_at_least(threshold))?;
    pairs.assign_list_starts(|key, count, n| {
        let (left, right) = pair_of(key);
        pair_index.insert(left, right, count, n)
    })?;
    for_each_pair(array, on_progress, |p, left, right, _| {
        if may_reach(left, right)
            && let Some(list) = pairs.list_mut(key_of(left, right))
        {
            array.arena[list.start + list.len].set(p);
            list.len += 1;
        }
        Ok(())
    })
}

/// Calls `visit(position, left, right, count)` for each pair of adjacent tokens, in ascending order of position.
pub(super) fn for_each_pair<S: AtomicCell, P: AtomicCell>(
    array: &SymbolArray<S, P>,
    on_progress: &mut dyn FnMut() -> Result<()>,
    mut visit: impl FnMut(usize, usize, usize, u64) -> Result<()>,
) -> Result<()> {
    for (start, end, count) in array.weights.runs() {
        let (mut p, mut left) = (start, array.symbols[start].get());
        loop {
            let next = p + array.lengths[left].get();
            if next >= end {
                break;
            }
            let right = array.symbols[next].get();
            if left != SEPARATOR && right != SEPARATOR {
                visit(p, left, right, count)?;
            }
            (p, left) = (next, right);
        }
        on_progress()?;
    }
    Ok(())
}
