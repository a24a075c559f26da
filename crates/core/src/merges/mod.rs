//! Counts to merges.
//!
//! Enters: distinct pretokens with their counts. Leaves: merges in rank order. The definition is
//! [`naive`]; the engine must return exactly what it returns.

mod cells;
mod census;
mod engine;
mod field;
pub mod naive;
mod pairs;
mod pulse;
mod queue;
mod sweep;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64};

use cells::Cell;
use engine::Engine;
use field::{Extent, Field, SEPARATOR};
use pulse::Pulse;

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
    learn_from(pretokens, options, &[], &mut |_| Ok(()), monitor)
}

/// Learns merges from counts.
pub fn learn_from(
    pretokens: WeightedPretokens<'_>,
    options: &MergeOptions,
    already: &[Merge],
    on_merges: &mut dyn FnMut(&[Merge]) -> Result<()>,
    monitor: &dyn Monitor,
) -> Result<Vec<Merge>> {
    let pulse = Pulse::start(options, already.len(), on_merges, monitor)?;
    let extent = Extent::of(pretokens)?;
    let n_symbols = SEPARATOR + 1 + (options.n_merges as u64).min(extent.n_tokens) as usize;
    let run = match (n_symbols as u64 - 1 <= AtomicU16::LARGEST, extent.n_positions <= AtomicU32::LARGEST) {
        (true, true) => run::<AtomicU16, AtomicU32>,
        (false, true) => run::<AtomicU32, AtomicU32>,
        _ => run::<AtomicU32, AtomicU64>,
    };
    run(pretokens, options, extent, n_symbols, pulse)
}

fn run<S: Cell, P: Cell>(
    pretokens: WeightedPretokens<'_>,
    options: &MergeOptions,
    extent: Extent,
    n_symbols: usize,
    pulse: Pulse<'_>,
) -> Result<Vec<Merge>> {
    let n_tokens = extent.n_tokens;
    let field = Field::<S, P>::lay(pretokens, options, extent, n_symbols)?;
    Engine::new(&field, n_tokens, options, pulse)?.learn()
}
