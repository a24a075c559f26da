//! Runs regular patterns by an automaton that reads characters by their classes.
//!
//! Characters that no part of the pattern tells apart share a class, so the automaton is small (tens of states, where
//! one over bytes has thousands), is built at once, and threads share it without locks. Beyond regular syntax it
//! supports whatever the next character decides: `\s+(?!\S)`, `$`, and possessive repetitions of one character, since
//! `\p{L}++` is `\p{L}+(?!\p{L})`. After a repetition of one character it supports one lookahead of any length, which
//! groups digits from the right: `\d{1,3}(?=(?:\d{3})*\b)`. Any other pattern is left to backtracking.
//!
//! States are lists of places in the pattern in order of preference (leftmost-first, as backtracking tries them: Cox,
//! "Regular Expression Matching: the Virtual Machine Approach", 2009). An entry of the table says whether a match ends
//! *before* the character that is read, so this character, or the end of the text, is what a lookahead sees.
//!
//! Cost: a load or two per character, and one character read twice per match. All matches together take linear time
//! even if an alternative reads far ahead and fails: [`MatchMemo`] keeps the failing states at every 64th byte (Reps,
//! "Maximal-Munch Tokenization in Linear Time", 1998).

use std::collections::{HashMap, HashSet};

use fancy_regex::{Expr, LookAround};
use regex_syntax::hir::ClassUnicode;

use super::alphabet::Alphabet;
use super::expressions::{is_subset, lookahead_set, set_of};
use super::first_bytes::FirstBytes;
use super::nfa::{DEAD, MAX_VISITS, Nfa, Node};

/// The distance between offsets at which failing states are kept.
const STRIDE: usize = 64;

/// A compiled pattern.
#[derive(Clone)]
pub(super) struct Dfa {
    alphabet: Alphabet,
    sets: Vec<ClassUnicode>,
    /// For each state and class: twice the row of the next state, plus 1 if a match ends before the character.
    table: Vec<u32>,
    start: usize,
    /// Bytes that can begin a match.
    first_bytes: FirstBytes,
    can_be_empty: bool,
    is_total: bool,
    cuts: Cuts,
    /// What must follow a match, at any length. Of several ends of a match, the furthest is tried first.
    ahead: Option<Box<Dfa>>,
}

/// What is true wherever a character of one class precedes one of another.
#[derive(Clone)]
struct Cuts {
    /// By both classes: a match ends between them, and would also end there at the end of the text.
    ends: Vec<bool>,
    /// By the first class: no match contains such a character.
    never_matches: Vec<bool>,
}

/// What is known about states at every [`STRIDE`]th byte of one text.
#[derive(Default)]
pub(super) struct MatchMemo {
    /// Offsets and states from which no match ends later.
    states: HashSet<(usize, usize)>,
    /// For offsets and states, whether what must follow a match is found there.
    ahead: HashMap<(usize, usize), bool>,
}

impl Dfa {
    /// `None` if the pattern is not regular, or its table would take more than `max_bytes`.
    pub fn new(pattern: &str, max_bytes: usize) -> Option<Self> {
        let expression = Expr::parse_tree(pattern).ok()?.expr;
        if let Expr::Concat(parts) = &expression
            && let [repeated, Expr::LookAround(ahead, LookAround::LookAhead)] = parts.as_slice()
            && lookahead_set(ahead).is_none()
        {
            return Self::with_ahead(repeated, ahead, max_bytes);
        }
        Self::compile(&expression, None, max_bytes)
    }

    /// Returns an automaton of bytes, each read as its letter in GPT-2's byte alphabet.
    pub fn of_letters(&self) -> Self {
        let mut dfa = Dfa { alphabet: self.alphabet.of_letters(), ..self.clone() };
        dfa.ahead = self.ahead.as_ref().map(|ahead| Box::new(ahead.of_letters()));
        dfa.first_bytes = FirstBytes::new(std::array::from_fn(|byte| {
            let class = dfa.alphabet.class_of_byte(byte as u8);
            class.is_some_and(|class| dfa.first(class) != DEAD)
        }));
        dfa
    }

    /// Whether a match can begin with this byte.
    #[inline(always)]
    pub fn can_begin(&self, byte: u8) -> bool {
        self.first_bytes.has(byte)
    }

    /// Compiles `repeated`, a bounded repetition of one character (if not, `None`), then the lookahead `ahead`.
    fn with_ahead(repeated: &Expr, ahead: &Expr, max_bytes: usize) -> Option<Self> {
        let Expr::Repeat { child, lo: 1.., hi: ..STRIDE, greedy: true } = repeated else { return None };
        let mut dfa = Self::compile(repeated, None, max_bytes)?;
        dfa.ahead = Some(Box::new(Self::compile(ahead, Some(set_of(child)?), max_bytes)?));
        dfa.is_total = false;
        dfa.cuts.ends.fill(false);
        Some(dfa)
    }

    /// Compiles an expression. If it is known, `before` is the set of the character read before it.
    fn compile(expression: &Expr, before: Option<ClassUnicode>, max_bytes: usize) -> Option<Self> {
        let mut nfa =
            Nfa { nodes: vec![Node::Match], sets: Vec::new(), behind: before.as_ref().map(|_| Vec::new()) };
        let start = nfa.add(expression, 0)?;
        if let (Some(before), Some(behind)) = (&before, &nfa.behind) {
            let is_known = |set: &ClassUnicode| behind.iter().all(|seen| is_subset(set, seen));
            let mut nodes = nfa.nodes.iter();
            if !is_known(before)
                || nodes.any(|node| matches!(node, Node::Read(set, _) if !is_known(&nfa.sets[*set])))
            {
                return None;
            }
        }
        let alphabet = Alphabet::new(&nfa.sets)?;
        let (table, start) = nfa.determinize(start, &alphabet, max_bytes)?;
        let mut dfa = Dfa {
            first_bytes: FirstBytes::new([false; 256]),
            can_be_empty: false,
            is_total: false,
            cuts: Cuts { ends: Vec::new(), never_matches: Vec::new() },
            alphabet,
            sets: nfa.sets,
            table,
            start,
            ahead: None,
        };
        let all = 0..dfa.alphabet.n_classes;
        dfa.can_be_empty = all.clone().chain([all.end]).any(|class| dfa.step(start, class).1);
        let after: Vec<_> = all.clone().map(|class| dfa.step(start, class).0).collect();
        dfa.is_total =
            after.iter().all(|&state| (0..=all.end).all(|next| state != DEAD && dfa.step(state, next).1));
        let mut can_begin = [false; 256];
        // Groups of 64 code points beyond ASCII begin with the same byte.
        for code in (0..128).chain((128..0x11_0000).step_by(64)) {
            let mut classes =
                (code..code + if code < 128 { 1 } else { 64 }).map(|code| dfa.alphabet.class_of(code));
            if classes.any(|class| after[class] != DEAD)
                && let Some(character) = char::from_u32(code)
            {
                can_begin[usize::from(character.encode_utf8(&mut [0; 4]).as_bytes()[0])] = true;
            }
        }
        dfa.first_bytes = FirstBytes::new(can_begin);
        dfa.cuts = dfa.find_cuts();
        Some(dfa)
    }

    /// Returns the next state, and whether a match ends before the character of this class.
    #[inline(always)]
    pub fn step(&self, state: usize, class: usize) -> (usize, bool) {
        let entry = self.table[state + class] as usize;
        (entry >> 1, entry & 1 != 0)
    }

    /// Returns the state after a first character of this class.
    pub fn first(&self, class: usize) -> usize {
        self.step(self.start, class).0
    }

    /// Whether a match ends before the next character, whatever that is. It can go on, too.
    pub fn always_ends(&self, state: usize) -> bool {
        (0..=self.end()).all(|class| self.step(state, class).1)
    }

    /// Whether a match depends on more than the character after it.
    pub fn looks_far_ahead(&self) -> bool {
        self.ahead.is_some()
    }

    /// Returns the class of the end of the text.
    pub fn end(&self) -> usize {
        self.alphabet.n_classes
    }

    /// Returns the class of a character.
    pub fn class_of(&self, code: u32) -> usize {
        self.alphabet.class_of(code)
    }

    /// Returns the sets of characters in the pattern.
    pub fn sets(&self) -> &[ClassUnicode] {
        &self.sets
    }

    /// Whether it can match nothing.
    pub fn can_be_empty(&self) -> bool {
        self.can_be_empty
    }

    /// Whether a match begins at every character, so that matches leave no gaps in any text.
    pub fn is_total(&self) -> bool {
        self.is_total
    }

    /// Returns the start and end of the first non-empty match from `from` on. `memo` must be of the same text.
    #[inline]
    pub fn find(&self, text: &str, mut from: usize, memo: &mut MatchMemo) -> Option<(usize, usize)> {
        let end = self.find_within(text.as_bytes(), &mut from, memo)?;
        Some((from, end))
    }

    /// Returns the end of the first match from `from` on, and sets `from` to its start. If there is none, sets it to
    /// an offset before which no match begins.
    #[inline]
    pub fn find_within(&self, bytes: &[u8], from: &mut usize, memo: &mut MatchMemo) -> Option<usize> {
        loop {
            let rest = bytes.get(*from..)?;
            let Some(n) = self.first_bytes.position(rest) else {
                *from = bytes.len();
                return None;
            };
            *from += n;
            let end = match &self.ahead {
                None => self.match_end(bytes, *from, memo),
                Some(ahead) => self.match_end_before(ahead, bytes, *from, memo),
            };
            if end > *from {
                return Some(end);
            }
            *from += 1;
        }
    }

    /// Returns the end of the match that begins at `from`; `from` if there is none.
    #[inline]
    fn match_end(&self, bytes: &[u8], from: usize, memo: &mut MatchMemo) -> usize {
        let (mut state, mut at, mut end) = (self.start, from, from);
        let near = (from + STRIDE).next_multiple_of(STRIDE);
        while at < near {
            let (class, n_bytes) = self.alphabet.class_at(bytes, at);
            let (next, is_match) = self.step(state, class);
            if is_match {
                end = at;
            }
            if next == DEAD {
                return end;
            }
            (state, at) = (next, at + n_bytes);
        }
        self.long_match_end(bytes, state, at, end, memo)
    }

    /// [`Dfa::match_end`] for matches that `ahead` must follow.
    fn match_end_before(&self, ahead: &Dfa, bytes: &[u8], from: usize, memo: &mut MatchMemo) -> usize {
        let (mut ends, mut n_ends) = ([0; STRIDE], 0);
        let (mut state, mut at) = (self.start, from);
        while state != DEAD {
            let (class, n_bytes) = self.alphabet.class_at(bytes, at);
            let (next, is_match) = self.step(state, class);
            if is_match {
                ends[n_ends] = at;
                n_ends += 1;
            }
            (state, at) = (next, at + n_bytes);
        }
        let mut furthest_first = ends[..n_ends].iter().rev();
        furthest_first.find(|&&end| ahead.is_found(bytes, end, memo)).map_or(from, |&end| end)
    }

    /// Whether a match begins at `at`, for an automaton that must follow a match of another.
    fn is_found(&self, bytes: &[u8], mut at: usize, memo: &mut MatchMemo) -> bool {
        let (mut state, mut next_check, mut since) = (self.start, at.next_multiple_of(STRIDE), Vec::new());
        let is_found = loop {
            if at >= next_check {
                if let Some(&is_found) = memo.ahead.get(&(at, state)) {
                    break is_found;
                }
                since.push((at, state));
                next_check = (at + 1).next_multiple_of(STRIDE);
            }
            let (class, n_bytes) = self.alphabet.class_at(bytes, at);
            let (next, is_match) = self.step(state, class);
            if is_match || next == DEAD {
                break is_match;
            }
            (state, at) = (next, at + n_bytes);
        };
        if !since.is_empty() {
            memo.ahead.extend(since.into_iter().map(|place| (place, is_found)));
        }
        is_found
    }

    /// [`Dfa::match_end`] from a state on; `end` is the end of the match so far.
    #[inline(never)]
    fn long_match_end(
        &self,
        bytes: &[u8],
        mut state: usize,
        mut at: usize,
        mut end: usize,
        memo: &mut MatchMemo,
    ) -> usize {
        let (mut since, mut next_check) = (Vec::new(), at.next_multiple_of(STRIDE));
        while state != DEAD {
            if at >= next_check {
                if memo.states.contains(&(at, state)) {
                    break;
                }
                since.push((at, state));
                next_check = (at + 1).next_multiple_of(STRIDE);
            }
            let (class, n_bytes) = self.alphabet.class_at(bytes, at);
            let (next, is_match) = self.step(state, class);
            if is_match {
                end = at;
                since.clear();
            }
            (state, at) = (next, at + n_bytes);
        }
        memo.states.extend(since);
        end
    }

    /// Returns the state after all of the text from `from` on, and the end so far of the match that begins there,
    /// `from` if there is none. The state is [`DEAD`] if the match is over. Matches with equal results go on alike.
    pub fn at_end(&self, bytes: &[u8], from: usize) -> (usize, usize) {
        let (mut state, mut at, mut end) = (self.start, from, from);
        while at < bytes.len() {
            let (class, n_bytes) = self.alphabet.class_at(bytes, at);
            let (next, is_match) = self.step(state, class);
            if is_match {
                end = at;
            }
            if next == DEAD {
                return (DEAD, end);
            }
            (state, at) = (next, at + n_bytes);
        }
        (state, end)
    }

    /// Whether a match ends between these characters, and another begins there, whatever the rest of the text is.
    pub fn ends_between(&self, before: char, after: char) -> bool {
        let class_of = |character| self.alphabet.class_of(u32::from(character));
        let index = class_of(before) * self.alphabet.n_classes + class_of(after);
        self.cuts.ends.get(index).is_some_and(|&ends| ends)
    }

    /// Whether no match contains this character.
    pub fn never_matches(&self, character: char) -> bool {
        let class = self.alphabet.class_of(u32::from(character));
        self.cuts.never_matches.get(class).is_some_and(|&never_matches| never_matches)
    }

    /// Let x and y be the classes of neighbours. If no match that has just read x can go on to y, and a match that
    /// begins at x always ends there, then any match that contains x ends before y. It does so by itself if, for each
    /// state after x, the end of the text decides the same as y does.
    fn find_cuts(&self) -> Cuts {
        let (n, stride) = (self.alphabet.n_classes, self.alphabet.n_classes + 1);
        let mut cuts = Cuts { ends: vec![false; n * n], never_matches: vec![false; n] };
        if self.table.len() * n > MAX_VISITS {
            return cuts;
        }
        for x in 0..n {
            let rows = (stride..self.table.len()).step_by(stride);
            let mut states: Vec<_> = rows.map(|row| self.step(row, x).0).filter(|&row| row != DEAD).collect();
            states.sort_unstable();
            states.dedup();
            cuts.never_matches[x] = states.is_empty();
            let first = self.step(self.start, x).0;
            for y in 0..n {
                let is_end = |&state: &usize| {
                    let (next, is_match) = self.step(state, y);
                    next == DEAD && is_match == self.step(state, n).1
                };
                cuts.ends[x * n + y] = first != DEAD && self.step(first, y).1 && states.iter().all(is_end);
            }
        }
        cuts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_patterns_and_lookaheads_of_one_character_are_taken() {
        for pattern in [
            "a|b",
            "a||b",
            r" ?\p{L}++|\s++$|\s+(?!\S)|\s+",
            r"(?i:'s|'t)?[^\r\n\p{L}]?+(?:a(?: b)*)+",
            r"\d{1,3}(?=(?:\d{3})*\b)",
            r"\d{1,3}(?=(?:\d{3})*(?:(?<=\w)(?!\w)|(?<!\w)(?=\w)))",
            "a{1,3}(?=b+c)",
            r"a{1,3}?|[a-z&&[^b]]{2,3}+|(?>x)|\z|a(?=[b-d]|$)",
        ] {
            assert!(Dfa::new(pattern, 1 << 20).is_some(), "{pattern}");
        }
        for pattern in [
            "(a",
            "(?=ab)c",
            "a+(?=b+c)",
            "(?:ab){1,3}(?=b+c)",
            r"a(?=b+c)|d",
            r"\.{1,3}(?=a*\b)",
            r"\w{1,3}(?=\W*\b)",
            "(?<=a)b",
            "(?<!a)b",
            "(?>ab|a)b",
            r"(a)\1",
            r"\bfoo",
            "^a",
            r"\Ga",
            r"a\K",
            "(?:a*)*",
            "(?:ab)++c",
            "[a-z]{5000}",
        ] {
            assert!(Dfa::new(pattern, 1 << 20).is_none(), "{pattern}");
        }
        assert!(Dfa::new(r"\w{1,200}", 1 << 10).is_none());
    }

    #[test]
    fn an_alternative_that_reads_far_and_fails_takes_linear_time() {
        let text = "a".repeat(1 << 18) + " b";
        for (pattern, n) in [("a+b|a", 1 << 18), ("[a-z]+;", 0), ("(?:a+b|a+c|a+d)|a", 1 << 18)] {
            let (dfa, mut memo) = (Dfa::new(pattern, 1 << 20).unwrap(), MatchMemo::default());
            let (mut at, mut n_found) = (0, 0);
            while let Some((_, end)) = dfa.find(&text, at, &mut memo) {
                (at, n_found) = (end, n_found + 1);
            }
            assert_eq!(n_found, n, "{pattern}");
        }
    }
}
