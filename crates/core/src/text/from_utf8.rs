//! UTF-8 -> code points.
//!
//! With AVX-512 (VBMI2) 64 bytes at a time: the lead bytes, and the first, second and third bytes after them, are
//! compressed into a vector each, so that every lane holds the bytes of one character.

use std::mem::MaybeUninit;

use super::units::{STEP_BYTES, Unit};
#[cfg(target_arch = "x86_64")]
use crate::cpu::CpuTier;

/// `bytes` as text, or `None` if they are not UTF-8.
pub fn valid(bytes: &[u8]) -> Option<&str> {
    simdutf8::basic::from_utf8(bytes).ok()
}

/// The number of characters of a text, and an upper bound of its code points: 0x7f, 0xff, 0xffff or 0x10ffff, the bounds
/// by which CPython chooses the width of a str.
pub fn measure(text: &str) -> (usize, u32) {
    let (n_characters, largest_byte) =
        text.as_bytes().chunks(STEP_BYTES).fold((0, 0), |(n, largest), chunk| {
            // A sum of at most 64 fits in a byte, which lets the compiler use byte lanes.
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
    #[cfg(target_arch = "x86_64")]
    let (n_read, n_written) = if CpuTier::best().has_avx512() {
        // SAFETY: the AVX-512 tier has all features that the function is compiled for.
        unsafe { from_utf8_avx512(text.as_bytes(), units) }
    } else {
        (0, 0)
    };
    #[cfg(not(target_arch = "x86_64"))]
    let (n_read, n_written) = (0, 0);
    for (unit, character) in units[n_written..].iter_mut().zip(text[n_read..].chars()) {
        unit.write(U::of(character.into()));
    }
}

/// Converts all whole steps of 64 bytes; returns the bytes read and the units written.
///
/// # Safety
/// The processor has the features of [`CpuTier::Avx512`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt,bmi1,bmi2")]
unsafe fn from_utf8_avx512<U: Unit>(bytes: &[u8], units: &mut [MaybeUninit<U>]) -> (usize, usize) {
    use std::arch::x86_64::{
        __m512i, _mm512_and_si512 as and, _mm512_castsi512_si128, _mm512_cmpge_epi8_mask,
        _mm512_cmpge_epu32_mask, _mm512_cvtepu8_epi32, _mm512_loadu_si512, _mm512_mask_mov_epi32,
        _mm512_maskz_compress_epi8, _mm512_movepi8_mask, _mm512_or_si512 as or, _mm512_set1_epi8,
        _mm512_set1_epi32 as all, _mm512_shuffle_i32x4, _mm512_slli_epi32 as left,
    };
    /// The first sixteen bytes as 32-bit numbers; rotates the next sixteen to the front.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn take(bytes: &mut __m512i) -> __m512i {
        let first = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(*bytes));
        *bytes = _mm512_shuffle_i32x4::<0b00_11_10_01>(*bytes, *bytes);
        first
    }
    let (mut n_read, mut n_written) = (0, 0);
    while n_read + STEP_BYTES + 3 <= bytes.len() && n_written + STEP_BYTES <= units.len() {
        // SAFETY: the loop condition leaves a step and three more bytes to read.
        let [mut first, mut second, mut third, mut fourth] =
            [0, 1, 2, 3].map(|at| unsafe { _mm512_loadu_si512(bytes.as_ptr().add(n_read + at).cast()) });
        let is_ascii = _mm512_movepi8_mask(first) == 0;
        // Lead bytes: all but continuation bytes (10xxxxxx), which are the least as signed numbers.
        let starts = _mm512_cmpge_epi8_mask(first, _mm512_set1_epi8(-0x40));
        let n_starts = starts.count_ones() as usize;
        if !is_ascii {
            [first, second, third, fourth] =
                [first, second, third, fourth].map(|bytes| _mm512_maskz_compress_epi8(starts, bytes));
        }
        let low_six = all(0x3f);
        for at in (0..n_starts).step_by(16) {
            let lead = take(&mut first);
            let mut number = lead;
            if !is_ascii {
                let [b, c, d] =
                    [take(&mut second), take(&mut third), take(&mut fourth)].map(|byte| and(byte, low_six));
                let two = or(left::<6>(and(lead, all(0x1f))), b);
                let three = or(or(left::<12>(and(lead, all(0xf))), left::<6>(b)), c);
                let four = or(or(left::<18>(and(lead, all(7))), left::<12>(b)), or(left::<6>(c), d));
                for (from, decoded) in [(0xc0, two), (0xe0, three), (0xf0, four)] {
                    let is_longer = _mm512_cmpge_epu32_mask(lead, all(from));
                    number = _mm512_mask_mov_epi32(number, is_longer, decoded);
                }
            }
            // SAFETY: `at` is at most 48, and the loop condition leaves room for 64 units from `n_written` on.
            unsafe { U::store(number, units.as_mut_ptr().add(n_written + at).cast()) };
        }
        n_read += STEP_BYTES;
        n_written += n_starts;
    }
    // The last character may extend beyond the last step.
    while n_read < bytes.len() && bytes[n_read] & 0xc0 == 0x80 {
        n_read += 1;
    }
    (n_read, n_written)
}
