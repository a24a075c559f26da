//! Ids that come one by one, to text: a character split between tokens is held back until it is whole.

use std::sync::Arc;

use super::Decoder;
use crate::error::{Error, Result};
use crate::ids::AnyId;
use crate::memory::TryReserve;

/// What becomes of bytes that are not UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeErrors {
    /// An error.
    Strict,
    /// U+FFFD for each malformed sequence.
    Replace,
    /// Nothing.
    Ignore,
}

/// Gives text as its ids come in.
#[derive(Debug)]
pub struct DecodeStream {
    decoder: Arc<Decoder>,
    errors: DecodeErrors,
    /// The bytes of a character that is not whole yet; at most three between calls.
    pub(super) held: Vec<u8>,
    /// Bytes that were given as text or dropped.
    n_given: u64,
}

impl DecodeStream {
    pub(super) fn new(decoder: Arc<Decoder>, errors: DecodeErrors) -> Self {
        DecodeStream { decoder, errors, held: Vec::new(), n_given: 0 }
    }

    /// Takes one id; gives the characters that are whole by now. After an error the stream is as before.
    pub fn push<I: AnyId>(&mut self, id: I) -> Result<String> {
        let token = self.decoder.token(id)?;
        let n_held = self.held.len();
        self.held.try_extend(token, "decoded text")?;
        self.take(false).inspect_err(|_| self.held.truncate(n_held))
    }

    /// Ends the stream: what is held back cannot become whole any more.
    pub fn finish(&mut self) -> Result<String> {
        self.take(true)
    }

    /// Gives all that is whole; with `last`, all.
    fn take(&mut self, last: bool) -> Result<String> {
        let mut text = String::new();
        text.try_reserve(self.held.len()).map_err(Error::out_of_memory("decoded text"))?;
        let mut taken = 0;
        for chunk in self.held.utf8_chunks() {
            text.push_str(chunk.valid());
            taken += chunk.valid().len();
            let malformed = chunk.invalid();
            let ends_text = taken + malformed.len() == self.held.len();
            if malformed.is_empty() || (!last && ends_text && may_become_whole(malformed)) {
                break;
            }
            match self.errors {
                DecodeErrors::Strict => {
                    let offset = self.n_given + taken as u64;
                    let hint = ": the ids end or break off within a character; decode with \"replace\"";
                    return Err(Error::InvalidUtf8 { path: None, offset, hint });
                }
                DecodeErrors::Replace => text.push(char::REPLACEMENT_CHARACTER),
                DecodeErrors::Ignore => {}
            }
            taken += malformed.len();
        }
        self.n_given += taken as u64;
        self.held.drain(..taken);
        Ok(text)
    }
}

/// Whether these bytes, which are not UTF-8, are the beginning of a character.
fn may_become_whole(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}
