//! Cuts a text for a vocabulary whose merging starts with characters.
//!
//! Every merge makes a token that occurs in the text. So if two characters are neighbours in no token that a merge
//! makes, no token spans a cut between them. The units between such cuts are merged one by one, and have the ids of
//! the whole text. Most are parts of words, and the same few make up most of a text, so the cache knows them.
//!
//! Each pair of ASCII characters has a byte, 16 KB in all: of a bit, eight times fewer, a text took longer. Other pairs
//! are in a hash set. Cost: a few operations a character.

use aho_corasick::{AhoCorasick, MatchKind};
use hashbrown::HashSet;

use super::scan::ENDS_PER_FILL;
use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::vocabulary::Vocabulary;
use crate::vocabulary::characters::SPACE_SYMBOL;

/// How many ASCII bytes are checked together.
const ASCII_RUN: usize = 64;

/// Names the memory in the message of [`Error::OutOfMemory`].
const WHAT: &str = "the cuts between characters";

/// Which characters can be neighbours in a token, and which literals are units whatever surrounds them.
pub(super) struct CharacterCuts {
    /// Entry `128 * a + b`: 0 if a token can have `a` and then `b`, 1 if a unit ends between them.
    ascii: Box<[u8; 1 << 14]>,
    others: HashSet<(char, char)>,
    /// The characters that have a token, if those without one become one id for several in a row.
    known: Option<HashSet<char>>,
    pub(super) whole: Option<AhoCorasick>,
}

impl CharacterCuts {
    /// Finds the cuts of a vocabulary; [`Error::Invalid`] if its merging starts with bytes.
    pub(super) fn new(vocabulary: &Vocabulary) -> Result<Self> {
        let Some(characters) = vocabulary.characters() else {
            return Err(Error::Invalid(
                "this vocabulary merges bytes, but the pattern is for vocabularies that merge characters; choose another \
                 pattern".into(),
            ));
        };
        let mut cuts =
            CharacterCuts { ascii: Box::new([1; 1 << 14]), others: HashSet::new(), known: None, whole: None };
        for &[left, right, _] in vocabulary.merges() {
            // What is inside the two was joined by other merges.
            let [left, right] = [left, right]
                .map(|id| std::str::from_utf8(vocabulary.token(id).unwrap_or_default()).unwrap_or_default());
            let (Some(left), Some(right)) = (left.chars().next_back(), right.chars().next()) else {
                continue;
            };
            if left.is_ascii() && right.is_ascii() {
                cuts.ascii[entry(left as u8, right as u8)] = 0;
            } else {
                cuts.others.try_reserve(1).map_err(Error::out_of_memory(WHAT))?;
                cuts.others.insert((left, right));
            }
        }
        if let Some(unknown) = characters.unknown.filter(|unknown| unknown.is_fused) {
            cuts.join_unknown(vocabulary, unknown.drops_spaces)?;
        }
        if !characters.whole.is_empty() {
            let literals = characters.whole.iter().filter_map(|&id| vocabulary.token(id));
            let matcher = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(literals);
            cuts.whole = Some(matcher.map_err(|error| Error::Invalid(error.to_string()))?);
        }
        Ok(cuts)
    }

    /// Lets characters without a token be neighbours, but not spaces if those are dropped.
    fn join_unknown(&mut self, vocabulary: &Vocabulary, drops_spaces: bool) -> Result<()> {
        let mut known = HashSet::new();
        known.try_reserve(vocabulary.n_tokens()).map_err(Error::out_of_memory(WHAT))?;
        known.extend(vocabulary.tokens().filter_map(|(id, token)| {
            // A token for a byte is not the token of a character.
            vocabulary.id_of(token).filter(|&found| found == id)?;
            let mut characters = std::str::from_utf8(token).ok()?.chars();
            characters.next().filter(|_| characters.next().is_none())
        }));
        known.extend(drops_spaces.then_some(' '));
        let is_unknown = |byte: &u8| !known.contains(&char::from(*byte));
        for left in (0..0x80).filter(is_unknown) {
            for right in (0..0x80).filter(is_unknown) {
                self.ascii[entry(left, right)] = 0;
            }
        }
        self.known = Some(known);
        Ok(())
    }

    /// Whether a unit ends between these characters of a text in which U+2581 can still stand for a space.
    pub(super) fn ends_between(&self, before: char, after: char) -> bool {
        let [left, right] =
            [before, after].map(|character| if character == SPACE_SYMBOL { ' ' } else { character });
        self.whole.is_none() && !self.may_join(left, right) && !self.may_join(before, after)
    }

    /// Whether a token can have the two side by side.
    fn may_join(&self, left: char, right: char) -> bool {
        match (left.is_ascii(), right.is_ascii()) {
            (true, true) => self.ascii[entry(left as u8, right as u8)] == 0,
            _ => {
                let is_unknown = |known: &HashSet<char>| !known.contains(&left) && !known.contains(&right);
                self.known.as_ref().is_some_and(is_unknown) || self.others.contains(&(left, right))
            }
        }
    }

    /// Implements [`super::Pretokenizer::fill`].
    pub(super) fn fill(&self, document: &str, from: usize, ends: &mut Vec<u32>) -> Result<()> {
        ends.clear();
        ends.grow(ENDS_PER_FILL + ASCII_RUN, "pretoken ends")?;
        let text = &document[from..];
        let Some(whole) = &self.whole else {
            self.add(text, 0, text.len(), ends);
            return Ok(());
        };
        let mut at = 0;
        for found in whole.find_iter(text) {
            if !self.add(text, at, found.start(), ends) || ends.len() >= ENDS_PER_FILL {
                return Ok(());
            }
            at = found.end();
            let Ok(distance) = u32::try_from(at) else { return Ok(()) };
            ends.push(distance);
        }
        self.add(text, at, text.len(), ends);
        Ok(())
    }

    /// Adds the ends of the units of `text[at..end]`; returns whether there was room for all of them.
    fn add(&self, text: &str, mut at: usize, end: usize, ends: &mut Vec<u32>) -> bool {
        let bytes = &text.as_bytes()[..end];
        while at < end {
            if ends.len() + ASCII_RUN > ENDS_PER_FILL {
                return false;
            }
            let run = &bytes[at..end.min(at + ASCII_RUN + 1)];
            let n_ascii = if run.is_ascii() {
                run.len()
            } else {
                run.iter().take_while(|byte| byte.is_ascii()).count()
            };
            if n_ascii > 1 && u32::try_from(at + n_ascii).is_ok() {
                self.add_ascii(&run[..n_ascii], at as u32, ends);
                at += n_ascii - 1;
                continue;
            }
            let mut characters = text[at..end].chars();
            let (Some(first), second) = (characters.next(), characters.next()) else { return false };
            at += first.len_utf8();
            if second.is_none_or(|second| !self.may_join(first, second)) {
                let Ok(distance) = u32::try_from(at) else { return false };
                ends.push(distance);
            }
        }
        true
    }

    /// Adds the ends between the characters of `run`, which is ASCII and begins at `at`. It has no branch per
    /// character, since whether a unit ends is unpredictable.
    fn add_ascii(&self, run: &[u8], at: u32, ends: &mut Vec<u32>) {
        let before = ends.len();
        ends.resize(before + ASCII_RUN, 0);
        let (found, mut n) = (&mut ends[before..], 0);
        for (distance, pair) in (at + 1..).zip(run.windows(2)) {
            let (&[left, right], Some(next)) = (pair, found.get_mut(n)) else { break };
            *next = distance;
            n += usize::from(self.ascii[entry(left, right)]);
        }
        ends.truncate(before + n);
    }
}

/// Returns the index in `ascii` of a pair.
#[inline(always)]
fn entry(left: u8, right: u8) -> usize {
    (usize::from(left) << 7 | usize::from(right)) & 0x3fff
}
