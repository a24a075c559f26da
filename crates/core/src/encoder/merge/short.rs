//! Merges a short pretoken: scan all pairs for the lowest rank, merge it, repeat.
//!
//! A symbol stays at the offset of its first byte, and a bit mask holds the offsets where symbols are, so nothing is
//! moved and a neighbour is one bit scan away. A pair is its rank and its offset in one word, so the least word is the
//! pair of lowest rank, leftmost. Quadratic, but at most 48 bytes long this is faster than any queue. tiktoken's
//! `_byte_pair_merge` works the same way.

#[cfg(target_arch = "x86_64")]
use crate::cpu::CpuTier;
use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::vocabulary::{MAX_RANKS, NONE, Vocabulary};

/// The longest pretoken that is merged this way.
pub(in crate::encoder) const MOST_BYTES: usize = 48;

/// Bits of a pair that hold its offset.
const POSITION_BITS: u32 = 6;
const _: () = assert!(MOST_BYTES < 1 << POSITION_BITS && MAX_RANKS <= 1 << (32 - POSITION_BITS));

/// Pairs that are compared at once.
const LANES: usize = 8;

/// The buffers of [`merge`].
pub(in crate::encoder) struct ShortScratch {
    /// The symbol at each offset.
    ids: [u32; MOST_BYTES + LANES],
    /// The pair that begins at each offset; [`NONE`] if it does not merge.
    pairs: [u32; MOST_BYTES + LANES],
}

impl Default for ShortScratch {
    fn default() -> Self {
        ShortScratch { ids: [0; MOST_BYTES + LANES], pairs: [NONE; MOST_BYTES + LANES] }
    }
}

/// Appends the ids of a short pretoken to `out`.
pub(in crate::encoder) fn merge(
    vocabulary: &Vocabulary,
    pretoken: &[u8],
    scratch: &mut ShortScratch,
    out: &mut Vec<u32>,
) -> Result<()> {
    #[cfg(target_arch = "x86_64")]
    if CpuTier::best().has_avx2() {
        // SAFETY: the tier has all that `merge_avx2` needs.
        return unsafe { merge_avx2(vocabulary, pretoken, scratch, out) };
    }
    merge_portable(vocabulary, pretoken, scratch, out)
}

/// The same, compiled for AVX2, which takes the minimum of eight words at once: a fifth of the instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
fn merge_avx2(
    vocabulary: &Vocabulary,
    pretoken: &[u8],
    scratch: &mut ShortScratch,
    out: &mut Vec<u32>,
) -> Result<()> {
    merge_portable(vocabulary, pretoken, scratch, out)
}

#[inline(always)]
fn merge_portable(
    vocabulary: &Vocabulary,
    pretoken: &[u8],
    scratch: &mut ShortScratch,
    out: &mut Vec<u32>,
) -> Result<()> {
    debug_assert!(pretoken.len() <= MOST_BYTES);
    let n = pretoken.len();
    let ShortScratch { ids, pairs } = scratch;
    for (id, &byte) in ids.iter_mut().zip(pretoken) {
        let Some(own) = vocabulary.id_of_byte(byte) else { return Err(Error::MissingByte { byte }) };
        *id = own;
    }
    for (position, (pair, bytes)) in (0..).zip(pairs.iter_mut().zip(pretoken.windows(2))) {
        *pair = at_position(vocabulary.byte_pair_rank(bytes[0], bytes[1]), position);
    }
    // No pair begins at the last offset, nor at those that fill up the last group of lanes.
    for pair in pairs.iter_mut().skip(n.saturating_sub(1)).take(LANES) {
        *pair = NONE;
    }
    // Bit i: a symbol begins at offset i.
    let mut starts = (1u64 << n) - 1;
    loop {
        let least = least(&pairs[..n.next_multiple_of(LANES).min(pairs.len())]);
        if least == NONE {
            break;
        }
        let position = (least & ((1 << POSITION_BITS) - 1)) as usize;
        let merged_id = vocabulary.merged_id(least >> POSITION_BITS);
        let right = next(starts, position);
        starts &= !(1 << right);
        ids[position] = merged_id;
        pairs[right] = NONE;
        let after = next(starts, position);
        pairs[position] = match after {
            64 => NONE,
            after => at_position(vocabulary.pair_rank(merged_id, ids[after]), position as u32),
        };
        let before = starts & ((1 << position) - 1);
        if before != 0 {
            let before = 63 - before.leading_zeros() as usize;
            pairs[before] = at_position(vocabulary.pair_rank(ids[before], merged_id), before as u32);
        }
    }
    out.grow(n, "ids")?;
    while starts != 0 {
        out.push(ids[starts.trailing_zeros() as usize]);
        starts &= starts - 1;
    }
    Ok(())
}

/// The offset of the symbol after the one at `position`; 64 if there is none.
#[inline(always)]
fn next(starts: u64, position: usize) -> usize {
    (starts & (u64::MAX << position << 1)).trailing_zeros() as usize
}

#[inline(always)]
fn at_position(rank: u32, position: u32) -> u32 {
    if rank == NONE { NONE } else { rank << POSITION_BITS | position }
}

/// The least of all pairs.
#[inline(always)]
fn least(pairs: &[u32]) -> u32 {
    let (groups, _) = pairs.as_chunks::<LANES>();
    let mut least = [NONE; LANES];
    for group in groups {
        for (least, &pair) in least.iter_mut().zip(group) {
            *least = pair.min(*least);
        }
    }
    least.into_iter().min().unwrap_or(NONE)
}
