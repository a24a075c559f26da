//! Where ids go: into an array, or only into a count.

use std::ptr;

use super::cache::arena::Stored;
use super::cache::packed::{INLINE_IDS, Packed};
use crate::error::{Error, Result};
use crate::ids::Id;

/// Takes the ids of a text in order.
///
/// In the loop over pretokens ids go through a cursor, which holds what changes in registers: `open` makes
/// room, `put_entry` writes without asking, `close` gives the room back.
pub(super) trait Output {
    /// Where the next id goes.
    type Cursor: Copy;

    /// A cursor with room for the ids of `n` entries.
    fn open(&mut self, n: usize) -> Result<Self::Cursor>;

    /// Takes the ids of an entry.
    ///
    /// # Safety
    /// The cursor has room for one more entry, and the sink was not touched since it was opened.
    unsafe fn put_entry<const NARROW: bool>(cursor: &mut Self::Cursor, ids: &Packed);

    /// Keeps what was put.
    ///
    /// # Safety
    /// The cursor is the last one opened, and the sink was not touched since.
    unsafe fn close(&mut self, cursor: Self::Cursor);

    /// Takes any number of ids.
    fn extend(&mut self, ids: impl ExactSizeIterator<Item = u32>) -> Result<()>;

    /// Takes the ids of a record.
    fn put_stored(&mut self, ids: Stored<'_>) -> Result<()>;

    /// Takes one id.
    fn put(&mut self, id: u32) -> Result<()> {
        self.extend([id].into_iter())
    }

    /// Whether nothing more is wanted.
    fn is_full(&self) -> bool {
        false
    }
}

/// Appends the ids.
pub(super) struct Ids<'a, I>(pub(super) &'a mut Vec<I>);

impl<I: Id> Output for Ids<'_, I> {
    type Cursor = *mut I;

    #[inline(always)]
    fn open(&mut self, n: usize) -> Result<*mut I> {
        self.0.try_reserve(n * INLINE_IDS + 1).map_err(Error::out_of_memory("ids"))?;
        // SAFETY: The length is within the capacity.
        Ok(unsafe { self.0.as_mut_ptr().add(self.0.len()) })
    }

    #[inline(always)]
    unsafe fn put_entry<const NARROW: bool>(cursor: &mut *mut I, ids: &Packed) {
        // SAFETY: By the contract there is room for all that is written: `open` counts one more than an entry
        // holds. Those that are kept are at most as many as an entry holds.
        unsafe {
            if !NARROW {
                cursor.cast::<[I; 4]>().write_unaligned(ids.wide().map(I::from_u32));
            } else if size_of::<I>() == 2 && cfg!(target_endian = "little") {
                // As they are, in one go.
                ptr::copy_nonoverlapping(ids, cursor.cast(), 1);
            } else {
                cursor
                    .cast::<[I; INLINE_IDS + 1]>()
                    .write_unaligned(ids.narrow().map(|id| I::from_u32(id.into())));
            }
            *cursor = cursor.add(ids.len());
        }
    }

    #[inline(always)]
    unsafe fn close(&mut self, cursor: *mut I) {
        // SAFETY: By the contract the cursor points into the spare room of this vector, and all before it
        // was written.
        unsafe {
            let n = cursor.offset_from_unsigned(self.0.as_ptr());
            self.0.set_len(n);
        }
    }

    fn extend(&mut self, ids: impl ExactSizeIterator<Item = u32>) -> Result<()> {
        self.0.try_reserve(ids.len()).map_err(Error::out_of_memory("ids"))?;
        self.0.extend(ids.map(I::from_u32));
        Ok(())
    }

    #[inline(always)]
    fn put_stored(&mut self, ids: Stored<'_>) -> Result<()> {
        let bytes = match ids {
            Stored::Narrow(ids) if size_of::<I>() == 2 && cfg!(target_endian = "little") => {
                ids.as_flattened()
            }
            Stored::Wide(ids) if size_of::<I>() == 4 && cfg!(target_endian = "little") => ids.as_flattened(),
            Stored::Narrow(ids) => return self.extend(ids.iter().map(|&id| u16::from_le_bytes(id).into())),
            Stored::Wide(ids) => return self.extend(ids.iter().map(|&id| u32::from_le_bytes(id))),
        };
        let n = bytes.len() / size_of::<I>();
        self.0.try_reserve(n).map_err(Error::out_of_memory("ids"))?;
        // SAFETY: There is room for n ids, and these are their bytes.
        unsafe {
            ptr::copy_nonoverlapping(
                bytes.as_ptr(),
                self.0.as_mut_ptr().add(self.0.len()).cast(),
                bytes.len(),
            );
            self.0.set_len(self.0.len() + n);
        }
        Ok(())
    }
}

/// Counts the ids, up to a limit.
pub(super) struct Counter {
    pub(super) n: usize,
    pub(super) limit: usize,
}

impl Output for Counter {
    type Cursor = usize;

    #[inline(always)]
    fn open(&mut self, _n: usize) -> Result<usize> {
        Ok(self.n)
    }

    #[inline(always)]
    unsafe fn put_entry<const NARROW: bool>(cursor: &mut usize, ids: &Packed) {
        *cursor += ids.len();
    }

    #[inline(always)]
    unsafe fn close(&mut self, cursor: usize) {
        self.n = cursor;
    }

    fn extend(&mut self, ids: impl ExactSizeIterator<Item = u32>) -> Result<()> {
        self.n += ids.len();
        Ok(())
    }

    #[inline(always)]
    fn put_stored(&mut self, ids: Stored<'_>) -> Result<()> {
        self.n += ids.len();
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.n >= self.limit
    }
}
