//! 64 bytes in four SSE2 registers, which every x86-64 processor has.

use std::arch::x86_64::*;

use super::{Block, set_bits};

#[repr(align(16))]
struct Aligned<T>(T);

/// [`set_bits`] with two bytes per position: widening these to four takes one instruction less.
static SET_BITS: Aligned<[[u16; 8]; 256]> = {
    let (narrow, mut wide) = (set_bits(), [[0; 8]; 256]);
    let mut at = 0;
    while at < 256 * 8 {
        wide[at / 8][at % 8] = narrow[at / 8][at % 8] as u16;
        at += 1;
    }
    Aligned(wide)
};

/// Four quarters of 16 bytes.
#[derive(Clone, Copy)]
pub(in super::super) struct Sse2([__m128i; 4]);

impl Sse2 {
    /// Returns the top bits of the bytes of four quarters.
    #[inline(always)]
    fn to_mask(quarters: [__m128i; 4]) -> u64 {
        // SAFETY: Every x86-64 processor has SSE2.
        let [a, b, c, d] = quarters.map(|quarter| unsafe { _mm_movemask_epi8(quarter) } as u64);
        a | b << 16 | c << 32 | d << 48
    }

    /// Whether any byte of four quarters has its top bit set.
    #[inline(always)]
    fn has_top_bit([a, b, c, d]: [__m128i; 4]) -> bool {
        // SAFETY: Every x86-64 processor has SSE2.
        unsafe { _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(a, b), _mm_or_si128(c, d))) != 0 }
    }
}

#[inline(always)]
fn all(byte: u8) -> __m128i {
    // SAFETY: Every x86-64 processor has SSE2.
    unsafe { _mm_set1_epi8(byte as i8) }
}

#[inline(always)]
fn within(quarter: __m128i, first: u8, last: u8) -> __m128i {
    // `last` is shifted to the greatest signed number; greater bytes wrap around to numbers below `first`.
    let (shift, below) = (all(0x7f_u8.wrapping_sub(last)), all(0x7e_u8.wrapping_sub(last - first)));
    // SAFETY: Every x86-64 processor has SSE2.
    unsafe { _mm_cmpgt_epi8(_mm_add_epi8(quarter, shift), below) }
}

/// Returns the number of set bits in each byte.
#[inline(always)]
fn bits_of_bytes(bits: u64) -> u64 {
    let twos = bits - (bits >> 1 & 0x5555_5555_5555_5555);
    let fours = (twos & 0x3333_3333_3333_3333) + (twos >> 2 & 0x3333_3333_3333_3333);
    (fours + (fours >> 4)) & 0x0f0f_0f0f_0f0f_0f0f
}

impl Block for Sse2 {
    #[inline(always)]
    unsafe fn load(bytes: *const u8) -> Self {
        // SAFETY: The caller vouches for 64 readable bytes.
        Sse2([0, 16, 32, 48].map(|at| unsafe { _mm_loadu_si128(bytes.add(at).cast()) }))
    }

    #[inline(always)]
    fn or(self, bits: u8) -> Self {
        // SAFETY: Every x86-64 processor has SSE2.
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
        Self::to_mask(self.0.map(|quarter| within(quarter, first, last)))
    }

    #[inline(always)]
    fn within_any<const N: usize>(self, ranges: [(u8, u8); N]) -> u64 {
        Self::to_mask(self.0.map(|quarter| {
            let within = ranges.map(|(first, last)| within(quarter, first, last));
            // SAFETY: as above.
            within.into_iter().reduce(|some, others| unsafe { _mm_or_si128(some, others) }).unwrap_or(all(0))
        }))
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
    fn has_any_of(self, bits: u8) -> bool {
        let [a, b, c, d] = self.0;
        // SAFETY: as above.
        unsafe {
            let any = _mm_and_si128(_mm_or_si128(_mm_or_si128(a, b), _mm_or_si128(c, d)), all(bits));
            _mm_movemask_epi8(_mm_cmpeq_epi8(any, all(0))) != 0xffff
        }
    }

    #[inline(always)]
    unsafe fn write_offsets(bits: u64, base: u32, out: *mut u32) -> usize {
        let n_bits = bits_of_bytes(bits);
        // Byte i: the number of bits in bytes 0 to i.
        let sums = n_bits.wrapping_mul(0x0101_0101_0101_0101);
        // SAFETY: Every x86-64 processor has SSE2. Each round writes eight entries after those of the previous bytes,
        // at most eight for each, so all are within the 64 that the caller vouches for. A row of the table has 16
        // bytes, aligned to 16.
        unsafe {
            let zero = _mm_setzero_si128();
            let (mut left, mut before) = (bits, sums << 8);
            let mut at = _mm_set1_epi32(base as i32);
            for _ in 0..8 {
                let numbers = _mm_load_si128(SET_BITS.0[usize::from(left as u8)].as_ptr().cast());
                let out = out.add(usize::from(before as u8));
                _mm_storeu_si128(out.cast(), _mm_add_epi32(at, _mm_unpacklo_epi16(numbers, zero)));
                _mm_storeu_si128(out.add(4).cast(), _mm_add_epi32(at, _mm_unpackhi_epi16(numbers, zero)));
                left >>= 8;
                before >>= 8;
                at = _mm_add_epi32(at, _mm_set1_epi32(8));
            }
        }
        (sums >> 56) as usize
    }
}
