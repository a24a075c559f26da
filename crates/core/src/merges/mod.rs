//! Counts to merges.
//!
//! Enters: distinct pretokens with their counts. Leaves: merges in rank order. The definition is
//! [`naive`]; the engine must return exactly what it returns.

pub mod naive;

use crate::error::Result;
use crate::monitor::Monitor;

/// Which of several equally frequent pairs wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieBreak {
    /// The least (left id, right id), ids of single bytes ordered by [`MergeOptions::byte_order`].
    IdsLeast,
    /// The greatest (left bytes, right bytes), compared as a tuple.
    BytesGreatest,
}

/// All that decides which merges are learned.
#[derive(Clone, Debug)]
pub struct MergeOptions {
    /// How many merges to learn at most.
    pub n_merges: usize,
    /// Who wins a tie.
    pub tie_break: TieBreak,
    /// `byte_order[b]` is the place of byte `b` among the ids of single bytes.
    pub byte_order: [u8; 256],
    /// Pairs that occur less often are never merged; at least 1.
    pub min_frequency: u64,
    /// Longest token, in bytes, that a merge may make.
    pub max_token_bytes: Option<usize>,
    /// Threads to use; 0 means all there are.
    pub threads: usize,
}

/// A learned merge: symbols 0..=255 are byte values, symbol 256 + r is what merge r made.
pub type Merge = (u32, u32);

/// Distinct pretokens with their counts, as columns: pretoken i is
/// `bytes[ends[i - 1]..ends[i]]` (from 0 for the first) and occurs `counts[i]` times.
#[derive(Clone, Copy, Debug)]
pub struct WeightedPretokens<'a> {
    /// All pretokens, one after the other.
    pub bytes: &'a [u8],
    /// Where each ends in `bytes`.
    pub ends: &'a [u64],
    /// How often each occurs.
    pub counts: &'a [u64],
}

/// Learns merges from counts.
pub fn learn(
    pretokens: WeightedPretokens<'_>,
    options: &MergeOptions,
    monitor: &dyn Monitor,
) -> Result<Vec<Merge>> {
    naive::learn(pretokens, options, monitor)
}
