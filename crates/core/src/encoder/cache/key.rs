//! Keys of the cache: [`PretokenKey`] with flags in its last byte, which no pretoken uses.
//!
//! A pretoken of at most [`MAX_BYTES`] bytes is its own key. A longer one has a hash and its length as key, and its
//! bytes are compared: the key of its entry also says where in the arena they are, so only who has compared them can
//! know that key. A flag is a bit that is cleared, since the last byte of a key is 0xff.

use crate::pretokens::key::{KeyHasher, MAX_BYTES, PretokenKey};

/// The longest pretoken that is cached at all.
pub(in crate::encoder) const CACHED_BYTES: usize = 255;

/// Cleared in the key of a pretoken longer than [`MAX_BYTES`].
const SHORT: u64 = 0x80 << 56;
/// Cleared in the key of a part of a pretoken, where its ids differ from those of a pretoken of the same bytes.
const WHOLE: u64 = 0x40 << 56;
/// Cleared in the key of an entry that says where in the arena the bytes of its pretoken are, in the bits of [`PLACE`].
const UNPLACED: u64 = 0x08 << 56;
const PLACE_SHIFT: u32 = 16;
const PLACE: u64 = (u32::MAX as u64) << PLACE_SHIFT;

/// The `hi` of an entry that is being written; no key has it.
pub(in crate::encoder) const CLAIMED: u64 = 0x10 << 56;

impl PretokenKey {
    /// The key of what is too long to be cached; no entry has it.
    pub(in crate::encoder) const UNCACHED: PretokenKey = PretokenKey { lo: 0, hi: 0x09 << 56 };

    /// The key of bytes of any length up to [`CACHED_BYTES`].
    pub(in crate::encoder) fn of_any(pretoken: &[u8], hasher: KeyHasher) -> Self {
        PretokenKey::of(pretoken).unwrap_or_else(|| PretokenKey::of_long(pretoken, hasher))
    }

    /// The key of bytes that are not their own key, or [`PretokenKey::UNCACHED`].
    #[inline(always)]
    pub(in crate::encoder) fn of_long(pretoken: &[u8], hasher: KeyHasher) -> Self {
        match pretoken.len() {
            n_bytes @ ..=CACHED_BYTES => {
                PretokenKey { lo: hasher.hash_bytes(pretoken), hi: 0x7f << 56 | n_bytes as u64 }
            }
            _ => PretokenKey::UNCACHED,
        }
    }

    /// Whether equal keys may stand for different pretokens.
    #[inline(always)]
    pub(in crate::encoder) fn is_long(self) -> bool {
        self.hi & SHORT == 0
    }

    /// How many bytes of a pretoken it does not hold itself.
    pub(in crate::encoder) fn n_own(self) -> usize {
        if self.is_long() { (self.hi & 0xffff) as usize } else { 0 }
    }

    /// The key of the entry of the same pretoken, whose bytes, if it is long, begin at `place` in the arena.
    pub(in crate::encoder) fn placed(self, place: u32) -> Self {
        if !self.is_long() {
            return self;
        }
        PretokenKey { hi: self.hi & !UNPLACED | u64::from(place) << PLACE_SHIFT, ..self }
    }

    /// Where in the arena the bytes of its pretoken begin, if it is the key of an entry of a long one.
    #[inline(always)]
    pub(in crate::encoder) fn place(self) -> Option<u32> {
        (self.is_long() && self.hi & UNPLACED == 0).then_some((self.hi >> PLACE_SHIFT) as u32)
    }

    /// The key that is looked for, of an entry with this one.
    pub(in crate::encoder) fn sought(self) -> Self {
        if self.place().is_some() { self.sought_long() } else { self }
    }

    /// The same of an entry of a long pretoken.
    #[inline(always)]
    pub(in crate::encoder) fn sought_long(self) -> Self {
        PretokenKey { hi: self.hi & !PLACE | UNPLACED, ..self }
    }

    /// The key of the same bytes as a part of a pretoken.
    pub(in crate::encoder) fn of_part(self) -> Self {
        PretokenKey { hi: self.hi & !WHOLE, ..self }
    }
}

const _: () = assert!(MAX_BYTES < CACHED_BYTES);
