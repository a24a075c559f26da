//! Counts and lists the pairs of single bytes in one thread's part of the symbol array, before the first merge.

use super::apply_merge::{N_BYTE_SYMBOLS, ThreadState};
use super::atomic_cell::AtomicCell;
use super::symbol_array::SymbolArray;
use crate::error::Result;

/// Counts the byte pairs that start at the part's positions.
pub(super) fn count_byte_pairs<S: AtomicCell, P: AtomicCell>(
    array: &SymbolArray<S, P>,
    state: &mut ThreadState,
    on_progress: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    for (start, end, count) in array.weights.runs_in(state.range.clone()) {
        let mut left = array.symbols[start].get();
        for cell in &array.symbols[start + 1..=end] {
            let right = cell.get();
            let delta = &mut state.byte_pairs[left * N_BYTE_SYMBOLS + right];
            delta.weight += count;
            delta.n += 1;
            left = right;
        }
        on_progress()?;
    }
    Ok(())
}

/// Writes the positions of the byte pairs that have lists.
pub(super) fn list_byte_pairs<S: AtomicCell, P: AtomicCell>(
    array: &SymbolArray<S, P>,
    state: &mut ThreadState,
    on_progress: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let arena = &array.arena[..];
    for (start, end, _) in array.weights.runs_in(state.range.clone()) {
        let mut left = array.symbols[start].get();
        for (p, cell) in array.symbols[start + 1..=end].iter().enumerate() {
            let right = cell.get();
            // Branchless: pairs without a list all write to slot 0, which belongs to no list.
            let next = &mut state.byte_pairs[left * N_BYTE_SYMBOLS + right].n;
            arena[*next].set(start + p);
            *next += usize::from(*next != 0);
            left = right;
        }
        on_progress()?;
    }
    Ok(())
}
