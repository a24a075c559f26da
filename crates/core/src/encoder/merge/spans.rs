//! The symbols of a long pretoken while it is merged, in four bytes for each byte of the pretoken.
//!
//! For a symbol of the bytes `at..end`, slot `at` holds its id. If it is longer than a byte, slot `end - 1` holds its
//! length and the mark [`NOT_A_START`]. So the next symbol starts at `at` plus the length of the token, and the
//! previous one is found through slot `at - 1`.
//!
//! Invariant: each slot where a symbol once started, and no longer does, has the mark, which identifies a stale
//! candidate. Other slots inside a symbol are never read. The rank of a pair is not stored: looking it up again costs
//! less than the memory.

use crate::error::{Error, Result};
use crate::memory::{TryReserve, filled};
use crate::pages;
use crate::vocabulary::{NONE, Vocabulary};

/// Named in the message of [`Error::OutOfMemory`].
pub(super) const WHAT: &str = "the merging of a long pretoken";

/// The mark of a slot where no symbol starts; ids and lengths are smaller.
const NOT_A_START: u32 = 1 << 31;

/// The symbols of a pretoken.
pub(in crate::encoder) struct Spans<'v> {
    vocabulary: &'v Vocabulary,
    slots: Vec<u32>,
}

impl<'v> Spans<'v> {
    /// Makes a symbol for each byte; calls `add(rank, offset)` for each pair that merges, from left to right.
    pub(in crate::encoder) fn new(
        vocabulary: &'v Vocabulary,
        pretoken: &[u8],
        mut add: impl FnMut(u32, u32) -> Result<()>,
    ) -> Result<Self> {
        let n = u32::try_from(pretoken.len()).map_err(Error::out_of_memory(WHAT))?;
        if n >= NOT_A_START {
            return Err(Error::OutOfMemory { what: WHAT });
        }
        let mut slots = Vec::new();
        pages::reserve(&mut slots, pretoken.len());
        slots.grow(pretoken.len(), WHAT)?;
        for (at, &byte) in (0..n).zip(pretoken) {
            slots.push(vocabulary.id_of_byte(byte).ok_or(Error::MissingByte { byte })?);
            let following = pretoken.get(at as usize + 1);
            let rank = following.map_or(NONE, |&right| vocabulary.byte_pair_rank(byte, right));
            if rank != NONE {
                add(rank, at)?;
            }
        }
        Ok(Spans { vocabulary, slots })
    }

    /// Takes the symbols `ids`, which have `n_bytes` bytes in total; calls `add` as [`new`](Self::new) does.
    pub(super) fn of_symbols(
        vocabulary: &'v Vocabulary,
        ids: &[u32],
        n_bytes: usize,
        mut add: impl FnMut(u32, u32),
    ) -> Result<Self> {
        let mut slots = filled(n_bytes, NOT_A_START, WHAT)?;
        let mut at = 0;
        for (index, &id) in ids.iter().enumerate() {
            let length = n_bytes_of(vocabulary, id);
            slots[(at + length) as usize - 1] = NOT_A_START | length;
            slots[at as usize] = id;
            let following = ids.get(index + 1);
            let rank = following.map_or(NONE, |&right| vocabulary.pair_rank(id, right));
            if rank != NONE {
                add(rank, at);
            }
            at += length;
        }
        Ok(Spans { vocabulary, slots })
    }

    /// Returns where the right symbol of the pair at `at` begins and ends, if the rank of the pair is still `rank`.
    #[inline(always)]
    pub(in crate::encoder) fn pair(&self, rank: u32, at: u32) -> Option<[u32; 2]> {
        let Spans { vocabulary, slots } = self;
        let left = slots[at as usize];
        if left & NOT_A_START != 0 {
            return None;
        }
        let middle = at + n_bytes_of(vocabulary, left);
        let &right = slots.get(middle as usize)?;
        (vocabulary.pair_rank(left, right) == rank).then(|| [middle, middle + n_bytes_of(vocabulary, right)])
    }

    /// Merges the pair at `at` if its rank is still `rank`, and calls `add` for the pairs that this creates.
    #[inline(always)]
    pub(in crate::encoder) fn merge(
        &mut self,
        rank: u32,
        at: u32,
        mut add: impl FnMut(u32, u32) -> Result<()>,
    ) -> Result<()> {
        let Some([middle, end]) = self.pair(rank, at) else { return Ok(()) };
        let Spans { vocabulary, slots } = self;
        let id = vocabulary.merged_id(rank);
        slots[middle as usize] = NOT_A_START;
        slots[end as usize - 1] = NOT_A_START | (end - at);
        slots[at as usize] = id;
        if let Some(&following) = slots.get(end as usize) {
            let own = vocabulary.pair_rank(id, following);
            if own != NONE {
                add(own, at)?;
            }
        }
        if let Some(last) = at.checked_sub(1) {
            let slot = slots[last as usize];
            let before = if slot & NOT_A_START == 0 { last } else { at - (slot & !NOT_A_START) };
            let rank = vocabulary.pair_rank(slots[before as usize], id);
            if rank != NONE {
                add(rank, before)?;
            }
        }
        Ok(())
    }

    /// Calls `put` for each id, in order.
    pub(in crate::encoder) fn put_all(&self, mut put: impl FnMut(u32) -> Result<()>) -> Result<()> {
        let mut at = 0;
        while let Some(&id) = self.slots.get(at as usize) {
            put(id)?;
            at += n_bytes_of(self.vocabulary, id);
        }
        Ok(())
    }
}

/// Returns the length of a token in bytes. A merged token has exactly the bytes of its parts, so this is also the
/// length of its symbol.
fn n_bytes_of(vocabulary: &Vocabulary, id: u32) -> u32 {
    vocabulary.token(id).map_or(1, |token| token.len().max(1) as u32)
}

/// Packs a candidate into a number: the least is the pair of lowest rank, leftmost.
pub(in crate::encoder) fn candidate(rank: u32, at: u32) -> u64 {
    u64::from(rank) << 32 | u64::from(at)
}
