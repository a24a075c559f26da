//! Merges a long pretoken with a heap of candidate pairs: n log n.
//!
//! A candidate is a rank and an offset in one integer, so the least is the pair of lowest rank, leftmost. Each merge
//! adds at most two candidates. A candidate that an adjacent merge has made stale is recognised when it is popped
//! ([`Spans::merge`]).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::spans::{Spans, WHAT, candidate};
use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::vocabulary::Vocabulary;

/// Calls `put` for each id of `pretoken`, in order.
pub(in crate::encoder) fn merge(
    vocabulary: &Vocabulary,
    pretoken: &[u8],
    put: impl FnMut(u32) -> Result<()>,
) -> Result<()> {
    let mut candidates = Vec::with_reserved(pretoken.len(), WHAT)?;
    let symbols = Spans::new(vocabulary, pretoken, |rank, at| {
        candidates.push(Reverse(candidate(rank, at)));
        Ok(())
    })?;
    merge_all(symbols, candidates, put)
}

/// Continues merging from the symbols `ids`, which have `n_bytes` bytes in total; calls `put` for each id, in order.
pub(super) fn merge_symbols(
    vocabulary: &Vocabulary,
    ids: &[u32],
    n_bytes: usize,
    put: impl FnMut(u32) -> Result<()>,
) -> Result<()> {
    let mut candidates = Vec::with_reserved(ids.len(), WHAT)?;
    let symbols = Spans::of_symbols(vocabulary, ids, n_bytes, |rank, at| {
        candidates.push(Reverse(candidate(rank, at)));
    })?;
    merge_all(symbols, candidates, put)
}

fn merge_all(
    mut symbols: Spans<'_>,
    candidates: Vec<Reverse<u64>>,
    put: impl FnMut(u32) -> Result<()>,
) -> Result<()> {
    // Takes linear time.
    let mut heap = BinaryHeap::from(candidates);
    while let Some(Reverse(least)) = heap.pop() {
        symbols.merge((least >> 32) as u32, least as u32, |rank, at| {
            heap.try_reserve(1).map_err(Error::out_of_memory(WHAT))?;
            heap.push(Reverse(candidate(rank, at)));
            Ok(())
        })?;
    }
    symbols.put_all(put)
}
