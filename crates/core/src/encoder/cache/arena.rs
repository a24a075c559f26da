//! What does not fit the entries of a table: many ids, and the bytes of long pretokens.
//!
//! Bytes, one record after the other: the pretoken, where its key does not hold it, then its ids, in two bytes each
//! where they fit. A record is written once, by one thread; who was told of it, by the entry that refers to it,
//! may read it for as long as the arena lives. A full arena takes no more.

use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};

use memmap2::MmapRaw;

use super::packed::Packed;
use crate::error::{Error, Result};
use crate::pages;
use crate::prefetch::prefetch;

/// Records within a bound of memory.
pub(in crate::encoder) struct Arena {
    memory: MmapRaw,
    /// Bytes that were given out; more than there are once it is full.
    n_given: AtomicUsize,
    is_narrow: bool,
}

impl Arena {
    /// An empty arena of `n_bytes`, of which no page is in use yet.
    pub(in crate::encoder) fn new(n_bytes: usize, is_narrow: bool) -> Result<Self> {
        let memory = pages::map(n_bytes.min(u32::MAX as usize))
            .map_err(Error::out_of_memory("the records of the cache of pretokens"))?;
        Ok(Arena { memory, n_given: AtomicUsize::new(0), is_narrow })
    }

    fn id_bytes(&self) -> usize {
        if self.is_narrow { 2 } else { 4 }
    }

    /// Whether there was no room for some record.
    pub(in crate::encoder) fn is_full(&self) -> bool {
        self.n_given.load(Ordering::Relaxed) > self.memory.len()
    }

    /// Writes a record of `ids`, after `own`; says where, or nothing where there is no room.
    pub(in crate::encoder) fn store(&self, own: &[u8], ids: &[u32]) -> Option<Packed> {
        let (begin, record) = self.room(own.len() + ids.len() * self.id_bytes())?;
        let (place_of_own, place_of_ids) = record.split_at_mut(own.len());
        place_of_own.copy_from_slice(own);
        for (slot, id) in place_of_ids.chunks_exact_mut(self.id_bytes()).zip(ids) {
            slot.copy_from_slice(&id.to_le_bytes()[..slot.len()]);
        }
        Some(Packed::spilled(ids.len() as u32, begin))
    }

    /// Copies the record at `slot` in another arena, `n_own` bytes of which are the pretoken; says as `store` does.
    ///
    /// # Safety
    /// `slot` is from a published entry whose record is in `from`, with so many bytes of the pretoken; ids are as wide there.
    pub(in crate::encoder) unsafe fn copy(
        &self,
        from: &Arena,
        slot: &Packed,
        n_own: usize,
    ) -> Option<Packed> {
        // SAFETY: By the contract.
        let original = unsafe { from.record(slot, n_own) };
        let (begin, record) = self.room(original.len())?;
        record.copy_from_slice(original);
        let [n_ids, ..] = slot.words();
        Some(Packed::spilled(n_ids, begin))
    }

    /// A stretch of `n_bytes` for the caller alone to write, and where it begins.
    #[allow(clippy::mut_from_ref)]
    fn room(&self, n_bytes: usize) -> Option<(u32, &mut [u8])> {
        // Asked first, so that the number does not run over in the end.
        if self.is_full() {
            return None;
        }
        let begin = self.n_given.fetch_add(n_bytes, Ordering::Relaxed);
        if begin + n_bytes > self.memory.len() {
            return None;
        }
        // SAFETY: The stretch is within the mapping and was given to this call alone: nobody has a reference to it before
        // an entry is published that refers to it, and nobody writes to it again.
        let room = unsafe { slice::from_raw_parts_mut(self.memory.as_mut_ptr().add(begin), n_bytes) };
        Some((begin as u32, room))
    }

    /// Starts loading the record at `slot`.
    #[inline(always)]
    pub(in crate::encoder) fn prefetch(&self, slot: &Packed) {
        let [_, begin, ..] = slot.words();
        prefetch(self.memory.as_ptr().wrapping_add(begin as usize));
    }

    /// The ids of the record at `slot`, if it begins with `own`.
    ///
    /// # Safety
    /// `slot` is from a published entry whose record is in this arena, and its key is as long as `own`, or holds
    /// the pretoken if that is empty.
    #[inline(always)]
    pub(in crate::encoder) unsafe fn load(&self, slot: &Packed, own: &[u8]) -> Option<Stored<'_>> {
        // SAFETY: By the contract.
        let (begin, ids) = unsafe { self.record(slot, own.len()) }.split_at(own.len());
        if !is_same(begin, own) {
            return None;
        }
        Some(match self.is_narrow {
            true => Stored::Narrow(ids.as_chunks().0),
            false => Stored::Wide(ids.as_chunks().0),
        })
    }

    /// The bytes of the record at `slot`, `n_own` of which are the pretoken.
    ///
    /// # Safety
    /// As for [`load`](Self::load).
    #[inline(always)]
    unsafe fn record(&self, slot: &Packed, n_own: usize) -> &[u8] {
        let [n_ids, begin, ..] = slot.words();
        let n_bytes = n_own + n_ids as usize * self.id_bytes();
        // SAFETY: By the contract this is a record, written before its entry was published, and not written again.
        unsafe { slice::from_raw_parts(self.memory.as_ptr().add(begin as usize), n_bytes) }
    }

    /// How many bytes of memory it may come to hold.
    #[cfg(test)]
    pub(in crate::encoder) fn n_bytes(&self) -> usize {
        self.memory.len()
    }
}

/// Ids as a record has them.
pub(in crate::encoder) enum Stored<'a> {
    Narrow(&'a [[u8; 2]]),
    Wide(&'a [[u8; 4]]),
}

impl Stored<'_> {
    /// How many they are.
    pub(in crate::encoder) fn len(&self) -> usize {
        match self {
            Stored::Narrow(ids) => ids.len(),
            Stored::Wide(ids) => ids.len(),
        }
    }
}

/// Whether two stretches of equal length are equal; inline, since pretokens are but a few steps long.
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
