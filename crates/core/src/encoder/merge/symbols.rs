//! The symbols of a long pretoken while it is merged: a linked list over the places of its bytes.
//!
//! Which pair is merged next [`heap`](super::heap) and [`places`](super::by_rank) say; both number pairs as candidates, the
//! rank and the place in one u64, so that the least is the lowest rank, leftmost. A candidate that was overtaken by
//! a merge beside it is recognised when its turn comes, because the pair at its place has another rank by then.

use crate::error::{Error, Result};
use crate::pages;
use crate::vocabulary::{NONE, Vocabulary};

/// What is being done, for messages.
pub(super) const WHAT: &str = "the merging of a long pretoken";

/// A symbol; it is gone when the one before it does not lead to it.
#[derive(Clone, Copy)]
struct Symbol {
    id: u32,
    /// Of the pair with the symbol that follows, or [`NONE`].
    rank: u32,
    previous: u32,
    next: u32,
}

/// The symbols of a pretoken.
#[derive(Default)]
pub(super) struct Symbols(Vec<Symbol>);

impl Symbols {
    /// Starts anew: a symbol for each byte; gives all candidates to `add`, from left to right.
    pub(super) fn fill(
        &mut self,
        vocabulary: &Vocabulary,
        pretoken: &[u8],
        mut add: impl FnMut(u32, u32) -> Result<()>,
    ) -> Result<()> {
        let n = u32::try_from(pretoken.len()).map_err(Error::out_of_memory(WHAT))?;
        self.0.clear();
        // Merging goes back and forth in them.
        pages::reserve(&mut self.0, pretoken.len());
        self.0.try_reserve(pretoken.len()).map_err(Error::out_of_memory(WHAT))?;
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

    /// Merges the pair of a candidate, unless it was overtaken; gives the candidates that arise to `add`.
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
        // Both symbols of the pair become one at the left's place; the right one is gone.
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

    /// Gives the ids to `put`.
    pub(super) fn put_all(&self, mut put: impl FnMut(u32) -> Result<()>) -> Result<()> {
        let mut at = 0;
        while let Some(symbol) = self.0.get(at as usize) {
            put(symbol.id)?;
            at = symbol.next;
        }
        Ok(())
    }
}

/// The number of a candidate.
pub(super) fn candidate(rank: u32, at: u32) -> u64 {
    u64::from(rank) << 32 | u64::from(at)
}
