//! Which pairs stand in the field, how often, and where.
//!
//! Enters: the field as it is. Leaves: every pair that occurs often enough, with its list of ascending
//! positions. Cost: a few passes over the tokens. All pairs are counted, often far more than are kept;
//! those of a symbol that is itself too rare are not even looked up.

use super::apply_merge::{MergeStep, ThreadState, WIDTH};
use super::atomic_array::AtomicCell;
use super::pair_index::{PairIndex, assign_offsets};
use super::pair_table::{PairTable, key_of, pair_of};
use super::symbol_array::{SEPARATOR, SymbolArray};
use super::workers::{PoolHandle, Task};
use crate::error::Result;
use crate::memory::filled;

/// A census of single bytes, by a square table instead of a hash. The ledger, which is empty, learns
/// all pairs and says where the lists of those that it keeps start in the arena.
pub(super) fn index_byte_pairs<S: AtomicCell, P: AtomicCell>(
    pair_index: &mut PairIndex<'_, P>,
    pool: &mut PoolHandle<'_, '_, S, P>,
    is_long: bool,
    on_progress: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    pool.divide_array(is_long)?;
    pool.run(Task::CountBytePairs, MergeStep::default(), on_progress)?;
    {
        let mut states = pool.states()?;
        for index in 0..WIDTH * WIDTH {
            let seen = states.iter().map(|state| state.byte_pairs[index]);
            let (weight, n) = seen.fold((0, 0), |(weight, n), seen| (weight + seen.weight, n + seen.n));
            let start = if n > 0 { pair_index.insert(index / WIDTH, index % WIDTH, weight, n)? } else { 0 };
            assign_offsets(start, states.iter_mut().map(|state| &mut state.byte_pairs[index].n));
        }
    }
    pool.run(Task::ListBytePairs, MergeStep::default(), on_progress)?;
    pool.states()?.iter_mut().for_each(|state| state.byte_pairs = Vec::new());
    Ok(())
}

/// Counts the pairs of bytes in the lane's part of the field.
pub(super) fn count_byte_pairs<S: AtomicCell, P: AtomicCell>(
    array: &SymbolArray<S, P>,
    state: &mut ThreadState,
    on_progress: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    for (start, end, count) in array.weights.runs_in(state.slots.clone()) {
        let mut left = array.symbols[start].get();
        for cell in &array.symbols[start + 1..=end] {
            let right = cell.get();
            let delta = &mut state.byte_pairs[left * WIDTH + right];
            delta.weight += count;
            delta.n += 1;
            left = right;
        }
        on_progress()?;
    }
    Ok(())
}

/// Writes the positions of the pairs of bytes that have lists.
pub(super) fn list_byte_pairs<S: AtomicCell, P: AtomicCell>(
    array: &SymbolArray<S, P>,
    state: &mut ThreadState,
    on_progress: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let arena = &array.arena[..];
    for (start, end, _) in array.weights.runs_in(state.slots.clone()) {
        let mut left = array.symbols[start].get();
        for (p, cell) in array.symbols[start + 1..=end].iter().enumerate() {
            let right = cell.get();
            // A pair without a list writes to slot 0 and stays there.
            let next = &mut state.byte_pairs[left * WIDTH + right].n;
            arena[*next].set(start + p);
            *next += usize::from(*next != 0);
            left = right;
        }
        on_progress()?;
    }
    Ok(())
}

/// A census of tokens, with symbols below `n_symbols`.
pub(super) fn index_token_pairs<S: AtomicCell, P: AtomicCell>(
    array: &SymbolArray<S, P>,
    n_symbols: usize,
    pair_index: &mut PairIndex<'_, P>,
    on_progress: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let mut frequencies = filled(n_symbols, 0, "the counts of the tokens")?;
    for_each_pair(array, on_progress, |_, left, right, count| {
        frequencies[left] += count;
        frequencies[right] += count;
        Ok(())
    })?;
    let threshold = pair_index.threshold;
    // Inner tokens were counted twice, so this errs towards looking up too many pairs.
    let may_reach = |left: usize, right: usize| frequencies[left].min(frequencies[right]) >= threshold;
    let mut pairs = PairTable::new()?;
    for_each_pair(array, on_progress, |_, left, right, count| {
        if may_reach(left, right) {
            return pairs.add(key_of(left, right), count);
        }
        pair_index.note_skipped(threshold - 1);
        Ok(())
    })?;
    pair_index.expect(pairs.n_from(threshold))?;
    pairs.open_lists(|key, count, n| {
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

/// Visits all pairs of adjacent tokens as (position, left, right, count).
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
