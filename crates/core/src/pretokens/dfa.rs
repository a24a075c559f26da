//! Patterns that are regular, run by an automaton that reads characters by their classes.
//!
//! Characters that no part of the pattern tells apart are one class, so the automaton is small (tens of states, where one
//! over bytes has thousands), is built at once, and threads share it without locks. Beyond regular syntax it takes what
//! the next character decides: `\s+(?!\S)`, `$`, and possessive repetitions of one character, since `\p{L}++` is
//! `\p{L}+(?!\p{L})`. One lookahead of any length may follow a repetition of one character, which groups digits from the
//! right: `\d{1,3}(?=(?:\d{3})*\b)`. A pattern with anything else is left to backtracking.
//!
//! States are lists of places in the pattern in the order of preference (leftmost-first, as backtracking tries them: Cox,
//! "Regular Expression Matching: the Virtual Machine Approach", 2009). An entry of the table says whether a match ends
//! *before* the character that is read, so that this character, or the end of the text, is what a lookahead sees.
//!
//! Cost: a load or two for each character, and one character read twice for each match. All matches together take linear
//! time also where an alternative reads far ahead and fails: [`Failed`] keeps the states that fail at every 64th byte
//! (Reps, "Maximal-Munch Tokenization in Linear Time", 1998).

use std::collections::{HashMap, HashSet};

use fancy_regex::{Assertion, Expr, LookAround};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

use super::unicode;

/// Bounds on what is compiled: places of a pattern, sets of characters in it, and visits of places.
const MAX_NODES: usize = 1 << 12;
const MAX_SETS: usize = 128;
const MAX_VISITS: usize = 1 << 23;

/// The row of the state from which nothing matches.
pub(super) const DEAD: usize = 0;

/// In a table of bytes: the first byte of a longer character.
const LONGER: u8 = 255;

/// How far apart are the offsets at which states are kept that fail.
const STRIDE: usize = 64;

/// A compiled pattern.
pub(super) struct Dfa {
    alphabet: Alphabet,
    sets: Vec<ClassUnicode>,
    /// For each state and class twice the row of the next state, + 1 if a match ends before the character.
    table: Vec<u32>,
    start: usize,
    /// Bytes with which a match can begin.
    can_begin: [bool; 256],
    can_be_empty: bool,
    is_total: bool,
    cuts: Cuts,
    /// What must follow a match, however far it reaches. Of several ends the furthest is tried first.
    ahead: Option<Box<Dfa>>,
}

/// What holds wherever a character of one class is followed by one of another.
struct Cuts {
    /// By both classes: a match ends between them, and it would if the text ended there.
    ends: Vec<bool>,
    /// By the first class: no match has such a character.
    is_foreign: Vec<bool>,
}

/// What is known of states at every [`STRIDE`]th byte of one text.
#[derive(Default)]
pub(super) struct Failed {
    /// From these no match ends further on.
    states: HashSet<(usize, usize)>,
    /// Whether what must follow a match is found from these on.
    ahead: HashMap<(usize, usize), bool>,
}

impl Dfa {
    /// `None` if the pattern is not regular, or its table would take more than `max_bytes`.
    pub fn new(pattern: &str, max_bytes: usize) -> Option<Self> {
        let expression = Expr::parse_tree(pattern).ok()?.expr;
        if let Expr::Concat(parts) = &expression
            && let [repeated, Expr::LookAround(ahead, LookAround::LookAhead)] = parts.as_slice()
            && seen(ahead).is_none()
        {
            return Self::with_ahead(repeated, ahead, max_bytes);
        }
        Self::compile(&expression, None, max_bytes)
    }

    /// An expression that another follows; `None` if the first is not a bounded repetition of one character.
    fn with_ahead(repeated: &Expr, ahead: &Expr, max_bytes: usize) -> Option<Self> {
        let Expr::Repeat { child, lo: 1.., hi: ..STRIDE, greedy: true } = repeated else { return None };
        let mut dfa = Self::compile(repeated, None, max_bytes)?;
        dfa.ahead = Some(Box::new(Self::compile(ahead, Some(set_of(child)?), max_bytes)?));
        dfa.is_total = false;
        dfa.cuts.ends.fill(false);
        Some(dfa)
    }

    /// The automaton of an expression, before which a character of `before` was read, if that is known.
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
            can_begin: [false; 256],
            can_be_empty: false,
            is_total: false,
            cuts: Cuts { ends: Vec::new(), is_foreign: Vec::new() },
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
        // At least so many neighbours begin with the same byte.
        for code in (0..128).chain((128..0x11_0000).step_by(64)) {
            let mut classes =
                (code..code + if code < 128 { 1 } else { 64 }).map(|code| dfa.alphabet.class_of(code));
            if classes.any(|class| after[class] != DEAD)
                && let Some(character) = char::from_u32(code)
            {
                dfa.can_begin[usize::from(character.encode_utf8(&mut [0; 4]).as_bytes()[0])] = true;
            }
        }
        dfa.cuts = dfa.find_cuts();
        Some(dfa)
    }

    /// The next state, and whether a match ends before the character of this class.
    #[inline(always)]
    pub fn step(&self, state: usize, class: usize) -> (usize, bool) {
        let entry = self.table[state + class] as usize;
        (entry >> 1, entry & 1 != 0)
    }

    /// The state after a first character of this class.
    pub fn first(&self, class: usize) -> usize {
        self.step(self.start, class).0
    }

    /// Whether a match ends before the next character, whatever it is; it may go on.
    pub fn surely_ends(&self, state: usize) -> bool {
        (0..=self.end()).all(|class| self.step(state, class).1)
    }

    /// Whether more than the next character decides that a match ends.
    pub fn looks_far_ahead(&self) -> bool {
        self.ahead.is_some()
    }

    /// The class of the end of the text.
    pub fn end(&self) -> usize {
        self.alphabet.n_classes
    }

    /// The class of a character.
    pub fn class_of(&self, code: u32) -> usize {
        self.alphabet.class_of(code)
    }

    /// The sets of characters in the pattern.
    pub fn sets(&self) -> &[ClassUnicode] {
        &self.sets
    }

    /// Whether it matches nothing somewhere.
    pub fn can_be_empty(&self) -> bool {
        self.can_be_empty
    }

    /// Whether some match begins at every character, so that matches leave no gaps in any text.
    pub fn is_total(&self) -> bool {
        self.is_total
    }

    /// The first match from `from` on that is not empty: its start and end. `failed` is of the same text.
    #[inline]
    pub fn find(&self, text: &str, mut from: usize, failed: &mut Failed) -> Option<(usize, usize)> {
        let end = self.find_within(text.as_bytes(), &mut from, failed)?;
        Some((from, end))
    }

    /// The end of the first match from `from` on, which becomes its start, or an offset before which no match begins.
    #[inline]
    pub fn find_within(&self, bytes: &[u8], from: &mut usize, failed: &mut Failed) -> Option<usize> {
        loop {
            let rest = bytes.get(*from..)?;
            let Some(n) = rest.iter().position(|&byte| self.can_begin[usize::from(byte)]) else {
                *from = bytes.len();
                return None;
            };
            *from += n;
            let end = match &self.ahead {
                None => self.match_end(bytes, *from, failed),
                Some(ahead) => self.match_end_before(ahead, bytes, *from, failed),
            };
            if end > *from {
                return Some(end);
            }
            *from += 1;
        }
    }

    /// The end of the match that begins at `from`; `from` if there is none.
    #[inline]
    fn match_end(&self, bytes: &[u8], from: usize, failed: &mut Failed) -> usize {
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
        self.long_match_end(bytes, state, at, end, failed)
    }

    /// The end of the match that begins at `from` and that `ahead` follows; `from` if there is none.
    fn match_end_before(&self, ahead: &Dfa, bytes: &[u8], from: usize, failed: &mut Failed) -> usize {
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
        furthest_first.find(|&&end| ahead.is_found(bytes, end, failed)).map_or(from, |&end| end)
    }

    /// Whether a match begins at `at`, as what must follow another.
    fn is_found(&self, bytes: &[u8], mut at: usize, failed: &mut Failed) -> bool {
        let (mut state, mut next_check, mut since) = (self.start, at.next_multiple_of(STRIDE), Vec::new());
        let is_found = loop {
            if at >= next_check {
                if let Some(&is_found) = failed.ahead.get(&(at, state)) {
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
        failed.ahead.extend(since.into_iter().map(|place| (place, is_found)));
        is_found
    }

    /// The same from a state on, where `end` is the end of the match so far.
    #[inline(never)]
    fn long_match_end(
        &self,
        bytes: &[u8],
        mut state: usize,
        mut at: usize,
        mut end: usize,
        failed: &mut Failed,
    ) -> usize {
        let (mut since, mut next_check) = (Vec::new(), at.next_multiple_of(STRIDE));
        while state != DEAD {
            if at >= next_check {
                if failed.states.contains(&(at, state)) {
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
        failed.states.extend(since);
        end
    }

    /// The state after all of the text from `from` on, and the end of the match that begins there so far, `from` if there is
    /// none. Equal results go on alike; [`DEAD`] is over.
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

    /// Whether a match ends between these characters, and begins after them, whatever else the text has.
    pub fn ends_between(&self, before: char, after: char) -> bool {
        let class_of = |character| self.alphabet.class_of(u32::from(character));
        let index = class_of(before) * self.alphabet.n_classes + class_of(after);
        self.cuts.ends.get(index).is_some_and(|&ends| ends)
    }

    /// Whether no match has this character.
    pub fn is_foreign(&self, character: char) -> bool {
        let class = self.alphabet.class_of(u32::from(character));
        self.cuts.is_foreign.get(class).is_some_and(|&is_foreign| is_foreign)
    }

    /// Let x and y be the classes of neighbours. If from every state a match that has read x cannot read y, and one that
    /// begins at x always ends there, then whatever match covers x ends before y. It ends there by itself if the end of the
    /// text decides the same for each of these states as y does.
    fn find_cuts(&self) -> Cuts {
        let (n, stride) = (self.alphabet.n_classes, self.alphabet.n_classes + 1);
        let mut cuts = Cuts { ends: vec![false; n * n], is_foreign: vec![false; n] };
        if self.table.len() * n > MAX_VISITS {
            return cuts;
        }
        for x in 0..n {
            let rows = (stride..self.table.len()).step_by(stride);
            let mut states: Vec<_> = rows.map(|row| self.step(row, x).0).filter(|&row| row != DEAD).collect();
            states.sort_unstable();
            states.dedup();
            cuts.is_foreign[x] = states.is_empty();
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

/// The characters that a pattern tells apart.
pub(super) struct Alphabet {
    pub n_classes: usize,
    /// For each class, the sets that it is in, as bits.
    sets_of: Vec<u128>,
    /// By byte: the class of ASCII, or [`LONGER`].
    by_byte: [u8; 256],
    /// For each 256 code points, where their classes begin in `classes`.
    blocks: Vec<u32>,
    classes: Vec<u8>,
}

impl Alphabet {
    pub fn new(sets: &[ClassUnicode]) -> Option<Self> {
        if sets.len() > MAX_SETS {
            return None;
        }
        let mut toggles = vec![(0x11_0000, 0)];
        for (number, set) in sets.iter().enumerate() {
            for range in set.ranges() {
                toggles
                    .extend([(range.start() as usize, 1 << number), (range.end() as usize + 1, 1 << number)]);
            }
        }
        toggles.sort_unstable();
        let mut all = vec![0u8; 0x11_0000];
        let (mut sets_of, mut from, mut within) = (Vec::new(), 0, 0u128);
        for (at, set) in toggles {
            if at > from {
                let known = sets_of.iter().position(|&sets| sets == within);
                let class = known.unwrap_or(sets_of.len());
                if known.is_none() {
                    sets_of.push(within);
                }
                all[from..at].fill(u8::try_from(class).ok().filter(|&class| class < LONGER)?);
                from = at;
            }
            within ^= set;
        }
        let mut by_byte = [LONGER; 256];
        by_byte[..128].copy_from_slice(&all[..128]);
        let (mut blocks, mut classes, mut known) = (Vec::new(), Vec::new(), HashMap::new());
        for block in all.chunks(256) {
            let start = *known.entry(block).or_insert(classes.len() as u32);
            if start as usize == classes.len() {
                classes.extend_from_slice(block);
            }
            blocks.push(start);
        }
        Some(Alphabet { n_classes: sets_of.len(), sets_of, by_byte, blocks, classes })
    }

    pub fn class_of(&self, code: u32) -> usize {
        usize::from(self.classes[self.blocks[(code >> 8) as usize] as usize + (code & 255) as usize])
    }

    /// The class and the length of the character at `at`; of the end of the text, one more than the last class, and 1.
    #[inline(always)]
    pub fn class_at(&self, bytes: &[u8], at: usize) -> (usize, usize) {
        let Some(&byte) = bytes.get(at) else { return (self.n_classes, 1) };
        let class = self.by_byte[usize::from(byte)];
        if class != LONGER {
            return (usize::from(class), 1);
        }
        let (code, n_bytes) = unicode::decoded(bytes, at, byte);
        (self.class_of(code), n_bytes)
    }
}

/// A place in a pattern. Places are numbers of nodes.
enum Node {
    Match,
    /// Reads a character of a set, then goes on.
    Read(usize, usize),
    /// Goes on if the next character is of a set, or at the end of the text if told so.
    Look(usize, bool, usize),
    /// Goes on at any of these; the first is preferred.
    Split(Vec<usize>),
}

/// A pattern as places.
struct Nfa {
    nodes: Vec<Node>,
    sets: Vec<ClassUnicode>,
    /// What lookbehinds see, which every character must be that is read before them; `None` where there may be none.
    behind: Option<Vec<ClassUnicode>>,
}

impl Nfa {
    fn push(&mut self, node: Node) -> Option<usize> {
        self.nodes.push(node);
        (self.nodes.len() <= MAX_NODES).then_some(self.nodes.len() - 1)
    }

    fn read(&mut self, set: usize, next: usize) -> Option<usize> {
        self.push(Node::Read(set, next))
    }

    fn look(&mut self, set: ClassUnicode, at_end: bool, next: usize) -> Option<usize> {
        let set = self.number_of(set)?;
        self.push(Node::Look(set, at_end, next))
    }

    fn number_of(&mut self, set: ClassUnicode) -> Option<usize> {
        let known = self.sets.iter().position(|other| *other == set);
        known.or_else(|| {
            self.sets.push(set);
            (self.sets.len() <= MAX_SETS).then_some(self.sets.len() - 1)
        })
    }

    /// The place where an expression begins that goes on at `next`; `None` if it is not regular.
    fn add(&mut self, expression: &Expr, next: usize) -> Option<usize> {
        match expression {
            Expr::Empty => Some(next),
            Expr::Group(inner) => self.add(inner, next),
            Expr::Concat(parts) => parts.iter().rev().try_fold(next, |next, part| self.add(part, next)),
            Expr::Alt(parts) => {
                let starts = parts.iter().map(|part| self.add(part, next)).collect::<Option<_>>()?;
                self.push(Node::Split(starts))
            }
            Expr::Literal { val, casei } => val.chars().rev().try_fold(next, |next, character| {
                let set = self.number_of(set_of_character(character, *casei)?)?;
                self.read(set, next)
            }),
            Expr::Assertion(Assertion::EndText) => self.look(ClassUnicode::empty(), true, next),
            // The end of a word, since only characters of words are read before it.
            Expr::Assertion(Assertion::WordBoundary) => {
                let mut words = set_of_class(r"\w", false)?;
                self.behind.as_mut()?.push(words.clone());
                words.negate();
                self.look(words, true, next)
            }
            Expr::LookAround(inner, LookAround::LookBehind) => {
                self.behind.as_mut()?.push(set_of(inner)?);
                Some(next)
            }
            Expr::LookAround(inner, LookAround::LookBehindNeg) => {
                self.behind.as_mut()?.push(set_of(inner)?);
                self.push(Node::Split(Vec::new()))
            }
            Expr::LookAround(inner, ahead @ (LookAround::LookAhead | LookAround::LookAheadNeg)) => {
                let (mut set, mut at_end) = seen(inner)?;
                if *ahead == LookAround::LookAheadNeg {
                    set.negate();
                    at_end = !at_end;
                }
                self.look(set, at_end, next)
            }
            Expr::Repeat { child, lo, hi, greedy } => {
                if *hi > 1 && can_be_empty(child) {
                    return None;
                }
                self.repeat((*lo, *hi), *greedy, next, next, |nfa, next| nfa.add(child, next))
            }
            Expr::AtomicGroup(inner) => {
                let Expr::Repeat { child, lo, hi, greedy: true } = &**inner else {
                    let set = self.number_of(set_of(inner)?)?;
                    return self.read(set, next);
                };
                let mut set = set_of(child)?;
                let number = self.number_of(set.clone())?;
                set.negate();
                let stop = self.look(set, true, next)?;
                self.repeat((*lo, *hi), true, next, stop, |nfa, next| nfa.read(number, next))
            }
            other => {
                let set = self.number_of(set_of(other)?)?;
                self.read(set, next)
            }
        }
    }

    /// A repetition that goes on at `next` after the last one, and at `stop` before that.
    fn repeat(
        &mut self,
        (least, most): (usize, usize),
        is_greedy: bool,
        next: usize,
        stop: usize,
        once: impl Fn(&mut Self, usize) -> Option<usize>,
    ) -> Option<usize> {
        let choice = |one| Node::Split(if is_greedy { vec![one, stop] } else { vec![stop, one] });
        let mut start = next;
        if most == usize::MAX {
            start = self.push(Node::Match)?;
            let one = once(self, start)?;
            self.nodes[start] = choice(one);
        } else {
            for _ in least..most {
                let one = once(self, start)?;
                start = self.push(choice(one))?;
            }
        }
        (0..least).try_fold(start, |start, _| once(self, start))
    }

    /// The table of the automaton, and the row of its first state.
    fn determinize(&self, start: usize, alphabet: &Alphabet, max_bytes: usize) -> Option<(Vec<u32>, usize)> {
        let stride = alphabet.n_classes + 1;
        let mut table = vec![0; stride];
        let (mut states, mut rows): (Vec<Vec<usize>>, HashMap<Vec<usize>, u32>) = Default::default();
        rows.insert(Vec::new(), DEAD as u32);
        states.push(vec![start]);
        let mut reader = Reader { nfa: self, seen: vec![0; self.nodes.len()], round: 0, n_visits: 0 };
        let mut done = 0;
        while done < states.len() {
            let state = std::mem::take(&mut states[done]);
            for class in 0..stride {
                let (next, is_match) = reader.step(&state, alphabet.sets_of.get(class).copied());
                let row = *rows.entry(next).or_insert_with_key(|next| {
                    states.push(next.clone());
                    (states.len() * stride) as u32
                });
                table.push(2 * row + u32::from(is_match));
            }
            done += 1;
            if reader.n_visits > MAX_VISITS || (states.len() + 1) * stride * size_of::<u32>() > max_bytes {
                return None;
            }
        }
        Some((table, stride))
    }
}

/// Steps from state to state while the table is made.
struct Reader<'a> {
    nfa: &'a Nfa,
    /// The last round in which a place was visited.
    seen: Vec<usize>,
    round: usize,
    n_visits: usize,
}

impl Reader<'_> {
    fn is_new(&mut self, place: usize, round: usize) -> bool {
        self.n_visits += 1;
        std::mem::replace(&mut self.seen[place], round) != round
    }

    /// The places after a character that is in these sets, or after the end of the text, and whether a match ends before.
    fn step(&mut self, state: &[usize], sets: Option<u128>) -> (Vec<usize>, bool) {
        let is_in = |set: usize| sets.is_some_and(|sets| sets >> set & 1 != 0);
        self.round += 1;
        let (mut next, mut is_match) = (Vec::new(), false);
        let mut open: Vec<usize> = state.iter().rev().copied().collect();
        while let Some(place) = open.pop() {
            if !self.is_new(place, self.round) {
                continue;
            }
            match &self.nfa.nodes[place] {
                Node::Match => {
                    is_match = true;
                    break;
                }
                Node::Read(set, after) if is_in(*set) => next.push(*after),
                Node::Look(set, at_end, after) if sets.map_or(*at_end, |_| is_in(*set)) => open.push(*after),
                Node::Split(places) => open.extend(places.iter().rev()),
                Node::Read(..) | Node::Look(..) => {}
            }
        }
        (self.closed(&next), is_match)
    }

    /// The places in their order with those that they split to in their stead; nothing after a match is preferred to it.
    fn closed(&mut self, places: &[usize]) -> Vec<usize> {
        self.round += 1;
        let mut closed = Vec::new();
        let mut open: Vec<usize> = places.iter().rev().copied().collect();
        while let Some(place) = open.pop() {
            if !self.is_new(place, self.round) {
                continue;
            }
            match &self.nfa.nodes[place] {
                Node::Split(places) => open.extend(places.iter().rev()),
                node => {
                    closed.push(place);
                    if matches!(node, Node::Match) {
                        break;
                    }
                }
            }
        }
        closed
    }
}

/// The characters that a lookahead takes, and whether it takes the end of the text.
fn seen(expression: &Expr) -> Option<(ClassUnicode, bool)> {
    match expression {
        Expr::Assertion(Assertion::EndText) => Some((ClassUnicode::empty(), true)),
        Expr::Group(inner) => seen(inner),
        Expr::Alt(parts) => {
            parts.iter().try_fold((ClassUnicode::empty(), false), |(mut set, at_end), part| {
                let (more, also_at_end) = seen(part)?;
                set.union(&more);
                Some((set, at_end || also_at_end))
            })
        }
        other => Some((set_of(other)?, false)),
    }
}

/// The characters that an expression for one character takes.
fn set_of(expression: &Expr) -> Option<ClassUnicode> {
    match expression {
        Expr::Group(inner) => set_of(inner),
        Expr::Literal { val, casei } => {
            let mut characters = val.chars();
            let first = characters.next()?;
            characters.next().is_none().then(|| set_of_character(first, *casei))?
        }
        Expr::Delegate { inner, casei } => set_of_class(inner, *casei),
        Expr::Any { newline, crlf: false } => {
            set_of_class(if *newline { r"[\s\S]" } else { r"[^\n]" }, false)
        }
        _ => None,
    }
}

fn set_of_character(character: char, ignores_case: bool) -> Option<ClassUnicode> {
    if ignores_case {
        return set_of_class(&regex_syntax::escape(character.encode_utf8(&mut [0; 4])), true);
    }
    Some(ClassUnicode::new([ClassUnicodeRange::new(character, character)]))
}

fn set_of_class(class: &str, ignores_case: bool) -> Option<ClassUnicode> {
    match ParserBuilder::new().case_insensitive(ignores_case).build().parse(class).ok()?.into_kind() {
        HirKind::Class(Class::Unicode(set)) => Some(set),
        HirKind::Class(Class::Bytes(set)) if set.ranges().is_empty() => Some(ClassUnicode::empty()),
        HirKind::Literal(text) => {
            let mut characters = std::str::from_utf8(&text.0).ok()?.chars();
            let first = characters.next()?;
            characters.next().is_none().then(|| set_of_character(first, false))?
        }
        _ => None,
    }
}

fn is_subset(set: &ClassUnicode, of: &ClassUnicode) -> bool {
    let mut others = set.clone();
    others.difference(of);
    others.ranges().is_empty()
}

/// Whether all matches of a pattern are one character.
pub(super) fn is_one_character(pattern: &str) -> bool {
    Expr::parse_tree(pattern).is_ok_and(|tree| set_of(&tree.expr).is_some())
}

/// Whether an expression may match nothing.
fn can_be_empty(expression: &Expr) -> bool {
    match expression {
        Expr::Group(inner) => can_be_empty(inner),
        Expr::AtomicGroup(inner) => can_be_empty(inner),
        Expr::Concat(parts) => parts.iter().all(can_be_empty),
        Expr::Alt(parts) => parts.iter().any(can_be_empty),
        Expr::Repeat { child, lo, .. } => *lo == 0 || can_be_empty(child),
        Expr::Literal { val, .. } => val.is_empty(),
        other => set_of(other).is_none(),
    }
}

/// The characters with which a match can begin, of any pattern; `None` if that is not known, or if it may match nothing
/// anywhere.
pub(super) fn first_characters(pattern: &str) -> Option<ClassUnicode> {
    // A flag for the rest of the pattern, such as (?x), would take in what is put around it.
    if pattern.contains('#') {
        return None;
    }
    let expression = Expr::parse_tree(pattern).ok()?.expr;
    if expression.has_descendant(|part| matches!(part, Expr::KeepOut | Expr::ContinueFromPreviousMatchEnd)) {
        return None;
    }
    let (set, is_open) = first(&expression)?;
    (!is_open).then_some(set)
}

/// The first characters of an expression, and whether what follows it may be the first.
fn first(expression: &Expr) -> Option<(ClassUnicode, bool)> {
    let in_turn = |parts: &[Expr]| {
        let mut set = ClassUnicode::empty();
        for part in parts {
            let (more, is_open) = first(part)?;
            set.union(&more);
            if !is_open {
                return Some((set, false));
            }
        }
        Some((set, true))
    };
    match expression {
        Expr::Group(inner) => first(inner),
        Expr::AtomicGroup(inner) => first(inner),
        Expr::Concat(parts) => in_turn(parts),
        Expr::Alt(parts) => {
            parts.iter().try_fold((ClassUnicode::empty(), false), |(mut set, is_open), part| {
                let (more, also_open) = first(part)?;
                set.union(&more);
                Some((set, is_open || also_open))
            })
        }
        Expr::Literal { val, casei } => match val.chars().next() {
            Some(character) => Some((set_of_character(character, *casei)?, false)),
            None => Some((ClassUnicode::empty(), true)),
        },
        Expr::Repeat { child, lo, .. } => first(child).map(|(set, is_open)| (set, is_open || *lo == 0)),
        // What it sees must be there, so that it is the first character.
        Expr::LookAround(inner, LookAround::LookAhead) => first(inner),
        Expr::LookAround(..) | Expr::Assertion(_) | Expr::Empty => Some((ClassUnicode::empty(), true)),
        other => Some((set_of(other)?, false)),
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
            let (dfa, mut failed) = (Dfa::new(pattern, 1 << 20).unwrap(), Failed::default());
            let (mut at, mut n_found) = (0, 0);
            while let Some((_, end)) = dfa.find(&text, at, &mut failed) {
                (at, n_found) = (end, n_found + 1);
            }
            assert_eq!(n_found, n, "{pattern}");
        }
    }

    #[test]
    fn first_characters_are_known_unless_a_match_may_have_none() {
        let has = |pattern: &str, character: char| {
            first_characters(pattern).map(|set| {
                set.ranges().iter().any(|range| (range.start()..=range.end()).contains(&character))
            })
        };
        for pattern in [
            r"\d{1,3}(?=(?:\d{3})*\b)",
            r"(?=(\d{3})+(?!\d))",
            r"(?<=x)(?:a|\d)b",
            r"a*\d(?!xx)",
            "(?i:K)1|5",
        ] {
            assert_eq!((has(pattern, '5'), has(pattern, 'x')), (Some(true), Some(false)), "{pattern}");
        }
        for pattern in ["a*(?!xx)", r"\Ga", r"(a)?\1", "(?<=a)"] {
            assert_eq!(has(pattern, 'a'), None, "{pattern}");
        }
    }
}
