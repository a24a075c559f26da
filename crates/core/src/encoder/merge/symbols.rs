//! Continues merging from symbols longer than a byte: scans all pairs for the lowest rank, merges it, repeats.
//!
//! Few words in a row can be parts of one token. So moving the rest by one place after each merge costs less than a
//! queue. More symbols go to [`heap`], and very many to [`by_rank`], which can be interrupted.

use super::{by_rank, heap};
use crate::error::Result;
use crate::memory::TryReserve;
use crate::monitor::OnProgress;
use crate::vocabulary::{NONE, Vocabulary};

/// Most sequences are no longer than this. They get a small array, since clearing a large one takes time.
const USUAL_SYMBOLS: usize = 8;

/// The most symbols that are scanned.
const MAX_SCANNED: usize = 64;

/// More symbols are merged from their bytes.
const MAX_SYMBOLS: usize = 1 << 14;

const WHAT: &str = "the symbols of words";

/// Merges symbols in place; returns how many are left.
#[inline]
pub(in crate::encoder) fn merge(
    vocabulary: &Vocabulary,
    ids: &mut [u32],
    on_progress: OnProgress<'_>,
) -> Result<usize> {
    if let [left, right] = *ids {
        let rank = vocabulary.pair_rank(left, right);
        if rank == NONE {
            return Ok(2);
        }
        ids[0] = vocabulary.merged_id(rank);
        return Ok(1);
    }
    match ids.len() {
        0..=1 => Ok(ids.len()),
        3..=USUAL_SYMBOLS => Ok(merge_by_scanning::<USUAL_SYMBOLS>(vocabulary, ids)),
        2..=MAX_SCANNED => Ok(merge_by_scanning::<MAX_SCANNED>(vocabulary, ids)),
        _ => merge_many(vocabulary, ids, on_progress),
    }
}

/// Merges at most `ROOM` symbols.
fn merge_by_scanning<const ROOM: usize>(vocabulary: &Vocabulary, ids: &mut [u32]) -> usize {
    // Each symbol, and in the low half the rank of its pair with the next one.
    let mut pairs = [0; ROOM];
    let with_rank = |symbol: u32, rank: u32| u64::from(symbol) << 32 | u64::from(rank);
    let symbol = |pair: u64| (pair >> 32) as u32;
    let mut n = ids.len().min(ROOM);
    for at in 0..n {
        let rank = if at + 1 < n { vocabulary.pair_rank(ids[at], ids[at + 1]) } else { NONE };
        pairs[at] = with_rank(ids[at], rank);
    }
    loop {
        let (mut least, mut at) = (NONE, 0);
        for (place, &pair) in pairs[..n].iter().enumerate() {
            if (pair as u32) < least {
                (least, at) = (pair as u32, place);
            }
        }
        if least == NONE {
            break;
        }
        n -= 1;
        for place in at + 1..n {
            pairs[place] = pairs[place + 1];
        }
        let merged = vocabulary.merged_id(least);
        let rank = if at + 1 < n { vocabulary.pair_rank(merged, symbol(pairs[at + 1])) } else { NONE };
        pairs[at] = with_rank(merged, rank);
        if at > 0 {
            let before = symbol(pairs[at - 1]);
            pairs[at - 1] = with_rank(before, vocabulary.pair_rank(before, merged));
        }
    }
    for (id, &pair) in ids.iter_mut().zip(&pairs[..n]) {
        *id = symbol(pair);
    }
    n
}

/// Merges any number of symbols.
#[cold]
fn merge_many(vocabulary: &Vocabulary, ids: &mut [u32], on_progress: OnProgress<'_>) -> Result<usize> {
    let (mut symbols, mut bytes) = (Vec::new(), Vec::new());
    symbols.try_extend(ids, WHAT)?;
    for token in symbols.iter().filter_map(|&id| vocabulary.token(id)) {
        bytes.try_extend(token, WHAT)?;
    }
    let mut n = 0;
    let put = |id| {
        ids[n] = id;
        n += 1;
        Ok(())
    };
    // `by_rank` makes a list for each rank: too many if ids are ranks that are far apart.
    if symbols.len() > MAX_SYMBOLS.max(vocabulary.n_ranks() / 8) {
        by_rank::merge(vocabulary, &bytes, put, on_progress)?;
    } else {
        heap::merge_symbols(vocabulary, &symbols, bytes.len(), put)?;
    }
    Ok(n)
}
