//! Splits documents into pretokens, and finds where a text may be cut safely.
//!
//! A pretoken is a part of a document inside of which merges happen, never across. The pretokens of a document cover it
//! without gaps: text that a custom pattern does not match is a pretoken of its own.
//!
//! A named pattern (`patterns.rs`) is scanned by hand-written code at 64 bytes a step: `scan.rs` explains the loop, and
//! there is a file for each family of patterns. Any other pattern is run by a regex engine (`regex.rs`). `tests.rs`
//! checks that both give the same pretokens.

mod alphabet;
mod as_written;
pub(crate) mod byte_block;
mod characters;
mod charsmap;
mod cl100k;
mod deepseek;
mod dfa;
mod entries;
mod expressions;
mod families;
mod few_states;
mod gpt2;
pub(crate) mod key;
mod nfa;
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

pub use as_written::{can_match_nothing, check_run_as_written, is_run_as_written};
use characters::CharacterCuts;
use dfa::Dfa;
use families::Fill;
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

/// How many patterns may split in turn. Published tokenizers have up to four; compiling thousands takes seconds.
pub const MAX_PATTERNS: usize = 32;

/// Splits documents into pretokens. Immutable, so threads share one.
pub struct Pretokenizer {
    patterns: Vec<String>,
    engine: Engine,
    normalizer: Vec<normalizer::Step>,
    /// The automaton of a single named pattern, built when it is first needed.
    automaton: OnceLock<Option<Dfa>>,
}

enum Engine {
    /// The hand-written scanner of a named pattern.
    Named(Fill, CpuTier),
    /// Any other patterns, which split in turn.
    Sequence(Vec<Step>),
    /// Cuts that no token of a vocabulary of characters spans.
    Characters(Box<CharacterCuts>),
}

impl Pretokenizer {
    /// Compiles a pattern; the exact text of a named pattern gets a hand-written scanner.
    ///
    /// [`Error::Pattern`] if it does not compile.
    pub fn new(pattern: &str) -> Result<Self> {
        Self::sequence(&[pattern])
    }

    /// Compiles patterns that split in turn: each splits the segments that the one before left, matches and gaps alike,
    /// and sees nothing outside of its segment.
    ///
    /// [`Error::Pattern`] if one does not compile or there are more than [`MAX_PATTERNS`], or more than [`MAX_PATTERN_BYTES`] of
    /// them together, [`Error::Invalid`] if there is none.
    pub fn sequence<S: AsRef<str>>(patterns: &[S]) -> Result<Self> {
        Self::at_tier(patterns, CpuTier::best())
    }

    /// Like [`Pretokenizer::sequence`], with the instructions of `tier` instead of the best ones.
    ///
    /// For tests and measurements: all tiers give the same pretokens. [`Error::Invalid`] if the processor lacks these
    /// instructions.
    pub fn at_tier<S: AsRef<str>>(patterns: &[S], tier: CpuTier) -> Result<Self> {
        tier.check_available()?;
        match patterns::scanner(patterns) {
            Some(fill) => Ok(Self::with_engine(patterns, Engine::Named(fill, tier))),
            None => Self::compile(patterns, tier, RegexScanner::new),
        }
    }

    /// Like [`Pretokenizer::sequence`], but always with the backtracking regex engine.
    ///
    /// For tests and measurements: it gives the same pretokens.
    pub fn by_regex<S: AsRef<str>>(patterns: &[S]) -> Result<Self> {
        Self::compile(patterns, CpuTier::best(), RegexScanner::backtracking)
    }

    /// Cuts text where no token of `vocabulary` spans the cut; its merging starts with characters
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
                message: "it cuts by a vocabulary of characters, so it stands alone and in a tokenizer only"
                    .into(),
            });
        }
        let max_bytes = regex::MAX_AUTOMATA_BYTES / patterns.len().max(1);
        let engine = match patterns {
            [] => return Err(Error::Invalid("a sequence of patterns needs at least one pattern".to_owned())),
            patterns if patterns.len() > MAX_PATTERNS => {
                let message = format!(
                    "it is one of {} that split in turn; at most {MAX_PATTERNS} are allowed: join some of them",
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

    /// The same, with steps that change documents before they are split: [`Pretokenizer::normalized`] applies them.
    #[must_use]
    pub fn with_normalizer(mut self, steps: Vec<normalizer::Step>) -> Self {
        self.normalizer = steps;
        self
    }

    /// What decoding does with spaces at the beginning of a text, as SentencePiece has it.
    pub fn leading_spaces(&self) -> LeadingSpaces {
        match self.engine {
            Engine::Characters(_) if self.normalizer.contains(&normalizer::Step::CollapseSpaces) => {
                LeadingSpaces::OneOfEachDropped
            }
            // Decoding puts a space before each token where encoding leaves them out.
            Engine::Characters(_)
                if self.leaves_words() || self.normalizer.iter().any(normalizer::Step::is_prefix) =>
            {
                LeadingSpaces::OneDropped
            }
            _ => LeadingSpaces::Kept,
        }
    }

    /// Whether white space is left out.
    pub(crate) fn leaves_words(&self) -> bool {
        self.normalizer.iter().any(|step| matches!(step, normalizer::Step::Words(_)))
    }

    /// Whether bytes that are no token are left out of pretokens.
    pub(crate) fn drops_missing_bytes(&self) -> bool {
        self.normalizer.contains(&normalizer::Step::DropMissingBytes)
    }

    /// The document at `place` as it is to be split; borrowed if the steps of the normaliser change nothing.
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

    /// Whether a document is split as it is: the normaliser changes nothing of it.
    pub(crate) fn leaves(&self, document: &str) -> bool {
        matches!(self.normalized(document, Place::Start), Ok(Cow::Borrowed(_)))
    }

    /// The text of the pattern; of several patterns, the last one.
    pub fn pattern(&self) -> &str {
        self.patterns.last().map_or("", String::as_str)
    }

    /// The texts of all patterns, in the order in which they split.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// Replaces `ends` by the ends of the pretokens that follow `from`, as distances from there; gives the offset in the
    /// document where the last one ends.
    ///
    /// `from` is 0 or what the call before gave for the same `document`; if [`Pretokenizer::is_memoryless`], any
    /// pretoken's end. There is at least one end unless `from == document.len()`, and at most [`ENDS_PER_FILL`].
    /// [`Error::Pattern`] if the regex engine gives up on the text; [`Error::Invalid`] if one of the first two pretokens
    /// has more than 4 GiB, or what several patterns must split at once.
    pub fn fill(&self, document: &str, from: usize, ends: &mut Vec<u32>) -> Result<usize> {
        self.fill_with_progress(document, from, ends, &mut |_| Ok(()))
    }

    /// The same, which `on_progress` may stop. Only regex engines call it, since they can take any time for one call.
    #[inline]
    pub fn fill_with_progress(
        &self,
        document: &str,
        from: usize,
        ends: &mut Vec<u32>,
        on_progress: OnProgress<'_>,
    ) -> Result<usize> {
        match &self.engine {
            Engine::Named(fill, tier) => fill(*tier, document, from, ends),
            Engine::Sequence(steps) => sequence::fill(steps, document, from, u32::MAX, ends, on_progress),
            Engine::Characters(cuts) => cuts.fill(document, from, ends),
        }?;
        match ends.last() {
            Some(&distance) => Ok(from + distance as usize),
            None if from == document.len() => Ok(from),
            None => Err(too_long(from)),
        }
    }

    /// Whether a pretoken depends on nothing before it, and little after it. Exactly:
    ///
    /// 1. The text from any pretoken's start on, pretokenized by itself, gives the same pretokens.
    /// 2. Text appended to a document changes at most its last two pretokens (`safe_cuts::N_UNSETTLED`).
    ///
    /// Only then is a text that goes on divided by scanning (`safe_cuts.rs`). True for every hand-written scanner, and
    /// tested. Not assumed of any other pattern: even `a*b|a`, without lookbehind and anchors, breaks the second rule.
    /// Nor of one with a normaliser, which changes whole documents.
    pub fn is_memoryless(&self) -> bool {
        matches!(self.engine, Engine::Named(..)) && self.normalizer.is_empty()
    }

    /// Whether the pretokens of a text from the end of any one on depend on nothing before it, if no step of a normaliser
    /// changes it. So texts can be joined.
    pub(crate) fn looks_ahead_only(&self) -> bool {
        self.engine_name() != "backtracking"
    }

    /// Whether a text may be cut between some characters, see `safe_cuts.rs`.
    pub fn has_cuts(&self) -> bool {
        self.has_cuts_within() && !self.normalizer.iter().any(normalizer::Step::depends_on_place)
    }

    /// The same where a part that is not the first of its document is known as such ([`Place::Within`]).
    pub(crate) fn has_cuts_within(&self) -> bool {
        self.looks_ahead_only()
    }

    /// Whether the last pretoken of a document covers `at`, whatever follows the document, and then ends where one that begins
    /// at `at` would, if merging is left aside. False where that is not known.
    ///
    /// It is if an automaton is in the same state at the end of the document, and a match ends there whatever comes next.
    pub(crate) fn goes_on_alike(&self, document: &str, at: usize, place: Place) -> Result<bool> {
        let (before, after) = document.split_at(at);
        let mut after = after.chars();
        let (Some(before), Some(first), Some(second)) =
            (before.chars().next_back(), after.next(), after.next())
        else {
            return Ok(false);
        };
        // In a form of Unicode a mark would change the character directly before it only.
        let has_table = self.normalizer.iter().any(|step| matches!(step, normalizer::Step::Charsmap(_)));
        // A word ends where its part of the text does.
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
        // Text that is appended changes the last two pretokens at most, the first of them only if its match may go on.
        if at <= last || last > 0 && automaton.at_end(bytes, one_before).0 != DEAD {
            return Ok(false);
        }
        let (state, end) = automaton.at_end(bytes, last);
        Ok(state != DEAD && end > at && automaton.at_end(bytes, at) == (state, end))
    }

    /// Whether a pretoken ends between these characters, whatever else the text has, so that it may be cut there.
    fn ends_between(&self, before: char, after: char) -> bool {
        let ends = match &self.engine {
            Engine::Named(..) => safe_cuts::is_cut_of_named_patterns(before, after),
            Engine::Sequence(steps) => {
                steps.iter().find_map(|step| step.ends_between(before, after)).unwrap_or(false)
            }
            Engine::Characters(cuts) => cuts.ends_between(before, after),
        };
        ends && normalizer::is_cut(&self.normalizer, before, after)
    }

    /// What splits documents: "scanner" (hand-written), "dfa" (automata), or "backtracking" where any of the patterns needs it.
    pub fn engine_name(&self) -> &'static str {
        let is_automaton = match &self.engine {
            Engine::Named(..) | Engine::Characters(_) => return "scanner",
            Engine::Sequence(steps) => steps.iter().all(Step::is_automaton),
        };
        if is_automaton { "dfa" } else { "backtracking" }
    }

    /// Whether the matches of a single pattern surely leave no gaps in any text; not all patterns that do are known.
    pub fn is_total(&self) -> bool {
        match &self.engine {
            Engine::Named(..) => true,
            Engine::Sequence(steps) => matches!(steps.as_slice(), [only] if only.is_total()),
            Engine::Characters(_) => true,
        }
    }

    /// All ends of the pretokens of `document`.
    pub fn ends(&self, document: &str) -> Result<Vec<usize>> {
        self.ends_with_progress(document, &mut |_| Ok(()))
    }

    /// The same, which `on_progress` may stop.
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

/// What [`Pretokenizer::fill`] says of a text whose first end is too far away.
#[cold]
fn too_long(from: usize) -> Error {
    Error::Invalid(format!(
        "a document has a pretoken of more than 4 GiB, from byte {from} on, or its patterns must split so much at once; \
         divide it by special tokens, or choose a pattern that splits it"
    ))
}

#[cfg(test)]
mod tests;
