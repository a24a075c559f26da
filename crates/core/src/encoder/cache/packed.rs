//! Up to seven ids packed in sixteen bytes, as an entry of the cache holds them.

/// The most ids of two bytes that fit in an entry.
pub(in crate::encoder) const INLINE_IDS: usize = 7;

/// The most ids of four bytes that fit in an entry.
const WIDE_INLINE_IDS: usize = 4;

/// The ids of a pretoken in sixteen bytes, the last of which is their number.
///
/// Narrow: up to seven ids of two bytes each. Wide: up to four ids, three of four bytes and one of three. If there are
/// more, they are in the arena, and the first four bytes are their offset there.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(in crate::encoder) struct Packed([u8; 16]);

impl Packed {
    /// Packs `ids` if they fit.
    pub(super) fn new(ids: &[u32], is_narrow: bool) -> Option<Self> {
        let mut bytes = [0; 16];
        let width = if is_narrow { 2 } else { 4 };
        if ids.len() > max_inline(is_narrow) {
            return None;
        }
        for (slot, id) in bytes.chunks_exact_mut(width).zip(ids) {
            slot.copy_from_slice(&id.to_le_bytes()[..width]);
        }
        bytes[15] = ids.len() as u8;
        Some(Packed(bytes))
    }

    /// Returns the content of an entry whose `n_ids` ids are in the arena at `start`.
    pub(in crate::encoder) fn spilled(n_ids: u8, start: u32) -> Self {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&start.to_le_bytes());
        bytes[15] = n_ids;
        Packed(bytes)
    }

    /// Returns whether the ids are in the arena.
    #[inline(always)]
    pub(in crate::encoder) fn is_spilled(&self, is_narrow: bool) -> bool {
        self.len() > max_inline(is_narrow)
    }

    /// Returns the offset of the ids in the arena, if they are there.
    #[inline(always)]
    pub(in crate::encoder) fn start(&self) -> u32 {
        let [start, ..] = self.words();
        start
    }

    /// Returns the number of ids.
    #[inline(always)]
    pub(in crate::encoder) fn len(&self) -> usize {
        usize::from(self.0[15])
    }

    /// Returns up to seven narrow ids. The last element is not an id.
    #[inline(always)]
    pub(in crate::encoder) fn narrow(&self) -> [u16; 8] {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = self.0;
        // Not `map` of an array: without link-time optimisation it is not inlined, and the speed falls to a quarter.
        let id = u16::from_le_bytes;
        [id([a, b]), id([c, d]), id([e, f]), id([g, h]), id([i, j]), id([k, l]), id([m, n]), id([o, p])]
    }

    /// Returns up to four wide ids.
    #[inline(always)]
    pub(in crate::encoder) fn wide(&self) -> [u32; 4] {
        let [first, second, third, fourth] = self.words();
        [first, second, third, fourth & 0x00ff_ffff]
    }

    #[inline(always)]
    fn words(&self) -> [u32; 4] {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = self.0;
        let word = u32::from_le_bytes;
        [word([a, b, c, d]), word([e, f, g, h]), word([i, j, k, l]), word([m, n, o, p])]
    }
}

/// Returns the most ids that fit in an entry.
#[inline(always)]
const fn max_inline(is_narrow: bool) -> usize {
    if is_narrow { INLINE_IDS } else { WIDE_INLINE_IDS }
}
