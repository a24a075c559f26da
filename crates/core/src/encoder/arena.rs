//! What does not fit the entries of the cache: many ids, and the bytes of long pretokens.
//!
//! Bytes, one record after the other: the pretoken, where its key does not hold it, then its ids, in two bytes
//! each where they fit. A full arena is emptied as a whole; a record is known by its generation to be gone.

use super::cache::Packed;
use crate::prefetch::prefetch;

/// Records within a bound of memory.
pub(super) struct Arena {
    bytes: Vec<u8>,
    most_bytes: usize,
    generation: u32,
    is_narrow: bool,
}

impl Arena {
    /// An empty arena that will hold at most `most_bytes`.
    pub(super) fn new(most_bytes: usize, is_narrow: bool) -> Self {
        let most_bytes = most_bytes.min(u32::MAX as usize);
        Arena { bytes: Vec::new(), most_bytes, generation: 0, is_narrow }
    }

    /// Writes a record of `ids`, after `own`; says where, or nothing where there is no room at all.
    pub(super) fn store(&mut self, own: &[u8], ids: &[u32]) -> Option<Packed> {
        let needed = own.len() + ids.len() * if self.is_narrow { 2 } else { 4 };
        if self.bytes.capacity() - self.bytes.len() < needed && !self.widen(needed) {
            self.bytes.clear();
            self.generation = self.generation.checked_add(1)?;
            if self.bytes.capacity() < needed {
                return None;
            }
        }
        let at = u32::try_from(self.bytes.len()).ok()?;
        self.bytes.extend_from_slice(own);
        if self.is_narrow {
            self.bytes.extend(ids.iter().flat_map(|&id| (id as u16).to_le_bytes()));
        } else {
            self.bytes.extend(ids.iter().flat_map(|id| id.to_le_bytes()));
        }
        Some(Packed::spilled(ids.len() as u32, at, self.generation))
    }

    /// Starts loading the record at `place`.
    #[inline(always)]
    pub(super) fn prefetch(&self, place: &Packed) {
        let [_, at, _, _] = place.words();
        if let Some(first) = self.bytes.get(at as usize) {
            prefetch(first);
        }
    }

    /// The ids of the record at `place`, if it is still there and begins with `own`.
    #[inline(always)]
    pub(super) fn load(&self, place: &Packed, own: &[u8]) -> Option<Stored<'_>> {
        let [n_ids, at, generation, _] = place.words();
        if generation != self.generation {
            return None;
        }
        let (n_ids, record) = (n_ids as usize, self.bytes.get(at as usize..)?);
        let (begin, ids) = record.split_at_checked(own.len())?;
        if !is_same(begin, own) {
            return None;
        }
        Some(match self.is_narrow {
            true => Stored::Narrow(ids.as_chunks().0.get(..n_ids)?),
            false => Stored::Wide(ids.as_chunks().0.get(..n_ids)?),
        })
    }

    /// Makes room for `needed` more bytes, if the bound and the system allow it.
    #[cold]
    fn widen(&mut self, needed: usize) -> bool {
        let (len, capacity) = (self.bytes.len(), self.bytes.capacity());
        let wanted = (capacity * 2).max(len + needed).max(1 << 12).min(self.most_bytes);
        wanted >= len + needed && self.bytes.try_reserve_exact(wanted - len).is_ok()
    }

    /// How many bytes of memory it holds.
    #[cfg(test)]
    pub(super) fn n_bytes(&self) -> usize {
        self.bytes.capacity()
    }
}

/// Ids as a record has them.
pub(super) enum Stored<'a> {
    Narrow(&'a [[u8; 2]]),
    Wide(&'a [[u8; 4]]),
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
