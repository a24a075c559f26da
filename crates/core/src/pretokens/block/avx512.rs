//! 64 bytes in one AVX-512 register.
//!
//! The functions are inlined into callers that were compiled for these instructions and that are only
//! called where the processor has them; a value of these types is the proof, which every `unsafe` here
//! rests on.

use std::arch::x86_64::*;

use super::super::unicode::{HAN, LETTER, row_of};
use super::Block;
use super::classes::{class_of_four, for_each};

/// See the module. Needs avx512f, avx512bw, avx512vbmi, avx512vbmi2.
#[derive(Clone, Copy)]
pub(in super::super) struct Avx512(__m512i);

impl Block for Avx512 {
    #[inline(always)]
    unsafe fn load(bytes: *const u8) -> Self {
        // SAFETY: the caller vouches for 64 readable bytes and for the processor.
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

    /// All characters of one block of 64 code points at once: the block's class bytes are a register, out
    /// of which the last bytes of the characters pick. Most texts have two or three blocks in a window;
    /// Chinese and Korean, which have more, are ranges of one class. Twice as fast as one by one.
    #[inline(always)]
    unsafe fn classes(self, bytes: *const u8, leads: [u64; 3]) -> Self {
        // SAFETY: see the module; the caller vouches for 67 bytes, and `row_of` gives 64.
        unsafe {
            let mut classes = _mm512_setzero_si512();
            let seconds = _mm512_loadu_si512(bytes.add(1).cast());
            let mut left = leads[0];
            while left != 0 {
                let at = left.trailing_zeros() as usize;
                let lead = *bytes.add(at);
                let same = _mm512_cmpeq_epi8_mask(self.0, _mm512_set1_epi8(lead as i8));
                left &= !same;
                let row = _mm512_loadu_si512(row_of(usize::from(lead & 0x1f)).as_ptr().cast());
                classes = _mm512_mask_permutexvar_epi8(classes, same, seconds, row);
            }
            if leads[1] != 0 {
                let thirds = _mm512_loadu_si512(bytes.add(2).cast());
                let from = |byte: u8| _mm512_cmpge_epu8_mask(self.0, _mm512_set1_epi8(byte as i8));
                let second = |byte: u8| _mm512_cmpge_epu8_mask(seconds, _mm512_set1_epi8(byte as i8));
                let (e4, e5, ea, eb, ed) = (from(0xe4), from(0xe5), from(0xea), from(0xeb), from(0xed));
                let ee = from(0xee);
                // U+4E00 to U+9FFF, and U+B000 (or U+AC00) to U+D77F: every one a letter without case.
                let han = e5 & !ea | e4 & !e5 & second(0xb8);
                let hangul = eb & !ed | ea & !eb & second(0xb0) | ed & !ee & !second(0x9e);
                classes = _mm512_mask_mov_epi8(classes, han, _mm512_set1_epi8((LETTER | HAN) as i8));
                classes = _mm512_mask_mov_epi8(classes, hangul, _mm512_set1_epi8(LETTER as i8));
                let mut left = leads[1] & !(han | hangul);
                while left != 0 {
                    let at = left.trailing_zeros() as usize;
                    let (lead, second) = (*bytes.add(at), *bytes.add(at + 1));
                    let same = _mm512_mask_cmpeq_epi8_mask(
                        _mm512_cmpeq_epi8_mask(self.0, _mm512_set1_epi8(lead as i8)),
                        seconds,
                        _mm512_set1_epi8(second as i8),
                    );
                    left &= !same;
                    let number = usize::from(lead & 0xf) << 6 | usize::from(second & 0x3f);
                    let row = _mm512_loadu_si512(row_of(number).as_ptr().cast());
                    classes = _mm512_mask_permutexvar_epi8(classes, same, thirds, row);
                }
            }
            for_each(leads[2], |at| {
                let class = _mm512_set1_epi8(class_of_four(bytes.add(at)) as i8);
                classes = _mm512_mask_mov_epi8(classes, 1 << at, class);
            });
            Avx512(classes)
        }
    }

    #[inline(always)]
    unsafe fn write_offsets(bits: u64, base: usize, out: *mut usize) {
        let n_bits = bits.count_ones();
        // SAFETY: see the module; each store writes 8 of the 64 entries that the caller vouches for.
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
            let base = _mm512_set1_epi64(base as i64);
            let store = |sixteen: __m128i, at: usize| {
                let (low, high) = (sixteen, _mm_srli_si128::<8>(sixteen));
                _mm512_storeu_si512(out.add(at).cast(), _mm512_add_epi64(_mm512_cvtepu8_epi64(low), base));
                _mm512_storeu_si512(
                    out.add(at + 8).cast(),
                    _mm512_add_epi64(_mm512_cvtepu8_epi64(high), base),
                );
            };
            store(_mm512_castsi512_si128(packed), 0);
            if n_bits > 16 {
                store(_mm512_extracti32x4_epi32::<1>(packed), 16);
                if n_bits > 32 {
                    store(_mm512_extracti32x4_epi32::<2>(packed), 32);
                    store(_mm512_extracti32x4_epi32::<3>(packed), 48);
                }
            }
        }
    }
}
