//! Cuts a text for a vocabulary whose merging starts with characters.
//!
//! Every merge makes a token that lies in the text, so no token spans a cut between two characters which stand side by
//! side in no token that a merge makes. The units between such cuts are merged one by one, with the ids of the whole
//! text. Most are part of a word, and the same few of them make up most of a text, so the cache knows them.
//!
//! Pairs of ASCII have a bit each, 2 KB in all; the others are in a hash set. Cost: a few operations for each character.

use aho_corasick::{AhoCorasick, MatchKind};
use hashbrown::HashSet;

use super::scan::ENDS_PER_FILL;
use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::vocabulary::Vocabulary;
use crate::vocabulary::characters::SPACE_SYMBOL;

/// Names the memory in the message of [`Error::OutOfMemory`].
const WHAT: &str = "the cuts between characters";

/// Which characters may stand side by side in a token, and which literals are units whatever stands around them.
pub(super) struct CharacterCuts {
    /// Bit `b` of entry `a`: a token may hold `a` and then `b`.
    ascii: [u128; 128],
    others: HashSet<(char, char)>,
    pub(super) whole: Option<AhoCorasick>,
}

impl CharacterCuts {
    /// The cuts of a vocabulary; [`Error::Invalid`] if its merging starts with bytes.
    pub(super) fn new(vocabulary: &Vocabulary) -> Result<Self> {
        let Some(characters) = vocabulary.characters() else {
            return Err(Error::Invalid(
                "the vocabulary merges bytes, not characters; choose another pattern".into(),
            ));
        };
        let mut cuts = CharacterCuts { ascii: [0; 128], others: HashSet::new(), whole: None };
        for &[_, _, merged] in vocabulary.merges()? {
            let token = std::str::from_utf8(vocabulary.token(merged).unwrap_or_default()).unwrap_or_default();
            for (left, right) in token.chars().zip(token.chars().skip(1)) {
                match (left.is_ascii(), right.is_ascii()) {
                    (true, true) => cuts.ascii[left as usize] |= 1 << right as u32,
                    _ => {
                        cuts.others.try_reserve(1).map_err(Error::out_of_memory(WHAT))?;
                        cuts.others.insert((left, right));
                    }
                }
            }
        }
        if !characters.whole.is_empty() {
            let literals = characters.whole.iter().filter_map(|&id| vocabulary.token(id));
            let matcher = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(literals);
            cuts.whole = Some(matcher.map_err(|error| Error::Invalid(error.to_string()))?);
        }
        Ok(cuts)
    }

    /// Whether a unit ends between these characters of a text in which U+2581 may still stand for a space.
    pub(super) fn ends_between(&self, before: char, after: char) -> bool {
        let [left, right] =
            [before, after].map(|character| if character == SPACE_SYMBOL { ' ' } else { character });
        self.whole.is_none() && !self.may_join(left, right)
    }

    /// Whether a token may hold the two side by side.
    fn may_join(&self, left: char, right: char) -> bool {
        match (left.is_ascii(), right.is_ascii()) {
            (true, true) => self.ascii[left as usize] >> right as u32 & 1 == 1,
            _ => self.others.contains(&(left, right)),
        }
    }

    /// [`super::Pretokenizer::fill`].
    pub(super) fn fill(&self, document: &str, from: usize, ends: &mut Vec<u32>) -> Result<()> {
        ends.clear();
        ends.grow(ENDS_PER_FILL, "pretoken ends")?;
        let text = &document[from..];
        let Some(whole) = &self.whole else {
            self.add(text, 0, text.len(), ends);
            return Ok(());
        };
        let mut at = 0;
        for found in whole.find_iter(text) {
            if !self.add(text, at, found.start(), ends) || ends.len() == ENDS_PER_FILL {
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
            if ends.len() == ENDS_PER_FILL {
                return false;
            }
            let is_end = if let (first @ 0..128, Some(&second @ 0..128)) = (bytes[at], bytes.get(at + 1)) {
                at += 1;
                self.ascii[usize::from(first)] >> second & 1 == 0
            } else {
                let mut characters = text[at..end].chars();
                let (Some(first), second) = (characters.next(), characters.next()) else { return false };
                at += first.len_utf8();
                second.is_none_or(|second| !self.may_join(first, second))
            };
            if is_end {
                let Ok(distance) = u32::try_from(at) else { return false };
                ends.push(distance);
            }
        }
        true
    }
}
