//! The decoder: turns ids into the bytes of their tokens, including special tokens.
//!
//! A table indexed by id has a slot of 16 bytes for each token: up to 15 bytes of the token, and its length in the last
//! byte. Each slot is copied as a whole and the output position advances by the length, so the inner loop has no branch
//! that depends on the length. Longer tokens, and ids without a token, have a marker instead of a length. Cost: one
//! slot read and one slot written for each id.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::error::{Error, Result};
use crate::ids::AnyId;
use crate::memory::{TryReserve, copied, filled};
use crate::pages;
use crate::special::SpecialTokens;
use crate::text;
use crate::vocabulary::characters::LeadingSpaces;
use crate::vocabulary::{Vocabulary, n_dense};

mod stream;

pub use stream::{DecodeErrors, DecodeStream, PARTIAL_CHARACTER};

/// Bytes of a slot.
const SLOT: usize = 16;
/// The length that marks a long token; its slot then has its start and length in `long`.
const LONG_TOKEN: u8 = 16;
/// The length that marks an id without a token.
const UNKNOWN: u8 = 17;
/// The output is grown once for this many ids.
const IDS_PER_GROWTH: usize = 1024;

/// Turns ids into bytes. Immutable, so threads can share one.
#[derive(Debug)]
pub struct Decoder {
    slots: Vec<[u8; SLOT]>,
    /// The bytes of all long tokens.
    long: Vec<u8>,
    /// The slots of ids beyond `slots`.
    sparse: HashMap<usize, [u8; SLOT]>,
    /// What decoding does with spaces at the beginning of a text.
    leading: LeadingSpaces,
    /// The tokens of single bytes if merging starts with characters, ascending; otherwise empty.
    fallback: Vec<u32>,
}

impl Decoder {
    /// Creates a decoder for these tokens. An ordinary token replaces a special token of the same id, which can have
    /// U+2581 for its spaces, unless the special token includes the space before it.
    pub fn new(vocabulary: &Vocabulary, specials: &SpecialTokens) -> Result<Self> {
        const WHAT: &str = "a decoder";
        let n_ids = specials.n_ids().max(vocabulary.n_ids());
        let n_slots = n_dense(n_ids, vocabulary.n_tokens() + specials.tokens().len());
        let slots = filled(n_slots, slot(&[], UNKNOWN), WHAT)?;
        let fallback = vocabulary.characters().map_or(&[][..], |characters| &characters.fallback);
        let mut decoder = Decoder {
            slots,
            long: Vec::new(),
            sparse: HashMap::new(),
            leading: LeadingSpaces::Kept,
            fallback: copied(fallback, WHAT)?,
        };
        let unknown = vocabulary.characters().and_then(|characters| characters.unknown);
        let mut set = |id, token: &[u8]| match unknown {
            // HuggingFace's library joins tokens with spaces if a file names no decoder.
            Some(unknown) if unknown.drops_spaces => decoder.set(id, &[b" ", token].concat()),
            _ => decoder.set(id, token),
        };
        specials.tokens().iter().try_for_each(|(token, id)| set(*id, token.as_bytes()))?;
        vocabulary.tokens().try_for_each(|(id, token)| set(id, token))?;
        let with_space =
            specials.tokens().iter().enumerate().filter(|&(index, _)| specials.includes_space(index));
        for (_, (token, id)) in with_space {
            set(*id, format!(" {token}").as_bytes())?;
        }
        Ok(decoder)
    }

    /// Sets what decoding does with spaces at the beginning of a text.
    #[must_use]
    pub fn with_leading_spaces(mut self, leading: LeadingSpaces) -> Self {
        self.leading = leading;
        self
    }

    /// Returns the bytes of a token at the beginning of a text without what is dropped there, and whether the next
    /// token is at the beginning, too.
    fn at_start<'a>(&self, token: &'a [u8]) -> (&'a [u8], bool) {
        match token.strip_prefix(b" ") {
            // An id that decoding leaves out.
            None if token.is_empty() => (token, true),
            Some(rest) if self.leading != LeadingSpaces::Kept => {
                (rest, rest.is_empty() && self.leading == LeadingSpaces::OneOfEachDropped)
            }
            _ => (token, false),
        }
    }

    /// Returns a decoder that leaves these ids out: their tokens are empty, so skipping costs nothing.
    pub fn without(&self, ids: &[u32]) -> Result<Self> {
        const WHAT: &str = "a decoder";
        let (slots, long) = (copied(&self.slots, WHAT)?, copied(&self.long, WHAT)?);
        let (sparse, fallback) = (self.sparse.clone(), copied(&self.fallback, WHAT)?);
        let mut decoder = Decoder { slots, long, sparse, fallback, leading: self.leading };
        ids.iter().try_for_each(|&id| decoder.set(id, &[]))?;
        Ok(decoder)
    }

    fn set(&mut self, id: u32, token: &[u8]) -> Result<()> {
        let slot = if token.len() < SLOT {
            slot(token, token.len() as u8)
        } else {
            let mut location = [0; 12];
            location[..8].copy_from_slice(&(self.long.len() as u64).to_le_bytes());
            location[8..].copy_from_slice(&(token.len() as u32).to_le_bytes());
            self.long.try_extend(token, "a decoder")?;
            slot(&location, LONG_TOKEN)
        };
        match self.slots.get_mut(id as usize) {
            Some(dense) => *dense = slot,
            None => {
                self.sparse.try_reserve(1).map_err(Error::out_of_memory("a decoder"))?;
                self.sparse.insert(id as usize, slot);
            }
        }
        Ok(())
    }

    /// Appends the text of `ids` to `out`, which can then hold bytes that are not UTF-8. On error `out` is unchanged.
    pub fn decode<I: AnyId>(&self, ids: &[I], errors: DecodeErrors, out: &mut Vec<u8>) -> Result<()> {
        let before = out.len();
        let done = self.append(ids, out).and_then(|()| self.finish(ids, errors, before, out));
        done.inspect_err(|_| out.truncate(before))
    }

    /// Finishes what [`append`](Self::append) has appended for `ids`, from `start` on: drops leading spaces and, with
    /// [`DecodeErrors::ReplaceRuns`], replaces everything that is not UTF-8.
    pub fn finish<I: AnyId>(
        &self,
        ids: &[I],
        errors: DecodeErrors,
        start: usize,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if errors == DecodeErrors::ReplaceRuns && text::valid(&out[start..]).is_none() {
            out.truncate(start);
            self.append_by_runs(ids, out)?;
        }
        let mut n_dropped = 0;
        for id in ids.iter().take_while(|_| self.leading != LeadingSpaces::Kept) {
            let token = self.token(*id)?;
            let (rest, goes_on) = self.at_start(token);
            n_dropped += token.len() - rest.len();
            if !goes_on {
                break;
            }
        }
        // Another thread may have changed the ids meanwhile.
        let n_spaces = out[start..].iter().take(n_dropped).take_while(|&&byte| byte == b' ').count();
        out.drain(start..start + n_spaces);
        Ok(())
    }

    /// Like [`append`](Self::append), but a run of byte tokens that is not UTF-8 as a whole becomes a U+FFFD for each.
    #[cold]
    fn append_by_runs<I: AnyId>(&self, ids: &[I], out: &mut Vec<u8>) -> Result<()> {
        let mut run_start = out.len();
        for id in ids {
            let token = self.token(*id)?;
            if token.is_empty() {
                continue;
            }
            let is_byte = self.fallback.binary_search(&(id.index() as u32)).is_ok();
            if !is_byte {
                replace_run(out, run_start)?;
            }
            out.try_extend(token, "decoded text")?;
            if !is_byte {
                run_start = out.len();
            }
        }
        replace_run(out, run_start)
    }

    /// Appends the bytes of `ids` to `out`. On error `out` is unchanged; [`Error::UnknownTokenId`] names the id.
    ///
    /// `ids` may be in a NumPy array that another thread changes at the same time. So each read of an id is followed by
    /// a lookup with a bounds check, and only the slot that was found decides what is copied. Never read an id again
    /// and rely on its old value.
    pub fn append<I: AnyId>(&self, ids: &[I], out: &mut Vec<u8>) -> Result<()> {
        // Most texts have three to five bytes for each id.
        pages::reserve(out, ids.len() * 4);
        let before = out.len();
        let mut rest = ids;
        while !rest.is_empty() {
            let n = rest.len().min(IDS_PER_GROWTH);
            let done =
                out.grow(n * SLOT, "decoded text").and_then(|()| match self.decode_short(&rest[..n], out) {
                    n_short if n_short < n => self.decode_one(rest[n_short], out).map(|()| n_short + 1),
                    _ => Ok(n),
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

    /// Decodes up to the first id whose token is not short; returns the number of ids decoded. `out` must have spare
    /// capacity of a slot for each id.
    #[inline]
    fn decode_short<I: AnyId>(&self, ids: &[I], out: &mut Vec<u8>) -> usize {
        debug_assert!(out.capacity() - out.len() >= ids.len() * SLOT);
        let (mut n_done, mut n_bytes) = (0, out.len());
        let out_start = out.as_mut_ptr();
        for id in ids {
            let Some(slot) = self.slots.get(id.index()) else { break };
            let len = slot[SLOT - 1];
            // SAFETY: `out` has spare capacity of a slot for each id, and `n_bytes` advanced by less than a slot for
            // each id before this one, so the whole slot is within the capacity.
            unsafe { out_start.add(n_bytes).cast::<[u8; SLOT]>().write_unaligned(*slot) };
            if len >= LONG_TOKEN {
                break;
            }
            n_bytes += usize::from(len);
            n_done += 1;
        }
        // SAFETY: `n_bytes` is within the capacity, and all bytes before it were written.
        unsafe { out.set_len(n_bytes) };
        n_done
    }

    /// Decodes an id whose token is long, or fails if it has none.
    #[cold]
    fn decode_one<I: AnyId>(&self, id: I, out: &mut Vec<u8>) -> Result<()> {
        let token = self.token(id)?;
        out.try_extend(token, "decoded text")
    }

    /// Returns the bytes of one id.
    pub fn token<I: AnyId>(&self, id: I) -> Result<&[u8]> {
        match self.slots.get(id.index()).or_else(|| self.sparse.get(&id.index())) {
            Some(slot) if slot[SLOT - 1] < LONG_TOKEN => Ok(&slot[..usize::from(slot[SLOT - 1])]),
            Some(slot) if slot[SLOT - 1] == LONG_TOKEN => Ok(self.long_token(slot)),
            _ => Err(Error::UnknownTokenId { id: id.shown() }),
        }
    }

    fn long_token(&self, slot: &[u8; SLOT]) -> &[u8] {
        let [a, b, c, d, e, f, g, h, i, j, k, l, ..] = *slot;
        let start = u64::from_le_bytes([a, b, c, d, e, f, g, h]) as usize;
        let len = u32::from_le_bytes([i, j, k, l]) as usize;
        &self.long[start..start + len]
    }

    /// Returns a stream that decodes id by id.
    pub fn stream(self: &Arc<Self>, errors: DecodeErrors) -> DecodeStream {
        DecodeStream::new(Arc::clone(self), errors)
    }
}

/// Replaces each byte from `start` on by U+FFFD, unless these bytes are UTF-8.
fn replace_run(out: &mut Vec<u8>, start: usize) -> Result<()> {
    if text::valid(&out[start..]).is_none() {
        let n = out.len() - start;
        out.truncate(start);
        (0..n).try_for_each(|_| out.try_extend("\u{fffd}".as_bytes(), "decoded text"))?;
    }
    Ok(())
}

/// Creates a slot with these bytes and this length.
fn slot(bytes: &[u8], len: u8) -> [u8; SLOT] {
    let mut slot = [0; SLOT];
    slot[..bytes.len()].copy_from_slice(bytes);
    slot[SLOT - 1] = len;
    slot
}

#[cfg(test)]
mod tests;
