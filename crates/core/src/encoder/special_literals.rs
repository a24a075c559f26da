//! Literals of special tokens in data.
//!
//! A literal such as `<|endoftext|>` in a web page is data, not markup. [`Specials`] chooses what such literals become;
//! those that stay text are counted while the text is encoded.

use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::special::{Finder, SpecialTokens};

/// What the literal of a special token in a file, a stream or a corpus becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Specials {
    /// The id of the special token.
    #[default]
    Recognise,
    /// Ordinary text.
    Ordinary,
    /// [`Error::DisallowedSpecial`].
    Error,
}

/// How often the literal of a special token occurs in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LiteralCount {
    /// The index of the text in its batch.
    pub text: usize,
    /// The index of the special token in [`SpecialTokens::tokens`].
    pub token: usize,
    /// How often it occurs.
    pub n: u64,
}

/// Counts the literals in the texts of a batch, or reports the first as an error. The threads of the batch share it.
///
/// Literals are found as encoding finds them: longest first, left to right, without overlap. Cost: one pass of the
/// matcher over the text, and a lock only for a text that contains a literal.
pub struct LiteralCounts<'a> {
    specials: &'a SpecialTokens,
    is_error: bool,
    found: Mutex<Vec<LiteralCount>>,
}

impl<'a> LiteralCounts<'a> {
    /// Creates empty counts. With `is_error` the first literal is an error.
    pub fn new(specials: &'a SpecialTokens, is_error: bool) -> Self {
        LiteralCounts { specials, is_error, found: Mutex::default() }
    }

    /// Returns the special tokens whose literals are counted.
    pub(super) fn specials(&self) -> &'a SpecialTokens {
        self.specials
    }

    /// Counts the literals in the text with the index `number`.
    pub(super) fn count(&self, number: usize, text: &str) -> Result<()> {
        let mut counts: Vec<LiteralCount> = Vec::new();
        for found in Finder::new(self.specials, text) {
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
        found.try_extend(counts, "special token counts")
    }

    /// Returns the counts, in the order of the texts.
    pub fn into_sorted(self) -> Vec<LiteralCount> {
        let mut found = self.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.sort_unstable();
        found
    }
}
