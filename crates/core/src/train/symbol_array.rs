//! All distinct pretokens in one flat array of symbols, the most frequent pretokens first, with a [`SEPARATOR`] before,
//! between and after them.
//!
//! Building it takes two passes over the input. Pretokens of one byte contain no pair and are left out, as are
//! pretokens with a count of 0.
//!
//! Invariants, which each merge preserves:
//! - A token that existed before training takes one position at first, like a byte.
//! - A token that covers the positions `p..=q` has its symbol at `p` and at `q`. So the symbol of its left neighbour is
//!   `symbols[p - 1]` and that of its right neighbour `symbols[q + 1]`: no linked list, and no symbol ever moves.
//! - Positions between `p` and `q` have stale symbols. But each start of a token that a merge absorbed was overwritten
//!   by the merged symbol or by [`SEPARATOR`], and merged symbols are newer than all others. So if a token `a` once
//!   started at `p` with a token `b` to its right, the pair (a, b) is still there if and only if `symbols[p] == a` and
//!   `symbols[p + length(a)] == b`.
//! - The counts of pretokens never rise with the position, so a cursor finds the counts of ascending positions.
//!
//! Tried: sorting pretokens of equal count by their text, to bring the positions of a pair closer together. No
//! difference beyond noise, and the sort takes time.

use std::ops::Range;

use super::atomic_cell::AtomicCell;
use super::options::{Input, Items, MergeOptions};
use crate::error::{Error, Result};
use crate::memory::{TryReserve, Zeros, filled};

/// The symbol between pretokens and at absorbed starts. Lower symbols are bytes, higher ones other tokens.
pub(super) const SEPARATOR: usize = 256;

/// Pretokens are sorted by count: by counting sort for counts below this, by comparison for the few others.
const N_SMALL_COUNTS: usize = 4096;

/// The sizes of the array, measured before it is built: they decide the width of its cells.
pub(super) struct Layout {
    /// Number of positions in the array, including separators.
    pub n_positions: u64,
    /// Number of tokens before the first merge: the bytes (or symbols) of all pretokens in the array.
    pub n_tokens: u64,
    /// Number of existing symbols from 256 on.
    pub n_base: usize,
    /// Pretokens that occur at least `N_SMALL_COUNTS` times, as (count, index), most frequent first.
    large: Vec<(u64, usize)>,
    /// For each count below `N_SMALL_COUNTS`: the number of pretokens with that count, and of their positions.
    small: Vec<(u64, u64)>,
}

impl Layout {
    /// Measures the pretokens, and checks that no count can overflow.
    pub fn measure(pretokens: Input<'_>) -> Result<Layout> {
        let Input { ends, counts, base, .. } = pretokens;
        if ends.len() != counts.len() {
            return Err(Error::Counts(format!(
                "there are {} pretokens but {} counts; each pretoken needs one count",
                ends.len(),
                counts.len()
            )));
        }
        let small = filled(N_SMALL_COUNTS, (0, 0), "the table of small counts")?;
        let mut layout = Layout { n_positions: 1, n_tokens: 0, n_base: base.len(), large: Vec::new(), small };
        let mut weight = 0u128;
        let mut start = 0;
        for (index, (&end, &count)) in ends.iter().zip(counts).enumerate() {
            if end < start || end > pretokens.n_items() {
                return Err(Error::Counts(format!(
                    "pretoken {index} ends at byte {end}, outside {start}..={}; ends must ascend",
                    pretokens.n_items()
                )));
            }
            let n_bytes = end - start;
            start = end;
            if n_bytes < 2 || count == 0 {
                continue;
            }
            layout.n_positions += n_bytes + 1;
            layout.n_tokens += n_bytes;
            weight += u128::from(n_bytes) * u128::from(count);
            match layout.small.get_mut(count as usize) {
                Some((n, n_positions)) if count < N_SMALL_COUNTS as u64 => {
                    *n += 1;
                    *n_positions += n_bytes + 1;
                }
                _ => layout.large.try_push((count, index), "frequent pretokens")?,
            }
        }
        if weight > u128::from(u64::MAX) {
            return Err(Error::Counts(
                "counts times lengths exceed 2^64; divide the counts by a common factor".to_owned(),
            ));
        }
        layout.large.sort_unstable_by_key(|&(count, index)| (std::cmp::Reverse(count), index));
        Ok(layout)
    }

    /// Returns the count of the pretoken with this frequency rank, from 0; 0 if there are fewer pretokens.
    pub fn count_at(&self, rank: usize) -> u64 {
        if let Some(&(count, _)) = self.large.get(rank) {
            return count;
        }
        let mut n_before = self.large.len() as u64;
        for (count, &(n, _)) in self.small.iter().enumerate().rev() {
            n_before += n;
            if n_before > rank as u64 {
                return count as u64;
            }
        }
        0
    }
}

/// The count of the pretoken at each position, as runs of equal counts.
pub(super) struct Weights {
    /// The end of each run of pretokens with equal counts.
    ends: Vec<usize>,
    /// The count of each run.
    counts: Vec<u64>,
}

impl Weights {
    /// Returns a cursor for ascending positions.
    pub fn cursor(&self) -> WeightCursor<'_> {
        WeightCursor { weights: self, end: 0, count: 0 }
    }

    /// Iterates over the runs of equal counts in a range of positions, as (start, end, count).
    pub fn runs_in(&self, range: Range<usize>) -> impl Iterator<Item = (usize, usize, u64)> {
        let clipped = move |(start, end, count): (usize, usize, u64)| {
            (start.max(range.start), end.min(range.end), count)
        };
        self.runs().map(clipped).filter(|(start, end, _)| start < end)
    }

    /// Iterates over the runs of equal counts, as (start, end, count).
    pub fn runs(&self) -> impl Iterator<Item = (usize, usize, u64)> {
        let starts = std::iter::once(1).chain(self.ends.iter().copied());
        starts.zip(&self.ends).zip(&self.counts).map(|((start, &end), &count)| (start, end, count))
    }

    /// Appends a run up to `end`, or extends the last one if the count is the same.
    fn push(&mut self, end: usize, count: u64) -> Result<()> {
        let what = "the index of counts";
        if self.counts.last() == Some(&count) {
            self.ends.pop();
            self.counts.pop();
        }
        self.ends.try_push(end, what)?;
        self.counts.try_push(count, what)
    }
}

/// Looks up the counts of ascending positions; costs only a comparison while they stay within a run, and otherwise a
/// search of the few thousand runs.
pub(super) struct WeightCursor<'a> {
    weights: &'a Weights,
    end: usize,
    count: u64,
}

impl WeightCursor<'_> {
    /// Returns the count of the pretoken at `position`, which must not be less than in the last call.
    #[inline(always)]
    pub fn at(&mut self, position: usize) -> u64 {
        if position >= self.end {
            self.seek(position);
        }
        self.count
    }

    #[inline]
    fn seek(&mut self, position: usize) {
        let run = self.weights.ends.partition_point(|&end| end <= position);
        self.end = self.weights.ends[run];
        self.count = self.weights.counts[run];
    }
}

/// The array and everything indexed by its positions. `S` is the cell type of symbols, `P` that of positions.
pub(super) struct SymbolArray<S, P> {
    /// Number of tokens before the first merge.
    pub n_tokens: usize,
    /// The symbols.
    pub symbols: Zeros<S>,
    /// The count of each position.
    pub weights: Weights,
    /// The position lists of all pairs, concatenated. Slot 0 belongs to no list.
    pub arena: Zeros<P>,
    /// The length of each symbol in positions.
    pub lengths: Zeros<P>,
}

impl<S: AtomicCell, P: AtomicCell> SymbolArray<S, P> {
    /// Builds the array; byte `b` becomes the symbol `byte_order[b]`.
    pub fn build(
        pretokens: Input<'_>,
        options: &MergeOptions,
        layout: Layout,
        n_symbols: usize,
    ) -> Result<Self> {
        let n_positions = layout.n_positions as usize;
        let symbols = Zeros::<S>::in_pages(n_positions, "the symbols of the pretokens")?;
        let arena = Zeros::in_pages(arena_len(layout.n_tokens) as usize, "the lists of pair positions")?;
        let lengths = Zeros::<P>::in_pages(n_symbols, "the lengths of the tokens")?;
        for length in &lengths[..=SEPARATOR + layout.n_base] {
            length.set(1);
        }
        let mut weights = Weights { ends: Vec::new(), counts: Vec::new() };
        symbols[0].set(SEPARATOR);
        let cells = &symbols[..];
        // Writes pretoken `index` at position `at`; returns the position of the next pretoken.
        let write = |index: usize, at: usize| {
            let start = if index == 0 { 0 } else { pretokens.ends[index - 1] as usize };
            let end = pretokens.ends[index] as usize;
            match pretokens.items {
                Items::Bytes(bytes) => {
                    for (cell, &byte) in cells[at..].iter().zip(&bytes[start..end]) {
                        cell.set(usize::from(options.byte_order[usize::from(byte)]));
                    }
                }
                Items::Symbols(symbols) => {
                    for (cell, &symbol) in cells[at..].iter().zip(&symbols[start..end]) {
                        cell.set(options.to_internal_symbol(symbol));
                    }
                }
            }
            cells[at + end - start].set(SEPARATOR);
            at + end - start + 1
        };
        let mut at = 1;
        for &(count, index) in &layout.large {
            at = write(index, at);
            weights.push(at, count)?;
        }
        // Counting sort: for each count, the position of the next pretoken.
        let mut next = layout.small;
        for (count, (_, n_positions)) in next.iter_mut().enumerate().rev() {
            let start = at;
            at += *n_positions as usize;
            if at > start {
                weights.push(at, count as u64)?;
            }
            *n_positions = start as u64;
        }
        let mut start = 0;
        for (index, (&end, &count)) in pretokens.ends.iter().zip(pretokens.counts).enumerate() {
            if end - start >= 2 && count > 0 && count < N_SMALL_COUNTS as u64 {
                let (_, next) = &mut next[count as usize];
                *next = write(index, *next as usize) as u64;
            }
            start = end;
        }
        let n_tokens = layout.n_tokens as usize;
        Ok(SymbolArray { n_tokens, symbols, weights, arena, lengths })
    }
}

/// Returns the number of slots in the arena; [`super::trainer`] shows why two per token suffice.
pub(super) fn arena_len(n_tokens: u64) -> u64 {
    2 * n_tokens + 1
}
