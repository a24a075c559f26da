//! Skips runs of characters of some class, for the character loops of the scanners.
//!
//! The first [`N_SCALAR`] characters are checked one by one, the rest 64 bytes at a time: most runs are words, but a
//! clause of Chinese or a megabyte of base64 must be as fast as [`super::scan`].

use std::ops::Deref;

use super::byte_block::{self, Block};
use super::unicode::{HAN, LETTER, LOWER, MARK, NUMBER, SPACE, SYMBOL, UPPER, class_at};
use super::window::{LOOKAHEAD_BYTES, WINDOW_BYTES, Window};
use crate::cpu::{CpuTier, at_tier};

/// How many characters are checked one by one before windows are used.
const N_SCALAR: usize = 8;

/// The bytes of a window at which a character of any length is entirely within the window.
const COMPLETE: u64 = u64::MAX >> 3;

/// A document, and the instructions that scan it.
#[derive(Clone, Copy)]
pub(super) struct Text<'t> {
    pub text: &'t str,
    /// Instructions that `Pretokenizer::at_tier` checked the processor to have.
    pub tier: CpuTier,
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        self.text
    }
}

/// The characters that belong to a run.
pub(super) trait Members: Copy {
    /// Whether the character at `at`, which has the class bits `class`, belongs to the run.
    fn has(self, text: &str, at: usize, class: u8) -> bool;

    /// Returns the bytes of a window whose characters belong to the run.
    fn mask<B: Block>(self, window: &Window<B>) -> u64;
}

/// Characters that have any of some class bits (0: any character) and none of others.
#[derive(Clone, Copy)]
pub(super) struct Classes {
    pub any_of: u8,
    pub none_of: u8,
}

impl Classes {
    /// Matches characters that have any of `classes`.
    pub fn any_of(classes: u8) -> Self {
        Classes { any_of: classes, none_of: 0 }
    }

    /// Matches characters that have none of `classes`.
    pub fn none_of(classes: u8) -> Self {
        Classes { any_of: 0, none_of: classes }
    }
}

impl Members for Classes {
    #[inline(always)]
    fn has(self, _text: &str, _at: usize, class: u8) -> bool {
        (self.any_of == 0 || class & self.any_of != 0) && class & self.none_of == 0
    }

    #[inline(always)]
    fn mask<B: Block>(self, window: &Window<B>) -> u64 {
        let of = |classes: u8| {
            [
                (LETTER, window.letter),
                (LOWER, window.lower),
                (UPPER, window.upper),
                (MARK, window.mark),
                (NUMBER, window.number),
                (SPACE, window.space),
                (HAN, window.han),
                (SYMBOL, window.symbol),
            ]
            .iter()
            .fold(0, |masks, &(class, mask)| if classes & class != 0 { masks | mask } else { masks })
        };
        (if self.any_of == 0 { u64::MAX } else { of(self.any_of) }) & !of(self.none_of)
    }
}

impl Text<'_> {
    /// Returns the end of the longest run of `members` that starts at `at`.
    pub fn skip<M: Members>(self, mut at: usize, members: M) -> usize {
        for _ in 0..N_SCALAR {
            match class_at(self.text, at) {
                Some((class, n_bytes)) if members.has(self.text, at, class) => at += n_bytes,
                _ => return at,
            }
        }
        // SAFETY: `Pretokenizer::at_tier` checked that the processor has the tier.
        let at = unsafe { skip_at_tier(self.tier, self.text, at, members) };
        match at {
            Ok(end) => end,
            Err(mut at) => {
                while let Some((class, n_bytes)) = class_at(self.text, at) {
                    if !members.has(self.text, at, class) {
                        break;
                    }
                    at += n_bytes;
                }
                at
            }
        }
    }
}

at_tier! {
    /// [`skip_windows`].
    unsafe fn skip_at_tier<B in byte_block, M: Members>(
        text: &str,
        at: usize,
        members: M,
    ) -> Result<usize, usize> {
        // SAFETY: The processor has the instructions of this function.
        unsafe { skip_windows::<B, M>(text, at, members) }
    }
}

/// Returns `Ok` with the end of the run, or `Err` with an offset up to which the run goes on, if the rest of the text
/// is too short for a window.
///
/// # Safety
/// The processor must have the instructions of `B`.
#[inline(always)]
unsafe fn skip_windows<B: Block, M: Members>(text: &str, mut at: usize, members: M) -> Result<usize, usize> {
    let bytes = text.as_bytes();
    while bytes.len().saturating_sub(at) >= WINDOW_BYTES + LOOKAHEAD_BYTES {
        // SAFETY: WINDOW_BYTES + LOOKAHEAD_BYTES bytes are readable at `at`, which is the start of a character.
        let window = unsafe {
            let start = bytes.as_ptr().add(at);
            let mut window = Window::<B>::load(start, u64::MAX);
            if window.high != 0 {
                window.add_non_ascii::<false>(u8::MAX, start);
            }
            window
        };
        let others = !members.mask(&window) & COMPLETE;
        if others != 0 {
            return Ok(at + others.trailing_zeros() as usize);
        }
        // All complete characters belong to the run: go on from the start of the last one.
        let starts = !window.continuation() & COMPLETE;
        at += 63 - starts.leading_zeros() as usize;
    }
    Err(at)
}
