//! Changes documents before they are split: Unicode normalisation forms, and a space before the text.
//!
//! A tokenizer does this only if its file or its owner asks for it, since it loses what the text was. Tables: Unicode
//! 16.0, by the crate `unicode-normalization`. A text that is normalised already, as nearly all are, costs a scan for
//! bytes that begin characters which some form changes.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization};
use unicode_normalization::{is_nfc_quick, is_nfd_quick, is_nfkc_quick, is_nfkd_quick};

use crate::error::{Error, Result};
use crate::memory::TryReserve;

/// A step of a normaliser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Canonical composition.
    Nfc,
    /// Canonical decomposition.
    Nfd,
    /// Compatibility composition.
    Nfkc,
    /// Compatibility decomposition.
    Nfkd,
    /// A space before a text that does not begin with one.
    PrefixSpace,
}

/// The steps by name, as Python says them.
pub const STEPS: [(&str, Step); 5] = [
    ("nfc", Step::Nfc),
    ("nfd", Step::Nfd),
    ("nfkc", Step::Nfkc),
    ("nfkd", Step::Nfkd),
    ("prefix_space", Step::PrefixSpace),
];

/// The steps of these names; [`Error::Invalid`] for an unknown one.
pub fn steps_named(names: &[String]) -> Result<Vec<Step>> {
    let named = |name: &String| STEPS.iter().find(|(known, _)| known == name).map(|&(_, step)| step);
    names
        .iter()
        .map(|name| named(name).ok_or_else(|| Error::Invalid(format!("normalizer {name:?} is not known"))))
        .collect()
}

/// Bytes that are checked at once.
const CHUNK: usize = 32;

/// Applies the steps to a document, in order; borrowed if they change nothing.
pub(super) fn normalized<'a>(steps: &[Step], document: &'a str) -> Result<Cow<'a, str>> {
    let mut text = Cow::Borrowed(document);
    for &step in steps {
        if let Some(changed) = changed(step, &text)? {
            text = Cow::Owned(changed);
        }
    }
    Ok(text)
}

fn changed(step: Step, text: &str) -> Result<Option<String>> {
    if step == Step::PrefixSpace {
        if text.is_empty() || text.starts_with(' ') {
            return Ok(None);
        }
        let mut prefixed = with_room(text.len() + 1)?;
        prefixed.push(' ');
        prefixed.push_str(text);
        return Ok(Some(prefixed));
    }
    if is_normal(step, text) {
        return Ok(None);
    }
    let mut normal = with_room(text.len())?;
    match step {
        Step::Nfc => collect(text.nfc(), &mut normal)?,
        Step::Nfd => collect(text.nfd(), &mut normal)?,
        Step::Nfkc => collect(text.nfkc(), &mut normal)?,
        _ => collect(text.nfkd(), &mut normal)?,
    }
    Ok(if normal == text { None } else { Some(normal) })
}

/// Whether the form surely changes nothing.
///
/// Characters below U+0300 by NFC, and ASCII by any form, are normal and depend on no other. So runs of the other ones
/// are checked apart.
fn is_normal(step: Step, text: &str) -> bool {
    let least = if step == Step::Nfc { 0xCC } else { 0xC2 };
    let mut at = 0;
    while let Some(start) = first_suspect(text, at, least) {
        let characters = text[start..].chars();
        let mut end = start;
        let run = characters.take_while(|&character| {
            let is_in =
                character.len_utf8() > 2 || character as u32 >= if least == 0xCC { 0x300 } else { 0x80 };
            end += if is_in { character.len_utf8() } else { 0 };
            is_in
        });
        let quick = match step {
            Step::Nfc => is_nfc_quick(run),
            Step::Nfd => is_nfd_quick(run),
            Step::Nfkc => is_nfkc_quick(run),
            _ => is_nfkd_quick(run),
        };
        if quick != IsNormalized::Yes {
            return false;
        }
        at = end;
    }
    true
}

/// Where, from `from` on, the first byte of at least `least` is: the first of a character.
fn first_suspect(text: &str, from: usize, least: u8) -> Option<usize> {
    let bytes = text.as_bytes().get(from..)?;
    let is_plain = |chunk: &&[u8]| chunk.iter().fold(0, |most, &byte| most.max(byte)) < least;
    let n_plain = bytes.chunks(CHUNK).take_while(is_plain).count() * CHUNK;
    let at = bytes.get(n_plain..)?.iter().position(|&byte| byte >= least)?;
    Some(from + n_plain + at)
}

const NAME: &str = "a normalised text";

fn with_room(n: usize) -> Result<String> {
    let bytes: Vec<u8> = Vec::with_room(n, NAME)?;
    // An empty vector is text.
    Ok(String::from_utf8(bytes).unwrap_or_default())
}

fn collect(characters: impl Iterator<Item = char>, into: &mut String) -> Result<()> {
    for character in characters {
        into.try_reserve(character.len_utf8()).map_err(Error::out_of_memory(NAME))?;
        into.push(character);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(steps: &[Step], text: &str) -> String {
        normalized(steps, text).unwrap().into_owned()
    }

    #[test]
    fn the_tables_are_those_of_the_patterns() {
        let (major, minor, update) = unicode_normalization::UNICODE_VERSION;
        assert_eq!(format!("{major}.{minor}.{update}"), super::super::UNICODE_VERSION);
    }

    #[test]
    fn each_step_changes_what_it_says() {
        assert_eq!(after(&[Step::Nfc], "e\u{301}"), "é");
        assert_eq!(after(&[Step::Nfd], "é"), "e\u{301}");
        assert_eq!(after(&[Step::Nfkc], "ﬁ\u{a0}e\u{301}"), "fi é");
        assert_eq!(after(&[Step::Nfkd], "ﬁé"), "fie\u{301}");
        assert_eq!(after(&[Step::PrefixSpace], "a"), " a");
        assert_eq!(after(&[Step::Nfc, Step::PrefixSpace], "e\u{301}"), " é");
        for unchanged in ["", " a"] {
            assert_eq!(after(&[Step::PrefixSpace], unchanged), unchanged);
        }
    }

    #[test]
    fn a_normalised_text_is_borrowed_and_any_other_found_wherever_it_is() {
        for n in [0, 1, 31, 32, 33, 63, 64, 100] {
            let before = "a".repeat(n);
            for text in ["", "é 東京 “x” नमस्ते", "\u{2ff}"] {
                let text = before.clone() + text;
                assert!(matches!(normalized(&[Step::Nfc], &text).unwrap(), Cow::Borrowed(_)), "{text}");
            }
            assert_eq!(after(&[Step::Nfc], &format!("{before}e\u{301}b")), format!("{before}éb"));
            assert_eq!(
                after(&[Step::Nfc], &format!("{before}\u{301}b")),
                format!("{before}\u{301}b").nfc().to_string()
            );
        }
    }

    #[test]
    fn all_characters_normalise_as_the_crate_says() {
        for character in ('\0'..=char::MAX).filter(|character| !character.is_ascii()) {
            let text = format!("a{character}\u{301}");
            assert_eq!(after(&[Step::Nfc], &text), text.nfc().to_string(), "{character:?}");
            assert_eq!(after(&[Step::Nfkd], &text), text.nfkd().to_string(), "{character:?}");
            let alone = character.to_string();
            assert_eq!(after(&[Step::Nfc], &alone), alone.nfc().to_string(), "{character:?}");
            assert_eq!(after(&[Step::Nfd], &alone), alone.nfd().to_string(), "{character:?}");
            assert_eq!(after(&[Step::Nfkc], &alone), alone.nfkc().to_string(), "{character:?}");
        }
    }
}
