//! Which neighbours merge, and at which rank: the table behind every merge step.
//!
//! Most lookups find nothing, and what they cost is the distance of the memory they touch and the branches
//! that cannot be foretold. So an entry is eight bytes: left id, right id and rank share a word, each in as many
//! bits as this vocabulary needs; and a bucket is a cache line of eight entries that are compared all at once,
//! at most three quarters full. GPT-2's 50,000 merges take half a megabyte and stay near a core.
//!
//! Pairs of single bytes, where every merging starts, have a dense table of their own.
//!
//! The hash is seeded anew for every table: no model file can be made in advance whose pairs fall on one bucket,
//! which would take every lookup through all of them. Nothing of the seed shows in a result.

use std::hash::{BuildHasher, RandomState};

use crate::error::{Error, Result};
use crate::memory::{TryReserve, filled};

/// In place of an id or a rank: there is none.
pub(crate) const NONE: u32 = u32::MAX;

/// Entries of a bucket.
const LANES: usize = 8;

const EMPTY: u64 = u64::MAX;

/// Entries in the order in which they came, [`EMPTY`] after them; where all are taken the next bucket goes on.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Bucket([u64; LANES]);

/// Pairs of ids to ranks.
#[derive(Debug)]
pub(super) struct MergeTable {
    /// A power of two of them, with more room than there are pairs.
    buckets: Vec<Bucket>,
    /// Bits of an id: left id, right id and rank stand in an entry from the high bits down.
    id_bits: u32,
    rank_bits: u32,
    /// What a key is mixed with and multiplied by to find its bucket; the second is odd.
    seeds: [u64; 2],
    /// Ranks by `left byte * 256 + right byte`.
    by_bytes: Vec<u32>,
}

impl MergeTable {
    /// An empty table for ids below `n_ids`, ranks below `n_ranks` and `n_pairs` pairs.
    pub(super) fn new(n_ids: usize, n_ranks: usize, n_pairs: usize) -> Result<Self> {
        const WHAT: &str = "a table of merges";
        // The number of all ones is left out: it is that of an empty entry.
        let bits = |n: usize| usize::BITS - n.leading_zeros();
        let (id_bits, rank_bits) = (bits(n_ids), bits(n_ranks));
        if 2 * id_bits + rank_bits > 64 {
            return Err(Error::Model(format!(
                "ids up to {n_ids} with {n_ranks} ranks are more than the merge table can hold; use smaller ids"
            )));
        }
        let n_buckets = n_pairs.div_ceil(LANES * 3 / 4).next_power_of_two();
        let mut buckets = Vec::with_room(n_buckets, WHAT)?;
        buckets.resize(n_buckets, Bucket([EMPTY; LANES]));
        let by_bytes = filled(1 << 16, NONE, WHAT)?;
        let state = RandomState::new();
        let seeds = [state.hash_one(0u8), state.hash_one(1u8) | 1];
        Ok(MergeTable { buckets, id_bits, rank_bits, seeds, by_bytes })
    }

    /// Adds a pair unless it is there; the caller stays within what it gave to `new`.
    pub(super) fn insert(&mut self, left: u32, right: u32, rank: u32) {
        let key = self.key(left, right);
        let mut home = self.home(key);
        loop {
            for entry in &mut self.buckets[home].0 {
                if *entry == EMPTY {
                    *entry = key << self.rank_bits | u64::from(rank);
                    return;
                }
                if *entry >> self.rank_bits == key {
                    return;
                }
            }
            home = (home + 1) & (self.buckets.len() - 1);
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
    #[inline(always)]
    pub(super) fn rank(&self, left: u32, right: u32) -> u32 {
        let key = self.key(left, right);
        let mut home = self.home(key);
        loop {
            let entries = &self.buckets[home & (self.buckets.len() - 1)].0;
            // One more than the rank, so that nothing found is 0.
            let found = entries.iter().fold(0, |found, &entry| {
                let rank = entry & ((1 << self.rank_bits) - 1);
                found | if entry >> self.rank_bits == key { rank + 1 } else { 0 }
            });
            if found != 0 {
                return found as u32 - 1;
            }
            if entries[LANES - 1] == EMPTY {
                return NONE;
            }
            home += 1;
        }
    }

    /// The rank of a pair of bytes, or [`NONE`].
    #[inline(always)]
    pub(super) fn byte_rank(&self, left: u8, right: u8) -> u32 {
        self.by_bytes[usize::from(left) << 8 | usize::from(right)]
    }

    #[inline(always)]
    fn key(&self, left: u32, right: u32) -> u64 {
        u64::from(left) << self.id_bits | u64::from(right)
    }

    /// The bucket where a pair belongs.
    #[inline(always)]
    fn home(&self, key: u64) -> usize {
        let product = u128::from(key ^ self.seeds[0]) * u128::from(self.seeds[1]);
        (product as u64 ^ (product >> 64) as u64) as usize & (self.buckets.len() - 1)
    }
}
