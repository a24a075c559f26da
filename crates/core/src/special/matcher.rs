//! Finds literals, leftmost-longest.
//!
//! An automaton reads every byte. With few ways to begin (`<|`, two spaces) a vector search finds the places where one may,
//! and the automaton reads on from there: GPT-NeoX's tokens for runs of spaces would otherwise halve its speed.

use aho_corasick::packed::{self, Searcher};
use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind, Anchored, Input, MatchKind, StartKind};

use crate::error::{Error, Result};

/// Bytes of a beginning, and how many different ones are searched for at once.
const BEGINNING_BYTES: usize = 2;
const MOST_BEGINNINGS: usize = 16;

/// One special token found in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecialMatch {
    /// The offset in bytes of its first byte.
    pub start: usize,
    /// The offset in bytes after its last byte.
    pub end: usize,
    /// The index of the special token in [`SpecialTokens::tokens`](super::SpecialTokens::tokens).
    pub index: usize,
}

/// Literals to be found.
#[derive(Clone, Debug)]
pub(super) struct Matcher {
    pub(super) automaton: AhoCorasick,
    beginnings: Option<Searcher>,
}

impl Matcher {
    /// Finds these literals, of which there is at least one; with `in_any_case` of ASCII in upper and lower case.
    pub(super) fn new(tokens: &[(String, u32)], in_any_case: bool) -> Result<Self> {
        let literals = || tokens.iter().map(|(token, _)| token.as_bytes());
        let n_bytes = literals().map(<[u8]>::len).fold(BEGINNING_BYTES, usize::min);
        let mut beginnings: Vec<&[u8]> = literals().map(|literal| &literal[..n_bytes]).collect();
        beginnings.sort_unstable();
        beginnings.dedup();
        // The automaton itself is fast for a single literal.
        let is_worth = tokens.len() > 1 && beginnings.len() <= MOST_BEGINNINGS && !in_any_case;
        let beginnings = if is_worth { packed::Searcher::new(beginnings) } else { None };
        let start = if beginnings.is_some() { StartKind::Anchored } else { StartKind::Unanchored };
        Ok(Matcher { automaton: automaton(tokens, in_any_case, start)?, beginnings })
    }

    /// The first literal in `text[from..end]`; none if that is no range.
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

/// The automaton for leftmost-longest matching.
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
        // The contiguous NFA is faster than the other, but has a limited number of states.
        false => build(Some(AhoCorasickKind::ContiguousNFA))
            .or_else(|_| build(Some(AhoCorasickKind::NoncontiguousNFA))),
    };
    built.map_err(|error| Error::Invalid(format!("special tokens: {error}")))
}
