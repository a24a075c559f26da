//! The named patterns.
//!
//! A pattern is a list of regexes, usually one, that split in turn: each splits the segments that the previous one
//! left, matches and gaps alike, and sees nothing outside its segment.
//!
//! The Python package reads them from `src/pairloom/named_patterns.json`, too: name, description, and spellings, which
//! all find the same pretokens. A name stands for its first spelling, which avoids quantifiers that regex engines read
//! differently. The others are texts in use, such as the publisher's own. Only an exact text gets a hand-written
//! scanner: a pattern that differs by one character can find other pretokens.

use std::sync::LazyLock;

use super::families::{Scanner, scanner_for};
use crate::error::{Error, Result};

/// A name, its description, and its spellings, each a list of regexes that split in turn.
type NamedPattern = (String, String, Vec<Vec<String>>);

static NAMED: LazyLock<Vec<NamedPattern>> = LazyLock::new(|| {
    let text = include_str!("../../../../src/pairloom/named_patterns.json");
    serde_json::from_str(text).expect("the file is part of the source, and tests read it")
});

/// Returns the names of the named patterns.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMED.iter().map(|(name, ..)| name.as_str())
}

/// Returns the regexes of a named pattern.
pub fn named_patterns(name: &str) -> Option<&'static [String]> {
    NAMED.iter().find(|(known, ..)| known == name).map(|(_, _, spellings)| spellings[0].as_slice())
}

/// Returns the regexes of a name, or `pattern` itself; [`Error::Invalid`] if it is empty, or a bare word that is no name.
pub fn patterns_of(pattern: &str) -> Result<Vec<String>> {
    if let Some(texts) = named_patterns(pattern) {
        return Ok(texts.to_vec());
    }
    let is_of_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    let is_word =
        pattern.len() > 1 && pattern.as_bytes()[0].is_ascii_alphabetic() && pattern.bytes().all(is_of_word);
    if is_word || pattern.is_empty() {
        let known: Vec<_> = names().collect();
        return Err(Error::Invalid(format!(
            "no pattern is named '{pattern}'; the names are {}",
            known.join(", ")
        )));
    }
    Ok(vec![pattern.to_owned()])
}

/// Returns the regex of a named pattern that has only one.
pub fn named_pattern(name: &str) -> Option<&'static str> {
    match named_patterns(name) {
        Some([text]) => Some(text),
        _ => None,
    }
}

/// Returns the GPT-2 pattern.
pub fn gpt2_pattern() -> &'static str {
    named_pattern("gpt2").unwrap_or_default()
}

/// Returns the hand-written scanner of a pattern, if a named pattern has exactly this text.
pub(super) fn scanner<S: AsRef<str>>(patterns: &[S]) -> Option<Scanner> {
    let is_equal =
        |texts: &Vec<String>| texts.iter().map(String::as_str).eq(patterns.iter().map(AsRef::as_ref));
    let (name, ..) = NAMED.iter().find(|(_, _, spellings)| spellings.iter().any(is_equal))?;
    scanner_for(name)
}

/// Returns every spelling of every named pattern, with its name.
pub fn spellings() -> impl Iterator<Item = (&'static str, &'static [String])> {
    NAMED
        .iter()
        .flat_map(|(name, _, spellings)| spellings.iter().map(move |texts| (name.as_str(), texts.as_slice())))
}
