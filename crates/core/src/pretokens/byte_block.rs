//! Holds 64 bytes in vector registers and answers a scanner's questions about them.
//!
//! All implementations return the same answers: AVX-512 and AVX2 for their [`CpuTier`](crate::cpu::CpuTier)s;
//! otherwise SSE2 or NEON, which every processor of the architecture has, or 64-bit words.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub(super) mod classes;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod neon;
#[cfg(any(test, not(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))))]
mod portable;
#[cfg(target_arch = "x86_64")]
mod sse2;

// The tier `Portable` uses what every processor of the architecture has.
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
pub(super) use neon::{Neon, Neon as Portable};
#[cfg(not(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little"))))]
pub(super) use portable::Words as Portable;
#[cfg(target_arch = "x86_64")]
pub(super) use {avx2::Avx2, avx512::Avx512, sse2::Sse2 as Portable};

/// Returns, for each byte, the positions of its set bits in ascending order.
#[cfg(target_arch = "x86_64")]
pub(crate) const fn set_bits() -> [[u8; 8]; 256] {
    let mut all = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut n) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                all[byte][n] = bit as u8;
                n += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    all
}

/// The number of entries in a row of a chain.
pub(super) const N_CHAINED: usize = 16;

/// For each byte a row: the entry that follows each of sixteen, which are looked up by their low four bits.
pub(super) type Chain = [[u8; N_CHAINED]; 256];

/// Marks an entry of a chain after which all entries are meaningless.
pub(super) const CHAIN_STOPS: u8 = 0x80;

/// 64 bytes. Answers are masks, in which bit i is for byte i.
///
/// A type whose instructions some processors lack must be constructed only after these were detected.
pub(super) trait Block: Copy {
    /// Whether [`Block::classes`] looks up many characters at once.
    const HAS_BLOCK_CLASSES: bool = false;

    /// Loads the 64 bytes at `bytes`.
    ///
    /// # Safety
    /// The bytes must be readable, and the processor must have the instructions of the type.
    unsafe fn load(bytes: *const u8) -> Self;

    /// Sets these bits in each byte.
    fn or(self, bits: u8) -> Self;

    /// Returns the bytes equal to `byte`, which must be ASCII.
    fn equal(self, byte: u8) -> u64;

    /// Returns the bytes of `among` that equal `byte`, which must be ASCII and should be rare: checking whether there
    /// is one is cheaper than finding it.
    #[inline(always)]
    fn rare(self, byte: u8, among: u64) -> u64 {
        self.equal(byte) & among
    }

    /// Whether no byte is above 0x7f.
    #[inline(always)]
    fn is_ascii(self) -> bool {
        self.high() == 0
    }

    /// Returns the bytes from `first` to `last`, both ASCII.
    fn within(self, first: u8, last: u8) -> u64;

    /// Returns the bytes above 0x7f.
    fn high(self) -> u64;

    /// Returns the bytes that are at least `least`, which must be above 0x7f.
    fn at_least(self, least: u8) -> u64;

    /// Returns the bytes in any of `ranges`, each given by its first and last byte, which must be above 0x7f.
    #[inline(always)]
    fn within_any<const N: usize>(self, ranges: [(u8, u8); N]) -> u64 {
        ranges.iter().fold(0, |mask, &(first, last)| {
            let after = if last == 0xff { 0 } else { self.at_least(last + 1) };
            mask | self.at_least(first) & !after
        })
    }

    /// Returns the bytes that have any of `bits`.
    fn any_of(self, bits: u8) -> u64;

    /// Whether any byte has any of `bits`.
    #[inline(always)]
    fn has_any_of(self, bits: u8) -> bool {
        self.any_of(bits) != 0
    }

    /// Returns the class bits of the characters of two, three and four bytes whose first bytes are in `leads`; 0 for
    /// other bytes.
    ///
    /// # Safety
    /// `self` must be loaded from `bytes`, of which 67 are readable. The rest of its character must follow each lead.
    #[inline(always)]
    unsafe fn classes(self, bytes: *const u8, leads: [u64; 3]) -> Self {
        // SAFETY: The caller promises the same, and `one_by_one` returns 64 bytes.
        unsafe { Self::load(classes::one_by_one(bytes, leads).as_ptr()) }
    }

    /// Looks up the entry that follows `first` at the first of `bytes`, the one that follows this at the next, and so
    /// on. Returns all entries, also in `entries`; those after the first with [`CHAIN_STOPS`] are meaningless.
    ///
    /// # Safety
    /// The processor must have the instructions of the type.
    #[inline(always)]
    unsafe fn chain(chain: &Chain, first: u8, bytes: &[u8; 64], entries: &mut [u8; 64]) -> Self {
        let mut last = first;
        for (entry, &byte) in entries.iter_mut().zip(bytes) {
            last = chain[usize::from(byte)][usize::from(last) % N_CHAINED];
            *entry = last;
            if last & CHAIN_STOPS != 0 {
                break;
            }
        }
        // SAFETY: `entries` has 64 bytes; the caller vouches for the processor.
        unsafe { Self::load(entries.as_ptr()) }
    }

    /// Writes `base + i` for each bit i of `bits`, in ascending order; returns their number.
    ///
    /// # Safety
    /// 64 entries must be writable at `out`, whatever `bits` is: entries after the last offset can be overwritten.
    unsafe fn write_offsets(bits: u64, base: u32, out: *mut u32) -> usize;
}

/// [`Block::write_offsets`] with scalar instructions, eight at a time without a branch.
///
/// # Safety
/// As for [`Block::write_offsets`].
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline(always)]
unsafe fn write_offsets_scalar(mut bits: u64, base: u32, out: *mut u32) -> usize {
    let n_bits = bits.count_ones() as usize;
    let mut written = 0;
    loop {
        for slot in written..written + 8 {
            // SAFETY: slot < 64, since written is a multiple of 8 below n_bits <= 64.
            unsafe { out.add(slot).write(base.wrapping_add(bits.trailing_zeros())) };
            bits &= bits.wrapping_sub(1);
        }
        written += 8;
        if written >= n_bits {
            return n_bits;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::CpuTier;

    fn check<B: Block>() {
        let mut bytes = [0u8; 64];
        for start in 0..=255u8 {
            for (at, byte) in bytes.iter_mut().enumerate() {
                *byte = start.wrapping_add((at as u8).wrapping_mul(37));
            }
            // SAFETY: There are 64 bytes, and the caller checked the processor.
            let block = unsafe { B::load(bytes.as_ptr()) };
            let mask = |accepts: &dyn Fn(u8) -> bool| {
                bytes.iter().enumerate().fold(0u64, |mask, (at, &byte)| mask | u64::from(accepts(byte)) << at)
            };
            assert_eq!(block.equal(b'\''), mask(&|byte| byte == b'\''));
            assert_eq!(block.within(b'a', b'z'), mask(&|byte| byte.is_ascii_lowercase()));
            assert_eq!(block.within(b'\t', b'\r'), mask(&|byte| (b'\t'..=b'\r').contains(&byte)));
            assert_eq!(block.or(0x20).within(b'a', b'z'), mask(&|byte| byte.is_ascii_alphabetic()));
            assert_eq!(block.high(), mask(&|byte| byte >= 0x80));
            assert_eq!(block.rare(b'\'', 0x0f0f), mask(&|byte| byte == b'\'') & 0x0f0f);
            let ascii = bytes.map(|byte| byte & 0x7f);
            let (mut other, at) = (ascii, usize::from(start) % 64);
            other[at] |= 0x80;
            // SAFETY: There are 64 bytes, and the caller checked the processor.
            let [ascii, other] = [ascii, other].map(|bytes| unsafe { B::load(bytes.as_ptr()) });
            assert!(ascii.is_ascii() && !other.is_ascii());
            for bits in [1, 0x10, 0x80, 0xc1] {
                assert_eq!(block.any_of(bits), mask(&|byte| byte & bits != 0));
            }
            for bits in [1, 0x10, 0x24, 0x80] {
                let none = bytes.map(|byte| byte & !bits);
                let (mut one, at) = (none, usize::from(start) % 64);
                one[at] |= bits & bits.wrapping_neg();
                // SAFETY: There are 64 bytes, and the caller checked the processor.
                let [none, one] = [none, one].map(|bytes| unsafe { B::load(bytes.as_ptr()) });
                assert!(!none.has_any_of(bits) && one.has_any_of(bits));
            }
            let mut chain = Box::new([[0; N_CHAINED]; 256]);
            for (row, next) in chain.iter_mut().enumerate() {
                *next = std::array::from_fn(|of| (row * 31 + of * usize::from(start) * 7) as u8 & 0x7f);
            }
            chain[usize::from(bytes[at])] = [CHAIN_STOPS; N_CHAINED];
            let (mut by_words, mut found) = ([0; 64], [0; 64]);
            // SAFETY: as above.
            let chained = unsafe {
                portable::Words::chain(&chain, start & 15, &bytes, &mut by_words);
                B::chain(&chain, start & 15, &bytes, &mut found)
            };
            assert_eq!(found[..=at], by_words[..=at]);
            assert_eq!(chained.high().trailing_zeros() as usize, at);
            assert!(at == 0 || chained.any_of(4) & 1 == u64::from(found[0] >> 2 & 1));
            let ranges = [(0x80, 0x9f), (0xc3, 0xc3), (0xf1, 0xff)];
            let is_within = |byte| ranges.iter().any(|&(first, last)| first <= byte && byte <= last);
            assert_eq!(block.within_any(ranges), mask(&|byte| is_within(byte)));
            assert_eq!(block.within_any([(start | 0x80, 0xff)]), mask(&|byte| byte >= start | 0x80));
            for least in 0x80..=0xff {
                assert_eq!(block.at_least(least), mask(&|byte| byte >= least));
            }
            let bits = mask(&|byte| byte.wrapping_mul(31) < start);
            for bits in [bits, 0, u64::MAX, 1 << 63, 0xff00_00ff_0000_0001] {
                let mut out = [0u32; 64];
                // SAFETY: There are 64 entries.
                let n = unsafe { B::write_offsets(bits, 1000, out.as_mut_ptr()) };
                let expected: Vec<_> = (0..64).filter(|at| bits >> at & 1 == 1).map(|at| at + 1000).collect();
                assert_eq!(&out[..n], expected);
            }
        }
    }

    #[test]
    fn every_tier_gives_the_same_masks() {
        check::<portable::Words>();
        for tier in CpuTier::available() {
            match tier {
                #[cfg(target_arch = "x86_64")]
                CpuTier::Avx512 => check::<Avx512>(),
                #[cfg(target_arch = "x86_64")]
                CpuTier::Avx2 => check::<Avx2>(),
                _ => check::<Portable>(),
            }
        }
    }
}
