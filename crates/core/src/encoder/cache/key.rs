//! A pretoken as the cache sees it: sixteen bytes.
//!
//! Up to [`INLINE_BYTES`] bytes a key is the pretoken itself, padded with zeros, with its length in the last
//! byte: equal keys are equal pretokens. A longer one is a hash and its length, and whoever finds it compares
//! the bytes. Keys are hashed with seeds that differ from encoder to encoder, so that nobody can write a text
//! whose pretokens all fall on one place; the table bounds the harm anyway, since a place holds two and its
//! neighbour two more.

use std::hash::{BuildHasher, RandomState};

/// The longest pretoken that is its own key.
pub(in crate::encoder) const INLINE_BYTES: usize = 15;

/// The longest pretoken that is cached at all.
pub(in crate::encoder) const CACHED_BYTES: usize = 255;

/// Marks the key of a pretoken that is longer than [`INLINE_BYTES`].
const LONG: u64 = 0x80 << 56;

/// A pretoken's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(16))]
pub(in crate::encoder) struct Key {
    pub(in crate::encoder) lo: u64,
    pub(in crate::encoder) hi: u64,
}

impl Key {
    /// The key of what is too long to be cached; no entry has it.
    pub(in crate::encoder) const UNCACHED: Key = Key { lo: 0, hi: u64::MAX };

    /// The key of an empty entry; no pretoken has it.
    pub(in crate::encoder) const EMPTY: Key = Key { lo: 0, hi: 0 };

    /// Whether equal keys may stand for different pretokens.
    #[inline(always)]
    pub(in crate::encoder) fn is_long(self) -> bool {
        self.hi & LONG != 0
    }

    /// The key of an entry of the same bytes whose ids are in the arena.
    pub(in crate::encoder) fn spilled(self) -> Self {
        Key { lo: self.lo, hi: self.hi | SPILLED }
    }

    /// The key of the same bytes, wherever its ids are.
    pub(in crate::encoder) fn unspilled(self) -> Self {
        Key { lo: self.lo, hi: self.hi & !SPILLED }
    }

    /// Whether it is the key of an entry whose ids are in the arena.
    pub(in crate::encoder) fn is_spilled(self) -> bool {
        self.hi & SPILLED != 0
    }

    /// How many bytes of a pretoken it does not hold itself.
    pub(in crate::encoder) fn n_own(self) -> usize {
        if self.is_long() { (self.hi & 0xffff) as usize } else { 0 }
    }

    /// The key of the same bytes as a part of a pretoken.
    pub(in crate::encoder) fn of_part(self) -> Self {
        Key { lo: self.lo, hi: self.hi | PART }
    }
}

/// Marks the key of a part of a pretoken where it differs from that of a pretoken of the same bytes.
const PART: u64 = 0x40 << 56;

/// Marks the key of an entry whose ids are in the arena: whoever looks for ids in the entry passes by.
const SPILLED: u64 = 0x20 << 56;

/// The `hi` of an entry that is being written; no key has this bit.
pub(in crate::encoder) const CLAIMED: u64 = 0x10 << 56;

/// What keeps the first n bytes of sixteen.
const KEEP: [[u64; 2]; 16] = {
    let mut keep = [[0; 2]; 16];
    let mut n = 0;
    while n < 16 {
        let mask = (1u128 << (8 * n)) - 1;
        keep[n] = [mask as u64, (mask >> 64) as u64];
        n += 1;
    }
    keep
};

/// Makes keys of pretokens and places of keys.
#[derive(Clone, Copy)]
pub(in crate::encoder) struct Hasher {
    seeds: [u64; 4],
    is_wide: bool,
}

impl Hasher {
    /// A hasher whose places nobody can foretell.
    pub(in crate::encoder) fn new() -> Self {
        let state = RandomState::new();
        Hasher { seeds: [0u64, 1, 2, 3].map(|number| state.hash_one(number)), is_wide: has_avx512() }
    }

    /// One for a processor that is not wide, whatever this one is.
    #[cfg(test)]
    pub(in crate::encoder) fn portable() -> Self {
        Hasher { is_wide: false, ..Hasher::new() }
    }

    /// Whether the processor has AVX-512 with BW and VL, and AES, by which places are made then.
    #[inline(always)]
    pub(in crate::encoder) fn is_wide(self) -> bool {
        self.is_wide
    }

    /// The key of the first `len` of sixteen bytes.
    ///
    /// `len` is at most [`INLINE_BYTES`].
    #[inline(always)]
    pub(in crate::encoder) fn short_key(self, bytes: [u8; 16], len: usize) -> Key {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = bytes;
        let [keep_lo, keep_hi] = KEEP[len & 15];
        Key {
            lo: u64::from_le_bytes([a, b, c, d, e, f, g, h]) & keep_lo,
            hi: u64::from_le_bytes([i, j, k, l, m, n, o, p]) & keep_hi | (len as u64) << 56,
        }
    }

    /// The key of a pretoken of any length.
    pub(in crate::encoder) fn key(self, pretoken: &[u8]) -> Key {
        if pretoken.len() > INLINE_BYTES {
            return self.long_key(pretoken);
        }
        let mut bytes = [0; 16];
        bytes[..pretoken.len()].copy_from_slice(pretoken);
        self.short_key(bytes, pretoken.len())
    }

    /// The key of a pretoken longer than [`INLINE_BYTES`].
    pub(in crate::encoder) fn long_key(self, pretoken: &[u8]) -> Key {
        let (blocks, _) = pretoken.as_chunks::<16>();
        let last = pretoken.last_chunk::<16>();
        let mut hash = self.seeds[0] ^ pretoken.len() as u64;
        for block in blocks.iter().chain(last) {
            let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = *block;
            let lo = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
            let hi = u64::from_le_bytes([i, j, k, l, m, n, o, p]);
            hash = folded(lo ^ hash, hi ^ self.seeds[1]);
        }
        Key { lo: hash, hi: LONG | pretoken.len() as u64 }
    }

    /// Where a key belongs: all bits are equally good.
    pub(in crate::encoder) fn slot(self, key: Key) -> u32 {
        #[cfg(target_arch = "x86_64")]
        if self.is_wide {
            // SAFETY: The processor was asked.
            return unsafe { self.aes_slot(key) };
        }
        self.folded_slot(key)
    }

    /// The place where the processor is not wide.
    #[inline(always)]
    pub(in crate::encoder) fn folded_slot(self, key: Key) -> u32 {
        folded(key.lo ^ self.seeds[0], key.hi ^ self.seeds[1]) as u32
    }

    /// The place where the processor is wide: two rounds of AES, after which every bit depends on every byte.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "sse2,aes")]
    fn aes_slot(self, key: Key) -> u32 {
        use std::arch::x86_64::*;
        let (first, second) = self.aes_seeds();
        let key = _mm_set_epi64x(key.hi as i64, key.lo as i64);
        let once = _mm_aesenc_si128(_mm_xor_si128(key, first), second);
        _mm_cvtsi128_si32(_mm_aesenc_si128(once, second)) as u32
    }

    /// What a key is mixed with before the rounds of AES, and in each of them.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(in crate::encoder) fn aes_seeds(self) -> (std::arch::x86_64::__m128i, std::arch::x86_64::__m128i) {
        let [a, b, c, d] = self.seeds.map(|seed| seed as i64);
        // SAFETY: Every x86-64 processor has SSE2.
        unsafe { (std::arch::x86_64::_mm_set_epi64x(a, b), std::arch::x86_64::_mm_set_epi64x(c, d)) }
    }
}

/// Whether this processor has what [`Hasher::is_wide`] says.
fn has_avx512() -> bool {
    #[cfg(target_arch = "x86_64")]
    let has = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("aes")
        && is_x86_feature_detected!("vaes")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt");
    #[cfg(not(target_arch = "x86_64"))]
    let has = false;
    has
}

/// Both halves of a product, folded: a mixing step from the family of wyhash.
#[inline(always)]
fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}
