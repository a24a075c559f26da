//! The rules of special tokens in HuggingFace's library: where a literal counts, and which white space it includes.
//!
//! | rule | a literal |
//! |---|---|
//! | `after_space` | is `normalized`, counts only after a space or at the start of what is searched, and includes that space |
//! | `any_case` | counts in any ASCII case, and is `nfc` |
//! | `nfc` | is `normalized`, and does not count if NFC joins its end with a mark after it |
//! | `lstrip`, `rstrip` | includes the white space before or after it |
//! | `normalized` | is searched for in the text between the literals without this rule |
//! | `ordinary` | stays text |
//! | `single_word` | counts only if no word character is next to it; otherwise it stays text |
//!
//! As in that library, a literal that stays text hides others that overlap it. [`super::Finder`] finds those that
//! count. Special tokens without rules, as nearly all are, cost only one more branch.

use std::ops::Range;

use hashbrown::HashMap;
use regex_automata::util::look::LookMatcher;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::canonical_combining_class;

use super::matcher::{Matcher, SpecialMatch};
use crate::error::{Error, Result};
use crate::memory::filled;

const NAMES: [&str; 8] =
    ["lstrip", "normalized", "ordinary", "rstrip", "single_word", "any_case", "nfc", "after_space"];
const LSTRIP: u8 = 1;
const NORMALIZED: u8 = 2;
const ORDINARY: u8 = 4;
const RSTRIP: u8 = 8;
const SINGLE_WORD: u8 = 16;
const ANY_CASE: u8 = 32;
const NFC: u8 = 64;
const AFTER_SPACE: u8 = 128;

/// The rules of a set of special tokens.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    /// For each special token, the sum of its rules.
    of_tokens: Vec<u8>,
    /// The literals that are searched for first, and those that are `normalized`.
    passes: [Pass; 2],
}

#[derive(Clone, Debug)]
struct Pass {
    matcher: Option<Matcher>,
    /// For each pattern of the matcher, the index of its special token.
    tokens: Vec<usize>,
}

impl Rules {
    /// Parses rules, each a literal and a name. [`Error::Invalid`] for an unknown rule or literal.
    pub(super) fn new(tokens: &[(String, u32)], named: &[(String, String)]) -> Result<Self> {
        const WHAT: &str = "rules of special tokens";
        let mut of_tokens: Vec<u8> = filled(tokens.len(), 0, WHAT)?;
        let mut index = HashMap::new();
        index.try_reserve(tokens.len()).map_err(Error::out_of_memory(WHAT))?;
        index.extend(tokens.iter().zip(0..).map(|((literal, _), token)| (literal.as_str(), token)));
        for (literal, name) in named {
            let token = index.get(literal.as_str()).copied();
            let rule = NAMES.iter().position(|known| known == name);
            let (Some(token), Some(rule)) = (token, rule) else {
                return Err(Error::Invalid(format!(
                    "special token {literal:?} or its rule {name:?} is unknown"
                )));
            };
            of_tokens[token] |= 1u8 << rule;
        }
        let pass = |is_late: bool| {
            let is_of_pass = |&token: &usize| {
                (of_tokens[token] & (NORMALIZED | ANY_CASE | NFC | AFTER_SPACE) != 0) == is_late
            };
            let of_pass = (0..tokens.len()).filter(is_of_pass).collect::<Vec<_>>();
            let literals: Vec<(String, u32)> = of_pass.iter().map(|&token| tokens[token].clone()).collect();
            let in_any_case = of_pass.iter().any(|&token| of_tokens[token] & ANY_CASE != 0);
            let found = if literals.is_empty() { None } else { Some(Matcher::new(&literals, in_any_case)?) };
            Ok(Pass { matcher: found, tokens: of_pass })
        };
        let passes = [pass(false)?, pass(true)?];
        Ok(Rules { of_tokens, passes })
    }

    /// Whether a token includes the space before it.
    pub(super) fn includes_space(&self, token: usize) -> bool {
        self.of_tokens[token] & AFTER_SPACE != 0
    }

    /// Returns the first literal of a pass that counts, in `text[within]` from `*from` on, and sets `*from` to its
    /// end. The white space that it includes does not extend before `floor`.
    pub(super) fn find(
        &self,
        pass: usize,
        text: &str,
        within: Range<usize>,
        from: &mut usize,
        floor: usize,
    ) -> Option<SpecialMatch> {
        let Pass { matcher, tokens } = &self.passes[pass];
        let segment = text.get(within.clone())?;
        loop {
            let found = matcher.as_ref()?.find(text.as_bytes(), *from, within.end)?;
            let SpecialMatch { mut start, mut end, index } = found;
            *from = end;
            let index = tokens[index];
            let rules = self.of_tokens[index];
            let is_single =
                rules & SINGLE_WORD == 0 || is_single_word(segment, start - within.start, end - within.start);
            // The white space that the last literal included can contain this literal or its start. Unless it has
            // `lstrip`, this literal counts nevertheless, and the text goes on after it.
            let is_joined = rules & (ANY_CASE | NFC) != 0 && nfc_joins_after(segment, end - within.start);
            if rules & ORDINARY != 0 || !is_single || rules & LSTRIP != 0 && start < floor || is_joined {
                continue;
            }
            let is_within = start > within.start;
            start = start.max(floor);
            if rules & AFTER_SPACE != 0 && is_within {
                let Some(before) = text.get(floor..start)?.strip_suffix([' ', '\u{2581}']) else {
                    // Unlike other literals that stay text, it hides none.
                    *from = text.ceil_char_boundary(found.start + 1);
                    continue;
                };
                start = floor + before.len();
            }
            if rules & LSTRIP != 0 {
                start = text.get(floor..start)?.trim_end().len() + floor;
            }
            if rules & RSTRIP != 0 {
                let after = text.get(end..within.end)?;
                end += after.len() - after.trim_start().len();
            }
            return Some(SpecialMatch { start, end, index });
        }
    }
}

/// Whether NFC joins the last character before `end` with marks after it.
fn nfc_joins_after(text: &str, end: usize) -> bool {
    let last = text[..end].chars().next_back();
    let marks = text[end..].chars().take_while(|&c| canonical_combining_class(c) != 0);
    last.into_iter().chain(marks).nfc().next() != last
}

/// Whether there is no word character directly before `start` or directly after `end`.
fn is_single_word(text: &str, start: usize, end: usize) -> bool {
    let look = LookMatcher::new();
    let is_free = |found: std::result::Result<bool, _>| found.unwrap_or(true);
    is_free(look.is_word_start_half_unicode(text.as_bytes(), start))
        && is_free(look.is_word_end_half_unicode(text.as_bytes(), end))
}
