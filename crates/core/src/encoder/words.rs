//! Encodes long pretokens word by word: looks words up like pretokens, then makes the merges that cross words.
//!
//! Consider the merges that come before the first whose token crosses words, which is to say: has a space after a
//! character that is not white space. They never join anything across such a boundary, nor across any other that none
//! of their tokens spans. So their result is found for each part between boundaries on its own, in batches and with a
//! cache. That leaves the other merges some tens of symbols a line instead of hundreds of bytes. The ids are exact,
//! since a merge of lower rank comes first wherever it is.
//!
//! Superwords, which are tokens that cross words, are learned after words, so nearly all merges of words come first. If
//! a vocabulary crosses words from its first merges on, this is of no use. If no token does, as with GPT-2's tokens and
//! a pattern that keeps lines whole, the ids of the words are the result.

use std::sync::Arc;

use super::merge::symbols;
use crate::error::Result;
use crate::memory::TryReserve;
use crate::monitor::OnProgress;
use crate::vocabulary::Vocabulary;

/// Pretokens shorter than this are merged from bytes in less time.
const FEWEST_BYTES: usize = 17;

/// With superwords, longer pretokens are merged from bytes by `merge::by_rank`, which can be interrupted.
const MOST_BYTES: usize = 1 << 15;

/// Words are used if at least one in this many merges comes before the first that crosses words.
const FEWEST_OF: usize = 4;

/// Appends the ids of pretokens, which are given as bytes and ends.
pub(super) type EncodePretokens =
    Box<dyn Fn(&[u8], &[u32], &mut Vec<u32>, OnProgress<'_>) -> Result<()> + Send + Sync>;

/// Finds the ids of words.
pub(super) struct Words {
    vocabulary: Arc<Vocabulary>,
    encode: EncodePretokens,
    /// Whether there are merges that cross words.
    has_superwords: bool,
}

impl Words {
    /// Finds the words of a vocabulary; `None` if too few of its merges come before the first that crosses words.
    /// `encoder` makes the encoder for the vocabulary of words.
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

    /// Replaces `ids` by those of `pretoken` in the vocabulary `all`; returns whether it did. It does not if the
    /// pretoken is a single word or too long. `ends` is a buffer.
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

/// Returns whether a pretoken is long and has several words.
pub(super) fn has_words(pretoken: &[u8]) -> bool {
    pretoken.len() >= FEWEST_BYTES && u32::try_from(pretoken.len()).is_ok() && crosses_words(pretoken)
}

/// Returns whether a space follows a character that is not white space.
fn crosses_words(text: &[u8]) -> bool {
    text.utf8_chunks().any(|chunk| {
        let characters = chunk.valid().chars();
        characters.clone().zip(characters.skip(1)).any(|(one, next)| next == ' ' && !one.is_whitespace())
    })
}
