//! Which neighbours merge, and at which rank: the table behind every merge step.
//!
//! Open addressing with linear probing, at most half full. An entry is eight bytes: left id, right id and
//! rank share a u64, each in as many bits as this vocabulary needs, so that GPT-2's 50,000 merges take 1 MB
//! and stay in a core's L2. Pairs of single bytes, where every merging starts, have a dense table of their
//! own.

use super::NONE;
use crate::error::{Error, Result};

const EMPTY: u64 = u64::MAX;

/// Pairs of ids to ranks.
#[derive(Debug)]
pub(super) struct PairTable {
    /// A power of two of them; `left, right, rank` from the high bits down.
    entries: Vec<u64>,
    /// 64 minus the logarithm of the number of entries.
    shift: u32,
    id_bits: u32,
    rank_bits: u32,
    n_pairs: usize,
    /// Ranks by `left byte * 256 + right byte`.
    by_bytes: Vec<u32>,
}

impl PairTable {
    /// An empty table for ids below `n_ids`, ranks below `n_ranks` and `n_pairs` pairs.
    pub(super) fn new(n_ids: usize, n_ranks: usize, n_pairs: usize) -> Result<Self> {
        const WHAT: &str = "a table of merges";
        let id_bits = bits(n_ids);
        let rank_bits = bits(n_ranks + 1);
        if 2 * id_bits + rank_bits > 64 {
            return Err(Error::Invalid(format!(
                "{n_ranks} merges over ids up to {n_ids} are more than the merge table can hold; use smaller ids"
            )));
        }
        let n_entries = (2 * n_pairs).next_power_of_two().max(2);
        let mut entries = Vec::new();
        entries.try_reserve_exact(n_entries).map_err(Error::out_of_memory(WHAT))?;
        entries.resize(n_entries, EMPTY);
        let mut by_bytes = Vec::new();
        by_bytes.try_reserve_exact(1 << 16).map_err(Error::out_of_memory(WHAT))?;
        by_bytes.resize(1 << 16, NONE);
        let shift = 64 - n_entries.trailing_zeros();
        Ok(PairTable { entries, shift, id_bits, rank_bits, n_pairs: 0, by_bytes })
    }

    /// Adds a pair unless it is there; the caller stays within what it gave to `new`.
    pub(super) fn insert(&mut self, left: u32, right: u32, rank: u32) {
        let key = self.key(left, right);
        let mut at = self.home(key);
        loop {
            let entry = self.entries[at];
            if entry == EMPTY {
                debug_assert!(self.n_pairs < self.entries.len() / 2 + 1);
                self.entries[at] = key << self.rank_bits | u64::from(rank);
                self.n_pairs += 1;
                return;
            }
            if entry >> self.rank_bits == key {
                return;
            }
            at = (at + 1) & (self.entries.len() - 1);
        }
    }

    /// Adds a pair of single bytes to the dense table unless it is there.
    pub(super) fn insert_bytes(&mut self, left: u8, right: u8, rank: u32) {
        let slot = &mut self.by_bytes[usize::from(left) << 8 | usize::from(right)];
        if *slot == NONE {
            *slot = rank;
        }
    }

    /// The rank of a pair, or [`NONE`].
    #[inline]
    pub(super) fn rank(&self, left: u32, right: u32) -> u32 {
        let key = self.key(left, right);
        let mask = self.entries.len() - 1;
        let mut at = self.home(key);
        loop {
            let entry = self.entries[at & mask];
            if entry >> self.rank_bits == key && entry != EMPTY {
                return (entry & ((1 << self.rank_bits) - 1)) as u32;
            }
            if entry == EMPTY {
                return NONE;
            }
            at += 1;
        }
    }

    /// The rank of a pair of bytes, or [`NONE`].
    #[inline]
    pub(super) fn byte_rank(&self, left: u8, right: u8) -> u32 {
        self.by_bytes[usize::from(left) << 8 | usize::from(right)]
    }

    #[inline]
    fn key(&self, left: u32, right: u32) -> u64 {
        u64::from(left) << self.id_bits | u64::from(right)
    }

    #[inline]
    fn home(&self, key: u64) -> usize {
        let mixed = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93) >> self.shift) as usize
    }
}

/// How many bits the numbers below `n` need.
fn bits(n: usize) -> u32 {
    usize::BITS - n.saturating_sub(1).leading_zeros()
}
