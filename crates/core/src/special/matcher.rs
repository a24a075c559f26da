//! The automaton that finds literals, leftmost-longest.

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind, MatchKind};

use crate::error::{Error, Result};

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

/// The automaton for leftmost-longest matching, with `in_any_case` of ASCII in upper and lower case.
pub(super) fn matcher(tokens: &[(String, u32)], in_any_case: bool) -> Result<AhoCorasick> {
    /// The limit for a DFA: (bytes of all literals) x (bytes of the longest). A DFA is the fastest automaton, but
    /// building a state follows as many failure links as the state is deep.
    const MAX_DFA_STEPS: usize = 1 << 20;
    let literals = || tokens.iter().map(|(token, _)| token.as_bytes());
    let n_bytes: usize = literals().map(<[u8]>::len).sum();
    let longest = literals().map(<[u8]>::len).max().unwrap_or(0);
    let build = |kind| {
        let mut builder = AhoCorasickBuilder::new();
        builder.match_kind(MatchKind::LeftmostLongest).ascii_case_insensitive(in_any_case);
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
