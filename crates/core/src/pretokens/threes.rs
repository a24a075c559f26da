//! Cuts digits into groups of three from the right, without a regex engine, which would read each run of digits once per
//! group.
//!
//! ```text
//! 1234567x 12        (?=(\d{3})+(?!\d))        SuperBPE: empty matches before each group of three: 1|234|567x 12
//! 1234567x 12        \d{1,3}(?=(?:\d{3})*\b)   Cohere, AFMoE: groups of numbers that end a word: 1234567x |12
//! ```

use super::expressions::{Set, first_characters, is_subset};
use super::first_bytes::FirstBytes;
use crate::error::Result;
use crate::memory::TryReserve;

const BEFORE_GROUPS: &str = r"(?=(\d{3})+(?!\d))";
/// What SuperBPE splits off before [`BEFORE_GROUPS`].
pub(super) const RUNS: &str = r"\p{N}+";
const WHOLE_NUMBERS: (&str, &str) = (r"\d{1,3}(?=(?:\d{3})*", ")");

/// Finds the matches of [`BEFORE_GROUPS`], which are all empty.
pub(super) struct Threes {
    digits: Set,
    /// The numbers whose runs are split off first: those of [`RUNS`].
    numbers: Option<Set>,
    first_bytes: FirstBytes,
}

impl Threes {
    /// `None` for any other pattern.
    pub fn new(pattern: &str) -> Option<Self> {
        let digits = first_characters(r"\d").filter(|_| pattern == BEFORE_GROUPS)?;
        let first_bytes = FirstBytes::of(&digits);
        Some(Threes { digits: Set::new(digits), numbers: None, first_bytes })
    }

    /// Does the work of [`RUNS`], too, which must be the pattern before this one.
    pub fn after_runs(self) -> Self {
        let Some(numbers) = first_characters(RUNS) else { return self };
        Threes { first_bytes: FirstBytes::of(&numbers), numbers: Some(Set::new(numbers)), ..self }
    }

    /// Returns the offset of the first byte that a match or a run can begin with.
    pub fn next_begin(&self, bytes: &[u8]) -> Option<usize> {
        self.first_bytes.position(bytes)
    }

    /// See [`super::steps::Step::ends_between`].
    pub fn ends_between(&self, before: char, after: char) -> Option<bool> {
        match &self.numbers {
            Some(numbers) => numbers.has(before).then(|| !numbers.has(after)),
            None => Some(false),
        }
    }

    /// Finds the next run from `from` on and appends where to cut after `from`, in order and perhaps twice at one
    /// offset; returns the end of the run.
    pub fn next_run(&self, text: &str, from: usize, cuts: &mut Vec<usize>) -> Result<Option<usize>> {
        let numbers = self.numbers.as_ref().unwrap_or(&self.digits);
        let mut at = from;
        loop {
            let Some(distance) = self.next_begin(&text.as_bytes()[at..]) else { return Ok(None) };
            at += distance;
            match text[at..].chars().next() {
                Some(other) if !numbers.has(other) => at += other.len_utf8(),
                _ => break,
            }
        }
        let mut cut = |at| if at > from { cuts.try_push(at, "pretoken ends") } else { Ok(()) };
        if self.numbers.is_some() {
            cut(at)?;
        }
        let mut run = text[at..].chars().take_while(|&character| numbers.has(character)).peekable();
        while run.peek().is_some() {
            let n_digits = text[at..].chars().take_while(|&character| self.digits.has(character)).count();
            for (number, digit) in run.by_ref().take(n_digits.max(1)).enumerate() {
                if n_digits > number && (n_digits - number).is_multiple_of(3) {
                    cut(at)?;
                }
                at += digit.len_utf8();
            }
        }
        if self.numbers.is_some() {
            cut(at)?;
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
