//! UTF-8 -> code points.

use std::mem::MaybeUninit;

#[cfg(target_arch = "x86_64")]
use super::avx2;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
use super::neon;
use super::units::Unit;
use crate::cpu::CpuTier;

/// Returns `bytes` as text, or `None` if they are not UTF-8.
pub fn valid(bytes: &[u8]) -> Option<&str> {
    simdutf8::basic::from_utf8(bytes).ok()
}

/// Returns the number of characters of a text, and an upper bound on its code points: 0x7f, 0xff, 0xffff or 0x10ffff,
/// from which CPython chooses the width of a str.
pub fn measure(text: &str) -> (usize, u32) {
    let (n_characters, largest_byte) = text.as_bytes().chunks(64).fold((0, 0), |(n, largest), chunk| {
        // A sum of at most 64 fits in a byte, so the compiler can use byte lanes.
        let n_starts: u8 = chunk.iter().map(|&byte| u8::from(byte as i8 >= -0x40)).sum();
        (n + usize::from(n_starts), chunk.iter().fold(largest, |largest: u8, &byte| largest.max(byte)))
    });
    let largest = match largest_byte {
        0..=0x7f => 0x7f,
        // U+00FF is encoded as c3 bf.
        0x80..=0xc3 => 0xff,
        0xc4..=0xef => 0xffff,
        0xf0.. => 0x0010_ffff,
    };
    (n_characters, largest)
}

/// Writes the code points of `text` to `units`, whose length and width must be those of [`measure`].
pub fn from_utf8<U: Unit>(text: &str, units: &mut [MaybeUninit<U>]) {
    from_utf8_with_isa(CpuTier::best(), text, units);
}

/// [`from_utf8`] with the instructions of `tier`, which the processor has.
pub(super) fn from_utf8_with_isa<U: Unit>(tier: CpuTier, text: &str, units: &mut [MaybeUninit<U>]) {
    #[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), allow(unused_unsafe))]
    // SAFETY: The processor has the tier; the text is UTF-8, and its code points fit into units.
    let (n_read, n_written) = unsafe {
        match tier {
            #[cfg(target_arch = "x86_64")]
            CpuTier::Avx2 | CpuTier::Avx512 => avx2::from_utf8(text.as_bytes(), units),
            // Every aarch64 processor has NEON, but not AES.
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            CpuTier::Portable | CpuTier::Neon => neon::from_utf8(text.as_bytes(), units),
            #[cfg(not(all(target_arch = "aarch64", target_endian = "little")))]
            CpuTier::Portable => (0, 0),
        }
    };
    for (unit, character) in units[n_written..].iter_mut().zip(text[n_read..].chars()) {
        unit.write(U::from_code_point(character.into()));
    }
}
