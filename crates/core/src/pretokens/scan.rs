//! The road from windows to pretokens' ends, the same for every family of patterns.
//!
//! Enters: a document and a pretoken's start. Leaves: ends. Each window begins at a pretoken's start, so no
//! state is carried: the family's rules turn its masks into a mask of starts, the certain ones are written
//! out, and the last of them is where the next window begins. A window without a certain start, for a
//! pretoken too long for it or text that masks cannot decide, is left to the family's character loop for
//! one pretoken. Windows overlap by a part of a pretoken, which costs a tenth of the speed and saves every
//! rule that would have to look back across an edge.

use super::byte_block::Block;
use super::runs::Text;
use super::window::{N_BEYOND, N_BYTES, Window};
use super::{ENDS_PER_FILL, byte_block};
use crate::cpu::CpuTier;
use crate::error::{Error, Result};

/// What a window says about pretokens.
pub(super) struct Starts {
    /// Bytes at which a pretoken starts; bit 0 is not looked at.
    pub starts: u64,
    /// The first byte of which the window cannot tell whether a pretoken starts there; 64 if there is none.
    pub unknown_from: u32,
}

/// A family of patterns.
pub(super) trait Rules: Copy {
    /// [`Window::widen`] with the classes that the rules look at.
    ///
    /// # Safety
    /// As for that function.
    unsafe fn widen<B: Block>(window: &mut Window<B>, bytes: *const u8);

    /// The starts in a window that itself begins at a start. What the rules look ahead to, up to the next
    /// four bytes, may be behind the window's end: the last bytes are not relied upon.
    ///
    /// `ASCII` promises a window of nothing else; `is_last` says that the text ends with `window.valid`.
    fn starts<B: Block, const ASCII: bool>(self, window: &Window<B>, is_last: bool) -> Starts;

    /// The end of the pretoken that starts at `at`, character by character.
    fn next_end(self, text: Text<'_>, at: usize) -> usize;
}

/// [`super::Pretokenizer::fill`] by the instructions of `tier`, which this processor must have.
pub(super) fn fill<R: Rules>(
    rules: R,
    tier: CpuTier,
    text: &str,
    from: usize,
    ends: &mut Vec<usize>,
) -> Result<()> {
    let text = Text { text, tier };
    ends.clear();
    ends.try_reserve(ENDS_PER_FILL + N_BYTES).map_err(Error::out_of_memory("pretoken ends"))?;
    match tier {
        // SAFETY: a tier is only given where it was detected; the room was reserved above.
        #[cfg(target_arch = "x86_64")]
        CpuTier::Avx512 => unsafe { fill_avx512(rules, text, from, ends) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        CpuTier::Avx2 => unsafe { fill_avx2(rules, text, from, ends) },
        // SAFETY: as above.
        CpuTier::Portable => unsafe { fill_by::<byte_block::Words, R>(rules, text, from, ends) },
    }
    Ok(())
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt")]
fn fill_avx512<R: Rules>(rules: R, text: Text<'_>, from: usize, ends: &mut Vec<usize>) {
    // SAFETY: the caller reserved the room.
    unsafe { fill_by::<byte_block::Avx512, R>(rules, text, from, ends) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn fill_avx2<R: Rules>(rules: R, text: Text<'_>, from: usize, ends: &mut Vec<usize>) {
    // SAFETY: the caller reserved the room.
    unsafe { fill_by::<byte_block::Avx2, R>(rules, text, from, ends) }
}

/// # Safety
/// The processor must have the instructions of `B`, and `ends` room for `ENDS_PER_FILL + N_BYTES`.
#[inline(always)]
unsafe fn fill_by<B: Block, R: Rules>(rules: R, text: Text<'_>, from: usize, ends: &mut Vec<usize>) {
    let bytes = text.as_bytes();
    let out = ends.as_mut_ptr();
    let mut n_ends = 0;
    let mut at = from;
    while at < bytes.len() && n_ends + N_BYTES <= ENDS_PER_FILL {
        let n_left = bytes.len() - at;
        let starts = if n_left >= N_BYTES + N_BEYOND {
            // SAFETY: that many bytes are readable, and `at` is a pretoken's start.
            unsafe { certain_starts::<B, R>(rules, bytes.as_ptr().add(at), u64::MAX, false) }
        } else {
            let mut padded = [0u8; N_BYTES + N_BEYOND + 1];
            padded[..n_left].copy_from_slice(&bytes[at..]);
            let is_last = n_left < N_BYTES;
            let valid = if is_last { (1 << n_left) - 1 } else { u64::MAX };
            // SAFETY: 68 bytes are readable, UTF-8 and then zero.
            unsafe { certain_starts::<B, R>(rules, padded.as_ptr(), valid, is_last) }
        };
        if starts == 0 {
            at = rules.next_end(text, at);
            // SAFETY: n_ends is below the room that was reserved.
            unsafe { out.add(n_ends).write(at) };
            n_ends += 1;
        } else {
            // SAFETY: 64 entries from n_ends on are within the room that was reserved.
            unsafe { B::write_offsets(starts, at, out.add(n_ends)) };
            n_ends += starts.count_ones() as usize;
            at += 63 - starts.leading_zeros() as usize;
        }
    }
    // SAFETY: that many entries were written.
    unsafe { ends.set_len(n_ends) };
}

/// The starts behind the window's first byte that are certain; the end of the text counts as one.
///
/// # Safety
/// As for [`Window::load`], with 67 readable bytes.
#[inline(always)]
unsafe fn certain_starts<B: Block, R: Rules>(rules: R, bytes: *const u8, valid: u64, is_last: bool) -> u64 {
    // SAFETY: the caller's promise is the same.
    let mut window = unsafe { Window::<B>::load(bytes, valid) };
    let found = if window.high == 0 {
        rules.starts::<B, true>(&window, is_last)
    } else {
        // SAFETY: the caller's promise is the same.
        unsafe { R::widen(&mut window, bytes) };
        rules.starts::<B, false>(&window, is_last)
    };
    let n_relied = if is_last {
        64
    } else if window.high == 0 {
        62
    } else {
        60
    };
    let end_of_text = valid.wrapping_add(1);
    let n_certain = found.unknown_from.min(n_relied);
    let certain = u64::MAX.checked_shr(64 - n_certain).unwrap_or(0);
    (found.starts & valid | end_of_text) & certain & !1
}
