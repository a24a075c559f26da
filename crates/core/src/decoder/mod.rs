//! Ids to bytes.
//!
//! Enters: ids of any integer type. Leaves: the bytes of their tokens, special tokens included. A token of
//! up to 15 bytes lies in a slot of 16 with its length in the last: every slot is copied whole and the
//! cursor moves on by the length, so that nothing depends on a branch. Longer tokens, and ids without a token,
//! are marked by a length that no short token has. Cost: one slot read and one written for an id.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::error::{Error, Result};
use crate::ids::AnyId;
use crate::memory::{TryReserve, filled};
use crate::pages;
use crate::special::SpecialTokens;
use crate::vocabulary::{Vocabulary, n_dense};

mod stream;

pub use stream::{DecodeErrors, DecodeStream};

/// Bytes of a slot.
const SLOT: usize = 16;
/// The length that marks a long token; its place in `long` is in the slot's first bytes.
const LONG: u8 = 16;
/// The length that marks an id without a token.
const UNKNOWN: u8 = 17;
/// Ids between two looks at the space left.
const STRETCH: usize = 1024;

/// Turns ids into bytes. Immutable: share one between threads.
#[derive(Debug)]
pub struct Decoder {
    slots: Vec<[u8; SLOT]>,
    /// The bytes of all long tokens.
    long: Vec<u8>,
    /// The slots of ids beyond `slots`.
    far: HashMap<usize, [u8; SLOT]>,
}

impl Decoder {
    /// A decoder for these tokens; a special token's text takes the place of an ordinary token of its id.
    pub fn new(vocabulary: &Vocabulary, specials: &SpecialTokens) -> Result<Self> {
        const WHAT: &str = "a decoder";
        let n_ids = specials.n_ids().max(vocabulary.n_ids());
        let n_slots = n_dense(n_ids, vocabulary.n_tokens() + specials.tokens().len());
        let slots = filled(n_slots, slot(&[], UNKNOWN), WHAT)?;
        let mut decoder = Decoder { slots, long: Vec::new(), far: HashMap::new() };
        for (id, token) in vocabulary.tokens() {
            decoder.set(id, token)?;
        }
        for (token, id) in specials.tokens() {
            decoder.set(*id, token.as_bytes())?;
        }
        Ok(decoder)
    }

    fn set(&mut self, id: u32, token: &[u8]) -> Result<()> {
        let slot = if token.len() < SLOT {
            slot(token, token.len() as u8)
        } else {
            let mut place = [0; 12];
            place[..8].copy_from_slice(&(self.long.len() as u64).to_le_bytes());
            place[8..].copy_from_slice(&(token.len() as u32).to_le_bytes());
            self.long.try_extend(token, "a decoder")?;
            slot(&place, LONG)
        };
        match self.slots.get_mut(id as usize) {
            Some(near) => *near = slot,
            None => {
                self.far.try_reserve(1).map_err(Error::out_of_memory("a decoder"))?;
                self.far.insert(id as usize, slot);
            }
        }
        Ok(())
    }

    /// Appends the bytes of `ids` to `out`. On an error what was appended is taken back.
    pub fn decode<I: AnyId>(&self, ids: &[I], out: &mut Vec<u8>) -> Result<()> {
        // Most texts have three to five bytes an id.
        pages::reserve(out, ids.len() * 4);
        let before = out.len();
        let mut rest = ids;
        while !rest.is_empty() {
            let n = rest.len().min(STRETCH);
            let done =
                out.try_reserve(n * SLOT).map_err(Error::out_of_memory("decoded text")).and_then(|()| {
                    match self.decode_short(&rest[..n], out) {
                        n_short if n_short < n => self.decode_one(rest[n_short], out).map(|()| n_short + 1),
                        _ => Ok(n),
                    }
                });
            match done {
                Ok(n_done) => rest = &rest[n_done..],
                Err(error) => {
                    out.truncate(before);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Decodes up to the first id that is not in a slot; gives how many that were. `out` has a slot's room
    /// for each id.
    #[inline]
    fn decode_short<I: AnyId>(&self, ids: &[I], out: &mut Vec<u8>) -> usize {
        debug_assert!(out.capacity() - out.len() >= ids.len() * SLOT);
        let (mut n_done, mut n_bytes) = (0, out.len());
        let begin = out.as_mut_ptr();
        for id in ids {
            let Some(slot) = self.slots.get(id.index()) else { break };
            let len = slot[SLOT - 1];
            // SAFETY: `decode` made room for a slot an id, and the cursor moved on by less than a slot for each.
            unsafe { begin.add(n_bytes).cast::<[u8; SLOT]>().write_unaligned(*slot) };
            if len >= LONG {
                break;
            }
            n_bytes += usize::from(len);
            n_done += 1;
        }
        // SAFETY: All bytes before the cursor were written.
        unsafe { out.set_len(n_bytes) };
        n_done
    }

    /// Decodes an id whose token is long, or unknown.
    #[cold]
    fn decode_one<I: AnyId>(&self, id: I, out: &mut Vec<u8>) -> Result<()> {
        let token = self.token(id)?;
        out.try_extend(token, "decoded text")?;
        Ok(())
    }

    /// The bytes of one id.
    pub fn token<I: AnyId>(&self, id: I) -> Result<&[u8]> {
        match self.slots.get(id.index()).or_else(|| self.far.get(&id.index())) {
            Some(slot) if slot[SLOT - 1] < LONG => Ok(&slot[..usize::from(slot[SLOT - 1])]),
            Some(slot) if slot[SLOT - 1] == LONG => Ok(self.long_token(slot)),
            _ => Err(Error::UnknownTokenId { id: id.shown() }),
        }
    }

    fn long_token(&self, slot: &[u8; SLOT]) -> &[u8] {
        let [a, b, c, d, e, f, g, h, i, j, k, l, ..] = *slot;
        let start = u64::from_le_bytes([a, b, c, d, e, f, g, h]) as usize;
        let len = u32::from_le_bytes([i, j, k, l]) as usize;
        &self.long[start..start + len]
    }

    /// A stream that gives text as its ids come in.
    pub fn stream(self: &Arc<Self>, errors: DecodeErrors) -> DecodeStream {
        DecodeStream::new(Arc::clone(self), errors)
    }
}

/// A slot of these bytes and this length.
fn slot(bytes: &[u8], len: u8) -> [u8; SLOT] {
    let mut slot = [0; SLOT];
    slot[..bytes.len()].copy_from_slice(bytes);
    slot[SLOT - 1] = len;
    slot
}

#[cfg(test)]
mod tests;
