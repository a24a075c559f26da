//! Automata that split in turn, as one automaton that outputs the ends of pretokens while it reads.
//!
//! Its states say where each pattern is: in a gap, or so far in a match. Nearly always the next character decides all that
//! came before it: a match ends before it, or before the last character (as `\s+(?!\S)` does), or what seemed to begin at
//! the last character is none. Then the entry of the table has the ends, and the loop goes on without asking anything.
//! Where more is open (`"` of `"[^"]*"`, white space of another kind), the entry says so: the loop goes back to the last
//! offset at which all patterns could start anew, and the next pretokens are found pattern by pattern.
//!
//! Cost: a step of a table for each character, however many patterns there are.

use std::collections::HashMap;
use std::sync::Arc;

use super::alphabet::Alphabet;
use super::dfa::{Dfa, Failed};
use super::nfa::DEAD;
use super::scan::ENDS_PER_FILL;
use super::unicode::byte_letter;
use crate::error::Result;
use crate::memory::{TryReserve, filled};

/// Bits of an entry: a pretoken ends before the last character, before this one, all patterns start anew here, the loop
/// stops. The row of the next state is above them.
const BEFORE_LAST: usize = 1;
const HERE: usize = 2;
const ANEW: usize = 4;
const STOP: usize = 8;
const N_BITS: u32 = 4;
/// Not an entry: no state is followed by the first one.
const FULL: usize = 0;

/// The most states: published patterns need up to a few hundred.
const MAX_STATES: usize = 1 << 13;

/// How much that was read in vain may be read once more.
const FAR_BYTES: usize = 64;

/// Where a pattern was searched as far ahead as this, so many ends are found at once: the next call would search again.
const FAR_AHEAD: usize = 1 << 16;
const MOST_ENDS: usize = 1 << 18;

/// Where a pattern is, after a character.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    /// No match has the character.
    Gap,
    /// In what may be a match.
    Match {
        state: usize,
        /// It began at the last character.
        is_first: bool,
        /// It follows a gap that may go on instead.
        in_gap: bool,
        /// The class of the last character, if a match ends before it. Only for the last pattern.
        last: Option<usize>,
    },
}

/// What a character shows of one pattern.
#[derive(Clone, Copy)]
struct Shown {
    place: Place,
    before_last: bool,
    here: bool,
    /// The pattern was in a gap before the character, so that it can start anew there.
    was_in_gap: bool,
}

/// A compiled sequence of patterns.
pub(super) struct OnePass {
    steps: Vec<Arc<Dfa>>,
    alphabet: Alphabet,
    table: Vec<u32>,
    /// Bytes whose letter in GPT-2's byte alphabet a match can begin with.
    letters: [bool; 256],
}

impl OnePass {
    /// `None` if a pattern can match nothing, or the table is too large.
    pub fn new(steps: Vec<Arc<Dfa>>) -> Option<Box<Self>> {
        if steps.is_empty() || steps.iter().any(|dfa| dfa.can_be_empty()) {
            return None;
        }
        let mut sets: Vec<_> = steps.iter().flat_map(|dfa| dfa.sets()).cloned().collect();
        sets.sort_unstable_by(|one, other| one.ranges().cmp(other.ranges()));
        sets.dedup();
        let alphabet = Alphabet::new(&sets)?;
        let mut examples = vec![None; alphabet.n_classes];
        for code in 0..0x11_0000 {
            examples[alphabet.class_of(code)].get_or_insert(code);
        }
        // The class of each character, and of the end of the text, in each pattern.
        let classes: Vec<Vec<usize>> = steps
            .iter()
            .map(|dfa| {
                examples
                    .iter()
                    .map(|code| code.map_or(dfa.end(), |code| dfa.class_of(code)))
                    .chain([dfa.end()])
                    .collect()
            })
            .collect();
        let mut letters = [false; 256];
        for (byte, can_begin) in (0..=u8::MAX).zip(&mut letters) {
            let letter = byte_letter(byte);
            *can_begin = steps.iter().any(|dfa| dfa.first(dfa.class_of(letter)) != DEAD);
        }
        let mut one_pass = Box::new(OnePass { steps, alphabet, table: Vec::new(), letters });
        one_pass.determinize(&classes)?;
        Some(one_pass)
    }

    /// As [`super::steps::Step::ends_between`].
    pub fn ends_between(&self, before: char, after: char) -> Option<bool> {
        let own = self.steps.iter().find(|dfa| !dfa.is_foreign(before))?;
        Some(own.ends_between(before, after))
    }

    /// Whether a match may begin with the letter of this byte in GPT-2's byte alphabet.
    #[inline]
    pub fn may_split_letter_of(&self, byte: u8) -> bool {
        self.letters[usize::from(byte)]
    }

    fn determinize(&mut self, classes: &[Vec<usize>]) -> Option<()> {
        let stride = self.alphabet.n_classes + 1;
        // The first state is before the first character.
        let (mut states, mut rows) = (vec![None], HashMap::new());
        let mut done = 0;
        while done < states.len() {
            for class in 0..stride {
                let is_end = class + 1 == stride;
                let entry = match self.next(states[done].as_deref(), class, is_end, classes) {
                    None => STOP,
                    Some((_, bits)) if is_end => bits | HERE | ANEW | STOP,
                    Some((next, bits)) => {
                        let row = *rows.entry(next).or_insert_with_key(|next| {
                            states.push(Some(next.clone()));
                            (states.len() - 1) * stride
                        });
                        row << N_BITS | bits
                    }
                };
                self.table.push(u32::try_from(entry).ok()?);
            }
            done += 1;
            if states.len() > MAX_STATES {
                return None;
            }
        }
        Some(())
    }

    /// The places after a character, and the bits of the entry; `None` if more is open than a table can decide.
    fn next(
        &self,
        places: Option<&[Place]>,
        class: usize,
        is_end: bool,
        classes: &[Vec<usize>],
    ) -> Option<(Vec<Place>, usize)> {
        let (mut next, mut bits, mut are_in_gaps) = (Vec::new(), 0, true);
        // An earlier pattern may begin here, so that the segment would end: do the others know the same then?
        let (mut is_open, mut is_certain) = (false, true);
        for (nth, (dfa, classes)) in self.steps.iter().zip(classes).enumerate() {
            let is_last = nth + 1 == self.steps.len();
            let Some(places) = places else {
                next.push(begin(dfa, classes[class], false)?.place);
                continue;
            };
            // A pattern's segment ends where an earlier pattern ends one.
            let is_cut = is_end || bits & HERE != 0;
            let read = if is_cut { dfa.end() } else { classes[class] };
            let shown = read_on(dfa, places[nth], read, classes, class, is_last)?;
            bits |= usize::from(shown.before_last) * BEFORE_LAST;
            if is_cut {
                next.push(begin(dfa, classes[class], false)?.place);
                continue;
            }
            if is_open {
                let at_end = read_on(dfa, places[nth], dfa.end(), classes, class, is_last);
                is_certain &= at_end.is_some_and(|at_end| {
                    let is_alike = shown.here || at_end.was_in_gap == shown.was_in_gap;
                    is_alike && at_end.before_last == shown.before_last
                });
            }
            is_open |= matches!(shown.place, Place::Match { is_first: true, in_gap: true, .. });
            next.push(shown.place);
            if shown.here {
                bits |= HERE | if are_in_gaps && is_certain { ANEW } else { 0 };
            }
            are_in_gaps &= shown.was_in_gap;
        }
        if bits & ANEW != 0 {
            // Whatever begins here follows no gap.
            for place in &mut next {
                if let Place::Match { is_first: true, in_gap, .. } = place {
                    *in_gap = false;
                }
            }
        }
        Some((next, bits))
    }

    /// [`super::Pretokenizer::fill`]; no ends if the first is further away than `most_bytes`.
    pub fn fill(&self, text: &str, from: usize, most_bytes: u32, ends: &mut Vec<u32>) -> Result<()> {
        let text = text.get(from..).unwrap_or_default();
        let stop = text.len().min(most_bytes as usize);
        ends.clear();
        if text.is_empty() {
            return Ok(());
        }
        ends.grow(ENDS_PER_FILL, "pretoken ends")?;
        let mut search =
            Search { next: vec![0; self.steps.len()], failed: Failed::default(), found: Vec::new() };
        let (most_ends, mut wanted) = (ENDS_PER_FILL.min(text.len() + 2), ENDS_PER_FILL);
        let (mut read, mut buffer) = (Read::default(), filled(most_ends, 0, "pretoken ends")?);
        while ends.len() < wanted {
            let room = &mut buffer[..most_ends.min(wanted - ends.len())];
            let entry = self.read(text.as_bytes(), stop, &mut read, room);
            if entry & !STOP != 0 {
                // What is decided at once, but rarely.
                if entry & BEFORE_LAST != 0 {
                    buffer[read.n] = text.floor_char_boundary(read.at - 1) as u32;
                    read.n += 1;
                }
                if entry & HERE != 0 {
                    buffer[read.n] = read.at as u32;
                    read.n += 1;
                }
                if entry & ANEW != 0 {
                    read.n_sure = read.n;
                }
                if entry & STOP == 0 {
                    read.at += self.alphabet.class_at(text.as_bytes(), read.at).1;
                    read.row = entry >> N_BITS;
                    continue;
                }
                ends.grow(read.n_sure, "pretoken ends")?;
                ends.extend(&buffer[..read.n_sure]);
                break;
            }
            ends.grow(read.n_sure, "pretoken ends")?;
            ends.extend(&buffer[..read.n_sure]);
            if entry == FULL && !ends.is_empty() && (read.at > stop || wanted == ENDS_PER_FILL) {
                break;
            }
            // More is open, or the first segment is as long as all this.
            let (open, mut at) = (read.at, ends.last().map_or(0, |&end| end as usize));
            search.found.clear();
            loop {
                at = self.find(text, at, &mut search);
                // What was read in vain is not read again and again.
                if at + FAR_BYTES > open || ends.len() + search.found.len() >= wanted {
                    break;
                }
            }
            if at > stop {
                break;
            }
            ends.grow(search.found.len(), "pretoken ends")?;
            ends.extend(search.found.iter().map(|&end| end as u32));
            if at == text.len() {
                break;
            }
            if search.next.iter().any(|&next| next > at + FAR_AHEAD) {
                wanted = MOST_ENDS;
            }
            read = Read { at, ..Read::default() };
        }
        Ok(())
    }

    /// Reads on while entries say nothing rare, up to the character at `stop` or while there is room for two ends; returns
    /// the entry of the character at `read.at`, or [`FULL`].
    #[inline(never)]
    fn read(&self, text: &[u8], stop: usize, read: &mut Read, ends: &mut [u32]) -> usize {
        let Read { mut row, mut at, mut n, mut n_sure } = *read;
        let entry = loop {
            if at > stop || n + 2 > ends.len() {
                break FULL;
            }
            let (class, n_bytes) = self.alphabet.class_at(text, at);
            let entry = self.table[row + class] as usize;
            if entry & (BEFORE_LAST | STOP) != 0 {
                break entry;
            }
            ends[n] = at as u32;
            n += (entry & HERE) / HERE;
            n_sure = if entry & ANEW != 0 { n } else { n_sure };
            (row, at) = (entry >> N_BITS, at + n_bytes);
        };
        *read = Read { row, at, n, n_sure };
        entry
    }

    /// Finds the next pretokens from `from` on, where all patterns start anew, up to the next such offset, which it returns.
    fn find(&self, text: &str, from: usize, search: &mut Search) -> usize {
        let mut end = text.len();
        for (nth, dfa) in self.steps.iter().enumerate() {
            let next = &mut search.next[nth];
            *next = from.max(*next);
            let mut other = Failed::default();
            // The first pattern's segment is the text.
            let failed = if nth == 0 { &mut search.failed } else { &mut other };
            match dfa.find_within(&text.as_bytes()[..end], next, failed) {
                Some(match_end) if *next == from => {
                    self.split(nth + 1, text, from, match_end, search);
                    return match_end;
                }
                // A gap, which the next patterns split.
                found => end = if found.is_some() { *next } else { end },
            }
        }
        search.found.push(end);
        end
    }

    /// Appends the ends that the patterns from number `nth` on make in a segment.
    fn split(&self, nth: usize, text: &str, start: usize, end: usize, search: &mut Search) {
        let Some(dfa) = self.steps.get(nth) else {
            search.found.push(end);
            return;
        };
        let (mut at, mut failed) = (start, Failed::default());
        while at < end {
            let mut next = at;
            let match_end = dfa.find_within(&text.as_bytes()[..end], &mut next, &mut failed);
            let next = if match_end.is_some() { next } else { end };
            if next > at {
                self.split(nth + 1, text, at, next, search);
            }
            if let Some(match_end) = match_end {
                self.split(nth + 1, text, next, match_end, search);
            }
            at = match_end.unwrap_or(end);
        }
    }
}

/// How far the table was read.
#[derive(Clone, Copy, Default)]
struct Read {
    row: usize,
    at: usize,
    /// The ends so far, and those up to the last one at which all patterns start anew.
    n: usize,
    n_sure: usize,
}

/// What is kept while pretokens are found pattern by pattern.
struct Search {
    /// For each pattern, no match begins before this offset.
    next: Vec<usize>,
    failed: Failed,
    found: Vec<usize>,
}

/// A pattern at a character before which a gap is open, or a pretoken ends; `None` if what decides may be far ahead.
fn begin(dfa: &Dfa, class: usize, in_gap: bool) -> Option<Shown> {
    let state = dfa.first(class);
    if state != DEAD && dfa.looks_far_ahead() {
        return None;
    }
    let (place, here) = if state == DEAD {
        (Place::Gap, false)
    } else {
        let is_sure = dfa.surely_ends(state);
        (Place::Match { state, is_first: true, in_gap: in_gap && !is_sure, last: None }, in_gap && is_sure)
    };
    Some(Shown { place, before_last: false, here, was_in_gap: in_gap })
}

/// A pattern after one more character; `class` is that of all patterns, `read` its own, or the end of its segment.
fn read_on(
    dfa: &Dfa,
    place: Place,
    read: usize,
    classes: &[usize],
    class: usize,
    is_last: bool,
) -> Option<Shown> {
    let Place::Match { state, is_first, in_gap, last } = place else { return begin(dfa, read, true) };
    let (next, is_match) = dfa.step(state, read);
    // The match that ended the gap began at the last character, or further back.
    let before_last = in_gap && is_match;
    if before_last && !(is_first && is_last) {
        return None;
    }
    if next != DEAD {
        let place = Place::Match {
            state: next,
            is_first: false,
            in_gap: in_gap && !is_match,
            last: (is_last && is_match).then_some(class),
        };
        return Some(Shown { place, before_last, here: false, was_in_gap: false });
    }
    if is_match {
        return Some(Shown { here: true, before_last, ..begin(dfa, read, false)? });
    }
    if let Some(last) = last {
        // It ended before the last character, where the pattern went on.
        let place = begin(dfa, classes[last], false)?.place;
        let shown = read_on(dfa, place, read, classes, class, is_last)?;
        return Some(Shown { before_last: true, ..shown });
    }
    // What began at the last character is no match, so a gap has it.
    if is_first { begin(dfa, read, true) } else { None }
}
