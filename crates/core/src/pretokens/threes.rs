//! Digits in groups of three from the right, as SuperBPE's tokenizers have them: the cuts of `(?=(\d{3})+(?!\d))`.
//!
//! A regex engine would read a run of digits once for each of its groups.

use regex_syntax::hir::ClassUnicode;

use super::expressions::first_characters;
use crate::error::Result;
use crate::memory::TryReserve;

/// The pattern.
const PATTERN: &str = r"(?=(\d{3})+(?!\d))";

/// Finds the matches of [`PATTERN`], which are of nothing.
pub(super) struct Threes {
    digits: ClassUnicode,
}

impl Threes {
    /// `None` for another pattern.
    pub fn new(pattern: &str) -> Option<Self> {
        let digits = first_characters(r"\d").filter(|_| pattern == PATTERN)?;
        Some(Threes { digits })
    }

    /// Whether a match may be before a character with this first byte.
    pub fn may_begin(byte: u8) -> bool {
        byte.is_ascii_digit() || !byte.is_ascii()
    }

    /// Finds the next run of digits from `from` on and appends the matches in it that are after `from`; returns where it
    /// ends.
    pub fn next_run(&self, text: &str, from: usize, matches: &mut Vec<usize>) -> Result<Option<usize>> {
        let is_digit = |character: &char| {
            if character.is_ascii() {
                return character.is_ascii_digit();
            }
            let ranges = self.digits.ranges();
            let after = ranges.partition_point(|range| range.end() < *character);
            ranges.get(after).is_some_and(|range| range.start() <= *character)
        };
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
