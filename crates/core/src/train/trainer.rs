//! The engine: exactly the merges of [`super::naive`], in a fraction of the time.
//!
//! Enters: a [`SymbolArray`]. Leaves: merges. Cost: every merged occurrence is touched twice, an occurrence
//! that died in a list is skipped once, and the field is passed over a few times.
//!
//! What makes it exact:
//! - A pair can gain occurrences only in the step that makes the younger of its two symbols. Its list
//!   is therefore born whole, and its count only falls from then on.
//! - Only pairs of at least `threshold` are kept. A pair below it cannot rise, so as long as the best
//!   kept pair is not below it either, the best kept pair is the best of all. When none is left, the
//!   threshold is lowered, and a census of the field finds every pair that is now above it.
//!
//! The arena never overflows. After a census it holds at most one slot a token of the field. A step
//! adds at most two for each token that it removes, and so at most as many as there are tokens. With
//! two slots a token there is thus always room for one step after a census, and when there is no room
//! for the next, another census, which drops what died, makes it.

use super::apply_merge::MergeStep;
use super::atomic_array::AtomicCell;
use super::count_pairs;
use super::pair_index::PairIndex;
use super::pair_table::pair_of;
use super::progress::ProgressReporter;
use super::symbol_array::{SEPARATOR, SymbolArray};
use super::workers::{PoolHandle, Task};
use super::{MergeOptions, Shortage, Trained, Tuning};
use crate::error::Result;
use crate::memory::TryReserve;

/// By how much the threshold falls when there is nothing to tell by.
const FALL: u64 = 8;

/// The state between two steps.
pub(super) struct Trainer<'s, 'f, 'p, S, P> {
    array: &'f SymbolArray<S, P>,
    pair_index: PairIndex<'f, P>,
    pool: PoolHandle<'s, 'f, S, P>,
    progress: ProgressReporter<'p>,
    /// By symbol below 256: its byte.
    bytes: [u8; 256],
    /// Symbols in use, the separator among them.
    n_symbols: usize,
    /// Tokens in the field.
    n_tokens: usize,
    n_merges: usize,
    /// The counts under which the merges were chosen.
    counts: Vec<u64>,
    first_threshold: u64,
    min_frequency: u64,
    share_from: usize,
    reuses_slots: bool,
}

impl<'s, 'f, 'p, S: AtomicCell, P: AtomicCell> Trainer<'s, 'f, 'p, S, P> {
    /// An engine that has not begun.
    pub fn new(
        array: &'f SymbolArray<S, P>,
        pool: PoolHandle<'s, 'f, S, P>,
        options: &MergeOptions,
        tuning: Tuning,
        progress: ProgressReporter<'p>,
    ) -> Result<Self> {
        let mut bytes = [0; 256];
        for (byte, &symbol) in (0..=255u8).zip(&options.byte_order) {
            bytes[usize::from(symbol)] = byte;
        }
        let min_frequency = options.min_frequency.max(1);
        Ok(Trainer {
            array,
            pair_index: PairIndex::new(options, &array.lengths)?,
            pool,
            progress,
            bytes,
            n_symbols: SEPARATOR + 1,
            n_tokens: array.n_tokens,
            n_merges: options.n_merges,
            counts: Vec::new(),
            first_threshold: tuning.threshold.max(min_frequency),
            min_frequency,
            share_from: tuning.share_from,
            reuses_slots: tuning.reuses_slots,
        })
    }

    /// Learns until there are `n_merges` merges or no pair is left.
    pub fn run(mut self) -> Result<Trained> {
        self.pair_index.threshold = self.first_threshold;
        self.recount_pairs()?;
        while self.progress.merges.len() < self.n_merges {
            if let Some((key, count)) = self.pair_index.best() {
                self.counts.try_push(count, "the counts of the merges")?;
                self.step(key)?;
            } else if self.pair_index.most_skipped >= self.min_frequency {
                self.pair_index.threshold = self.next_threshold();
                self.recount_pairs()?;
            } else {
                break;
            }
        }
        let is_short = self.progress.merges.len() < self.n_merges;
        let shortage = if is_short { Some(self.shortage()?) } else { None };
        self.progress.report()?;
        Ok(Trained { merges: self.progress.merges, shortage })
    }

    /// Which pairs are left, now that none may be merged.
    fn shortage(&mut self) -> Result<Shortage> {
        let Trainer { array, pair_index, progress, .. } = self;
        let mut shortage = Shortage::default();
        count_pairs::for_each_pair(array, &mut || progress.tick(), |_, left, right, _| {
            let is_long = !pair_index.may_join(left, right);
            shortage.has_long |= is_long;
            shortage.has_rare |= !is_long;
            Ok(())
        })?;
        Ok(shortage)
    }

    /// A threshold that should last for the merges that are left.
    ///
    /// Counts fall about as a power of the rank, ever more steeply; the last halving says how steeply.
    fn next_threshold(&self) -> u64 {
        let (least, most) = (self.min_frequency, self.pair_index.most_skipped);
        let (Some(&earlier), Some(&last)) = (self.counts.get(self.counts.len() / 2), self.counts.last())
        else {
            return (most / FALL).max(least);
        };
        let n_doublings = (self.n_merges as f64 / self.progress.merges.len() as f64).log2();
        let fall = (earlier as f64 / last as f64).powf(1.25 * n_doublings);
        ((self.pair_index.threshold as f64 / fall.clamp(1.5, 64.0)) as u64).clamp(least, most)
    }

    /// Finds the pairs worth keeping, and their lists, anew.
    fn recount_pairs(&mut self) -> Result<()> {
        let Trainer { array, pair_index, pool, progress, .. } = self;
        pair_index.reset()?;
        let on_progress = &mut || progress.tick();
        if self.n_symbols == SEPARATOR + 1 {
            count_pairs::index_byte_pairs(
                pair_index,
                pool,
                array.symbols.len() / 64 >= self.share_from,
                on_progress,
            )
        } else {
            count_pairs::index_token_pairs(array, self.n_symbols, pair_index, on_progress)
        }
    }

    /// Merges a pair.
    fn step(&mut self, key: u64) -> Result<()> {
        let n_births = self.n_tokens.min(2 * self.pair_index.list(key).len);
        if self.pair_index.arena_next + n_births > self.array.arena.len() {
            self.recount_pairs()?;
        }
        let list = self.pair_index.list(key);
        let (a, b) = pair_of(key);
        let lengths = &self.array.lengths;
        let a_len = lengths[a].get();
        let merged_len = a_len + lengths[b].get();
        let step = MergeStep { a, b, merged: self.n_symbols, a_len, merged_len };
        lengths[step.merged].set(merged_len);
        self.n_symbols += 1;
        self.pair_index.begin(key, step)?;
        self.progress.merges.push((self.public(a), self.public(b)));

        let on_progress = &mut || self.progress.tick();
        let pool = &mut self.pool;
        pool.divide(list.start..list.start + list.len, step, list.len >= self.share_from)?;
        pool.run(Task::ReplacePair, step, on_progress)?;
        let has_new_lists = {
            let mut states = pool.states()?;
            self.n_tokens -= states.iter().map(|state| state.slots.len()).sum::<usize>();
            self.pair_index.apply_deltas(step, &mut states)?
        };
        if has_new_lists {
            pool.run(Task::CollectPositions, step, on_progress)?;
        }
        pool.states()?.iter_mut().for_each(|state| state.clear());
        if self.reuses_slots {
            self.pair_index.end(list);
        }
        on_progress()
    }

    /// A symbol as callers number it: bytes by value, then merges.
    fn public(&self, symbol: usize) -> u32 {
        match self.bytes.get(symbol) {
            Some(&byte) => u32::from(byte),
            None => symbol as u32 - 1,
        }
    }
}
