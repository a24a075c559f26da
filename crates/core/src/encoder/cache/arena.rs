//! Append-only memory for what does not fit into the entries of a table: many ids, and the bytes of long pretokens.
//!
//! A record is the pretoken, if its key does not hold it, followed by its ids in two or four bytes each. One thread
//! writes a record, before the entry that refers to it is published; nobody changes it afterwards, so whoever read the
//! entry may read the record as long as the arena lives. A full arena takes no more records.

use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::packed::Packed;
use crate::error::{Error, Result};
use crate::pages::{self, Pages};
use crate::prefetch::prefetch;

/// Records in a bounded mapping.
pub(in crate::encoder) struct Arena {
    memory: Pages,
    /// Bytes that were asked for; more than the mapping has once it is full.
    n_given: AtomicUsize,
    is_narrow: bool,
}

impl Arena {
    /// An empty arena of `n_bytes`; pages take memory when they are first written.
    pub(in crate::encoder) fn new(n_bytes: usize, is_narrow: bool) -> Result<Self> {
        let memory = pages::map(n_bytes.min(u32::MAX as usize))
            .map_err(Error::out_of_memory("the records of the cache of pretokens"))?;
        Ok(Arena { memory, n_given: AtomicUsize::new(0), is_narrow })
    }

    fn id_bytes(&self) -> usize {
        if self.is_narrow { 2 } else { 4 }
    }

    /// Whether a record found no room.
    pub(in crate::encoder) fn is_full(&self) -> bool {
        self.n_given.load(Ordering::Relaxed) > self.memory.len()
    }

    /// Writes a record of `own` (the pretoken, or nothing) and `ids`; gives its location, `None` if there is no room.
    pub(in crate::encoder) fn store(&self, own: &[u8], ids: &[u32]) -> Option<Packed> {
        let (begin, record) = self.room(own.len() + ids.len() * self.id_bytes())?;
        let (own_bytes, id_bytes) = record.split_at_mut(own.len());
        own_bytes.copy_from_slice(own);
        for (slot, id) in id_bytes.chunks_exact_mut(self.id_bytes()).zip(ids) {
            slot.copy_from_slice(&id.to_le_bytes()[..slot.len()]);
        }
        Some(Packed::spilled(ids.len() as u32, begin))
    }

    /// Copies the record at `location` in the arena `from`, which begins with `n_own` bytes of the pretoken.
    ///
    /// # Safety
    /// `location` is from a published entry whose record is in `from` and begins with `n_own` bytes of the pretoken.
    /// Both arenas have the same `is_narrow`.
    pub(in crate::encoder) unsafe fn copy(
        &self,
        from: &Arena,
        location: &Packed,
        n_own: usize,
    ) -> Option<Packed> {
        // SAFETY: By the contract.
        let original = unsafe { from.record(location, n_own) };
        let (begin, record) = self.room(original.len())?;
        record.copy_from_slice(original);
        let [n_ids, ..] = location.words();
        Some(Packed::spilled(n_ids, begin))
    }

    /// `n_bytes` that only the caller may write, and their offset.
    #[allow(clippy::mut_from_ref)]
    fn room(&self, n_bytes: usize) -> Option<(u32, &mut [u8])> {
        // Keeps `n_given` from overflowing: once it is past the end, it no longer grows.
        if self.is_full() {
            return None;
        }
        let begin = self.n_given.fetch_add(n_bytes, Ordering::Relaxed);
        if begin + n_bytes > self.memory.len() {
            return None;
        }
        // SAFETY: The bytes are within the mapping, and `fetch_add` gave them to this call only. Nobody reads them
        // before an entry that refers to them is published, and nobody writes them after that.
        let room = unsafe { slice::from_raw_parts_mut(self.memory.as_mut_ptr().add(begin), n_bytes) };
        Some((begin as u32, room))
    }

    /// Prefetches the record at `location`.
    #[inline(always)]
    pub(in crate::encoder) fn prefetch(&self, location: &Packed) {
        let [_, begin, ..] = location.words();
        prefetch(self.memory.as_ptr().wrapping_add(begin as usize));
    }

    /// The ids of the record at `location`, if it begins with `own`.
    ///
    /// # Safety
    /// `location` is from a published entry whose record is in this arena and begins with a pretoken of `own.len()`
    /// bytes; with none if its key holds the pretoken.
    #[inline(always)]
    pub(in crate::encoder) unsafe fn load(&self, location: &Packed, own: &[u8]) -> Option<Stored<'_>> {
        // SAFETY: By the contract.
        let (stored, ids) = unsafe { self.record(location, own.len()) }.split_at(own.len());
        if !is_same(stored, own) {
            return None;
        }
        Some(match self.is_narrow {
            true => Stored::Narrow(ids.as_chunks().0),
            false => Stored::Wide(ids.as_chunks().0),
        })
    }

    /// The bytes of the record at `location`, which begins with `n_own` bytes of the pretoken.
    ///
    /// # Safety
    /// As for [`load`](Self::load).
    #[inline(always)]
    unsafe fn record(&self, location: &Packed, n_own: usize) -> &[u8] {
        let [n_ids, begin, ..] = location.words();
        let n_bytes = n_own + n_ids as usize * self.id_bytes();
        // SAFETY: By the contract these bytes are a record: within the mapping, written before its entry was
        // published, and never again.
        unsafe { slice::from_raw_parts(self.memory.as_ptr().add(begin as usize), n_bytes) }
    }

    /// The size of the mapping.
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
    /// How many there are.
    pub(in crate::encoder) fn len(&self) -> usize {
        match self {
            Stored::Narrow(ids) => ids.len(),
            Stored::Wide(ids) => ids.len(),
        }
    }
}

/// Whether two slices of equal length are equal. Faster than a call of `memcmp` for the lengths of pretokens.
#[inline(always)]
fn is_same(a: &[u8], b: &[u8]) -> bool {
    match (a.last_chunk::<16>(), b.last_chunk::<16>()) {
        (Some(a_last), Some(b_last)) => {
            let mut chunks = a.as_chunks::<16>().0.iter().zip(b.as_chunks::<16>().0);
            chunks.all(|(a, b)| a == b) && a_last == b_last
        }
        _ => a.is_empty() || a == b,
    }
}
