//! Adds and subtracts counts, and checks columns that come from elsewhere.
//!
//! Cost: one hash table operation per pretoken, spread over all threads if there are many pretokens.

use std::sync::atomic::{AtomicUsize, Ordering};

use hashbrown::HashTable;

use super::partition_log::PartitionLog;
use super::pretoken_counts::{MIN_PARALLEL_PRETOKENS, PretokenCounts};
use super::shared_table::SharedTable;
use super::totals::{Totals, sum};
use crate::cpu::CpuTier;
use crate::error::{Error, Result};
use crate::memory::{TryReserve, copied};
use crate::parallel;
use crate::pretokens::key::{KeyHasher, PaddedText};
use crate::train::WeightedPretokens;

/// Number of pretokens in a job.
const PRETOKENS_PER_JOB: usize = 1 << 16;

/// Bytes of a short pretoken in the log of a job.
const LOGGED_BYTES: usize = 32;

/// Named in the message of [`Error::OutOfMemory`].
const SUM: &str = "the sum of the counts";

/// Named in the message of [`Error::OutOfMemory`].
const DIFFERENCE: &str = "the difference of the counts";

/// Marks a pretoken that these counts do not have.
const ABSENT: usize = usize::MAX;

impl PretokenCounts {
    /// Builds counts from columns of any origin. Adds the counts of equal pretokens and drops zero counts;
    /// `are_distinct` promises, unchecked, that there are neither. [`Error::Counts`] if the columns contradict each other or
    /// the sum of the counts overflows.
    pub fn from_columns(
        bytes: Vec<u8>,
        ends: Vec<u64>,
        counts: Vec<u64>,
        totals: Totals,
        are_distinct: bool,
    ) -> Result<Self> {
        check_columns(&bytes, &ends, &counts)?;
        sum(counts.iter().copied())?;
        let columns = PretokenCounts { bytes, ends, counts, totals };
        // Strictly ascending pretokens are distinct, so there is nothing to add.
        let ascends = || columns.iter().map(|(pretoken, _)| pretoken).is_sorted_by(|one, next| one < next);
        if are_distinct || ascends() && !columns.counts.contains(&0) {
            return Ok(columns);
        }
        PretokenCounts::merge(&[&columns])
    }

    /// Returns the sum of the counts and totals of all parts; each pretoken occurs once.
    pub fn merge(parts: &[&PretokenCounts]) -> Result<PretokenCounts> {
        // The tables add modulo 2^64. If the sum of all counts does not overflow, no single count does.
        sum(parts.iter().flat_map(|part| part.counts.iter().copied()))?;
        let threads = threads_for(parts.iter().map(|part| part.len()).sum());
        let table = SharedTable::new(None)?;
        let columns: Vec<_> = parts.iter().map(|part| part.columns()).collect();
        if parts.len() > 1
            && let Some(&largest) = columns.iter().max_by_key(|columns| columns.ends.len())
        {
            table.reserve(largest)?;
        }
        table.add_all(&columns, threads)?;
        let mut merged = table.into_counts(threads)?;
        merged.totals = parts.iter().try_fold(Totals::default(), |totals, part| totals.plus(part.totals))?;
        Ok(merged)
    }

    /// Adds `other` to these counts in place; after an error they are unchanged.
    ///
    /// The columns grow only by the new pretokens, and during the call each pretoken of `other` takes another 18 to 29
    /// bytes. [`PretokenCounts::merge`], in contrast, needs a table of all pretokens and new columns.
    pub fn add(&mut self, other: &PretokenCounts) -> Result<()> {
        // If the sum of all counts does not overflow, no single count does.
        sum(self.counts.iter().chain(&other.counts).copied())?;
        let totals = self.totals.plus(other.totals)?;
        let indices = self.indices_of(other)?;
        // Everything that can fail comes before the first change.
        let absent = (0..other.len()).filter(|&index| indices[index] == ABSENT);
        let (n_new, n_new_bytes) =
            absent.fold((0, 0), |(n, n_bytes), index| (n + 1, n_bytes + other.pretoken(index).len()));
        self.bytes.try_reserve_exact(n_new_bytes).map_err(Error::out_of_memory(SUM))?;
        self.ends.try_reserve_exact(n_new).map_err(Error::out_of_memory(SUM))?;
        self.counts.try_reserve_exact(n_new).map_err(Error::out_of_memory(SUM))?;
        for (index, &known) in indices.iter().enumerate() {
            if known == ABSENT {
                self.bytes.extend_from_slice(other.pretoken(index));
                self.ends.push(self.bytes.len() as u64);
                self.counts.push(other.counts[index]);
            } else {
                self.counts[known] += other.counts[index];
            }
        }
        self.totals = totals;
        Ok(())
    }

    /// Returns these counts minus `other`, without the pretokens whose count becomes 0.
    ///
    /// [`Error::Counts`] if `other` has more of anything, because then it is not part of these counts.
    pub fn minus(&self, other: &PretokenCounts) -> Result<PretokenCounts> {
        let minus = |what: &str, mine: u64, theirs: u64| {
            mine.checked_sub(theirs).ok_or_else(|| {
                Error::Counts(format!(
                    "counts: {what} {mine} times here, but {theirs} times in the counts to subtract; subtract only counts \
                     that were added before"
                ))
            })
        };
        let mut counts = copied(&self.counts, DIFFERENCE)?;
        for (index, known) in self.indices_of(other)?.into_iter().enumerate() {
            let (mine, theirs) = (counts.get(known).copied().unwrap_or(0), other.counts[index]);
            if mine < theirs {
                let pretoken = String::from_utf8_lossy(other.pretoken(index));
                minus(&format!("{pretoken:?} occurs"), mine, theirs)?;
            }
            counts[known] = mine - theirs;
        }
        let (mine, theirs) = (self.totals, other.totals);
        let totals = Totals {
            n_bytes: minus("a byte occurs", mine.n_bytes, theirs.n_bytes)?,
            n_documents: minus("a document occurs", mine.n_documents, theirs.n_documents)?,
            n_special_literals: minus(
                "a special token occurs",
                mine.n_special_literals,
                theirs.n_special_literals,
            )?,
        };
        Ok(PretokenCounts { totals, ..self.with_counts(&counts, 1)? })
    }

    /// Returns the index in these counts of each pretoken of `other`, or [`ABSENT`].
    fn indices_of(&self, other: &PretokenCounts) -> Result<Vec<usize>> {
        // Hash `other`, not `self`: when parts are added to a running sum it is the smaller one, and often fits in a
        // cache.
        let hasher = KeyHasher::new(CpuTier::best());
        let hash = |index: &usize| hasher.hash_bytes(other.pretoken(*index));
        let mut table = HashTable::new();
        table.try_reserve(other.len(), hash).map_err(Error::out_of_memory(SUM))?;
        for index in 0..other.len() {
            table.insert_unique(hash(&index), index, hash);
        }
        let mut found = Vec::with_reserved(other.len(), SUM)?;
        found.resize_with(other.len(), || AtomicUsize::new(ABSENT));
        let jobs = (0..self.len()).step_by(PRETOKENS_PER_JOB);
        parallel::for_each(threads_for(self.len()), jobs, |first| {
            for own in first..self.len().min(first + PRETOKENS_PER_JOB) {
                let pretoken = self.pretoken(own);
                let is_same = |&index: &usize| other.pretoken(index) == pretoken;
                if let Some(&index) = table.find(hasher.hash_bytes(pretoken), is_same) {
                    // No other job has this pretoken.
                    found[index].store(own, Ordering::Relaxed);
                }
            }
            Ok(())
        })?;
        Ok(found.into_iter().map(AtomicUsize::into_inner).collect())
    }
}

/// Returns the number of threads for this many pretokens.
fn threads_for(n_pretokens: usize) -> usize {
    if n_pretokens < MIN_PARALLEL_PRETOKENS { 1 } else { parallel::thread_count(0) }
}

impl SharedTable {
    /// Adds all counts of `parts`, on up to `threads` threads.
    pub(super) fn add_all(&self, parts: &[WeightedPretokens<'_>], threads: usize) -> Result<()> {
        let parts_of_columns = parts.iter().flat_map(|part| {
            (0..part.ends.len())
                .step_by(PRETOKENS_PER_JOB)
                .map(move |first| (part, first..part.ends.len().min(first + PRETOKENS_PER_JOB)))
        });
        parallel::for_each(threads, parts_of_columns, |(part, indices)| {
            let mut log = PartitionLog::new(indices.len() * LOGGED_BYTES);
            let padded = PaddedText::new(part.bytes);
            for index in indices {
                let start = if index == 0 { 0 } else { part.ends[index - 1] as usize };
                let (end, count) = (part.ends[index] as usize, part.counts[index]);
                if count == 0 {
                    continue;
                }
                match padded.key(start, end) {
                    Some(key) => {
                        log.make_room(self, 1)?;
                        log.add_key(&key, self.hasher.hash(key), count);
                    }
                    None => log.add_long(self, &part.bytes[start..end], count)?,
                }
            }
            log.flush(self)?;
            log.release(self);
            Ok(())
        })
    }
}

/// Fails if the columns contradict each other.
pub(super) fn check_columns(bytes: &[u8], ends: &[u64], counts: &[u64]) -> Result<()> {
    if ends.len() != counts.len() {
        return Err(Error::Counts(format!(
            "counts: there are {} pretokens but {} counts; each pretoken needs one count",
            ends.len(),
            counts.len()
        )));
    }
    if ends.last().copied().unwrap_or(0) != bytes.len() as u64 {
        return Err(Error::Counts(format!(
            "counts: the last pretoken ends at {}, but there are {} bytes; it must end at the last byte",
            ends.last().copied().unwrap_or(0),
            bytes.len()
        )));
    }
    let mut start = 0;
    for (index, &end) in ends.iter().enumerate() {
        if end <= start {
            return Err(Error::Counts(format!(
                "counts: pretoken {index} ends at {end} and starts at {start}; ends must ascend and \
                 no pretoken may be empty"
            )));
        }
        start = end;
    }
    Ok(())
}

/// Checks the pretokens of a counts file: `ends` must ascend to the end of `bytes`, and each row must be greater than
/// the one before, compared as bytes. The error names the first row that breaks these rules.
pub fn check_ascending(bytes: &[u8], ends: &[u64]) -> Result<()> {
    let mut previous: &[u8] = &[];
    let mut start = 0;
    for (row, &end) in ends.iter().enumerate() {
        let pretoken = usize::try_from(end).ok().and_then(|end| bytes.get(start..end));
        let Some(pretoken) = pretoken.filter(|pretoken| !pretoken.is_empty()) else {
            return Err(Error::Invalid(format!("row {row}: the pretoken is empty or ends beyond the bytes")));
        };
        if row > 0 && pretoken <= previous {
            return Err(Error::Invalid(format!(
                "row {row}: the pretoken is not greater than the one before it; sort the rows by bytes and remove duplicates"
            )));
        }
        (previous, start) = (pretoken, start + pretoken.len());
    }
    if start != bytes.len() {
        return Err(Error::Invalid(format!(
            "the pretokens end at byte {start}, but there are {} bytes",
            bytes.len()
        )));
    }
    Ok(())
}
