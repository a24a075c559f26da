//! Changes documents before they are split: Unicode normalisation forms, lower case, prefixes, and more.
//!
//! A tokenizer does this only if its file or its owner asks for it, since the original text is lost. Tables: Unicode 9.0,
//! as in HuggingFace's library, by the crate `unicode-normalization` and the list of the characters that are newer.
//!
//! Nearly all text is normal already. Each form has a table of the characters that it leaves alone whatever their
//! neighbours are. Bytes below all those that begin other characters are skipped 32 at a time. Where a text is not
//! normal, only the stretch from the last character that is left alone to the next one is rewritten (Unicode Standard
//! Annex 15, section 9: text can be divided before each of these).

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use aho_corasick::AhoCorasick;
use memchr::memmem;
use unicode_normalization::char::{canonical_combining_class, compose};
use unicode_normalization::{IsNormalized, UnicodeNormalization};
use unicode_normalization::{is_nfc_quick, is_nfd_quick, is_nfkc_quick, is_nfkd_quick};

use super::charsmap::Charsmap;
use super::unicode::{self, EAST_ASIAN};
use super::words::Words;
use crate::error::{Error, Result};
use crate::memory::{TryReserve, try_push_str};
use crate::vocabulary::characters::SPACE_SYMBOL;

/// A step of a normaliser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Canonical composition.
    Nfc,
    /// Canonical decomposition.
    Nfd,
    /// Compatibility composition.
    Nfkc,
    /// Compatibility decomposition.
    Nfkd,
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
    ("nfc", Step::Nfc),
    ("nfd", Step::Nfd),
    ("nfkc", Step::Nfkc),
    ("nfkd", Step::Nfkd),
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

/// How many bytes are checked at once.
const CHUNK: usize = 32;

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
    let form = match step {
        Step::PrefixSpace | Step::DummyPrefix | Step::FirstPrefix => {
            if text.is_empty() || (*step != Step::DummyPrefix && text.starts_with(' ')) {
                return Ok(None);
            }
            let mut prefixed = with_reserved(text.len() + 1)?;
            prefixed.push(' ');
            prefixed.push_str(text);
            return Ok(Some(prefixed));
        }
        Step::Spaces => {
            let has_symbol = memmem::find(text.as_bytes(), "\u{2581}".as_bytes()).is_some();
            return has_symbol.then(|| replaced(text)).transpose();
        }
        Step::CollapseSpaces => return collapsed(text, place == Place::Within).map(Some),
        Step::DropMissingBytes | Step::Unknown { .. } => return Ok(None),
        Step::Words(words) => return words.rewritten(text).map(Some),
        Step::Lowercase => return lowered(text),
        Step::Charsmap(table) => return table.normalized(text, whole).map(Some),
        Step::Nfc => &FORMS[0],
        Step::Nfd => &FORMS[1],
        Step::Nfkc => &FORMS[2],
        Step::Nfkd => &FORMS[3],
    };
    let (mut normal, mut stretch, mut copied, mut at) = (None, String::new(), 0, 0);
    while let Some(unstable) = form.first_unstable(text, at) {
        let (start, end) = form.stretch(text, at, unstable);
        stretch.clear();
        rewrite(step, text.get(start..end).unwrap_or_default(), &mut stretch)?;
        if text.get(start..end) != Some(&stretch) {
            let normal = match &mut normal {
                Some(normal) => normal,
                none => none.insert(with_reserved(text.len())?),
            };
            try_push_str(normal, &text[copied..start], NAME)?;
            try_push_str(normal, &stretch, NAME)?;
            copied = end;
        }
        at = end;
    }
    if let Some(normal) = &mut normal {
        try_push_str(normal, &text[copied..], NAME)?;
    }
    Ok(normal)
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

/// Appends the normal form of a stretch.
fn rewrite(step: &Step, stretch: &str, into: &mut String) -> Result<()> {
    let mut characters = stretch.chars();
    // Most stretches are a letter and a mark.
    if *step == Step::Nfc
        && let (Some(first), Some(second), None) = (characters.next(), characters.next(), characters.next())
        && let Some(composed) = compose(first, second)
    {
        return collect([composed].into_iter(), into);
    }
    match step {
        Step::Nfc => collect(stretch.nfc(), into),
        Step::Nfd => collect(stretch.nfd(), into),
        Step::Nfkc => collect(stretch.nfkc(), into),
        _ => collect(stretch.nfkd(), into),
    }
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
        Step::Nfc => {
            (is_stable || EAST_ASIAN.contains(&after)) && FORMS[0].class_of(u32::from(before)) == STABLE
        }
        Step::Nfd | Step::Nfkc | Step::Nfkd => is_stable && before.is_ascii(),
        Step::CollapseSpaces => !matches!(before, ' ' | SPACE_SYMBOL),
        Step::Charsmap(table) => table.is_cut(before, after),
    })
}

/// The class of characters that a form leaves alone whatever their neighbours are. A mark has its combining class.
const STABLE: u8 = 0;
/// The class of characters that a form changes, or can change because of their neighbours.
const UNSTABLE: u8 = u8::MAX;
/// All code points from this one on are [`STABLE`].
const N_CODES: usize = 0x3_0000;

/// Where a run of characters newer than Unicode 9.0 begins, which a form of 16.0 would change, sort or compose, and where
/// it ends, in turn. They stay, and divide the text.
const NEWER: [u32; 138] = [
    0x7fd, 0x7fe, 0x897, 0x8a0, 0x8ca, 0x8d4, 0x9fe, 0x9ff, 0xc3c, 0xc3d, 0xd3b, 0xd3d, 0xeba, 0xebb, 0x1715,
    0x1716, 0x1abf, 0x1acf, 0x1df6, 0x1dfb, 0x32ff, 0x3300, 0xa7f2, 0xa7f5, 0xa82c, 0xa82d, 0xab69, 0xab6a,
    0x105c9, 0x105ca, 0x105d2, 0x105d3, 0x105da, 0x105db, 0x105e4, 0x105e5, 0x10781, 0x10786, 0x10787,
    0x107b1, 0x107b2, 0x107bb, 0x10d24, 0x10d28, 0x10d69, 0x10d6e, 0x10eab, 0x10ead, 0x10efd, 0x10f00,
    0x10f46, 0x10f51, 0x10f82, 0x10f86, 0x11070, 0x11071, 0x1133b, 0x1133c, 0x11382, 0x11386, 0x1138b,
    0x1138c, 0x1138e, 0x1138f, 0x11390, 0x11392, 0x113b8, 0x113b9, 0x113bb, 0x113bc, 0x113c2, 0x113c3,
    0x113c5, 0x113c6, 0x113c7, 0x113ca, 0x113ce, 0x113d1, 0x1145e, 0x1145f, 0x11839, 0x1183b, 0x11930,
    0x11931, 0x11935, 0x11936, 0x11938, 0x11939, 0x1193d, 0x1193f, 0x11943, 0x11944, 0x119e0, 0x119e1,
    0x11a34, 0x11a35, 0x11a47, 0x11a48, 0x11a99, 0x11a9a, 0x11d42, 0x11d43, 0x11d44, 0x11d46, 0x11d97,
    0x11d98, 0x11f41, 0x11f43, 0x1611e, 0x1612a, 0x1612f, 0x16130, 0x16d63, 0x16d64, 0x16d67, 0x16d6b,
    0x16ff0, 0x16ff2, 0x1ccd6, 0x1ccfa, 0x1e030, 0x1e06e, 0x1e08f, 0x1e090, 0x1e130, 0x1e137, 0x1e2ae,
    0x1e2af, 0x1e2ec, 0x1e2f0, 0x1e4ec, 0x1e4f0, 0x1e5ee, 0x1e5f0, 0x1f16c, 0x1f16d, 0x1fbf0, 0x1fbfa,
];

fn is_newer(code: u32) -> bool {
    NEWER.partition_point(|&bound| bound <= code) % 2 == 1
}

/// What a form does to each character.
struct Form {
    /// For each 256 code points, where their classes start in `classes`.
    blocks: Vec<u16>,
    classes: Vec<u8>,
    /// For each byte, whether all characters that begin with it are [`STABLE`]; true for continuation bytes.
    is_stable: [bool; 256],
    /// The first byte for which that is false.
    least: u8,
}

static FORMS: [LazyLock<Form>; 4] = [
    LazyLock::new(|| Form::new(|character| is_nfc_quick(character.into_iter()))),
    LazyLock::new(|| Form::new(|character| is_nfd_quick(character.into_iter()))),
    LazyLock::new(|| Form::new(|character| is_nfkc_quick(character.into_iter()))),
    LazyLock::new(|| Form::new(|character| is_nfkd_quick(character.into_iter()))),
];

impl Form {
    fn new(quick: fn(Option<char>) -> IsNormalized) -> Self {
        let class_of = |code| {
            let class = match char::from_u32(code) {
                Some(character) if quick(Some(character)) != IsNormalized::Yes => UNSTABLE,
                character => character.map_or(STABLE, canonical_combining_class),
            };
            if class != STABLE && is_newer(code) { STABLE } else { class }
        };
        let (mut blocks, mut classes, mut is_stable): (_, Vec<u8>, _) = (Vec::new(), Vec::new(), [true; 256]);
        for code in (0..N_CODES as u32).step_by(256) {
            let block: Vec<u8> = (code..code + 256).map(class_of).collect();
            for (code, _) in (code..).zip(&block).filter(|&(_, &class)| class != STABLE) {
                let first = char::from_u32(code).unwrap_or_default().encode_utf8(&mut [0; 4]).as_bytes()[0];
                is_stable[usize::from(first)] = false;
            }
            let known = classes.chunks(256).position(|other| other == block).unwrap_or(classes.len() / 256);
            classes.resize(classes.len().max((known + 1) * 256), STABLE);
            classes[known * 256..][..256].copy_from_slice(&block);
            blocks.push((known * 256) as u16);
        }
        let least = is_stable.iter().position(|&is_stable| !is_stable).unwrap_or(256) as u8;
        Form { blocks, classes, is_stable, least }
    }

    #[inline(always)]
    fn class_of(&self, code: u32) -> u8 {
        let block = self.blocks.get((code >> 8) as usize);
        block.map_or(STABLE, |&start| self.classes[usize::from(start) + (code & 255) as usize])
    }

    /// Returns the first character from `from` on that may not be normal where it is, ignoring text before `from`.
    fn first_unstable(&self, text: &str, from: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        // The end and the class of the last character that was looked up.
        let (mut end, mut before) = (from, STABLE);
        let mut start = from;
        while start < bytes.len() {
            let chunk = &bytes[start..bytes.len().min(start + CHUNK)];
            let is_plain = <&[u8; CHUNK]>::try_from(chunk)
                .is_ok_and(|whole| whole.iter().fold(0, |most, &byte| most.max(byte)) < self.least);
            if !is_plain {
                for (at, &byte) in (start..).zip(chunk) {
                    if self.is_stable[usize::from(byte)] {
                        continue;
                    }
                    let (code, n_bytes) = unicode::decoded(bytes, at, byte);
                    let class = self.class_of(code);
                    if class != STABLE && (class == UNSTABLE || at == end && class < before) {
                        return Some(at);
                    }
                    (end, before) = (at + n_bytes, class);
                }
            }
            start += CHUNK;
        }
        None
    }

    /// Returns the stretch around the character at `unstable` that is rewritten as a whole. It begins at `from` or
    /// later, and after a newer character.
    fn stretch(&self, text: &str, from: usize, unstable: usize) -> (usize, usize) {
        let is_stable = |&(_, character): &(usize, char)| self.class_of(u32::from(character)) == STABLE;
        let (before, after) = (&text[from..unstable], &text[unstable..]);
        let start = before.char_indices().rev().find(is_stable).map_or(from, |(at, character)| {
            from + at + if is_newer(u32::from(character)) { character.len_utf8() } else { 0 }
        });
        let end = after.char_indices().skip(1).find(is_stable).map_or(text.len(), |(at, _)| unstable + at);
        (start, end)
    }
}

const NAME: &str = "a normalised text";

fn with_reserved(n: usize) -> Result<String> {
    let bytes: Vec<u8> = Vec::with_reserved(n, NAME)?;
    // An empty vector is UTF-8.
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
        normalized(steps, None, Place::Start, text).unwrap().into_owned()
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
                assert!(
                    matches!(normalized(&[Step::Nfc], None, Place::Start, &text).unwrap(), Cow::Borrowed(_)),
                    "{text}"
                );
            }
            assert_eq!(after(&[Step::Nfc], &format!("{before}e\u{301}b")), format!("{before}éb"));
            assert_eq!(
                after(&[Step::Nfc], &format!("{before}\u{301}b")),
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
                    [Step::Nfc, Step::Nfkd]
                        .iter()
                        .all(|step| after(std::slice::from_ref(step), &text) == text)
                );
                continue;
            }
            assert_eq!(after(&[Step::Nfc], &text), text.nfc().to_string(), "{character:?}");
            assert_eq!(after(&[Step::Nfkd], &text), text.nfkd().to_string(), "{character:?}");
            let alone = character.to_string();
            assert_eq!(after(&[Step::Nfc], &alone), alone.nfc().to_string(), "{character:?}");
            assert_eq!(after(&[Step::Nfd], &alone), alone.nfd().to_string(), "{character:?}");
            assert_eq!(after(&[Step::Nfkc], &alone), alone.nfkc().to_string(), "{character:?}");
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
                0 => (Step::Nfd, text.nfd().collect()),
                1 => (Step::Nfkc, text.nfkc().collect()),
                2 => (Step::Nfkd, text.nfkd().collect()),
                _ => (Step::Nfc, text.nfc().collect()),
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

    #[test]
    fn code_points_beyond_the_table_are_left_alone() {
        for character in (N_CODES as u32..=0x10_ffff).filter_map(char::from_u32) {
            assert_eq!(
                (canonical_combining_class(character), is_nfkd_quick(Some(character).into_iter())),
                (0, IsNormalized::Yes)
            );
        }
    }
}
