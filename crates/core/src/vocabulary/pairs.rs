//! Which neighbours merge, and at which rank: the table behind every merge step.
//!
//! Most lookups find nothing, and what they cost is the distance of the memory they touch. So an entry is
//! four bytes, a rank and as many bits of the pair's hash as there is room for, sixteen entries to a bucket
//! of one cache line: GPT-2's 50,000 merges take 256 KB and stay near a core, where whole keys take 1 MB. What
//! is looked up is a *claim*: never more than the rank of the pair, where the pair has one, but perhaps that of
//! another pair, whose entry agrees in hash and bucket. Who acts on a claim has the vocabulary check it first.
//!
//! Pairs of single bytes, where every merging starts, have a dense table of their own, without doubts.

use super::NONE;
use crate::error::{Error, Result};

/// Entries of a bucket.
const LANES: usize = 16;

const EMPTY: u32 = u32::MAX;

/// Entries in the order in which they came, [`EMPTY`] after them; where all are taken the next bucket goes on.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Bucket([u32; LANES]);

/// Pairs of ids to ranks.
#[derive(Debug)]
pub(super) struct PairTable {
    /// A power of two of them, at most three quarters full on average.
    buckets: Vec<Bucket>,
    /// Low bits of an entry that hold the rank; those above are the pair's mark.
    rank_bits: u32,
    /// Ranks by `left byte * 256 + right byte`.
    by_bytes: Vec<u32>,
}

impl PairTable {
    /// An empty table for ranks below `n_ranks` and `n_pairs` pairs.
    pub(super) fn new(n_ranks: usize, n_pairs: usize) -> Result<Self> {
        const WHAT: &str = "a table of merges";
        let n_buckets = n_pairs.div_ceil(LANES * 3 / 4).next_power_of_two();
        let mut buckets = Vec::new();
        buckets.try_reserve_exact(n_buckets).map_err(Error::out_of_memory(WHAT))?;
        buckets.resize(n_buckets, Bucket([EMPTY; LANES]));
        let mut by_bytes = Vec::new();
        by_bytes.try_reserve_exact(1 << 16).map_err(Error::out_of_memory(WHAT))?;
        by_bytes.resize(1 << 16, NONE);
        // The rank of all ones is left out: it is that of an empty entry.
        let rank_bits = usize::BITS - n_ranks.leading_zeros();
        Ok(PairTable { buckets, rank_bits, by_bytes })
    }

    /// Adds a pair that is not there; the caller stays within what it gave to `new`.
    pub(super) fn insert(&mut self, left: u32, right: u32, rank: u32) {
        let (mut home, mark) = self.home(left, right);
        loop {
            if let Some(entry) = self.buckets[home].0.iter_mut().find(|entry| **entry == EMPTY) {
                *entry = mark | rank;
                return;
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

    /// At most the rank of a pair, or [`NONE`] for many that have none.
    #[inline(always)]
    pub(super) fn claim(&self, left: u32, right: u32) -> u32 {
        let (mut home, mark) = self.home(left, right);
        let no_rank = (1 << self.rank_bits) - 1;
        loop {
            let entries = &self.buckets[home & (self.buckets.len() - 1)].0;
            // An entry of this mark leaves its rank, one of another mark leaves more than any rank.
            let least = entries.iter().fold(EMPTY, |least, entry| least.min(entry ^ mark));
            if least < no_rank {
                return least;
            }
            if entries[LANES - 1] == EMPTY {
                return NONE;
            }
            home += 1;
        }
    }

    /// All ranks that a pair may have, the right one among them if it has one.
    pub(super) fn candidates(&self, left: u32, right: u32) -> impl Iterator<Item = u32> {
        let (home, mark) = self.home(left, right);
        let no_rank = (1 << self.rank_bits) - 1;
        let chain = self.buckets.iter().cycle().skip(home).take(self.buckets.len());
        let mut goes_on = true;
        chain
            .take_while(move |bucket| std::mem::replace(&mut goes_on, bucket.0[LANES - 1] != EMPTY))
            .flat_map(|bucket| bucket.0)
            .map(move |entry| entry ^ mark)
            .filter(move |&rank| rank < no_rank)
    }

    /// The rank of a pair of bytes, or [`NONE`].
    #[inline(always)]
    pub(super) fn byte_rank(&self, left: u8, right: u8) -> u32 {
        self.by_bytes[usize::from(left) << 8 | usize::from(right)]
    }

    /// The bucket where a pair begins, and its mark, in the bits above those of a rank.
    #[inline(always)]
    fn home(&self, left: u32, right: u32) -> (usize, u32) {
        let key = u64::from(left) << 32 | u64::from(right);
        let product = u128::from(key ^ 0x2d35_8dcc_aa6c_78a5) * 0x9e37_79b9_7f4a_7c15_u128;
        let mixed = product as u64 ^ (product >> 64) as u64;
        (
            (mixed >> 32) as usize & (self.buckets.len() - 1),
            (mixed as u32) >> self.rank_bits << self.rank_bits,
        )
    }
}
