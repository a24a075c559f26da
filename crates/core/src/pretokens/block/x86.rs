//! 64 bytes in one AVX-512 register or two AVX2 registers.
//!
//! The functions are inlined into callers that were compiled for these instructions and that are only
//! called where the processor has them; a value of these types is the proof, which every `unsafe` here
//! rests on.

use std::arch::x86_64::*;

use super::{Block, write_offsets_scalar};

/// See the module. Needs avx512f, avx512bw, avx512vbmi2.
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

/// See the module. Needs avx2.
#[derive(Clone, Copy)]
pub(in super::super) struct Avx2(__m256i, __m256i);

impl Avx2 {
    #[inline(always)]
    fn gather(low: __m256i, high: __m256i) -> u64 {
        // SAFETY: see the module.
        let (low, high) = unsafe { (_mm256_movemask_epi8(low), _mm256_movemask_epi8(high)) };
        u64::from(low as u32) | u64::from(high as u32) << 32
    }

    #[inline(always)]
    fn each(self, answer: impl Fn(__m256i) -> __m256i) -> u64 {
        Self::gather(answer(self.0), answer(self.1))
    }
}

impl Block for Avx2 {
    #[inline(always)]
    unsafe fn load(bytes: *const u8) -> Self {
        // SAFETY: the caller vouches for 64 readable bytes and for the processor.
        unsafe { Avx2(_mm256_loadu_si256(bytes.cast()), _mm256_loadu_si256(bytes.add(32).cast())) }
    }

    #[inline(always)]
    fn or(self, bits: u8) -> Self {
        // SAFETY: see the module.
        unsafe {
            let bits = _mm256_set1_epi8(bits as i8);
            Avx2(_mm256_or_si256(self.0, bits), _mm256_or_si256(self.1, bits))
        }
    }

    #[inline(always)]
    fn equal(self, byte: u8) -> u64 {
        // SAFETY: see the module.
        self.each(|half| unsafe { _mm256_cmpeq_epi8(half, _mm256_set1_epi8(byte as i8)) })
    }

    #[inline(always)]
    fn within(self, first: u8, last: u8) -> u64 {
        // SAFETY: see the module.
        self.each(|half| unsafe {
            let from_first = _mm256_sub_epi8(half, _mm256_set1_epi8(first as i8));
            let clamped = _mm256_min_epu8(from_first, _mm256_set1_epi8((last - first) as i8));
            _mm256_cmpeq_epi8(from_first, clamped)
        })
    }

    #[inline(always)]
    fn high(self) -> u64 {
        self.each(|half| half)
    }

    #[inline(always)]
    fn at_least(self, least: u8) -> u64 {
        // SAFETY: see the module.
        self.each(|half| unsafe {
            _mm256_cmpeq_epi8(half, _mm256_max_epu8(half, _mm256_set1_epi8(least as i8)))
        })
    }

    #[inline(always)]
    unsafe fn write_offsets(bits: u64, base: usize, out: *mut usize) {
        // SAFETY: the caller's promise is the same.
        unsafe { write_offsets_scalar(bits, base, out) }
    }
}
