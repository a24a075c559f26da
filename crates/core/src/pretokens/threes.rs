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

/// Finds the matches of [`BEFORE_GROUPS`], which are all empty.
pub(super) struct Threes {
    digits: Set,
}

impl Threes {
    /// `None` for any other pattern.
    pub fn new(pattern: &str) -> Option<Self> {
        let digits = first_characters(r"\d").filter(|_| pattern == BEFORE_GROUPS)?;
        Some(Threes { digits: Set::new(digits) })
    }

    /// Whether a match can lie before a character with this first byte.
    pub fn may_begin(byte: u8) -> bool {
        byte.is_ascii_digit() || !byte.is_ascii()
    }

    /// Finds the next run of digits from `from` on and appends its matches after `from`; returns the end of the run.
    pub fn next_run(&self, text: &str, from: usize, matches: &mut Vec<usize>) -> Result<Option<usize>> {
        let is_digit = |character: &char| self.digits.has(*character);
        let rest = text.get(from..).unwrap_or_default();
        let Some(begin) = rest.bytes().position(Threes::may_begin) else { return Ok(None) };
        let Some(first) = rest[begin..].find(|character| is_digit(&character)) else { return Ok(None) };
        let run = &rest[begin + first..];
        let n_digits = run.chars().take_while(is_digit).count();
        let mut at = from + begin + first;
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
