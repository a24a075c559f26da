//! Adds counts, and checks columns that were not counted here.
//!
//! Cost: one hash table operation for each pretoken, on all threads if there are many.

use super::pretoken_counts::{PretokenCounts, SERIAL};
use super::shared_table::{Batches, SharedTable};
use crate::error::{Error, Result};
use crate::parallel;
use crate::pretokens::key::PretokenKey;
use crate::train::WeightedPretokens;

/// Pretokens in a job.
const PRETOKENS_PER_JOB: usize = 1 << 16;

impl PretokenCounts {
    /// Counts from columns of any origin. Equal pretokens are added, zero counts are dropped; [`Error::Counts`] if the
    /// columns do not fit together.
    pub fn from_columns(
        bytes: Vec<u8>,
        ends: Vec<u64>,
        counts: Vec<u64>,
        n_bytes: u64,
        n_documents: u64,
        n_special_literals: u64,
    ) -> Result<Self> {
        check_columns(&bytes, &ends, &counts)?;
        let columns = PretokenCounts { bytes, ends, counts, n_bytes, n_documents, n_special_literals };
        sum(columns.counts.iter().copied())?;
        // In ascending order no pretoken can occur twice, so nothing has to be added.
        let ascends = (1..columns.len()).all(|index| columns.pretoken(index - 1) < columns.pretoken(index));
        if ascends && !columns.counts.contains(&0) {
            return Ok(columns);
        }
        PretokenCounts::merge(&[&columns])
    }

    /// The sum of counts and totals; each pretoken occurs once.
    pub fn merge(parts: &[&PretokenCounts]) -> Result<PretokenCounts> {
        // The tables add modulo 2^64: no count can overflow if the sum of all does not.
        sum(parts.iter().flat_map(|part| part.counts.iter().copied()))?;
        let n_entries: usize = parts.iter().map(|part| part.len()).sum();
        let threads = match n_entries {
            0..SERIAL => 1,
            _ => parallel::wanted(0),
        };
        let table = SharedTable::new(None)?;
        let columns: Vec<_> = parts.iter().map(|part| part.columns()).collect();
        table.add_all(&columns, threads)?;
        let mut merged = table.into_counts(threads)?;
        merged.n_bytes = sum(parts.iter().map(|part| part.n_bytes))?;
        merged.n_documents = sum(parts.iter().map(|part| part.n_documents))?;
        merged.n_special_literals = sum(parts.iter().map(|part| part.n_special_literals))?;
        Ok(merged)
    }
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
            let mut batches = Batches::new(self)?;
            for index in indices {
                let start = if index == 0 { 0 } else { part.ends[index - 1] as usize };
                let (pretoken, count) = (&part.bytes[start..part.ends[index] as usize], part.counts[index]);
                match PretokenKey::of(pretoken) {
                    Some(key) => batches.add(self, key, count)?,
                    None => self.add_long(self.hasher.hash_bytes(pretoken), pretoken, count)?,
                }
            }
            batches.flush(self)?;
            batches.give_back(self);
            Ok(())
        })
    }
}

/// Fails unless the columns fit together.
pub(super) fn check_columns(bytes: &[u8], ends: &[u64], counts: &[u64]) -> Result<()> {
    if ends.len() != counts.len() {
        return Err(Error::Counts(format!(
            "counts: {} pretokens have {} counts; give one count to each pretoken",
            ends.len(),
            counts.len()
        )));
    }
    if ends.last().copied().unwrap_or(0) != bytes.len() as u64 {
        return Err(Error::Counts(format!(
            "counts: the last pretoken ends at {}, but there are {} bytes; the two must agree",
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

/// The sum, or [`Error::Counts`] if it is more than 64 bits.
pub(super) fn sum(counts: impl Iterator<Item = u64>) -> Result<u64> {
    let sum: u128 = counts.map(u128::from).sum();
    u64::try_from(sum).map_err(|_| {
        Error::Counts(format!("counts: they add up to {sum}, more than 2**64 - 1; the parts are damaged"))
    })
}
