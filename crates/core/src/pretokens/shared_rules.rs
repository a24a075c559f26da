//! Splitter that several patterns share, once on masks and once character by character.
//!
//! Contractions, white space, numbers and the newlines behind symbols. Each mask function has the same
//! meaning as the character function beside it.

use super::byte_block::Block;
use super::unicode::{NUMBER, SPACE, class_at};
use super::window::{Window, firsts};

/// How many bytes behind the apostrophe at `at` make a contraction: `s d m t ll ve re`; 0 for none.
///
/// `FOLD`: in any case, where U+017F (long s) is an s too.
#[inline]
pub(super) fn contraction<const FOLD: bool>(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().get(at + 1..).unwrap_or_default();
    let letter = |at: usize| rest.get(at).map_or(0, |byte| if FOLD { byte | 0x20 } else { *byte });
    match (letter(0), letter(1)) {
        (b's' | b'd' | b'm' | b't', _) => 1,
        (b'l', b'l') | (b'v' | b'r', b'e') => 2,
        _ if FOLD && rest.starts_with("\u{17f}".as_bytes()) => 2,
        _ => 0,
    }
}

/// Where one byte that makes a contraction stands, and where two such bytes start.
#[inline(always)]
pub(super) fn contractions<B: Block, const FOLD: bool, const ASCII: bool>(block: B) -> (u64, u64) {
    let folded = if FOLD { block.or(0x20) } else { block };
    let one = folded.equal(b's') | folded.equal(b'd') | folded.equal(b'm') | folded.equal(b't');
    let (l, e) = (folded.equal(b'l'), folded.equal(b'e'));
    let mut two = l & l >> 1 | (folded.equal(b'v') | folded.equal(b'r')) & e >> 1;
    if FOLD && !ASCII {
        let (lead, inner) =
            (block.at_least(0xc5) & !block.at_least(0xc6), block.at_least(0xbf) & !block.at_least(0xc0));
        two |= lead & inner >> 1;
    }
    (one, two)
}

/// `\s+(?!\S)|\s+`: a run keeps its last character for what follows, unless it ends the text or is
/// one character long.
pub(super) fn spaces_end(text: &str, at: usize) -> usize {
    let mut end = at;
    let mut last = at;
    while let Some((class, n_bytes)) = class_at(text, end) {
        if class & SPACE == 0 {
            return if last > at { last } else { end };
        }
        last = end;
        end += n_bytes;
    }
    end
}

/// `\s*[\r\n]+|\s+(?!\S)|\s+`, or with `WHOLE_END` the same behind `\s+$|`: a run is cut behind its last
/// newline, unless that run ends the text and `WHOLE_END`.
pub(super) fn lines_end<const WHOLE_END: bool>(text: &str, at: usize) -> usize {
    let mut end = at;
    let mut last = at;
    let mut behind_newline = at;
    loop {
        match class_at(text, end) {
            Some((class, n_bytes)) if class & SPACE != 0 => {
                last = end;
                end += n_bytes;
                if matches!(text.as_bytes()[last], b'\r' | b'\n') {
                    behind_newline = end;
                }
            }
            next => {
                let is_end = next.is_none();
                return if behind_newline > at && !(WHOLE_END && is_end) {
                    behind_newline
                } else if last > at && !is_end {
                    last
                } else {
                    end
                };
            }
        }
    }
}

/// What [`lines`] says of a window's white space.
pub(super) struct Lines {
    /// White space that is no newline and not `absorbed`.
    pub plain: u64,
    /// Starts among the white space.
    pub starts: u64,
    /// See [`super::scan::Starts`].
    pub unknown_from: u32,
}

/// The starts of [`lines_end`] in a window of which `absorbed` belongs to symbols before.
///
/// A run keeps its last character for what `follows`; before anything else it is like the text's end.
#[inline(always)]
pub(super) fn lines<B: Block, const ASCII: bool, const WHOLE_END: bool>(
    window: &Window<B>,
    newlines: u64,
    absorbed: u64,
    follows: u64,
    is_last: bool,
) -> Lines {
    let space = window.space & !absorbed;
    let newlines = newlines & !absorbed;
    let plain = space & !newlines;
    // Plain white space behind a newline starts a pretoken unless a further newline of the run follows.
    let mut indents = plain & newlines << 1;
    let mut unknown_from = 64;
    if indents != 0 {
        let mut closing = newlines & plain << 1;
        while closing != 0 {
            let below = (closing & closing.wrapping_neg()) - 1;
            closing &= closing - 1;
            indents &= !first_of_run(plain, below);
        }
        if is_last {
            let is_open = plain & window.valid & !(window.valid >> 1) != 0;
            if WHOLE_END && is_open {
                indents &= !first_of_run(plain, window.valid);
            }
        } else if plain >> 63 != 0 {
            let open = indents & first_of_run(plain, u64::MAX);
            unknown_from = open.trailing_zeros();
        }
    }
    let starts = firsts(space) | indents | plain & window.before::<ASCII>(window.valid & follows);
    Lines { plain, starts, unknown_from }
}

/// The first bit of the run in `mask` that ends with the last bit of `within`, which is 0s then 1s.
#[inline(always)]
fn first_of_run(mask: u64, within: u64) -> u64 {
    let gaps = !mask & within;
    // The bit above the highest gap; bit 0 if there is none.
    1u64.checked_shl(64 - gaps.leading_zeros()).unwrap_or(0)
}

/// The run of `mask` upward from each of `seeds`, which are in it.
#[inline(always)]
pub(super) fn upward(mask: u64, seeds: u64) -> u64 {
    mask & (!mask.wrapping_add(seeds) | seeds)
}

/// The end of a run of numbers from `at` on, `MOST` characters at most.
#[inline]
pub(super) fn numbers_end<const MOST: u32>(text: &str, at: usize) -> usize {
    let mut end = at;
    for _ in 0..MOST {
        match class_at(text, end) {
            Some((class, n_bytes)) if class & NUMBER != 0 => end += n_bytes,
            _ => break,
        }
    }
    end
}

/// The starts of [`numbers_end`]: each run's first number and every `MOST`-th behind it; `MOST` is 1, 2 or 3.
#[inline(always)]
pub(super) fn numbers<B: Block, const ASCII: bool, const MOST: u32>(window: &Window<B>, number: u64) -> u64 {
    if MOST == 1 {
        return if ASCII { number } else { number & !window.inner() };
    }
    let mut starts = firsts(number);
    if ASCII || number & window.high == 0 {
        let mut inside = number & number << 1 & number << 2;
        if MOST == 3 {
            inside &= number << 3;
        }
        let mut next = starts << MOST & inside;
        while next != 0 {
            starts |= next;
            next = next << MOST & inside;
        }
    } else {
        let mut left = number & !window.inner();
        let mut n_since = 0;
        while left != 0 {
            let bit = left & left.wrapping_neg();
            left &= left - 1;
            n_since = if starts & bit != 0 { 0 } else { (n_since + 1) % MOST };
            if n_since == 0 {
                starts |= bit;
            }
        }
    }
    starts
}
