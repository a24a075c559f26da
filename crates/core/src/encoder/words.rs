//! Long pretokens word by word: their words are looked up as pretokens are, then merges join what crosses words.
//!
//! The merges before the first whose token crosses words, with a space after what is no white space, never join anything over
//! such a place, nor over any other that their tokens do not span. So what they make of the parts between is found for each
//! part by itself, in batches and by a cache. What is left for the other merges is some tens of symbols a line, where there
//! were hundreds of bytes. That is exact: a merge of lower rank comes first, wherever it is.
//!
//! Superwords are learned after words, so that nearly all merges of words come first. Where a vocabulary crosses words from
//! the beginning on, this is of no use. Where no token does, as with GPT-2's tokens and a pattern that keeps lines whole,
//! the words are all.

use std::sync::Arc;

use super::merge::symbols;
use crate::error::Result;
use crate::memory::TryReserve;
use crate::monitor::OnProgress;
use crate::vocabulary::Vocabulary;

/// Shorter pretokens are merged from bytes in less time.
const FEWEST_BYTES: usize = 17;

/// Longer pretokens with superwords are merged from bytes by a queue that may be stopped (`merge::by_rank`).
const MOST_BYTES: usize = 1 << 15;

/// Words are of use if they have one in so many merges.
const FEWEST_OF: usize = 4;

/// Appends the ids of pretokens, given as bytes and ends, by a vocabulary.
pub(super) type EncodePretokens =
    Box<dyn Fn(&[u8], &[u32], &mut Vec<u32>, OnProgress<'_>) -> Result<()> + Send + Sync>;

/// What finds the ids of words.
pub(super) struct Words {
    vocabulary: Arc<Vocabulary>,
    encode: EncodePretokens,
    /// Whether there are merges that cross words.
    has_superwords: bool,
}

impl Words {
    /// The words of a vocabulary; `None` if it crosses words from the beginning on. `encoder` makes what encodes by the
    /// vocabulary of words.
    pub(super) fn new(
        all: &Arc<Vocabulary>,
        encoder: impl Fn(Arc<Vocabulary>) -> Result<EncodePretokens>,
    ) -> Result<Option<Box<Self>>> {
        let merges = all.merges()?;
        let is_superword = |merge: &[u32; 3]| all.token(merge[2]).is_some_and(crosses_words);
        let n_first = merges.iter().position(is_superword).unwrap_or(merges.len());
        if n_first < merges.len() / FEWEST_OF {
            return Ok(None);
        }
        let has_superwords = n_first < merges.len();
        let vocabulary = if has_superwords || all.ignores_merges() {
            Arc::new(all.made_by(&merges[..n_first])?)
        } else {
            Arc::clone(all)
        };
        let encode = encoder(Arc::clone(&vocabulary))?;
        Ok(Some(Box::new(Words { vocabulary, encode, has_superwords })))
    }

    /// Replaces `ids` by those of `pretoken` in the vocabulary `all`; returns whether it did: not if the pretoken is one
    /// word, or too long. `ends` is a buffer.
    pub(super) fn encode(
        &self,
        all: &Vocabulary,
        pretoken: &[u8],
        ends: &mut Vec<u32>,
        ids: &mut Vec<u32>,
        on_progress: OnProgress<'_>,
    ) -> Result<bool> {
        if self.has_superwords && pretoken.len() > MOST_BYTES {
            return Ok(false);
        }
        ends.clear();
        let mut end = 0;
        for part in self.vocabulary.parts(pretoken) {
            end += part.len();
            ends.try_push(end as u32, "the words of a pretoken")?;
        }
        if ends.len() < 2 {
            return Ok(false);
        }
        ids.clear();
        (self.encode)(pretoken, ends, ids, on_progress)?;
        if self.has_superwords {
            symbols::merge(all, ids, pretoken.len())?;
        }
        Ok(true)
    }
}

/// Whether a pretoken is long, and of several words.
pub(super) fn has_words(pretoken: &[u8]) -> bool {
    pretoken.len() >= FEWEST_BYTES && u32::try_from(pretoken.len()).is_ok() && crosses_words(pretoken)
}

/// Whether a space follows a character that is no white space.
fn crosses_words(text: &[u8]) -> bool {
    text.utf8_chunks().any(|chunk| {
        let characters = chunk.valid().chars();
        characters.clone().zip(characters.skip(1)).any(|(one, next)| next == ' ' && !one.is_whitespace())
    })
}
