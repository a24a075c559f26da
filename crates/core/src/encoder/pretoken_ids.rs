//! Encodes distinct pretokens given as columns, for training that continues.

use super::output::Ids;
use super::{Encoder, encode_jobs};
use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::monitor::Monitor;
use crate::train::{WeightedIds, WeightedPretokens};

/// Bytes of pretokens in a job.
const JOB_BYTES: u64 = 1 << 18;

/// Named in the message of [`Error::OutOfMemory`].
const WHAT: &str = "the ids of pretokens";

/// The message for a pretoken that is longer than the ends of a job can express.
const TOO_LONG: &str = "a pretoken has more than 4 GiB; remove it from the counts";

impl Encoder {
    /// Returns the ids of each pretoken.
    pub fn encode_pretokens<'a>(
        &self,
        pretokens: WeightedPretokens<'a>,
        max_memory: Option<u64>,
        threads: usize,
        monitor: &dyn Monitor,
    ) -> Result<WeightedIds<'a>> {
        let WeightedPretokens { bytes, ends, counts } = pretokens;
        if !ends.is_sorted() || ends.last().is_some_and(|&end| end > bytes.len() as u64) {
            return Err(Error::Invalid(
                "the ends of pretokens must ascend and must not exceed the number of bytes".into(),
            ));
        }
        let held_bytes = (size_of_val(bytes) + size_of_val(ends) + size_of_val(counts)) as u64;
        let budget = Budget::new(max_memory);
        budget.take(held_bytes as usize, WHAT)?;
        // A job ends with the first pretoken that fills it.
        let mut jobs = vec![0usize];
        let mut start = 0;
        for (index, &end) in ends.iter().enumerate() {
            if end - start >= JOB_BYTES || index + 1 == ends.len() {
                jobs.try_push(index + 1, WHAT)?;
                start = end;
            }
        }
        let (mut all, mut all_ends) = (Vec::new(), Vec::with_reserved(ends.len(), WHAT)?);
        encode_jobs::<Vec<u32>>(
            jobs.len() - 1,
            threads,
            bytes.len() as u64,
            monitor,
            |number, ids, on_progress| {
                ids.clear();
                let (first, last) = (jobs[number], jobs[number + 1]);
                let start = if first == 0 { 0 } else { ends[first - 1] as usize };
                let mut own_ends: Vec<u32> = Vec::with_reserved(last - first, WHAT)?;
                for &end in &ends[first..last] {
                    let distance = u32::try_from(end as usize - start);
                    own_ends.push(distance.map_err(|_| Error::Invalid(TOO_LONG.into()))?);
                }
                let text = &bytes[start..];
                self.with_worker(|worker| {
                    worker.encode_pretokens(&self.shared, text, &own_ends, &mut Ids(ids), on_progress)
                })
            },
            |ids, _| {
                // Twice as much, for the old vector while it is copied to a larger one.
                budget.take(2 * size_of_val(ids.as_slice()), WHAT)?;
                all.try_extend(ids, WHAT)
            },
        )?;
        // The bytes of a pretoken's ids are exactly its own, except those that are left out.
        let (mut start, mut n_ids) = (0, 0);
        for &end in ends {
            let n_bytes = self.n_encoded_bytes(&bytes[start..end as usize]);
            let mut at = 0;
            while at < n_bytes {
                at += self.vocabulary().token(all[n_ids]).map_or(0, <[u8]>::len);
                n_ids += 1;
            }
            all_ends.push(n_ids as u64);
            start = end as usize;
        }
        Ok(WeightedIds { ids: all, ends: all_ends, counts, held_bytes })
    }

    /// Returns how many bytes of a pretoken are in its ids.
    fn n_encoded_bytes(&self, pretoken: &[u8]) -> usize {
        let vocabulary = self.vocabulary();
        let is_whole = || vocabulary.ignores_merges() && vocabulary.id_of(pretoken).is_some();
        if !self.shared.pretokenizer.drops_missing_bytes() || is_whole() {
            return pretoken.len();
        }
        pretoken.iter().filter(|&&byte| vocabulary.id_of_byte(byte).is_some()).count()
    }
}
