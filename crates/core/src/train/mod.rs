//! Counts to merges.
//!
//! Enters: distinct pretokens with their counts. Leaves: merges in rank order. The definition is
//! [`naive`]; the engine must return exactly what it returns.

mod apply_merge;
mod atomic_array;
mod count_pairs;
pub mod naive;
mod pair_index;
mod pair_queue;
mod pair_table;
mod progress;
mod symbol_array;
#[cfg(test)]
mod tests;
mod trainer;
mod workers;

use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64};
use std::thread;

use atomic_array::AtomicCell;
use progress::ProgressReporter;
use symbol_array::{Layout, SEPARATOR, SymbolArray, arena_len};
use trainer::Trainer;
use workers::WorkerPool;

use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::parallel;

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
    /// PairTable that occur less often are never merged; at least 1.
    pub min_frequency: u64,
    /// Longest token, in bytes, that a merge may make.
    pub max_token_bytes: Option<usize>,
    /// Bytes that learning may take, the pretokens among them; more is refused before it starts.
    pub max_memory: Option<u64>,
    /// Threads to use; 0 means all there are.
    pub threads: usize,
}

/// Lists from this length on are shared between threads: below it, dividing costs more than it saves.
const SHARE_FROM: usize = 8192;

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

impl WeightedPretokens<'_> {
    /// Bytes that the columns take.
    fn n_bytes(&self) -> u64 {
        (size_of_val(self.bytes) + size_of_val(self.ends) + size_of_val(self.counts)) as u64
    }
}

/// What learning gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trained {
    /// The merges in rank order.
    pub merges: Vec<Merge>,
    /// Why there are fewer than asked for, where there are fewer.
    pub shortage: Option<Shortage>,
}

/// Which pairs are left in the pretokens when none may be merged any more; without any, every pretoken is one token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shortage {
    /// PairTable of allowed length that occur less often than [`MergeOptions::min_frequency`].
    pub has_rare: bool,
    /// PairTable that would make a token longer than [`MergeOptions::max_token_bytes`].
    pub has_long: bool,
}

/// Learns merges from counts.
///
/// The result depends on nothing but the counts and the options: not on the order of the pretokens, nor
/// on how often one is listed, nor on threads. Ends early, without an error, when no pair is left.
///
/// Errors: [`Error::Counts`] for columns that do not fit together or overflow; [`Error::Invalid`] for a
/// `byte_order` that is no permutation; [`Error::MemoryLimit`]; [`Error::OutOfMemory`]; whatever the
/// monitor returns.
pub fn train(
    pretokens: WeightedPretokens<'_>,
    options: &MergeOptions,
    monitor: &dyn Monitor,
) -> Result<Trained> {
    train_tuned(pretokens, options, None, monitor)
}

/// What changes the cost of learning, and never its result.
#[derive(Clone, Copy, Debug)]
struct Tuning {
    /// PairTable that occur less often are left out at first.
    threshold: u64,
    /// Lists from this length on are shared between threads.
    share_from: usize,
    /// Whether the slots of lists that are done with are used again.
    reuses_slots: bool,
    /// The least bytes that a symbol and a position take.
    widths: (u64, u64),
}

impl Tuning {
    /// What is fast.
    fn of(options: &MergeOptions, layout: &Layout) -> Tuning {
        // As frequent as the pretoken of that rank; the last merge is a little more frequent than that.
        let frequency = layout.count_at(options.n_merges);
        Tuning {
            threshold: frequency + frequency / 4,
            share_from: SHARE_FROM,
            reuses_slots: true,
            widths: (2, 4),
        }
    }
}

fn train_tuned(
    pretokens: WeightedPretokens<'_>,
    options: &MergeOptions,
    tuning: Option<Tuning>,
    monitor: &dyn Monitor,
) -> Result<Trained> {
    let progress = ProgressReporter::start(options, monitor)?;
    let mut places = options.byte_order;
    places.sort_unstable();
    if (0..=255u8).ne(places) {
        return Err(Error::Invalid("byte_order must hold each of 0 to 255 once".to_owned()));
    }
    let layout = Layout::of(pretokens)?;
    let tuning = tuning.unwrap_or_else(|| Tuning::of(options, &layout));
    let (symbol_len, position_len) = widths(options, &layout);
    let needed = pretokens.n_bytes() + memory_needed(&layout, symbol_len, position_len);
    if let Some(limit) = options.max_memory.filter(|&limit| needed > limit) {
        return Err(Error::MemoryLimit { limit, what: "learning merges" });
    }
    let run = match (symbol_len.max(tuning.widths.0), position_len.max(tuning.widths.1)) {
        (2, 4) => run::<AtomicU16, AtomicU32>,
        (_, 4) => run::<AtomicU32, AtomicU32>,
        _ => run::<AtomicU32, AtomicU64>,
    };
    run(pretokens, options, tuning, layout, progress)
}

/// Bytes that learning takes beyond the pretokens themselves, at most.
///
/// Nearly all of it is proportional to the bytes of the distinct pretokens. The tables of pairs and
/// tokens are not counted: they hold what occurs often enough to be merged, which is far less.
fn memory_needed(layout: &Layout, symbol_len: u64, position_len: u64) -> u64 {
    layout.n_positions * symbol_len + arena_len(layout.n_tokens) * position_len
}

/// Symbols that may come into use, the separator among them.
fn n_symbols(options: &MergeOptions, layout: &Layout) -> usize {
    // Every merge that is chosen removes a token.
    SEPARATOR + 1 + (options.n_merges as u64).min(layout.n_tokens) as usize
}

/// How many bytes a symbol and a position take.
fn widths(options: &MergeOptions, layout: &Layout) -> (u64, u64) {
    let is_large = layout.n_positions > AtomicU32::LARGEST;
    let is_small = !is_large && n_symbols(options, layout) as u64 <= AtomicU16::LARGEST + 1;
    (if is_small { 2 } else { 4 }, if is_large { 8 } else { 4 })
}

fn run<S: AtomicCell, P: AtomicCell>(
    pretokens: WeightedPretokens<'_>,
    options: &MergeOptions,
    tuning: Tuning,
    layout: Layout,
    progress: ProgressReporter<'_>,
) -> Result<Trained> {
    let n_symbols = n_symbols(options, &layout);
    if n_symbols as u64 > AtomicU32::LARGEST {
        return Err(Error::Invalid(format!("n_merges must be below 2^32, not {}", options.n_merges)));
    }
    let array = SymbolArray::<S, P>::build(pretokens, options, layout, n_symbols)?;
    let pool = WorkerPool::new(&array, parallel::wanted(options.threads));
    thread::scope(|scope| Trainer::new(&array, pool.start(scope), options, tuning, progress)?.run())
}
