//! Rules of special tokens that HuggingFace's library has: where a literal counts, and what it takes along.
//!
//! | rule | a literal |
//! |---|---|
//! | `lstrip`, `rstrip` | takes the white space before or behind it along |
//! | `normalized` | is looked for in what is left after all literals without this rule |
//! | `ordinary` | stays text |
//! | `single_word` | counts only where no word character is next to it; else it stays text |
//!
//! As there, a literal that stays text hides others that overlap it. [`super::Finder`] finds those that count. Special tokens
//! without rules, which nearly all are, cost a branch more.

use std::ops::Range;

use aho_corasick::AhoCorasick;
use hashbrown::HashMap;
use regex_automata::util::look::LookMatcher;

use super::matcher::{SpecialMatch, matcher};
use crate::error::{Error, Result};
use crate::memory::filled;

const NAMES: [&str; 5] = ["lstrip", "normalized", "ordinary", "rstrip", "single_word"];
const LSTRIP: u8 = 1;
const NORMALIZED: u8 = 2;
const ORDINARY: u8 = 4;
const RSTRIP: u8 = 8;
const SINGLE_WORD: u8 = 16;

/// The rules of a set of special tokens.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    /// For each special token, the sum of its rules.
    of: Vec<u8>,
    /// The literals that are looked for first, and those with the rule `normalized`.
    passes: [Pass; 2],
}

#[derive(Clone, Debug)]
struct Pass {
    matcher: Option<AhoCorasick>,
    /// The special token of each pattern of the matcher.
    tokens: Vec<usize>,
}

impl Rules {
    /// The rules by name, each with its literal; [`Error::Invalid`] for an unknown rule or literal.
    pub(super) fn new(tokens: &[(String, u32)], named: &[(String, String)]) -> Result<Self> {
        const WHAT: &str = "rules of special tokens";
        let mut of: Vec<u8> = filled(tokens.len(), 0, WHAT)?;
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
            of[token] |= 1u8 << rule;
        }
        let pass = |late: u8| {
            let of_pass =
                (0..tokens.len()).filter(|&token| of[token] & NORMALIZED == late).collect::<Vec<_>>();
            let literals: Vec<(String, u32)> = of_pass.iter().map(|&token| tokens[token].clone()).collect();
            let found = if literals.is_empty() { None } else { Some(matcher(&literals)?) };
            Ok(Pass { matcher: found, tokens: of_pass })
        };
        let passes = [pass(0)?, pass(NORMALIZED)?];
        Ok(Rules { of, passes })
    }

    /// The first literal of a pass that counts, in `text[within]` from `*from` on; `*from` is then where it ends. It
    /// takes no white space along before `floor`.
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
            let found = matcher.as_ref()?.find(text.as_bytes().get(*from..within.end)?)?;
            let (mut start, mut end) = (*from + found.start(), *from + found.end());
            *from = end;
            let index = tokens[found.pattern().as_usize()];
            let rules = self.of[index];
            let is_single =
                rules & SINGLE_WORD == 0 || is_apart(segment, start - within.start, end - within.start);
            // White space that was taken along may hold this literal or its beginning: then it is one all the same, and
            // the text goes on behind it.
            if rules & ORDINARY != 0 || !is_single || rules & LSTRIP != 0 && start < floor {
                continue;
            }
            start = start.max(floor);
            if rules & LSTRIP != 0 {
                start = text.get(floor..start)?.trim_end().len() + floor;
            }
            if rules & RSTRIP != 0 {
                let behind = text.get(end..within.end)?;
                end += behind.len() - behind.trim_start().len();
            }
            return Some(SpecialMatch { start, end, index });
        }
    }
}

/// Whether no word character stands before `start` or behind `end`.
fn is_apart(text: &str, start: usize, end: usize) -> bool {
    let look = LookMatcher::new();
    let is_free = |found: std::result::Result<bool, _>| found.unwrap_or(true);
    is_free(look.is_word_start_half_unicode(text.as_bytes(), start))
        && is_free(look.is_word_end_half_unicode(text.as_bytes(), end))
}
