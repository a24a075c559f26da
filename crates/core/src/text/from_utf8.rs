//! UTF-8 to characters.
//!
//! With AVX-512 the bytes of each place in a character, of 64 bytes, are squeezed together, and the four made one.

use std::mem::MaybeUninit;

use super::units::{STEP_BYTES, Unit};
#[cfg(target_arch = "x86_64")]
use crate::cpu::CpuTier;

/// `bytes` as text, if they are UTF-8.
pub fn valid(bytes: &[u8]) -> Option<&str> {
    simdutf8::basic::from_utf8(bytes).ok()
}

/// How many characters a text has, and the largest number that one of its length in bytes may have: 0x7f, 0xff,
/// 0xffff or 0x10ffff.
pub fn measure(text: &str) -> (usize, u32) {
    let (n_characters, most) = text.as_bytes().chunks(STEP_BYTES).fold((0, 0), |(n, most), chunk| {
        // A sum of at most 64 fits a byte: so many lanes are added at once.
        let n_starts: u8 = chunk.iter().map(|&byte| u8::from(byte as i8 >= -0x40)).sum();
        (n + usize::from(n_starts), chunk.iter().fold(most, |most: u8, &byte| most.max(byte)))
    });
    let largest = match most {
        0..=0x7f => 0x7f,
        // U+00FF is c3 bf.
        0x80..=0xc3 => 0xff,
        0xc4..=0xef => 0xffff,
        0xf0.. => 0x0010_ffff,
    };
    (n_characters, largest)
}

/// Writes the numbers of the characters of `text` to `units`, as many as [`measure`] says, in a width that they fit.
pub fn from_utf8<U: Unit>(text: &str, units: &mut [MaybeUninit<U>]) {
    #[cfg(target_arch = "x86_64")]
    let (n_read, n_written) = if CpuTier::best().has_avx512() {
        // SAFETY: The processor was asked.
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

/// The same for as many whole steps as there are; gives how many bytes were read and how many units written.
///
/// # Safety
/// The processor has AVX-512 with BW and VBMI2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt,bmi1,bmi2")]
unsafe fn from_utf8_avx512<U: Unit>(bytes: &[u8], units: &mut [MaybeUninit<U>]) -> (usize, usize) {
    use std::arch::x86_64::{
        __m512i, _mm512_and_si512 as and, _mm512_castsi512_si128, _mm512_cmpge_epi8_mask,
        _mm512_cmpge_epu32_mask, _mm512_cvtepu8_epi32, _mm512_loadu_si512, _mm512_mask_mov_epi32,
        _mm512_maskz_compress_epi8, _mm512_movepi8_mask, _mm512_or_si512 as or, _mm512_set1_epi8,
        _mm512_set1_epi32 as all, _mm512_shuffle_i32x4, _mm512_slli_epi32 as left,
    };
    /// Sixteen bytes as numbers, and the next sixteen to the front.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn take(bytes: &mut __m512i) -> __m512i {
        let first = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(*bytes));
        *bytes = _mm512_shuffle_i32x4::<0b00_11_10_01>(*bytes, *bytes);
        first
    }
    let (mut n_read, mut n_written) = (0, 0);
    while n_read + STEP_BYTES + 3 <= bytes.len() && n_written + STEP_BYTES <= units.len() {
        // SAFETY: a step and three bytes more can be read.
        let [mut first, mut second, mut third, mut fourth] =
            [0, 1, 2, 3].map(|at| unsafe { _mm512_loadu_si512(bytes.as_ptr().add(n_read + at).cast()) });
        let is_ascii = _mm512_movepi8_mask(first) == 0;
        // All but those that go on with a character: signed, these are the least.
        let starts = _mm512_cmpge_epi8_mask(first, _mm512_set1_epi8(-0x40));
        let n_starts = starts.count_ones() as usize;
        if !is_ascii {
            [first, second, third, fourth] =
                [first, second, third, fourth].map(|bytes| _mm512_maskz_compress_epi8(starts, bytes));
        }
        let six = all(0x3f);
        for at in (0..n_starts).step_by(16) {
            let lead = take(&mut first);
            let mut number = lead;
            if !is_ascii {
                let [b, c, d] =
                    [take(&mut second), take(&mut third), take(&mut fourth)].map(|byte| and(byte, six));
                let two = or(left::<6>(and(lead, all(0x1f))), b);
                let three = or(or(left::<12>(and(lead, all(0xf))), left::<6>(b)), c);
                let four = or(or(left::<18>(and(lead, all(7))), left::<12>(b)), or(left::<6>(c), d));
                for (from, spelled) in [(0xc0, two), (0xe0, three), (0xf0, four)] {
                    let reached = _mm512_cmpge_epu32_mask(lead, all(from));
                    number = _mm512_mask_mov_epi32(number, reached, spelled);
                }
            }
            // SAFETY: `at` is at most 48, and 64 units from `n_written` on can be written.
            unsafe { U::store(number, units.as_mut_ptr().add(n_written + at).cast()) };
        }
        n_read += STEP_BYTES;
        n_written += n_starts;
    }
    // The last character may go on behind the last step.
    while n_read < bytes.len() && bytes[n_read] & 0xc0 == 0x80 {
        n_read += 1;
    }
    (n_read, n_written)
}
