//! Changes documents before they are split: Unicode normalisation forms, lower case, prefixes, and more.
//!
//! A tokenizer does this only if its file or its owner asks for it, since the original text is lost.

use std::borrow::Cow;
use std::sync::Arc;

use aho_corasick::AhoCorasick;
use memchr::memmem;

use super::charsmap::Charsmap;
use super::normal_forms::{Form, collect, with_reserved};
use super::unicode::EAST_ASIAN;
use super::words::Words;
use crate::error::{Error, Result};
use crate::vocabulary::characters::SPACE_SYMBOL;

/// A step of a normaliser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A Unicode normalisation form.
    Form(Form),
    /// Changes each character to lower case, whatever its neighbours are.
    Lowercase,
    /// A space before a text that does not begin with one.
    PrefixSpace,
    /// A space before any text that is not empty.
    DummyPrefix,
    /// Like [`PrefixSpace`](Self::PrefixSpace), but not after a special token.
    FirstPrefix,
    /// A space for each U+2581, which stands for one in SentencePiece's files.
    Spaces,
    /// No spaces at both ends of a text, and one for several: SentencePiece's `remove_extra_whitespaces`.
    CollapseSpaces,
    /// Drops bytes that are not tokens from pretokens before merging, as HuggingFace's library does. The encoder does
    /// it; the text stays as it is.
    DropMissingBytes,
    /// This id for characters without a token: SentencePiece without byte fallback, HuggingFace's `unk_token`. The
    /// encoder does it; the text stays as it is.
    Unknown {
        /// The id of unknown characters.
        id: u32,
        /// Whether one id stands for several characters in a row.
        is_fused: bool,
    },
    /// Only the words of the text, each followed by a space.
    Words(Arc<Words>),
    /// A SentencePiece model's own table.
    Charsmap(Arc<Charsmap>),
}

impl Step {
    /// Whether the step acts differently on a document that begins within another.
    pub(super) fn depends_on_place(&self) -> bool {
        self.is_prefix() || *self == Step::CollapseSpaces
    }

    /// Whether the step puts something before a document.
    pub(super) fn is_prefix(&self) -> bool {
        matches!(self, Step::PrefixSpace | Step::DummyPrefix | Step::FirstPrefix)
    }
}

/// Where a document that is normalised begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At the start of its text.
    Start,
    /// After a special token.
    AfterSpecial,
    /// Within a document that was cut (`safe_cuts.rs`): it is not the first part.
    Within,
}

/// The name of a charsmap begins with this; base64 follows.
pub const CHARSMAP: &str = "charsmap:";

/// The name of [`Step::Unknown`] begins with this if one id stands for several characters in a row; the id follows.
pub const UNKNOWN: &str = "unknown:";

/// The name of [`Step::Unknown`] begins with this if each character gets an id; the id follows.
pub const UNKNOWN_EACH: &str = "unknown_each:";

/// The name of [`Step::Words`] begins with this; a JSON list of patterns follows.
pub const WORDS: &str = "words:";

/// All four of these.
pub const PREFIXES: [&str; 4] = [CHARSMAP, UNKNOWN, UNKNOWN_EACH, WORDS];

/// The steps by the names that Python uses.
pub const STEPS: [(&str, Step); 11] = [
    ("nfc", Step::Form(Form::Nfc)),
    ("nfd", Step::Form(Form::Nfd)),
    ("nfkc", Step::Form(Form::Nfkc)),
    ("nfkd", Step::Form(Form::Nfkd)),
    ("lowercase", Step::Lowercase),
    ("prefix_space", Step::PrefixSpace),
    ("dummy_prefix", Step::DummyPrefix),
    ("first_prefix", Step::FirstPrefix),
    ("spaces", Step::Spaces),
    ("collapse_spaces", Step::CollapseSpaces),
    ("drop_missing_bytes", Step::DropMissingBytes),
];

/// Returns the steps of these names; [`Error::Invalid`] for an unknown one.
pub fn steps_named(names: &[String]) -> Result<Vec<Step>> {
    let named = |name: &String| {
        if let Some(text) = name.strip_prefix(CHARSMAP) {
            return Ok(Step::Charsmap(Arc::new(Charsmap::from_base64(text)?)));
        }
        for (kind, is_fused) in [(UNKNOWN, true), (UNKNOWN_EACH, false)] {
            if let Some(id) = name.strip_prefix(kind).and_then(|id| id.parse().ok()) {
                return Ok(Step::Unknown { id, is_fused });
            }
        }
        if let Some(patterns) = name.strip_prefix(WORDS) {
            return Ok(Step::Words(Arc::new(Words::from_json(patterns)?)));
        }
        let known = STEPS.iter().find(|(known, _)| known == name).map(|(_, step)| step.clone());
        known.ok_or_else(|| Error::Invalid(format!("normalizer {name:?} is unknown")))
    };
    names.iter().map(named).collect()
}

/// Returns each text as the steps of these names leave it.
pub fn normalized_texts(names: &[String], texts: &[String]) -> Result<Vec<String>> {
    let steps = steps_named(names)?;
    texts.iter().map(|text| Ok(normalized(&steps, None, Place::Start, text)?.into_owned())).collect()
}

/// Applies the steps to a document at `place`; borrowed if they change nothing. A charsmap spares literals of `whole`.
pub(super) fn normalized<'a>(
    steps: &[Step],
    whole: Option<&AhoCorasick>,
    place: Place,
    document: &'a str,
) -> Result<Cow<'a, str>> {
    let mut text = Cow::Borrowed(document);
    let applies = |step: &&Step| match step {
        Step::FirstPrefix => place == Place::Start,
        Step::PrefixSpace | Step::DummyPrefix => place != Place::Within,
        _ => true,
    };
    for step in steps.iter().filter(applies) {
        if let Some(changed) = changed(step, whole, place, &text)? {
            text = Cow::Owned(changed);
        }
    }
    Ok(text)
}

fn changed(step: &Step, whole: Option<&AhoCorasick>, place: Place, text: &str) -> Result<Option<String>> {
    match step {
        Step::PrefixSpace | Step::DummyPrefix | Step::FirstPrefix => {
            if text.is_empty() || (*step != Step::DummyPrefix && text.starts_with(' ')) {
                return Ok(None);
            }
            let mut prefixed = with_reserved(text.len() + 1)?;
            prefixed.push(' ');
            prefixed.push_str(text);
            Ok(Some(prefixed))
        }
        Step::Spaces => {
            let has_symbol = memmem::find(text.as_bytes(), "\u{2581}".as_bytes()).is_some();
            has_symbol.then(|| replaced(text)).transpose()
        }
        Step::CollapseSpaces => collapsed(text, place == Place::Within).map(Some),
        Step::DropMissingBytes | Step::Unknown { .. } => Ok(None),
        Step::Words(words) => words.rewritten(text).map(Some),
        Step::Lowercase => lowered(text),
        Step::Charsmap(table) => table.normalized(text, whole).map(Some),
        Step::Form(form) => form.changed(text),
    }
}

/// Returns the text with a space for each U+2581.
fn replaced(text: &str) -> Result<String> {
    let mut changed = with_reserved(text.len())?;
    for (number, part) in text.split(SPACE_SYMBOL).enumerate() {
        // This fits: a space is shorter than U+2581.
        changed.extend((number > 0).then_some(' '));
        changed.push_str(part);
    }
    Ok(changed)
}

/// Returns the text with one space for several, none at its end (where U+2581 counts as one), and none at its start
/// unless other text precedes it.
fn collapsed(text: &str, is_within: bool) -> Result<String> {
    let mut changed = with_reserved(text.len())?;
    let text = text.trim_end_matches([' ', SPACE_SYMBOL]);
    let mut is_spaced = is_within && text.starts_with(' ');
    for part in text.split(' ').filter(|part| !part.is_empty()) {
        if std::mem::replace(&mut is_spaced, true) {
            changed.push(' ');
        }
        changed.push_str(part);
    }
    Ok(changed)
}

fn is_lower(character: char) -> bool {
    character.to_lowercase().eq([character])
}

/// Returns the text in lower case, if it is not already.
fn lowered(text: &str) -> Result<Option<String>> {
    let Some(at) = text.find(|character| !is_lower(character)) else { return Ok(None) };
    let mut changed = with_reserved(text.len())?;
    changed.push_str(&text[..at]);
    collect(text[at..].chars().flat_map(char::to_lowercase), &mut changed)?;
    Ok(Some(changed))
}

/// Whether a text can be cut between these characters: the changed parts together are then the changed whole, and
/// these two characters stay at the edges.
pub(super) fn is_cut(steps: &[Step], before: char, after: char) -> bool {
    // A mark that follows can change letters, `<`, `=` and `>`, but no other ASCII.
    let is_stable = after.is_ascii() && !after.is_ascii_alphanumeric() && !matches!(after, '<' | '=' | '>');
    steps.iter().all(|step| match step {
        // What is put before a document is put before its first part only.
        Step::Spaces | Step::PrefixSpace | Step::DummyPrefix | Step::FirstPrefix => true,
        // The encoder's units hold all unknown characters in a row.
        Step::DropMissingBytes | Step::Unknown { .. } => true,
        Step::Lowercase => is_lower(before) && is_lower(after),
        Step::Words(words) => words.cuts.ends_between(before, after),
        Step::Form(Form::Nfc) => (is_stable || EAST_ASIAN.contains(&after)) && Form::Nfc.is_stable(before),
        Step::Form(_) => is_stable && before.is_ascii(),
        Step::CollapseSpaces => !matches!(before, ' ' | SPACE_SYMBOL),
        Step::Charsmap(table) => table.is_cut(before, after),
    })
}

#[cfg(test)]
mod tests {
    use unicode_normalization::UnicodeNormalization;

    use super::super::normal_forms::is_newer;
    use super::*;

    fn after(steps: &[Step], text: &str) -> String {
        normalized(steps, None, Place::Start, text).unwrap().into_owned()
    }

    #[test]
    fn each_step_changes_what_it_says() {
        assert_eq!(after(&[Step::Form(Form::Nfc)], "e\u{301}"), "é");
        assert_eq!(after(&[Step::Form(Form::Nfd)], "é"), "e\u{301}");
        assert_eq!(after(&[Step::Form(Form::Nfkc)], "ﬁ\u{a0}e\u{301}"), "fi é");
        assert_eq!(after(&[Step::Form(Form::Nfkd)], "ﬁé"), "fie\u{301}");
        assert_eq!(after(&[Step::PrefixSpace], "a"), " a");
        assert_eq!(after(&[Step::Form(Form::Nfc), Step::PrefixSpace], "e\u{301}"), " é");
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
                assert!(
                    matches!(
                        normalized(&[Step::Form(Form::Nfc)], None, Place::Start, &text).unwrap(),
                        Cow::Borrowed(_)
                    ),
                    "{text}"
                );
            }
            assert_eq!(after(&[Step::Form(Form::Nfc)], &format!("{before}e\u{301}b")), format!("{before}éb"));
            assert_eq!(
                after(&[Step::Form(Form::Nfc)], &format!("{before}\u{301}b")),
                format!("{before}\u{301}b").nfc().to_string()
            );
        }
    }

    #[test]
    fn characters_normalise_as_the_crate_says_unless_they_are_newer() {
        for character in ('\0'..=char::MAX).filter(|character| !character.is_ascii()) {
            let text = format!("a{character}\u{301}");
            if is_newer(u32::from(character)) {
                assert!(
                    [Step::Form(Form::Nfc), Step::Form(Form::Nfkd)]
                        .iter()
                        .all(|step| after(std::slice::from_ref(step), &text) == text)
                );
                continue;
            }
            assert_eq!(after(&[Step::Form(Form::Nfc)], &text), text.nfc().to_string(), "{character:?}");
            assert_eq!(after(&[Step::Form(Form::Nfkd)], &text), text.nfkd().to_string(), "{character:?}");
            let alone = character.to_string();
            assert_eq!(after(&[Step::Form(Form::Nfc)], &alone), alone.nfc().to_string(), "{character:?}");
            assert_eq!(after(&[Step::Form(Form::Nfd)], &alone), alone.nfd().to_string(), "{character:?}");
            assert_eq!(after(&[Step::Form(Form::Nfkc)], &alone), alone.nfkc().to_string(), "{character:?}");
        }
    }

    /// Characters of every kind that forms change, and some that they leave alone.
    const ALPHABET: &[&str] = &[
        "a",
        "e",
        "E",
        "<",
        "=",
        "`",
        " ",
        "é",
        "ệ",
        "ß",
        "ﬁ",
        "²",
        "\u{212b}",
        "\u{2126}",
        "\u{344}",
        "\u{301}",
        "\u{323}",
        "\u{327}",
        "\u{338}",
        "\u{345}",
        "\u{3099}",
        "か",
        "が",
        "中",
        "，",
        "。",
        "\u{f900}",
        "\u{2f800}",
        "한",
        "하",
        "ᄒ",
        "ᅡ",
        "ᆫ",
        "क",
        "\u{93c}",
        "\u{94d}",
        "\u{958}",
        "\u{e33}",
        "\u{e48}",
        "\u{e38}",
        "\u{f73}",
        "\u{f71}",
        "ж",
        "й",
        "\u{110ba}",
        "\u{11099}",
        "\u{1d15e}",
        "😀",
        "\u{fb2c}",
        "\u{5bc}",
        "\u{ac00}",
        "\u{11a7}",
        "\u{e0100}",
        "\u{1e1d}",
        "\u{378}",
    ];

    fn random_text(state: &mut u64) -> String {
        let mut below = |n: usize| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*state >> 33) as usize % n
        };
        let kinds: Vec<_> = (0..1 + below(8)).map(|_| ALPHABET[below(ALPHABET.len())]).collect();
        (0..1 + below(40)).map(|_| if below(9) == 0 { "plain" } else { kinds[below(kinds.len())] }).collect()
    }

    #[test]
    fn random_texts_normalise_as_the_crate_says_and_where_they_are_cut() {
        let mut state = 7;
        for round in 0..if cfg!(debug_assertions) { 20_000 } else { 400_000 } {
            let text = random_text(&mut state);
            let (step, expected): (_, String) = match round % 4 {
                0 => (Step::Form(Form::Nfd), text.nfd().collect()),
                1 => (Step::Form(Form::Nfkc), text.nfkc().collect()),
                2 => (Step::Form(Form::Nfkd), text.nfkd().collect()),
                _ => (Step::Form(Form::Nfc), text.nfc().collect()),
            };
            assert_eq!(after(std::slice::from_ref(&step), &text), expected, "{step:?} {text:?}");
            let characters: Vec<_> = text.char_indices().collect();
            for pair in characters.windows(2) {
                let [(_, left), (at, right)] = pair else { continue };
                if is_cut(std::slice::from_ref(&step), *left, *right) {
                    let [first, last] =
                        [&text[..*at], &text[*at..]].map(|part| after(std::slice::from_ref(&step), part));
                    assert!(first.ends_with(*left) && last.starts_with(*right), "{step:?} {text:?} {at}");
                    assert_eq!(first + &last, expected, "{step:?} {text:?} {at}");
                }
            }
        }
    }
}
