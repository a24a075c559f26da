//! The cl100k family, hand-written: cl100k, Llama 3, Qwen 2 and 3.5, Seed-OSS, nanochat, EXAONE 4.
//!
//! The alternatives of Llama 3's pattern, in the order in which they are tried:
//!
//! ```text
//! (?i:'s|'t|'re|'ve|'m|'ll|'d)     a contraction
//! [^\r\n\p{L}\p{N}]?\p{L}+         a word, with one character before it (called its prefix)
//! \p{N}{1,3}                       numbers in groups
//!  ?[^\s\p{L}\p{N}]+[\r\n]*        symbols, with the newlines after them
//! \s*[\r\n]+                       white space up to its last newline
//! \s+(?!\S)|\s+                    other white space; its last character is left for the next pretoken
//! ```
//!
//! Source: tiktoken's `openai_public.py` and the published tokenizer.json files. Differential tests in `tests.rs`
//! compare the scanner with a regex engine.

use super::byte_block::Block;
use super::runs::{Classes, Members, Text};
use super::scan::{Reach, Rules, Starts};
use super::shared_rules::{self, Lines};
use super::unicode::{LETTER, MARK, NUMBER, SPACE, class_at};
use super::window::{Window, run_starts};

/// The variants of the family.
///
/// `N_DIGITS`: the size of a group of numbers, 0 for any size. `MARKS`: combining marks belong to words.
/// `KEEP_TRAILING` (cl100k): white space at the end of the text is one pretoken, with or without newlines. `ATTACH`:
/// newlines after symbols belong to the symbols. `PHRASES` (EXAONE 4): words joined by single spaces are one pretoken;
/// combining marks belong to words, but none begins one; of several newlines after symbols, only the first belongs to
/// them.
#[derive(Clone, Copy, Default)]
pub(super) struct Cl100k<
    const N_DIGITS: u32,
    const MARKS: bool,
    const KEEP_TRAILING: bool,
    const ATTACH: bool,
    const PHRASES: bool = false,
>;

/// The characters that continue a phrase: `\p{L}\p{M}*(?: \p{L}\p{M}*)*`.
#[derive(Clone, Copy)]
struct Phrase;

impl Members for Phrase {
    #[inline(always)]
    fn has(self, text: &str, at: usize, class: u8) -> bool {
        class & (LETTER | MARK) != 0 || text.as_bytes()[at] == b' ' && is_letter_at(text, at + 1)
    }

    #[inline(always)]
    fn mask<B: Block>(self, window: &Window<B>) -> u64 {
        window.letter | window.mark | window.block.equal(b' ') & window.letter >> 1
    }
}

fn is_letter_at(text: &str, at: usize) -> bool {
    class_at(text, at).is_some_and(|(class, _)| class & LETTER != 0)
}

impl<
    const N_DIGITS: u32,
    const MARKS: bool,
    const KEEP_TRAILING: bool,
    const ATTACH: bool,
    const PHRASES: bool,
> Rules for Cl100k<N_DIGITS, MARKS, KEEP_TRAILING, ATTACH, PHRASES>
{
    const JOINS_WORDS: bool = PHRASES;

    const CLASSES: u8 = if MARKS || PHRASES { MARK } else { 0 };

    #[inline(always)]
    fn starts<B: Block, const ASCII: bool>(self, window: &Window<B>, is_last: bool) -> Starts {
        let (block, mut window) = (window.block, *window);
        let mut word = if MARKS { window.letter | window.mark } else { window.letter };
        if PHRASES {
            word = shared_rules::extend_runs(window.letter | window.mark, window.letter);
            let joining = block.equal(b' ') & word << 1 & window.letter >> 1;
            word |= joining;
            window.space &= !joining;
        }
        let window = &window;
        let other = window.valid & !(word | window.number | window.space);
        let newlines = block.equal(b'\n') | block.equal(b'\r');
        // Newlines that belong to the symbols before them.
        let attached = match (ATTACH, newlines & other << 1) {
            (false, _) => 0,
            (true, first) if PHRASES => first,
            (true, first) => shared_rules::extend_runs(newlines, first),
        };
        let Lines { plain, starts: in_space, mut unknown_from } =
            shared_rules::lines::<B, ASCII, KEEP_TRAILING>(
                window,
                newlines,
                attached,
                !window.space,
                is_last,
            );
        // Each run of symbols starts a pretoken, unless a ' ' before it does.
        let symbols = run_starts(other) & !(block.equal(b' ') << 1);
        // A single symbol before a word is its prefix; so is white space other than a newline (`plain`).
        let prefixes = symbols & window.before::<ASCII>(word);
        let words = run_starts(word) & !(plain << 1) & !window.after::<ASCII>(prefixes);
        let mut starts =
            in_space | symbols | words | shared_rules::numbers::<B, ASCII, N_DIGITS>(window, window.number);
        let apostrophes = block.rare(b'\'', prefixes);
        // A contraction at the start of a pretoken ends with its letters; the next pretoken starts there.
        if apostrophes != 0 {
            let (one, two) = shared_rules::contractions::<B, true, ASCII>(block);
            let after = (apostrophes & one >> 1) << 2 | (apostrophes & two >> 1) << 3;
            starts |= after;
            if PHRASES {
                // A mark there is not part of a word.
                unknown_from = unknown_from.min((after & window.mark).trailing_zeros());
            }
        }
        Starts { starts, unknown_from, reach: Reach::CONTRACTIONS }
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
        let word_end = |at| match PHRASES {
            true => text.skip(at, Phrase),
            false => text.skip(at, Classes::any_of(word)),
        };
        if is_word(class) {
            return word_end(at);
        }
        if class & NUMBER != 0 {
            return match N_DIGITS {
                0 => text.skip(at, Classes::any_of(NUMBER)),
                _ => shared_rules::numbers_end::<N_DIGITS>(&text, at),
            };
        }
        let next = class_at(&text, at + n_bytes).map_or(SPACE, |(class, _)| class);
        if is_word(next) && !matches!(byte, b'\r' | b'\n') {
            return word_end(at + n_bytes);
        }
        let is_other = |class: u8| class & (word | NUMBER | SPACE) == 0;
        if is_other(class) || byte == b' ' && is_other(next) {
            let mut end = text.skip(at + n_bytes, Classes::none_of(word | NUMBER | SPACE));
            while ATTACH && matches!(text.as_bytes().get(end), Some(b'\r' | b'\n')) {
                end += 1;
                if PHRASES {
                    break;
                }
            }
            return end;
        }
        shared_rules::lines_end::<KEEP_TRAILING>(&text, at)
    }
}
