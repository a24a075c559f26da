//! The GPT-2 pattern, hand-written: `'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`.
//!
//! Source: `encoder.py` of GPT-2. Differential tests in `tests.rs` compare the scanner with a regex engine.

use super::byte_block::Block;
use super::runs::{Classes, Members, Text};
use super::scan::{Reach, Rules, Starts};
use super::shared_rules;
use super::unicode::{LETTER, NUMBER, SPACE, class_at};
use super::window::{Window, changes, run_starts};

/// `SPLIT_NUMBERS`: which numbers are split off first, one by one or in runs. The pattern then splits the text between
/// them, so for the text before it a number is like the end of the text.
#[derive(Clone, Copy, Default)]
pub(super) struct Gpt2<const SPLIT_NUMBERS: u8>;

/// No numbers are split off first.
pub(super) const NO_SPLIT: u8 = 0;
/// Each number is split off.
pub(super) const NUMBERS: u8 = 1;
/// Each number is split off, including those of Unicode 17 (HuggingFace's step Digits).
pub(super) const DIGITS: u8 = 2;
/// Each run of numbers as in [`DIGITS`] is split off.
pub(super) const DIGIT_RUNS: u8 = 3;

impl<const SPLIT_NUMBERS: u8> Rules for Gpt2<SPLIT_NUMBERS> {
    const ARE_LOCAL: bool = true;

    #[inline(always)]
    fn starts<B: Block, const ASCII: bool>(self, window: &Window<B>, is_last: bool) -> Starts {
        let Window { block, valid, letter, space, .. } = *window;
        let number =
            if ASCII || SPLIT_NUMBERS < DIGITS { window.number } else { window.number | new_digits(window) };
        // Whether the character after white space is a digit that the masks do not know depends on all its bytes.
        let unknown_from = if ASCII || SPLIT_NUMBERS < DIGITS || is_last { 64 } else { 58 };
        let after_space = block.equal(b' ') << 1;
        // ` ?\p{L}+` and the like: the first character of each run of a class starts a pretoken, unless the ' ' before
        // it does. The changes include the starts of runs of the class that has no mask.
        let mut starts = (changes(letter) | changes(number) | changes(space)) & !after_space;
        // `\s+(?!\S)`: the last white space of a run before other text is a pretoken, or starts the next one (' ').
        let follows = if SPLIT_NUMBERS > NO_SPLIT { valid & !(space | number) } else { valid & !space };
        starts |= space & window.before::<ASCII>(follows);
        match SPLIT_NUMBERS {
            NO_SPLIT => {}
            // The pattern itself splits a run where digits follow that are not numbers to it.
            DIGIT_RUNS => starts |= run_starts(window.number) | run_starts(number & !window.number),
            _ => starts |= shared_rules::numbers::<B, ASCII, 1>(window, number),
        }
        let apostrophes = block.rare(b'\'', u64::MAX);
        if apostrophes == 0 {
            return Starts { starts, unknown_from, reach: Reach::NEIGHBORS };
        }
        // A pretoken can start at bit 0 of the window; if none does, this only adds bits among the known bytes.
        let apostrophes = apostrophes & (starts | 1) & letter >> 1;
        // A contraction: no start at its first letter, one after its last.
        if apostrophes != 0 {
            let (one, two) = shared_rules::contractions::<B, false, ASCII>(block);
            let (one, two) = (apostrophes & one >> 1, apostrophes & two >> 1);
            starts = starts & !((one | two) << 1) | one << 2 | two << 3;
        }
        Starts { starts, unknown_from, reach: Reach::CONTRACTIONS }
    }

    fn next_end(self, text: Text<'_>, at: usize) -> usize {
        let class_at = |at: usize| {
            let is_new = |class: u8| class == 0 && SPLIT_NUMBERS >= DIGITS && is_new_digit(&text, at);
            class_at(&text, at).map(|(class, n)| (if is_new(class) { NUMBER } else { class }, n))
        };
        let Some((mut class, n_bytes)) = class_at(at) else { return at };
        let byte = text.as_bytes()[at];
        if byte == b'\'' {
            let n_letters = shared_rules::contraction::<false>(&text, at);
            if n_letters > 0 {
                return at + 1 + n_letters;
            }
        }
        let is_edge = |class: u8| SPLIT_NUMBERS > NO_SPLIT && class & NUMBER != 0;
        let mut end = at + n_bytes;
        if is_edge(class) {
            return match SPLIT_NUMBERS {
                DIGIT_RUNS if is_new_digit(&text, at) => text.skip(end, NewDigits { are_members: true }),
                DIGIT_RUNS => text.skip(end, Classes::any_of(NUMBER)),
                _ => end,
            };
        }
        if class & SPACE != 0 {
            match class_at(end) {
                Some((next, n_next)) if byte == b' ' && next & SPACE == 0 && !is_edge(next) => {
                    class = next;
                    end += n_next;
                }
                _ => {
                    let run_end = text.skip(end, Classes::any_of(SPACE));
                    let is_at_edge = class_at(run_end).is_some_and(|(class, _)| is_edge(class));
                    return if is_at_edge { run_end } else { shared_rules::spaces_end(&text, at) };
                }
            }
        }
        if SPLIT_NUMBERS >= DIGITS && class & LETTER == 0 {
            return text.skip(end, NewDigits { are_members: false });
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

/// Only digits that are new in Unicode 17, or characters that are neither these nor letters, numbers or white space.
#[derive(Clone, Copy)]
struct NewDigits {
    are_members: bool,
}

impl Members for NewDigits {
    #[inline(always)]
    fn has(self, text: &str, at: usize, class: u8) -> bool {
        class & (LETTER | NUMBER | SPACE) == 0 && is_new_digit(text, at) == self.are_members
    }

    #[inline(always)]
    fn mask<B: Block>(self, window: &Window<B>) -> u64 {
        let digits = new_digits(window);
        if self.are_members { digits } else { !(digits | window.letter | window.number | window.space) }
    }
}

/// Whether the character at `at` is one of `[\u{11DE0}-\u{11DE9}\u{16FF4}-\u{16FF6}]`: digits that Unicode 16 lacks.
fn is_new_digit(text: &str, at: usize) -> bool {
    let character = text.get(at..).and_then(|rest| rest.chars().next());
    matches!(character, Some('\u{11de0}'..='\u{11de9}' | '\u{16ff4}'..='\u{16ff6}'))
}

/// [`is_new_digit`] on the masks of a window.
#[inline(always)]
fn new_digits<B: Block>(window: &Window<B>) -> u64 {
    let (block, four) = (window.block, window.leads[2]);
    if four == 0 {
        return 0;
    }
    let within = |first, last, at: u32| block.within_any([(first, last)]) >> at;
    let first = within(0xf0, 0xf0, 0)
        & (within(0x91, 0x91, 1) & within(0xb7, 0xb7, 2) & within(0xa0, 0xa9, 3)
            | within(0x96, 0x96, 1) & within(0xbf, 0xbf, 2) & within(0xb4, 0xb6, 3));
    let first = first & four;
    first | first << 1 | first << 2 | first << 3
}
