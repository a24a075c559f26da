//! Merging a long pretoken: candidates in a heap.
//!
//! Enters: bytes of any number. Leaves: their ids. n log n in time, 24 bytes of memory for a byte of text, kept
//! between calls.

use super::symbols::{Symbols, WHAT, candidate};
use crate::error::{Error, Result};
use crate::vocabulary::Vocabulary;

/// The buffers of [`merge`].
#[derive(Default)]
pub(in crate::encoder) struct HeapScratch {
    symbols: Symbols,
    heap: Vec<u64>,
}

/// Gives the ids of `pretoken` to `put`.
pub(in crate::encoder) fn merge(
    vocabulary: &Vocabulary,
    pretoken: &[u8],
    scratch: &mut HeapScratch,
    put: impl FnMut(u32) -> Result<()>,
) -> Result<()> {
    let HeapScratch { symbols, heap } = scratch;
    heap.clear();
    heap.try_reserve(pretoken.len()).map_err(Error::out_of_memory(WHAT))?;
    symbols.fill(vocabulary, pretoken, |rank, at| {
        heap.push(candidate(rank, at));
        Ok(())
    })?;
    heapify(heap);
    while let Some(&least) = heap.first() {
        // The candidate on top is spent: its place is taken by the first of the new ones.
        let mut is_replaced = false;
        symbols.merge(vocabulary, least, |rank, at| {
            if std::mem::replace(&mut is_replaced, true) {
                return push(heap, candidate(rank, at));
            }
            replace_top(heap, candidate(rank, at));
            Ok(())
        })?;
        if !is_replaced {
            pop(heap);
        }
    }
    symbols.put_all(put)
}

/// Children of a node in the heap: four, so that they share a cache line.
const ARITY: usize = 4;

fn heapify(heap: &mut [u64]) {
    for at in (0..heap.len().div_ceil(ARITY)).rev() {
        sift_down(heap, at);
    }
}

fn pop(heap: &mut Vec<u64>) {
    if let Some(last) = heap.pop()
        && !heap.is_empty()
    {
        replace_top(heap, last);
    }
}

fn replace_top(heap: &mut [u64], with: u64) {
    heap[0] = with;
    sift_down(heap, 0);
}

fn push(heap: &mut Vec<u64>, value: u64) -> Result<()> {
    heap.try_reserve(1).map_err(Error::out_of_memory(WHAT))?;
    let mut at = heap.len();
    heap.push(value);
    while at > 0 {
        let parent = (at - 1) / ARITY;
        if heap[parent] <= value {
            break;
        }
        heap[at] = heap[parent];
        at = parent;
    }
    heap[at] = value;
    Ok(())
}

fn sift_down(heap: &mut [u64], mut at: usize) {
    let value = heap[at];
    loop {
        let first = at * ARITY + 1;
        let last = (first + ARITY).min(heap.len());
        let mut least = at;
        let mut least_value = value;
        for (child, &child_value) in heap.iter().enumerate().take(last).skip(first) {
            if child_value < least_value {
                (least, least_value) = (child, child_value);
            }
        }
        if least == at {
            break;
        }
        heap[at] = least_value;
        at = least;
    }
    heap[at] = value;
}
