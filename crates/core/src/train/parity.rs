//! Parity-aware training (Foroutan et al. 2025, arXiv 2508.04796): groups of pretokens, for example one per language,
//! share one list of merges, and each step merges the best pair of the group whose text costs most.
//! `pairloom.reference.parity` defines the result.
//!
//! Each group has its own trainer, and every trainer applies every merge. A pair that one group merges can be rare in
//! another, so all pairs are kept, unlike in plain training. Each group takes about ten times as long, on one thread.

use std::sync::atomic::AtomicU32;
use std::thread;

use super::atomic_cell::AtomicCell;
use super::options::{Input, MergeOptions, Shortage, Trained, Tuning, WeightedPretokens};
use super::progress::ProgressReporter;
use super::symbol_array::{Layout, SEPARATOR, SymbolArray, arena_len};
use super::trainer::Trainer;
use super::workers::WorkerPool;
use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::memory::{TryReserve, filled};
use crate::monitor::Monitor;

/// Keeps all pairs; one thread.
const TUNING: Tuning =
    Tuning { threshold: 1, min_shared_positions: usize::MAX, reuses_slots: true, widths: (4, 4) };

const WHAT: &str = "the groups of pretokens";

type Cells = SymbolArray<AtomicU32, AtomicU32>;

/// Learns merges from groups. If several groups cost equally much, the first of them is taken. A group without a
/// mergeable pair is skipped.
///
/// `references`: parallel texts, one for each group; a group's cost is the number of tokens of its reference. Without
/// references it is the number of tokens per byte of the group itself. Errors are those of [`super::train`];
/// `options.threads` and `options.n_traced` have no effect.
pub fn train_parity(
    groups: &[WeightedPretokens<'_>],
    references: &[WeightedPretokens<'_>],
    options: &MergeOptions,
    monitor: &dyn Monitor,
) -> Result<Trained> {
    if groups.is_empty() || ![0, groups.len()].contains(&references.len()) {
        return Err(Error::Invalid(format!(
            "there are {} groups but {} references; each group needs one",
            groups.len(),
            references.len()
        )));
    }
    super::check_byte_order(options)?;
    let budget = Budget::new(options.max_memory);
    let mut layouts = Vec::with_reserved(groups.len() + references.len(), WHAT)?;
    for &pretokens in groups.iter().chain(references) {
        layouts.push(Layout::measure(pretokens.into())?);
    }
    if layouts.iter().any(|layout| layout.n_positions > AtomicU32::MAX) {
        let limit = "a group has more than 4 GiB of distinct pretokens; drop rare ones with min_count";
        return Err(Error::Counts(limit.to_owned()));
    }
    // Every merge removes at least one token of its group.
    let n_tokens = layouts.iter().fold(0, |sum: u64, layout| sum.saturating_add(layout.n_tokens));
    let n_symbols = SEPARATOR as u64 + 1 + n_tokens.min(options.n_merges as u64);
    if n_symbols > AtomicU32::MAX {
        return Err(Error::Invalid(format!("n_merges must be below 2^32, not {}", options.n_merges)));
    }
    // A pair that is too rare to be merged for one group can be merged for another.
    let of_all = MergeOptions { min_frequency: 1, n_traced: 0, ..options.clone() };
    let mut arrays = Vec::with_reserved(layouts.len(), WHAT)?;
    for (&pretokens, layout) in groups.iter().chain(references).zip(layouts) {
        let input = Input::from(pretokens);
        let cells = layout.n_positions * 4 + (arena_len(layout.n_tokens) + n_symbols) * 4;
        budget.take((input.n_bytes() + cells) as usize, "learning merges")?;
        arrays.push(Cells::build(input, &of_all, layout, n_symbols as usize)?);
    }
    let mut pools = Vec::with_reserved(arrays.len(), WHAT)?;
    pools.extend(arrays.iter().map(|array| WorkerPool::new(array, 1)));
    thread::scope(|scope| {
        let mut trainers = Vec::with_reserved(arrays.len(), WHAT)?;
        for ((&pretokens, array), pool) in groups.iter().chain(references).zip(&arrays).zip(&pools) {
            let progress = ProgressReporter::start(options, monitor)?;
            let pool = pool.start(scope);
            trainers.push(Trainer::new(array, pretokens.into(), pool, &of_all, TUNING, &budget, progress)?);
        }
        learn(trainers, groups, references, options)
    })
}

/// Runs the steps. `trainers`: those of the groups, then those of the references.
fn learn(
    mut trainers: Vec<Trainer<'_, '_, '_, AtomicU32, AtomicU32>>,
    groups: &[WeightedPretokens<'_>],
    references: &[WeightedPretokens<'_>],
    options: &MergeOptions,
) -> Result<Trained> {
    trainers.iter_mut().try_for_each(Trainer::start)?;
    // Costs are measured on the references, or else on the groups.
    let (measured, are_parallel) = if references.is_empty() { (groups, false) } else { (references, true) };
    let first_measured = trainers.len() - groups.len();
    let mut bytes = Vec::with_reserved(groups.len(), WHAT)?;
    for &pretokens in measured {
        bytes.push(n_bytes(pretokens)?);
    }
    let mut is_done = filled(groups.len(), false, WHAT)?;
    let mut n_merges = 0;
    while n_merges < options.n_merges {
        let tokens = |group: usize| bytes[group] - trainers[first_measured + group].pair_index.merged_weight;
        let unit = |group: usize| if are_parallel { 1 } else { bytes[group] };
        let product = |group: usize, other: usize| u128::from(tokens(group)) * u128::from(unit(other));
        let costs_more = |group: usize, other: usize| product(group, other) > product(other, group);
        let left = (0..groups.len()).filter(|&group| !is_done[group]);
        let Some(worst) = left.reduce(|worst, group| if costs_more(group, worst) { group } else { worst })
        else {
            break;
        };
        match trainers[worst].pair_index.best() {
            Some((key, count)) if count >= options.min_frequency => {
                trainers.iter_mut().try_for_each(|trainer| trainer.step(key))?;
                n_merges += 1;
            }
            // For good: later merges create no pair that is more frequent.
            _ => is_done[worst] = true,
        }
    }
    let mut shortage = (n_merges < options.n_merges).then(Shortage::default);
    if let Some(shortage) = &mut shortage {
        for trainer in &mut trainers[..groups.len()] {
            let found = trainer.shortage()?;
            shortage.has_rare |= found.has_rare;
            shortage.has_long |= found.has_long;
        }
    }
    trainers.swap_remove(0).finish(shortage)
}

/// Returns the bytes of the texts: all occurrences of each pretoken.
fn n_bytes(pretokens: WeightedPretokens<'_>) -> Result<u64> {
    let total: u128 = pretokens.iter().map(|(text, count)| text.len() as u128 * u128::from(count)).sum();
    u64::try_from(total).map_err(|_| {
        Error::Counts("counts times lengths exceed 2^64; divide the counts by a common factor".to_owned())
    })
}
