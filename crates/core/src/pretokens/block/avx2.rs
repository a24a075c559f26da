//! 64 bytes in two AVX2 registers.
//!
//! The functions are inlined into callers that were compiled for these instructions and that are only
//! called where the processor has them; a value of these types is the proof, which every `unsafe` here
//! rests on.

use std::arch::x86_64::*;

use super::{Block, write_offsets_scalar};

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
    fn any_of(self, bits: u8) -> u64 {
        // SAFETY: see the module.
        !self.each(|half| unsafe {
            _mm256_cmpeq_epi8(_mm256_and_si256(half, _mm256_set1_epi8(bits as i8)), _mm256_setzero_si256())
        })
    }

    #[inline(always)]
    unsafe fn write_offsets(bits: u64, base: usize, out: *mut usize) {
        // SAFETY: the caller's promise is the same.
        unsafe { write_offsets_scalar(bits, base, out) }
    }
}
