//! Continues merging from symbols longer than a byte: scans all pairs for the lowest rank, merges it, repeats.
//!
//! Once its words are found, a line has some tens of symbols, and few merges join them. So moving the rest by one place
//! after each merge costs less than a queue. More symbols go to [`heap`].

use super::heap;
use crate::error::Result;
use crate::vocabulary::{NONE, Vocabulary};

/// The most symbols that are scanned.
const MOST_SYMBOLS: usize = 64;

/// Replaces the symbols of a pretoken of `n_bytes` bytes by its ids.
pub(in crate::encoder) fn merge(vocabulary: &Vocabulary, ids: &mut Vec<u32>, n_bytes: usize) -> Result<()> {
    if ids.len() > MOST_SYMBOLS {
        let symbols = std::mem::take(ids);
        return heap::merge_symbols(vocabulary, &symbols, n_bytes, ids);
    }
    let rank_at = |ids: &[u32], at: usize| match ids.get(at..at + 2) {
        Some(&[left, right]) => vocabulary.pair_rank(left, right),
        _ => NONE,
    };
    let mut ranks = [NONE; MOST_SYMBOLS];
    for (at, rank) in ranks[..ids.len()].iter_mut().enumerate() {
        *rank = rank_at(ids, at);
    }
    loop {
        let ranks = &mut ranks[..ids.len()];
        let least = ranks.iter().copied().min().unwrap_or(NONE);
        let Some(at) = ranks.iter().position(|&rank| rank == least && rank != NONE) else { return Ok(()) };
        ids[at] = vocabulary.merged_id(least);
        ids.remove(at + 1);
        ranks.copy_within(at + 1.., at);
        ranks[at] = rank_at(ids, at);
        if at > 0 {
            ranks[at - 1] = rank_at(ids, at - 1);
        }
    }
}
