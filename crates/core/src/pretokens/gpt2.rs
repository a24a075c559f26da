//! The GPT-2 pattern, hand-written: `'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`.
//!
//! Source: `encoder.py` of GPT-2. The differential tests in `tests.rs` compare with a regex engine.

use super::byte_block::Block;
use super::runs::{Classes, Text};
use super::scan::{Reach, Rules, Starts};
use super::shared_rules;
use super::unicode::{LETTER, NUMBER, SPACE, class_at};
use super::window::{Window, changes};

/// `ISOLATE_DIGITS` (StarCoder): each number is first split off as a pretoken of its own. The pattern then splits the
/// text between numbers, so a number is like the end of the text for what precedes it.
#[derive(Clone, Copy, Default)]
pub(super) struct Gpt2<const ISOLATE_DIGITS: bool>;

impl<const ISOLATE_DIGITS: bool> Rules for Gpt2<ISOLATE_DIGITS> {
    const ARE_LOCAL: bool = true;

    #[inline(always)]
    fn starts<B: Block, const ASCII: bool>(self, window: &Window<B>, _is_last: bool) -> Starts {
        let Window { block, valid, letter, number, space, .. } = *window;
        let after_space = block.equal(b' ') << 1;
        // ` ?\p{L}+` and the like: a run of a class starts a pretoken, unless the ' ' before it does. This is the first
        // character of each run, including runs of the class that has no mask.
        let mut starts = (changes(letter) | changes(number) | changes(space)) & !after_space;
        // `\s+(?!\S)`: the last white space of a run before other text starts the next pretoken (' ') or is a pretoken.
        let follows = if ISOLATE_DIGITS { valid & !(space | number) } else { valid & !space };
        starts |= space & window.before::<ASCII>(follows);
        if ISOLATE_DIGITS {
            starts |= shared_rules::numbers::<B, ASCII, 1>(window, number);
        }
        let apostrophes = block.rare(b'\'', u64::MAX);
        if apostrophes == 0 {
            return Starts { starts, unknown_from: 64, reach: Reach::NEIGHBORS };
        }
        // A pretoken may start at bit 0 of the window; if none does, this only adds bits among the bytes that are
        // known.
        let apostrophes = apostrophes & (starts | 1) & letter >> 1;
        // A contraction: no start at its first letter, one after its last.
        if apostrophes != 0 {
            let (one, two) = shared_rules::contractions::<B, false, ASCII>(block);
            let (one, two) = (apostrophes & one >> 1, apostrophes & two >> 1);
            starts = starts & !((one | two) << 1) | one << 2 | two << 3;
        }
        Starts { starts, unknown_from: 64, reach: Reach::CONTRACTIONS }
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
        let is_edge = |class: u8| ISOLATE_DIGITS && class & NUMBER != 0;
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
