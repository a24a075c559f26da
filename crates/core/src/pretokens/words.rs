//! Rewrites a text as its words, each followed by a space, for tokenizers that leave white space out.
//!
//! CLIP's tokenizer does so, and so do HuggingFace's pre-tokenizers Whitespace, WhitespaceSplit and BertPreTokenizer.
//! In the rewritten text spaces divide words, whatever divided them before, so later steps need no rule of their own.

use std::fmt;

use super::Pretokenizer;
use crate::error::{Error, Result};
use crate::memory::try_push_str;

const NAME: &str = "a normalised text";

/// Divides a text into words.
pub struct Words {
    pub(super) cuts: Pretokenizer,
}

impl Words {
    /// Parses a JSON list of patterns that split in turn. Pretokens of white space are left out; the others are words.
    pub fn from_json(text: &str) -> Result<Self> {
        let patterns: Vec<String> = serde_json::from_str(text).map_err(|_| {
            Error::Invalid(format!("the normalizer needs a list of patterns for its words, not {text}"))
        })?;
        Ok(Words { cuts: Pretokenizer::sequence(&patterns)? })
    }

    /// Returns the words of a text, each followed by a space.
    pub(super) fn rewritten(&self, text: &str) -> Result<String> {
        let (mut words, mut ends, mut from) = (String::new(), Vec::new(), 0);
        while from < text.len() {
            let (mut start, end) = (from, self.cuts.fill(text, from, &mut ends)?);
            for end in ends.iter().map(|&distance| from + distance as usize) {
                let word = text.get(start..end).unwrap_or_default();
                if !word.trim_start().is_empty() {
                    try_push_str(&mut words, word, NAME)?;
                    try_push_str(&mut words, " ", NAME)?;
                }
                start = end;
            }
            from = end;
        }
        Ok(words)
    }
}

impl PartialEq for Words {
    fn eq(&self, other: &Self) -> bool {
        self.cuts.patterns() == other.cuts.patterns()
    }
}

impl Eq for Words {}

impl fmt::Debug for Words {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cuts.patterns().fmt(formatter)
    }
}
