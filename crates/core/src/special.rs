//! Special tokens: literals that are one id each, never split, never part of a merge.

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};

use crate::error::{Error, Result};

/// A set of literals, recognised longest first, left to right.
///
/// The same matcher cuts documents out of a corpus and finds specials while encoding, so that the two
/// can never disagree.
#[derive(Clone, Debug)]
pub struct SpecialTokens {
    tokens: Vec<(String, u32)>,
    matcher: Option<AhoCorasick>,
}

/// One special token found in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecialMatch {
    /// Offset in bytes of its first byte.
    pub start: usize,
    /// Offset in bytes just past it.
    pub end: usize,
    /// Which of [`SpecialTokens::tokens`] it is.
    pub index: usize,
}

impl SpecialTokens {
    /// Builds the matcher; each literal is non-empty and distinct.
    pub fn new(tokens: Vec<(String, u32)>) -> Result<Self> {
        for (index, (token, _)) in tokens.iter().enumerate() {
            if token.is_empty() {
                return Err(Error::Invalid(
                    "a special token is empty; give it at least one character".into(),
                ));
            }
            if tokens[..index].iter().any(|(other, _)| other == token) {
                return Err(Error::Invalid(format!("special token {token:?} is given twice; name it once")));
            }
        }
        let matcher = if tokens.is_empty() {
            None
        } else {
            let built = AhoCorasickBuilder::new()
                .match_kind(MatchKind::LeftmostLongest)
                .build(tokens.iter().map(|(token, _)| token.as_bytes()))
                .map_err(|error| Error::Invalid(format!("special tokens: {error}")))?;
            Some(built)
        };
        Ok(SpecialTokens { tokens, matcher })
    }

    /// No special tokens at all.
    pub fn none() -> Self {
        SpecialTokens { tokens: Vec::new(), matcher: None }
    }

    /// The literals and their ids, in the order they were given.
    pub fn tokens(&self) -> &[(String, u32)] {
        &self.tokens
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The length in bytes of the longest literal; 0 when there is none.
    pub fn longest(&self) -> usize {
        self.tokens.iter().map(|(token, _)| token.len()).max().unwrap_or(0)
    }

    /// The first special token in `text` at or after `from`.
    pub fn find(&self, text: &[u8], from: usize) -> Option<SpecialMatch> {
        let found = self.matcher.as_ref()?.find(&text[from..])?;
        Some(SpecialMatch {
            start: from + found.start(),
            end: from + found.end(),
            index: found.pattern().as_usize(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_wins_and_partial_literals_are_text() {
        let specials = SpecialTokens::new(vec![("<a>".into(), 300), ("<a><a>".into(), 301)]).unwrap();
        let found = specials.find(b"x<a><a><a", 0).unwrap();
        assert_eq!((found.start, found.end, found.index), (1, 7, 1));
        assert_eq!(specials.find(b"x<a><a><a", 7), None);
    }

    #[test]
    fn empty_and_repeated_literals_are_refused() {
        assert!(SpecialTokens::new(vec![(String::new(), 1)]).is_err());
        assert!(SpecialTokens::new(vec![("a".into(), 1), ("a".into(), 2)]).is_err());
    }
}
