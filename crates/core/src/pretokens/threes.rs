//! Cuts digits into groups of three from the right, without a regex engine, which would read each run of digits once per
//! group.
//!
//! ```text
//! 1234567x 12        (?=(\d{3})+(?!\d))        SuperBPE: empty matches before each group of three: 1|234|567x 12
//! 1234567x 12        \d{1,3}(?=(?:\d{3})*\b)   Cohere, AFMoE: groups of numbers that end a word: 1234567x |12
//! ```

use super::expressions::{Set, first_characters, is_subset};
use crate::error::Result;
use crate::memory::TryReserve;

const BEFORE_GROUPS: &str = r"(?=(\d{3})+(?!\d))";
const WHOLE_NUMBERS: (&str, &str) = (r"\d{1,3}(?=(?:\d{3})*", ")");

/// Bytes that are checked together.
const CHUNK: usize = 32;

/// Finds the matches of [`BEFORE_GROUPS`], which are all empty.
pub(super) struct Threes {
    digits: Set,
    /// The first bytes of digits.
    can_begin: [bool; 256],
}

impl Threes {
    /// `None` for any other pattern.
    pub fn new(pattern: &str) -> Option<Self> {
        let digits = first_characters(r"\d").filter(|_| pattern == BEFORE_GROUPS)?;
        let mut can_begin = [false; 256];
        for character in digits.ranges().iter().flat_map(|range| range.start()..=range.end()) {
            can_begin[usize::from(character.encode_utf8(&mut [0; 4]).as_bytes()[0])] = true;
        }
        Some(Threes { digits: Set::new(digits), can_begin })
    }

    /// Returns the offset of the first byte that a digit can begin with.
    pub fn next_begin(&self, bytes: &[u8]) -> Option<usize> {
        let begins = |&byte: &u8| self.can_begin[usize::from(byte)];
        let (chunks, rest) = bytes.as_chunks::<CHUNK>();
        for (number, chunk) in chunks.iter().enumerate() {
            // Skips most chunks without a branch for each byte.
            let may = chunk.iter().fold(false, |may, &byte| may | byte.is_ascii_digit() | !byte.is_ascii());
            if may && let Some(at) = chunk.iter().position(begins) {
                return Some(number * CHUNK + at);
            }
        }
        rest.iter().position(begins).map(|at| chunks.len() * CHUNK + at)
    }

    /// Finds the next run of digits from `from` on and appends its matches after `from`; returns the end of the run.
    pub fn next_run(&self, text: &str, from: usize, matches: &mut Vec<usize>) -> Result<Option<usize>> {
        let is_digit = |character: &char| self.digits.has(*character);
        let mut at = from;
        let run = loop {
            let Some(distance) = self.next_begin(&text.as_bytes()[at..]) else { return Ok(None) };
            at += distance;
            let rest = &text[at..];
            match rest.chars().next() {
                Some(other) if !self.digits.has(other) => at += other.len_utf8(),
                _ => break rest,
            }
        };
        let n_digits = run.chars().take_while(is_digit).count();
        for (number, digit) in run.chars().take(n_digits).enumerate() {
            if (n_digits - number).is_multiple_of(3) && at > from {
                matches.try_push(at, "pretoken ends")?;
            }
            at += digit.len_utf8();
        }
        Ok(Some(at))
    }
}

/// Finds the matches of [`WHOLE_NUMBERS`], with `\b` between the two parts, in numbers of ASCII digits.
pub(super) struct WholeNumbers {
    digits: Set,
    /// The characters of words, which include all digits.
    words: Set,
}

impl WholeNumbers {
    /// `None` for any other pattern.
    pub fn new(pattern: &str) -> Option<Self> {
        let boundary = pattern.strip_prefix(WHOLE_NUMBERS.0)?.strip_suffix(WHOLE_NUMBERS.1)?;
        // `\b` as it is, or written out with a class of characters, as in a tokenizer.json.
        let word = match boundary.strip_prefix("(?:(?<=").and_then(|rest| rest.split_once(")(?!")) {
            Some((word, _)) if boundary == word_boundary(word) => word,
            None if boundary == r"\b" => r"\w",
            _ => return None,
        };
        let (digits, words) = (first_characters(r"\d")?, first_characters(word)?);
        is_subset(&digits, &words).then(|| WholeNumbers { digits: Set::new(digits), words: Set::new(words) })
    }

    /// Returns the ends of the matches in the run of digits at `at`; no ends if no match begins there.
    pub fn ends(&self, text: &str, at: usize) -> impl Iterator<Item = usize> + use<> {
        let (n_digits, next) = digits_at(text, at);
        let n_matched = if next.is_some_and(|next| self.words.has(next)) { 0 } else { n_digits };
        (1..=n_matched).filter(move |n| (n_matched - n).is_multiple_of(3)).map(move |n| at + n)
    }

    /// Whether a letter or `_` follows the ASCII digits at `at`, so that no match contains any of them. False for
    /// another digit, such as "٣" in "12٣": it can be part of the same number.
    pub fn are_in_word(&self, text: &str, at: usize) -> bool {
        digits_at(text, at).1.is_some_and(|next| self.words.has(next) && !self.digits.has(next))
    }
}

/// Returns the number of ASCII digits at `at`, and the character after them.
fn digits_at(text: &str, at: usize) -> (usize, Option<char>) {
    let rest = text.get(at..).unwrap_or_default();
    let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    (n_digits, rest.get(n_digits..).and_then(|behind| behind.chars().next()))
}

/// Writes out `\b` with a class of the characters of words.
pub(crate) fn word_boundary(word: &str) -> String {
    format!("(?:(?<={word})(?!{word})|(?<!{word})(?={word}))")
}
