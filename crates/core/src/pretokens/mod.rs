//! Text to pretokens.
//!
//! Enters: one document, valid UTF-8. Leaves: the ends of its pretokens; they cover the text without
//! gaps. Text that a custom pattern does not match is a pretoken of its own: nothing is lost.
//!
//! The exact text of a named pattern is scanned by hand-written code (memory speed); any other pattern by
//! a general regex engine. Both must give the same pretokens: the differential tests hold them to it.

mod block;
mod cl100k;
mod gpt2;
mod o200k;
mod parts;
pub mod patterns;
mod regex;
mod unicode;
mod unicode_tables;
mod window;
mod windows;

use crate::error::{Error, Result};

pub use block::Level;
use patterns::Family;
pub use patterns::{GPT2 as GPT2_PATTERN, named_pattern, names};
pub use regex::RegexScanner;
pub use unicode_tables::UNICODE_VERSION;

/// How many ends one call of [`Pretokenizer::fill`] gives at most.
pub const ENDS_PER_FILL: usize = 4096;

/// Splits documents into pretokens. Immutable: share one between threads.
pub struct Pretokenizer {
    pattern: String,
    engine: Engine,
}

enum Engine {
    /// Hand-written code for a named pattern.
    Named(Family, Level),
    /// Any other pattern, by a general regex engine.
    Regex(RegexScanner),
}

impl Pretokenizer {
    /// Compiles a pattern; the exact text of a named pattern gets its hand-written scanner.
    pub fn new(pattern: &str) -> Result<Self> {
        Self::at_level(pattern, Level::best())
    }

    /// Like [`Pretokenizer::new`], with the instructions of `level` instead of the best ones.
    ///
    /// For tests and measurements: all levels give the same pretokens. [`Error::Invalid`] if the processor
    /// lacks it.
    pub fn at_level(pattern: &str, level: Level) -> Result<Self> {
        if !Level::available().any(|available| available == level) {
            return Err(Error::Invalid(format!("this processor has no {level:?} instructions")));
        }
        let engine = match patterns::family_of(pattern) {
            Some(family) => Engine::Named(family, level),
            None => Engine::Regex(RegexScanner::new(pattern)?),
        };
        Ok(Pretokenizer { pattern: pattern.to_owned(), engine })
    }

    /// The pattern's text.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Replaces `ends` by the ends (absolute offsets) of the pretokens that follow `from`.
    ///
    /// `from` is 0 or an end that an earlier call gave for the same `document`. At least one end comes
    /// back unless `from == document.len()`, at most [`ENDS_PER_FILL`]; the last one is the next
    /// call's `from`.
    pub fn fill(&self, document: &str, from: usize, ends: &mut Vec<usize>) -> Result<()> {
        match &self.engine {
            &Engine::Named(family, level) => {
                use cl100k::Cl100k;
                use o200k::O200k;
                match family {
                    Family::Gpt2 => windows::fill(gpt2::Gpt2, level, document, from, ends),
                    Family::Cl100k => windows::fill(Cl100k::<3, false, true>, level, document, from, ends),
                    Family::Llama3 => windows::fill(Cl100k::<3, false, false>, level, document, from, ends),
                    Family::Qwen2 => windows::fill(Cl100k::<1, false, false>, level, document, from, ends),
                    Family::Qwen35 => windows::fill(Cl100k::<1, true, false>, level, document, from, ends),
                    Family::Nanochat => windows::fill(Cl100k::<2, false, false>, level, document, from, ends),
                    Family::O200k => {
                        windows::fill(O200k::<3, true, true, false>, level, document, from, ends)
                    }
                    Family::Tekken => {
                        windows::fill(O200k::<1, false, true, false>, level, document, from, ends)
                    }
                    Family::Kimi => windows::fill(O200k::<3, true, false, true>, level, document, from, ends),
                }
            }
            Engine::Regex(scanner) => scanner.fill(document, from, ends),
        }
    }

    /// Whether scanning may start afresh at any pretoken's start, forgetting what came before it.
    ///
    /// True for patterns without lookbehind or anchors; only then is a document cut between threads.
    pub fn is_memoryless(&self) -> bool {
        match &self.engine {
            Engine::Named(..) => true,
            Engine::Regex(scanner) => scanner.is_memoryless(),
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

#[cfg(test)]
mod tests;
