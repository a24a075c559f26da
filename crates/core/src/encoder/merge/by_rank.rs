//! Merging a very long pretoken: candidates in lists by rank.
//!
//! Enters: bytes of any number. Leaves: their ids, as from [`heap`](super::heap). Ranks are taken in ascending
//! order, the places of a rank from left to right, so that memory is walked through, not jumped about in. A merge
//! seldom makes a pair whose rank is not still to come; where it does, that pair waits in a small heap and is merged
//! as soon as it is the least. n log n in time, about ten bytes of memory for a byte of text.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::spans::Spans;
use super::symbols::{WHAT, candidate};
use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::monitor::OnProgress;
use crate::vocabulary::Vocabulary;

/// Steps between two calls of a pulse: some milliseconds.
const STEPS_PER_TICK: usize = 1 << 16;

/// Gives the ids of `pretoken` to `put`.
pub(in crate::encoder) fn merge(
    vocabulary: &Vocabulary,
    pretoken: &[u8],
    mut put: impl FnMut(u32) -> Result<()>,
    on_progress: OnProgress<'_>,
) -> Result<()> {
    let mut n_steps = 0;
    let mut step = || {
        n_steps += 1;
        if n_steps % STEPS_PER_TICK == 0 { on_progress(0) } else { Ok(()) }
    };
    let mut later: Vec<Vec<u32>> = Vec::with_room(vocabulary.n_ranks(), WHAT)?;
    later.resize_with(vocabulary.n_ranks(), Vec::new);
    let mut spans = Spans::new(vocabulary, pretoken, |rank, at| {
        step()?;
        later[rank as usize].try_push(at, WHAT)
    })?;
    let mut at_once: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
    for rank in 0..later.len() as u32 {
        step()?;
        let mut positions = std::mem::take(&mut later[rank as usize]);
        if !positions.is_sorted() {
            positions.sort_unstable();
        }
        let mut listed = positions.into_iter().map(|at| candidate(rank, at)).peekable();
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
