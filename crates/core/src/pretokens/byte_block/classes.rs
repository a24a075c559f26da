//! Looks up the classes of characters beyond ASCII one by one.
//!
//! Cost: about four cycles per character. Each length has its own loop, so no branch depends on the mix of lengths.

use super::super::unicode::{class_direct, class_of_code, class_of_first};

/// Returns class bits like [`super::Block::classes`], with the same safety contract.
#[inline(always)]
pub(super) unsafe fn one_by_one(bytes: *const u8, leads: [u64; 3]) -> [u8; 64] {
    let mut classes = [0u8; 64];
    for_each(leads[0], |at| {
        // SAFETY: at < 64, and two bytes are readable there.
        let word = u32::from(unsafe { bytes.add(at).cast::<u16>().read_unaligned() }.to_le());
        classes[at] = class_of_first(code_of_two(word));
    });
    for_each(leads[1], |at| {
        // SAFETY: at < 64, and four bytes are readable there.
        let word = unsafe { bytes.add(at).cast::<u32>().read_unaligned() }.to_le();
        classes[at] = class_direct(code_of_three(word));
    });
    // SAFETY: The caller promises the same.
    for_each(leads[2], |at| classes[at] = unsafe { class_of_four(bytes.add(at)) });
    classes
}

/// Returns the class bits and the length of the character at `bytes`, which is not ASCII and with `TWO` has two bytes.
///
/// # Safety
/// Four bytes must be readable at `bytes`.
#[inline(always)]
pub(in super::super) unsafe fn class_of_character<const TWO: bool>(bytes: *const u8) -> (u8, u32) {
    // SAFETY: The caller vouches for four bytes.
    let word = unsafe { bytes.cast::<u32>().read_unaligned() }.to_le();
    if TWO {
        return (class_of_first(code_of_two(word)), 2);
    }
    let lead = word as u8;
    if lead >= 0xf0 {
        // SAFETY: The caller promises the same.
        return (unsafe { class_of_four(bytes) }, 4);
    }
    let is_three = lead >= 0xe0;
    let code = if is_three { code_of_three(word) } else { code_of_two(word) };
    (class_direct(code), 2 + u32::from(is_three))
}

/// Returns the code point of a character of two bytes. The first is the lowest byte of `word`.
#[inline(always)]
fn code_of_two(word: u32) -> u32 {
    (word & 0x1f) << 6 | word >> 8 & 0x3f
}

/// Returns the code point of a character of three bytes. The first is the lowest byte of `word`.
#[inline(always)]
fn code_of_three(word: u32) -> u32 {
    (word & 0xf) << 12 | (word >> 8 & 0x3f) << 6 | word >> 16 & 0x3f
}

/// Returns the class bits of the character of four bytes at `bytes`.
///
/// # Safety
/// Four bytes must be readable at `bytes`.
#[inline(always)]
pub(super) unsafe fn class_of_four(bytes: *const u8) -> u8 {
    // SAFETY: The caller vouches for four bytes.
    let word = unsafe { bytes.cast::<u32>().read_unaligned() }.to_be();
    class_of_code((word >> 24 & 7) << 18 | (word >> 16 & 0x3f) << 12 | (word >> 8 & 0x3f) << 6 | word & 0x3f)
}

/// Calls `visit` with the number of each bit of `mask`, in ascending order.
#[inline(always)]
pub(super) fn for_each(mut mask: u64, mut visit: impl FnMut(usize)) {
    while mask != 0 {
        // `% 64` elides the bounds check.
        visit(mask.trailing_zeros() as usize % 64);
        mask &= mask - 1;
    }
}
