//! Keys of the cache: [`PretokenKey`], with flags as values of its last byte that no pretoken's key has.
//!
//! A pretoken of at most [`MAX_BYTES`] bytes is its own key. The key of a longer one is a hash and its length, so its
//! bytes must be compared, too: the key in its entry also holds the place of these bytes in the arena. Only a reader
//! that compared the bytes has this key. A flag is set by clearing its bit, since the last byte of a short pretoken's
//! key is 0xff.

use crate::pretokens::key::{KeyHasher, MAX_BYTES, PretokenKey};

/// The longest pretoken that is cached.
pub(in crate::encoder) const CACHED_BYTES: usize = 255;

/// Cleared in the key of a pretoken longer than [`MAX_BYTES`].
const SHORT: u64 = 0x80 << 56;
/// Cleared in the key of a part of a pretoken, if its ids can differ from those of a whole pretoken of the same bytes.
const WHOLE: u64 = 0x40 << 56;
/// Cleared in the key of an entry of a long pretoken, whose bytes are in the arena at the offset in [`ARENA_OFFSET`].
const NOT_IN_ARENA: u64 = 0x08 << 56;
const OFFSET_SHIFT: u32 = 16;
const ARENA_OFFSET: u64 = (u32::MAX as u64) << OFFSET_SHIFT;

/// The `hi` of an entry that is being written. It is part of no key.
pub(in crate::encoder) const CLAIMED: u64 = 0x10 << 56;

impl PretokenKey {
    /// The key of a pretoken that is too long to be cached. No entry has it.
    pub(in crate::encoder) const UNCACHED: PretokenKey = PretokenKey { lo: 0, hi: 0x09 << 56 };

    /// Returns the key of a pretoken of any length; [`UNCACHED`](Self::UNCACHED) beyond [`CACHED_BYTES`].
    pub(in crate::encoder) fn from_bytes(pretoken: &[u8], hasher: KeyHasher) -> Self {
        PretokenKey::from_short(pretoken).unwrap_or_else(|| PretokenKey::from_long(pretoken, hasher))
    }

    /// Returns the key of a pretoken longer than [`MAX_BYTES`]: its hash and length, or [`UNCACHED`](Self::UNCACHED).
    #[inline(always)]
    pub(in crate::encoder) fn from_long(pretoken: &[u8], hasher: KeyHasher) -> Self {
        match pretoken.len() {
            n_bytes @ ..=CACHED_BYTES => {
                PretokenKey { lo: hasher.hash_bytes(pretoken), hi: 0x7f << 56 | n_bytes as u64 }
            }
            _ => PretokenKey::UNCACHED,
        }
    }

    /// Returns whether equal keys can stand for different pretokens.
    #[inline(always)]
    pub(in crate::encoder) fn is_long(self) -> bool {
        self.hi & SHORT == 0
    }

    /// Returns the number of bytes of the pretoken that are stored outside of the key.
    pub(in crate::encoder) fn n_own(self) -> usize {
        if self.is_long() { (self.hi & 0xffff) as usize } else { 0 }
    }

    /// Returns the key for the entry of this pretoken; if the pretoken is long, its bytes are at `offset` in the arena.
    pub(in crate::encoder) fn with_arena_offset(self, offset: u32) -> Self {
        if !self.is_long() {
            return self;
        }
        PretokenKey { hi: self.hi & !NOT_IN_ARENA | u64::from(offset) << OFFSET_SHIFT, ..self }
    }

    /// Returns the offset of the pretoken's bytes in the arena, if this is the key of an entry of a long pretoken.
    #[inline(always)]
    pub(in crate::encoder) fn arena_offset(self) -> Option<u32> {
        (self.is_long() && self.hi & NOT_IN_ARENA == 0).then_some((self.hi >> OFFSET_SHIFT) as u32)
    }

    /// Returns the key to look up to find an entry with this key.
    pub(in crate::encoder) fn lookup_key(self) -> Self {
        if self.arena_offset().is_some() { self.long_lookup_key() } else { self }
    }

    /// Returns the [`lookup_key`](Self::lookup_key) of a long key.
    #[inline(always)]
    pub(in crate::encoder) fn long_lookup_key(self) -> Self {
        PretokenKey { hi: self.hi & !ARENA_OFFSET | NOT_IN_ARENA, ..self }
    }

    /// Returns the key of the same bytes as a part of a pretoken.
    pub(in crate::encoder) fn as_part(self) -> Self {
        PretokenKey { hi: self.hi & !WHOLE, ..self }
    }
}

const _: () = assert!(MAX_BYTES < CACHED_BYTES);
