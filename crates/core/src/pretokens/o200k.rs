//! The o200k family by hand: words are cut where case says. o200k, Tekken, Kimi.
//!
//! Enters: a document and the start of a pretoken. Leaves: where that pretoken ends. A word is upper-case
//! letters and then lower-case ones; letters without case and marks are both. Otherwise as
//! [`super::cl100k`], but that contractions belong to the word before them.
//! Masks leave to the character loop: upper case behind letters without case, where the cut depends on
//! whether lower case follows however far away; marks that symbols swallow; Han symbols and numbers
//! behind others.
//! Source: the published patterns, read alternative by alternative; the differential tests compare with a
//! regex engine.

use super::byte_block::Block;
use super::runs::{Classes, Text};
use super::scan::{Rules, Starts};
use super::shared_rules::{self, Lines};
use super::unicode::{HAN, LETTER, LOWER, MARK, NUMBER, SPACE, UPPER, class_at, class_of_code};
use super::window::{Window, firsts};

/// The choices within the family.
///
/// `N_DIGITS`: numbers come in groups of at most so many. `CONTRACTIONS`: words take them along. `SLASHES`:
/// symbols take slashes among the newlines behind them along. `HAN_APART`: a run of Han is a pretoken.
#[derive(Clone, Copy)]
pub(super) struct O200k<
    const N_DIGITS: u32,
    const CONTRACTIONS: bool,
    const SLASHES: bool,
    const HAN_APART: bool,
>;

impl<const N_DIGITS: u32, const CONTRACTIONS: bool, const SLASHES: bool, const HAN_APART: bool> Rules
    for O200k<N_DIGITS, CONTRACTIONS, SLASHES, HAN_APART>
{
    #[inline(always)]
    unsafe fn widen<B: Block>(window: &mut Window<B>, bytes: *const u8) {
        // SAFETY: the caller's promise is the same.
        unsafe {
            if HAN_APART {
                window.widen::<{ LOWER | UPPER | MARK | HAN }>(bytes)
            } else {
                window.widen::<{ LOWER | UPPER | MARK }>(bytes)
            }
        }
    }

    #[inline(always)]
    fn starts<B: Block, const ASCII: bool>(self, window: &Window<B>, is_last: bool) -> Starts {
        let Window { block, lower, upper, mark, .. } = *window;
        let han = if HAN_APART && !ASCII { window.han } else { 0 };
        let word = (window.letter | mark) & !han;
        let every_other = window.valid & !(word | window.number | window.space | han);
        let newlines = block.equal(b'\n') | block.equal(b'\r');
        let slashes = if SLASHES { block.equal(b'/') } else { 0 };
        let absorbed = shared_rules::upward(newlines | slashes, newlines & every_other << 1);
        let other = every_other & !absorbed;
        let Lines { plain, starts: in_space, mut unknown_from } =
            shared_rules::lines::<B, ASCII, false>(window, newlines, absorbed, !window.space, is_last);
        let symbols = firsts(other) & !(block.equal(b' ') << 1);
        let prefixes = symbols & window.before::<ASCII>(word);
        let behind_prefixes = window.after::<ASCII>(prefixes);
        let words = firsts(word) & !(plain << 1) & !behind_prefixes;
        let mut starts = in_space | symbols | words | upper & lower << 1 | firsts(han);
        starts |= shared_rules::numbers::<B, ASCII, N_DIGITS>(window, window.number & !han);
        if !ASCII {
            let without_case = word & !(lower | upper);
            let swallowed = firsts(mark) & every_other << 1 & !behind_prefixes;
            let mut unknown = upper & without_case << 1 | swallowed;
            if HAN_APART {
                unknown |= firsts(han) & !window.letter & (window.valid & !window.letter) << 1;
            }
            unknown_from = unknown_from.min(unknown.trailing_zeros());
        }
        let apostrophes = block.equal(b'\'') & prefixes & word << 1;
        if CONTRACTIONS && apostrophes != 0 {
            let (one, two) = shared_rules::contractions::<B, true, ASCII>(block);
            let (mut one, mut two) = (apostrophes & one >> 1, apostrophes & two >> 1);
            let mut again = (one << 2 | two << 3) & (one | two);
            while again != 0 {
                // Right behind a contraction, the next is the start of a word, and no longer behind one.
                let bit = again & again.wrapping_neg();
                (one, two) = (one & !bit, two & !bit);
                again = (one << 2 | two << 3) & (one | two) & !(bit | (bit - 1));
            }
            starts = starts & !(one | two | two << 2) | one << 2 | two << 3;
        }
        Starts { starts, unknown_from }
    }

    fn next_end(self, text: Text<'_>, at: usize) -> usize {
        let Some((class, n_bytes)) = class_at(&text, at) else { return at };
        let byte = text.as_bytes()[at];
        if HAN_APART && class & HAN != 0 {
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

impl<const N_DIGITS: u32, const CONTRACTIONS: bool, const SLASHES: bool, const HAN_APART: bool>
    O200k<N_DIGITS, CONTRACTIONS, SLASHES, HAN_APART>
{
    /// Characters of words that are not of `case`.
    fn word_without(case: u8) -> Classes {
        Classes { any_of: LETTER | MARK, none_of: if HAN_APART { case | HAN } else { case } }
    }

    /// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+`, with its backtracking.
    fn word_with_lower(text: Text<'_>, at: usize) -> Option<usize> {
        let end = text.skip(at, Self::word_without(LOWER));
        let all = text.skip(end, Self::word_without(UPPER));
        if all > end {
            return Some(all);
        }
        // Upper case at the end is given back, down to a letter that has no case.
        let mut before = text.get(at..end)?.char_indices().rev();
        let (offset, character) =
            before.find(|&(_, character)| class_of_code(u32::from(character)) & UPPER == 0)?;
        Some(at + offset + character.len_utf8())
    }

    /// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*` where the other found nothing.
    fn word_of_upper(text: Text<'_>, at: usize) -> Option<usize> {
        let end = text.skip(at, Self::word_without(LOWER));
        (end > at).then_some(end)
    }
}
