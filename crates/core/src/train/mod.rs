//! BPE training: distinct pretokens with their counts -> merges in rank order.
//!
//! [`naive`] is the definition. `trainer.rs` explains the incremental algorithm that returns exactly the same merges,
//! `apply_merge.rs` its inner loop, `pair_queue.rs` the tie rule.

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

/// The tie rule: which of several equally frequent pairs is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieBreak {
    /// The least (left id, right id), where the id of byte `b` is [`MergeOptions::byte_order`]`[b]`.
    IdsLeast,
    /// The greatest (left bytes, right bytes), compared as a tuple.
    BytesGreatest,
}

/// The options of training.
#[derive(Clone, Debug)]
pub struct MergeOptions {
    /// The most merges to learn.
    pub n_merges: usize,
    /// The tie rule.
    pub tie_break: TieBreak,
    /// `byte_order[b]` is the index of byte `b` among the ids of single bytes: a permutation.
    pub byte_order: [u8; 256],
    /// Pairs that occur less often are never merged; 0 means 1.
    pub min_frequency: u64,
    /// The most bytes of a merged token.
    pub max_token_bytes: Option<usize>,
    /// Bytes of memory that training may take, the pretokens included; checked before it starts.
    pub max_memory: Option<u64>,
    /// Threads to use; 0 means one for each processor.
    pub threads: usize,
}

impl MergeOptions {
    /// The inverse of [`MergeOptions::byte_order`]: the byte of each symbol below 256.
    fn byte_of_symbol(&self) -> [u8; 256] {
        let mut bytes = [0; 256];
        for (byte, &symbol) in (0..=255u8).zip(&self.byte_order) {
            bytes[usize::from(symbol)] = byte;
        }
        bytes
    }
}

/// Position lists of at least this length are shared between threads; for shorter ones that costs more than it saves.
const SHARE_FROM: usize = 8192;

/// A learned merge (left, right): symbols 0..=255 are byte values, symbol 256 + r is the result of merge r.
pub type Merge = (u32, u32);

/// Distinct pretokens with their counts, as columns: pretoken i is
/// `bytes[ends[i - 1]..ends[i]]` (from 0 for the first) and occurs `counts[i]` times.
#[derive(Clone, Copy, Debug)]
pub struct WeightedPretokens<'a> {
    /// The bytes of all pretokens, one after the other.
    pub bytes: &'a [u8],
    /// The end of each in `bytes`.
    pub ends: &'a [u64],
    /// The count of each.
    pub counts: &'a [u64],
}

impl WeightedPretokens<'_> {
    /// Bytes of memory that the columns take.
    fn n_bytes(&self) -> u64 {
        (size_of_val(self.bytes) + size_of_val(self.ends) + size_of_val(self.counts)) as u64
    }
}

/// The result of training.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trained {
    /// The merges in rank order.
    pub merges: Vec<Merge>,
    /// Why there are fewer than `n_merges`; `None` when there are not.
    pub shortage: Option<Shortage>,
}

/// Why the remaining pairs may not be merged. With neither reason no pair is left: every pretoken is one token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shortage {
    /// Some short enough pair occurs less often than [`MergeOptions::min_frequency`].
    pub has_rare: bool,
    /// Some pair would make a token longer than [`MergeOptions::max_token_bytes`].
    pub has_long: bool,
}

/// Learns merges from counts.
///
/// The result depends only on the counts and the options, not on the order of the pretokens, on whether one is listed
/// twice, or on the number of threads. Ends early, without an error, when no pair is left.
///
/// Errors: [`Error::Counts`] for columns that do not fit together or counts that overflow; [`Error::Invalid`] for a
/// `byte_order` that is not a permutation; [`Error::MemoryLimit`]; [`Error::OutOfMemory`]; the monitor's error.
pub fn train(
    pretokens: WeightedPretokens<'_>,
    options: &MergeOptions,
    monitor: &dyn Monitor,
) -> Result<Trained> {
    train_tuned(pretokens, options, None, monitor)
}

/// Settings that change the cost of training, never its result. Tests vary them.
#[derive(Clone, Copy, Debug)]
struct Tuning {
    /// Pairs that occur less often are left out at first.
    threshold: u64,
    /// Position lists of at least this length are shared between threads.
    share_from: usize,
    /// Whether new position lists may use the slots of merged pairs.
    reuses_slots: bool,
    /// The least width in bytes of a symbol and of a position.
    widths: (u64, u64),
}

impl Tuning {
    /// The settings for production.
    fn of(options: &MergeOptions, layout: &Layout) -> Tuning {
        // The last merge is usually a little more frequent than the pretoken of the same rank.
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
    let mut order = options.byte_order;
    order.sort_unstable();
    if (0..=255u8).ne(order) {
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

/// Bytes of memory that training takes beyond the pretokens.
///
/// Counts the symbol array and the arena of position lists. The tables of pairs and tokens are left out: they hold only
/// what is frequent enough to be merged, which is far less.
fn memory_needed(layout: &Layout, symbol_len: u64, position_len: u64) -> u64 {
    layout.n_positions * symbol_len + arena_len(layout.n_tokens) * position_len
}

/// The most symbols that training can use, the separator included.
fn n_symbols(options: &MergeOptions, layout: &Layout) -> usize {
    // Every merge removes at least one token.
    SEPARATOR + 1 + (options.n_merges as u64).min(layout.n_tokens) as usize
}

/// The bytes of a symbol and of a position.
fn widths(options: &MergeOptions, layout: &Layout) -> (u64, u64) {
    let is_large = layout.n_positions > AtomicU32::MAX;
    let is_small = !is_large && n_symbols(options, layout) as u64 <= AtomicU16::MAX + 1;
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
    if n_symbols as u64 > AtomicU32::MAX {
        return Err(Error::Invalid(format!("n_merges must be below 2^32, not {}", options.n_merges)));
    }
    let array = SymbolArray::<S, P>::build(pretokens, options, layout, n_symbols)?;
    let pool = WorkerPool::new(&array, parallel::wanted(options.threads));
    thread::scope(|scope| Trainer::new(&array, pool.start(scope), options, tuning, progress)?.run())
}
