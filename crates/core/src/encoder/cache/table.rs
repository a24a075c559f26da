//! The table of the cache: pretokens and their ids, each written once.
//!
//! A bucket is a cache line of two entries; an entry is a key and a few ids, so a usual hit touches one line. A bit of
//! the hash chooses the half of the bucket where a key is compared first, and where it is written if that half is
//! empty. Nearly always it is there, so the branch is well predicted and a usual hit is one comparison. The [`Arena`]
//! holds the ids that do not fit into an entry, and the bytes of pretokens that are too long to be their own key. A
//! reader that compared those bytes has the key of the entry ([`Table::confirmed`]) and finds the ids with it as if the
//! pretoken were short.
//!
//! Any number of threads read and write at once, and none waits. A writer claims an entry by its `hi`, fills it in, and
//! publishes it by storing the key's `hi` last; after that the entry never changes. So key visible implies ids visible.
//! An entry that is taken stays taken. A key that finds no room goes to the next bucket of the same [`GROUP`]; a reader
//! looks there only if all buckets before it are full. If the whole group is full the key is refused; when that happens
//! often a new table replaces this one ([`Cache`](super::Cache)).
//!
//! Tried, by `cargo run --release --example encode`: a second bucket that is searched at every miss (English 24 %
//! slower on a first call); groups of eight buckets (no difference); ids that do not fit stored in the bucket's other
//! entry (fifteen languages 12 to 20 % slower, since too many keys find no room); growing at three quarters of an entry
//! per bucket (5 % faster on a first call, 4 % slower when warm).

mod copy;
mod entry;

use std::hint::select_unpredictable;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::arena::{Arena, Stored};
use super::packed::Packed;
use crate::encoder::output::{Ids, Output};
use crate::error::{Error, Result};
use crate::memory::this_process;
use crate::pages::{self, Pages};
use crate::prefetch::prefetch;
use crate::pretokens::key::PretokenKey;

#[cfg(target_arch = "x86_64")]
pub(in crate::encoder) use entry::AtOnce;
pub(in crate::encoder) use entry::{Bucket, ByWords, CompareKeys, Entry};

/// Limits the offset of a bucket to 32 bits.
pub(in crate::encoder) const MAX_BUCKETS: usize = 1 << 25;

/// Buckets, whose number is a power of two, and the arena of their entries.
pub(in crate::encoder) struct Table {
    memory: Pages,
    n_buckets: usize,
    arena: Arena,
    is_narrow: bool,
    /// Approximate number of entries that were written.
    n_written: AtomicUsize,
    /// Approximate number of entries that found no room.
    n_refused: AtomicUsize,
    /// The id of the process that copies this table, has copied it, or still copies another to it; 0 if no process does.
    claimed_by: AtomicU32,
    number: u64,
}

// SAFETY: Memory that is not atomic is written only by the thread that has claimed it, and read only after it was
// published; see `Entry` and `Arena`.
unsafe impl Sync for Table {}
// SAFETY: The memory belongs to the table alone.
unsafe impl Send for Table {}

/// Number of tables made in this process.
static N_TABLES: AtomicU64 = AtomicU64::new(0);

/// Only about one in this many events is counted, with this weight, so that threads seldom write the same counter.
const COUNTED_ONE_IN: u32 = 16;

/// Returns the half of its bucket where the key of a slot is compared first.
fn own_half(slot: u32) -> usize {
    slot as usize / size_of::<Entry>() % 2
}

/// Number of adjacent buckets that hold each other's overflow. With two, thousands of the pretokens of 80 MB of text
/// were refused, and merged at each occurrence.
const GROUP: usize = 4;

/// Returns the slot of bucket `number` of the group of `slot`, in the order in which they are tried; 0 is its own.
fn overflow_slot(slot: u32, number: usize) -> u32 {
    slot ^ (number * size_of::<Bucket>()) as u32
}

/// Returns whether events of this slot are counted. The bits that decide choose a bucket only in the largest tables.
fn is_counted(slot: u32) -> bool {
    slot >> (u32::BITS - COUNTED_ONE_IN.ilog2()) == 0
}

impl Table {
    /// Creates an empty table for ids of two bytes (`is_narrow`) or four.
    pub(in crate::encoder) fn new(n_buckets: usize, arena_bytes: usize, is_narrow: bool) -> Result<Self> {
        debug_assert!(n_buckets.is_power_of_two() && n_buckets <= MAX_BUCKETS);
        let memory = pages::map(n_buckets * size_of::<Bucket>())
            .map_err(Error::out_of_memory("the cache of pretokens"))?;
        Ok(Table {
            memory,
            n_buckets,
            arena: Arena::new(arena_bytes, is_narrow)?,
            is_narrow,
            n_written: AtomicUsize::new(0),
            n_refused: AtomicUsize::new(0),
            claimed_by: AtomicU32::new(0),
            number: N_TABLES.fetch_add(1, Ordering::Relaxed),
        })
    }

    pub(in crate::encoder) fn n_buckets(&self) -> usize {
        self.n_buckets
    }

    /// Returns a number that no other table of this process has.
    pub(in crate::encoder) fn number(&self) -> u64 {
        self.number
    }

    /// Returns whether a larger table should replace it: more than five entries for eight buckets were written or
    /// refused, or the arena is full.
    pub(in crate::encoder) fn should_grow(&self) -> bool {
        let n_written = self.n_written.load(Ordering::Relaxed);
        n_written + self.n_refused.load(Ordering::Relaxed) > self.n_buckets * 5 / 8 || self.arena.is_full()
    }

    /// Returns whether it should be replaced although it is the largest: as many keys were refused as there are
    /// entries. By then, merging those again has taken longer than it takes to relearn what a new table forgets.
    pub(in crate::encoder) fn should_shrink(&self) -> bool {
        self.n_refused.load(Ordering::Relaxed) > 2 * self.n_buckets.max(1 << 8)
    }

    /// Claims this table for copying; returns whether the caller is the one to copy it.
    pub(in crate::encoder) fn claim_copy(&self) -> bool {
        // After a fork, the child does not wait for a copy that its parent had begun.
        let (me, holder) = (this_process(), self.claimed_by.load(Ordering::Relaxed));
        let exchange = || self.claimed_by.compare_exchange(holder, me, Ordering::Relaxed, Ordering::Relaxed);
        holder != me && exchange().is_ok()
    }

    /// Allows other threads to copy this table.
    pub(in crate::encoder) fn release_copy(&self) {
        self.claimed_by.store(0, Ordering::Relaxed);
    }

    #[inline(always)]
    pub(in crate::encoder) fn view(&self) -> View<'_> {
        let mask = (self.n_buckets * size_of::<Bucket>() - size_of::<Entry>()) as u32;
        View { buckets: self.memory.as_ptr().cast(), mask, table: PhantomData }
    }

    /// Returns the key of a candidate entry of a long pretoken, whose bytes can differ, and prefetches them. Returns
    /// `key` itself if there is no candidate.
    #[inline(always)]
    pub(in crate::encoder) fn long_candidate(&self, key: PretokenKey, slot: u32) -> PretokenKey {
        let Some(stored_key) = self.long_entry(key, slot) else { return key };
        if let Some(offset) = stored_key.arena_offset() {
            self.arena.prefetch(offset);
        }
        stored_key
    }

    /// Returns whether `stored_key` is the key of an entry whose pretoken has these bytes.
    ///
    /// # Safety
    /// `stored_key` is the key of a published entry of this table, whose pretoken has the same length, or of no entry.
    #[inline(always)]
    pub(in crate::encoder) unsafe fn has_bytes(&self, stored_key: PretokenKey, pretoken: &[u8]) -> bool {
        // SAFETY: By the contract; a published entry has its record in this arena.
        stored_key.arena_offset().is_some_and(|offset| unsafe { self.arena.starts_with(offset, pretoken) })
    }

    /// Returns the key of the entry of a long pretoken, which has this key and slot, if the bytes are equal. No other
    /// entry of this table has that key.
    #[inline(always)]
    pub(in crate::encoder) fn confirmed(
        &self,
        key: PretokenKey,
        slot: u32,
        pretoken: &[u8],
    ) -> Option<PretokenKey> {
        let stored_key = self.long_entry(key, slot)?;
        // SAFETY: The keys are equal except for the place, so the lengths are equal, too.
        unsafe { self.has_bytes(stored_key, pretoken) }.then_some(stored_key)
    }

    /// Returns the key of a candidate entry of a long pretoken, whose bytes can differ.
    #[inline(always)]
    fn long_entry(&self, key: PretokenKey, slot: u32) -> Option<PretokenKey> {
        let Bucket([first, second]) = self.view().bucket(slot);
        let differences = [first.long_difference(key), second.long_difference(key)];
        let entry = select_unpredictable(differences[1] == 0, second, first);
        // If the entry matches, it is published, so no word of its key changes any more.
        let stored_key = PretokenKey { lo: key.lo, hi: entry.hi.load(Ordering::Acquire) };
        (differences[0].min(differences[1]) == 0).then_some(stored_key)
    }

    /// Returns the ids in the arena to which the content of an entry refers.
    ///
    /// # Safety
    /// It is the content of a published entry of this table, and its ids are in the arena.
    #[inline(always)]
    pub(in crate::encoder) unsafe fn spilled_ids(&self, entry: &Packed) -> Stored<'_> {
        debug_assert!(entry.is_spilled(self.is_narrow));
        // SAFETY: By the contract.
        unsafe { self.arena.ids(entry.start(), entry.len()) }
    }

    /// Prefetches the ids in the arena to which the content of an entry refers.
    #[inline(always)]
    pub(in crate::encoder) fn prefetch_ids(&self, entry: &Packed) {
        self.arena.prefetch(entry.start());
    }

    /// Returns the slots of the group's other buckets that can have the key of `slot`, up to the first with room.
    #[inline(always)]
    fn overflow_slots(&self, slot: u32) -> impl Iterator<Item = u32> + use<'_> {
        (1..GROUP).map_while(move |number| {
            self.view().bucket(overflow_slot(slot, number - 1)).is_full().then(|| overflow_slot(slot, number))
        })
    }

    /// Returns the content of the entry of `pretoken`, which has this key and slot, if it is not in its own bucket.
    pub(in crate::encoder) fn find_overflow(
        &self,
        key: PretokenKey,
        slot: u32,
        pretoken: &[u8],
    ) -> Option<&Packed> {
        self.overflow_slots(slot).find_map(|slot| self.find_in(key, slot, pretoken))
    }

    /// Returns the content of the entry of `pretoken`, which has this key, if it is in the bucket of `slot`.
    #[inline(always)]
    fn find_in(&self, key: PretokenKey, slot: u32, pretoken: &[u8]) -> Option<&Packed> {
        let stored_key = if key.is_long() { self.confirmed(key, slot, pretoken)? } else { key };
        self.view().find(&stored_key, slot)
    }

    /// Appends the ids of `pretoken`, which has this key and slot, if they are here; returns whether they are.
    pub(in crate::encoder) fn append_ids(
        &self,
        key: PretokenKey,
        slot: u32,
        pretoken: &[u8],
        ids: &mut Vec<u32>,
    ) -> bool {
        let found = self.find_in(key, slot, pretoken);
        let Some(packed) = found.or_else(|| self.find_overflow(key, slot, pretoken)) else { return false };
        if packed.is_spilled(self.is_narrow) {
            // SAFETY: The entry was found in this table.
            let stored = unsafe { self.spilled_ids(packed) };
            // If there is no memory the ids count as unknown; merging them again reports the error.
            return Ids(ids).put_stored(stored).is_ok();
        }
        if self.is_narrow {
            ids.extend(packed.narrow().iter().take(packed.len()).map(|&id| u32::from(id)));
        } else {
            ids.extend(packed.wide().iter().take(packed.len()));
        }
        true
    }

    /// Stores the ids of `pretoken`, which has this key and slot, if there is room. No entry gets more ids than its
    /// pretoken has bytes.
    pub(in crate::encoder) fn insert(&self, key: PretokenKey, slot: u32, pretoken: &[u8], ids: &[u32]) {
        debug_assert!(ids.len() <= pretoken.len(), "an id without a byte");
        if ids.len() > pretoken.len() {
            return;
        }
        let own = if key.is_long() { pretoken } else { &[] };
        let inline = Packed::new(ids, self.is_narrow);
        let is_written = self.write(slot, key, || {
            let others = if inline.is_some() { &[] } else { ids };
            if own.is_empty() && others.is_empty() {
                return Some((key, inline?));
            }
            let start = self.arena.store(own, others)?;
            Some((key.with_arena_offset(start), inline.or_else(|| spilled(start, own.len(), ids.len()))?))
        });
        if is_counted(slot) {
            let counter = if is_written { &self.n_written } else { &self.n_refused };
            counter.fetch_add(COUNTED_ONE_IN as usize, Ordering::Relaxed);
        }
    }

    /// Writes a key as [`Bucket::write`] does, to its own bucket or, if that is full, to another of its group.
    fn write(&self, slot: u32, key: PretokenKey, make: impl Fn() -> Option<(PretokenKey, Packed)>) -> bool {
        let write = |at: u32| self.view().bucket(at).write(own_half(slot), key, &make);
        write(slot) || self.overflow_slots(slot).any(write)
    }

    /// Returns the most memory that the table can take, in bytes.
    #[cfg(test)]
    pub(in crate::encoder) fn n_bytes(&self) -> usize {
        self.memory.len() + self.arena.n_bytes()
    }
}

/// Returns the content of an entry whose ids are in the record at `start`, after `n_own` bytes of the pretoken.
fn spilled(start: u32, n_own: usize, n_ids: usize) -> Option<Packed> {
    Some(Packed::spilled(u8::try_from(n_ids).ok()?, start.checked_add(n_own as u32)?))
}

/// A table as the loop over pretokens reads it, in two registers.
#[derive(Clone, Copy)]
pub(in crate::encoder) struct View<'a> {
    buckets: *const Bucket,
    /// The bits of a slot that are the offset of its entry.
    mask: u32,
    table: PhantomData<&'a Table>,
}

impl<'a> View<'a> {
    /// Returns the mask of the bits of a slot that are the offset of its entry.
    #[inline(always)]
    pub(in crate::encoder) fn mask(self) -> u32 {
        self.mask
    }

    #[inline(always)]
    pub(super) fn bucket(self, slot: u32) -> &'a Bucket {
        let first = slot & self.mask & !(size_of::<Entry>() as u32);
        // SAFETY: The mask keeps the offset, that of a bucket's first entry, within the mapping, which is aligned to a
        // page and lives as long as the table. The mapping starts as zeros, which are valid entries, and only valid
        // entries are written.
        unsafe { &*self.buckets.byte_add(first as usize) }
    }

    /// Prefetches the entry at an offset.
    #[inline(always)]
    pub(in crate::encoder) fn prefetch(self, offset: u32) {
        prefetch(self.buckets.wrapping_byte_add(offset as usize));
    }

    /// Returns the content of the entry with this key, if it is in the bucket of `slot`.
    #[inline(always)]
    pub(in crate::encoder) fn find(self, key: &PretokenKey, slot: u32) -> Option<&'a Packed> {
        // SAFETY: Every processor has these instructions, and a masked slot is the offset of an entry.
        unsafe { self.find_at::<ByWords>(key, slot & self.mask) }
    }

    /// Like [`find`](Self::find), for a slot that [`mask`](Self::mask) has reduced to the offset of its entry.
    ///
    /// # Safety
    /// The offset is that of an entry of this table, and the processor has the instructions of `C`.
    #[inline(always)]
    pub(in crate::encoder) unsafe fn find_at<C: CompareKeys>(
        self,
        key: &PretokenKey,
        offset: u32,
    ) -> Option<&'a Packed> {
        debug_assert_eq!(offset & !self.mask, 0);
        // SAFETY: The caller vouches for the offset and the processor. The offsets of the two entries of a bucket
        // differ by that one bit. Ids are read only from an entry whose key was found.
        unsafe {
            let at = |offset: u32| &*self.buckets.byte_add(offset as usize).cast::<Entry>();
            let own = at(offset);
            if C::has_key(own, key) {
                return Some(own.published());
            }
            let other = at(offset ^ size_of::<Entry>() as u32);
            C::has_key(other, key).then(|| other.published())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::cpu::CpuTier;
    use crate::pretokens::key::KeyHasher;

    /// Finds the content of the entry with this key in the bucket of `slot`, with the instructions of every tier.
    pub(super) fn find_here(table: &Table, key: PretokenKey, slot: u32) -> Option<&Packed> {
        let found = table.view().find(&key, slot);
        #[cfg(target_arch = "x86_64")]
        if CpuTier::best().has_avx2() {
            // SAFETY: The processor has AVX2, and the slot is masked.
            let at_once = unsafe { table.view().find_at::<AtOnce>(&key, slot & table.view().mask) };
            assert_eq!(found.map(std::ptr::from_ref), at_once.map(std::ptr::from_ref));
        }
        found
    }

    /// Returns a short or long pretoken whose ids fit into an entry or do not; a different one for each `i` below 690.
    pub(super) fn example(i: usize) -> (Vec<u8>, Vec<u32>) {
        let i = i % (23 * 30);
        let pretoken = vec![b'a' + (i % 23) as u8; 1 + i % 30];
        let ids = (0..1 + (i % 9).min(i % 30)).map(|k| (i * 10 + k) as u32).collect();
        (pretoken, ids)
    }

    #[test]
    fn what_is_written_copied_and_read_at_once_is_never_wrong() {
        for is_narrow in [true, false] {
            let hasher = KeyHasher::new(CpuTier::Portable);
            let (old, new) =
                (Table::new(8, 1000, is_narrow).unwrap(), Table::new(16, 2000, is_narrow).unwrap());
            let n = if cfg!(miri) { 40 } else { 2000 };
            let work = |number: usize| {
                for i in number..n {
                    let (pretoken, ids) = example(i);
                    let key = PretokenKey::from_bytes(&pretoken, hasher);
                    let slot = hasher.hash(key) as u32;
                    for table in [&old, &new] {
                        let mut found = Vec::new();
                        if table.append_ids(key, slot, &pretoken, &mut found) {
                            assert_eq!(found, ids);
                        }
                        table.insert(key, slot, &pretoken, &ids);
                    }
                }
            };
            thread::scope(|scope| {
                for number in 0..2 {
                    let work = &work;
                    scope.spawn(move || work(number));
                }
                scope.spawn(|| old.copy_to(&new, hasher));
            });
        }
    }

    #[test]
    fn what_finds_no_room_goes_to_the_other_buckets_of_its_group() {
        for is_narrow in [true, false] {
            for slot in [0, size_of::<Bucket>() as u32, 6 * size_of::<Bucket>() as u32] {
                let table = Table::new(8, 1000, is_narrow).unwrap();
                let hasher = KeyHasher::new(CpuTier::Portable);
                // Short and long pretokens, with few ids and many.
                let examples = [1, 20, 9, 50, 4, 17, 55, 12, 30].map(example);
                for (pretoken, ids) in &examples {
                    table.insert(PretokenKey::from_bytes(pretoken, hasher), slot, pretoken, ids);
                }
                let find = |slot, pretoken: &[u8]| {
                    let mut found = Vec::new();
                    table
                        .append_ids(PretokenKey::from_bytes(pretoken, hasher), slot, pretoken, &mut found)
                        .then_some(found)
                };
                let [taken @ .., refused] = &examples;
                assert_eq!(taken.len(), 2 * GROUP);
                for (pretoken, ids) in taken {
                    assert_eq!(find(slot, pretoken).as_ref(), Some(ids));
                }
                assert_eq!(find(slot, &refused.0), None);
                // The other buckets are still empty.
                for other in (0..8).map(|index| (index * size_of::<Bucket>()) as u32) {
                    let is_full = table.view().bucket(other).is_full();
                    assert_eq!(is_full, (0..GROUP).any(|number| overflow_slot(slot, number) == other));
                }
            }
        }
    }

    #[test]
    fn a_long_pretoken_is_found_by_the_key_of_its_entry_once_its_bytes_are_compared() {
        let hasher = KeyHasher::new(CpuTier::Portable);
        for is_narrow in [true, false] {
            let table = Table::new(8, 1000, is_narrow).unwrap();
            let [few, many] = [(20, vec![1, 2, 3]), (30, (0..30).collect::<Vec<u32>>())];
            for (n_bytes, ids) in [few, many] {
                let pretoken = vec![b'a'; n_bytes];
                let key = PretokenKey::from_bytes(&pretoken, hasher);
                let slot = hasher.hash(key) as u32;
                assert_eq!(table.confirmed(key, slot, &pretoken), None);
                table.insert(key, slot, &pretoken, &ids);
                // As if another pretoken of the same length had the same hash.
                assert_eq!(table.confirmed(key, slot, &vec![b'b'; n_bytes]), None);
                let find = |key| find_here(&table, key, slot);
                assert!(find(key).is_none());
                let stored_key = table.confirmed(key, slot, &pretoken).unwrap();
                assert_eq!(stored_key.lookup_key(), key);
                let entry = find(stored_key).unwrap();
                assert_eq!((entry.len(), entry.is_spilled(is_narrow)), (ids.len(), ids.len() > 7));
                let mut found = Vec::new();
                assert!(table.append_ids(key, slot, &pretoken, &mut found));
                assert_eq!(found, ids);
            }
        }
    }

    #[test]
    fn one_at_a_time_copies_a_table_and_a_forked_process_begins_anew() {
        let table = Table::new(8, 1000, true).unwrap();
        assert!(table.claim_copy());
        assert!(!table.claim_copy());
        table.release_copy();
        assert!(table.claim_copy());
        table.claimed_by.store(this_process() + 1, Ordering::Relaxed);
        assert!(table.claim_copy());
        assert!(!table.claim_copy());
    }
}
