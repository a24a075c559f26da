//! One of the patterns that split in turn: a regex and what its matches are joined to, or a change of alphabet.
//!
//! A comment at the start of a pattern says how it splits, with the choices of tokenizer.json files:
//!
//! | comment | pretokens |
//! |---|---|
//! | none | matches and the gaps between them; empty matches are ignored |
//! | `(?#isolated)` | the same, but empty matches cut |
//! | `(?#contiguous)` | adjacent matches are one pretoken |
//! | `(?#merged_with_previous)` | a match is joined to the gap before it |
//! | `(?#merged_with_next)` | a match is joined to the gap after it |
//! | `(?#byte_level)`, alone | none yet: later patterns see the bytes of a segment as letters of GPT-2's byte alphabet |
//!
//! With any of these comments, an empty match cuts unless a match has just ended there. Such a pattern is slower than
//! one without a comment: it can search for a match twice.

use std::sync::Arc;

use super::dfa::{Dfa, MatchMemo};
use super::expressions::is_one_character;
use super::one_pass::{Letters, OnePass};
use super::regex::RegexScanner;
use super::threes::{RUNS, Threes};
use super::unicode::byte_letter;
use crate::cpu::CpuTier;
use crate::error::Result;
use crate::memory::TryReserve;
use crate::monitor::OnProgress;

/// One of the patterns that split in turn.
pub(super) enum Step {
    /// A regular expression, and what its matches are joined to.
    Split(RegexScanner, Joining),
    /// Several regular expressions in turn, whose matches and gaps are the pretokens.
    OnePass(Box<OnePass>),
    /// Runs of digits are cut in threes from the right, perhaps after runs of numbers are split off.
    Threes(Box<Threes>),
    /// The patterns after this one see bytes as the letters of GPT-2's byte alphabet.
    ByteLevel,
    /// [`Step::ByteLevel`] and all patterns after it in one step, if all of these are automata.
    Letters(Box<Letters>),
}

/// What a match is joined to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Joining {
    Nothing,
    Matches,
    Previous,
    Next,
}

/// Used as one of several patterns: those after it see the bytes of a segment as letters of GPT-2's byte alphabet.
pub const BYTE_LEVEL: &str = "(?#byte_level)";
const COMMENTS: [(&str, Joining); 4] = [
    ("(?#isolated)", Joining::Nothing),
    ("(?#contiguous)", Joining::Matches),
    ("(?#merged_with_previous)", Joining::Previous),
    ("(?#merged_with_next)", Joining::Next),
];

impl Step {
    /// Builds the step that the text stands for. `compile` compiles texts without a comment. The automata can take up
    /// to `max_bytes`.
    pub fn new(
        pattern: &str,
        max_bytes: usize,
        compile: impl Fn(&str, usize) -> Result<RegexScanner>,
    ) -> Result<Self> {
        if pattern == BYTE_LEVEL {
            return Ok(Step::ByteLevel);
        }
        let named =
            COMMENTS.iter().find_map(|&(comment, joining)| Some((pattern.strip_prefix(comment)?, joining)));
        Ok(match named {
            Some((regex, Joining::Nothing)) if let Some(threes) = Threes::new(regex) => {
                Step::Threes(Box::new(threes))
            }
            // Adjacent characters are a run.
            Some((regex, Joining::Matches)) if is_one_character(regex) => {
                Step::Split(compile(&format!("(?:{regex})+"), max_bytes)?, Joining::Nothing)
            }
            Some((regex, joining)) => {
                Step::Split(RegexScanner::with_empty_matches(regex, max_bytes)?, joining)
            }
            None => Step::Split(compile(pattern, max_bytes)?, Joining::Nothing),
        })
    }
}

impl Step {
    /// Whether an automaton finds the matches, or no search is needed.
    pub fn is_automaton(&self) -> bool {
        match self {
            Step::Split(scanner, _) => scanner.automaton().is_some(),
            Step::OnePass(_) | Step::Threes(_) | Step::ByteLevel | Step::Letters(_) => true,
        }
    }

    /// Returns the automaton, if the step only splits into its matches and gaps.
    fn splitting(&self) -> Option<Arc<Dfa>> {
        match self {
            Step::Split(scanner, Joining::Nothing) => scanner.automaton().map(Arc::clone),
            _ => None,
        }
    }

    /// Whether the step puts the characters in different segments, whatever the rest of the text is. `None` if later
    /// steps decide: no match contains `before`, so the two are in one gap, or apart already.
    pub fn ends_between(&self, before: char, after: char) -> Option<bool> {
        match self {
            Step::OnePass(one_pass) => one_pass.ends_between(before, after),
            Step::Split(scanner, Joining::Matches) => {
                scanner.automaton().is_none_or(|dfa| !dfa.never_matches(before)).then_some(false)
            }
            Step::Split(scanner, Joining::Nothing) => match scanner.automaton() {
                Some(dfa) if dfa.never_matches(before) => None,
                dfa => Some(dfa.is_some_and(|dfa| dfa.ends_between(before, after))),
            },
            Step::Threes(threes) => threes.ends_between(before, after),
            Step::Split(..) | Step::ByteLevel | Step::Letters(_) => Some(false),
        }
    }

    /// Whether its matches are proved to leave no gaps in any text.
    pub fn is_total(&self) -> bool {
        match self {
            Step::OnePass(one_pass) => one_pass.is_total(),
            _ => self.splitting().is_some_and(|dfa| dfa.is_total()),
        }
    }

    /// Merges steps that automata can run in one pass into one step.
    pub fn grouped(steps: Vec<Step>, tier: CpuTier) -> Vec<Step> {
        let (mut grouped, mut dfas) = (Vec::new(), Vec::new());
        let mut kept = Vec::new();
        for mut step in steps.into_iter().map(Some).chain([None]) {
            if let [Step::Split(runs, _)] = kept.as_slice()
                && runs.pattern() == RUNS
                && let Some(Step::Threes(threes)) = step
            {
                step = Some(Step::Threes(Box::new(threes.after_runs())));
                kept.clear();
                dfas.clear();
            }
            let dfa = step.as_ref().and_then(Step::splitting);
            if dfa.is_none() {
                let numbers = match kept.first() {
                    Some(Step::Split(scanner, _)) => scanner.whole_numbers(),
                    _ => None,
                };
                match OnePass::new(std::mem::take(&mut dfas), numbers, tier) {
                    Some(one_pass) => grouped.push(Step::OnePass(one_pass)),
                    None => grouped.append(&mut kept),
                }
                kept.clear();
            }
            dfas.extend(dfa.clone());
            if dfa.is_some() { kept.extend(step) } else { grouped.extend(step) }
        }
        if let [.., Step::ByteLevel, Step::OnePass(one_pass)] = grouped.as_slice() {
            let letters = Step::Letters(Box::new(one_pass.of_letters()));
            grouped.truncate(grouped.len() - 2);
            grouped.push(letters);
        }
        grouped
    }
}

/// What is known about a text while a pattern is searched in it.
#[derive(Default)]
pub(super) struct Search {
    /// The end of the last match found; at first, where the search begins.
    pub searched: usize,
    pub memo: MatchMemo,
}

/// Returns the start and end of the pattern's next pretoken from `from` on. Text before its start is a gap.
///
/// If the pattern backtracks, `on_progress` can stop it before each match.
pub(super) fn next(
    scanner: &RegexScanner,
    joining: Joining,
    text: &str,
    from: usize,
    Search { searched, memo }: &mut Search,
    on_progress: OnProgress<'_>,
) -> Result<(usize, usize)> {
    let mut find = |from| -> Result<(usize, usize)> {
        if scanner.automaton().is_none() {
            on_progress(0)?;
        }
        Ok(scanner.find(text, from, memo)?.unwrap_or((text.len(), text.len())))
    };
    if joining == Joining::Next {
        // Every match begins a pretoken. The match at `from` is not searched again: what `\G` and `\K` match depends
        // on where the search begins.
        loop {
            let (start, end) = find(*searched)?;
            *searched = end;
            if start > from {
                return Ok((start, start));
            }
        }
    }
    let (start, mut end) = find(from)?;
    match joining {
        Joining::Nothing | Joining::Next => {}
        Joining::Previous => return Ok((from, end)),
        Joining::Matches if start == end => {}
        Joining::Matches => loop {
            match find(end)? {
                (next, next_end) if next == end && next_end > end => end = next_end,
                _ => break,
            }
        },
    }
    Ok((start, end))
}

/// Returns the text with a letter of GPT-2's byte alphabet for each byte.
pub(super) fn letters_of(text: &str) -> Result<String> {
    // About half of the letters take two bytes.
    let mut bytes: Vec<u8> = Vec::with_reserved(2 * text.len(), "a text in the byte alphabet")?;
    for byte in text.bytes() {
        bytes.extend_from_slice(
            char::from_u32(byte_letter(byte)).unwrap_or_default().encode_utf8(&mut [0; 4]).as_bytes(),
        );
    }
    // They are letters, so this cannot fail.
    Ok(String::from_utf8(bytes).unwrap_or_default())
}

/// Turns ends in `letters` into ends in the text, where the letters stand for the bytes from `start` on.
pub(super) fn to_bytes(letters: &str, start: usize, ends: &mut [usize]) {
    let mut n_letters = 0;
    let mut at = 0;
    for end in ends {
        n_letters += letters.get(at..*end).map_or(0, |part| part.chars().count());
        at = *end;
        *end = start + n_letters;
    }
}
