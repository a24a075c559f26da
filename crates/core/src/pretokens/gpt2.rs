//! The GPT-2 pattern by hand.
//!
//! Enters: a document and the start of a pretoken. Leaves: where that pretoken ends. Cost: one table
//! lookup per character. Invariant: a start is all the context there is, so scanning may begin at any.
//! Source: the published pattern, read alternative by alternative; the differential tests compare with a
//! regex engine.

use super::block::Block;
use super::parts;
use super::unicode::{LETTER, NUMBER, SPACE, class_at, skip};
use super::window::{Window, firsts};
use super::windows::{Rules, Starts};

/// The end of the pretoken that starts at `at`; `at` itself only at the end of the text.
pub(super) fn next_end(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let Some((mut class, n_bytes)) = class_at(text, at) else { return at };
    if bytes[at] == b'\'' {
        let n_letters = parts::contraction::<false>(text, at);
        if n_letters > 0 {
            return at + 1 + n_letters;
        }
    }
    let mut end = at + n_bytes;
    if class & SPACE != 0 {
        match class_at(text, end) {
            Some((next, n_next)) if bytes[at] == b' ' && next & SPACE == 0 => {
                class = next;
                end += n_next;
            }
            _ => return parts::spaces_end(text, at),
        }
    }
    let kind = class & (LETTER | NUMBER);
    skip(text, end, |class| class & (LETTER | NUMBER) == kind && class & SPACE == 0)
}

/// The rules of the pattern on masks.
#[derive(Clone, Copy)]
pub(super) struct Gpt2;

impl Rules for Gpt2 {
    #[inline(always)]
    unsafe fn widen<B: Block>(window: &mut Window<B>, bytes: *const u8) {
        // SAFETY: the caller's promise is the same.
        unsafe { window.widen::<0>(bytes) }
    }

    #[inline(always)]
    fn starts<B: Block, const ASCII: bool>(self, window: &Window<B>, _is_last: bool) -> Starts {
        let Window { block, valid, letter, number, space, .. } = *window;
        let other = window.other();
        let behind_blank = block.equal(b' ') << 1;
        // A run of a class starts a pretoken, unless the ' ' before it does.
        let mut starts = (firsts(letter) | firsts(number) | firsts(other)) & !behind_blank;
        let apostrophes = block.equal(b'\'') & starts & letter >> 1;
        // The last white space of a run, before something else, starts what follows or stands alone.
        starts |= firsts(space) | space & window.before::<ASCII>(valid & !space);
        if apostrophes != 0 {
            let (one, two) = parts::contractions::<B, false, ASCII>(block);
            let (one, two) = (apostrophes & one >> 1, apostrophes & two >> 1);
            starts = starts & !((one | two) << 1) | one << 2 | two << 3;
        }
        Starts { starts, unknown_from: 64 }
    }

    fn next_end(self, text: &str, at: usize) -> usize {
        next_end(text, at)
    }
}
