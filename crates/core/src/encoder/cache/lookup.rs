//! Finds a batch of pretokens in the cache, in passes.
//!
//! ```text
//! look_up:     for each pretoken: key, hash, bucket; ask for the bucket's cache line
//! ...          the caller writes the ids of the batch before, while the lines are on their way
//! prefetch_records, before the lines of the next batch are asked for, and then
//! confirm:     for each long pretoken: find its entry, whose key replaces its own, and ask for its bytes; compare them
//! find:        for each pretoken: compare the key of its own half of the bucket, then of the other; the ids lie beside the key
//! ```
//!
//! There is an implementation for each tier: [`Portable`]; `Neon`, which hashes by AES; [`Avx2`], which does that and compares
//! the sixteen bytes of a key at once; and [`Avx512`], where a key is one masked load and four keys are hashed at once.

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

/// Most pretokens between asking for their buckets and reading them.
pub(in crate::encoder) const BATCH: usize = 64;

/// The pretokens at hand.
#[repr(C, align(64))]
pub(in crate::encoder) struct Batch {
    pub(in crate::encoder) keys: [PretokenKey; BATCH],
    /// The offset of the entry where each key is looked for first: its slot, masked for the table.
    pub(in crate::encoder) slots: [u32; BATCH],
    /// Bit i: pretoken i is longer than [`MAX_BYTES`].
    long: u64,
}

impl Batch {
    pub(in crate::encoder) fn new() -> Self {
        Batch { keys: [PretokenKey::UNCACHED; BATCH], slots: [0; BATCH], long: 0 }
    }

    /// The numbers of the long pretokens.
    #[inline(always)]
    fn long(&self) -> impl Iterator<Item = usize> + use<> {
        let mut left = self.long;
        std::iter::from_fn(move || {
            let index = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            (index < BATCH).then_some(index)
        })
    }

    /// Starts loading the arena's records of long pretokens. Those that may be known get the keys of their entries, by which
    /// [`Lookup::find`] finds them: [`confirm`](Self::confirm) takes these back where bytes differ.
    #[inline(always)]
    pub(in crate::encoder) fn prefetch_records(&mut self, table: &Table) {
        for index in self.long() {
            self.keys[index] = table.long_candidate(self.keys[index], self.slots[index]);
        }
    }

    /// Compares the bytes of long pretokens of `text`. Only those that are equal keep the key of an entry.
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
            // SAFETY: `prefetch_records` found it in this table, or left the pretoken its own, which no entry has. Keys say of
            // how many bytes they are.
            if !unsafe { table.is_of(key, &text[pretoken_range(start, ends, index)]) } {
                self.keys[index] = key.sought_long();
            }
        }
    }

    /// Looks up in another table, where nothing is confirmed.
    #[cold]
    pub(in crate::encoder) fn move_to(&mut self, table: View<'_>, hasher: KeyHasher) {
        for (key, slot) in self.keys.iter_mut().zip(&mut self.slots) {
            *key = key.sought();
            *slot = hasher.hash(*key) as u32 & table.mask();
        }
    }
}

/// Where in the text a pretoken is, of those that end at `ends` and the first of which begins at `start`.
#[inline(always)]
pub(in crate::encoder) fn pretoken_range(start: usize, ends: &[u32], index: usize) -> Range<usize> {
    let begin = if index == 0 { start } else { ends[index - 1] as usize };
    begin..ends[index] as usize
}

/// Where a batch is looked up, and the text of its pretokens.
#[derive(Clone, Copy)]
pub(in crate::encoder) struct Query<'a> {
    pub(in crate::encoder) hasher: KeyHasher,
    pub(in crate::encoder) table: View<'a>,
    pub(in crate::encoder) text: &'a PaddedText<'a>,
}

/// The instructions by which a batch is found.
pub(in crate::encoder) trait Lookup {
    /// Makes the keys of the pretokens that end at `ends`, at most [`BATCH`], the first of which begins at `start`, and
    /// starts loading their buckets.
    ///
    /// # Safety
    /// The processor has the instructions, the hasher's tier asks for them; ends ascend from `start` and lie within the
    /// text; no pretoken ends in 0xff, as a longer one's key does: it would be found by the key of another.
    unsafe fn look_up(batch: &mut Batch, query: &Query<'_>, start: usize, ends: &[u32]);

    /// How keys are compared.
    type Keys: CompareKeys;

    /// The content of the entry with a key, if there is one in its bucket.
    ///
    /// # Safety
    /// The processor has the instructions, and `slot` is that of a batch that was looked up in this table.
    #[inline(always)]
    unsafe fn find<'a>(table: View<'a>, key: &PretokenKey, slot: u32) -> Option<&'a Packed> {
        // SAFETY: the caller's promise is the same.
        unsafe { table.find_at::<Self::Keys>(key, slot) }
    }
}

/// [`Lookup::look_up`] one key after the other, hashed by `H`.
///
/// # Safety
/// As for that function.
#[inline(always)]
unsafe fn look_up_by<H: HashKey>(batch: &mut Batch, query: &Query<'_>, start: usize, ends: &[u32]) {
    // SAFETY: the caller's promise is the same.
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
        let key = PretokenKey::of_long(&query.text.text[pretoken_range(start, ends, index)], query.hasher);
        batch.keys[index] = key;
        // SAFETY: the caller vouches for the instructions.
        batch.slots[index] = unsafe { H::hash(query.hasher, &key) } as u32 & query.table.mask();
        query.table.prefetch(batch.slots[index]);
    }
}

/// The same, with wrong keys and slots for long pretokens, of which it returns a bit each. `INSIDE` promises that the text
/// goes on behind each pretoken ([`PaddedText::is_inside`]).
///
/// # Safety
/// As for that function.
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
        // The first one gets the highest bit of those that are used: so it is an addition with carry.
        long = long + long + u64::from(start.wrapping_sub(end) < MAX_BYTES.wrapping_neg());
        // Of a long pretoken it says nothing, but it is less than LOAD_BYTES.
        let n_padding = start.wrapping_sub(end) % LOAD_BYTES;
        // SAFETY: the caller vouches for the instructions and for the text.
        *slot = unsafe { text.load::<H, INSIDE>(hasher, start, n_padding, key) } as u32 & table.mask();
        table.prefetch(*slot);
        start = end;
    }
    long.reverse_bits().checked_shr((BATCH - ends.len()) as u32).unwrap_or(0)
}

/// What every processor has.
pub(in crate::encoder) struct Portable;

impl Lookup for Portable {
    type Keys = ByWords;

    #[inline(always)]
    unsafe fn look_up(batch: &mut Batch, query: &Query<'_>, start: usize, ends: &[u32]) {
        // SAFETY: the caller's promise is the same.
        unsafe { look_up_by::<Folded>(batch, query, start, ends) };
    }
}

/// NEON with AES. A key is compared by words: a load of sixteen bytes is none by itself there, and what other threads write
/// may be seen in another order.
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
pub(in crate::encoder) struct Neon;

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
impl Lookup for Neon {
    type Keys = ByWords;

    #[inline(always)]
    unsafe fn look_up(batch: &mut Batch, query: &Query<'_>, start: usize, ends: &[u32]) {
        // SAFETY: the caller's promise is the same.
        unsafe { look_up_by::<ArmAes>(batch, query, start, ends) };
    }
}

/// AVX2 and AES.
#[cfg(target_arch = "x86_64")]
pub(in crate::encoder) struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Lookup for Avx2 {
    type Keys = AtOnce;

    #[inline(always)]
    unsafe fn look_up(batch: &mut Batch, query: &Query<'_>, start: usize, ends: &[u32]) {
        // SAFETY: the caller's promise is the same.
        unsafe { look_up_by::<Aes>(batch, query, start, ends) };
    }
}

/// Bit i: pretoken i is longer than [`MAX_BYTES`].
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
fn long_ones(start: usize, ends: &[u32]) -> u64 {
    use std::arch::x86_64::*;
    let (mut long, mut before) = (0, _mm512_set1_epi32(start as i32));
    let (sixteens, rest) = ends.as_chunks::<16>();
    for (number, sixteen) in sixteens.iter().enumerate() {
        // SAFETY: sixteen ends are a register.
        let these = unsafe { _mm512_loadu_si512(sixteen.as_ptr().cast()) };
        // The ends before these: the last one of `before`, and all but the last of these.
        let n_bytes = _mm512_sub_epi32(these, _mm512_alignr_epi32::<15>(these, before));
        let is_long = _mm512_cmpgt_epu32_mask(n_bytes, _mm512_set1_epi32(MAX_BYTES as i32));
        long |= u64::from(is_long) << (16 * number);
        before = these;
    }
    for index in ends.len() - rest.len()..ends.len() {
        long |= u64::from(pretoken_range(start, ends, index).len() > MAX_BYTES) << index;
    }
    long
}

/// AVX-512 with BW and VL, and VAES.
#[cfg(target_arch = "x86_64")]
pub(in crate::encoder) struct Avx512;

#[cfg(target_arch = "x86_64")]
impl Lookup for Avx512 {
    type Keys = AtOnce;

    #[inline(always)]
    unsafe fn look_up(batch: &mut Batch, query: &Query<'_>, start: usize, ends: &[u32]) {
        use std::arch::x86_64::*;
        debug_assert!(ends.len() <= BATCH);
        let Query { hasher, table, text } = *query;
        let mut begin = start;
        // SAFETY: the caller vouches for the processor and for the ends: at most as many as the batch has keys and slots,
        // all within the text. A masked load reads only what the mask names, which are bytes of the pretoken. The bits
        // of `long` number ends. Keys are aligned to 64 bytes and slots behind them to 16, and both are whole fours.
        unsafe {
            let padding = _mm_set1_epi8(-1);
            for (index, &end) in ends.iter().enumerate() {
                let end = end as usize;
                let len = end - begin;
                let kept = _bzhi_u32(0x7fff, len as u32) as __mmask16;
                let key = _mm_mask_loadu_epi8(padding, kept, text.text.as_ptr().add(begin).cast());
                _mm_store_si128(batch.keys.as_mut_ptr().add(index).cast(), key);
                begin = end;
            }
            batch.long = long_ones(start, ends);
            let mut left = batch.long;
            while left != 0 {
                let index = left.trailing_zeros() as usize;
                left &= left - 1;
                let pretoken = text.text.get_unchecked(pretoken_range(start, ends, index));
                *batch.keys.get_unchecked_mut(index) = PretokenKey::of_long(pretoken, hasher);
            }
            let (first, second) = hasher.seed_vectors();
            let mask = _mm_set1_epi32(table.mask() as i32);
            let lowest = _mm512_set_epi32(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12, 8, 4, 0);
            for four in (0..ends.len()).step_by(4) {
                let keys = _mm512_load_si512(batch.keys.as_ptr().add(four).cast());
                let (first, second) = (_mm512_broadcast_i32x4(first), _mm512_broadcast_i32x4(second));
                let mixed = _mm512_aesenc_epi128(_mm512_xor_si512(keys, first), second);
                let mixed = _mm512_aesenc_epi128(mixed, second);
                let mixed = _mm512_aesenc_epi128(mixed, second);
                let slots = _mm512_castsi512_si128(_mm512_permutexvar_epi32(lowest, mixed));
                let slots = _mm_and_si128(slots, mask);
                _mm_store_si128(batch.slots.as_mut_ptr().add(four).cast(), slots);
                for slot in batch.slots.get_unchecked(four..four + 4) {
                    table.prefetch(*slot);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::CpuTier;

    /// Wrong slots would cost time only: each pretoken would be new again, with the right ids.
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
                // SAFETY: the processor has the tier, which is the hasher's; ends ascend within the text, which is UTF-8 in
                // none of whose characters there is a 0xff.
                unsafe {
                    match tier {
                        #[cfg(target_arch = "x86_64")]
                        CpuTier::Avx512 => on_avx512(&mut batch, &query, &ends),
                        #[cfg(target_arch = "x86_64")]
                        CpuTier::Avx2 => Avx2::look_up(&mut batch, &query, 0, &ends),
                        #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
                        CpuTier::Neon => Neon::look_up(&mut batch, &query, 0, &ends),
                        CpuTier::Portable => Portable::look_up(&mut batch, &query, 0, &ends),
                    }
                }
                let mut start = 0;
                for (index, &end) in ends.iter().enumerate() {
                    let end = end as usize;
                    let key = PretokenKey::of_any(&text[start..end], hasher);
                    assert_eq!(batch.keys[index], key, "{tier:?}: {start}..{end}");
                    let slot = hasher.hash(key) as u32 & query.table.mask();
                    assert_eq!(batch.slots[index], slot, "{tier:?}: {start}..{end}");
                    assert_eq!(batch.long >> index & 1 == 1, end - start > MAX_BYTES);
                    start = end;
                }
            }
        }
    }

    /// Two long pretokens with one hash are too rare to be found.
    #[test]
    fn a_long_pretoken_keeps_the_key_of_an_entry_only_if_its_bytes_are_equal() {
        let text = "a pretoken of more than fifteen bytes".as_bytes();
        let hasher = KeyHasher::new(CpuTier::Portable);
        let padded = PaddedText::new(text);
        for is_equal in [true, false] {
            let table = Table::new(8, 1000, true).unwrap();
            let query = Query { hasher, table: table.view(), text: &padded };
            let (mut batch, ends) = (Batch::new(), [text.len() as u32]);
            // SAFETY: every processor has the instructions, and the text ends in no 0xff. The table is the one it is looked up in.
            unsafe { Portable::look_up(&mut batch, &query, 0, &ends) };
            let (key, slot) = (batch.keys[0], batch.slots[0]);
            let mut held = text.to_vec();
            if !is_equal {
                held[20] += 1;
            }
            table.insert(key, slot, &held, &[1, 2]);
            batch.prefetch_records(&table);
            assert!(batch.keys[0].place().is_some());
            // SAFETY: as above.
            unsafe { batch.confirm(&table, text, 0, &ends) };
            assert_eq!(batch.keys[0] == key, !is_equal);
            assert_eq!(batch.keys[0].sought(), key);
            // SAFETY: as above.
            let found = unsafe { Portable::find(table.view(), &batch.keys[0], slot) };
            assert_eq!(found.is_some(), is_equal);
        }
    }

    /// # Safety
    /// As for [`Lookup::look_up`].
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes,aes,bmi2")]
    unsafe fn on_avx512(batch: &mut Batch, query: &Query<'_>, ends: &[u32]) {
        // SAFETY: the caller's promise is the same.
        unsafe { Avx512::look_up(batch, query, 0, ends) };
    }
}
