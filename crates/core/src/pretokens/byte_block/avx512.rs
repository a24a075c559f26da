//! 64 bytes in one AVX-512 register.
//!
//! The functions are inlined into callers that are compiled for these instructions, and that only run on processors
//! that have them. So a value of the type proves that the instructions are there; each `unsafe` here relies on that.

use std::arch::x86_64::*;

use super::super::unicode::{HAN, LETTER, block_of};
use super::Block;
use super::classes::{class_of_four, for_each};

/// 64 bytes. Needs avx512f, avx512bw, avx512vbmi, avx512vbmi2.
#[derive(Clone, Copy)]
pub(in super::super) struct Avx512(__m512i);

impl Block for Avx512 {
    const HAS_BLOCK_CLASSES: bool = true;

    #[inline(always)]
    unsafe fn load(bytes: *const u8) -> Self {
        // SAFETY: The caller vouches for 64 readable bytes and for the processor.
        Avx512(unsafe { _mm512_loadu_si512(bytes.cast()) })
    }

    #[inline(always)]
    fn or(self, bits: u8) -> Self {
        // SAFETY: see the module.
        Avx512(unsafe { _mm512_or_si512(self.0, _mm512_set1_epi8(bits as i8)) })
    }

    #[inline(always)]
    fn equal(self, byte: u8) -> u64 {
        // SAFETY: see the module.
        unsafe { _mm512_cmpeq_epi8_mask(self.0, _mm512_set1_epi8(byte as i8)) }
    }

    #[inline(always)]
    fn within(self, first: u8, last: u8) -> u64 {
        // SAFETY: see the module.
        unsafe {
            let from_first = _mm512_sub_epi8(self.0, _mm512_set1_epi8(first as i8));
            _mm512_cmple_epu8_mask(from_first, _mm512_set1_epi8((last - first) as i8))
        }
    }

    #[inline(always)]
    fn high(self) -> u64 {
        // SAFETY: see the module.
        unsafe { _mm512_movepi8_mask(self.0) }
    }

    #[inline(always)]
    fn at_least(self, least: u8) -> u64 {
        // SAFETY: see the module.
        unsafe { _mm512_cmpge_epu8_mask(self.0, _mm512_set1_epi8(least as i8)) }
    }

    #[inline(always)]
    fn any_of(self, bits: u8) -> u64 {
        // SAFETY: see the module.
        unsafe { _mm512_test_epi8_mask(self.0, _mm512_set1_epi8(bits as i8)) }
    }

    /// Looks up all characters of one block of 256 code points at once: four registers hold the class bytes of the
    /// block, and the low bits of the characters select from them. Most texts have one or two blocks in a window;
    /// Chinese and Korean, which have more, are ranges of one class. (Compared with one character at a time, Russian
    /// and Korean are twice as fast, Japanese by a third.)
    #[inline(always)]
    unsafe fn classes(self, bytes: *const u8, leads: [u64; 3]) -> Self {
        // SAFETY: see the module; the caller vouches for 67 bytes.
        unsafe {
            let seconds = _mm512_loadu_si512(bytes.add(1).cast());
            let mut classes = _mm512_setzero_si512();
            let mut left = leads[0];
            if left != 0 && _mm512_cmpge_epu8_mask(self.0, all(0xc6)) == 0 {
                // U+0080 to U+017F: the upper half of the first block, and the lower half of the second.
                let (first, second) = (block_of(0), block_of(0x100));
                let low = low_bits(self.0, seconds);
                let extended = _mm512_mask_cmpge_epu8_mask(left, self.0, all(0xc4));
                let found = _mm512_permutex2var_epi8(row::<2>(first), low, row::<3>(first));
                classes = _mm512_maskz_mov_epi8(left, found);
                if extended != 0 {
                    let found = _mm512_permutex2var_epi8(row::<0>(second), low, row::<1>(second));
                    classes = _mm512_mask_mov_epi8(classes, extended, found);
                }
            } else if left != 0 {
                let low = low_bits(self.0, seconds);
                let blocks = _mm512_and_si512(self.0, all(0xfc));
                while left != 0 {
                    let lead = *bytes.add(left.trailing_zeros() as usize);
                    let same = _mm512_cmpeq_epi8_mask(blocks, all(lead & 0xfc));
                    left &= !same;
                    classes = pick(classes, same, low, block_of(u32::from(lead & 0x1f) << 6));
                }
            }
            left = leads[1];
            if left != 0 {
                if _mm512_cmpge_epu8_mask(self.0, all(0xe4)) != 0 {
                    let second = Avx512(seconds);
                    let (e4, e5, ea) = (self.at_least(0xe4), self.at_least(0xe5), self.at_least(0xea));
                    let (eb, ed, ee) = (self.at_least(0xeb), self.at_least(0xed), self.at_least(0xee));
                    // U+4E00 to U+9FFF, and U+AC00 to U+D77F: all are letters without case.
                    let han = e5 & !ea | e4 & !e5 & second.at_least(0xb8);
                    let hangul =
                        eb & !ed | ea & !eb & second.at_least(0xb0) | ed & !ee & !second.at_least(0x9e);
                    classes = _mm512_mask_mov_epi8(classes, han, all(LETTER | HAN));
                    classes = _mm512_mask_mov_epi8(classes, hangul, all(LETTER));
                    left &= !(han | hangul);
                }
                if left != 0 {
                    let low = low_bits(seconds, _mm512_loadu_si512(bytes.add(2).cast()));
                    let blocks = _mm512_and_si512(seconds, all(0xfc));
                    while left != 0 {
                        let at = left.trailing_zeros() as usize;
                        let (lead, second) = (*bytes.add(at), *bytes.add(at + 1));
                        let same_lead = _mm512_cmpeq_epi8_mask(self.0, all(lead));
                        let same = _mm512_mask_cmpeq_epi8_mask(same_lead, blocks, all(second & 0xfc));
                        left &= !same;
                        let code = u32::from(lead & 0xf) << 12 | u32::from(second & 0x3f) << 6;
                        classes = pick(classes, same, low, block_of(code));
                    }
                }
            }
            for_each(leads[2], |at| {
                let class = all(class_of_four(bytes.add(at)));
                classes = _mm512_mask_mov_epi8(classes, 1 << at, class);
            });
            Avx512(classes)
        }
    }

    #[inline(always)]
    unsafe fn write_offsets(bits: u64, base: u32, out: *mut u32) -> usize {
        let n_bits = bits.count_ones();
        // SAFETY: see the module. Each store writes 16 of the 64 entries that the caller vouches for.
        unsafe {
            let every = _mm512_set_epi64(
                0x3f3e_3d3c_3b3a_3938,
                0x3736_3534_3332_3130,
                0x2f2e_2d2c_2b2a_2928,
                0x2726_2524_2322_2120,
                0x1f1e_1d1c_1b1a_1918,
                0x1716_1514_1312_1110,
                0x0f0e_0d0c_0b0a_0908,
                0x0706_0504_0302_0100,
            );
            let packed = _mm512_maskz_compress_epi8(bits, every);
            let base = _mm512_set1_epi32(base as i32);
            // About sixteen are usual, so a branch on more than sixteen would be mispredicted.
            store(_mm512_castsi512_si128(packed), base, out);
            store(_mm512_extracti32x4_epi32::<1>(packed), base, out.add(16));
            if n_bits > 32 {
                store(_mm512_extracti32x4_epi32::<2>(packed), base, out.add(32));
                store(_mm512_extracti32x4_epi32::<3>(packed), base, out.add(48));
            }
        }
        n_bits as usize
    }
}

// Functions instead of closures: a closure that is not inlined loses the caller's target features.

#[inline(always)]
fn all(byte: u8) -> __m512i {
    // SAFETY: see the module.
    unsafe { _mm512_set1_epi8(byte as i8) }
}

/// Returns the low eight bits of the code points whose last two bytes are `before` and `last`.
#[inline(always)]
fn low_bits(before: __m512i, last: __m512i) -> __m512i {
    // SAFETY: see the module.
    unsafe {
        let high = _mm512_and_si512(_mm512_slli_epi16::<6>(before), all(0xc0));
        _mm512_or_si512(high, _mm512_and_si512(last, all(0x3f)))
    }
}

/// Returns the 64 entries of `block` from 64 times `NUMBER` on.
#[inline(always)]
fn row<const NUMBER: usize>(block: &[u8; 256]) -> __m512i {
    const { assert!(NUMBER < 4) };
    // SAFETY: see the module; four times 64 bytes are 256.
    unsafe { _mm512_loadu_si512(block.as_ptr().add(64 * NUMBER).cast()) }
}

/// Writes `base` plus each of sixteen bytes.
///
/// # Safety
/// 16 entries must be writable at `out`.
#[inline(always)]
unsafe fn store(sixteen: __m128i, base: __m512i, out: *mut u32) {
    // SAFETY: see the module; the caller vouches for 16 entries.
    unsafe { _mm512_storeu_si512(out.cast(), _mm512_add_epi32(_mm512_cvtepu8_epi32(sixteen), base)) };
}

/// Returns `classes` with, at the bits of `same`, the entries of `block` at the indices in `low`.
#[inline(always)]
fn pick(classes: __m512i, same: u64, low: __m512i, block: &[u8; 256]) -> __m512i {
    // SAFETY: see the module.
    unsafe {
        let upper_half = _mm512_movepi8_mask(low);
        let from_lower = _mm512_permutex2var_epi8(row::<0>(block), low, row::<1>(block));
        let from_upper = _mm512_permutex2var_epi8(row::<2>(block), low, row::<3>(block));
        let classes = _mm512_mask_mov_epi8(classes, same & !upper_half, from_lower);
        _mm512_mask_mov_epi8(classes, same & upper_half, from_upper)
    }
}
