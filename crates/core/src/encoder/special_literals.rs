//! Literals of special tokens in data: what they become, and how many there are.
//!
//! A literal such as `<|endoftext|>` inside a web page is data, not a command. Whoever encodes data chooses with
//! [`Specials`] what such literals become; those that stay text are counted while the text is encoded.

use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::special::SpecialTokens;

/// What the literal of a special token is in a file, a stream or a corpus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Specials {
    /// It becomes the id of the special token.
    #[default]
    Recognise,
    /// It is text like any other.
    Ordinary,
    /// It is [`Error::DisallowedSpecial`].
    Error,
}

/// How often one special token's literal stands in one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LiteralCount {
    /// The number of the text in its batch.
    pub text: usize,
    /// The special token's place in [`SpecialTokens::tokens`].
    pub token: usize,
    /// How often it stands there.
    pub n: u64,
}

/// Counts the literals in the texts of a batch, or refuses them; shared by the threads that encode the batch.
///
/// Literals are found as encoding finds them: longest first, left to right, without overlap. Cost: one pass of the
/// matcher over the text, and a lock only for a text that holds a literal.
pub struct LiteralCounts<'a> {
    specials: &'a SpecialTokens,
    is_error: bool,
    found: Mutex<Vec<LiteralCount>>,
}

impl<'a> LiteralCounts<'a> {
    /// Nothing counted yet; with `is_error` the first literal is an error.
    pub fn new(specials: &'a SpecialTokens, is_error: bool) -> Self {
        LiteralCounts { specials, is_error, found: Mutex::default() }
    }

    /// Looks for literals in the text of this number.
    pub(super) fn look(&self, number: usize, text: &str) -> Result<()> {
        let mut counts: Vec<LiteralCount> = Vec::new();
        let mut from = 0;
        while let Some(found) = self.specials.find(text.as_bytes(), from) {
            from = found.end;
            match counts.iter_mut().find(|count| count.token == found.index) {
                Some(count) => count.n += 1,
                None => {
                    counts.try_push(
                        LiteralCount { text: number, token: found.index, n: 1 },
                        "special token counts",
                    )?;
                }
            }
            if self.is_error {
                self.add(&counts)?;
                let token = self.specials.tokens()[found.index].0.clone();
                return Err(Error::DisallowedSpecial { token, offset: found.start });
            }
        }
        if counts.is_empty() { Ok(()) } else { self.add(&counts) }
    }

    fn add(&self, counts: &[LiteralCount]) -> Result<()> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.try_extend(counts, "special token counts")?;
        Ok(())
    }

    /// What was found, in the order of the texts.
    pub fn into_sorted(self) -> Vec<LiteralCount> {
        let mut found = self.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.sort_unstable();
        found
    }
}
