//! Merging a long pretoken: a heap of candidate merges over a linked list of symbols.
//!
//! Enters: bytes of any number. Leaves: their ids. n log n in time, 24 bytes of memory for a byte of text,
//! kept between calls only while it is small. A candidate is its rank and its place in one u64, so that the
//! least is the lowest rank, leftmost; one that was overtaken by a merge beside it is recognised when it
//! comes up, because the pair at its place has another rank by then.

use crate::error::{Error, Result};
use crate::pages;
use crate::vocabulary::{NONE, Vocabulary};

/// Buffers above this many bytes of text are freed after use.
const KEPT_BYTES: usize = 1 << 16;

/// The buffers of [`merge`].
#[derive(Default)]
pub(super) struct HeapScratch {
    symbols: Vec<Symbol>,
    heap: Vec<u64>,
}

/// A symbol in the list; it is gone when `next` is its own place.
#[derive(Clone, Copy)]
struct Symbol {
    id: u32,
    /// Of the pair with the symbol that follows.
    rank: u32,
    previous: u32,
    next: u32,
}

/// Gives the ids of `pretoken` to `put`.
pub(super) fn merge(
    vocabulary: &Vocabulary,
    pretoken: &[u8],
    scratch: &mut HeapScratch,
    mut put: impl FnMut(u32) -> Result<()>,
) -> Result<()> {
    const WHAT: &str = "the merging of a long pretoken";
    let n = u32::try_from(pretoken.len()).map_err(Error::out_of_memory(WHAT))?;
    let HeapScratch { symbols, heap } = scratch;
    symbols.clear();
    heap.clear();
    // Merging goes back and forth in them.
    pages::reserve(symbols, pretoken.len());
    pages::reserve(heap, pretoken.len());
    symbols.try_reserve(pretoken.len()).map_err(Error::out_of_memory(WHAT))?;
    heap.try_reserve(pretoken.len()).map_err(Error::out_of_memory(WHAT))?;
    for (at, &byte) in (0..n).zip(pretoken) {
        let id = vocabulary.id_of_byte(byte).ok_or(Error::MissingByte { byte })?;
        let following = pretoken.get(at as usize + 1);
        let rank = following.map_or(NONE, |&right| vocabulary.byte_pair_rank(byte, right));
        symbols.push(Symbol { id, rank, previous: at.wrapping_sub(1), next: at + 1 });
        if rank != NONE {
            heap.push(candidate(rank, at));
        }
    }
    heapify(heap);
    while let Some(&least) = heap.first() {
        let (rank, at) = ((least >> 32) as u32, least as u32);
        let symbol = symbols[at as usize];
        if symbol.rank != rank {
            pop(heap);
            continue;
        }
        // Both symbols of the pair become one at the left's place; the right one is gone.
        let right = symbols[symbol.next as usize];
        symbols[symbol.next as usize].rank = NONE;
        let id = vocabulary.made(rank);
        let mut own = NONE;
        if right.next < n {
            symbols[right.next as usize].previous = at;
            own = vocabulary.pair_rank(id, symbols[right.next as usize].id);
        }
        symbols[at as usize] = Symbol { id, rank: own, previous: symbol.previous, next: right.next };
        // The candidate on top is spent: its place is taken by the first of the new ones.
        match own {
            NONE => pop(heap),
            _ => replace_top(heap, candidate(own, at)),
        }
        if symbol.previous != NONE {
            let before = &mut symbols[symbol.previous as usize];
            before.rank = vocabulary.pair_rank(before.id, id);
            if before.rank != NONE {
                let before_rank = before.rank;
                push(heap, candidate(before_rank, symbol.previous), WHAT)?;
            }
        }
    }
    let mut at = 0;
    while at < n {
        let symbol = symbols[at as usize];
        put(symbol.id)?;
        at = symbol.next;
    }
    if pretoken.len() > KEPT_BYTES {
        *scratch = HeapScratch::default();
    }
    Ok(())
}

fn candidate(rank: u32, at: u32) -> u64 {
    u64::from(rank) << 32 | u64::from(at)
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

fn push(heap: &mut Vec<u64>, value: u64, what: &'static str) -> Result<()> {
    heap.try_reserve(1).map_err(Error::out_of_memory(what))?;
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
