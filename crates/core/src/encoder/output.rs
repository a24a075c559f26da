//! Where ids go: into a vector, or only into a count.

use std::ptr;

use super::cache::arena::Stored;
use super::cache::key::CACHED_BYTES;
use super::cache::packed::{INLINE_IDS, Packed};
use crate::error::Result;
use crate::ids::Id;
use crate::memory::TryReserve;
use crate::prefetch::{LINE_BYTES, prefetch};

/// How far ahead of the current id to prefetch memory: a few batches of ids.
const AHEAD_BYTES: usize = 768;

/// Cache lines to prefetch at once: about as many as the ids of a batch take.
const AHEAD_LINES: usize = 4;

/// Nothing is prefetched for this many entries or fewer.
const FEW_ENTRIES: usize = 32;

/// Receives the ids of a text in order.
///
/// The hot loop writes through a cursor, which the compiler keeps in registers: `open` reserves room for a whole batch,
/// `put_entry` writes without checking the capacity, `close` sets the length.
///
/// Tried: `prefetchw` instead of `prefetch` for memory that will be written, and stores past the caches: no difference.
pub(super) trait Output {
    /// Where the next id is written.
    type Cursor: Copy;

    /// Whether the ids are wanted, not only their number.
    const HAS_IDS: bool;

    /// Returns a cursor with room for the ids of `n` entries, whose pretokens have `n_bytes` bytes in total and no more
    /// ids than bytes.
    fn open(&mut self, n: usize, n_bytes: usize) -> Result<Self::Cursor>;

    /// Writes the ids of a cache entry. For ids in the arena it only leaves room, which [`fill`](Self::fill) fills.
    ///
    /// # Safety
    /// The cursor has room for one more entry, and no other method of the output was called since it was opened.
    unsafe fn put_entry<const NARROW: bool>(cursor: &mut Self::Cursor, ids: &Packed);

    /// Writes ids from the arena into the room left for them.
    ///
    /// # Safety
    /// `cursor` is the cursor from before [`put_entry`](Self::put_entry) put the entry of these ids, and it has not
    /// been closed since.
    unsafe fn fill(cursor: Self::Cursor, ids: &Stored<'_>);

    /// Makes the ids written through the cursor part of the output.
    ///
    /// # Safety
    /// The cursor is the last one opened, all room that was left is filled, and no other method of the output was
    /// called since.
    unsafe fn close(&mut self, cursor: Self::Cursor);

    /// Appends ids.
    fn extend(&mut self, ids: impl ExactSizeIterator<Item = u32>) -> Result<()>;

    /// Appends ids from the arena.
    fn put_stored(&mut self, ids: Stored<'_>) -> Result<()>;

    /// Appends an id.
    fn put(&mut self, id: u32) -> Result<()> {
        self.extend([id].into_iter())
    }

    /// Returns the number of ids so far.
    fn n(&self) -> usize;

    /// Returns whether no more ids are wanted.
    fn is_full(&self) -> bool {
        false
    }
}

/// Appends ids to a vector.
pub(super) struct Ids<'a, I>(pub(super) &'a mut Vec<I>);

impl<I: Id> Output for Ids<'_, I> {
    type Cursor = *mut I;

    const HAS_IDS: bool = true;

    #[inline(always)]
    fn open(&mut self, n: usize, n_bytes: usize) -> Result<*mut I> {
        self.0.grow(n_bytes.min(n * CACHED_BYTES) + INLINE_IDS + 1, "ids")?;
        // Freshly allocated memory is not in the cache, and the processor does not predict writes in bursts. The few
        // ids of a short text fit into lines that are cached already.
        if n > FEW_ENTRIES {
            for line in 0..AHEAD_LINES {
                let ahead = self
                    .0
                    .as_ptr()
                    .wrapping_add(self.0.len())
                    .wrapping_byte_add(AHEAD_BYTES + LINE_BYTES * line);
                prefetch(ahead);
            }
        }
        // SAFETY: The length is within the capacity.
        Ok(unsafe { self.0.as_mut_ptr().add(self.0.len()) })
    }

    #[inline(always)]
    unsafe fn put_entry<const NARROW: bool>(cursor: &mut *mut I, ids: &Packed) {
        let n = ids.len();
        // SAFETY: `open` reserved a slot for each id of all entries, and INLINE_IDS + 1 more. Each call writes at most
        // INLINE_IDS + 1 slots, and advances by as many slots as its entry has ids.
        unsafe {
            if !NARROW {
                for (at, id) in ids.wide().into_iter().enumerate() {
                    cursor.add(at).write(I::from_u32(id));
                }
            } else if size_of::<I>() == 2 && cfg!(target_endian = "little") {
                // An entry holds the ids in this layout: one copy of 16 bytes.
                ptr::copy_nonoverlapping(ids, cursor.cast(), 1);
            } else {
                for (at, id) in ids.narrow().into_iter().enumerate() {
                    cursor.add(at).write(I::from_u32(id.into()));
                }
            }
            *cursor = cursor.add(n);
        }
    }

    #[inline(always)]
    unsafe fn fill(cursor: *mut I, ids: &Stored<'_>) {
        let Some(bytes) = ids.as_bytes::<I>() else {
            for n in 0..ids.len() {
                // SAFETY: `put_entry` left room for all of them.
                unsafe { cursor.add(n).write(I::from_u32(ids.get(n))) };
            }
            return;
        };
        let cursor = cursor.cast::<u8>();
        let Some(last) = bytes.last_chunk::<16>() else {
            // SAFETY: As above, for as many bytes.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), cursor, bytes.len()) };
            return;
        };
        // The usual case: copy 16 bytes at a time, of which the last may overlap the ones before, without a call.
        for (n, chunk) in bytes.as_chunks::<16>().0.iter().enumerate() {
            // SAFETY: As above.
            unsafe { cursor.add(16 * n).cast::<[u8; 16]>().write_unaligned(*chunk) };
        }
        // SAFETY: As above.
        unsafe { cursor.add(bytes.len() - 16).cast::<[u8; 16]>().write_unaligned(*last) };
    }

    #[inline(always)]
    unsafe fn close(&mut self, cursor: *mut I) {
        // SAFETY: By the contract the cursor points into the spare capacity of this vector, and all ids before it were
        // written.
        unsafe {
            let n = cursor.offset_from_unsigned(self.0.as_ptr());
            self.0.set_len(n);
        }
    }

    fn n(&self) -> usize {
        self.0.len()
    }

    fn extend(&mut self, ids: impl ExactSizeIterator<Item = u32>) -> Result<()> {
        self.0.grow(ids.len(), "ids")?;
        self.0.extend(ids.map(I::from_u32));
        Ok(())
    }

    fn put_stored(&mut self, ids: Stored<'_>) -> Result<()> {
        self.0.grow(ids.len(), "ids")?;
        // SAFETY: There is room for this many ids, and all are written.
        unsafe {
            Self::fill(self.0.as_mut_ptr().add(self.0.len()), &ids);
            self.0.set_len(self.0.len() + ids.len());
        }
        Ok(())
    }
}

/// Counts the ids; full at a limit.
pub(super) struct Counter {
    pub(super) n: usize,
    pub(super) limit: usize,
}

impl Output for Counter {
    type Cursor = usize;

    const HAS_IDS: bool = false;

    #[inline(always)]
    fn open(&mut self, _n: usize, _n_bytes: usize) -> Result<usize> {
        Ok(self.n)
    }

    #[inline(always)]
    unsafe fn put_entry<const NARROW: bool>(cursor: &mut usize, ids: &Packed) {
        *cursor += ids.len();
    }

    #[inline(always)]
    unsafe fn fill(_cursor: usize, _ids: &Stored<'_>) {}

    #[inline(always)]
    unsafe fn close(&mut self, cursor: usize) {
        self.n = cursor;
    }

    fn n(&self) -> usize {
        self.n
    }

    fn extend(&mut self, ids: impl ExactSizeIterator<Item = u32>) -> Result<()> {
        self.n += ids.len();
        Ok(())
    }

    fn put_stored(&mut self, ids: Stored<'_>) -> Result<()> {
        self.n += ids.len();
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.n >= self.limit
    }
}
