//! Rules that several patterns share: contractions, white space, groups of numbers, newlines after symbols.
//!
//! Each rule exists twice, with the same meaning: on the masks of a window, and character by character.

use super::byte_block::Block;
use super::unicode::{NUMBER, SPACE, class_at};
use super::window::{Window, run_starts};

/// Returns how many bytes after the apostrophe at `at` belong to a contraction (`s d m t ll ve re`); 0 if none do.
///
/// `FOLD`: letters of any case count, and U+017F (long s), which case folding maps to s.
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

/// [`contraction`] on masks, ignoring apostrophes. Returns the bytes that are the only letter of a contraction, and
/// the first bytes of two-letter ones.
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

/// Returns the end of `\s+(?!\S)|\s+`: a run leaves its last character to the next pretoken, unless the run is one
/// character long or ends the text.
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

/// Returns the end of `\s*[\r\n]+|\s+(?!\S)|\s+`: a run of white space ends after its last newline. With
/// `KEEP_TRAILING`, `\s+$|` comes first: a run that ends the text stays whole.
pub(super) fn lines_end<const KEEP_TRAILING: bool>(text: &str, at: usize) -> usize {
    let mut end = at;
    let mut last = at;
    let mut after_newline = at;
    loop {
        match class_at(text, end) {
            Some((class, n_bytes)) if class & SPACE != 0 => {
                last = end;
                end += n_bytes;
                if matches!(text.as_bytes()[last], b'\r' | b'\n') {
                    after_newline = end;
                }
            }
            next => {
                let is_end = next.is_none();
                return if after_newline > at && !(KEEP_TRAILING && is_end) {
                    after_newline
                } else if last > at && !is_end {
                    last
                } else {
                    end
                };
            }
        }
    }
}

/// The result of [`lines`].
pub(super) struct Lines {
    /// White space other than newlines, without `attached`.
    pub plain: u64,
    /// White space that starts a pretoken.
    pub starts: u64,
    /// As in [`super::scan::Starts`].
    pub unknown_from: u32,
}

/// [`lines_end`] on masks. `attached`: newlines that belong to symbols before them. A run leaves its last character to
/// the next pretoken only if that one starts in `follows`; anything else counts as the end of the text.
#[inline(always)]
pub(super) fn lines<B: Block, const ASCII: bool, const KEEP_TRAILING: bool>(
    window: &Window<B>,
    newlines: u64,
    attached: u64,
    follows: u64,
    is_last: bool,
) -> Lines {
    let space = window.space & !attached;
    let newlines = newlines & !attached;
    let plain = space & !newlines;
    // Plain white space after a newline starts a pretoken, unless the run has another newline later.
    let mut indents = plain & newlines << 1;
    let mut unknown_from = 64;
    if indents != 0 {
        // Newlines after plain white space: the plain run before each of them starts no pretoken.
        let mut closing = newlines & plain << 1;
        while closing != 0 {
            let below = (closing & closing.wrapping_neg()) - 1;
            closing &= closing - 1;
            indents &= !first_of_run(plain, below);
        }
        if is_last {
            // The run that ends the text stays whole.
            let is_open = plain & window.valid & !(window.valid >> 1) != 0;
            if KEEP_TRAILING && is_open {
                indents &= !first_of_run(plain, window.valid);
            }
        } else if plain >> 63 != 0 {
            // The run goes on after the window, perhaps to a newline.
            let open = indents & first_of_run(plain, u64::MAX);
            unknown_from = open.trailing_zeros();
        }
    }
    let starts = run_starts(space) | indents | plain & window.before::<ASCII>(window.valid & follows);
    Lines { plain, starts, unknown_from }
}

/// Returns the first bit of the run of `mask` that ends at the highest bit of `within`, which is 2^n - 1.
#[inline(always)]
fn first_of_run(mask: u64, within: u64) -> u64 {
    let gaps = !mask & within;
    // The bit after the highest gap; bit 0 if there is no gap.
    1u64.checked_shl(64 - gaps.leading_zeros()).unwrap_or(0)
}

/// Returns the bits of `mask` from each of `seeds` (bits of `mask`) to the end of its run. The carry of the addition
/// passes through the run and clears it, as when simdjson looks for runs of backslashes.
#[inline(always)]
pub(super) fn extend_runs(mask: u64, seeds: u64) -> u64 {
    mask & (!mask.wrapping_add(seeds) | seeds)
}

/// Returns the end of `\p{N}{1,MAX}` at `at`.
#[inline]
pub(super) fn numbers_end<const MAX: u32>(text: &str, at: usize) -> usize {
    let mut end = at;
    for _ in 0..MAX {
        match class_at(text, end) {
            Some((class, n_bytes)) if class & NUMBER != 0 => end += n_bytes,
            _ => break,
        }
    }
    end
}

/// [`numbers_end`] on masks: returns the first number of each run and every `MAX`-th after it. `MAX` is 1, 2 or 3, or
/// 0 for only the first.
#[inline(always)]
pub(super) fn numbers<B: Block, const ASCII: bool, const MAX: u32>(window: &Window<B>, number: u64) -> u64 {
    if MAX == 1 {
        return if ASCII { number } else { number & !window.continuation() };
    }
    let mut starts = run_starts(number);
    if MAX == 0 {
        return starts;
    }
    if ASCII || number & window.high == 0 {
        // Numbers with `MAX` numbers before them: only there can another group of the same run start.
        let mut inside = number & number << 1 & number << 2;
        if MAX == 3 {
            inside &= number << 3;
        }
        let mut next = starts << MAX & inside;
        while next != 0 {
            starts |= next;
            next = next << MAX & inside;
        }
    } else {
        // Numbers of several bytes: count them one by one.
        let mut left = number & !window.continuation();
        let mut n_since = 0;
        while left != 0 {
            let bit = left & left.wrapping_neg();
            left &= left - 1;
            n_since = if starts & bit != 0 { 0 } else { (n_since + 1) % MAX };
            if n_since == 0 {
                starts |= bit;
            }
        }
    }
    starts
}
