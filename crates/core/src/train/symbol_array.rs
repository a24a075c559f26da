//! All distinct pretokens in one flat array of symbols.
//!
//! Enters: pretokens with counts. Leaves: a [`SymbolArray`], the pretokens one after the other, the most
//! frequent first, a [`SEPARATOR`] before, between and after them. Cost: two passes over the input.
//!
//! Invariants, for the whole of learning:
//! - A token that spans positions `p..=q` has its symbol at `p` and at `q`. So its left neighbour is
//!   `symbols[p - 1]`, its right neighbour `symbols[q + 1]`: no links, no moving.
//! - What lies between `p` and `q` is stale. Every start that a merge swallowed was overwritten, by
//!   the merged symbol or by [`SEPARATOR`]; hence the pair `(a, b)` stands at a position `p` that once
//!   was a start of `a` if and only if `symbols[p] == a` and `symbols[p + length(a)] == b`.
//! - Counts fall with the position, so ascending positions find their counts by one moving cursor.
//!
//! Pretokens of one byte hold no pair and are left out, as are those that occur zero times.

use std::ops::Range;

use super::atomic_array::{AtomicArray, AtomicCell};
use super::{MergeOptions, WeightedPretokens};
use crate::error::{Error, Result};
use crate::memory::{TryReserve, filled};

/// The symbol between pretokens, and of a swallowed start. Bytes come before it, merges after it.
pub(super) const SEPARATOR: usize = 256;

/// Counts below this are sorted by counting, the few above it by comparing.
const N_SMALL: usize = 4096;

/// The index of counts keeps one entry for so many positions.
const BLOCK: usize = 64;

/// What [`SymbolArray::build`] needs to know before it can choose the width of its cells.
pub(super) struct Layout {
    /// Positions in the flat array, separators included.
    pub n_positions: u64,
    /// Bytes of the pretokens that count, which is how many tokens there are at first.
    pub n_tokens: u64,
    /// Pretokens that occur at least `N_SMALL` times, as (count, index), most frequent first.
    large: Vec<(u64, usize)>,
    /// By count below `N_SMALL`: how many pretokens occur so often, and how many positions they take.
    small: Vec<(u64, u64)>,
}

impl Layout {
    /// Measures the pretokens, and checks that no count can overflow.
    pub fn of(pretokens: WeightedPretokens<'_>) -> Result<Layout> {
        let WeightedPretokens { bytes, ends, counts } = pretokens;
        if ends.len() != counts.len() {
            return Err(Error::Counts(format!(
                "{} pretokens but {} counts; give one count a pretoken",
                ends.len(),
                counts.len()
            )));
        }
        let small = filled(N_SMALL, (0, 0), "the counts of counts")?;
        let mut layout = Layout { n_positions: 1, n_tokens: 0, large: Vec::new(), small };
        let mut weight = 0u128;
        let mut start = 0;
        for (index, (&end, &count)) in ends.iter().zip(counts).enumerate() {
            if end < start || end > bytes.len() as u64 {
                return Err(Error::Counts(format!(
                    "pretoken {index} ends at byte {end}, outside {start}..={}; ends must ascend",
                    bytes.len()
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
                Some((n, n_positions)) if count < N_SMALL as u64 => {
                    *n += 1;
                    *n_positions += n_bytes + 1;
                }
                _ => {
                    layout.large.try_push((count, index), "frequent pretokens")?;
                }
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

    /// How often the pretoken that is number `rank` by frequency occurs; 0 when there are fewer.
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

/// How often the pretoken at a position occurs: counts that fall as positions rise.
pub(super) struct Weights {
    /// Where each run of pretokens with equal counts ends.
    ends: Vec<usize>,
    /// The count of each run.
    counts: Vec<u64>,
    /// By position / [`BLOCK`]: the run that holds the block's first position.
    run_of_block: Vec<u32>,
}

impl Weights {
    /// A cursor for positions that never fall.
    pub fn cursor(&self) -> WeightCursor<'_> {
        WeightCursor { weights: self, end: 0, count: 0 }
    }

    /// The runs of equal counts in a range of positions, as (start, end, count).
    pub fn runs_in(&self, range: Range<usize>) -> impl Iterator<Item = (usize, usize, u64)> {
        let clipped = move |(start, end, count): (usize, usize, u64)| {
            (start.max(range.start), end.min(range.end), count)
        };
        self.runs().map(clipped).filter(|(start, end, _)| start < end)
    }

    /// The runs of equal counts, as (start, end, count).
    pub fn runs(&self) -> impl Iterator<Item = (usize, usize, u64)> {
        let starts = std::iter::once(1).chain(self.ends.iter().copied());
        starts.zip(&self.ends).zip(&self.counts).map(|((start, &end), &count)| (start, end, count))
    }

    fn push(&mut self, end: usize, count: u64) -> Result<()> {
        let what = "the index of counts";
        if self.counts.last() == Some(&count) {
            self.ends.pop();
            self.counts.pop();
        }
        self.ends.try_reserve(1).map_err(Error::out_of_memory(what))?;
        self.counts.try_reserve(1).map_err(Error::out_of_memory(what))?;
        self.ends.push(end);
        self.counts.push(count);
        Ok(())
    }

    fn index_blocks(&mut self, n_positions: usize) -> Result<()> {
        let n_blocks = n_positions / BLOCK + 1;
        self.run_of_block.try_reserve_exact(n_blocks).map_err(Error::out_of_memory("the index of counts"))?;
        let mut run = 0;
        for block in 0..n_blocks {
            while run + 1 < self.ends.len() && self.ends[run] <= block * BLOCK {
                run += 1;
            }
            self.run_of_block.push(run as u32);
        }
        Ok(())
    }
}

/// Finds the counts of ascending positions.
pub(super) struct WeightCursor<'a> {
    weights: &'a Weights,
    end: usize,
    count: u64,
}

impl WeightCursor<'_> {
    /// The count of the pretoken at `position`, which is no less than at the last call.
    #[inline(always)]
    pub fn at(&mut self, position: usize) -> u64 {
        if position >= self.end {
            self.seek(position);
        }
        self.count
    }

    #[inline]
    fn seek(&mut self, position: usize) {
        let mut run = self.weights.run_of_block[position / BLOCK] as usize;
        while self.weights.ends[run] <= position {
            run += 1;
        }
        self.end = self.weights.ends[run];
        self.count = self.weights.counts[run];
    }
}

/// The flat array, and what is indexed by its positions. `S` holds symbols, `P` positions.
pub(super) struct SymbolArray<S, P> {
    /// How many tokens there are before the first merge.
    pub n_tokens: usize,
    /// The symbols.
    pub symbols: AtomicArray<S>,
    /// How often each position occurs.
    pub weights: Weights,
    /// Lists of positions, one after the other; slot 0 belongs to no list.
    pub arena: AtomicArray<P>,
    /// By symbol: its length in bytes.
    pub lengths: AtomicArray<P>,
}

impl<S: AtomicCell, P: AtomicCell> SymbolArray<S, P> {
    /// Lays the pretokens out. Byte `b` becomes the symbol `byte_order[b]`.
    pub fn build(
        pretokens: WeightedPretokens<'_>,
        options: &MergeOptions,
        layout: Layout,
        n_symbols: usize,
    ) -> Result<Self> {
        let n_positions = layout.n_positions as usize;
        let symbols = AtomicArray::<S>::zeroed(n_positions, "the symbols of the pretokens")?;
        let arena = AtomicArray::zeroed(arena_len(layout.n_tokens) as usize, "the lists of pair positions")?;
        let lengths = AtomicArray::<P>::zeroed(n_symbols, "the lengths of the tokens")?;
        for length in &lengths[..=SEPARATOR] {
            length.set(1);
        }
        let mut weights = Weights { ends: Vec::new(), counts: Vec::new(), run_of_block: Vec::new() };
        symbols[0].set(SEPARATOR);
        let cells = &symbols[..];
        let place = |index: usize, at: usize| {
            let start = if index == 0 { 0 } else { pretokens.ends[index - 1] as usize };
            let text = &pretokens.bytes[start..pretokens.ends[index] as usize];
            for (cell, &byte) in cells[at..].iter().zip(text) {
                cell.set(usize::from(options.byte_order[usize::from(byte)]));
            }
            cells[at + text.len()].set(SEPARATOR);
            at + text.len() + 1
        };
        let mut at = 1;
        for &(count, index) in &layout.large {
            at = place(index, at);
            weights.push(at, count)?;
        }
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
            if end - start >= 2 && count > 0 && count < N_SMALL as u64 {
                let (_, next) = &mut next[count as usize];
                *next = place(index, *next as usize) as u64;
            }
            start = end;
        }
        weights.index_blocks(n_positions)?;
        let n_tokens = layout.n_tokens as usize;
        Ok(SymbolArray { n_tokens, symbols, weights, arena, lengths })
    }
}

/// Slots in the arena: see [`super::trainer`] for why twice the tokens suffice.
pub(super) fn arena_len(n_tokens: u64) -> u64 {
    2 * n_tokens + 1
}
