//! The cl100k family by hand: cl100k, llama3, qwen2 and their like.
//!
//! Enters: a document and the start of a pretoken. Leaves: where that pretoken ends. Words take one
//! character before them along, numbers come in groups, symbols take the newlines behind them along, and
//! white space is cut behind its last newline. Invariant: a start is all the context there is.
//! Source: the published patterns, read alternative by alternative; the differential tests compare with a
//! regex engine.

use super::byte_block::Block;
use super::runs::{Classes, Text};
use super::scan::{Rules, Starts};
use super::shared_rules::{self, Lines};
use super::unicode::{LETTER, MARK, NUMBER, SPACE, class_at};
use super::window::{Window, firsts};

/// The choices within the family.
///
/// `N_DIGITS`: numbers come in groups of at most so many. `MARKS`: combining marks belong to words.
/// `WHOLE_END`: white space at the text's end is one pretoken, newlines or not.
#[derive(Clone, Copy)]
pub(super) struct Cl100k<const N_DIGITS: u32, const MARKS: bool, const WHOLE_END: bool>;

impl<const N_DIGITS: u32, const MARKS: bool, const WHOLE_END: bool> Rules
    for Cl100k<N_DIGITS, MARKS, WHOLE_END>
{
    #[inline(always)]
    unsafe fn widen<B: Block>(window: &mut Window<B>, bytes: *const u8) {
        // SAFETY: the caller's promise is the same.
        unsafe { if MARKS { window.widen::<MARK>(bytes) } else { window.widen::<0>(bytes) } }
    }

    #[inline(always)]
    fn starts<B: Block, const ASCII: bool>(self, window: &Window<B>, is_last: bool) -> Starts {
        let block = window.block;
        let word = if MARKS { window.letter | window.mark } else { window.letter };
        let other = window.valid & !(word | window.number | window.space);
        let newlines = block.equal(b'\n') | block.equal(b'\r');
        let absorbed = shared_rules::upward(newlines, newlines & other << 1);
        let Lines { plain, starts: in_space, unknown_from } =
            shared_rules::lines::<B, ASCII, WHOLE_END>(window, newlines, absorbed, !window.space, is_last);
        let symbols = firsts(other) & !(block.equal(b' ') << 1);
        let prefixes = symbols & window.before::<ASCII>(word);
        let words = firsts(word) & !(plain << 1) & !window.after::<ASCII>(prefixes);
        let mut starts =
            in_space | symbols | words | shared_rules::numbers::<B, ASCII, N_DIGITS>(window, window.number);
        let apostrophes = block.equal(b'\'') & prefixes;
        if apostrophes != 0 {
            let (one, two) = shared_rules::contractions::<B, true, ASCII>(block);
            starts |= (apostrophes & one >> 1) << 2 | (apostrophes & two >> 1) << 3;
        }
        Starts { starts, unknown_from }
    }

    fn next_end(self, text: Text<'_>, at: usize) -> usize {
        let Some((class, n_bytes)) = class_at(&text, at) else { return at };
        let byte = text.as_bytes()[at];
        if byte == b'\'' {
            let n_letters = shared_rules::contraction::<true>(&text, at);
            if n_letters > 0 {
                return at + 1 + n_letters;
            }
        }
        let word = if MARKS { LETTER | MARK } else { LETTER };
        let is_word = |class: u8| class & word != 0;
        if is_word(class) {
            return text.skip(at, Classes::any_of(word));
        }
        if class & NUMBER != 0 {
            return shared_rules::numbers_end::<N_DIGITS>(&text, at);
        }
        let next = class_at(&text, at + n_bytes).map_or(SPACE, |(class, _)| class);
        if is_word(next) && !matches!(byte, b'\r' | b'\n') {
            return text.skip(at + n_bytes, Classes::any_of(word));
        }
        let is_other = |class: u8| class & (word | NUMBER | SPACE) == 0;
        if is_other(class) || byte == b' ' && is_other(next) {
            let mut end = text.skip(at + n_bytes, Classes::none_of(word | NUMBER | SPACE));
            while matches!(text.as_bytes().get(end), Some(b'\r' | b'\n')) {
                end += 1;
            }
            return end;
        }
        shared_rules::lines_end::<WHOLE_END>(&text, at)
    }
}
