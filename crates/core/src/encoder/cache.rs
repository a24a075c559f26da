//! What pretokens have been merged into, within a bound of memory.
//!
//! Enters: pretokens and their ids. Leaves: the ids of a pretoken that was seen before, mostly. A bucket is a
//! cache line of two entries; an entry is a key and a few ids, so that the usual hit touches one line.
//! More ids than that, and the bytes of pretokens too long to be their own key, lie in an [`Arena`]. A new entry
//! takes the first place of its bucket, the one there moves to the second, the second is forgotten. The table
//! starts small and doubles while it fills up, so that short work stays within the nearer caches of the
//! processor. Where memory is refused the cache stays as it is: it never fails, it only forgets.

use std::hint::select_unpredictable;
use std::marker::PhantomData;

use memmap2::{Advice, MmapMut};

use super::EncoderOptions;
use super::arena::{Arena, Stored};
use super::key::{Hasher, Key};
use crate::error::{Error, Result};

/// Most ids in an entry.
pub(super) const INLINE_IDS: usize = 7;

const FIRST_BUCKETS: usize = 1 << 9;

/// So many that the offset of a bucket fits 32 bits.
const MOST_BUCKETS: usize = 1 << 25;

/// A pretoken and its ids.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
struct Entry {
    key: Key,
    ids: Packed,
}

/// The ids of a pretoken in sixteen bytes, of which the last says how many.
///
/// Narrow, they are seven of two bytes each; wide, four, of four bytes and the last of three. If the key says
/// that they are in the arena the bytes are, in words: how many, where, and of which generation.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Packed([u8; 16]);

impl Packed {
    /// Packs `ids`, if so many fit.
    fn new(ids: &[u32], is_narrow: bool) -> Option<Self> {
        let mut bytes = [0; 16];
        let width = if is_narrow { 2 } else { 4 };
        if ids.len() > if is_narrow { 7 } else { 4 } {
            return None;
        }
        for (place, id) in bytes.chunks_exact_mut(width).zip(ids) {
            place.copy_from_slice(&id.to_le_bytes()[..width]);
        }
        bytes[15] = ids.len() as u8;
        Some(Packed(bytes))
    }

    /// Says where in the arena the ids are.
    pub(super) fn spilled(n_ids: u32, at: u32, generation: u32) -> Self {
        let mut bytes = [0; 16];
        for (place, word) in bytes.chunks_exact_mut(4).zip([n_ids, at, generation]) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        Packed(bytes)
    }

    /// How many ids there are, if they are here.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        usize::from(self.0[15])
    }

    /// The ids of narrow ones, and one number more.
    #[inline(always)]
    pub(super) fn narrow(&self) -> [u16; 8] {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = self.0;
        [[a, b], [c, d], [e, f], [g, h], [i, j], [k, l], [m, n], [o, p]].map(u16::from_le_bytes)
    }

    /// The ids of wide ones.
    #[inline(always)]
    pub(super) fn wide(&self) -> [u32; 4] {
        let [first, second, third, fourth] = self.words();
        [first, second, third, fourth & 0x00ff_ffff]
    }

    #[inline(always)]
    pub(super) fn words(&self) -> [u32; 4] {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = self.0;
        [[a, b, c, d], [e, f, g, h], [i, j, k, l], [m, n, o, p]].map(u32::from_le_bytes)
    }
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Bucket([Entry; 2]);

/// Pretokens to ids.
pub(super) struct Cache {
    pub(super) hasher: Hasher,
    /// Whether ids are below 65,536, and packed in two bytes.
    pub(super) is_narrow: bool,
    table: Table,
    most_buckets: usize,
    /// Entries written to the table, forgotten ones included.
    n_written: usize,
    arena: Arena,
}

impl Cache {
    /// An empty cache for ids below `n_ids`.
    pub(super) fn new(options: EncoderOptions, n_ids: usize) -> Result<Self> {
        let EncoderOptions { cache_bytes: n_bytes } = options;
        // The table's share is rounded down, the arena has the rest.
        let fitting = (n_bytes / 8 * 7 / size_of::<Bucket>()).max(1);
        let most_buckets = ((fitting + 1).next_power_of_two() / 2).min(MOST_BUCKETS);
        let is_narrow = n_ids <= 1 << 16;
        let table = Table::new(most_buckets.min(FIRST_BUCKETS))?;
        let arena = Arena::new(n_bytes.saturating_sub(most_buckets * size_of::<Bucket>()), is_narrow);
        Ok(Cache { hasher: Hasher::new(), is_narrow, table, most_buckets, n_written: 0, arena })
    }

    /// The table, to be read without going through the cache.
    #[inline(always)]
    pub(super) fn view(&self) -> View<'_> {
        self.table.view()
    }

    /// Starts loading the record of a pretoken in the arena, if there is one.
    #[inline(always)]
    pub(super) fn prefetch_record(&self, key: Key, place: u32) {
        if let Some(packed) = self.table.view().inline_ids(key.spilled(), place) {
            self.arena.prefetch(packed);
        }
    }

    /// The ids of `pretoken`, whose key and place these are, if they are known and lie in the arena.
    #[inline(always)]
    pub(super) fn spilled_ids(&self, key: Key, place: u32, pretoken: &[u8]) -> Option<Stored<'_>> {
        let packed = self.table.view().inline_ids(key.spilled(), place)?;
        self.arena.load(packed, if key.is_long() { pretoken } else { &[] })
    }

    /// Appends the ids of `pretoken`, whose key and place these are, to `ids`, if they are known.
    pub(super) fn append_ids(&self, key: Key, place: u32, pretoken: &[u8], ids: &mut Vec<u32>) -> bool {
        if let Some(packed) = self.table.view().inline_ids(key, place) {
            if self.is_narrow {
                ids.extend(packed.narrow().iter().take(packed.len()).map(|&id| u32::from(id)));
            } else {
                ids.extend(packed.wide().iter().take(packed.len()));
            }
            return true;
        }
        match self.spilled_ids(key, place, pretoken) {
            Some(Stored::Narrow(stored)) => {
                ids.extend(stored.iter().map(|&id| u32::from(u16::from_le_bytes(id))))
            }
            Some(Stored::Wide(stored)) => ids.extend(stored.iter().map(|&id| u32::from_le_bytes(id))),
            None => return false,
        }
        true
    }

    /// Remembers the ids of `pretoken`, whose key and place these are.
    pub(super) fn insert(&mut self, key: Key, place: u32, pretoken: &[u8], ids: &[u32]) {
        let inline = if key.is_long() { None } else { Packed::new(ids, self.is_narrow) };
        let entry = match inline {
            Some(ids) => Entry { key, ids },
            None => {
                let own = if key.is_long() { pretoken } else { &[] };
                let Some(ids) = self.arena.store(own, ids) else { return };
                Entry { key: key.spilled(), ids }
            }
        };
        if self.n_written > self.table.len() / 2 && self.table.len() < self.most_buckets {
            self.grow();
        }
        self.n_written += 1;
        self.table.insert(place, entry);
    }

    /// Moves all entries to a table of twice the size, if there is memory for it.
    #[cold]
    fn grow(&mut self) {
        self.n_written = 0;
        let Ok(mut larger) = Table::new(self.table.len() * 2) else {
            self.most_buckets = self.table.len();
            return;
        };
        for index in 0..self.table.len() {
            let Bucket([first, second]) = *self.table.view().bucket((index * size_of::<Bucket>()) as u32);
            for entry in [second, first] {
                if entry.key != Key::EMPTY {
                    larger.insert(self.hasher.place(entry.key.unspilled()), entry);
                    self.n_written += 1;
                }
            }
        }
        self.table = larger;
    }
}

/// A power of two of buckets, in memory of their own, huge pages where the system has them.
struct Table {
    memory: MmapMut,
    n_buckets: usize,
}

impl Table {
    fn new(n_buckets: usize) -> Result<Self> {
        debug_assert!(n_buckets.is_power_of_two());
        let memory = MmapMut::map_anon(n_buckets * size_of::<Bucket>())
            .map_err(Error::out_of_memory("the cache of pretokens"))?;
        if memory.len() >= 1 << 21 {
            // Only a wish: without it all works, somewhat slower.
            let _ = memory.advise(Advice::HugePage);
        }
        Ok(Table { memory, n_buckets })
    }

    fn len(&self) -> usize {
        self.n_buckets
    }

    /// The bits of a place that are the offset of its bucket.
    #[inline(always)]
    fn byte_mask(&self) -> u32 {
        ((self.n_buckets - 1) * size_of::<Bucket>()) as u32
    }

    #[inline(always)]
    fn view(&self) -> View<'_> {
        View { buckets: self.memory.as_ptr().cast(), mask: self.byte_mask(), table: PhantomData }
    }

    /// Puts an entry first in its bucket; the others make room.
    fn insert(&mut self, place: u32, entry: Entry) {
        let Bucket([first, _]) = *self.view().bucket(place);
        let offset = (place & self.byte_mask()) as usize;
        // SAFETY: As in `View::bucket`; nobody else holds a reference, since `self` is borrowed mutably.
        unsafe { self.memory.as_mut_ptr().add(offset).cast::<Bucket>().write(Bucket([entry, first])) };
    }
}

/// A table as the loop over pretokens reads it, in two registers.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    buckets: *const Bucket,
    /// The bits of a place that are the offset of its bucket.
    mask: u32,
    table: PhantomData<&'a Table>,
}

impl<'a> View<'a> {
    /// The bits of a place that are the offset of its bucket.
    #[inline(always)]
    pub(super) fn mask(self) -> u32 {
        self.mask
    }

    #[inline(always)]
    pub(super) fn bucket(self, place: u32) -> &'a Bucket {
        // SAFETY: The mask keeps the offset of a bucket within the mapping. That is aligned to a page, began as
        // zeros, and zeros as well as all that `insert` writes are valid buckets. It lives as long as the table.
        unsafe { &*self.buckets.byte_add((place & self.mask) as usize) }
    }

    /// The ids of a pretoken, if it is known and they lie in its entry.
    #[inline(always)]
    pub(super) fn inline_ids(self, key: Key, place: u32) -> Option<&'a Packed> {
        let entries = &self.bucket(place).0;
        // Which of the two it is cannot be foretold, so that must not become a branch, whether it is one of them
        // may. The least of the differences says the latter in one word: written as an `or` of two conditions
        // it is compiled to two branches, at a fifth of the speed of encoding.
        let [first, second] = [entries[0].key.difference(key), entries[1].key.difference(key)];
        let ids = select_unpredictable(second == 0, &entries[1].ids, &entries[0].ids);
        (first.min(second) == 0).then_some(ids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(cache: &Cache, pretoken: &[u8]) -> Option<Vec<u32>> {
        let key = cache.hasher.key(pretoken);
        let mut ids = Vec::new();
        let place = cache.hasher.place(key);
        cache.append_ids(key, place, pretoken, &mut ids).then_some(ids)
    }

    fn insert(cache: &mut Cache, pretoken: &[u8], ids: &[u32]) {
        let key = cache.hasher.key(pretoken);
        cache.insert(key, cache.hasher.place(key), pretoken, ids);
    }

    /// A pretoken and ids that depend on `i` in every byte, of many lengths.
    fn example(i: usize, n_ids: usize) -> (Vec<u8>, Vec<u32>) {
        let n_bytes = 1 + i * 7 % 60;
        let mut pretoken = i.to_le_bytes().repeat(8);
        pretoken.truncate(n_bytes.max(4));
        let ids = (0..1 + i % n_bytes.min(9)).map(|k| ((i * 31 + k) * 4099 % n_ids) as u32).collect();
        (pretoken, ids)
    }

    #[test]
    fn what_was_inserted_is_found_or_forgotten_but_never_wrong() {
        for (n_bytes, n_ids) in [
            (0, 1 << 24),
            (300, 1 << 16),
            (5000, 1 << 24),
            (1 << 20, 1 << 16),
            (1 << 24, 1 << 24),
            (1 << 24, 1 << 16),
        ] {
            let mut cache = Cache::new(EncoderOptions { cache_bytes: n_bytes }, n_ids).unwrap();
            let mut n_found = 0;
            for i in 0..20_000 {
                let (pretoken, ids) = example(i, n_ids);
                insert(&mut cache, &pretoken, &ids);
                let (pretoken, ids) = example(i / 2, n_ids);
                if let Some(found) = known(&cache, &pretoken) {
                    assert_eq!(found, ids);
                    n_found += 1;
                }
            }
            assert!(n_bytes < 1 << 24 || n_found > 18_000, "{n_found} found with {n_bytes}");
            assert!(cache.table.memory.len() + cache.arena.n_bytes() <= n_bytes.max(64));
        }
    }

    #[test]
    fn equal_hashes_of_long_pretokens_are_told_apart() {
        let mut cache = Cache::new(EncoderOptions { cache_bytes: 1 << 16 }, 256).unwrap();
        let (a, b) = ([b'a'; 20], [b'b'; 20]);
        let key = cache.hasher.key(&a);
        let place = cache.hasher.place(key);
        cache.insert(key, place, &a, &[1, 2, 3]);
        let mut ids = Vec::new();
        assert!(!cache.append_ids(key, place, &b, &mut ids));
        assert!(cache.append_ids(key, place, &a, &mut ids));
        assert_eq!(ids, [1, 2, 3]);
    }
}
