//! Where a document may be cut so that the parts give the same pretokens as the whole.
//!
//! Two rules find such places. In the named patterns no pretoken holds a space, or a comma or full stop of
//! East Asia, after a letter: between the two a pretoken ends, whatever else the text holds, so a look at a few
//! bytes is enough. Text without such a place is scanned from its begin, and what text still to come could change
//! is kept together: the last two pretokens, a run of white space, the longest special token less one byte. Nor is
//! such a place behind white space: at the end of a part that would be another pretoken. Of a pattern that is
//! not memoryless no document is cut.
//!
//! No cut falls inside a special token: cut text holds the same special tokens.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::pretokens::{Pretokenizer, is_letter};
use crate::special::SpecialTokens;

/// How far back from the wished place a cut is looked for.
const REACH_BYTES: usize = 16 << 10;
/// Pretokens that text still to come may change.
const N_UNSETTLED: usize = 2;
/// What no pretoken holds after a letter.
const AFTER_LETTERS: [&[u8]; 4] = [b" ", "，".as_bytes(), "。".as_bytes(), "、".as_bytes()];

/// A place to cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The offset in bytes.
    pub at: usize,
    /// Whether the parts are documents anyway, because a special token stands there.
    pub is_boundary: bool,
}

/// Finds cuts for one pattern and its special tokens.
#[derive(Clone)]
pub struct SafeCuts {
    pretokenizer: Arc<Pretokenizer>,
    specials: Arc<SpecialTokens>,
    /// Whether special tokens end documents; otherwise they are text like any other.
    specials_split: bool,
}

impl SafeCuts {
    /// SafeCuts that no pretoken of this pattern and none of these special tokens crosses.
    pub fn new(pretokenizer: Arc<Pretokenizer>, specials: Arc<SpecialTokens>, specials_split: bool) -> Self {
        SafeCuts { pretokenizer, specials, specials_split }
    }

    /// The length in bytes of the longest special token.
    pub fn longest_special(&self) -> usize {
        self.specials.longest()
    }

    /// A cut at or some way before `wished`, found without scanning.
    pub fn near(&self, text: &str, wished: usize) -> Option<Cut> {
        if !self.pretokenizer.is_memoryless() {
            return None;
        }
        let latest = wished.min(text.len().checked_sub(self.specials.longest().max(1))?);
        (latest.saturating_sub(REACH_BYTES).max(1)..=latest)
            .rev()
            .find(|&at| is_after_letter(text, at) && !self.touches_special(text, at))
            .map(|at| Cut { at, is_boundary: false })
    }

    /// The last cut of a text that begins where a pretoken begins and goes on unseen, found by scanning all of it; None
    /// where all of it must be kept together.
    pub fn last_by_scanning(&self, text: &str) -> Result<Option<Cut>> {
        if !self.pretokenizer.is_memoryless() {
            return Ok(None);
        }
        let longest = self.specials.longest().max(1);
        let Some(settled) = text.len().checked_sub(longest - 1) else { return Ok(None) };
        let settled = text.floor_char_boundary(settled);
        let mut start = 0;
        if self.specials_split {
            let mut from = 0;
            while let Some(found) = self.specials.find(text.as_bytes(), from) {
                if found.end > settled {
                    // It is a special token, though perhaps a longer one: where it starts a document ends.
                    return Ok((found.start > 0).then_some(Cut { at: found.start, is_boundary: true }));
                }
                (start, from) = (found.end, found.end);
            }
        }
        let part = &text[start..settled];
        let n_text = part.trim_end().len();
        let is_cut = |&at: &usize| {
            // White space at the end of a text is one pretoken, before more text it is two: `\s+(?!\S)`.
            at <= n_text
                && !part[..at].ends_with(char::is_whitespace)
                && !self.touches_special(text, start + at)
        };
        // Only the ends that were found last are kept, since a text may be long.
        let (mut inside, mut ends, mut some, mut from) = (None, Vec::new(), Vec::new(), 0);
        while from < part.len() {
            self.pretokenizer.fill(part, from, &mut some)?;
            from = some.last().copied().unwrap_or(part.len());
            ends.try_reserve(some.len()).map_err(Error::out_of_memory("pretoken ends"))?;
            ends.extend_from_slice(&some);
            let n_settled = ends.len().saturating_sub(N_UNSETTLED);
            inside = ends[..n_settled].iter().rev().copied().find(is_cut).or(inside);
            ends.drain(..n_settled);
        }
        let inside = inside.map(|at| start + at);
        Ok(match inside {
            Some(at) => Some(Cut { at, is_boundary: false }),
            None => (start > 0).then_some(Cut { at: start, is_boundary: true }),
        })
    }

    /// Whether a special token reaches across `at`, ends or begins there.
    fn touches_special(&self, text: &str, at: usize) -> bool {
        let longest = self.specials.longest();
        if longest == 0 {
            return false;
        }
        let window = &text.as_bytes()[at.saturating_sub(longest)..(at + longest).min(text.len())];
        let at = at - at.saturating_sub(longest);
        let mut from = 0;
        // Special tokens may overlap: each place where one may begin is looked at.
        while let Some(found) = self.specials.find(window, from) {
            if found.start > at {
                return false;
            }
            if found.end >= at {
                return true;
            }
            from = found.start + 1;
        }
        false
    }
}

/// Whether a letter ends at `at`, and no pretoken holds what follows after a letter.
fn is_after_letter(text: &str, at: usize) -> bool {
    let (before, after) = text.as_bytes().split_at(at);
    AFTER_LETTERS.iter().any(|begin| after.starts_with(begin))
        && before.last().is_some_and(|&last| match last.is_ascii() {
            true => last.is_ascii_alphabetic(),
            false => text[..at].chars().next_back().is_some_and(is_letter),
        })
}
