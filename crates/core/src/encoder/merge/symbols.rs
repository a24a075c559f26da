//! The symbols of a long pretoken while it is merged: a doubly linked list in an array, indexed by byte offset.
//!
//! Each symbol stores the rank of the pair that it begins. A candidate that a merge beside it has made stale is
//! recognised when its turn comes: the rank at its offset is another one by then.

use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::pages;
use crate::vocabulary::{NONE, Vocabulary};

/// For error messages.
pub(super) const WHAT: &str = "the merging of a long pretoken";

/// A symbol. One that was merged into its left neighbour stays in the array, with no rank and out of the list.
#[derive(Clone, Copy)]
struct Symbol {
    id: u32,
    /// The rank of the pair with the next symbol, or [`NONE`].
    rank: u32,
    previous: u32,
    next: u32,
}

/// The symbols of a pretoken.
#[derive(Default)]
pub(super) struct Symbols(Vec<Symbol>);

impl Symbols {
    /// Starts over: a symbol for each byte; calls `add(rank, offset)` for each pair that merges, from left to right.
    pub(super) fn fill(
        &mut self,
        vocabulary: &Vocabulary,
        pretoken: &[u8],
        mut add: impl FnMut(u32, u32) -> Result<()>,
    ) -> Result<()> {
        let n = u32::try_from(pretoken.len()).map_err(Error::out_of_memory(WHAT))?;
        self.0.clear();
        // Huge pages: the heap's order of merges reads the array at random.
        pages::reserve(&mut self.0, pretoken.len());
        self.0.grow(pretoken.len(), WHAT)?;
        for (at, &byte) in (0..n).zip(pretoken) {
            let id = vocabulary.id_of_byte(byte).ok_or(Error::MissingByte { byte })?;
            let following = pretoken.get(at as usize + 1);
            let rank = following.map_or(NONE, |&right| vocabulary.byte_pair_rank(byte, right));
            self.0.push(Symbol { id, rank, previous: at.wrapping_sub(1), next: at + 1 });
            if rank != NONE {
                add(rank, at)?;
            }
        }
        Ok(())
    }

    /// Merges the pair of a candidate unless it is stale, and calls `add` for the pairs that this creates.
    #[inline(always)]
    pub(super) fn merge(
        &mut self,
        vocabulary: &Vocabulary,
        candidate: u64,
        mut add: impl FnMut(u32, u32) -> Result<()>,
    ) -> Result<()> {
        let symbols = &mut self.0;
        let (rank, at) = ((candidate >> 32) as u32, candidate as u32);
        let symbol = symbols[at as usize];
        if symbol.rank != rank {
            return Ok(());
        }
        // The merged symbol takes the offset of the left one; the right one leaves the list.
        let right = symbols[symbol.next as usize];
        symbols[symbol.next as usize].rank = NONE;
        let id = vocabulary.merged_id(rank);
        let mut own = NONE;
        if let Some(following) = symbols.get_mut(right.next as usize) {
            following.previous = at;
            own = vocabulary.pair_rank(id, following.id);
        }
        symbols[at as usize] = Symbol { id, rank: own, previous: symbol.previous, next: right.next };
        if own != NONE {
            add(own, at)?;
        }
        if let Some(before) = symbols.get_mut(symbol.previous as usize) {
            before.rank = vocabulary.pair_rank(before.id, id);
            if before.rank != NONE {
                add(before.rank, symbol.previous)?;
            }
        }
        Ok(())
    }

    /// Calls `put` for each id, in order.
    pub(super) fn put_all(&self, mut put: impl FnMut(u32) -> Result<()>) -> Result<()> {
        let mut at = 0;
        while let Some(symbol) = self.0.get(at as usize) {
            put(symbol.id)?;
            at = symbol.next;
        }
        Ok(())
    }
}

/// A candidate as a number: the least is the pair of lowest rank, leftmost.
pub(super) fn candidate(rank: u32, at: u32) -> u64 {
    u64::from(rank) << 32 | u64::from(at)
}
