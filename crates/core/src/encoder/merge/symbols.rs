//! Merges a list of symbols: scans all pairs for the lowest rank, merges it, repeats. The symbols are the characters of a
//! unit (`characters`), or what merging each word of a line has left.
//!
//! A unit is short, and few words in a row can be parts of one token. So moving the rest by one place after each merge
//! costs less than a queue. More symbols go to [`heap`], and very many to [`by_rank`], which can be interrupted.

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
    match merge_few(vocabulary, ids, |rank| rank) {
        Some(n) => Ok(n),
        None => merge_many(vocabulary, ids, on_progress),
    }
}

/// Merges at most [`MAX_SCANNED`] symbols in place; returns how many are left, or [`None`] if there are more.
/// `last_equal` returns the last rank that has the priority of a rank.
#[inline]
pub(super) fn merge_few(
    vocabulary: &Vocabulary,
    ids: &mut [u32],
    last_equal: impl Fn(u32) -> u32,
) -> Option<usize> {
    if let [left, right] = *ids {
        let rank = vocabulary.pair_rank(left, right);
        if rank == NONE {
            return Some(2);
        }
        ids[0] = vocabulary.merged_id(rank);
        return Some(1);
    }
    match ids.len() {
        0..=1 => Some(ids.len()),
        3..=USUAL_SYMBOLS => Some(merge_by_scanning::<USUAL_SYMBOLS>(vocabulary, ids, last_equal)),
        2..=MAX_SCANNED => Some(merge_by_scanning::<MAX_SCANNED>(vocabulary, ids, last_equal)),
        _ => None,
    }
}

/// Merges at most `ROOM` symbols.
fn merge_by_scanning<const ROOM: usize>(
    vocabulary: &Vocabulary,
    ids: &mut [u32],
    last_equal: impl Fn(u32) -> u32,
) -> usize {
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
        let last = last_equal(least);
        if last != least {
            // Of pairs of equal priority the leftmost merges first.
            at = pairs[..n].iter().position(|&pair| pair as u32 <= last).unwrap_or(at);
            least = pairs[at] as u32;
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
