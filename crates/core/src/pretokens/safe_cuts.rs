//! Finds where a text can be cut so that its parts, pretokenized one by one, have the pretokens of the whole.
//!
//! Counting files, encoding files and dividing documents all ask this module. It has two rules.
//!
//! **By two characters** ([`is_safe_cut`]), without scanning. Automata prove which pairs are safe (`dfa.rs`); a
//! normaliser must leave both characters alone, too. For named patterns, let X be a letter or number, and Y be ASCII
//! white space, ASCII punctuation other than the apostrophe, or a full-width comma or full stop. Every named pattern
//! ends a pretoken between X and Y, whatever the rest of the text is:
//! - Letters and numbers occur only in alternatives like ` ?\p{L}+`, `\p{N}{1,3}` and
//!   `[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+`, where Y can only come first, and in contractions, which contain no Y and end
//!   in a letter. So a match that contains X ends before Y. This was checked for each alternative of each named
//!   pattern, and a test checks random texts.
//! - The part before the cut ends in X. Appended text can change its last two pretokens only through `\s+(?!\S)`, a
//!   contraction that continues, or a run that continues. None of these continues with Y.
//! - The part after the cut starts where a pretoken starts, which is all that a memoryless pattern needs.
//!
//! **By scanning** ([`SafeCuts::last_by_scanning`]), for text without such an offset: all pretokens except the last
//! [`N_UNSETTLED`] are final. Never cut after white space: `\s+(?!\S)` splits it differently at the end of a document.
//!
//! No cut is inside a special token or at its edge, so the parts together contain the same special tokens as the
//! whole.
//!
//! Memoryless means two promises: scanning can start at the start of any pretoken, and appended text changes at most
//! the last two pretokens. The second does not follow from the lack of lookbehind and anchors: `a*b|a` on "aaaa"
//! changes everything when a b is appended. So only hand-written scanners promise it.

use std::ops::Range;
use std::sync::Arc;

use super::Pretokenizer;
use super::unicode::{EAST_ASIAN, is_letter_or_number};
use crate::error::Result;
use crate::special::SpecialTokens;

/// How many pretokens at the end of a text can change when text is appended: "'", "r" and then "e" become "'re"; "\n",
/// " " and then "\n" become "\n \n".
const N_UNSETTLED: usize = 2;

/// How far before the wanted offset to search for a cut.
pub(crate) const REACH_BYTES: usize = 16 << 10;

/// Whether every named pattern ends a pretoken between these characters, apart from those that join words by spaces.
pub(super) fn is_cut_of_named_patterns(before: char, after: char) -> bool {
    let follows = match after {
        '\'' => false,
        '\t'..='\r' | ' ' => true,
        _ => after.is_ascii_punctuation() || EAST_ASIAN.contains(&after),
    };
    follows && is_letter_or_number(before)
}

/// Whether the pretokenizer ends a pretoken at `at`, whatever the rest of the text is. The bytes can be invalid UTF-8,
/// or start and end inside a character.
pub(crate) fn is_safe_cut(pretokenizer: &Pretokenizer, bytes: &[u8], at: usize) -> bool {
    let (before, after) = bytes.split_at(at);
    let Some(after) = first_char(after) else { return false };
    last_char(before).is_some_and(|before| pretokenizer.ends_between(before, after))
}

/// Returns the first character, if `bytes` begin with valid UTF-8.
fn first_char(bytes: &[u8]) -> Option<char> {
    let n_bytes = match bytes.first()? {
        ..=0x7f => 1,
        0x80..=0xdf => 2,
        0xe0..=0xef => 3,
        _ => 4,
    };
    std::str::from_utf8(bytes.get(..n_bytes)?).ok()?.chars().next()
}

/// Returns the last character, if `bytes` end in valid UTF-8.
fn last_char(bytes: &[u8]) -> Option<char> {
    let start = bytes.iter().rposition(|&byte| byte & 0xc0 != 0x80)?;
    std::str::from_utf8(&bytes[start..]).ok()?.chars().next()
}

/// Returns the last offset in `range` that is safe by [`is_safe_cut`].
pub(crate) fn last_safe_cut(
    pretokenizer: &Pretokenizer,
    bytes: &[u8],
    range: Range<usize>,
    specials: &SpecialTokens,
) -> Option<usize> {
    range.rev().find(|&at| is_safe_cut(pretokenizer, bytes, at) && !specials.touches(bytes, at))
}

/// Whether no special token covers the offset `at` or has an edge there, even if the text goes on and tokens have
/// rules. Such tokens can include white space, up to a character that is not, so `at` must not follow white space.
pub(crate) fn is_free(text: &str, at: usize, specials: &[&SpecialTokens]) -> bool {
    specials.iter().all(|specials| {
        let is_spaced = || text[..at].ends_with(char::is_whitespace);
        at + specials.longest() <= text.len()
            && !specials.touches(text.as_bytes(), at)
            && !(specials.has_rules() && is_spaced())
    })
}

/// Returns the last offset in `range` that is safe by [`is_safe_cut`] and [free](is_free), even if the text goes on.
pub(crate) fn last_free_cut(
    pretokenizer: &Pretokenizer,
    text: &str,
    range: Range<usize>,
    specials: &[&SpecialTokens],
) -> Option<usize> {
    range.rev().find(|&at| is_safe_cut(pretokenizer, text.as_bytes(), at) && is_free(text, at, specials))
}

/// Returns the part of a file from cut `number` of `n_parts` to the next cut that exists. `None` if there is no cut
/// `number`, so that the part before it goes on. Cut 0 is the start of the file, and cut `n_parts` its end; those
/// between must depend only on the file, so that the jobs on both sides of a cut agree.
pub(crate) fn part_at(
    number: u64,
    n_parts: u64,
    mut cut: impl FnMut(u64) -> Result<Option<u64>>,
) -> Result<Option<Range<u64>>> {
    let start = if number == 0 { Some(0) } else { cut(number)? };
    let Some(start) = start else { return Ok(None) };
    for next in number + 1..n_parts {
        if let Some(end) = cut(next)? {
            return Ok(Some(start..end));
        }
    }
    Ok(Some(start..u64::MAX))
}

/// A cut of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The offset in bytes.
    pub at: usize,
    /// Whether a special token ends a document there, so that the cut divides no document.
    pub is_boundary: bool,
}

/// Finds cuts for a pattern and special tokens.
#[derive(Clone)]
pub struct SafeCuts {
    pretokenizer: Arc<Pretokenizer>,
    specials: Arc<SpecialTokens>,
    /// Whether special tokens end documents; if not, they are ordinary text.
    specials_split: bool,
}

impl SafeCuts {
    /// Creates a finder of cuts in texts with this pattern and these special tokens.
    pub fn new(pretokenizer: Arc<Pretokenizer>, specials: Arc<SpecialTokens>, specials_split: bool) -> Self {
        SafeCuts { pretokenizer, specials, specials_split }
    }

    /// Returns the length in bytes of the longest special token.
    pub fn longest_special(&self) -> usize {
        self.specials.longest()
    }

    /// Whether special tokens end documents but have rules, so that finding them takes the whole text.
    fn needs_whole_text(&self) -> bool {
        self.specials_split && self.specials.has_rules()
    }

    /// Whether a part after a cut is split like a document of its own.
    pub fn keeps_place(&self) -> bool {
        self.pretokenizer.has_cuts()
    }

    /// Returns the last cut of a text that starts where a pretoken starts and that goes on: by two characters, or else
    /// by scanning. `None` if the whole text must be kept together.
    pub fn last(&self, text: &str) -> Result<Option<Cut>> {
        match self.last_cut_before(text, text.len()) {
            Some(cut) => Ok(Some(cut)),
            None => self.last_by_scanning(text),
        }
    }

    /// Returns the last cut by two characters that is at most [`REACH_BYTES`] before `wanted`.
    pub fn last_cut_before(&self, text: &str, wanted: usize) -> Option<Cut> {
        if !self.pretokenizer.has_cuts() || self.needs_whole_text() {
            return None;
        }
        // A special token that starts at the cut must be completely visible.
        let latest = wanted.min(text.len().checked_sub(self.specials.longest().max(1))?);
        let range = latest.saturating_sub(REACH_BYTES).max(1)..latest + 1;
        let at = last_safe_cut(&self.pretokenizer, text.as_bytes(), range, &self.specials)?;
        Some(Cut { at, is_boundary: false })
    }

    /// Returns the last cut by scanning, of a text as for [`last`](Self::last): after its last special token if the
    /// pattern is memoryless and has a cut there, else right after that token.
    pub fn last_by_scanning(&self, text: &str) -> Result<Option<Cut>> {
        if self.needs_whole_text() {
            return Ok(None);
        }
        let longest = self.specials.longest().max(1);
        // A special token can start in the last `longest - 1` bytes and end after the text.
        let Some(visible) = text.len().checked_sub(longest - 1) else { return Ok(None) };
        let visible = text.floor_char_boundary(visible);
        let mut start = 0;
        if self.specials_split {
            while let Some(found) = self.specials.find(text.as_bytes(), start) {
                if found.start > visible {
                    // A token that is not completely visible can begin before this one.
                    break;
                }
                if found.end > visible {
                    // It can be part of a longer special token, but a document ends there either way.
                    return Ok((found.start > 0).then_some(Cut { at: found.start, is_boundary: true }));
                }
                start = found.end;
            }
        }
        let boundary = (start > 0).then_some(Cut { at: start, is_boundary: true });
        if !self.pretokenizer.is_memoryless() {
            return Ok(boundary);
        }
        let part = &text[start..visible];
        let n_text = part.trim_end().len();
        let is_cut = |&at: &usize| {
            at <= n_text
                && !part[..at].ends_with(char::is_whitespace)
                && !self.specials.touches(text.as_bytes(), start + at)
        };
        let (mut last, mut ends, mut from) = (None, Vec::new(), 0);
        while from < part.len() {
            let end = self.pretokenizer.fill(part, from, &mut ends)?;
            let settled = &ends[..n_settled(ends.len(), end == part.len())];
            last = settled.iter().rev().map(|&distance| from + distance as usize).find(is_cut).or(last);
            match settled.last() {
                Some(&distance) if end < part.len() => from += distance as usize,
                _ => break,
            }
        }
        Ok(last.map(|at| Cut { at: start + at, is_boundary: false }).or(boundary))
    }
}

/// Of the `n_ends` ends that one call of `Pretokenizer::fill` returned, returns how many following text cannot change.
///
/// If the call reached the end of the text: all but the last [`N_UNSETTLED`]. If not: all but one, which the next call
/// finds again, so that the call that reaches the end has two ends to hold back.
fn n_settled(n_ends: usize, is_at_end: bool) -> usize {
    n_ends.saturating_sub(if is_at_end { N_UNSETTLED } else { 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pretokens::{named_patterns, names};

    /// Characters of each class that patterns distinguish, and the letters of contractions.
    const ALPHABET: &[&str] = &[
        "a", "Z", "s", "t", "l", "r", "e", "ſ", "é", "中", "ก", "ʰ", "\u{301}", "7", "٣", "²", " ", "\n",
        "\r", "\t", "\u{a0}", "\u{3000}", "'", "’", ".", ",", "/", "_", "$", "-", "，", "。", "、", "€",
        "\u{7}", "😀",
    ];

    #[test]
    fn cut_by_two_characters_keeps_pretokens_of_every_named_pattern() {
        let mut state = 1u64;
        let mut below = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        let others: [&[&str]; 7] = [
            &[r"\w+|\s+|[^\w\s]+"],
            &[r" ?[^(\s|[.,!?…。，、।۔،])]+"],
            &[r"(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+"],
            &["[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+"],
            &[r"(?#contiguous)\p{P}", r" ?\p{L}+|\s+(?!\S)", "(?#byte_level)", "[0-9]"],
            &["a+t|a", "s*l|r+"],
            &[r"(?#merged_with_next)\s", r"\p{L}+"],
        ];
        let named = names().map(|name| named_patterns(name).unwrap().to_vec());
        let others = others.iter().map(|texts| texts.iter().map(|&text| text.to_owned()).collect());
        let (n_named, all) = (names().count(), named.chain(others));
        for (nth, patterns) in all.enumerate() {
            let name = patterns.join(" ");
            let pretokenizer = Pretokenizer::sequence(&patterns).unwrap();
            assert!(pretokenizer.has_cuts() && pretokenizer.is_memoryless() == (nth < n_named), "{name}");
            let mut n_cuts = 0;
            for _ in 0..4000 {
                let text: String = (0..1 + below(12)).map(|_| ALPHABET[below(ALPHABET.len())]).collect();
                let whole = pretokenizer.ends(&text).unwrap();
                for at in (1..text.len()).filter(|&at| is_safe_cut(&pretokenizer, text.as_bytes(), at)) {
                    let mut parts = pretokenizer.ends(&text[..at]).unwrap();
                    parts.extend(pretokenizer.ends(&text[at..]).unwrap().iter().map(|end| at + end));
                    assert_eq!(parts, whole, "{name}: {text:?} cut at {at}");
                    n_cuts += 1;
                }
            }
            assert!(n_cuts > 1000 || nth == n_named + 6 && n_cuts == 0, "{name}: {n_cuts}");
        }
    }

    #[test]
    fn cut_in_invalid_utf8_is_rejected() {
        let gpt2 = Pretokenizer::new(crate::pretokens::gpt2_pattern()).unwrap();
        let is_safe_cut = |bytes: &[u8], at| is_safe_cut(&gpt2, bytes, at);
        assert!(is_safe_cut(b"a b", 1) && is_safe_cut("中，".as_bytes(), 3) && is_safe_cut(b"\xffa,", 2));
        for (bytes, at) in
            [(&b"\xff b"[..], 1), (b"\xa4 b", 1), (b"a", 1), (b" b", 0), (b"a'b", 1), (b". b", 1)]
        {
            assert!(!is_safe_cut(bytes, at), "{bytes:?}");
        }
    }
}
