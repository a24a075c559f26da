//! Append-only memory for what does not fit into the entries of a table: many ids, and the bytes of long pretokens.
//!
//! A record is the pretoken, unless its key holds it, followed by its ids of two or four bytes each. One thread writes
//! a record before it publishes the entry that refers to it. Nothing changes the record afterwards, so a thread that
//! has read the entry can read the record as long as the arena lives. A full arena takes no more records.

use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Error, Result};
use crate::pages::{self, Pages};
use crate::prefetch::prefetch;
use crate::short_bytes;

/// Records in a mapping of bounded size.
pub(in crate::encoder) struct Arena {
    memory: Pages,
    /// Bytes requested so far; more than the mapping has once it is full.
    n_requested: AtomicUsize,
    is_narrow: bool,
}

impl Arena {
    /// Creates an empty arena of `n_bytes`. Pages take memory when they are first written.
    pub(in crate::encoder) fn new(n_bytes: usize, is_narrow: bool) -> Result<Self> {
        let memory = pages::map(n_bytes.min(u32::MAX as usize))
            .map_err(Error::out_of_memory("the records of the cache of pretokens"))?;
        Ok(Arena { memory, n_requested: AtomicUsize::new(0), is_narrow })
    }

    fn id_bytes(&self) -> usize {
        if self.is_narrow { 2 } else { 4 }
    }

    /// Returns whether a record has found no room.
    pub(in crate::encoder) fn is_full(&self) -> bool {
        self.n_requested.load(Ordering::Relaxed) > self.memory.len()
    }

    /// Writes a record of `own` (the pretoken, or nothing) and `ids`; returns its offset, or `None` if there is no
    /// room.
    pub(in crate::encoder) fn store(&self, own: &[u8], ids: &[u32]) -> Option<u32> {
        let (start, record) = self.room(own.len() + ids.len() * self.id_bytes())?;
        let (own_bytes, id_bytes) = record.split_at_mut(own.len());
        own_bytes.copy_from_slice(own);
        for (slot, id) in id_bytes.chunks_exact_mut(self.id_bytes()).zip(ids) {
            slot.copy_from_slice(&id.to_le_bytes()[..slot.len()]);
        }
        Some(start)
    }

    /// Copies the record at `start` of the arena `from`, which has `n_own` bytes of the pretoken and `n_ids` ids;
    /// returns the offset of the copy.
    ///
    /// # Safety
    /// A published entry refers to such a record of `from`, and `from` has the same `is_narrow`.
    pub(in crate::encoder) unsafe fn copy(
        &self,
        from: &Arena,
        start: u32,
        n_own: usize,
        n_ids: usize,
    ) -> Option<u32> {
        // SAFETY: By the contract.
        let original = unsafe { from.record(start, n_own + n_ids * self.id_bytes()) };
        let (start, record) = self.room(original.len())?;
        record.copy_from_slice(original);
        Some(start)
    }

    /// Reserves `n_bytes` that only the caller may write; returns their offset and the bytes.
    #[allow(clippy::mut_from_ref)]
    fn room(&self, n_bytes: usize) -> Option<(u32, &mut [u8])> {
        // Keeps `n_requested` from overflowing: past the end it no longer grows.
        if self.is_full() {
            return None;
        }
        let start = self.n_requested.fetch_add(n_bytes, Ordering::Relaxed);
        if start + n_bytes > self.memory.len() {
            return None;
        }
        // SAFETY: The bytes are within the mapping, and `fetch_add` reserved them for this call alone. Nobody reads
        // them before an entry that refers to them is published, and nobody writes them after that.
        let room = unsafe { slice::from_raw_parts_mut(self.memory.as_mut_ptr().add(start), n_bytes) };
        Some((start as u32, room))
    }

    /// Prefetches the record at `start`.
    #[inline(always)]
    pub(in crate::encoder) fn prefetch(&self, start: u32) {
        prefetch(self.memory.as_ptr().wrapping_add(start as usize));
    }

    /// Returns whether the record at `start` starts with the bytes of `pretoken`.
    ///
    /// # Safety
    /// A published entry refers to a record of this arena at `start`, which starts with a pretoken of `pretoken.len()`
    /// bytes.
    #[inline(always)]
    pub(in crate::encoder) unsafe fn starts_with(&self, start: u32, pretoken: &[u8]) -> bool {
        // SAFETY: By the contract.
        short_bytes::are_equal(unsafe { self.record(start, pretoken.len()) }, pretoken)
    }

    /// Returns the `n_ids` ids that start at `start`.
    ///
    /// # Safety
    /// A published entry refers to this many ids of a record of this arena.
    #[inline(always)]
    pub(in crate::encoder) unsafe fn ids(&self, start: u32, n_ids: usize) -> Stored<'_> {
        // SAFETY: By the contract.
        let ids = unsafe { self.record(start, n_ids * self.id_bytes()) };
        match self.is_narrow {
            true => Stored::Narrow(ids.as_chunks().0),
            false => Stored::Wide(ids.as_chunks().0),
        }
    }

    /// Returns `n_bytes` bytes of a record, starting at `start`.
    ///
    /// # Safety
    /// A published entry refers to a record of this arena that has these bytes.
    #[inline(always)]
    unsafe fn record(&self, start: u32, n_bytes: usize) -> &[u8] {
        // SAFETY: By the contract the bytes belong to a record: within the mapping, written before its entry was
        // published, and never again.
        unsafe { slice::from_raw_parts(self.memory.as_ptr().add(start as usize), n_bytes) }
    }

    /// Returns the size of the mapping.
    #[cfg(test)]
    pub(in crate::encoder) fn n_bytes(&self) -> usize {
        self.memory.len()
    }
}

/// The ids of a record.
pub(in crate::encoder) enum Stored<'a> {
    Narrow(&'a [[u8; 2]]),
    Wide(&'a [[u8; 4]]),
}

impl Stored<'_> {
    /// Returns the number of ids.
    #[inline(always)]
    pub(in crate::encoder) fn len(&self) -> usize {
        match self {
            Stored::Narrow(ids) => ids.len(),
            Stored::Wide(ids) => ids.len(),
        }
    }

    /// Returns id number `index`.
    #[inline(always)]
    pub(in crate::encoder) fn get(&self, index: usize) -> u32 {
        match self {
            Stored::Narrow(ids) => u16::from_le_bytes(ids[index]).into(),
            Stored::Wide(ids) => u32::from_le_bytes(ids[index]),
        }
    }

    /// Returns the bytes of the ids, if they have the layout of ids of type `I`.
    #[inline(always)]
    pub(in crate::encoder) fn as_bytes<I>(&self) -> Option<&[u8]> {
        match self {
            Stored::Narrow(ids) if size_of::<I>() == 2 && cfg!(target_endian = "little") => {
                Some(ids.as_flattened())
            }
            Stored::Wide(ids) if size_of::<I>() == 4 && cfg!(target_endian = "little") => {
                Some(ids.as_flattened())
            }
            _ => None,
        }
    }
}
