//! 64 bytes in four SSE2 registers, which every x86-64 processor has.

use std::arch::x86_64::*;

use super::{Block, write_offsets_scalar};

/// See the module.
#[derive(Clone, Copy)]
pub(in super::super) struct Sse2([__m128i; 4]);

impl Sse2 {
    /// The top bits of the bytes of four quarters.
    #[inline(always)]
    fn to_mask(quarters: [__m128i; 4]) -> u64 {
        // SAFETY: every x86-64 processor has SSE2.
        let [a, b, c, d] = quarters.map(|quarter| unsafe { _mm_movemask_epi8(quarter) } as u64);
        a | b << 16 | c << 32 | d << 48
    }

    /// Whether any byte of four quarters has its top bit.
    #[inline(always)]
    fn has_top_bit([a, b, c, d]: [__m128i; 4]) -> bool {
        // SAFETY: every x86-64 processor has SSE2.
        unsafe { _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(a, b), _mm_or_si128(c, d))) != 0 }
    }
}

#[inline(always)]
fn all(byte: u8) -> __m128i {
    // SAFETY: every x86-64 processor has SSE2.
    unsafe { _mm_set1_epi8(byte as i8) }
}

impl Block for Sse2 {
    #[inline(always)]
    unsafe fn load(bytes: *const u8) -> Self {
        // SAFETY: the caller vouches for 64 readable bytes.
        Sse2([0, 16, 32, 48].map(|at| unsafe { _mm_loadu_si128(bytes.add(at).cast()) }))
    }

    #[inline(always)]
    fn or(self, bits: u8) -> Self {
        // SAFETY: every x86-64 processor has SSE2.
        Sse2(self.0.map(|quarter| unsafe { _mm_or_si128(quarter, all(bits)) }))
    }

    #[inline(always)]
    fn equal(self, byte: u8) -> u64 {
        // SAFETY: as above.
        Self::to_mask(self.0.map(|quarter| unsafe { _mm_cmpeq_epi8(quarter, all(byte)) }))
    }

    #[inline(always)]
    fn rare(self, byte: u8, among: u64) -> u64 {
        // SAFETY: as above.
        let equal = self.0.map(|quarter| unsafe { _mm_cmpeq_epi8(quarter, all(byte)) });
        if Self::has_top_bit(equal) { Self::to_mask(equal) & among } else { 0 }
    }

    #[inline(always)]
    fn is_ascii(self) -> bool {
        !Self::has_top_bit(self.0)
    }

    #[inline(always)]
    fn within(self, first: u8, last: u8) -> u64 {
        // `last` becomes the greatest signed number, and bytes after it wrap around to less than `first`.
        let (shift, below) = (all(0x7f - last), all(0x7e - (last - first)));
        // SAFETY: as above.
        Self::to_mask(self.0.map(|quarter| unsafe { _mm_cmpgt_epi8(_mm_add_epi8(quarter, shift), below) }))
    }

    #[inline(always)]
    fn high(self) -> u64 {
        Self::to_mask(self.0)
    }

    #[inline(always)]
    fn at_least(self, least: u8) -> u64 {
        // SAFETY: as above.
        Self::to_mask(
            self.0.map(|quarter| unsafe { _mm_cmpeq_epi8(quarter, _mm_max_epu8(quarter, all(least))) }),
        )
    }

    #[inline(always)]
    fn any_of(self, bits: u8) -> u64 {
        // SAFETY: as above.
        !Self::to_mask(
            self.0.map(|quarter| unsafe { _mm_cmpeq_epi8(_mm_and_si128(quarter, all(bits)), all(0)) }),
        )
    }

    #[inline(always)]
    unsafe fn write_offsets(bits: u64, base: usize, out: *mut usize) {
        // SAFETY: the caller's promise is the same.
        unsafe { write_offsets_scalar(bits, base, out) }
    }
}
