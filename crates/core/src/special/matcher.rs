//! Finds literals, leftmost-longest.
//!
//! An automaton reads every byte. If the literals have few beginnings (`<|`, two spaces), a vector search finds these,
//! and the automaton reads on from there: without it, GPT-NeoX's tokens for runs of spaces would halve its speed.

use aho_corasick::packed::{self, Searcher};
use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind, Anchored, Input, MatchKind, StartKind};

use crate::error::{Error, Result};

/// The length of a beginning in bytes, and how many different ones can be searched for at once.
const BEGINNING_BYTES: usize = 2;
const MAX_BEGINNINGS: usize = 16;

/// A special token found in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecialMatch {
    /// The offset in bytes of its start.
    pub start: usize,
    /// The offset in bytes of its end.
    pub end: usize,
    /// The index of the special token in [`SpecialTokens::tokens`](super::SpecialTokens::tokens).
    pub index: usize,
}

/// Finds a set of literals.
#[derive(Clone, Debug)]
pub(super) struct Matcher {
    pub(super) automaton: AhoCorasick,
    beginnings: Option<Searcher>,
}

impl Matcher {
    /// Builds a matcher of these literals, at least one. With `in_any_case`, the case of ASCII letters is ignored.
    pub(super) fn new(tokens: &[(String, u32)], in_any_case: bool) -> Result<Self> {
        let literals = || tokens.iter().map(|(token, _)| token.as_bytes());
        let n_bytes = literals().map(<[u8]>::len).fold(BEGINNING_BYTES, usize::min);
        let mut beginnings: Vec<&[u8]> = literals().map(|literal| &literal[..n_bytes]).collect();
        beginnings.sort_unstable();
        beginnings.dedup();
        // The automaton itself is fast for a single literal.
        let is_worth = tokens.len() > 1 && beginnings.len() <= MAX_BEGINNINGS && !in_any_case;
        let beginnings = if is_worth { packed::Searcher::new(beginnings) } else { None };
        let start = if beginnings.is_some() { StartKind::Anchored } else { StartKind::Unanchored };
        Ok(Matcher { automaton: automaton(tokens, in_any_case, start)?, beginnings })
    }

    /// Returns the first literal in `text[from..end]`; `None` if `from` is after `end`.
    pub(super) fn find(&self, text: &[u8], from: usize, end: usize) -> Option<SpecialMatch> {
        if from > end {
            return None;
        }
        let Some(beginnings) = &self.beginnings else {
            return self.read(Input::new(text).span(from..end));
        };
        let mut at = from;
        loop {
            at = beginnings.find_in(text, (at..end).into())?.start();
            let found = self.read(Input::new(text).span(at..end).anchored(Anchored::Yes));
            if found.is_some() {
                return found;
            }
            at += 1;
        }
    }

    fn read(&self, input: Input<'_>) -> Option<SpecialMatch> {
        let found = self.automaton.try_find(input).ok().flatten()?;
        Some(SpecialMatch { start: found.start(), end: found.end(), index: found.pattern().as_usize() })
    }
}

/// Builds the automaton for leftmost-longest matching.
fn automaton(tokens: &[(String, u32)], in_any_case: bool, start: StartKind) -> Result<AhoCorasick> {
    /// The limit for a DFA: (bytes of all literals) x (bytes of the longest). A DFA is the fastest automaton, but
    /// building a state follows as many failure links as the state is deep.
    const MAX_DFA_STEPS: usize = 1 << 20;
    let literals = || tokens.iter().map(|(token, _)| token.as_bytes());
    let n_bytes: usize = literals().map(<[u8]>::len).sum();
    let longest = literals().map(<[u8]>::len).max().unwrap_or(0);
    let build = |kind| {
        let mut builder = AhoCorasickBuilder::new();
        builder.match_kind(MatchKind::LeftmostLongest).ascii_case_insensitive(in_any_case);
        builder.start_kind(start);
        builder.kind(kind).build(literals())
    };
    let built = match n_bytes.saturating_mul(longest) <= MAX_DFA_STEPS {
        true => build(None),
        // The contiguous NFA is faster than the noncontiguous one, but its number of states is limited.
        false => build(Some(AhoCorasickKind::ContiguousNFA))
            .or_else(|_| build(Some(AhoCorasickKind::NoncontiguousNFA))),
    };
    built.map_err(|error| Error::Invalid(format!("special tokens: {error}")))
}
