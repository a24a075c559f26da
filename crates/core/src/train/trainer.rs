//! Incremental BPE training: the same merges as [`super::naive`], without recounting all pairs after every merge.
//!
//! The algorithm follows Sennrich et al. (2016): keep the count of every pair and the positions where it occurs, take
//! the best pair from a priority queue, and update only the counts next to the merged occurrences.
//!
//! ```text
//! count all pairs; keep those of at least `threshold`, each with the ascending list of its positions
//! repeat n_merges times:
//!     (a, b) = best pair of the queue         # if none is left: lower the threshold, count again
//!     m = the next symbol
//!     replace_pair:       write m over each live occurrence of (a, b); sum the weights of its neighbours
//!     apply_deltas:       for each neighbour y on the right: count(b, y) falls, insert (m, y)
//!                         for each neighbour x on the left:  count(x, a) falls, insert (x, m)
//!     collect_positions:  write the position lists of the inserted pairs
//! ```
//!
//! [`super::apply_merge`] explains the step itself. Cost: each merged occurrence is visited twice, each listed
//! occurrence that an earlier merge destroyed is skipped once, and the symbol array is read a few times to count pairs.
//!
//! Why the result is exact:
//! - A pair gains occurrences only in the step that creates the newer of its two symbols. So its list is complete once
//!   it is written, and from then on its count only falls.
//! - Only pairs with a count of at least `threshold` are kept. The count of a pair below the threshold cannot rise. So
//!   while the best kept pair reaches the threshold, it is the best of all pairs.
//!
//! Why the arena of position lists never overflows: after counting, it uses at most one slot for each token in the
//! array. A step adds at most two slots for each occurrence that it merges, and each occurrence covers two tokens, so
//! again at most one slot per token. With two slots per token there is always room for one step after counting. If
//! there is no room for the next step, the pairs are counted again, which drops the dead positions.

use super::apply_merge::MergeStep;
use super::atomic_cell::AtomicCell;
use super::count_pairs;
use super::named_tokens::NamedTokens;
use super::options::{Input, Merge, MergeOptions, Shortage, Trained, Tuning};
use super::pair_index::PairIndex;
use super::pair_queue::NextSymbol;
use super::pair_table::pair_of;
use super::progress::ProgressReporter;
use super::symbol_array::{SEPARATOR, SymbolArray};
use super::workers::{PoolHandle, Task};
use crate::budget::Budget;
use crate::error::Result;
use crate::memory::TryReserve;

/// Divisor of the threshold while there are no merges from which to estimate the next one.
const DEFAULT_THRESHOLD_FALL: u64 = 8;

/// The state of training between two steps.
pub(super) struct Trainer<'s, 'a, 'p, S, P> {
    array: &'a SymbolArray<S, P>,
    pub pair_index: PairIndex<'a, P>,
    pool: PoolHandle<'s, 'a, S, P>,
    progress: ProgressReporter<'p>,
    named: NamedTokens,
    /// The byte of each symbol below 256.
    bytes: [u8; 256],
    /// Number of symbols in use, including the separator.
    n_symbols: usize,
    /// Number of tokens in the array.
    n_tokens: usize,
    n_merges: usize,
    /// The count of each merged pair, in rank order.
    counts: Vec<u64>,
    n_traced: usize,
    trace: Vec<(Merge, u64)>,
    first_threshold: u64,
    min_frequency: u64,
    min_shared_positions: usize,
    reuses_slots: bool,
}

impl<'s, 'a, 'p, S: AtomicCell, P: AtomicCell> Trainer<'s, 'a, 'p, S, P> {
    /// Creates a trainer that has not counted any pairs yet.
    pub fn new(
        array: &'a SymbolArray<S, P>,
        pretokens: Input<'_>,
        pool: PoolHandle<'s, 'a, S, P>,
        options: &MergeOptions,
        tuning: Tuning,
        budget: &'a Budget,
        progress: ProgressReporter<'p>,
    ) -> Result<Self> {
        let min_frequency = options.min_frequency.max(1);
        let Input { base, named, .. } = pretokens;
        let has_long = base.iter().any(|token| token.len() > 1);
        let mut pair_index = PairIndex::new(options, &array.lengths, has_long, budget)?;
        for token in base {
            pair_index.add_symbol(NextSymbol::Token(token))?;
        }
        Ok(Trainer {
            array,
            pair_index,
            pool,
            progress,
            named: NamedTokens::new(named, options),
            bytes: options.byte_of_symbol(),
            n_symbols: SEPARATOR + 1 + base.len(),
            n_tokens: array.n_tokens,
            n_merges: options.n_merges,
            counts: Vec::new(),
            n_traced: options.n_traced,
            trace: Vec::new(),
            first_threshold: tuning.threshold.max(min_frequency),
            min_frequency,
            min_shared_positions: tuning.min_shared_positions,
            reuses_slots: tuning.reuses_slots,
        })
    }

    /// Learns until there are `n_merges` merges or no mergeable pair is left.
    pub fn run(mut self) -> Result<Trained> {
        self.start()?;
        while self.progress.merges.len() < self.n_merges {
            let best = self.pair_index.best();
            let near =
                if self.n_traced == 0 { Vec::new() } else { self.pair_index.best_pairs(self.n_traced)? };
            let lacks_pairs = best.is_none() || near.len() < self.n_traced;
            if lacks_pairs && self.pair_index.max_skipped_count >= self.min_frequency {
                // All pairs that were left out are below the old threshold; one of them may now be the best.
                self.pair_index.threshold = self.next_threshold();
                self.recount_pairs()?;
            } else if let Some((key, count)) = best {
                self.keep_trace(&near)?;
                self.counts.try_push(count, "the counts of the merges")?;
                self.step(key)?;
            } else {
                break;
            }
        }
        let is_short = self.progress.merges.len() < self.n_merges;
        let shortage = if is_short { Some(self.shortage()?) } else { None };
        self.finish(shortage)
    }

    /// Counts the pairs for the first step.
    pub fn start(&mut self) -> Result<()> {
        self.pair_index.threshold = self.first_threshold;
        self.recount_pairs()
    }

    /// Reports the final progress and returns the result.
    pub fn finish(mut self, shortage: Option<Shortage>) -> Result<Trained> {
        self.progress.report()?;
        Ok(Trained { merges: self.progress.merges, shortage, trace: self.trace })
    }

    /// Appends the best pairs of a step and their counts to the trace.
    fn keep_trace(&mut self, near: &[(u64, u64)]) -> Result<()> {
        for index in 0..self.n_traced {
            let of_pair = near.get(index).map_or(([0, 0], 0), |&(key, count)| {
                let (left, right) = pair_of(key);
                ([self.public_symbol(left), self.public_symbol(right)], count)
            });
            self.trace.try_push(of_pair, "the trace of the merges")?;
        }
        Ok(())
    }

    /// Finds out why none of the remaining pairs can be merged.
    pub fn shortage(&mut self) -> Result<Shortage> {
        let Trainer { array, pair_index, progress, .. } = self;
        let mut shortage = Shortage::default();
        count_pairs::for_each_pair(array, &mut || progress.tick(), |_, left, right, _| {
            let is_long = !pair_index.is_short_enough(left, right);
            shortage.has_long |= is_long;
            shortage.has_rare |= !is_long;
            Ok(())
        })?;
        Ok(shortage)
    }

    /// Estimates a threshold that lasts for the remaining merges.
    ///
    /// Merge counts fall roughly as a power of the rank, and ever more steeply. The exponent is estimated from the
    /// second half of the merges so far and increased by a quarter. A wrong estimate never changes the result; it only
    /// costs another count of all pairs.
    fn next_threshold(&self) -> u64 {
        let (least, most) = (self.min_frequency, self.pair_index.max_skipped_count);
        let (Some(&middle), Some(&last)) = (self.counts.get(self.counts.len() / 2), self.counts.last())
        else {
            return (most / DEFAULT_THRESHOLD_FALL).max(least);
        };
        let n_doublings = (self.n_merges as f64 / self.progress.merges.len() as f64).log2();
        let fall = (middle as f64 / last as f64).powf(1.25 * n_doublings);
        ((self.pair_index.threshold as f64 / fall.clamp(1.5, 64.0)) as u64).clamp(least, most)
    }

    /// Rebuilds the pair index: each pair with a count of at least `threshold`, and its position list.
    fn recount_pairs(&mut self) -> Result<()> {
        let Trainer { array, pair_index, pool, progress, .. } = self;
        pair_index.reset()?;
        #[cfg(test)]
        super::tests::note_visits(self.n_tokens);
        let are_bytes = self.n_symbols == SEPARATOR + 1 && progress.merges.is_empty();
        let on_progress = &mut || progress.tick();
        if are_bytes {
            let is_shared = array.symbols.len() / 64 >= self.min_shared_positions;
            count_pairs::index_byte_pairs(pair_index, pool, is_shared, on_progress)
        } else {
            count_pairs::index_token_pairs(array, self.n_symbols, pair_index, on_progress)
        }
    }

    /// Merges one pair everywhere. A pair that is not in the index has no occurrences; it only creates the next symbol.
    pub fn step(&mut self, key: u64) -> Result<()> {
        // Merging an occurrence removes one token and adds at most two positions, one for each side.
        let n_new_slots = self.n_tokens.min(2 * self.pair_index.list(key).len);
        if self.pair_index.arena_next + n_new_slots > self.array.arena.len() {
            self.recount_pairs()?;
        }
        // Only now: the recount above moves the lists.
        let list = self.pair_index.list(key);
        #[cfg(test)]
        super::tests::note_visits(list.len);
        let (a, b) = pair_of(key);
        let lengths = &self.array.lengths;
        let a_len = lengths[a].get();
        let merged_len = a_len + lengths[b].get();
        let merged = self.named.symbol(a, b, merged_len, self.n_symbols)?;
        // A token that already existed does not count as a new one.
        self.n_merges += usize::from(merged < self.n_symbols);
        self.n_symbols += usize::from(merged == self.n_symbols);
        let step = MergeStep { a, b, merged, n_symbols: self.n_symbols, a_len, merged_len };
        lengths[merged].set(merged_len);
        self.pair_index.start_merge(key, step)?;
        self.progress.merges.push([self.public_symbol(a), self.public_symbol(b)]);

        let on_progress = &mut || self.progress.tick();
        let pool = &mut self.pool;
        pool.divide_list(list.start..list.start + list.len, step, list.len >= self.min_shared_positions)?;
        pool.run(Task::ReplacePair, step, on_progress)?;
        let has_new_lists = {
            let mut states = pool.states()?;
            self.n_tokens -= states.iter().map(|state| state.range.len()).sum::<usize>();
            self.pair_index.apply_deltas(step, &mut states)?
        };
        if has_new_lists {
            pool.run(Task::CollectPositions, step, on_progress)?;
        }
        pool.states()?.iter_mut().for_each(|state| state.clear());
        if self.reuses_slots {
            // Only now: `collect_positions` still reads the list.
            self.pair_index.reuse_slots(list);
        }
        on_progress()
    }

    /// Converts a symbol to the callers' numbering: bytes by value, then merges, without the separator.
    fn public_symbol(&self, symbol: usize) -> u32 {
        match self.bytes.get(symbol) {
            Some(&byte) => u32::from(byte),
            None => symbol as u32 - 1,
        }
    }
}
