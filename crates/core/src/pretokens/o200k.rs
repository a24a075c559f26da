//! The o200k family, hand-written: o200k, Tekken, Kimi.
//!
//! Like [`super::cl100k`], except for words:
//!
//! ```text
//! [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//! [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//! ```
//!
//! So a word is upper-case letters followed by lower-case ones. Letters without case and marks count as both. A
//! contraction belongs to the word before it.
//!
//! The masks leave three rare cases to the character loop: upper case after letters without case, where the split
//! depends on whether lower case follows, at any distance; marks after symbols; a Han character that is not a
//! letter after any other character that is not.
//!
//! Source: tiktoken's `openai_public.py` and the published tokenizer.json files. Differential tests in `tests.rs`
//! compare the scanner with a regex engine.

use super::byte_block::Block;
use super::runs::{Classes, Text};
use super::scan::{Reach, Rules, Starts};
use super::shared_rules::{self, Lines};
use super::unicode::{HAN, LETTER, LOWER, MARK, NUMBER, SPACE, UPPER, class_at, class_of_code};
use super::window::{Window, run_starts};

/// The variants of the family.
///
/// `N_DIGITS`: the size of a group of numbers. `CONTRACTIONS`: a contraction belongs to the word before it. `SLASHES`:
/// slashes among the newlines after symbols belong to the symbols, too. `ISOLATE_HAN`: a run of Han is a pretoken.
#[derive(Clone, Copy, Default)]
pub(super) struct O200k<
    const N_DIGITS: u32,
    const CONTRACTIONS: bool,
    const SLASHES: bool,
    const ISOLATE_HAN: bool,
>;

impl<const N_DIGITS: u32, const CONTRACTIONS: bool, const SLASHES: bool, const ISOLATE_HAN: bool> Rules
    for O200k<N_DIGITS, CONTRACTIONS, SLASHES, ISOLATE_HAN>
{
    const CLASSES: u8 = if ISOLATE_HAN { LOWER | UPPER | MARK | HAN } else { LOWER | UPPER | MARK };

    #[inline(always)]
    fn starts<B: Block, const ASCII: bool>(self, window: &Window<B>, is_last: bool) -> Starts {
        let Window { block, lower, upper, mark, .. } = *window;
        let han = if ISOLATE_HAN && !ASCII { window.han } else { 0 };
        let word = (window.letter | mark) & !han;
        let every_other = window.valid & !(word | window.number | window.space | han);
        let newlines = block.equal(b'\n') | block.equal(b'\r');
        let slashes = if SLASHES { block.equal(b'/') } else { 0 };
        let attached = shared_rules::extend_runs(newlines | slashes, newlines & every_other << 1);
        let other = every_other & !attached;
        let Lines { plain, starts: in_space, mut unknown_from } =
            shared_rules::lines::<B, ASCII, false>(window, newlines, attached, !window.space, is_last);
        let symbols = run_starts(other) & !(block.equal(b' ') << 1);
        let prefixes = symbols & window.before::<ASCII>(word);
        let after_prefixes = window.after::<ASCII>(prefixes);
        let words = run_starts(word) & !(plain << 1) & !after_prefixes;
        let mut starts = in_space | symbols | words | upper & lower << 1 | run_starts(han);
        starts |= shared_rules::numbers::<B, ASCII, N_DIGITS>(window, window.number & !han);
        if !ASCII {
            let without_case = word & !(lower | upper);
            let swallowed = run_starts(mark) & every_other << 1 & !after_prefixes;
            let mut unknown = upper & without_case << 1 | swallowed;
            if ISOLATE_HAN {
                unknown |= run_starts(han) & !window.letter & (window.valid & !window.letter) << 1;
            }
            unknown_from = unknown_from.min(unknown.trailing_zeros());
        }
        let apostrophes = block.rare(b'\'', prefixes & word << 1);
        if CONTRACTIONS && apostrophes != 0 {
            let (one, two) = shared_rules::contractions::<B, true, ASCII>(block);
            let (mut one, mut two) = (apostrophes & one >> 1, apostrophes & two >> 1);
            let mut again = (one << 2 | two << 3) & (one | two);
            while again != 0 {
                // "a's's": the second apostrophe follows a contraction, not a word, so it is the prefix of a word,
                // "s".
                let bit = again & again.wrapping_neg();
                (one, two) = (one & !bit, two & !bit);
                again = (one << 2 | two << 3) & (one | two) & !(bit | (bit - 1));
            }
            starts = starts & !(one | two | two << 2) | one << 2 | two << 3;
        }
        Starts { starts, unknown_from, reach: Reach::CONTRACTIONS }
    }

    fn next_end(self, text: Text<'_>, at: usize) -> usize {
        let Some((class, n_bytes)) = class_at(&text, at) else { return at };
        let byte = text.as_bytes()[at];
        if ISOLATE_HAN && class & HAN != 0 {
            return text.skip(at, Classes::any_of(HAN));
        }
        let is_prefix = class & (LETTER | NUMBER) == 0 && !matches!(byte, b'\r' | b'\n');
        let prefixed = is_prefix.then_some(at + n_bytes);
        let word = prefixed
            .and_then(|at| Self::word_with_lower(text, at))
            .or_else(|| Self::word_with_lower(text, at))
            .or_else(|| prefixed.and_then(|at| Self::word_of_upper(text, at)))
            .or_else(|| Self::word_of_upper(text, at));
        if let Some(end) = word {
            if CONTRACTIONS && text.as_bytes().get(end) == Some(&b'\'') {
                let n_letters = shared_rules::contraction::<true>(&text, end);
                return if n_letters > 0 { end + 1 + n_letters } else { end };
            }
            return end;
        }
        if class & NUMBER != 0 {
            return shared_rules::numbers_end::<N_DIGITS>(&text, at);
        }
        let is_other = |class: u8| class & (LETTER | NUMBER | SPACE) == 0;
        let next = class_at(&text, at + n_bytes).map_or(SPACE, |(class, _)| class);
        if is_other(class) || byte == b' ' && is_other(next) {
            let mut end = text.skip(at + n_bytes, Classes::none_of(LETTER | NUMBER | SPACE));
            while let Some(byte) = text.as_bytes().get(end) {
                if !(matches!(byte, b'\r' | b'\n') || SLASHES && *byte == b'/') {
                    break;
                }
                end += 1;
            }
            return end;
        }
        shared_rules::lines_end::<false>(&text, at)
    }
}

impl<const N_DIGITS: u32, const CONTRACTIONS: bool, const SLASHES: bool, const ISOLATE_HAN: bool>
    O200k<N_DIGITS, CONTRACTIONS, SLASHES, ISOLATE_HAN>
{
    /// Matches the characters of words, except those of `case`.
    fn word_without(case: u8) -> Classes {
        Classes { any_of: LETTER | MARK, none_of: if ISOLATE_HAN { case | HAN } else { case } }
    }

    /// Finds the end of `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+`, with its backtracking.
    fn word_with_lower(text: Text<'_>, at: usize) -> Option<usize> {
        let end = text.skip(at, Self::word_without(LOWER));
        let all = text.skip(end, Self::word_without(UPPER));
        if all > end {
            return Some(all);
        }
        // No lower case follows: backtrack over the upper case at the end, to a letter without case.
        let mut before = text.get(at..end)?.char_indices().rev();
        let (offset, character) =
            before.find(|&(_, character)| class_of_code(u32::from(character)) & UPPER == 0)?;
        Some(at + offset + character.len_utf8())
    }

    /// Finds the end of `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*` if [`Self::word_with_lower`]
    /// found none.
    fn word_of_upper(text: Text<'_>, at: usize) -> Option<usize> {
        let end = text.skip(at, Self::word_without(LOWER));
        (end > at).then_some(end)
    }
}
