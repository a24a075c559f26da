//! Runs automata that split in turn as one automaton, which outputs the ends of pretokens while it reads.
//!
//! A state says where each pattern is: in a gap, or how far in a match. Nearly always the next character settles what
//! came before it: a match ends before it, or before the previous character (as `\s+(?!\S)` does), or what seemed to
//! begin at the previous character is not a match. If it is not settled, a pretoken may have ended earlier, and the
//! state also holds the places of that case ([`Alternative`]): after "\n", `\s*\n|\s+` reads all white space to see
//! whether a line break follows. The entry of the table then has the ends, and the loop goes on without checking
//! anything else. If more than that is open (the `"` of `"[^"]*"`), the entry stops the loop. It goes back to the last
//! offset at which all patterns could start anew, and the next pretokens are found pattern by pattern.
//!
//! Cost: one step of a table per character, however many patterns there are. A step waits for the previous one, so
//! text is read by byte shuffles where possible ([`ShuffleStates`]).
//!
//! Tried: reading four places of a text in turn, so that the steps of one need not wait for those of another: no
//! faster on a Zen 3, since what four places need does not fit into the registers. A table of two characters at once:
//! half as fast as shuffles. Windows of 64 characters, in which the three characters before an offset decide, without
//! any state, whether a pretoken ends there: no faster than shuffles.

use std::borrow::Borrow;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use super::alphabet::Alphabet;
use super::byte_block;
use super::byte_block::Block;
use super::dfa::{Dfa, MatchMemo};
use super::entries::{
    AT_MARK, FULL, HERE, MARK, N_BITS, ONE_BACK, RARE, RESTART, Read, STOP, TWO_BACK, with_row,
};
use super::first_bytes::FirstBytes;
use super::nfa::DEAD;
use super::scan::ENDS_PER_FILL;
use super::shuffle_states::ShuffleStates;
use super::threes::WholeNumbers;
use super::window::WINDOW_BYTES;
use crate::cpu::{CpuTier, at_tier};
use crate::error::Result;
use crate::memory::TryReserve;

/// The most states that a table can have. Published patterns need some tens.
const MAX_STATES: usize = 1 << 13;

/// Equivalent states are joined only in tables of up to this many; in larger ones, finding them takes too long. Of the
/// published patterns one has more states, 581; the others have up to 74.
const MAX_JOINED: usize = 128;

/// How often places can be read for a table: about a tenth of a second. Published patterns need some ten thousand.
const MAX_READS: usize = 1 << 20;

/// How deep cases can be nested. In "aaaa", `a*b|a` might match the first letter, then the second, and so on.
const MAX_DEPTH: usize = 3;

/// Room for the ends of a window and of an entry.
const MIN_ENDS_ROOM: usize = WINDOW_BYTES + 4;

/// How many of the bytes that the table read in vain are left for it to read again.
const FAR_BYTES: usize = 64;

/// If a pattern was searched this far ahead, one call finds up to [`MAX_ENDS`] ends: the next one would search again.
const FAR_AHEAD: usize = 1 << 16;
const MAX_ENDS: usize = 1 << 18;

/// Where a pattern is, after a character.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Place {
    /// No match contains the character.
    Gap,
    /// In a possible match.
    Match {
        state: usize,
        /// No other match can have begun since this one did.
        is_only: bool,
        /// It follows a gap, which goes on if this is not a match.
        in_gap: bool,
        /// What holds if the gap ended where this began, or if a match ended while this goes on for a longer one.
        alternative: Option<Alternative>,
    },
}

/// The case in which a pretoken ended before what is read now.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Alternative {
    Known {
        /// The places of the pattern and of those after it, which started anew at that end.
        places: Vec<Place>,
        /// How many characters back the end is; 0 means at the mark.
        n_back: usize,
        /// The end is output already, since it is an end in either case.
        is_written: bool,
    },
    /// The case cannot be kept, for example because ends were output that it does not have.
    Lost,
}

/// The places of a pattern and of those after it once a character is read, and the bits of its entry.
#[derive(Default)]
struct Transition {
    places: Vec<Place>,
    bits: usize,
}

/// A compiled sequence of patterns.
pub(super) struct OnePass {
    steps: Vec<Arc<Dfa>>,
    alphabet: Alphabet,
    table: Vec<u32>,
    shuffles: ShuffleStates,
    tier: CpuTier,
    /// Finds the matches of the first pattern, if that looks too far ahead for the table.
    numbers: Option<WholeNumbers>,
}

/// Automata that split in turn and read bytes as letters of GPT-2's byte alphabet.
pub(super) struct Letters {
    steps: Vec<Dfa>,
    first_bytes: FirstBytes,
}

impl Letters {
    /// Returns where a match might begin first.
    #[inline]
    pub fn next_begin(&self, bytes: &[u8]) -> Option<usize> {
        self.first_bytes.position(bytes)
    }

    /// Appends the ends that the patterns find in the bytes from `start` on.
    pub fn split(&self, bytes: &[u8], start: usize, found: &mut Vec<usize>) {
        split(&self.steps, bytes, start, found);
    }
}

impl OnePass {
    /// `None` if a pattern can match nothing, or the table is too large.
    pub fn new(steps: Vec<Arc<Dfa>>, numbers: Option<WholeNumbers>, tier: CpuTier) -> Option<Box<Self>> {
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
        // Per pattern: the class of each character, of the text's end, and of a digit that the first pattern leaves.
        let classes: Vec<Vec<usize>> = steps
            .iter()
            .enumerate()
            .map(|(nth, dfa)| {
                let digit = if nth == 0 { dfa.end() } else { dfa.class_of(u32::from('0')) };
                examples
                    .iter()
                    .map(|code| code.map_or(dfa.end(), |code| dfa.class_of(code)))
                    .chain([dfa.end(), digit])
                    .collect()
            })
            .collect();
        let stride = alphabet.n_classes + 2;
        let mut table = determinize(&steps, &classes, stride)?;
        let shuffles = ShuffleStates::new(&mut table, stride, &alphabet);
        // Shuffles of 16 bytes are 4 to 20 % faster in code without AVX-512: Intel's cores have one port less for them
        // while 64-byte instructions are in use.
        #[cfg(target_arch = "x86_64")]
        let tier = tier.min(CpuTier::Avx2);
        let mut one_pass = Box::new(OnePass { steps, alphabet, table, shuffles, tier, numbers });
        one_pass.numbers = one_pass.numbers.take().filter(|_| one_pass.leaves_groups());
        Some(one_pass)
    }

    /// Whether the patterns after the first leave every number of one to three ASCII digits whole.
    fn leaves_groups(&self) -> bool {
        let mut found = Vec::new();
        let mut is_whole = |group: String| {
            found.clear();
            split(&self.steps[1..], group.as_bytes(), 0, &mut found);
            found.len() == 1
        };
        (1..=3_usize).all(|width| (0..10_u32.pow(width as u32)).all(|n| is_whole(format!("{n:0width$}"))))
    }

    /// See [`super::steps::Step::ends_between`]: the first pattern that can match `before` decides.
    pub fn ends_between(&self, before: char, after: char) -> Option<bool> {
        let own = self.steps.iter().find(|dfa| !dfa.never_matches(before))?;
        Some(own.ends_between(before, after))
    }

    /// Whether there is only one pattern, whose matches are proved to leave no gaps.
    pub fn is_total(&self) -> bool {
        matches!(self.steps.as_slice(), [only] if only.is_total())
    }

    /// Returns the patterns for bytes that are read as letters of GPT-2's byte alphabet.
    pub fn of_letters(&self) -> Letters {
        let steps: Vec<Dfa> = self.steps.iter().map(|dfa| dfa.of_letters()).collect();
        let can_begin = |byte| steps.iter().any(|dfa| dfa.can_begin(byte as u8));
        Letters { first_bytes: FirstBytes::new(std::array::from_fn(can_begin)), steps }
    }

    /// Appends the ends that the patterns find in a segment, pattern by pattern.
    pub fn split(&self, text: &str, start: usize, end: usize, found: &mut Vec<usize>) {
        split(&self.steps, &text.as_bytes()[..end], start, found);
    }

    /// [`super::Pretokenizer::fill`]; returns no ends if the first one is further away than `max_bytes`.
    pub fn fill(&self, text: &str, from: usize, max_bytes: u32, ends: &mut Vec<u32>) -> Result<()> {
        let text = text.get(from..).unwrap_or_default();
        let stop = text.len().min(max_bytes as usize);
        ends.clear();
        if text.is_empty() {
            return Ok(());
        }
        let (max_ends, mut wanted) = (ENDS_PER_FILL.min(text.len() + MIN_ENDS_ROOM), ENDS_PER_FILL);
        // In `ends`, room for what is read follows the ends that are sure.
        let (mut n_ends, mut read, mut search) = (0, Read::default(), None);
        while n_ends < wanted {
            ends.grow((n_ends + max_ends).saturating_sub(ends.len()), "pretoken ends")?;
            ends.resize(n_ends + max_ends, 0);
            let room = &mut ends[n_ends..][..max_ends.min(wanted - n_ends)];
            // SAFETY: The tier is that of `Pretokenizer::at_tier`, which checked it.
            let entry = unsafe { read_at_tier(self.tier, self, text, stop, &mut read, room) };
            if entry == STOP && self.read_number(text, stop, &mut read, room) {
                if read.at < text.len() {
                    continue;
                }
                n_ends += read.n_sure;
                break;
            }
            if entry & !(STOP | FULL) != 0 {
                // The end of the text.
                read.apply_rare_bits(entry, text, room);
                n_ends += read.n_sure;
                break;
            }
            n_ends += read.n_sure;
            if entry == FULL && n_ends > 0 && (read.at > stop || wanted == ENDS_PER_FILL) {
                break;
            }
            // More is open than a table can decide, or the first segment fills all the room.
            ends.truncate(n_ends);
            let (open, mut at) = (read.at, ends.last().map_or(0, |&end| end as usize));
            let search = search.get_or_insert_with(|| Search {
                next: vec![0; self.steps.len()],
                first: None,
                memo: MatchMemo::default(),
                found: Vec::new(),
            });
            search.found.clear();
            loop {
                at = self.find(text, at, search);
                // Go on past what was read in vain, so that it is not read again and again.
                if at + FAR_BYTES > open || n_ends + search.found.len() >= wanted {
                    break;
                }
            }
            if at > stop {
                break;
            }
            ends.grow(search.found.len(), "pretoken ends")?;
            ends.extend(search.found.iter().map(|&end| end as u32));
            n_ends = ends.len();
            if at == text.len() {
                break;
            }
            if search.next.iter().any(|&next| next > at + FAR_AHEAD) {
                wanted = MAX_ENDS;
            }
            read = Read { at, ..Read::default() };
        }
        ends.truncate(n_ends);
        Ok(())
    }

    /// Reads a number that the first pattern matches, or digits that it leaves, as far as there is room. Returns
    /// whether it read any.
    fn read_number(&self, text: &str, stop: usize, read: &mut Read, room: &mut [u32]) -> bool {
        let Some(numbers) = &self.numbers else { return false };
        let mut found = numbers.ends(text, read.at).take_while(|&end| end <= stop).peekable();
        if found.peek().is_none() {
            let (from, are_in_word) = (read.at, numbers.are_in_word(text, read.at));
            while are_in_word
                && read.at < stop
                && text.as_bytes()[read.at].is_ascii_digit()
                && read.n + MIN_ENDS_ROOM <= room.len()
                && let entry = self.table[read.row + self.alphabet.n_classes + 1] as usize
                && entry & STOP == 0
            {
                read.apply_rare_bits(entry, text, room);
                (read.row, read.at) = (entry >> N_BITS, read.at + 1);
            }
            return read.at > from;
        }
        if read.row > 0 {
            // The segment before the number ends here.
            let entry = self.table[read.row + self.alphabet.n_classes] as usize;
            if entry & HERE == 0 {
                return false;
            }
            read.apply_rare_bits(entry, text, room);
        }
        for (end, place) in found.zip(&mut room[read.n..]) {
            *place = end as u32;
            (read.n, read.at) = (read.n + 1, end);
        }
        (read.row, read.n_sure) = (0, read.n);
        true
    }

    /// Reads on up to the character at `stop`, or while there is room for the ends of a window and some more. Returns
    /// [`FULL`], or the entry of the character at `read.at` that stops it.
    ///
    /// # Safety
    /// The processor must have the instructions of `B`.
    #[inline(always)]
    unsafe fn read<B: Block>(&self, text: &str, stop: usize, read: &mut Read, ends: &mut [u32]) -> usize {
        let (bytes, mut now) = (text.as_bytes(), *read);
        let entry = 'all: loop {
            // SAFETY: The caller vouches for the processor.
            unsafe { self.shuffles.read::<B>(bytes, stop, &self.alphabet, &mut now, ends) };
            // `shuffles` does not have what comes next: read two characters by the table.
            for _ in 0..2 {
                if now.at > stop || now.n + MIN_ENDS_ROOM > ends.len() {
                    break 'all FULL;
                }
                let (class, n_bytes) = self.alphabet.class_at(bytes, now.at);
                let entry = self.table[now.row + class] as usize;
                if entry & STOP != 0 {
                    break 'all entry;
                }
                if entry & RARE != 0 {
                    now.apply_rare_bits(entry, text, ends);
                } else {
                    ends[now.n] = now.at as u32;
                    now.n += (entry & HERE) / HERE;
                    now.n_sure = if entry & RESTART != 0 { now.n } else { now.n_sure };
                }
                (now.row, now.at) = (entry >> N_BITS, now.at + n_bytes);
            }
        };
        *read = now;
        entry
    }

    /// Finds the next pretokens from `from` on, pattern by pattern; returns where all patterns next start anew.
    fn find(&self, text: &str, from: usize, search: &mut Search) -> usize {
        let mut end = text.len();
        for (nth, dfa) in self.steps.iter().enumerate() {
            let next = &mut search.next[nth];
            *next = from.max(*next);
            let mut new_memo = MatchMemo::default();
            // The segment of the first pattern is the whole text, so its next match stays the same.
            let memo = if nth == 0 { &mut search.memo } else { &mut new_memo };
            let found = match search.first {
                Some((start, match_end)) if nth == 0 && start >= from => {
                    *next = start;
                    Some(match_end)
                }
                _ => dfa.find_within(&text.as_bytes()[..end], next, memo),
            };
            if nth == 0 {
                search.first = found.map(|match_end| (*next, match_end));
            }
            match found {
                Some(match_end) if *next == from => {
                    split(&self.steps[nth + 1..], &text.as_bytes()[..match_end], from, &mut search.found);
                    return match_end;
                }
                // A gap: the next patterns split it.
                found => end = if found.is_some() { *next } else { end },
            }
        }
        search.found.push(end);
        end
    }
}

/// Appends the ends that patterns find in the bytes from `start` on, pattern by pattern.
fn split<D: Borrow<Dfa>>(steps: &[D], bytes: &[u8], start: usize, found: &mut Vec<usize>) {
    let Some((dfa, rest)) = steps.split_first() else {
        found.push(bytes.len());
        return;
    };
    let (mut at, mut memo) = (start, MatchMemo::default());
    while at < bytes.len() {
        let mut next = at;
        let match_end = dfa.borrow().find_within(bytes, &mut next, &mut memo);
        let next = if match_end.is_some() { next } else { bytes.len() };
        if next > at {
            split(rest, &bytes[..next], at, found);
        }
        if let Some(match_end) = match_end {
            split(rest, &bytes[..match_end], next, found);
        }
        at = match_end.unwrap_or(bytes.len());
    }
}

/// Makes the table of patterns that read these classes; `None` if it is too large.
fn determinize(steps: &[Arc<Dfa>], classes: &[Vec<usize>], stride: usize) -> Option<Vec<u32>> {
    let mut table = Vec::new();
    // The first state is the one before the first character.
    let (mut states, mut rows) = (vec![Vec::new()], HashMap::new());
    let (mut done, n_left) = (0, Cell::new(MAX_READS));
    while done < states.len() {
        for class in 0..stride {
            let reader = Reader { steps, classes, class, n_left: &n_left };
            let entry = match reader.next(&states[done]) {
                None => STOP,
                Some(transition) if reader.is_end() => transition.bits | HERE | RESTART | STOP,
                Some(Transition { places, bits }) => {
                    let row = *rows.entry(places).or_insert_with_key(|places| {
                        states.push(places.clone());
                        (states.len() - 1) * stride
                    });
                    row << N_BITS | bits
                }
            };
            table.push(u32::try_from(entry).ok()?);
        }
        done += 1;
        if states.len() > MAX_STATES || n_left.get() == 0 {
            return None;
        }
    }
    Some(if states.len() <= MAX_JOINED { joined(&table, stride) } else { table })
}

/// Joins the states whose entries agree on whatever follows, except the first state, which is before a text.
fn joined(table: &[u32], stride: usize) -> Vec<u32> {
    let mut row_of: Vec<usize> = (0..table.len() / stride).map(|state| state.min(1)).collect();
    loop {
        // Rows stay alike as long as their entries are equal and lead to rows that are alike.
        let (mut rows, mut known) = (Vec::new(), HashMap::new());
        let next: Vec<usize> = table
            .chunks(stride)
            .zip(&row_of)
            .map(|(row, before)| {
                let entries = row.iter().map(|&entry| {
                    let state = (entry >> N_BITS) as usize / stride;
                    with_row(entry, row_of[state] * stride)
                });
                let entries: Vec<u32> = entries.collect();
                *known.entry((*before, entries.clone())).or_insert_with(|| {
                    rows.extend(entries);
                    rows.len() / stride - 1
                })
            })
            .collect();
        if next == row_of {
            return rows;
        }
        row_of = next;
    }
}

at_tier! {
    /// [`OnePass::read`].
    unsafe fn read_at_tier<B in byte_block>(
        one_pass: &OnePass,
        text: &str,
        stop: usize,
        read: &mut Read,
        ends: &mut [u32],
    ) -> usize {
        // SAFETY: The processor has the instructions.
        unsafe { one_pass.read::<B>(text, stop, read, ends) }
    }
}

/// What a search pattern by pattern keeps.
struct Search {
    /// For each pattern, an offset before which no match begins.
    next: Vec<usize>,
    /// The last match found of the first pattern.
    first: Option<(usize, usize)>,
    memo: MatchMemo,
    found: Vec<usize>,
}

/// Works out how a character of one class changes the places of all patterns. `None`: a table cannot decide it.
struct Reader<'a> {
    steps: &'a [Arc<Dfa>],
    /// For each pattern, its own class for each class of the whole; the last but one is the end of the text.
    classes: &'a [Vec<usize>],
    class: usize,
    /// How many more times places can be read.
    n_left: &'a Cell<usize>,
}

impl Reader<'_> {
    /// Returns the places of all patterns after the character. `places` is empty before the first one.
    fn next(&self, places: &[Place]) -> Option<Transition> {
        if places.is_empty() {
            return Some(Transition { places: self.restarted(0)?, bits: 0 });
        }
        let mut transition = self.read(0, places)?;
        if transition.bits & RESTART != 0 && !self.is_end() {
            transition.places = self.restarted(0)?;
        }
        (n_marks(&transition.places) <= 1).then_some(transition)
    }

    fn is_end(&self) -> bool {
        self.class + 2 == self.classes[0].len()
    }

    /// Returns a reader of the end of a segment.
    fn at_end(&self) -> Self {
        Reader { class: self.classes[0].len() - 2, ..*self }
    }

    /// Returns the places of pattern `nth` and of those after it if they start anew at the character.
    fn restarted(&self, nth: usize) -> Option<Vec<Place>> {
        let begun = |nth: usize| {
            let dfa = &self.steps[nth];
            let state = if self.is_end() { DEAD } else { dfa.first(self.classes[nth][self.class]) };
            match state {
                DEAD => Some(Place::Gap),
                _ if dfa.looks_far_ahead() => None,
                state => Some(Place::Match { state, is_only: true, in_gap: false, alternative: None }),
            }
        };
        (nth..self.steps.len()).map(begun).collect()
    }

    /// Reads the character in the places of pattern `nth` and of those after it.
    fn read(&self, nth: usize, places: &[Place]) -> Option<Transition> {
        let Some((place, rest)) = places.split_first() else { return Some(Transition::default()) };
        self.n_left.set(self.n_left.get().checked_sub(1)?);
        let Place::Match { state, is_only, in_gap, alternative } = place else {
            return self.read_in_gap(nth, rest);
        };
        let dfa = &self.steps[nth];
        let (state, is_match) = dfa.step(*state, self.classes[nth][self.class]);
        let (is_over, is_only) = (state == DEAD, *is_only);
        let is_sure = is_match || !is_over && *in_gap && dfa.always_ends(state);
        match alternative {
            Some(alternative) if *in_gap && is_sure || !in_gap && is_over && !is_match => {
                self.take(nth, alternative)
            }
            _ if is_over && is_match => self.cut(nth, rest),
            _ if is_over && is_only => self.read_in_gap(nth, rest),
            _ if is_over => None,
            alternative => {
                let mut transition = self.read(nth + 1, rest)?;
                transition.bits &= !RESTART;
                let alternative = match alternative {
                    _ if is_match => Some(self.alternative(nth, rest, transition.bits)),
                    Some(alternative) => Some(self.read_alternative(nth, alternative, &mut transition.bits)),
                    None => None,
                };
                let is_only = is_only && dfa.first(self.classes[nth][self.class]) == DEAD;
                transition.places.insert(0, Place::Match { state, is_only, in_gap: *in_gap, alternative });
                Some(transition)
            }
        }
    }

    /// [`Reader::read`] if pattern `nth` is in a gap.
    fn read_in_gap(&self, nth: usize, rest: &[Place]) -> Option<Transition> {
        let place = self.restarted(nth)?.swap_remove(0);
        let Place::Match { state, .. } = place else {
            let mut transition = self.read(nth + 1, rest)?;
            transition.places.insert(0, place);
            return Some(transition);
        };
        if self.steps[nth].always_ends(state) {
            return self.cut(nth, rest);
        }
        let mut transition = self.read(nth + 1, rest)?;
        let alternative = self.alternative(nth, rest, transition.bits);
        if !matches!(alternative, Alternative::Known { is_written: true, .. }) {
            transition.bits &= !RESTART;
        }
        transition
            .places
            .insert(0, Place::Match { state, is_only: true, in_gap: true, alternative: Some(alternative) });
        Some(transition)
    }

    /// Ends a segment of pattern `nth` before the character.
    fn cut(&self, nth: usize, rest: &[Place]) -> Option<Transition> {
        let ended = self.at_end().read(nth + 1, rest)?;
        if self.is_end() {
            return Some(ended);
        }
        Some(Transition { places: self.restarted(nth)?, bits: ended.bits | HERE | RESTART })
    }

    /// Returns the case in which a segment of pattern `nth` ends before the character; `bits` are those of the case in
    /// which it goes on.
    fn alternative(&self, nth: usize, rest: &[Place], bits: usize) -> Alternative {
        match (self.at_end().read(nth + 1, rest), self.restarted(nth)) {
            (Some(ended), Some(places)) if ended.bits == bits & !(HERE | RESTART) => {
                Alternative::Known { places, n_back: 1, is_written: bits & HERE != 0 }
            }
            _ => Alternative::Lost,
        }
    }

    /// Reads the character in the other case; `bits` are those of the present case.
    fn read_alternative(&self, nth: usize, alternative: &Alternative, bits: &mut usize) -> Alternative {
        let &Alternative::Known { ref places, n_back, is_written } = alternative else {
            return Alternative::Lost;
        };
        match self.read(nth, places) {
            Some(transition)
                if (transition.bits | *bits) & (RARE | HERE) == 0
                    && depth(&transition.places) < MAX_DEPTH =>
            {
                if n_back == 2 && !is_written {
                    *bits |= MARK;
                }
                let n_back = if n_back == 1 { 2 } else { 0 };
                Alternative::Known { places: transition.places, n_back, is_written }
            }
            _ => Alternative::Lost,
        }
    }

    /// Goes on in the other case.
    fn take(&self, nth: usize, alternative: &Alternative) -> Option<Transition> {
        let Alternative::Known { places, n_back, is_written } = alternative else { return None };
        let mut transition = self.read(nth, places)?;
        let end = [AT_MARK, ONE_BACK, TWO_BACK][*n_back];
        if !is_written {
            if transition.bits & end != 0 {
                return None;
            }
            transition.bits |= end;
        }
        Some(transition)
    }
}

/// Returns how deep cases are nested.
fn depth(places: &[Place]) -> usize {
    let of = |place: &Place| match place {
        Place::Match { alternative: Some(Alternative::Known { places, .. }), .. } => 1 + depth(places),
        _ => 0,
    };
    places.iter().map(of).max().unwrap_or(0)
}

/// Returns how many cases need the mark.
fn n_marks(places: &[Place]) -> usize {
    let of = |place: &Place| match place {
        Place::Match { alternative: Some(Alternative::Known { places, n_back, is_written }), .. } => {
            usize::from(*n_back == 0 && !is_written) + n_marks(places)
        }
        _ => 0,
    };
    places.iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether the table decides all of the text up to its end, and the number of its states.
    fn reads_all(patterns: &[&str], text: &str) -> (bool, usize) {
        let steps = patterns.iter().map(|pattern| Arc::new(Dfa::new(pattern, 1 << 20).unwrap())).collect();
        let one_pass = OnePass::new(steps, None, CpuTier::best()).unwrap();
        let (mut read, mut ends) = (Read::default(), vec![0; text.len() + MIN_ENDS_ROOM]);
        // SAFETY: The processor has its best tier.
        let entry =
            unsafe { read_at_tier(CpuTier::best(), &one_pass, text, text.len(), &mut read, &mut ends) };
        (entry & HERE != 0, one_pass.table.len() / (one_pass.alphabet.n_classes + 2))
    }

    #[test]
    fn table_decides_prose_and_indented_lines() {
        let text = "A word, it's (two) words.\n\n    and more\r\n\t\tif x == 1:\n        é = 中国 ? \u{a0}y : z;  \n";
        let patterns: [&[&str]; 6] = [
            &[r" ?[^(\s|[.,!?…。，、।۔،])]+"],
            &[r" ?[^(\s|[.,!?…。，、।۔،])]+", r"\p{N}"],
            &["[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+", r"\p{N}"],
            &[
                r"\p{N}{1,3}",
                "[一-龥]+",
                r"[!-/:-@][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            ],
            &[
                r"[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+",
            ],
            &[r"\p{N}", r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"],
        ];
        for patterns in patterns {
            let (is_whole, n_states) = reads_all(patterns, text);
            assert!(is_whole && n_states < 50, "{patterns:?}: {n_states} states");
        }
        // "<ab" and "XY" begin matches of the first two patterns, but none is found here.
        let rare = ["<ab:[0-9]+>", "XYXYZ", r" ?\p{L}+| ?[^\s\p{L}]+|\s+(?!\S)|\s+"];
        assert!(reads_all(&rare, "MIX, XY XYZ and <abc> <ab:x\n").0);
        // What a quotation mark begins can end far away.
        assert!(!reads_all(&[r#""[^"]*"|."#], r#"a "quotation"#).0);
    }
}
