//! Text to pretokens.
//!
//! Enters: one document, valid UTF-8. Leaves: the ends of its pretokens; they cover the text without
//! gaps. Text that a custom pattern does not match is a pretoken of its own: nothing is lost.
//!
//! The exact text of a named pattern is scanned by hand-written code (memory speed); any other pattern by
//! a general regex engine. Both must give the same pretokens: the differential tests hold them to it.

pub(crate) mod byte_block;
mod cl100k;
mod deepseek;
mod families;
mod gpt2;
pub(crate) mod key;
mod linear_regex;
mod o200k;
pub mod patterns;
mod regex;
mod runs;
pub(crate) mod safe_cuts;
mod scan;
mod sequence;
mod shared_rules;
mod unicode;
mod unicode_tables;
mod window;

use crate::cpu::CpuTier;
use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::monitor::OnProgress;

use families::Family;
pub use patterns::{gpt2_pattern, named_pattern, named_patterns, names};
use regex::RegexScanner;
use sequence::Sequence;
pub use unicode_tables::UNICODE_VERSION;

/// How many ends one call of [`Pretokenizer::fill`] gives at most; only a sequence of several patterns that
/// has no hand-written scanner may give more.
pub const ENDS_PER_FILL: usize = 4096;

/// How many patterns may split one after the other. Published tokenizers have up to four; compiling thousands takes
/// seconds.
pub const MOST_STEPS: usize = 32;

/// Splits documents into pretokens. Immutable: share one between threads.
pub struct Pretokenizer {
    patterns: Vec<String>,
    engine: Engine,
}

enum Engine {
    /// Hand-written code for a named pattern.
    Named(Family, CpuTier),
    /// Any other pattern, by a general regex engine.
    Regex(RegexScanner),
    /// Several such patterns.
    Sequence(Sequence),
}

impl Pretokenizer {
    /// Compiles a pattern; the exact text of a named pattern gets its hand-written scanner.
    ///
    /// [`Error::Pattern`] if it does not compile.
    pub fn new(pattern: &str) -> Result<Self> {
        Self::sequence(&[pattern])
    }

    /// Compiles patterns that split one after the other: each splits every piece that the one before left,
    /// matched or not, and sees nothing beyond that piece.
    ///
    /// [`Error::Pattern`] if one does not compile or there are more than [`MOST_STEPS`], [`Error::Invalid`] if there
    /// is none.
    pub fn sequence<S: AsRef<str>>(patterns: &[S]) -> Result<Self> {
        Self::at_tier(patterns, CpuTier::best())
    }

    /// Like [`Pretokenizer::sequence`], with the instructions of `tier` instead of the best ones.
    ///
    /// For tests and measurements: all tiers give the same pretokens. [`Error::Invalid`] if the processor
    /// lacks it.
    pub fn at_tier<S: AsRef<str>>(patterns: &[S], tier: CpuTier) -> Result<Self> {
        if !CpuTier::available().any(|available| available == tier) {
            return Err(Error::Invalid(format!("this processor has no {tier:?} instructions")));
        }
        match patterns::family_of(patterns) {
            Some(family) => Ok(Self::with_engine(patterns, Engine::Named(family, tier))),
            None => Self::with_steps(patterns, RegexScanner::new),
        }
    }

    /// Like [`Pretokenizer::sequence`], but by the backtracking regex engine whatever the patterns are.
    ///
    /// For tests and measurements: it gives the same pretokens.
    pub fn by_regex<S: AsRef<str>>(patterns: &[S]) -> Result<Self> {
        Self::with_steps(patterns, RegexScanner::backtracking)
    }

    fn with_steps<S: AsRef<str>>(
        patterns: &[S],
        compile: impl Fn(&str) -> Result<RegexScanner>,
    ) -> Result<Self> {
        let engine = match patterns {
            [pattern] => Engine::Regex(compile(pattern.as_ref())?),
            patterns if patterns.len() > MOST_STEPS => {
                let message = format!(
                    "it is one of {} that split in turn; at most {MOST_STEPS} are compiled: join them to fewer",
                    patterns.len()
                );
                return Err(Error::Pattern { pattern: patterns[0].as_ref().to_owned(), message });
            }
            patterns => {
                let steps = patterns.iter().map(|pattern| compile(pattern.as_ref()));
                Engine::Sequence(Sequence::new(steps.collect::<Result<_>>()?)?)
            }
        };
        Ok(Self::with_engine(patterns, engine))
    }

    fn with_engine<S: AsRef<str>>(patterns: &[S], engine: Engine) -> Self {
        let patterns = patterns.iter().map(|pattern| pattern.as_ref().to_owned()).collect();
        Pretokenizer { patterns, engine }
    }

    /// The pattern's text; of several patterns, the last.
    pub fn pattern(&self) -> &str {
        self.patterns.last().map_or("", String::as_str)
    }

    /// The texts of all patterns, in the order in which they split.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// Replaces `ends` by the ends (absolute offsets) of the pretokens that follow `from`.
    ///
    /// `from` is 0 or an end that an earlier call gave for the same `document`, as its last one unless
    /// [`Pretokenizer::is_memoryless`]. At least one end comes back unless `from == document.len()`, at most
    /// [`ENDS_PER_FILL`]; the last one is the next call's `from`. [`Error::Pattern`] if the regex engine
    /// gives up on the text.
    pub fn fill(&self, document: &str, from: usize, ends: &mut Vec<usize>) -> Result<()> {
        self.fill_with_progress(document, from, ends, &mut |_| Ok(()))
    }

    /// The same, which `on_progress` may end: a regex engine can take any time for one call, a hand-written scanner takes
    /// little and does not ask.
    #[inline]
    pub fn fill_with_progress(
        &self,
        document: &str,
        from: usize,
        ends: &mut Vec<usize>,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        match &self.engine {
            Engine::Named(family, tier) => family.fill(*tier, document, from, ends),
            Engine::Regex(scanner) => scanner.fill(document, from, ends, on_progress),
            Engine::Sequence(sequence) => sequence.fill(document, from, ends, on_progress),
        }
    }

    /// Whether the start of a pretoken is all the context that scanning needs.
    ///
    /// Two promises: scanning may start afresh at any pretoken's start, with the same pretokens from there
    /// on as if it had come from before; and text appended to a document changes at most its last two
    /// pretokens. Only then is a document cut between threads. Every hand-written scanner keeps them. Of
    /// any other pattern they are not assumed: not even `a*b|a`, which has neither lookbehind nor anchors,
    /// keeps the second.
    pub fn is_memoryless(&self) -> bool {
        matches!(self.engine, Engine::Named(..))
    }

    /// All ends of the pretokens of `document`.
    pub fn ends(&self, document: &str) -> Result<Vec<usize>> {
        self.ends_with_progress(document, &mut |_| Ok(()))
    }

    /// The same, which `on_progress` may end.
    pub fn ends_with_progress(&self, document: &str, on_progress: OnProgress<'_>) -> Result<Vec<usize>> {
        let (mut all, mut some, mut from) = (Vec::new(), Vec::new(), 0);
        while from < document.len() {
            self.fill_with_progress(document, from, &mut some, on_progress)?;
            all.grow(some.len(), "pretoken ends")?;
            all.extend_from_slice(&some);
            let end = some.last().copied().unwrap_or(document.len());
            on_progress(end - from)?;
            from = end;
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests;
