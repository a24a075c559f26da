//! Merges a short pretoken: scans all pairs for the lowest rank, merges it, repeats.
//!
//! A symbol stays at the offset of its first byte, and a bit mask has the offsets where symbols start, so nothing is
//! moved and a neighbour is one bit scan away. A pair is its rank and its offset in one word, so the least word is the
//! pair of lowest rank, leftmost. This takes quadratic time, but up to 48 bytes it is faster than any queue. tiktoken's
//! `_byte_pair_merge` works in the same way.
//!
//! Each step waits for the one before, so what counts is the latency from one least pair to the next. On each side of
//! the pretoken is a symbol that is not a token, so every pair has two neighbours and no branch checks for them. The
//! least of the other pairs is found while the two new ones are looked up. With AVX2 the words stay in registers: in
//! memory, a word that was just written could not be loaded as part of a vector until it reaches the cache.
//!
//! Tried, by `cargo run --release --example encode`, "file, cold" (English, fifteen languages, C): a filter of 64 KB
//! for pairs that do not merge (4 %, 1 % and 2 % slower, each lookup waits for it); registers of AVX-512 with masks (3
//! % slower, 1 % faster, 3 % slower); 64 offsets so that none needs a check (1 to 2 % slower); a fixed number of steps
//! up to 16 bytes (5 % slower).

#[cfg(target_arch = "x86_64")]
use self::registers::Registers;
#[cfg(target_arch = "x86_64")]
use crate::cpu::CpuTier;
use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::vocabulary::{MAX_RANKS, NONE, Vocabulary};

/// The longest pretoken that is merged this way.
pub(in crate::encoder) const MAX_BYTES: usize = 48;

/// Bits of a pair that are its offset.
const POSITION_BITS: u32 = 6;
/// Number of offsets: those of the symbols, starting at 1, and one on each side.
const MAX_OFFSETS: usize = MAX_BYTES + 2;
const _: () = assert!(MAX_OFFSETS < 1 << POSITION_BITS && MAX_RANKS <= 1 << (32 - POSITION_BITS));

/// Pairs that are compared at once.
const LANES: usize = 8;
/// Number of words for pairs, in whole groups of lanes.
const N_WORDS: usize = MAX_OFFSETS.next_multiple_of(LANES);

/// The buffers of [`merge`].
pub(in crate::encoder) struct ShortScratch {
    /// The symbol at each offset.
    ids: [u32; MAX_OFFSETS],
    /// The pair that starts at each offset; [`NONE`] if it does not merge.
    pairs: [u32; N_WORDS],
}

impl Default for ShortScratch {
    fn default() -> Self {
        ShortScratch { ids: [0; MAX_OFFSETS], pairs: [NONE; N_WORDS] }
    }
}

/// The pairs of a pretoken, by offset.
trait Pairs {
    /// Returns the least of all pairs.
    fn least(&self) -> u32;

    /// Removes the pairs at three offsets.
    fn clear(&mut self, offsets: [usize; 3]);

    /// Sets the pair at an offset that has none.
    fn set(&mut self, offset: usize, pair: u32);
}

/// Appends the ids of a short pretoken to `out`.
pub(in crate::encoder) fn merge(
    vocabulary: &Vocabulary,
    pretoken: &[u8],
    scratch: &mut ShortScratch,
    out: &mut Vec<u32>,
) -> Result<()> {
    debug_assert!(pretoken.len() <= MAX_BYTES);
    #[cfg(target_arch = "x86_64")]
    if CpuTier::best().has_avx2() {
        // SAFETY: The tier has everything that `merge_avx2` needs.
        return unsafe { merge_avx2(vocabulary, pretoken, scratch, out) };
    }
    merge_portable(vocabulary, pretoken, scratch, out)
}

/// Does what [`merge`] does on every processor.
pub(in crate::encoder) fn merge_portable(
    vocabulary: &Vocabulary,
    pretoken: &[u8],
    scratch: &mut ShortScratch,
    out: &mut Vec<u32>,
) -> Result<()> {
    let ShortScratch { ids, pairs } = scratch;
    let edge = start(vocabulary, pretoken, ids, pairs)?;
    // Pairs are at offsets from 1 to the length of the pretoken less one.
    let words = &mut pairs[..(pretoken.len() + 1).next_multiple_of(LANES)];
    merge_pairs(vocabulary, edge, ids, words, out)
}

/// Does what [`merge`] does, compiled for AVX2, with the pairs in registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
fn merge_avx2(
    vocabulary: &Vocabulary,
    pretoken: &[u8],
    scratch: &mut ShortScratch,
    out: &mut Vec<u32>,
) -> Result<()> {
    let ShortScratch { ids, pairs } = scratch;
    let edge = start(vocabulary, pretoken, ids, pairs)?;
    let (groups, _) = pairs.as_chunks();
    // SAFETY: This function is only called on processors with AVX2.
    unsafe {
        match pretoken.len() {
            0..=16 => merge_pairs(vocabulary, edge, ids, &mut Registers::<2>::load(groups), out),
            17..=32 => merge_pairs(vocabulary, edge, ids, &mut Registers::<4>::load(groups), out),
            _ => merge_pairs(vocabulary, edge, ids, &mut Registers::<6>::load(groups), out),
        }
    }
}

/// Fills in a symbol for each byte, one on each side, and the pairs; returns the last offset.
#[inline(always)]
fn start(
    vocabulary: &Vocabulary,
    pretoken: &[u8],
    ids: &mut [u32; MAX_OFFSETS],
    pairs: &mut [u32; N_WORDS],
) -> Result<usize> {
    let edge = pretoken.len() + 1;
    ids[0] = vocabulary.edge_id();
    ids[edge] = vocabulary.edge_id();
    for (id, &byte) in ids[1..].iter_mut().zip(pretoken) {
        let Some(own) = vocabulary.id_of_byte(byte) else { return Err(Error::MissingByte { byte }) };
        *id = own;
    }
    *pairs = [NONE; N_WORDS];
    for (offset, (pair, bytes)) in (1..).zip(pairs[1..].iter_mut().zip(pretoken.windows(2))) {
        *pair = at_offset(vocabulary.byte_pair_rank(bytes[0], bytes[1]), offset);
    }
    Ok(edge)
}

/// Merges until no pair merges; appends the ids to `out`.
#[inline(always)]
fn merge_pairs<P: Pairs + ?Sized>(
    vocabulary: &Vocabulary,
    edge: usize,
    ids: &mut [u32; MAX_OFFSETS],
    pairs: &mut P,
    out: &mut Vec<u32>,
) -> Result<()> {
    // Bit i: a symbol starts at offset i.
    let mut starts = (2u64 << edge) - 1;
    let mut least = pairs.least();
    while least != NONE {
        let offset = (least & ((1 << POSITION_BITS) - 1)) as usize;
        let merged_id = vocabulary.merged_id(least >> POSITION_BITS);
        let right = next(starts, offset);
        starts &= !(1 << right);
        let (before, after) = (previous(starts, offset), next(starts, offset));
        ids[offset] = merged_id;
        // The least of the other pairs is found while the new ones are looked up.
        pairs.clear([before, offset, right]);
        let others = pairs.least();
        if others != NONE {
            // It is often merged next, and what will be looked up then is seldom in the first-level cache.
            let offset = (others & ((1 << POSITION_BITS) - 1)) as usize;
            let merged_id = vocabulary.merged_id(others >> POSITION_BITS);
            let right = next(starts, offset);
            vocabulary.prefetch_pair(ids[previous(starts, offset)], merged_id);
            vocabulary.prefetch_pair(merged_id, ids[next(starts, right)]);
        }
        let new_before = at_offset(vocabulary.pair_rank(ids[before], merged_id), before);
        let new_after = at_offset(vocabulary.pair_rank(merged_id, ids[after]), offset);
        least = others.min(new_before).min(new_after);
        pairs.set(before, new_before);
        pairs.set(offset, new_after);
    }
    out.grow(edge, "ids")?;
    // Leave out the symbols on both sides of the pretoken.
    starts &= (1 << edge) - 2;
    while starts != 0 {
        out.push(ids[starts.trailing_zeros() as usize]);
        starts &= starts - 1;
    }
    Ok(())
}

impl Pairs for [u32] {
    #[inline(always)]
    fn least(&self) -> u32 {
        let (groups, _) = self.as_chunks::<LANES>();
        let mut least = [NONE; LANES];
        for group in groups {
            for (least, &pair) in least.iter_mut().zip(group) {
                *least = pair.min(*least);
            }
        }
        least.into_iter().min().unwrap_or(NONE)
    }

    #[inline(always)]
    fn clear(&mut self, offsets: [usize; 3]) {
        for offset in offsets {
            self[offset] = NONE;
        }
    }

    #[inline(always)]
    fn set(&mut self, offset: usize, pair: u32) {
        self[offset] = pair;
    }
}

#[cfg(target_arch = "x86_64")]
mod registers {
    use std::arch::x86_64::*;
    use std::array;

    use super::{LANES, Pairs};

    /// Groups of pairs, each in a register.
    pub(super) struct Registers<const N: usize>([__m256i; N]);

    impl<const N: usize> Registers<N> {
        /// Loads the first groups.
        ///
        /// # Safety
        /// The processor has AVX2 as long as the value is used.
        #[inline(always)]
        pub(super) unsafe fn load(groups: &[[u32; LANES]]) -> Self {
            // SAFETY: A group has as many bytes as are read, at any address; the processor has AVX2.
            Registers(array::from_fn(|group| unsafe { _mm256_loadu_si256(groups[group].as_ptr().cast()) }))
        }
    }

    impl<const N: usize> Pairs for Registers<N> {
        #[inline(always)]
        fn least(&self) -> u32 {
            // SAFETY: The caller of `load` promised AVX2.
            unsafe {
                let least =
                    self.0[1..].iter().fold(self.0[0], |least, &pairs| _mm256_min_epu32(least, pairs));
                let half = _mm_min_epu32(_mm256_castsi256_si128(least), _mm256_extracti128_si256::<1>(least));
                let quarter = _mm_min_epu32(half, _mm_shuffle_epi32::<0b01_00_11_10>(half));
                _mm_cvtsi128_si32(_mm_min_epu32(quarter, _mm_shuffle_epi32::<0b10_11_00_01>(quarter))) as u32
            }
        }

        #[inline(always)]
        fn clear(&mut self, offsets: [usize; 3]) {
            // SAFETY: as above.
            unsafe {
                let offsets = offsets.map(|offset| _mm256_set1_epi32(offset as i32));
                let mut lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
                for pairs in &mut self.0 {
                    // Equal lanes get all bits set, as in `NONE`.
                    let [a, b, c] = offsets.map(|offset| _mm256_cmpeq_epi32(lanes, offset));
                    *pairs = _mm256_or_si256(_mm256_or_si256(*pairs, a), _mm256_or_si256(b, c));
                    lanes = _mm256_add_epi32(lanes, _mm256_set1_epi32(LANES as i32));
                }
            }
        }

        #[inline(always)]
        fn set(&mut self, offset: usize, pair: u32) {
            // SAFETY: as above.
            unsafe {
                let (offset, pair) = (_mm256_set1_epi32(offset as i32), _mm256_set1_epi32(pair as i32));
                let mut lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
                for pairs in &mut self.0 {
                    *pairs = _mm256_blendv_epi8(*pairs, pair, _mm256_cmpeq_epi32(lanes, offset));
                    lanes = _mm256_add_epi32(lanes, _mm256_set1_epi32(LANES as i32));
                }
            }
        }
    }
}

/// Returns the offset of the symbol before the one at `offset`, which is not the first.
#[inline(always)]
fn previous(starts: u64, offset: usize) -> usize {
    (starts & ((1 << offset) - 1)).checked_ilog2().unwrap_or(0) as usize
}

/// Returns the offset of the symbol after the one at `offset`, which is not the last.
#[inline(always)]
fn next(starts: u64, offset: usize) -> usize {
    (starts & (u64::MAX << offset << 1)).trailing_zeros() as usize
}

#[inline(always)]
fn at_offset(rank: u32, offset: usize) -> u32 {
    if rank == NONE { NONE } else { rank << POSITION_BITS | offset as u32 }
}
