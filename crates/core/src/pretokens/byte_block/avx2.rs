//! 64 bytes in two AVX2 registers.
//!
//! The functions are inlined into callers that are compiled for these instructions, and that only run on processors
//! that have them. So a value of the type proves that the instructions are there; each `unsafe` here relies on that.

use std::arch::x86_64::*;

use super::{Block, Chain, set_bits};

static SET_BITS: [[u8; 8]; 256] = set_bits();

/// Two halves of 32 bytes. Needs AVX2.
#[derive(Clone, Copy)]
pub(in super::super) struct Avx2(__m256i, __m256i);

impl Avx2 {
    #[inline(always)]
    fn to_mask(low: __m256i, high: __m256i) -> u64 {
        // SAFETY: see the module.
        let (low, high) = unsafe { (_mm256_movemask_epi8(low), _mm256_movemask_epi8(high)) };
        u64::from(low as u32) | u64::from(high as u32) << 32
    }
}

// Functions, not closures: a closure that is not inlined loses the caller's target features (French: six times
// slower).

#[inline(always)]
fn within(half: __m256i, first: u8, last: u8) -> __m256i {
    // `last` is shifted to the greatest signed number; greater bytes wrap around to numbers below `first`.
    // SAFETY: see the module.
    unsafe {
        let shifted = _mm256_add_epi8(half, _mm256_set1_epi8(0x7f_u8.wrapping_sub(last) as i8));
        _mm256_cmpgt_epi8(shifted, _mm256_set1_epi8(0x7e_u8.wrapping_sub(last - first) as i8))
    }
}

#[inline(always)]
fn within_any<const N: usize>(half: __m256i, ranges: [(u8, u8); N]) -> __m256i {
    // SAFETY: see the module.
    unsafe {
        let mut any = _mm256_setzero_si256();
        for (first, last) in ranges {
            any = _mm256_or_si256(any, within(half, first, last));
        }
        any
    }
}

#[inline(always)]
fn equal(half: __m256i, byte: u8) -> __m256i {
    // SAFETY: see the module.
    unsafe { _mm256_cmpeq_epi8(half, _mm256_set1_epi8(byte as i8)) }
}

/// Whether any byte of either half has its top bit set.
#[inline(always)]
fn has_top_bit(low: __m256i, high: __m256i) -> bool {
    // SAFETY: see the module.
    unsafe { _mm256_movemask_epi8(_mm256_or_si256(low, high)) != 0 }
}

#[inline(always)]
fn at_least(half: __m256i, least: u8) -> __m256i {
    // SAFETY: see the module.
    unsafe { _mm256_cmpeq_epi8(half, _mm256_max_epu8(half, _mm256_set1_epi8(least as i8))) }
}

#[inline(always)]
fn eight_offsets(base: __m256i, offsets: &[u8; 8]) -> __m256i {
    // SAFETY: see the module; eight bytes are loaded.
    unsafe {
        let offsets = _mm256_cvtepu8_epi32(_mm_loadl_epi64(offsets.as_ptr().cast()));
        _mm256_add_epi32(base, offsets)
    }
}

#[inline(always)]
fn none_of(half: __m256i, bits: u8) -> __m256i {
    // SAFETY: see the module.
    unsafe { _mm256_cmpeq_epi8(_mm256_and_si256(half, _mm256_set1_epi8(bits as i8)), _mm256_setzero_si256()) }
}

impl Block for Avx2 {
    #[inline(always)]
    unsafe fn load(bytes: *const u8) -> Self {
        // SAFETY: The caller vouches for 64 readable bytes and for the processor.
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
        Self::to_mask(equal(self.0, byte), equal(self.1, byte))
    }

    #[inline(always)]
    fn rare(self, byte: u8, among: u64) -> u64 {
        let (low, high) = (equal(self.0, byte), equal(self.1, byte));
        if has_top_bit(low, high) { Self::to_mask(low, high) & among } else { 0 }
    }

    #[inline(always)]
    fn is_ascii(self) -> bool {
        !has_top_bit(self.0, self.1)
    }

    #[inline(always)]
    fn within(self, first: u8, last: u8) -> u64 {
        Self::to_mask(within(self.0, first, last), within(self.1, first, last))
    }

    #[inline(always)]
    fn within_any<const N: usize>(self, ranges: [(u8, u8); N]) -> u64 {
        Self::to_mask(within_any(self.0, ranges), within_any(self.1, ranges))
    }

    #[inline(always)]
    fn high(self) -> u64 {
        Self::to_mask(self.0, self.1)
    }

    #[inline(always)]
    fn at_least(self, least: u8) -> u64 {
        Self::to_mask(at_least(self.0, least), at_least(self.1, least))
    }

    #[inline(always)]
    fn any_of(self, bits: u8) -> u64 {
        !Self::to_mask(none_of(self.0, bits), none_of(self.1, bits))
    }

    #[inline(always)]
    fn has_any_of(self, bits: u8) -> bool {
        // SAFETY: see the module.
        unsafe { _mm256_testz_si256(_mm256_or_si256(self.0, self.1), _mm256_set1_epi8(bits as i8)) == 0 }
    }

    #[inline(always)]
    unsafe fn chain(chain: &Chain, first: u8, bytes: &[u8; 64], entries: &mut [u8; 64]) -> Self {
        // SAFETY: see the module.
        unsafe {
            let [a, b, c, d] = chain_of_quarters(chain, first, bytes, entries);
            Avx2(_mm256_set_m128i(b, a), _mm256_set_m128i(d, c))
        }
    }

    #[inline(always)]
    unsafe fn write_offsets(bits: u64, base: u32, out: *mut u32) -> usize {
        // SAFETY: see the module. Each round writes eight entries after those of the previous bytes, at most eight for
        // each, so all are within the 64 that the caller vouches for.
        unsafe {
            let (mut left, mut out) = (bits, out);
            let mut at = _mm256_set1_epi32(base as i32);
            for _ in 0..8 {
                let byte = left as u8;
                left >>= 8;
                _mm256_storeu_si256(out.cast(), eight_offsets(at, &SET_BITS[usize::from(byte)]));
                out = out.add(byte.count_ones() as usize);
                at = _mm256_add_epi32(at, _mm256_set1_epi32(8));
            }
        }
        bits.count_ones() as usize
    }
}

/// [`Block::chain`] by shuffles. They use the low four bits of an index, but return 0 if its top bit is set.
///
/// # Safety
/// The processor must have AVX2.
#[inline(always)]
unsafe fn chain_of_quarters(
    chain: &Chain,
    first: u8,
    bytes: &[u8; 64],
    entries: &mut [u8; 64],
) -> [__m128i; 4] {
    // SAFETY: The caller vouches for the processor.
    unsafe {
        let (mut last, none) = (_mm_set1_epi8((first & 15) as i8), _mm_setzero_si128());
        // No loop: it would keep the quarters in memory.
        let a = next_quarter::<0>(chain, &mut last, bytes, entries);
        if _mm_movemask_epi8(a) != 0 {
            return [a, none, none, none];
        }
        let b = next_quarter::<16>(chain, &mut last, bytes, entries);
        if _mm_movemask_epi8(b) != 0 {
            return [a, b, none, none];
        }
        let c = next_quarter::<32>(chain, &mut last, bytes, entries);
        if _mm_movemask_epi8(c) != 0 {
            return [a, b, c, none];
        }
        [a, b, c, next_quarter::<48>(chain, &mut last, bytes, entries)]
    }
}

/// Returns the entries of the 16 bytes from `FROM` on. Each byte of `last` is the entry before them, then their last
/// one.
///
/// # Safety
/// The processor must have AVX2; `FROM` must be at most 48.
#[inline(always)]
unsafe fn next_quarter<const FROM: usize>(
    chain: &Chain,
    last: &mut __m128i,
    bytes: &[u8; 64],
    entries: &mut [u8; 64],
) -> __m128i {
    // SAFETY: The caller vouches for the processor. A row and a quarter of the entries have sixteen bytes.
    unsafe {
        let mut some = _mm_setzero_si128();
        for at in FROM..FROM + 16 {
            let row = &chain[usize::from(bytes[at])];
            *last = _mm_shuffle_epi8(_mm_loadu_si128(row.as_ptr().cast()), *last);
            // The new entry comes in at the end of the register; the oldest goes out at the start.
            some = _mm_alignr_epi8::<1>(*last, some);
        }
        _mm_storeu_si128(entries.as_mut_ptr().add(FROM).cast(), some);
        some
    }
}
