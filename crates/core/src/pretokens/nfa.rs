//! Turns a parsed pattern into places between which characters are read, and these into the table of an automaton.

use std::collections::HashMap;

use fancy_regex::{Assertion, Expr, LookAround};
use regex_syntax::hir::ClassUnicode;

use super::alphabet::{Alphabet, MAX_SETS};
use super::expressions::{can_be_empty, lookahead_set, set_of, set_of_character, set_of_class};

/// The row of the state from which nothing matches.
pub const DEAD: usize = 0;

/// Limits: the places of a pattern, and how often places are visited.
const MAX_NODES: usize = 1 << 12;
pub const MAX_VISITS: usize = 1 << 23;

/// A place in a pattern. Places are referred to by their index in [`Nfa::nodes`].
pub enum Node {
    Match,
    /// Reads a character of a set, then goes on.
    Read(usize, usize),
    /// Goes on if the next character is in a set; at the end of the text, if the flag is set.
    Look(usize, bool, usize),
    /// Goes on at any of these; earlier ones are preferred.
    Split(Vec<usize>),
}

/// A pattern as places.
pub struct Nfa {
    pub nodes: Vec<Node>,
    pub sets: Vec<ClassUnicode>,
    /// The sets of lookbehinds, which must contain every character read before them; `None` if none are allowed.
    pub behind: Option<Vec<ClassUnicode>>,
}

impl Nfa {
    fn push(&mut self, node: Node) -> Option<usize> {
        self.nodes.push(node);
        (self.nodes.len() <= MAX_NODES).then_some(self.nodes.len() - 1)
    }

    fn push_read(&mut self, set: usize, next: usize) -> Option<usize> {
        self.push(Node::Read(set, next))
    }

    fn push_look(&mut self, set: ClassUnicode, at_end: bool, next: usize) -> Option<usize> {
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

    /// Adds an expression that goes on at `next`; returns the place where it begins, or `None` if it is not regular.
    pub fn add(&mut self, expression: &Expr, next: usize) -> Option<usize> {
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
                self.push_read(set, next)
            }),
            Expr::Assertion(Assertion::EndText) => self.push_look(ClassUnicode::empty(), true, next),
            // Always the end of a word, since `behind` makes sure that word characters are read before it.
            Expr::Assertion(Assertion::WordBoundary) => {
                let mut words = set_of_class(r"\w", false)?;
                self.behind.as_mut()?.push(words.clone());
                words.negate();
                self.push_look(words, true, next)
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
                let (mut set, mut at_end) = lookahead_set(inner)?;
                if *ahead == LookAround::LookAheadNeg {
                    set.negate();
                    at_end = !at_end;
                }
                self.push_look(set, at_end, next)
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
                    return self.push_read(set, next);
                };
                let mut set = set_of(child)?;
                let number = self.number_of(set.clone())?;
                set.negate();
                let stop = self.push_look(set, true, next)?;
                self.repeat((*lo, *hi), true, next, stop, |nfa, next| nfa.push_read(number, next))
            }
            other => {
                let set = self.number_of(set_of(other)?)?;
                self.push_read(set, next)
            }
        }
    }

    /// Adds a repetition that goes on at `next` after its largest count, and at `stop` after any smaller count.
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

    /// Returns the table of the automaton and the row of its first state; `None` if it is too large.
    pub fn determinize(
        &self,
        start: usize,
        alphabet: &Alphabet,
        max_bytes: usize,
    ) -> Option<(Vec<u32>, usize)> {
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

/// Steps from state to state to make the table.
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

    /// Returns the places after a character in `sets`, or the text's end (`None`), and whether a match ends before it.
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

    /// Replaces splits by where they lead, in order, up to the first match, which is preferred to all that follows.
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
