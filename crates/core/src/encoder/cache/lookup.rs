//! The keys of a batch of pretokens, and where in the cache they are.
//!
//! Enters: text and the ends of at most [`BATCH`] pretokens. Leaves: their keys and places, with the buckets on their
//! way from memory, and later the ids that an entry holds. Two implementations agree: one for every processor, and
//! one that needs fewer instructions, by AVX-512: a key is one masked load, four keys are hashed at once, and
//! both entries of a bucket are compared at once.

use super::key::{CACHED_BYTES, Hasher, INLINE_BYTES, Key};
use super::table::{Packed, Table, View};
use crate::prefetch::prefetch;

/// Pretokens between asking for their buckets and reading them, at most.
pub(in crate::encoder) const BATCH: usize = 64;

/// The pretokens at hand.
#[repr(C, align(64))]
pub(in crate::encoder) struct Batch {
    pub(in crate::encoder) keys: [Key; BATCH],
    pub(in crate::encoder) slots: [u32; BATCH],
    /// Bit i: pretoken i is longer than [`INLINE_BYTES`].
    long: u64,
}

impl Batch {
    pub(in crate::encoder) fn new() -> Self {
        Batch { keys: [Key::UNCACHED; BATCH], slots: [0; BATCH], long: 0 }
    }

    /// Starts loading what the buckets of long pretokens refer to.
    #[inline(always)]
    pub(in crate::encoder) fn prefetch_records(&self, table: &Table) {
        let mut long = self.long;
        while long != 0 {
            let index = long.trailing_zeros() as usize % BATCH;
            long &= long - 1;
            table.prefetch_record(self.keys[index], self.slots[index]);
        }
    }
}

/// The instructions by which a batch is found.
pub(in crate::encoder) trait Lookup {
    /// Makes the keys of the pretokens that end at `ends`, at most [`BATCH`], the first of which begins at `start`, and
    /// starts loading their buckets.
    ///
    /// # Safety
    /// The processor has the instructions; ends ascend from `start` and lie within the text.
    unsafe fn look_up(
        batch: &mut Batch,
        hasher: Hasher,
        table: View<'_>,
        text: &Padded<'_>,
        start: usize,
        ends: &[usize],
    );

    /// [`View::inline_ids`].
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn inline_ids<'a>(view: View<'a>, key: &Key, slot: u32) -> Option<&'a Packed>;
}

/// What every processor has.
pub(in crate::encoder) struct Portable;

impl Lookup for Portable {
    #[inline(always)]
    unsafe fn look_up(
        batch: &mut Batch,
        hasher: Hasher,
        table: View<'_>,
        text: &Padded<'_>,
        mut start: usize,
        ends: &[usize],
    ) {
        let mut long = 0;
        for (index, &end) in ends.iter().enumerate().take(BATCH) {
            let len = end - start;
            long |= u64::from(len > INLINE_BYTES) << index;
            let key = if len <= INLINE_BYTES {
                hasher.short_key(text.load(start), len)
            } else {
                long_key(hasher, &text.text[start..end])
            };
            let slot = hasher.folded_slot(key);
            batch.keys[index] = key;
            batch.slots[index] = slot;
            prefetch(table.bucket(slot));
            start = end;
        }
        batch.long = long;
    }

    #[inline(always)]
    unsafe fn inline_ids<'a>(view: View<'a>, key: &Key, slot: u32) -> Option<&'a Packed> {
        view.inline_ids(*key, slot)
    }
}

/// The key of a pretoken longer than [`INLINE_BYTES`].
#[inline(always)]
fn long_key(hasher: Hasher, pretoken: &[u8]) -> Key {
    if pretoken.len() <= CACHED_BYTES { hasher.long_key(pretoken) } else { Key::UNCACHED }
}

/// AVX-512 with BW and VL, and AES.
#[cfg(target_arch = "x86_64")]
pub(in crate::encoder) struct Avx512;

#[cfg(target_arch = "x86_64")]
impl Lookup for Avx512 {
    #[inline(always)]
    unsafe fn look_up(
        batch: &mut Batch,
        hasher: Hasher,
        table: View<'_>,
        text: &Padded<'_>,
        start: usize,
        ends: &[usize],
    ) {
        use std::arch::x86_64::*;
        debug_assert!(ends.len() <= BATCH);
        let (mut begin, mut long) = (start, 0u64);
        // SAFETY: The caller vouches for the processor and for the ends: at most as many as the batch has keys and places,
        // all within the text. A masked load reads only what the mask names, which are bytes of the pretoken. The bits
        // of `long` number ends. Keys are aligned to 64 bytes and places behind them to 16, and both are whole fours.
        unsafe {
            let length_byte = 1 << 15;
            for (index, &end) in ends.iter().enumerate() {
                let len = end - begin;
                long |= u64::from(len > INLINE_BYTES) << index;
                let kept = _bzhi_u32(0x7fff, len as u32) as __mmask16;
                let bytes = _mm_maskz_loadu_epi8(kept, text.text.as_ptr().add(begin).cast());
                let key = _mm_mask_set1_epi8(bytes, length_byte, len as i8);
                _mm_store_si128(batch.keys.as_mut_ptr().add(index).cast(), key);
                begin = end;
            }
            let mut left = long;
            while left != 0 {
                let index = left.trailing_zeros() as usize;
                left &= left - 1;
                let begin = if index == 0 { start } else { *ends.get_unchecked(index - 1) };
                let pretoken = text.text.get_unchecked(begin..*ends.get_unchecked(index));
                *batch.keys.get_unchecked_mut(index) = long_key(hasher, pretoken);
            }
            let (first, second) = hasher.aes_seeds();
            let mask = _mm_set1_epi32(table.mask() as i32);
            let lowest = _mm512_set_epi32(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12, 8, 4, 0);
            for four in (0..ends.len()).step_by(4) {
                let keys = _mm512_load_si512(batch.keys.as_ptr().add(four).cast());
                let (first, second) = (_mm512_broadcast_i32x4(first), _mm512_broadcast_i32x4(second));
                let mixed = _mm512_aesenc_epi128(_mm512_xor_si512(keys, first), second);
                let mixed = _mm512_aesenc_epi128(mixed, second);
                let slots = _mm512_castsi512_si128(_mm512_permutexvar_epi32(lowest, mixed));
                let slots = _mm_and_si128(slots, mask);
                _mm_store_si128(batch.slots.as_mut_ptr().add(four).cast(), slots);
                for slot in batch.slots.get_unchecked(four..four + 4) {
                    prefetch(table.bucket(*slot));
                }
            }
        }
        batch.long = long;
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    unsafe fn inline_ids<'a>(view: View<'a>, key: &Key, slot: u32) -> Option<&'a Packed> {
        use std::arch::x86_64::*;
        let bucket = std::ptr::from_ref(view.bucket(slot));
        // SAFETY: The caller vouches for the processor. A bucket is four times sixteen bytes: key, ids, key, ids. Others
        // may be writing to it meanwhile, which assembly may meet. The makers of processors with AVX promise that
        // this instruction loads sixteen aligned bytes at once, and stores and loads are not reordered among
        // themselves: where `hi` is found, which is stored last, `lo` is what was stored before it, and the ids, read
        // after it, are those of this key and do not change any more.
        unsafe {
            let key = _mm_load_si128(std::ptr::from_ref(key).cast());
            let (first, second): (__m128i, __m128i);
            std::arch::asm!(
                "vmovdqa {first}, [{bucket}]",
                "vmovdqa {second}, [{bucket} + 32]",
                first = out(xmm_reg) first, second = lateout(xmm_reg) second, bucket = in(reg) bucket,
                options(nostack, preserves_flags),
            );
            let equal = _mm_packs_epi32(_mm_cmpeq_epi64(first, key), _mm_cmpeq_epi64(second, key));
            let equal = _mm_movemask_ps(_mm_castsi128_ps(equal));
            // Both halves of the first key, both halves of the second.
            let both = equal & equal >> 1 & 0b0101;
            (both != 0).then(|| &*bucket.byte_add(16 + 8 * (both & 4) as usize).cast::<Packed>())
        }
    }
}

/// A text of which sixteen bytes can be loaded at every place, zeros past its end.
pub(in crate::encoder) struct Padded<'a> {
    pub(in crate::encoder) text: &'a [u8],
    /// Before here sixteen bytes of the text follow, as they do nowhere in a short text.
    whole_end: usize,
    /// Where `tail` begins.
    tail_begin: usize,
    /// The text's last bytes, and zeros.
    tail: [u8; 32],
}

impl<'a> Padded<'a> {
    #[inline]
    pub(in crate::encoder) fn new(text: &'a [u8]) -> Self {
        let mut tail = [0; 32];
        let tail_begin = text.len().saturating_sub(16);
        let last = &text[tail_begin..];
        tail[..last.len()].copy_from_slice(last);
        Padded { text, whole_end: text.len().saturating_sub(15), tail_begin, tail }
    }

    #[inline(always)]
    fn load(&self, at: usize) -> [u8; 16] {
        if at < self.whole_end {
            // SAFETY: Sixteen bytes of the text follow.
            return unsafe { self.text.as_ptr().add(at).cast::<[u8; 16]>().read_unaligned() };
        }
        let begin = at.saturating_sub(self.tail_begin);
        self.tail.get(begin..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default()
    }
}
