//! A pretoken as the cache sees it: sixteen bytes.
//!
//! Up to [`INLINE_BYTES`] bytes a key is the pretoken itself, padded with zeros, with its length in the last
//! byte: equal keys are equal pretokens. A longer one is a hash and its length, and whoever finds it compares
//! the bytes. Keys are hashed with seeds that differ from encoder to encoder, so that nobody can write a text
//! whose pretokens all fall on one place; the table bounds the harm anyway, since a place holds two.

use std::hash::{BuildHasher, RandomState};

/// The longest pretoken that is its own key.
pub(super) const INLINE_BYTES: usize = 15;

/// The longest pretoken that is cached at all.
pub(super) const CACHED_BYTES: usize = 255;

/// Marks the key of a pretoken that is longer than [`INLINE_BYTES`].
const LONG: u64 = 0x80 << 56;

/// A pretoken's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Key {
    pub(super) lo: u64,
    pub(super) hi: u64,
}

impl Key {
    /// The key of what is too long to be cached; no entry has it.
    pub(super) const UNCACHED: Key = Key { lo: 0, hi: u64::MAX };

    /// The key of an empty entry; no pretoken has it.
    pub(super) const EMPTY: Key = Key { lo: 0, hi: 0 };

    /// Where two keys differ: 0 if they are equal.
    #[inline(always)]
    pub(super) fn difference(self, other: Key) -> u64 {
        (self.lo ^ other.lo) | (self.hi ^ other.hi)
    }

    /// Whether equal keys may stand for different pretokens.
    #[inline(always)]
    pub(super) fn is_long(self) -> bool {
        self.hi & LONG != 0
    }

    /// The key of an entry of the same bytes whose ids are in the arena.
    pub(super) fn spilled(self) -> Self {
        Key { lo: self.lo, hi: self.hi | SPILLED }
    }

    /// The key of the same bytes, wherever its ids are.
    pub(super) fn unspilled(self) -> Self {
        Key { lo: self.lo, hi: self.hi & !SPILLED }
    }

    /// The key of the same bytes as a part of a pretoken.
    pub(super) fn of_part(self) -> Self {
        Key { lo: self.lo, hi: self.hi | PART }
    }
}

/// Marks the key of a part of a pretoken where it differs from that of a pretoken of the same bytes.
const PART: u64 = 0x40 << 56;

/// Marks the key of an entry whose ids are in the arena: whoever looks for ids in the entry passes by.
const SPILLED: u64 = 0x20 << 56;

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
pub(super) struct Hasher {
    seeds: [u64; 2],
}

impl Hasher {
    /// A hasher whose places nobody can foretell.
    pub(super) fn new() -> Self {
        let state = RandomState::new();
        Hasher { seeds: [state.hash_one(0u64), state.hash_one(1u64)] }
    }

    /// The key of the first `len` of sixteen bytes.
    ///
    /// `len` is at most [`INLINE_BYTES`].
    #[inline(always)]
    pub(super) fn short_key(self, bytes: [u8; 16], len: usize) -> Key {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = bytes;
        let [keep_lo, keep_hi] = KEEP[len & 15];
        Key {
            lo: u64::from_le_bytes([a, b, c, d, e, f, g, h]) & keep_lo,
            hi: u64::from_le_bytes([i, j, k, l, m, n, o, p]) & keep_hi | (len as u64) << 56,
        }
    }

    /// The key of a pretoken of any length.
    pub(super) fn key(self, pretoken: &[u8]) -> Key {
        if pretoken.len() > INLINE_BYTES {
            return self.long_key(pretoken);
        }
        let mut bytes = [0; 16];
        bytes[..pretoken.len()].copy_from_slice(pretoken);
        self.short_key(bytes, pretoken.len())
    }

    /// The key of a pretoken longer than [`INLINE_BYTES`].
    pub(super) fn long_key(self, pretoken: &[u8]) -> Key {
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
    #[inline(always)]
    pub(super) fn place(self, key: Key) -> u64 {
        folded(key.lo ^ self.seeds[0], key.hi ^ self.seeds[1])
    }
}

/// Both halves of a product, folded: a mixing step from the family of wyhash.
#[inline(always)]
fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}
