//! The GPT-2 pattern by hand.
//!
//! Enters: a document and the start of a pretoken. Leaves: where that pretoken ends. Cost: one table
//! lookup per character. Invariant: a start is all the context there is, so scanning may begin at any.
//! Source: the published pattern, read alternative by alternative; the differential tests compare with a
//! regex engine.

use super::byte_block::Block;
use super::runs::{Classes, Text};
use super::scan::{Rules, Starts};
use super::shared_rules;
use super::unicode::{LETTER, NUMBER, SPACE, class_at};
use super::window::{Window, firsts};

/// The rules of the pattern. `DIGITS_APART`: each number is cut out first, and then nothing joins across.
#[derive(Clone, Copy)]
pub(super) struct Gpt2<const DIGITS_APART: bool>;

impl<const DIGITS_APART: bool> Rules for Gpt2<DIGITS_APART> {
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
        let mut starts = (firsts(letter) | firsts(other)) & !behind_blank;
        let apostrophes = block.equal(b'\'') & starts & letter >> 1;
        // The last white space of a run, before something else, starts what follows or stands alone.
        let follows = if DIGITS_APART { letter | other } else { valid & !space };
        starts |= firsts(space) | space & window.before::<ASCII>(follows);
        starts |= if DIGITS_APART {
            shared_rules::numbers::<B, ASCII, 1>(window, number)
        } else {
            firsts(number) & !behind_blank
        };
        if apostrophes != 0 {
            let (one, two) = shared_rules::contractions::<B, false, ASCII>(block);
            let (one, two) = (apostrophes & one >> 1, apostrophes & two >> 1);
            starts = starts & !((one | two) << 1) | one << 2 | two << 3;
        }
        Starts { starts, unknown_from: 64 }
    }

    fn next_end(self, text: Text<'_>, at: usize) -> usize {
        let Some((mut class, n_bytes)) = class_at(&text, at) else { return at };
        let byte = text.as_bytes()[at];
        if byte == b'\'' {
            let n_letters = shared_rules::contraction::<false>(&text, at);
            if n_letters > 0 {
                return at + 1 + n_letters;
            }
        }
        let is_edge = |class: u8| DIGITS_APART && class & NUMBER != 0;
        let mut end = at + n_bytes;
        if is_edge(class) {
            return end;
        }
        if class & SPACE != 0 {
            match class_at(&text, end) {
                Some((next, n_next)) if byte == b' ' && next & SPACE == 0 && !is_edge(next) => {
                    class = next;
                    end += n_next;
                }
                _ => {
                    let run_end = text.skip(end, Classes::any_of(SPACE));
                    let is_at_edge = class_at(&text, run_end).is_some_and(|(class, _)| is_edge(class));
                    return if is_at_edge { run_end } else { shared_rules::spaces_end(&text, at) };
                }
            }
        }
        text.skip(
            end,
            match class & (LETTER | NUMBER) {
                0 => Classes::none_of(LETTER | NUMBER | SPACE),
                kind => Classes::any_of(kind),
            },
        )
    }
}
