//! DeepSeek V3's three patterns, hand-written, in one pass.
//!
//! Each pattern splits the segments that the previous one left. The first two isolate numbers in groups of three
//! (`\p{N}{1,3}`) and runs of Chinese and kana (`[一-龥぀-ゟ゠-ヿ]+`). The third one splits each segment by itself, so no
//! pretoken crosses the edge of a segment, and white space before an edge is split as at the end of a text:
//!
//! ```text
//! [!-/:-@\[-`{-~][A-Za-z]+                 ASCII punctuation with ASCII letters
//! [^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+     a word, with one character before it
//!  ?[\p{P}\p{S}]+[\r\n]*                   symbols, with the newlines after them
//! \s*[\r\n]+|\s+(?!\S)|\s+                 white space
//! ```
//!
//! Characters that none of them matches (control characters, joiners) are pretokens of their own.
//!
//! Source: the published tokenizer.json. Differential tests in `tests.rs` compare the scanner with a regex engine that
//! runs the three patterns in turn.

use super::byte_block::Block;
use super::runs::{Classes, Members, Text};
use super::scan::{Reach, Rules, Starts};
use super::shared_rules::{self, Lines};
use super::unicode::{LETTER, MARK, NUMBER, SPACE, SYMBOL, class_at};
use super::window::{Window, run_starts};

/// The rules of DeepSeek's patterns, which have no variants.
#[derive(Clone, Copy, Default)]
pub(super) struct DeepSeek;

const WORD: u8 = LETTER | MARK;

impl Rules for DeepSeek {
    const CLASSES: u8 = MARK | SYMBOL;

    #[inline(always)]
    fn starts<B: Block, const ASCII: bool>(self, window: &Window<B>, is_last: bool) -> Starts {
        let Window { block, valid, number, space, symbol, .. } = *window;
        let cjk = if ASCII { 0 } else { cjk(block) };
        let every_word = window.letter | window.mark;
        let word = every_word & !cjk;
        let unmatched = valid & !(every_word | symbol | number | space);
        let newlines = block.equal(b'\n') | block.equal(b'\r');
        let attached = shared_rules::extend_runs(newlines, newlines & (symbol & !cjk) << 1);
        let Lines { plain, starts: in_space, mut unknown_from } = shared_rules::lines::<B, ASCII, false>(
            window,
            newlines,
            attached,
            !(space | number | cjk),
            is_last,
        );
        let symbols = run_starts(symbol & !cjk) & !(block.equal(b' ') << 1);
        let ascii_letters = window.letter & !window.high;
        let prefixes = symbols & !window.high & ascii_letters >> 1;
        let words = run_starts(word) & !((plain | unmatched) << 1) & !(prefixes << 1);
        let mut starts = in_space | symbols | words | run_starts(every_word & cjk) | run_starts(symbol & cjk);
        starts |= run_starts(unmatched) | unmatched & window.before::<ASCII>(word);
        starts |= shared_rules::numbers::<B, ASCII, 3>(window, number);
        if !ASCII {
            // After ASCII punctuation only ASCII letters belong to the pretoken; the rest of the word is another one.
            starts |= ascii_letters.wrapping_add(prefixes << 1) & !ascii_letters & word;
            // Whether the next character is CJK depends on its third byte, hence 58 and not 60.
            unknown_from = unknown_from.min(58).min((unmatched & cjk).trailing_zeros());
        }
        Starts { starts, unknown_from, reach: Reach::CONTRACTIONS }
    }

    fn next_end(self, text: Text<'_>, at: usize) -> usize {
        let Some((class, n_bytes)) = class_at(&text, at) else { return at };
        if class & NUMBER != 0 {
            return shared_rules::numbers_end::<3>(&text, at);
        }
        let bytes = text.as_bytes();
        let byte = bytes[at];
        let segment = Segment { text, is_cjk: is_cjk_at(&text, at) };
        let is_next =
            |at: usize, classes: u8| segment.class_at(at).is_some_and(|(class, _)| class & classes != 0);
        if byte.is_ascii_punctuation() && bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic) {
            let n_letters = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
            return at + 1 + n_letters;
        }
        let is_prefix = class & (LETTER | SYMBOL) == 0 && !matches!(byte, b'\r' | b'\n');
        if class & WORD != 0 || is_prefix && is_next(at + n_bytes, WORD) {
            return segment.skip(at + n_bytes, WORD);
        }
        if class & SYMBOL != 0 || byte == b' ' && is_next(at + n_bytes, SYMBOL) {
            let mut end = segment.skip(at + n_bytes, SYMBOL);
            while !segment.is_cjk && matches!(bytes.get(end), Some(b'\r' | b'\n')) {
                end += 1;
            }
            return end;
        }
        if class & SPACE != 0 {
            let end = segment.skip(at, SPACE);
            let is_end = segment.class_at(end).is_none();
            let run = if is_end { text.get(..end).unwrap_or(&text) } else { &text };
            return shared_rules::lines_end::<false>(run, at);
        }
        let mut end = at + n_bytes;
        while let Some((class, n_bytes)) = segment.class_at(end) {
            if class & (WORD | SYMBOL | SPACE) != 0 || is_next(end + n_bytes, WORD) {
                break;
            }
            end += n_bytes;
        }
        end
    }
}

/// A segment that the first two patterns leave: text without numbers that is either all CJK or has none.
struct Segment<'t> {
    text: Text<'t>,
    is_cjk: bool,
}

impl Segment<'_> {
    /// Returns the class and the length of the character at `at`; `None` at the end of the segment.
    fn class_at(&self, at: usize) -> Option<(u8, usize)> {
        let (class, n_bytes) = class_at(&self.text, at)?;
        (class & NUMBER == 0 && is_cjk_at(&self.text, at) == self.is_cjk).then_some((class, n_bytes))
    }

    /// Returns the end of the longest run of `classes` that starts at `at`. `classes` must not contain numbers.
    fn skip(&self, at: usize, classes: u8) -> usize {
        self.text.skip(at, InSegment { classes, is_cjk: self.is_cjk })
    }
}

/// Characters of some classes that are all CJK, or all not.
#[derive(Clone, Copy)]
struct InSegment {
    classes: u8,
    is_cjk: bool,
}

impl Members for InSegment {
    #[inline(always)]
    fn has(self, text: &str, at: usize, class: u8) -> bool {
        class & self.classes != 0 && is_cjk_at(text, at) == self.is_cjk
    }

    #[inline(always)]
    fn mask<B: Block>(self, window: &Window<B>) -> u64 {
        let cjk = cjk(window.block);
        Classes::any_of(self.classes).mask(window) & if self.is_cjk { cjk } else { !cjk }
    }
}

/// Whether the character at `at` is one of `[一-龥぀-ゟ゠-ヿ]`.
fn is_cjk_at(text: &str, at: usize) -> bool {
    let character = text.get(at..).and_then(|rest| rest.chars().next());
    matches!(character, Some('一'..='龥' | '\u{3040}'..='\u{30ff}'))
}

/// [`is_cjk_at`] on a window: compares the three bytes of each character with the ends of the ranges.
#[inline(always)]
fn cjk<B: Block>(block: B) -> u64 {
    let (e3, e4, e5) = (block.at_least(0xe3), block.at_least(0xe4), block.at_least(0xe5));
    let (e9, ea) = (block.at_least(0xe9), block.at_least(0xea));
    let (kana, after_kana) = (block.at_least(0x81) >> 1, block.at_least(0x84) >> 1);
    let (han, last, after_last) =
        (block.at_least(0xb8) >> 1, block.at_least(0xbe) >> 1, block.at_least(0xbf) >> 1);
    let first = e5 & !e9
        | e4 & !e5 & han
        | e9 & !ea & !last
        | e9 & !ea & !after_last & !(block.at_least(0xa6) >> 2)
        | e3 & !e4 & kana & !after_kana;
    first | first << 1 | first << 2
}
