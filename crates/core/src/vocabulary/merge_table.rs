//! The table of merges: (left id, right id) -> rank. Each step of merging looks pairs up here.
//!
//! Most lookups find nothing, and their cost is cache misses and mispredicted branches. So an entry is eight bytes:
//! left id, right id and rank packed in one word, each in as many bits as this vocabulary needs. A bucket is one cache
//! line of eight entries, which are compared without branches; on average buckets are at most three quarters full. The
//! 50,000 merges of GPT-2 take a megabyte, which fits the second-level cache of most processors.
//!
//! Pairs of single bytes, with which all merging starts, have a table of their own, indexed by both bytes.
//!
//! The hash has a random seed for each table, so that nobody can craft a model file whose pairs all collide and make
//! lookups linear. Results do not depend on the seed.
//!
//! Tried, by `cargo run --release --example encode`: four bytes per entry, a rank and a part of the hash: as fast, 50 %
//! slower to build. Half the size, seven eighths full: 8 % slower on distinct words, since a quarter of the buckets are
//! full.

use std::hash::{BuildHasher, RandomState};

use crate::error::{Error, Result};
use crate::memory::{TryReserve, filled};
use crate::prefetch::prefetch;

/// Stands for no id and for no rank.
pub(crate) const NONE: u32 = u32::MAX;

/// Number of entries in a bucket.
const BUCKET_ENTRIES: usize = 8;

const EMPTY: u64 = u64::MAX;

/// Entries in insertion order, then [`EMPTY`]. If the bucket is full, probing continues in the next bucket.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Bucket([u64; BUCKET_ENTRIES]);

/// The ranks of pairs of ids.
#[derive(Debug)]
pub(super) struct MergeTable {
    /// Buckets, whose number is a power of two. Some entries are always empty, which ends the probing.
    buckets: Vec<Bucket>,
    /// Bits of an id. From the high bits down, an entry is left id, right id and rank.
    id_bits: u32,
    rank_bits: u32,
    /// A key is XORed with the first seed and multiplied by the second, which is odd.
    seeds: [u64; 2],
    /// Ranks by `left byte * 256 + right byte`.
    by_bytes: Vec<u32>,
}

impl MergeTable {
    /// Creates an empty table for ids below `n_ids`, ranks below `n_ranks` and `n_pairs` pairs.
    pub(super) fn new(n_ids: usize, n_ranks: usize, n_pairs: usize) -> Result<Self> {
        const WHAT: &str = "a table of merges";
        // `n` itself must fit, too, so no id or rank is all ones, and no entry equals `EMPTY`.
        let bits = |n: usize| usize::BITS - n.leading_zeros();
        let (id_bits, rank_bits) = (bits(n_ids), bits(n_ranks));
        if 2 * id_bits + rank_bits > 64 {
            return Err(Error::Model(format!(
                "{n_ranks} ranks with ids up to {n_ids} do not fit the merge table; use smaller ids"
            )));
        }
        let n_buckets = n_pairs.div_ceil(BUCKET_ENTRIES * 3 / 4).next_power_of_two();
        let mut buckets = Vec::with_reserved(n_buckets, WHAT)?;
        buckets.resize(n_buckets, Bucket([EMPTY; BUCKET_ENTRIES]));
        let by_bytes = filled(1 << 16, NONE, WHAT)?;
        let state = RandomState::new();
        let seeds = [state.hash_one(0u8), state.hash_one(1u8) | 1];
        Ok(MergeTable { buckets, id_bits, rank_bits, seeds, by_bytes })
    }

    /// Adds a pair unless it is there already, within the limits given to `new`.
    pub(super) fn insert(&mut self, left: u32, right: u32, rank: u32) {
        let key = self.key(left, right);
        let mut bucket = self.first_bucket(key);
        loop {
            for entry in &mut self.buckets[bucket].0 {
                if *entry == EMPTY {
                    *entry = key << self.rank_bits | u64::from(rank);
                    return;
                }
                if *entry >> self.rank_bits == key {
                    return;
                }
            }
            bucket = (bucket + 1) & (self.buckets.len() - 1);
        }
    }

    /// Adds a pair of single bytes to the dense table unless it is there already.
    pub(super) fn insert_bytes(&mut self, left: u8, right: u8, rank: u32) {
        let slot = &mut self.by_bytes[usize::from(left) << 8 | usize::from(right)];
        if *slot == NONE {
            *slot = rank;
        }
    }

    /// Returns the rank of a pair, or [`NONE`].
    #[inline(always)]
    pub(super) fn rank(&self, left: u32, right: u32) -> u32 {
        let key = self.key(left, right);
        let mut bucket = self.first_bucket(key);
        loop {
            let entries = &self.buckets[bucket & (self.buckets.len() - 1)].0;
            // The rank plus one, so that 0 means not found. A pair is in at most one entry, so OR selects it.
            let found = entries.iter().fold(0, |found, &entry| {
                let rank = entry & ((1 << self.rank_bits) - 1);
                found | if entry >> self.rank_bits == key { rank + 1 } else { 0 }
            });
            // Branch on full buckets, which are rare: whether a pair merges is unpredictable. `rank` is `NONE` if
            // nothing was found.
            let rank = found.wrapping_sub(1) as u32;
            if entries[BUCKET_ENTRIES - 1] == EMPTY || rank != NONE {
                return rank;
            }
            bucket += 1;
        }
    }

    /// Prefetches the bucket of a pair.
    #[inline(always)]
    pub(super) fn prefetch(&self, left: u32, right: u32) {
        prefetch(
            &raw const self.buckets[self.first_bucket(self.key(left, right)) & (self.buckets.len() - 1)],
        );
    }

    /// Returns the rank of a pair of bytes, or [`NONE`].
    #[inline(always)]
    pub(super) fn byte_rank(&self, left: u8, right: u8) -> u32 {
        self.by_bytes[usize::from(left) << 8 | usize::from(right)]
    }

    /// Returns an id that is in no pair. Do not look up a pair of two of them.
    #[inline(always)]
    pub(super) fn edge_id(&self) -> u32 {
        // No id is all ones, see `new`.
        (1u64 << self.id_bits).wrapping_sub(1) as u32
    }

    #[inline(always)]
    fn key(&self, left: u32, right: u32) -> u64 {
        u64::from(left) << self.id_bits | u64::from(right)
    }

    /// Returns the bucket where probing for a key starts.
    #[inline(always)]
    fn first_bucket(&self, key: u64) -> usize {
        let product = u128::from(key ^ self.seeds[0]) * u128::from(self.seeds[1]);
        (product as u64 ^ (product >> 64) as u64) as usize & (self.buckets.len() - 1)
    }
}
