//! The result of counting: distinct pretokens and their counts, as columns.
//!
//! Invariants: `ends` ascends strictly and its last item is `bytes.len()`; `counts` is as long as `ends` and has no
//! zero; no pretoken occurs twice.

use std::mem::MaybeUninit;

use super::totals::Totals;
use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::pages;
use crate::parallel;
use crate::train::WeightedPretokens;

/// Distinct pretokens with their counts. [`PretokenCounts::merge`] adds them up, in any order.
#[derive(Clone, Debug, Default)]
pub struct PretokenCounts {
    pub(super) bytes: Vec<u8>,
    pub(super) ends: Vec<u64>,
    pub(super) counts: Vec<u64>,
    pub(super) totals: Totals,
}

/// Named in the message of [`Error::OutOfMemory`].
const COLUMNS: &str = "the columns of the counts";

/// Fewer pretokens than this are processed by one thread.
pub(super) const MIN_PARALLEL_PRETOKENS: usize = 1 << 16;

impl PretokenCounts {
    /// Returns the number of distinct pretokens.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the totals of the corpus.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Returns the columns. The order of the pretokens has no meaning.
    pub fn columns(&self) -> WeightedPretokens<'_> {
        WeightedPretokens { bytes: &self.bytes, ends: &self.ends, counts: &self.counts }
    }

    /// Moves the columns out: bytes, ends, counts.
    pub fn into_columns(self) -> (Vec<u8>, Vec<u64>, Vec<u64>) {
        (self.bytes, self.ends, self.counts)
    }

    /// Iterates over the pretokens and their counts, in the order of the columns.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> + '_ {
        self.columns().iter()
    }

    /// Returns these counts sorted by the bytes of the pretokens, the canonical order of files and listings.
    pub fn sorted(&self) -> Result<PretokenCounts> {
        let mut order: Vec<(Prefix, usize)> = Vec::with_reserved(self.len(), "the order of the counts")?;
        order.extend((0..self.len()).map(|index| (prefix(self.pretoken(index)), index)));
        // First sort by prefix alone, without branches or reading the pretokens; most prefixes occur once.
        order.sort_unstable_by_key(|&(prefix, _)| as_number(prefix));
        for equal in order.chunk_by_mut(|a, b| a.0 == b.0).filter(|equal| equal.len() > 1) {
            equal.sort_unstable_by_key(|&(_, index)| self.pretoken(index));
        }
        let mut sorted = PretokenCounts::assemble(
            &[(self.len(), self.bytes.len())],
            vec![order],
            1,
            false,
            |order, columns| {
                order.iter().for_each(|&(_, index)| columns.push(self.pretoken(index), self.counts[index]));
            },
        )?;
        sorted.totals = self.totals;
        Ok(sorted)
    }

    /// Returns the pretokens with a count of at least `min_count`; the totals stay those of the corpus.
    pub fn pruned(&self, min_count: u64) -> Result<PretokenCounts> {
        self.with_counts(&self.counts, min_count)
    }

    /// Returns these pretokens and totals with other `counts`, without the pretokens below `min_count`.
    pub(super) fn with_counts(&self, counts: &[u64], min_count: u64) -> Result<PretokenCounts> {
        let all = || counts.iter().enumerate().map(|(index, &count)| (self.pretoken(index), count));
        let kept = || all().filter(|&(_, count)| count >= min_count);
        let size = kept().fold((0, 0), |(n, n_bytes), (pretoken, _)| (n + 1, n_bytes + pretoken.len()));
        let mut pruned = PretokenCounts::assemble(&[size], vec![()], 1, false, |(), columns| {
            kept().for_each(|(pretoken, count)| columns.push(pretoken, count));
        })?;
        pruned.totals = self.totals;
        Ok(pruned)
    }

    /// Writes columns in parallel. `sizes[i]` is the number of pretokens and of bytes of part i, and `write` must push
    /// exactly as many. A part is dropped once it is written. If `is_limited`, no memory beyond the columns is touched.
    pub(super) fn assemble<P: Send>(
        sizes: &[(usize, usize)],
        parts: Vec<P>,
        threads: usize,
        is_limited: bool,
        write: impl Fn(&P, &mut Columns<'_>) + Sync,
    ) -> Result<PretokenCounts> {
        let n_pretokens: usize = sizes.iter().map(|size| size.0).sum();
        let n_bytes: usize = sizes.iter().map(|size| size.1).sum();
        let mut all = PretokenCounts {
            bytes: room(n_bytes, is_limited)?,
            ends: room(n_pretokens, is_limited)?,
            counts: room(n_pretokens, is_limited)?,
            ..PretokenCounts::default()
        };
        let mut rest = Columns {
            bytes: &mut all.bytes.spare_capacity_mut()[..n_bytes],
            ends: &mut all.ends.spare_capacity_mut()[..n_pretokens],
            counts: &mut all.counts.spare_capacity_mut()[..n_pretokens],
            end: 0,
        };
        let mut jobs = Vec::with_reserved(parts.len(), COLUMNS)?;
        for (part, &size) in parts.into_iter().zip(sizes) {
            let (columns, after) = rest.split(size);
            jobs.push((part, columns));
            rest = after;
        }
        assert!(rest.is_written(), "as many parts as sizes");
        let threads = if n_pretokens < MIN_PARALLEL_PRETOKENS { 1 } else { threads };
        parallel::for_each(threads, jobs.into_iter(), |(part, mut columns)| {
            write(&part, &mut columns);
            assert!(columns.is_written(), "a part has as many pretokens and bytes as its size says");
            Ok(())
        })?;
        // SAFETY: The columns were divided among the parts without a rest, and each part wrote its share to the end;
        // both are asserted above.
        unsafe {
            all.bytes.set_len(n_bytes);
            all.ends.set_len(n_pretokens);
            all.counts.set_len(n_pretokens);
        }
        Ok(all)
    }

    /// Returns pretoken `index`, which must be less than `len()`.
    pub(super) fn pretoken(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.bytes[start..self.ends[index] as usize]
    }
}

/// Creates an empty column with capacity for `n` items.
fn room<T>(n: usize, is_limited: bool) -> Result<Vec<T>> {
    let mut column = Vec::new();
    if is_limited {
        pages::reserve(&mut column, n);
    } else {
        pages::reserve_full(&mut column, n);
    }
    column.try_reserve_exact(n).map_err(Error::out_of_memory(COLUMNS))?;
    Ok(column)
}

/// The unwritten rest of the columns, or of one part's share of them.
pub(super) struct Columns<'c> {
    bytes: &'c mut [MaybeUninit<u8>],
    ends: &'c mut [MaybeUninit<u64>],
    counts: &'c mut [MaybeUninit<u64>],
    /// The end of the last pretoken written, as an offset in the whole column.
    end: u64,
}

impl<'c> Columns<'c> {
    /// Writes the next pretoken.
    pub(super) fn push(&mut self, pretoken: &[u8], count: u64) {
        let (bytes, rest) = std::mem::take(&mut self.bytes).split_at_mut(pretoken.len());
        for (slot, &byte) in bytes.iter_mut().zip(pretoken) {
            slot.write(byte);
        }
        self.bytes = rest;
        self.end += pretoken.len() as u64;
        write_next(&mut self.ends, self.end);
        write_next(&mut self.counts, count);
    }

    /// Returns whether nothing is left to write.
    fn is_written(&self) -> bool {
        self.bytes.is_empty() && self.ends.is_empty() && self.counts.is_empty()
    }

    /// Splits off the space for the first `n_pretokens` pretokens with `n_bytes` bytes.
    fn split(self, (n_pretokens, n_bytes): (usize, usize)) -> (Columns<'c>, Columns<'c>) {
        let (bytes, bytes_after) = self.bytes.split_at_mut(n_bytes);
        let (ends, ends_after) = self.ends.split_at_mut(n_pretokens);
        let (counts, counts_after) = self.counts.split_at_mut(n_pretokens);
        let end = self.end + n_bytes as u64;
        (
            Columns { bytes, ends, counts, end: self.end },
            Columns { bytes: bytes_after, ends: ends_after, counts: counts_after, end },
        )
    }
}

/// Writes the next item of a column.
fn write_next(column: &mut &mut [MaybeUninit<u64>], item: u64) {
    if let Some((next, rest)) = std::mem::take(column).split_first_mut() {
        next.write(item);
        *column = rest;
    }
}

/// The first sixteen bytes of a pretoken as two big-endian numbers.
type Prefix = [u64; 2];

/// Returns the prefix of a pretoken, padded with zeros.
fn prefix(pretoken: &[u8]) -> Prefix {
    let mut first = [0; 16];
    let n = pretoken.len().min(16);
    first[..n].copy_from_slice(&pretoken[..n]);
    let first = u128::from_be_bytes(first);
    [(first >> 64) as u64, first as u64]
}

/// Converts a prefix to a number with the same order. Prefixes are not stored as `u128`, which is aligned to sixteen
/// bytes: each item to sort would grow by a third, from 24 to 32 bytes.
fn as_number([high, low]: Prefix) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}
