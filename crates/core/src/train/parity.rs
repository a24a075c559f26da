//! Parity-aware training (Foroutan et al. 2025, arXiv 2508.04796): groups of pretokens, as of languages, share one list
//! of merges, and each step merges the best pair of the group whose text costs most. The definition is
//! `pairloom.reference.parity`.
//!
//! Each group has a trainer, and all of them apply every merge. What one group merges may be rare in another, so all
//! pairs are kept, unlike in plain training: about ten times the time for each group, on one thread.

use std::sync::atomic::AtomicU32;
use std::thread;

use super::atomic_array::AtomicCell;
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
const TUNING: Tuning = Tuning { threshold: 1, share_from: usize::MAX, reuses_slots: true, widths: (4, 4) };

const WHAT: &str = "the groups of pretokens";

type Cells = SymbolArray<AtomicU32, AtomicU32>;

/// Learns merges from groups. Of equal costs the first group's counts; a group without a pair that may be merged is
/// passed over.
///
/// references: texts that say the same, one for each group; the cost is their tokens. Without them, it is the tokens a
/// byte of the group itself. Errors: as of [`super::train`], whose `threads` and `n_traced` have no effect.
pub fn train_parity(
    groups: &[WeightedPretokens<'_>],
    references: &[WeightedPretokens<'_>],
    options: &MergeOptions,
    monitor: &dyn Monitor,
) -> Result<Trained> {
    if groups.is_empty() || ![0, groups.len()].contains(&references.len()) {
        return Err(Error::Invalid(format!("{} groups and {} references", groups.len(), references.len())));
    }
    super::check_byte_order(options)?;
    let budget = Budget::new(options.max_memory);
    let mut layouts = Vec::with_room(groups.len() + references.len(), WHAT)?;
    for &pretokens in groups.iter().chain(references) {
        layouts.push(Layout::measure(pretokens.into())?);
    }
    if layouts.iter().any(|layout| layout.n_positions > AtomicU32::MAX) {
        let limit = "a group has 4 GiB of distinct pretokens; leave rare ones out by min_count";
        return Err(Error::Counts(limit.to_owned()));
    }
    // Every merge removes a token of its group.
    let n_tokens = layouts.iter().fold(0, |sum: u64, layout| sum.saturating_add(layout.n_tokens));
    let n_symbols = SEPARATOR as u64 + 1 + n_tokens.min(options.n_merges as u64);
    if n_symbols > AtomicU32::MAX {
        return Err(Error::Invalid(format!("n_merges must be below 2^32, not {}", options.n_merges)));
    }
    // A pair that is too rare to be merged for its own group may be merged for another.
    let of_all = MergeOptions { min_frequency: 1, n_traced: 0, ..options.clone() };
    let mut arrays = Vec::with_room(layouts.len(), WHAT)?;
    for (&pretokens, layout) in groups.iter().chain(references).zip(layouts) {
        let input = Input::from(pretokens);
        let cells = layout.n_positions * 4 + (arena_len(layout.n_tokens) + n_symbols) * 4;
        budget.take((input.n_bytes() + cells) as usize, "learning merges")?;
        arrays.push(Cells::build(input, &of_all, layout, n_symbols as usize)?);
    }
    let mut pools = Vec::with_room(arrays.len(), WHAT)?;
    pools.extend(arrays.iter().map(|array| WorkerPool::new(array, 1)));
    thread::scope(|scope| {
        let mut trainers = Vec::with_room(arrays.len(), WHAT)?;
        for ((&pretokens, array), pool) in groups.iter().chain(references).zip(&arrays).zip(&pools) {
            let progress = ProgressReporter::start(options, monitor)?;
            let pool = pool.start(scope);
            trainers.push(Trainer::new(array, pretokens.into(), pool, &of_all, TUNING, &budget, progress)?);
        }
        learn(trainers, groups, references, options)
    })
}

/// The steps. trainers: those of the groups, then those of the references.
fn learn(
    mut trainers: Vec<Trainer<'_, '_, '_, AtomicU32, AtomicU32>>,
    groups: &[WeightedPretokens<'_>],
    references: &[WeightedPretokens<'_>],
    options: &MergeOptions,
) -> Result<Trained> {
    trainers.iter_mut().try_for_each(Trainer::start)?;
    // What costs are measured on: the references, or else the groups.
    let (measured, are_parallel) = if references.is_empty() { (groups, false) } else { (references, true) };
    let first_measured = trainers.len() - groups.len();
    let mut bytes = Vec::with_room(groups.len(), WHAT)?;
    for &pretokens in measured {
        bytes.push(n_bytes(pretokens)?);
    }
    let mut is_done = filled(groups.len(), false, WHAT)?;
    let mut n_merges = 0;
    while n_merges < options.n_merges {
        let tokens = |group: usize| bytes[group] - trainers[first_measured + group].pair_index.n_removed;
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
            // For good: no pair that later merges make is more frequent.
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

/// The bytes of the texts, all occurrences of each pretoken.
fn n_bytes(pretokens: WeightedPretokens<'_>) -> Result<u64> {
    let starts = std::iter::once(&0).chain(pretokens.ends);
    let lengths = starts.zip(pretokens.ends).map(|(start, end)| end - start);
    let total =
        lengths.zip(pretokens.counts).map(|(len, &count)| u128::from(len) * u128::from(count)).sum::<u128>();
    u64::try_from(total).map_err(|_| {
        Error::Counts("counts times lengths exceed 2^64; divide the counts by a common factor".to_owned())
    })
}
