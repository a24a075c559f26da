//! The named patterns, and which of them a text of a pattern is.
//!
//! A pattern is one regex, or several that split one after the other: each splits what the one before left, matched or
//! not, and nothing that one of them looks at reaches beyond such a piece.
//!
//! The texts are in `src/pairloom/named_patterns.json`, which the Python package reads too: name, description, and
//! spellings. The first spelling is what the name means, written without quantifiers that engines understand
//! differently; the others give the same pretokens, the owner's own text among them. Only an exact text counts: a pattern
//! that differs by a character goes to the regex engine, since it may give other pretokens.

use std::sync::LazyLock;

use super::families::Family;

/// A name, its description, and its spellings, each a list of regexes that split one after the other.
type NamedPattern = (String, String, Vec<Vec<String>>);

static NAMED: LazyLock<Vec<NamedPattern>> = LazyLock::new(|| {
    let text = include_str!("../../../../src/pairloom/named_patterns.json");
    serde_json::from_str(text).expect("the file is part of the source, and tests read it")
});

/// The names of the named patterns.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMED.iter().map(|(name, ..)| name.as_str())
}

/// The texts of a named pattern, one for each of its steps.
pub fn named_patterns(name: &str) -> Option<&'static [String]> {
    NAMED.iter().find(|(known, ..)| known == name).map(|(_, _, spellings)| spellings[0].as_slice())
}

/// The text of a named pattern of one step.
pub fn named_pattern(name: &str) -> Option<&'static str> {
    match named_patterns(name) {
        Some([text]) => Some(text),
        _ => None,
    }
}

/// The GPT-2 pattern.
pub fn gpt2_pattern() -> &'static str {
    named_pattern("gpt2").unwrap_or_default()
}

/// The hand-written scanner of exactly these texts.
pub(super) fn family_of<S: AsRef<str>>(patterns: &[S]) -> Option<Family> {
    let is_equal =
        |texts: &Vec<String>| texts.iter().map(String::as_str).eq(patterns.iter().map(AsRef::as_ref));
    let (name, ..) = NAMED.iter().find(|(_, _, spellings)| spellings.iter().any(is_equal))?;
    Family::of(name)
}

/// Every spelling of every named pattern, with its name.
#[cfg(test)]
pub(super) fn spellings() -> impl Iterator<Item = (&'static str, &'static [String])> {
    NAMED
        .iter()
        .flat_map(|(name, _, spellings)| spellings.iter().map(move |texts| (name.as_str(), texts.as_slice())))
}
