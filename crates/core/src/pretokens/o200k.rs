//! The o200k family by hand: words are cut where case says, and take a contraction behind them along.
//!
//! Enters: a document and the start of a pretoken. Leaves: where that pretoken ends. A word is upper-case
//! letters and then lower-case ones; letters without case and marks are both. Otherwise as
//! [`super::cl100k`], but that symbols take slashes behind their newlines along too.
//! Masks leave two things to the character loop: upper case behind letters without case, where the cut
//! depends on whether lower case follows however far away, and marks that symbols swallow.
//! Source: the published pattern, read alternative by alternative; the differential tests compare with a
//! regex engine.

use super::block::Block;
use super::parts::{self, Lines};
use super::unicode::{LETTER, LOWER, MARK, NUMBER, SPACE, UPPER, class_at, skip};
use super::window::{Window, firsts};
use super::windows::{Rules, Starts};

/// The choices within the family: numbers come in groups of `N_DIGITS`, 1 or 3.
#[derive(Clone, Copy)]
pub(super) struct O200k<const N_DIGITS: u32>;

impl<const N_DIGITS: u32> Rules for O200k<N_DIGITS> {
    const CASES: bool = true;

    #[inline(always)]
    fn starts<B: Block, const ASCII: bool>(self, window: &Window<B>, is_last: bool) -> Starts {
        let block = window.block;
        let Window { lower, upper, mark, .. } = *window;
        let word = window.letter | mark;
        let every_other = window.valid & !(word | window.number | window.space);
        let newlines = block.equal(b'\n') | block.equal(b'\r');
        let absorbed = parts::upward(newlines | block.equal(b'/'), newlines & every_other << 1);
        let other = every_other & !absorbed;
        let Lines { plain, starts: in_space, mut unknown_from } =
            parts::lines::<B, ASCII, false>(window, newlines, absorbed, is_last);
        let symbols = firsts(other) & !(block.equal(b' ') << 1);
        let prefixes = symbols & window.before::<ASCII>(word);
        let behind_prefixes = window.after::<ASCII>(prefixes);
        let words = firsts(word) & !(plain << 1) & !behind_prefixes;
        let mut starts = in_space | symbols | words | upper & lower << 1;
        starts |= parts::numbers::<B, ASCII, N_DIGITS>(window);
        if !ASCII {
            let without_case = word & !(lower | upper);
            let swallowed = firsts(mark) & every_other << 1 & !behind_prefixes;
            unknown_from = unknown_from.min((upper & without_case << 1 | swallowed).trailing_zeros());
        }
        let apostrophes = block.equal(b'\'') & prefixes & word << 1;
        if apostrophes != 0 {
            let (one, two) = parts::contractions::<B, true, ASCII>(block);
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

    fn next_end(self, text: &str, at: usize) -> usize {
        let Some((class, n_bytes)) = class_at(text, at) else { return at };
        let byte = text.as_bytes()[at];
        let is_prefix = class & (LETTER | NUMBER) == 0 && !matches!(byte, b'\r' | b'\n');
        let prefixed = is_prefix.then_some(at + n_bytes);
        let word = prefixed
            .and_then(|at| word_with_lower(text, at))
            .or_else(|| word_with_lower(text, at))
            .or_else(|| prefixed.and_then(|at| word_of_upper(text, at)))
            .or_else(|| word_of_upper(text, at));
        if let Some(end) = word {
            if text.as_bytes().get(end) == Some(&b'\'') {
                let n_letters = parts::contraction::<true>(text, end);
                return if n_letters > 0 { end + 1 + n_letters } else { end };
            }
            return end;
        }
        if class & NUMBER != 0 {
            return parts::numbers_end::<N_DIGITS>(text, at);
        }
        let is_other = |class: u8| class & (LETTER | NUMBER | SPACE) == 0;
        let next = class_at(text, at + n_bytes).map_or(SPACE, |(class, _)| class);
        if is_other(class) || byte == b' ' && is_other(next) {
            let mut end = skip(text, at + n_bytes, is_other);
            while matches!(text.as_bytes().get(end), Some(b'\r' | b'\n' | b'/')) {
                end += 1;
            }
            return end;
        }
        parts::lines_end::<false>(text, at)
    }
}

fn has_no_lower(class: u8) -> bool {
    class & (LETTER | MARK) != 0 && class & LOWER == 0
}

fn has_no_upper(class: u8) -> bool {
    class & (LETTER | MARK) != 0 && class & UPPER == 0
}

/// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+`, with its backtracking.
fn word_with_lower(text: &str, at: usize) -> Option<usize> {
    let mut behind_both = None;
    let mut end = at;
    while let Some((class, n_bytes)) = class_at(text, end) {
        if !has_no_lower(class) {
            break;
        }
        end += n_bytes;
        if has_no_upper(class) {
            behind_both = Some(end);
        }
    }
    let all = skip(text, end, has_no_upper);
    if all > end { Some(all) } else { behind_both }
}

/// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*` where the other alternative found nothing.
fn word_of_upper(text: &str, at: usize) -> Option<usize> {
    let end = skip(text, at, has_no_lower);
    (end > at).then_some(end)
}
