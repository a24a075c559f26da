//! Splits documents into pretokens, and finds where a text can be cut safely.
//!
//! A pretoken is a part of a document. Merges happen inside pretokens, never across their edges. The pretokens of a
//! document cover it without gaps: text that a custom pattern does not match is a pretoken, too.
//!
//! Named patterns (`patterns.rs`) have hand-written scanners, which read 64 bytes a step: `scan.rs` explains the loop,
//! and each family of patterns has a file. A regex engine runs any other pattern (`regex.rs`). `tests.rs` checks that
//! both find the same pretokens.

mod alphabet;
pub(crate) mod byte_block;
mod characters;
mod charsmap;
mod cl100k;
mod deepseek;
mod dfa;
mod engine_rewrites;
mod entries;
mod expressions;
mod families;
mod first_bytes;
mod gpt2;
pub(crate) mod key;
mod nfa;
mod normal_forms;
pub mod normalizer;
mod o200k;
mod one_pass;
pub mod patterns;
mod regex;
mod runs;
pub(crate) mod safe_cuts;
mod scan;
mod sequence;
mod shared_rules;
mod shuffle_states;
mod steps;
mod threes;
mod unicode;
mod unicode_tables;
mod window;
mod words;

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::cpu::CpuTier;
use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::monitor::OnProgress;
use crate::vocabulary::Vocabulary;
use crate::vocabulary::characters::{CHARACTERS, LeadingSpaces};

use characters::CharacterCuts;
use dfa::Dfa;
pub use engine_rewrites::{can_match_nothing, check_run_as_written, is_run_as_written};
use families::Scanner;
use nfa::DEAD;
pub use normalizer::Place;
pub use patterns::{gpt2_pattern, named_pattern, named_patterns, names, patterns_of};
use regex::RegexScanner;
pub use regex::{MAX_PATTERN_BYTES, check_length, matches};
pub use scan::ENDS_PER_FILL;
pub use steps::BYTE_LEVEL;
use steps::Step;
pub(crate) use threes::word_boundary;
pub(crate) use unicode::byte_letter;
pub use unicode_tables::UNICODE_VERSION;

/// The most patterns that can split in turn. Published tokenizers have up to four; compiling thousands takes seconds.
pub const MAX_PATTERNS: usize = 32;

/// Splits documents into pretokens. Immutable, so threads share one.
pub struct Pretokenizer {
    patterns: Vec<String>,
    engine: Engine,
    normalizer: Vec<normalizer::Step>,
    /// The automaton of a single named pattern, built on first use.
    automaton: OnceLock<Option<Dfa>>,
}

enum Engine {
    /// The hand-written scanner of a named pattern.
    Named(Scanner, CpuTier),
    /// Any other patterns. They split in turn.
    Sequence(Vec<Step>),
    /// Cuts between characters that no token of the vocabulary spans.
    Characters(Box<CharacterCuts>),
}

impl Pretokenizer {
    /// Compiles a pattern. If it is exactly the text of a named pattern, it gets the hand-written scanner.
    ///
    /// [`Error::Pattern`] if it does not compile.
    pub fn new(pattern: &str) -> Result<Self> {
        Self::sequence(&[pattern])
    }

    /// Compiles patterns that split in turn: each splits the segments that the previous one left, matches and gaps
    /// alike, and sees nothing outside its segment.
    ///
    /// [`Error::Invalid`] if there are no patterns. [`Error::Pattern`] if one does not compile, or if there are more
    /// than [`MAX_PATTERNS`] or, together, more than [`MAX_PATTERN_BYTES`].
    pub fn sequence<S: AsRef<str>>(patterns: &[S]) -> Result<Self> {
        Self::at_tier(patterns, CpuTier::best())
    }

    /// Like [`Pretokenizer::sequence`], but with the instructions of `tier` instead of the best ones.
    ///
    /// For tests and measurements: all tiers find the same pretokens. [`Error::Invalid`] if the processor lacks these
    /// instructions.
    pub fn at_tier<S: AsRef<str>>(patterns: &[S], tier: CpuTier) -> Result<Self> {
        tier.check_available()?;
        match patterns::scanner(patterns) {
            Some(scanner) => Ok(Self::with_engine(patterns, Engine::Named(scanner, tier))),
            None => Self::compile(patterns, tier, RegexScanner::new),
        }
    }

    /// Like [`Pretokenizer::sequence`], but always with the backtracking regex engine.
    ///
    /// For tests and measurements: it finds the same pretokens.
    pub fn by_regex<S: AsRef<str>>(patterns: &[S]) -> Result<Self> {
        Self::compile(patterns, CpuTier::best(), RegexScanner::backtracking)
    }

    /// Cuts text wherever no token of `vocabulary` can span the cut. Its merging must start with characters
    /// ([`Vocabulary::from_characters`]).
    pub fn of_characters(vocabulary: &Vocabulary) -> Result<Self> {
        let cuts = Box::new(CharacterCuts::new(vocabulary)?);
        Ok(Self::with_engine(&[CHARACTERS], Engine::Characters(cuts)))
    }

    fn compile<S: AsRef<str>>(
        patterns: &[S],
        tier: CpuTier,
        compile: impl Fn(&str, usize) -> Result<RegexScanner>,
    ) -> Result<Self> {
        regex::check_length(patterns)?;
        if patterns.iter().any(|pattern| pattern.as_ref() == CHARACTERS) {
            return Err(Error::Pattern {
                pattern: CHARACTERS.into(),
                message: "it splits by a vocabulary of characters, so it works only in a tokenizer, without other patterns"
                    .into(),
            });
        }
        let max_bytes = regex::MAX_AUTOMATA_BYTES / patterns.len().max(1);
        let engine = match patterns {
            [] => return Err(Error::Invalid("a sequence of patterns needs at least one pattern".to_owned())),
            patterns if patterns.len() > MAX_PATTERNS => {
                let message = format!(
                    "it is one of {} patterns that split in turn; at most {MAX_PATTERNS} are allowed: join some of them",
                    patterns.len()
                );
                return Err(Error::Pattern { pattern: patterns[0].as_ref().to_owned(), message });
            }
            patterns => {
                let compiled =
                    patterns.iter().map(|pattern| Step::new(pattern.as_ref(), max_bytes, &compile));
                let steps = compiled.collect::<Result<Vec<_>>>()?;
                Engine::Sequence(Step::grouped(steps, tier))
            }
        };
        Ok(Self::with_engine(patterns, engine))
    }

    fn with_engine<S: AsRef<str>>(patterns: &[S], engine: Engine) -> Self {
        let patterns = patterns.iter().map(|pattern| pattern.as_ref().to_owned()).collect();
        Pretokenizer { patterns, engine, normalizer: Vec::new(), automaton: OnceLock::new() }
    }

    /// Adds steps that change documents before they are split. [`Pretokenizer::normalized`] applies them.
    #[must_use]
    pub fn with_normalizer(mut self, steps: Vec<normalizer::Step>) -> Self {
        self.normalizer = steps;
        self
    }

    /// Returns how decoding treats spaces at the start of a text, following SentencePiece.
    pub fn leading_spaces(&self) -> LeadingSpaces {
        match self.engine {
            Engine::Characters(_) if self.normalizer.contains(&normalizer::Step::CollapseSpaces) => {
                LeadingSpaces::OneOfEachDropped
            }
            // Encoding leaves spaces out and decoding puts one before each token, so the first one is dropped.
            Engine::Characters(_)
                if self.leaves_words() || self.normalizer.iter().any(normalizer::Step::is_prefix) =>
            {
                LeadingSpaces::OneDropped
            }
            _ => LeadingSpaces::Kept,
        }
    }

    /// Whether a step of the normaliser leaves white space out.
    pub(crate) fn leaves_words(&self) -> bool {
        self.normalizer.iter().any(|step| matches!(step, normalizer::Step::Words(_)))
    }

    /// Whether the encoder drops bytes that are not tokens from pretokens.
    pub(crate) fn drops_missing_bytes(&self) -> bool {
        self.normalizer.contains(&normalizer::Step::DropMissingBytes)
    }

    /// Returns the document at `place` as it will be split; borrowed if the normaliser changes nothing.
    #[inline]
    pub fn normalized<'a>(&self, document: &'a str, place: Place) -> Result<Cow<'a, str>> {
        if self.normalizer.is_empty() {
            return Ok(Cow::Borrowed(document));
        }
        let whole = match &self.engine {
            Engine::Characters(cuts) => cuts.whole.as_ref(),
            _ => None,
        };
        normalizer::normalized(&self.normalizer, whole, place, document)
    }

    /// Whether the normaliser leaves a document as it is.
    pub(crate) fn leaves_unchanged(&self, document: &str) -> bool {
        matches!(self.normalized(document, Place::Start), Ok(Cow::Borrowed(_)))
    }

    /// Returns the text of the pattern; of several patterns, the last one.
    pub fn pattern(&self) -> &str {
        self.patterns.last().map_or("", String::as_str)
    }

    /// Returns the texts of all patterns, in the order in which they split.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// Replaces `ends` by the ends of the pretokens after `from`, as distances from `from`; returns the offset in the
    /// document where the last one ends.
    ///
    /// `from` must be 0 or the result of the previous call for the same `document`; if
    /// [`Pretokenizer::is_memoryless`], it can be the end of any pretoken. There are at most [`ENDS_PER_FILL`] ends,
    /// and at least one unless `from` is the document's end. [`Error::Pattern`] if the regex engine gives up on the
    /// text; [`Error::Invalid`] if one of the first two pretokens, or the text that several patterns must split at
    /// once, is longer than 4 GiB.
    pub fn fill(&self, document: &str, from: usize, ends: &mut Vec<u32>) -> Result<usize> {
        self.fill_with_progress(document, from, ends, &mut |_| Ok(()))
    }

    /// [`Pretokenizer::fill`] that `on_progress` can stop. Only regex engines call it, since they can be slow.
    #[inline]
    pub fn fill_with_progress(
        &self,
        document: &str,
        from: usize,
        ends: &mut Vec<u32>,
        on_progress: OnProgress<'_>,
    ) -> Result<usize> {
        match &self.engine {
            Engine::Named(scanner, tier) => (scanner.fill)(*tier, document, from, ends),
            Engine::Sequence(steps) => sequence::fill(steps, document, from, u32::MAX, ends, on_progress),
            Engine::Characters(cuts) => cuts.fill(document, from, ends),
        }?;
        match ends.last() {
            Some(&distance) => Ok(from + distance as usize),
            None if from == document.len() => Ok(from),
            None => Err(too_long(from)),
        }
    }

    /// Whether pretokens depend on nothing before them and on little after them. Exactly:
    ///
    /// 1. Pretokenizing the text from any pretoken's start on, by itself, finds the same pretokens.
    /// 2. Text appended to a document changes at most its last two pretokens (`safe_cuts::N_UNSETTLED`).
    ///
    /// A growing text is divided by scanning (`safe_cuts.rs`) only if this is true. Tests check it for every
    /// hand-written scanner. It is not assumed of any other pattern: even `a*b|a`, which has no lookbehind and no
    /// anchors, breaks the second rule. Nor is it true with a normaliser, which changes whole documents.
    pub fn is_memoryless(&self) -> bool {
        matches!(self.engine, Engine::Named(..)) && self.normalizer.is_empty()
    }

    /// Whether the pretokens after the end of any pretoken are independent of the text before it, as long as no step
    /// of the normaliser changes the text. If so, texts can be joined.
    pub(crate) fn looks_ahead_only(&self) -> bool {
        self.engine_name() != "backtracking"
    }

    /// Whether a text can be cut between some pairs of characters; see `safe_cuts.rs`.
    pub fn has_cuts(&self) -> bool {
        self.has_cuts_within() && !self.normalizer.iter().any(normalizer::Step::depends_on_place)
    }

    /// [`has_cuts`](Self::has_cuts) for callers that mark every part after a document's first as [`Place::Within`].
    pub(crate) fn has_cuts_within(&self) -> bool {
        self.looks_ahead_only()
    }

    /// Whether it is proved that, whatever follows the document, its last pretoken covers `at` and ends where a
    /// pretoken that starts at `at` would end (merging aside). False if unknown.
    ///
    /// The proof: an automaton that starts at the last pretoken and one that starts at `at` end the document in the
    /// same state, and their last match so far ends at the same place after `at`.
    pub(crate) fn continues_identically(&self, document: &str, at: usize, place: Place) -> Result<bool> {
        let (before, after) = document.split_at(at);
        let mut after = after.chars();
        let (Some(before), Some(first), Some(second)) =
            (before.chars().next_back(), after.next(), after.next())
        else {
            return Ok(false);
        };
        // In a Unicode normalisation form, a mark changes only the character directly before it.
        let has_table = self.normalizer.iter().any(|step| matches!(step, normalizer::Step::Charsmap(_)));
        // A word ends where its part of the text ends.
        if self.leaves_words() {
            return Ok(false);
        }
        let first = if first.is_ascii() && second.is_ascii() && !has_table { '.' } else { first };
        if !normalizer::is_cut(&self.normalizer, before, first) {
            return Ok(false);
        }
        match &self.engine {
            Engine::Characters(cuts) => return Ok(cuts.whole.is_none()),
            Engine::Named(..) if self.patterns.len() == 1 => {}
            _ => return Ok(false),
        }
        if !matches!(self.normalized(document, place)?, Cow::Borrowed(_)) {
            return Ok(false);
        }
        let automaton = self.automaton.get_or_init(|| Dfa::new(self.pattern(), regex::MAX_AUTOMATA_BYTES));
        let Some(automaton) = automaton.as_ref().filter(|automaton| !automaton.looks_far_ahead()) else {
            return Ok(false);
        };
        let ends = self.ends(document)?;
        let start_of = |nth_last: usize| ends.len().checked_sub(nth_last + 1).map_or(0, |end| ends[end]);
        let (last, one_before, bytes) = (start_of(1), start_of(2), document.as_bytes());
        // Appended text changes at most the last two pretokens, and the first of them only if its match can go on.
        if at <= last || last > 0 && automaton.at_end(bytes, one_before).0 != DEAD {
            return Ok(false);
        }
        let (state, end) = automaton.at_end(bytes, last);
        Ok(state != DEAD && end > at && automaton.at_end(bytes, at) == (state, end))
    }

    /// Whether a pretoken ends between these characters whatever the rest of the text is, so that it can be cut there.
    fn ends_between(&self, before: char, after: char) -> bool {
        let ends = match &self.engine {
            Engine::Named(Scanner { joins_words: true, .. }, _) if after == ' ' => false,
            Engine::Named(..) => safe_cuts::is_cut_of_named_patterns(before, after),
            Engine::Sequence(steps) => {
                steps.iter().find_map(|step| step.ends_between(before, after)).unwrap_or(false)
            }
            Engine::Characters(cuts) => cuts.ends_between(before, after),
        };
        ends && normalizer::is_cut(&self.normalizer, before, after)
    }

    /// Returns what splits documents: "scanner" (hand-written), "dfa" (automata), or "backtracking" (if needed).
    pub fn engine_name(&self) -> &'static str {
        let is_automaton = match &self.engine {
            Engine::Named(..) | Engine::Characters(_) => return "scanner",
            Engine::Sequence(steps) => steps.iter().all(Step::is_automaton),
        };
        if is_automaton { "dfa" } else { "backtracking" }
    }

    /// Whether a single pattern's matches provably leave no gaps in any text. False can also mean that it is unknown.
    pub fn is_total(&self) -> bool {
        match &self.engine {
            Engine::Named(..) => true,
            Engine::Sequence(steps) => matches!(steps.as_slice(), [only] if only.is_total()),
            Engine::Characters(_) => true,
        }
    }

    /// Returns the ends of all pretokens of `document`.
    pub fn ends(&self, document: &str) -> Result<Vec<usize>> {
        self.ends_with_progress(document, &mut |_| Ok(()))
    }

    /// [`Pretokenizer::ends`], which `on_progress` can stop.
    pub fn ends_with_progress(&self, document: &str, on_progress: OnProgress<'_>) -> Result<Vec<usize>> {
        let (mut all, mut some, mut from) = (Vec::new(), Vec::new(), 0);
        while from < document.len() {
            let end = self.fill_with_progress(document, from, &mut some, on_progress)?;
            all.grow(some.len(), "pretoken ends")?;
            all.extend(some.iter().map(|&distance| from + distance as usize));
            on_progress(end - from)?;
            from = end;
        }
        Ok(all)
    }
}

/// The error of [`Pretokenizer::fill`] for a text whose first end is too far away.
#[cold]
fn too_long(from: usize) -> Error {
    Error::Invalid(format!(
        "a document has a stretch of more than 4 GiB, from byte {from} on, that the pattern cannot split; divide it by \
         special tokens, or choose another pattern"
    ))
}

#[cfg(test)]
mod tests;
