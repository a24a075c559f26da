//! Finds a batch of pretokens in the cache, in passes.
//!
//! ```text
//! look_up:           for each pretoken: key, hash, bucket; prefetch the bucket's cache line
//! ...                the caller writes the ids of the previous batch while the lines arrive
//! prefetch_records:  for each long pretoken: find its entry, take that entry's key, prefetch its bytes
//! confirm:           for each long pretoken: compare its bytes; if they differ, restore its own key
//! find:              for each pretoken: compare the key with its own half of the bucket, then with the other half;
//!                    the ids are stored beside the key
//! ```
//!
//! Each tier has an implementation: [`Portable`]; `Neon`, which hashes with AES; [`Avx2`], which also compares the
//! sixteen bytes of a key at once, and which AVX-512 uses, too.
//!
//! Tried, by `cargo run --release --example encode` (English, fifteen languages, C):
//! - Compare both keys of a bucket without a branch: the present code is 9 %, 5 % and 13 % faster with AVX-512. Both by
//!   `ptest`: 20 % slower, since it became branches.
//! - Prefetch the buckets in a loop after all hashes: no difference. Call for 256 or 1,024 pretokens at once: no
//!   difference.
//! - Without AVX-512, find long pretokens with a vector loop: as fast with AVX2, 5 % slower without.
//! - With AVX-512, load each key by one masked load, and hash four at once: as fast on a Sapphire Rapids.

use std::ops::Range;

use super::packed::Packed;
#[cfg(target_arch = "x86_64")]
use super::table::AtOnce;
use super::table::{ByWords, CompareKeys, Table, View};
#[cfg(target_arch = "x86_64")]
use crate::pretokens::key::Aes;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
use crate::pretokens::key::ArmAes;
use crate::pretokens::key::{Folded, HashKey, KeyHasher, LOAD_BYTES, MAX_BYTES, PaddedText, PretokenKey};

/// Number of pretokens that are looked up together: their buckets are prefetched before the first is read.
pub(in crate::encoder) const BATCH: usize = 64;

/// The pretokens of a batch.
#[repr(C, align(64))]
pub(in crate::encoder) struct Batch {
    pub(in crate::encoder) keys: [PretokenKey; BATCH],
    /// The offset of the entry to compare first: the slot of the key, masked for the table.
    pub(in crate::encoder) slots: [u32; BATCH],
    /// Bit i: pretoken i is longer than [`MAX_BYTES`].
    long: u64,
}

impl Batch {
    pub(in crate::encoder) fn new() -> Self {
        Batch { keys: [PretokenKey::UNCACHED; BATCH], slots: [0; BATCH], long: 0 }
    }

    /// Returns the indices of the long pretokens.
    #[inline(always)]
    fn long(&self) -> impl Iterator<Item = usize> + use<> {
        let mut left = self.long;
        std::iter::from_fn(move || {
            let index = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            (index < BATCH).then_some(index)
        })
    }

    /// Prefetches the arena's records of long pretokens. A pretoken with a candidate entry gets that entry's key, by
    /// which [`Lookup::find`] finds it; [`confirm`](Self::confirm) restores its own key if the bytes differ.
    #[inline(always)]
    pub(in crate::encoder) fn prefetch_records(&mut self, table: &Table) {
        for index in self.long() {
            self.keys[index] = table.long_candidate(self.keys[index], self.slots[index]);
        }
    }

    /// Compares the bytes of the long pretokens of `text`. Only those whose bytes match keep the key of an entry.
    ///
    /// # Safety
    /// The batch was looked up in this table, and its records were prefetched there.
    #[inline(always)]
    pub(in crate::encoder) unsafe fn confirm(
        &mut self,
        table: &Table,
        text: &[u8],
        start: usize,
        ends: &[u32],
    ) {
        for index in self.long() {
            let key = self.keys[index];
            // SAFETY: `prefetch_records` took the key from this table, or left the pretoken its own, which no entry
            // has. Long keys contain the length, so the lengths are equal.
            if !unsafe { table.has_bytes(key, &text[pretoken_range(start, ends, index)]) } {
                self.keys[index] = key.long_lookup_key();
            }
        }
    }

    /// Moves the batch to another table, where no long pretoken is confirmed yet.
    #[cold]
    pub(in crate::encoder) fn move_to(&mut self, table: View<'_>, hasher: KeyHasher) {
        for (key, slot) in self.keys.iter_mut().zip(&mut self.slots) {
            *key = key.lookup_key();
            *slot = hasher.hash(*key) as u32 & table.mask();
        }
    }
}

/// Returns the range of pretoken `index` in the text. The pretokens end at `ends`, and the first starts at `start`.
#[inline(always)]
pub(in crate::encoder) fn pretoken_range(start: usize, ends: &[u32], index: usize) -> Range<usize> {
    let first = if index == 0 { start } else { ends[index - 1] as usize };
    first..ends[index] as usize
}

/// Where a batch is looked up, and the text of its pretokens.
#[derive(Clone, Copy)]
pub(in crate::encoder) struct Query<'a> {
    pub(in crate::encoder) hasher: KeyHasher,
    pub(in crate::encoder) table: View<'a>,
    pub(in crate::encoder) text: &'a PaddedText<'a>,
}

/// The instructions that find a batch.
pub(in crate::encoder) trait Lookup {
    /// Computes the keys of at most [`BATCH`] pretokens, which end at `ends` and of which the first starts at `start`,
    /// and prefetches their buckets.
    ///
    /// # Safety
    /// The processor has the instructions, and the hasher's tier is theirs. Ends ascend from `start` and lie within the
    /// text. No pretoken ends in 0xff: it would have the key of a shorter one.
    unsafe fn look_up(batch: &mut Batch, query: &Query<'_>, start: usize, ends: &[u32]);

    /// How keys are compared.
    type Keys: CompareKeys;

    /// Returns the content of the entry with this key, if it is in its own bucket.
    ///
    /// # Safety
    /// The processor has the instructions, and `slot` is from a batch that was looked up in this table.
    #[inline(always)]
    unsafe fn find<'a>(table: View<'a>, key: &PretokenKey, slot: u32) -> Option<&'a Packed> {
        // SAFETY: The caller promises the same.
        unsafe { table.find_at::<Self::Keys>(key, slot) }
    }
}

/// Does what [`Lookup::look_up`] does, one key after the other, hashed by `H`.
///
/// # Safety
/// As for [`Lookup::look_up`].
#[inline(always)]
unsafe fn look_up_by<H: HashKey>(batch: &mut Batch, query: &Query<'_>, start: usize, ends: &[u32]) {
    // SAFETY: The caller promises the same.
    unsafe {
        // Only the last batch of a text is near its end.
        batch.long = match ends.last() {
            Some(&end) if query.text.is_inside(end as usize) => {
                look_up_at::<H, true>(batch, query, start, ends)
            }
            _ => look_up_at::<H, false>(batch, query, start, ends),
        };
    }
    let mut left = batch.long;
    while left != 0 {
        let index = left.trailing_zeros() as usize % BATCH;
        left &= left - 1;
        let key = PretokenKey::from_long(&query.text.text[pretoken_range(start, ends, index)], query.hasher);
        batch.keys[index] = key;
        // SAFETY: The caller vouches for the instructions.
        batch.slots[index] = unsafe { H::hash(query.hasher, &key) } as u32 & query.table.mask();
        query.table.prefetch(batch.slots[index]);
    }
}

/// Like [`look_up_by`], but the keys and slots of long pretokens are wrong; returns a mask of these pretokens. `INSIDE`
/// promises that enough text follows each pretoken ([`PaddedText::is_inside`]).
///
/// # Safety
/// As for [`Lookup::look_up`].
#[inline(always)]
unsafe fn look_up_at<H: HashKey, const INSIDE: bool>(
    batch: &mut Batch,
    query: &Query<'_>,
    mut start: usize,
    ends: &[u32],
) -> u64 {
    let Query { hasher, table, text } = *query;
    let mut long = 0;
    let room = batch.keys.iter_mut().zip(&mut batch.slots);
    for (&end, (key, slot)) in ends.iter().zip(room) {
        let end = end as usize;
        // An addition with carry. The first pretoken gets the highest bit in use.
        long = long + long + u64::from(start.wrapping_sub(end) < MAX_BYTES.wrapping_neg());
        // Meaningless for long pretokens, but less than LOAD_BYTES.
        let n_padding = start.wrapping_sub(end) % LOAD_BYTES;
        // SAFETY: The caller vouches for the instructions and for the text.
        *slot = unsafe { text.load::<H, INSIDE>(hasher, start, n_padding, key) } as u32 & table.mask();
        table.prefetch(*slot);
        start = end;
    }
    long.reverse_bits().checked_shr((BATCH - ends.len()) as u32).unwrap_or(0)
}

/// Instructions that every processor has.
pub(in crate::encoder) struct Portable;

impl Lookup for Portable {
    type Keys = ByWords;

    #[inline(always)]
    unsafe fn look_up(batch: &mut Batch, query: &Query<'_>, start: usize, ends: &[u32]) {
        // SAFETY: The caller promises the same.
        unsafe { look_up_by::<Folded>(batch, query, start, ends) };
    }
}

/// NEON with AES. Keys are compared word by word: a load of sixteen bytes need not be atomic there, and the writes of
/// another thread can become visible in another order.
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
pub(in crate::encoder) struct Neon;

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
impl Lookup for Neon {
    type Keys = ByWords;

    #[inline(always)]
    unsafe fn look_up(batch: &mut Batch, query: &Query<'_>, start: usize, ends: &[u32]) {
        // SAFETY: The caller promises the same.
        unsafe { look_up_by::<ArmAes>(batch, query, start, ends) };
    }
}

/// AVX2 and AES.
#[cfg(target_arch = "x86_64")]
pub(in crate::encoder) struct Avx2;
#[cfg(target_arch = "x86_64")]
pub(in crate::encoder) use self::Avx2 as Avx512;

#[cfg(target_arch = "x86_64")]
impl Lookup for Avx2 {
    type Keys = AtOnce;

    #[inline(always)]
    unsafe fn look_up(batch: &mut Batch, query: &Query<'_>, start: usize, ends: &[u32]) {
        // SAFETY: The caller promises the same.
        unsafe { look_up_by::<Aes>(batch, query, start, ends) };
    }
}

#[cfg(test)]
mod tests {
    use super::super::lookup;
    use super::*;
    use crate::cpu::{CpuTier, at_tier};

    /// Wrong slots would cost only time: each pretoken would be merged again, with the right ids.
    #[test]
    fn keys_and_slots_of_a_batch_are_those_of_each_pretoken_alone() {
        let text =
            "a bc é 中文字 fifteen__bytes_ sixteen__bytes__ and longer pretokens of all lengths ".repeat(20);
        let text = &text.as_bytes()[..1000];
        let table = Table::new(1 << 12, 1 << 12, true).unwrap();
        for tier in CpuTier::available() {
            let hasher = KeyHasher::new(tier);
            let padded = PaddedText::new(text);
            let query = Query { hasher, table: table.view(), text: &padded };
            for (n, longest) in [(1, 3), (7, 15), (64, 15), (63, 20), (30, 300), (2, 999)] {
                let mut ends: Vec<u32> = (1..=n).map(|at| (at * at * 7) % longest + 1).collect();
                for at in 1..ends.len() {
                    ends[at] = (ends[at] + ends[at - 1]).min(text.len() as u32);
                }
                ends.dedup();
                let mut batch = Batch::new();
                // SAFETY: The processor has the tier, which is the hasher's. Ends ascend within the text, which is
                // UTF-8 and so has no byte 0xff.
                unsafe { look_up_at_tier(tier, &mut batch, &query, &ends) };
                let mut start = 0;
                for (index, &end) in ends.iter().enumerate() {
                    let end = end as usize;
                    let key = PretokenKey::from_bytes(&text[start..end], hasher);
                    assert_eq!(batch.keys[index], key, "{tier:?}: {start}..{end}");
                    let slot = hasher.hash(key) as u32 & query.table.mask();
                    assert_eq!(batch.slots[index], slot, "{tier:?}: {start}..{end}");
                    assert_eq!(batch.long >> index & 1 == 1, end - start > MAX_BYTES);
                    start = end;
                }
            }
        }
    }

    /// Two different long pretokens with one hash are too rare to occur by themselves.
    #[test]
    fn a_long_pretoken_keeps_the_key_of_an_entry_only_if_its_bytes_are_equal() {
        let text = "a pretoken of more than fifteen bytes".as_bytes();
        let hasher = KeyHasher::new(CpuTier::Portable);
        let padded = PaddedText::new(text);
        for is_equal in [true, false] {
            let table = Table::new(8, 1000, true).unwrap();
            let query = Query { hasher, table: table.view(), text: &padded };
            let (mut batch, ends) = (Batch::new(), [text.len() as u32]);
            // SAFETY: Every processor has the instructions, the text does not end in 0xff, and the table is the one of
            // the lookup.
            unsafe { Portable::look_up(&mut batch, &query, 0, &ends) };
            let (key, slot) = (batch.keys[0], batch.slots[0]);
            let mut held = text.to_vec();
            if !is_equal {
                held[20] += 1;
            }
            table.insert(key, slot, &held, &[1, 2]);
            batch.prefetch_records(&table);
            assert!(batch.keys[0].arena_offset().is_some());
            // SAFETY: as above.
            unsafe { batch.confirm(&table, text, 0, &ends) };
            assert_eq!(batch.keys[0] == key, !is_equal);
            assert_eq!(batch.keys[0].lookup_key(), key);
            // SAFETY: as above.
            let found = unsafe { Portable::find(table.view(), &batch.keys[0], slot) };
            assert_eq!(found.is_some(), is_equal);
        }
    }

    at_tier! {
        /// [`Lookup::look_up`].
        unsafe fn look_up_at_tier<L in lookup>(batch: &mut Batch, query: &Query<'_>, ends: &[u32]) {
            // SAFETY: The processor has the instructions; the caller promises the rest.
            unsafe { L::look_up(batch, query, 0, ends) }
        }
    }
}
