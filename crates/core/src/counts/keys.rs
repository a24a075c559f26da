//! Pretokens as hash keys.
//!
//! A pretoken of 1 to 15 bytes is a key of 16: its bytes, padded with zeros, and its length in the last
//! byte, so that equal keys are equal pretokens and no key is zero. Making one is two loads and two
//! masks, comparing two is a handful of instructions, and no pointer is followed. Longer pretokens are
//! found by a 64-bit hash and then compared in full.
//!
//! Hashes are seeded anew for every counter: no corpus can be made in advance that collides. Nothing of
//! the seed shows in a result.

use std::hash::{BuildHasher, RandomState};

/// Most bytes that a pretoken may have to be a [`ShortKey`].
pub(super) const MOST_SHORT: usize = 15;

/// How many bytes [`ShortKey::load`] reads.
pub(super) const LOAD: usize = 16;

/// The bytes of a pretoken of 1 to [`MOST_SHORT`] bytes, and their number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct ShortKey {
    low: u64,
    high: u64,
}

/// Keeps the first n bytes of a 16-byte load: the mask of its low and of its high half.
const KEEP: [(u64, u64); LOAD] = {
    let mut keep = [(0, 0); LOAD];
    let mut n = 0;
    while n < LOAD {
        keep[n] = match n {
            0 => (0, 0),
            1..8 => ((1 << (8 * n)) - 1, 0),
            8 => (u64::MAX, 0),
            _ => (u64::MAX, (1 << (8 * (n - 8))) - 1),
        };
        n += 1;
    }
    keep
};

impl ShortKey {
    /// No pretoken's key.
    pub(super) const EMPTY: ShortKey = ShortKey { low: 0, high: 0 };

    /// The key of the pretoken that begins `at`, of `n_bytes` bytes.
    ///
    /// # Safety
    /// [`LOAD`] bytes from `at` on are readable, and `n_bytes` is at most [`MOST_SHORT`].
    #[inline(always)]
    pub(super) unsafe fn load(at: *const u8, n_bytes: usize) -> ShortKey {
        debug_assert!(n_bytes <= MOST_SHORT);
        // SAFETY: the caller vouches for 16 readable bytes; `KEEP` has an entry for each length up to 15.
        let (low, high, keep) = unsafe {
            (
                at.cast::<u64>().read_unaligned(),
                at.add(8).cast::<u64>().read_unaligned(),
                KEEP.get_unchecked(n_bytes),
            )
        };
        ShortKey {
            low: u64::from_le(low) & keep.0,
            high: u64::from_le(high) & keep.1 | (n_bytes as u64) << 56,
        }
    }

    /// The key of a pretoken of at most [`MOST_SHORT`] bytes, wherever it stands.
    pub(super) fn of(pretoken: &[u8]) -> ShortKey {
        let mut padded = [0; LOAD];
        let n_bytes = pretoken.len().min(MOST_SHORT);
        padded[..n_bytes].copy_from_slice(&pretoken[..n_bytes]);
        // SAFETY: `padded` is 16 bytes long, `n_bytes` at most 15.
        unsafe { ShortKey::load(padded.as_ptr(), n_bytes) }
    }

    /// Whether the keys are equal, found without a branch: the derived comparison has one after the
    /// first half, which is mispredicted half the time that two keys share a set.
    #[inline(always)]
    pub(super) fn is(self, other: ShortKey) -> bool {
        (self.low ^ other.low) | (self.high ^ other.high) == 0
    }

    /// How many bytes the pretoken has.
    pub(super) fn n_bytes(self) -> usize {
        (self.high >> 56) as usize
    }

    /// The pretoken, padded with zeros; the last byte is its length.
    pub(super) fn padded(self) -> [u8; LOAD] {
        let mut padded = [0; LOAD];
        padded[..8].copy_from_slice(&self.low.to_le_bytes());
        padded[8..].copy_from_slice(&self.high.to_le_bytes());
        padded
    }
}

/// The hash functions of one counter.
#[derive(Clone, Debug)]
pub(super) struct Hashing {
    low: u64,
    high: u64,
    bytes: hashbrown::DefaultHashBuilder,
}

impl Hashing {
    /// Freshly seeded.
    pub(super) fn new() -> Self {
        let seeds = RandomState::new();
        Hashing {
            low: seeds.hash_one(0u8),
            high: seeds.hash_one(1u8),
            bytes: hashbrown::DefaultHashBuilder::default(),
        }
    }

    /// The hash of a short key: one folded multiplication.
    #[inline(always)]
    pub(super) fn short(&self, key: ShortKey) -> u64 {
        let product = u128::from(key.low ^ self.low) * u128::from(key.high ^ self.high);
        product as u64 ^ (product >> 64) as u64
    }

    /// The hash of a longer pretoken.
    #[inline]
    pub(super) fn long(&self, pretoken: &[u8]) -> u64 {
        self.bytes.hash_one(pretoken)
    }
}
