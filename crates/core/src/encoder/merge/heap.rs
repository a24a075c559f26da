//! Merges a long pretoken with a heap of candidate pairs: n log n.
//!
//! A candidate is a rank and a position in one integer, so the least is the pair of lowest rank, leftmost. Each merge
//! adds at most two candidates. One that a merge beside it has made stale is recognised when it is popped
//! ([`Symbols::merge`]). Memory: 24 bytes for a byte of text, kept between calls.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::symbols::{Symbols, WHAT, candidate};
use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::vocabulary::Vocabulary;

/// The buffers of [`merge`].
#[derive(Default)]
pub(in crate::encoder) struct HeapScratch {
    symbols: Symbols,
    candidates: Vec<Reverse<u64>>,
}

/// Calls `put` for each id of `pretoken`, in order.
pub(in crate::encoder) fn merge(
    vocabulary: &Vocabulary,
    pretoken: &[u8],
    scratch: &mut HeapScratch,
    put: impl FnMut(u32) -> Result<()>,
) -> Result<()> {
    let HeapScratch { symbols, candidates } = scratch;
    candidates.clear();
    candidates.grow(pretoken.len(), WHAT)?;
    symbols.fill(vocabulary, pretoken, |rank, at| {
        candidates.push(Reverse(candidate(rank, at)));
        Ok(())
    })?;
    // Built at once in linear time; the vector's memory is kept for the next call.
    let mut heap = BinaryHeap::from(std::mem::take(candidates));
    while let Some(Reverse(least)) = heap.pop() {
        symbols.merge(vocabulary, least, |rank, at| {
            heap.try_reserve(1).map_err(Error::out_of_memory(WHAT))?;
            heap.push(Reverse(candidate(rank, at)));
            Ok(())
        })?;
    }
    *candidates = heap.into_vec();
    symbols.put_all(put)
}
