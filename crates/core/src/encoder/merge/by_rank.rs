//! Merges a very long pretoken with a bucket queue: candidate pairs in a list for each rank.
//!
//! Ranks are taken in ascending order and the offsets of a rank from left to right, so memory is read in order, where
//! [`heap`](super::heap) reads at random. Most merges create pairs of higher rank, which are appended to the list of
//! that rank. A pair of lower or equal rank waits in a small heap and is merged as soon as it is the least. The time is
//! n log n in the worst case. The memory is four bytes for the symbol of each byte of text, up to eight for its
//! candidate, and a list for each rank of the vocabulary, so below some kilobytes `heap` is faster.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::spans::{Spans, WHAT, candidate};
use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::monitor::OnProgress;
use crate::vocabulary::Vocabulary;

/// Steps between two calls of `on_progress`: some milliseconds. A step is a candidate, a rank or an id.
pub(in crate::encoder) const STEPS_PER_CALL: usize = 1 << 16;

/// Calls `put` for each id of `pretoken`, in order.
pub(in crate::encoder) fn merge(
    vocabulary: &Vocabulary,
    pretoken: &[u8],
    mut put: impl FnMut(u32) -> Result<()>,
    on_progress: OnProgress<'_>,
) -> Result<()> {
    let mut n_steps = 0;
    let mut step = || {
        n_steps += 1;
        if n_steps % STEPS_PER_CALL == 0 { on_progress(0) } else { Ok(()) }
    };
    // The offsets of the candidates of each rank.
    let mut later: Vec<Vec<u32>> = Vec::with_reserved(vocabulary.n_ranks(), WHAT)?;
    later.resize_with(vocabulary.n_ranks(), Vec::new);
    let mut spans = Spans::new(vocabulary, pretoken, |rank, at| {
        step()?;
        later[rank as usize].try_push(at, WHAT)
    })?;
    // Candidates whose rank is not greater than the current one.
    let mut at_once: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
    for rank in 0..later.len() as u32 {
        step()?;
        // Each rank appends from left to right, but several ranks append to one list.
        let mut offsets = std::mem::take(&mut later[rank as usize]);
        if !offsets.is_sorted() {
            offsets.sort_unstable();
        }
        let mut listed = offsets.into_iter().map(|at| candidate(rank, at)).peekable();
        loop {
            let is_at_once = match (at_once.peek(), listed.peek()) {
                (Some(Reverse(first)), Some(listed)) => first < listed,
                (first, _) => first.is_some(),
            };
            let next = if is_at_once { at_once.pop().map(|Reverse(next)| next) } else { listed.next() };
            let Some(next) = next else { break };
            step()?;
            spans.merge((next >> 32) as u32, next as u32, |new, at| {
                if new > rank {
                    return later[new as usize].try_push(at, WHAT);
                }
                at_once.try_reserve(1).map_err(Error::out_of_memory(WHAT))?;
                at_once.push(Reverse(candidate(new, at)));
                Ok(())
            })?;
        }
    }
    spans.put_all(|id| {
        step()?;
        put(id)
    })
}
