//! Decodes id by id: a character that is split between tokens is pending back until it is complete.

use std::sync::Arc;

use super::Decoder;
use crate::error::{Error, Result};
use crate::ids::AnyId;
use crate::memory::TryReserve;

/// How bytes that are not UTF-8 are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeErrors {
    /// [`Error::InvalidUtf8`].
    Strict,
    /// U+FFFD for each maximal invalid sequence.
    Replace,
    /// U+FFFD for each byte that is not part of a character, as in SentencePiece.
    ReplaceBytes,
    /// U+FFFD for each byte of a run of byte tokens that is not UTF-8 as a whole, as in HuggingFace's `ByteFallback`. A
    /// stream uses [`ReplaceBytes`](Self::ReplaceBytes) instead, since it does not wait for the end of a run.
    ReplaceRuns,
    /// Dropped.
    Ignore,
}

impl DecodeErrors {
    /// All variants, by the names that files and callers use.
    pub const NAMED: [(&str, DecodeErrors); 5] = [
        ("strict", DecodeErrors::Strict),
        ("replace", DecodeErrors::Replace),
        ("replace_bytes", DecodeErrors::ReplaceBytes),
        ("replace_runs", DecodeErrors::ReplaceRuns),
        ("ignore", DecodeErrors::Ignore),
    ];

    /// Returns the name of the variant.
    pub fn name(self) -> &'static str {
        Self::NAMED.iter().find(|&&(_, errors)| errors == self).map_or("", |(name, _)| name)
    }

    /// Returns how many U+FFFD replace a maximal invalid sequence; `None` if it is an error.
    pub fn n_replacements(self, invalid: &[u8]) -> Option<usize> {
        match self {
            DecodeErrors::Strict => None,
            DecodeErrors::Replace => Some(usize::from(!invalid.is_empty())),
            DecodeErrors::ReplaceBytes | DecodeErrors::ReplaceRuns => Some(invalid.len()),
            DecodeErrors::Ignore => Some(0),
        }
    }

    /// Turns bytes into text.
    pub fn text_of(self, bytes: Vec<u8>) -> Result<String> {
        let bytes = match String::from_utf8(bytes) {
            Ok(text) => return Ok(text),
            Err(error) => error.into_bytes(),
        };
        let mut text = String::new();
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            let Some(n_replacements) = self.n_replacements(chunk.invalid()) else {
                let offset = text.len() as u64;
                return Err(Error::InvalidUtf8 { path: None, offset, hint: PARTIAL_CHARACTER });
            };
            text.extend(std::iter::repeat_n(char::REPLACEMENT_CHARACTER, n_replacements));
        }
        Ok(text)
    }
}

/// What to do if strict decoding fails, for messages.
pub const PARTIAL_CHARACTER: &str = "; the ids end or start inside a character: decode_bytes(ids) returns the bytes, and \
decode(ids, errors=\"replace\") puts U+FFFD there, as a tokenizer with decode_errors=\"replace\" always does";

/// Decodes ids one by one.
#[derive(Clone, Debug)]
pub struct DecodeStream {
    decoder: Arc<Decoder>,
    errors: DecodeErrors,
    /// The bytes of an incomplete character; at most three between calls.
    pub(super) pending: Vec<u8>,
    /// Number of bytes that were returned as text or dropped.
    n_taken: u64,
    /// Whether the next byte is the first of the text.
    is_at_start: bool,
}

impl DecodeStream {
    pub(super) fn new(decoder: Arc<Decoder>, errors: DecodeErrors) -> Self {
        DecodeStream { decoder, errors, pending: Vec::new(), n_taken: 0, is_at_start: true }
    }

    /// Continues after a prompt, which can end inside a character; invalid bytes of the prompt are not errors.
    pub fn after<I: AnyId>(mut self, prompt: &[I]) -> Result<Self> {
        let errors = std::mem::replace(&mut self.errors, DecodeErrors::Ignore);
        prompt.iter().try_for_each(|&id| self.push(id).map(|_| ()))?;
        self.errors = errors;
        Ok(self)
    }

    /// Decodes one id; returns the characters that are complete. After an error the stream is unchanged.
    pub fn push<I: AnyId>(&mut self, id: I) -> Result<String> {
        let token = self.decoder.token(id)?;
        if token.is_empty() {
            return Ok(String::new());
        }
        let n_held = self.pending.len();
        let (token, is_at_start) =
            if self.is_at_start { self.decoder.at_start(token) } else { (token, false) };
        self.pending.try_extend(token, "decoded text")?;
        let taken = self.take(false).inspect_err(|_| self.pending.truncate(n_held))?;
        self.is_at_start = is_at_start;
        Ok(taken)
    }

    /// Ends the stream: an incomplete character is now invalid.
    pub fn finish(&mut self) -> Result<String> {
        self.take(true)
    }

    /// Returns the complete characters; with `is_last`, everything.
    fn take(&mut self, is_last: bool) -> Result<String> {
        let mut text = String::new();
        text.try_reserve(self.pending.len()).map_err(Error::out_of_memory("decoded text"))?;
        let mut taken = 0;
        for chunk in self.pending.utf8_chunks() {
            text.push_str(chunk.valid());
            taken += chunk.valid().len();
            let invalid = chunk.invalid();
            let ends_text = taken + invalid.len() == self.pending.len();
            if invalid.is_empty() || (!is_last && ends_text && is_incomplete(invalid)) {
                break;
            }
            let Some(n_replacements) = self.errors.n_replacements(invalid) else {
                let offset = self.n_taken + taken as u64;
                return Err(Error::InvalidUtf8 { path: None, offset, hint: PARTIAL_CHARACTER });
            };
            text.extend(std::iter::repeat_n(char::REPLACEMENT_CHARACTER, n_replacements));
            taken += invalid.len();
        }
        self.n_taken += taken as u64;
        self.pending.drain(..taken);
        Ok(text)
    }
}

/// Returns whether these bytes, which are not UTF-8, are the start of a character.
fn is_incomplete(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}
