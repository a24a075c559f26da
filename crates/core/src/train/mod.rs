//! BPE training: learns merges, in rank order, from distinct pretokens and their counts.
//!
//! [`naive`] defines the result. `trainer.rs` explains the incremental algorithm, which returns exactly the same
//! merges; `apply_merge.rs` explains its inner loop, and `pair_queue.rs` the tie rule.

mod alphabet;
mod apply_merge;
mod atomic_cell;
mod byte_pairs;
mod count_pairs;
mod extend;
mod first_seen;
pub mod naive;
mod named_tokens;
mod options;
mod pair_index;
mod pair_queue;
mod pair_table;
mod parity;
mod progress;
mod symbol_array;
#[cfg(test)]
mod tests;
mod trainer;
mod workers;

use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64};
use std::thread;

use atomic_cell::AtomicCell;
use options::Tuning;
use progress::ProgressReporter;
use symbol_array::{Layout, SEPARATOR, SymbolArray, arena_len};
use trainer::Trainer;
use workers::WorkerPool;

pub use alphabet::{Alphabet, ByPlace, LEFT_OUT, count_units, train_alphabet};
pub use extend::{Base, WeightedIds, extend};
pub use first_seen::train_first_seen;
use options::Input;
pub use options::{Merge, MergeOptions, Shortage, TieBreak, Trained, WeightedPretokens};
pub use parity::train_parity;

use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::parallel;

/// Minimum length of a position list that threads share; sharing a shorter one costs more than it saves.
const MIN_SHARED_POSITIONS: usize = 8192;

/// Learns merges from counts.
///
/// The result depends only on the counts and the options: not on the order of the pretokens, on whether one is listed
/// twice, or on the number of threads. Stops early, without an error, when no mergeable pair is left.
///
/// Errors: [`Error::Counts`] for columns that contradict each other or counts that overflow; [`Error::Invalid`] for a
/// `byte_order` that is not a permutation; [`Error::MemoryLimit`]; [`Error::OutOfMemory`]; the monitor's error.
pub fn train(
    pretokens: WeightedPretokens<'_>,
    options: &MergeOptions,
    monitor: &dyn Monitor,
) -> Result<Trained> {
    train_tuned(pretokens.into(), options, None, monitor)
}

/// Returns the settings for production use.
fn tuning(options: &MergeOptions, layout: &Layout) -> Tuning {
    // The last of n merges is usually slightly more frequent than the n-th most frequent pretoken. With a threshold of
    // 1, training took ten times as long; with one twice too high, all pairs are counted twice.
    let frequency = layout.count_at(options.n_merges);
    Tuning {
        threshold: frequency + frequency / 4,
        min_shared_positions: MIN_SHARED_POSITIONS,
        reuses_slots: true,
        widths: (2, 4),
    }
}

fn train_tuned(
    pretokens: Input<'_>,
    options: &MergeOptions,
    tuning: Option<Tuning>,
    monitor: &dyn Monitor,
) -> Result<Trained> {
    let progress = ProgressReporter::start(options, monitor)?;
    check_byte_order(options)?;
    let layout = Layout::measure(pretokens)?;
    let tuning = tuning.unwrap_or_else(|| self::tuning(options, &layout));
    let (symbol_len, position_len) = widths(options, &layout);
    let needed = pretokens.n_bytes() + memory_needed(options, &layout, symbol_len, position_len);
    let budget = Budget::new(options.max_memory);
    budget.take(needed as usize, "learning merges")?;
    let run = match (symbol_len.max(tuning.widths.0), position_len.max(tuning.widths.1)) {
        (2, 4) => run::<AtomicU16, AtomicU32>,
        (_, 4) => run::<AtomicU32, AtomicU32>,
        _ => run::<AtomicU32, AtomicU64>,
    };
    run(pretokens, options, tuning, layout, &budget, progress)
}

fn check_byte_order(options: &MergeOptions) -> Result<()> {
    let mut order = options.byte_order;
    order.sort_unstable();
    if (0..=255u8).ne(order) {
        return Err(Error::Invalid("byte_order must contain each of 0 to 255 once".to_owned()));
    }
    Ok(())
}

/// Returns the bytes of memory that training needs in addition to the pretokens: the symbol array, the arena of
/// position lists, and the token lengths.
///
/// The pair table and the pair queue are not included: the number of pairs is unknown in advance, so they take memory
/// from the budget as they grow.
fn memory_needed(options: &MergeOptions, layout: &Layout, symbol_len: u64, position_len: u64) -> u64 {
    layout.n_positions * symbol_len
        + (arena_len(layout.n_tokens) + n_symbols(options, layout) as u64) * position_len
}

/// Returns the maximum number of symbols that training can use, including the separator.
fn n_symbols(options: &MergeOptions, layout: &Layout) -> usize {
    // Every merge removes at least one token.
    SEPARATOR + 1 + layout.n_base + (options.n_merges as u64).min(layout.n_tokens) as usize
}

/// Returns the width in bytes of a symbol and of a position.
fn widths(options: &MergeOptions, layout: &Layout) -> (u64, u64) {
    let is_large = layout.n_positions > AtomicU32::MAX;
    let is_small = !is_large && n_symbols(options, layout) as u64 <= AtomicU16::MAX + 1;
    (if is_small { 2 } else { 4 }, if is_large { 8 } else { 4 })
}

fn run<S: AtomicCell, P: AtomicCell>(
    pretokens: Input<'_>,
    options: &MergeOptions,
    tuning: Tuning,
    layout: Layout,
    budget: &Budget,
    progress: ProgressReporter<'_>,
) -> Result<Trained> {
    let n_symbols = n_symbols(options, &layout);
    if n_symbols as u64 > AtomicU32::MAX {
        return Err(Error::Invalid(format!("n_merges must be below 2^32, not {}", options.n_merges)));
    }
    let array = SymbolArray::<S, P>::build(pretokens, options, layout, n_symbols)?;
    let pool = WorkerPool::new(&array, parallel::thread_count(options.threads));
    thread::scope(|scope| {
        Trainer::new(&array, pretokens, pool.start(scope), options, tuning, budget, progress)?.run()
    })
}
