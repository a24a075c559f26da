//! 64 bytes in four NEON registers, which every 64-bit ARM processor has.
//!
//! No instruction gathers one bit of each byte. So each byte of an answer keeps the bit of its position among eight,
//! and three pairwise additions put these bits side by side. Not timed; tests pass under an emulator.

use std::arch::aarch64::*;

use super::{Block, CHAIN_STOPS, Chain, N_CHAINED, write_offsets_scalar};

/// Four quarters of 16 bytes.
#[derive(Clone, Copy)]
pub(in super::super) struct Neon([uint8x16_t; 4]);

impl Neon {
    /// Returns a bit for each byte of four quarters, whose bytes are 0xff or 0.
    #[inline(always)]
    fn to_mask(quarters: [uint8x16_t; 4]) -> u64 {
        // SAFETY: Every aarch64 processor has NEON.
        unsafe {
            let places = vreinterpretq_u8_u64(vdupq_n_u64(0x8040_2010_0804_0201));
            let [a, b, c, d] = quarters.map(|quarter| vandq_u8(quarter, places));
            let sums = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
            vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)))
        }
    }
}

#[inline(always)]
fn all(byte: u8) -> uint8x16_t {
    // SAFETY: Every aarch64 processor has NEON.
    unsafe { vdupq_n_u8(byte) }
}

#[inline(always)]
fn within(quarter: uint8x16_t, first: u8, last: u8) -> uint8x16_t {
    // SAFETY: Every aarch64 processor has NEON.
    unsafe { vcleq_u8(vsubq_u8(quarter, all(first)), all(last - first)) }
}

impl Block for Neon {
    #[inline(always)]
    unsafe fn load(bytes: *const u8) -> Self {
        // SAFETY: The caller vouches for 64 readable bytes.
        Neon([0, 16, 32, 48].map(|at| unsafe { vld1q_u8(bytes.add(at)) }))
    }

    #[inline(always)]
    fn or(self, bits: u8) -> Self {
        // SAFETY: Every aarch64 processor has NEON.
        Neon(self.0.map(|quarter| unsafe { vorrq_u8(quarter, all(bits)) }))
    }

    #[inline(always)]
    fn equal(self, byte: u8) -> u64 {
        // SAFETY: as above.
        Self::to_mask(self.0.map(|quarter| unsafe { vceqq_u8(quarter, all(byte)) }))
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
            within.into_iter().reduce(|some, others| unsafe { vorrq_u8(some, others) }).unwrap_or(all(0))
        }))
    }

    #[inline(always)]
    fn high(self) -> u64 {
        self.at_least(0x80)
    }

    #[inline(always)]
    fn at_least(self, least: u8) -> u64 {
        // SAFETY: as above.
        Self::to_mask(self.0.map(|quarter| unsafe { vcgeq_u8(quarter, all(least)) }))
    }

    #[inline(always)]
    fn any_of(self, bits: u8) -> u64 {
        // SAFETY: as above.
        Self::to_mask(self.0.map(|quarter| unsafe { vtstq_u8(quarter, all(bits)) }))
    }

    #[inline(always)]
    unsafe fn chain(chain: &Chain, first: u8, bytes: &[u8; 64], entries: &mut [u8; 64]) -> Self {
        // SAFETY: as above; a row and a quarter of the entries have sixteen bytes.
        unsafe {
            let mut last = all(first);
            let mut quarters = [all(0); 4];
            for (quarter, some) in quarters.iter_mut().enumerate() {
                for at in 0..16 {
                    let row = vld1q_u8(chain[usize::from(bytes[16 * quarter + at])].as_ptr());
                    last = vqtbl1q_u8(row, vandq_u8(last, all(N_CHAINED as u8 - 1)));
                    // The new entry comes in at the end of the register; the oldest goes out at the start.
                    *some = vextq_u8::<1>(*some, last);
                }
                vst1q_u8(entries.as_mut_ptr().add(16 * quarter), *some);
                if vmaxvq_u8(*some) >= CHAIN_STOPS {
                    break;
                }
            }
            Neon(quarters)
        }
    }

    #[inline(always)]
    unsafe fn write_offsets(bits: u64, base: u32, out: *mut u32) -> usize {
        // SAFETY: The caller promises the same.
        unsafe { write_offsets_scalar(bits, base, out) }
    }
}
