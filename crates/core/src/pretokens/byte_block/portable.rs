//! Holds 64 bytes in eight 64-bit words, with arithmetic on all bytes of a word at once.
//!
//! Cost: about ten operations per word and question. The method is Lamport's multiple byte processing (1975); the
//! product that gathers eight bits is Knuth's (TAOCP 7.1.3).

use super::{Block, write_offsets_scalar};

const ONES: u64 = 0x0101_0101_0101_0101;
const TOPS: u64 = 0x8080_8080_8080_8080;

/// Eight words of eight bytes.
#[derive(Clone, Copy)]
pub(in super::super) struct Words([u64; 8]);

/// Gathers the answers, which are the top bits of the bytes of all words.
#[inline(always)]
fn to_mask(answers: [u64; 8]) -> u64 {
    let mut mask = 0;
    for (at, answer) in answers.iter().enumerate() {
        let bits = (answer & TOPS) >> 7;
        mask |= (bits.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * at);
    }
    mask
}

impl Block for Words {
    #[inline(always)]
    unsafe fn load(bytes: *const u8) -> Self {
        // SAFETY: The caller vouches for 64 readable bytes.
        let words = unsafe { bytes.cast::<[u64; 8]>().read_unaligned() };
        Words(words.map(u64::to_le))
    }

    #[inline(always)]
    fn or(self, bits: u8) -> Self {
        Words(self.0.map(|word| word | (ONES * u64::from(bits))))
    }

    #[inline(always)]
    fn equal(self, byte: u8) -> u64 {
        self.within(byte, byte)
    }

    #[inline(always)]
    fn within(self, first: u8, last: u8) -> u64 {
        // With the top bits cleared, adding 0x80 - x sets the top bit of bytes >= x, without carries.
        let from = ONES * u64::from(0x80 - first);
        let beyond = ONES * u64::from(0x7f - last);
        to_mask(self.0.map(|word| {
            let low = word & !TOPS;
            (low + from) & !(low + beyond) & !word
        }))
    }

    #[inline(always)]
    fn high(self) -> u64 {
        to_mask(self.0)
    }

    #[inline(always)]
    fn at_least(self, least: u8) -> u64 {
        let from = ONES * u64::from(0x80 - (least & 0x7f));
        to_mask(self.0.map(|word| ((word & !TOPS) + from) & word))
    }

    #[inline(always)]
    fn any_of(self, bits: u8) -> u64 {
        let bits = ONES * u64::from(bits);
        to_mask(self.0.map(|word| ((word & bits & !TOPS) + !TOPS) | (word & bits)))
    }

    #[inline(always)]
    unsafe fn write_offsets(bits: u64, base: u32, out: *mut u32) -> usize {
        // SAFETY: The caller promises the same.
        unsafe { write_offsets_scalar(bits, base, out) }
    }
}
