//! Merges a unit of text by a vocabulary whose merging starts with characters: [`symbols`] merges a short one, and a heap
//! of candidate pairs a long one, in n log n.
//!
//! For the heap the symbols are a doubly linked list, in the order of the text. A candidate is a priority and the index
//! of its left symbol in one integer, so the least is the pair of lowest priority, leftmost. A candidate that another
//! merge has made stale is recognised by its priority, which is not that of the pair now at its place.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::by_rank::STEPS_PER_CALL;
use super::spans::{WHAT, candidate};
use super::symbols;
use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::monitor::OnProgress;
use crate::vocabulary::characters::Characters;
use crate::vocabulary::{NONE, Vocabulary};

/// A symbol and the indices of its neighbours, [`NONE`] if it has none. A symbol that was merged into the one before it
/// has the id [`NONE`].
struct Symbol {
    id: u32,
    before: u32,
    after: u32,
}

/// Appends the ids of `unit` to `ids`.
pub(in crate::encoder) fn merge(
    vocabulary: &Vocabulary,
    characters: &Characters,
    unit: &[u8],
    ids: &mut Vec<u32>,
    on_progress: OnProgress<'_>,
) -> Result<()> {
    let first = ids.len();
    push_symbols(vocabulary, characters, unit, ids)?;
    let n_left = match symbols::merge_few(vocabulary, &mut ids[first..], |rank| characters.priority(rank)) {
        Some(n_left) => n_left,
        None => merge_with_heap(vocabulary, characters, &mut ids[first..], on_progress)?,
    };
    ids.truncate(first + n_left);
    Ok(())
}

/// Merges any number of symbols in place; returns how many are left.
#[cold]
fn merge_with_heap(
    vocabulary: &Vocabulary,
    characters: &Characters,
    ids: &mut [u32],
    on_progress: OnProgress<'_>,
) -> Result<usize> {
    let n = u32::try_from(ids.len()).ok().filter(|&n| n < NONE).ok_or(Error::OutOfMemory { what: WHAT })?;
    let mut symbols = Vec::with_reserved(ids.len(), WHAT)?;
    let after = |at: u32| if at + 1 == n { NONE } else { at + 1 };
    symbols.extend((0..n).zip(&*ids).map(|(at, &id)| Symbol {
        id,
        before: at.wrapping_sub(1),
        after: after(at),
    }));
    let priority = |symbols: &[Symbol], at: u32| -> Option<(u32, u32)> {
        let left = symbols.get(at as usize)?;
        let right = symbols.get(left.after as usize)?;
        let rank = if left.id == NONE { NONE } else { vocabulary.pair_rank(left.id, right.id) };
        (rank != NONE).then(|| (characters.priority(rank), rank))
    };
    let mut candidates = Vec::with_reserved(symbols.len(), WHAT)?;
    for at in 0..symbols.len() as u32 {
        candidates.extend(priority(&symbols, at).map(|(priority, _)| Reverse(candidate(priority, at))));
    }
    // Takes linear time.
    let mut heap = BinaryHeap::from(candidates);
    let mut n_steps = 0;
    while let Some(Reverse(least)) = heap.pop() {
        n_steps += 1;
        if n_steps % STEPS_PER_CALL == 0 {
            on_progress(0)?;
        }
        let at = least as u32;
        let Some((_, rank)) = priority(&symbols, at).filter(|&(now, _)| now == (least >> 32) as u32) else {
            continue;
        };
        let Symbol { before, after, .. } = symbols[at as usize];
        let next = symbols[after as usize].after;
        symbols[after as usize].id = NONE;
        if let Some(next) = symbols.get_mut(next as usize) {
            next.before = at;
        }
        symbols[at as usize] = Symbol { id: vocabulary.merged_id(rank), before, after: next };
        for at in [at, before] {
            if let Some((priority, _)) = priority(&symbols, at) {
                heap.try_reserve(1).map_err(Error::out_of_memory(WHAT))?;
                heap.push(Reverse(candidate(priority, at)));
            }
        }
    }
    let left = symbols.iter().map(|symbol| symbol.id).filter(|&id| id != NONE);
    Ok(ids.iter_mut().zip(left).map(|(id, left)| *id = left).count())
}

/// Appends the initial symbols: one for a unit that is found as a whole; otherwise one for each character that has a
/// token, and for the others one for each byte, or an unknown one, which can also stand for several in a row.
fn push_symbols(
    vocabulary: &Vocabulary,
    characters: &Characters,
    unit: &[u8],
    ids: &mut Vec<u32>,
) -> Result<()> {
    let first = ids.len();
    ids.try_reserve(unit.len()).map_err(Error::out_of_memory(WHAT))?;
    if !characters.whole.is_empty()
        && let Some(id) = vocabulary.id_of(unit).filter(|id| characters.whole.binary_search(id).is_ok())
    {
        ids.push(id);
        return Ok(());
    }
    for chunk in unit.utf8_chunks() {
        for character in chunk.valid().chars() {
            let id = match characters.ascii.get(character as usize) {
                Some(&id) => id,
                None => vocabulary.id_of_character(character),
            };
            match (id, characters.unknown) {
                (_, Some(unknown)) if unknown.drops_spaces && character == ' ' => {}
                (Some(id), _) => ids.push(id),
                (None, Some(unknown)) if unknown.is_fused && ids[first..].last() == Some(&unknown.id) => {}
                (None, Some(unknown)) => ids.push(unknown.id),
                (None, None) => {
                    let mut bytes = [0; 4];
                    let bytes = character.encode_utf8(&mut bytes).as_bytes();
                    ids.extend(bytes.iter().filter_map(|&byte| vocabulary.id_of_byte(byte)));
                }
            }
        }
        ids.extend(chunk.invalid().iter().filter_map(|&byte| vocabulary.id_of_byte(byte)));
    }
    Ok(())
}
