//! Pretokens as hash keys.
//!
//! A pretoken of 1 to 15 bytes is a key of 16: its bytes, padded with 0xff. No UTF-8 text holds that
//! byte, so equal keys are equal pretokens; and no key is all zeros, since its last byte is padding.
//! Making one is a load and an OR, comparing two is a handful of instructions, and no pointer is
//! followed. Longer pretokens, and bytes from elsewhere that end in 0xff, are found by a 64-bit hash and
//! then compared in full.
//!
//! Hashes are seeded anew for every counter: no corpus can be made in advance that collides. Nothing of
//! the seed shows in a result. A short key's hash is two rounds of AES where the processor has them, so
//! that every byte of it depends on every byte of the key; else a folded multiplication.

use std::hash::{BuildHasher, RandomState};

/// Most bytes that a pretoken may have to be a [`ShortKey`].
pub(super) const MOST_SHORT: usize = 15;

/// How many bytes [`ShortKey::load`] reads.
pub(super) const LOAD: usize = 16;

/// What follows the bytes of a pretoken in its key.
const PADDING: u8 = 0xff;

/// The bytes of a pretoken of 1 to [`MOST_SHORT`] bytes, padded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct ShortKey([u64; 2]);

/// The padding of a pretoken of n bytes is the [`LOAD`] bytes that begin `LOAD - n` bytes in.
pub(super) static PADDINGS: [u8; 2 * LOAD] = {
    let mut paddings = [0; 2 * LOAD];
    let mut index = LOAD;
    while index < 2 * LOAD {
        paddings[index] = PADDING;
        index += 1;
    }
    paddings
};

impl ShortKey {
    /// No pretoken's key.
    pub(super) const EMPTY: ShortKey = ShortKey([0; 2]);

    /// The key of the pretoken that begins `at`, of `n_bytes` bytes.
    ///
    /// # Safety
    /// [`LOAD`] bytes from `at` on are readable, and `n_bytes` is at most [`MOST_SHORT`].
    #[inline(always)]
    pub(super) unsafe fn load(at: *const u8, n_bytes: usize) -> ShortKey {
        debug_assert!(n_bytes <= MOST_SHORT);
        // SAFETY: the caller vouches for 16 readable bytes at `at`; PADDINGS has 16 from 1..=16 on.
        unsafe {
            let bytes = at.cast::<[u64; 2]>().read_unaligned();
            let padding = PADDINGS.as_ptr().add(LOAD - n_bytes).cast::<[u64; 2]>().read_unaligned();
            ShortKey([bytes[0] | padding[0], bytes[1] | padding[1]])
        }
    }

    /// The key of a pretoken, if it has one.
    pub(super) fn of(pretoken: &[u8]) -> Option<ShortKey> {
        let n_bytes = pretoken.len();
        if n_bytes > MOST_SHORT || matches!(pretoken.last(), None | Some(&PADDING)) {
            return None;
        }
        let mut padded = [0; LOAD];
        padded[..n_bytes].copy_from_slice(pretoken);
        // SAFETY: `padded` is 16 bytes long, `n_bytes` at most 15.
        Some(unsafe { ShortKey::load(padded.as_ptr(), n_bytes) })
    }

    /// Whether the keys are equal, found without a branch: the derived comparison has one after the
    /// first half, which is mispredicted half the time that two keys share a set.
    #[inline(always)]
    pub(super) fn is(self, other: ShortKey) -> bool {
        (self.0[0] ^ other.0[0]) | (self.0[1] ^ other.0[1]) == 0
    }

    /// The pretoken, padded.
    pub(super) fn padded(self) -> [u8; LOAD] {
        let mut padded = [0; LOAD];
        padded[..8].copy_from_slice(&self.0[0].to_ne_bytes());
        padded[8..].copy_from_slice(&self.0[1].to_ne_bytes());
        padded
    }

    /// How many bytes the pretoken has.
    pub(super) fn n_bytes(self) -> usize {
        LOAD - (u128::from_be_bytes(self.padded()).trailing_ones() / 8) as usize
    }
}

/// The hash functions of one counter.
#[derive(Clone, Debug)]
pub(super) struct Hashing {
    seed: [u64; 2],
    has_aes: bool,
    bytes: hashbrown::DefaultHashBuilder,
}

impl Hashing {
    /// Freshly seeded.
    pub(super) fn new() -> Self {
        let seeds = RandomState::new();
        Hashing {
            seed: [seeds.hash_one(0u8), seeds.hash_one(1u8)],
            has_aes: super::count_batch::has_aes(),
            bytes: hashbrown::DefaultHashBuilder::default(),
        }
    }

    /// Whether short keys are hashed by AES, and spans so counted.
    #[inline(always)]
    pub(super) fn has_aes(&self) -> bool {
        self.has_aes
    }

    /// What the hashes of short keys are seeded with.
    #[inline(always)]
    pub(super) fn seed(&self) -> &[u64; 2] {
        &self.seed
    }

    /// The hash of a short key.
    #[inline(always)]
    pub(super) fn short(&self, key: ShortKey) -> u64 {
        #[cfg(target_arch = "x86_64")]
        if self.has_aes {
            // SAFETY: `has_aes` says that the processor has these instructions.
            return unsafe { super::count_batch::hash_by_aes(key, &self.seed) };
        }
        let product = u128::from(key.0[0] ^ self.seed[0]) * u128::from(key.0[1] ^ self.seed[1]);
        product as u64 ^ (product >> 64) as u64
    }

    /// The hash of any other pretoken.
    #[inline]
    pub(super) fn long(&self, pretoken: &[u8]) -> u64 {
        self.bytes.hash_one(pretoken)
    }
}
