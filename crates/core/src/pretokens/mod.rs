//! Text to pretokens.
//!
//! Enters: one document, valid UTF-8. Leaves: the ends of its pretokens; they cover the text without
//! gaps. Text that a custom pattern does not match is a pretoken of its own: nothing is lost.

mod regex;

use crate::error::{Error, Result};

pub use regex::RegexScanner;

/// The GPT-2 pattern, as published.
pub const GPT2_PATTERN: &str = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

/// How many ends one call of [`Pretokenizer::fill`] gives at most.
pub const ENDS_PER_FILL: usize = 4096;

/// Splits documents into pretokens. Immutable: share one between threads.
pub enum Pretokenizer {
    /// Any other pattern, by a general regex engine.
    Regex(RegexScanner),
}

impl Pretokenizer {
    /// Compiles a pattern; the exact text of a named pattern gets its hand-written scanner.
    pub fn new(pattern: &str) -> Result<Self> {
        Ok(Pretokenizer::Regex(RegexScanner::new(pattern)?))
    }

    /// The pattern's text.
    pub fn pattern(&self) -> &str {
        match self {
            Pretokenizer::Regex(scanner) => scanner.pattern(),
        }
    }

    /// Replaces `ends` by the ends (absolute offsets) of the pretokens that follow `from`.
    ///
    /// `from` is 0 or an end that an earlier call gave for the same `document`. At least one end comes
    /// back unless `from == document.len()`, at most [`ENDS_PER_FILL`]; the last one is the next
    /// call's `from`.
    pub fn fill(&self, document: &str, from: usize, ends: &mut Vec<usize>) -> Result<()> {
        match self {
            Pretokenizer::Regex(scanner) => scanner.fill(document, from, ends),
        }
    }

    /// Whether scanning may start afresh at any pretoken's start, forgetting what came before it.
    ///
    /// True for patterns without lookbehind or anchors; only then is a document cut between threads.
    pub fn is_memoryless(&self) -> bool {
        match self {
            Pretokenizer::Regex(scanner) => scanner.is_memoryless(),
        }
    }

    /// All ends of the pretokens of `document`.
    pub fn ends(&self, document: &str) -> Result<Vec<usize>> {
        let (mut all, mut some, mut from) = (Vec::new(), Vec::new(), 0);
        while from < document.len() {
            self.fill(document, from, &mut some)?;
            all.try_reserve(some.len()).map_err(Error::out_of_memory("pretoken ends"))?;
            all.extend_from_slice(&some);
            from = some.last().copied().unwrap_or(document.len());
        }
        Ok(all)
    }
}
