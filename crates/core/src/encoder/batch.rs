//! Encodes many texts on all threads.
//!
//! A job is a group of texts of about [`GROUP_BYTES`]. Results are collected in the order of the texts, so they do not
//! depend on threads.

use std::ops::Range;

use super::output::{Counter, Ids};
use super::{Encoder, SpecialPolicy, Worker, encode_jobs};
use crate::error::Result;
use crate::ids::Id;
use crate::memory::TryReserve;
use crate::monitor::{Monitor, OnProgress};
use crate::pages;
use crate::text::Text;

/// Bytes of text in a job.
const GROUP_BYTES: usize = 1 << 17;

/// Bytes of text after which progress is reported.
const PROGRESS_BYTES: usize = 1 << 14;

/// The result of a job: the ids of its texts, if they are wanted, and how many each text has.
struct GroupResult<I> {
    ids: Vec<I>,
    counts: Vec<usize>,
    /// The current text in UTF-8, if it is stored otherwise.
    buffer: String,
}

impl<I> Default for GroupResult<I> {
    fn default() -> Self {
        GroupResult { ids: Vec::new(), counts: Vec::new(), buffer: String::new() }
    }
}

impl Encoder {
    /// The ids of all texts, one after the other, and n + 1 offsets: text i has `ids[offsets[i]..offsets[i + 1]]`.
    pub fn encode_batch<I: Id>(
        &self,
        texts: &[impl Text],
        specials: SpecialPolicy<'_>,
        threads: usize,
        monitor: &dyn Monitor,
    ) -> Result<(Vec<I>, Vec<i64>)> {
        let mut offsets = Vec::with_room(texts.len() + 1, "offsets")?;
        offsets.push(0i64);
        let (mut all, mut end) = (Vec::new(), 0);
        // Hardly any text has more than an id for two bytes.
        pages::reserve(&mut all, texts.iter().map(Text::n_bytes).sum::<usize>() / 2);
        self.encode_each(texts, specials, threads, monitor, |ids, counts| {
            all.try_extend(ids, "ids")?;
            offsets.extend(counts.iter().map(|&n| {
                end += n as i64;
                end
            }));
            Ok(())
        })?;
        all.shrink_to_fit();
        Ok((all, offsets))
    }

    /// Gives the ids of all texts to `take`, a group of texts at a time: their ids, one after the other, and how many
    /// each text has. The calling thread calls `take`, in the order of the texts.
    pub fn encode_each<I: Id>(
        &self,
        texts: &[impl Text],
        specials: SpecialPolicy<'_>,
        threads: usize,
        monitor: &dyn Monitor,
        mut take: impl FnMut(&[I], &[usize]) -> Result<()>,
    ) -> Result<()> {
        self.check_width::<I>()?;
        let encode =
            |worker: &mut Worker, number, text: &str, ids: &mut Vec<I>, on_progress: OnProgress<'_>| {
                specials.check(number, text)?;
                let before = ids.len();
                worker.encode(&self.shared, text, self.recognised(specials), &mut Ids(ids), on_progress)?;
                Ok(ids.len() - before)
            };
        self.for_all(texts, threads, monitor, encode, |result: &mut GroupResult<I>| {
            take(&result.ids, &result.counts)
        })
    }

    /// How many ids each text has.
    pub fn count_batch(
        &self,
        texts: &[impl Text],
        specials: SpecialPolicy<'_>,
        threads: usize,
        monitor: &dyn Monitor,
    ) -> Result<Vec<i64>> {
        let mut counts = Vec::with_room(texts.len(), "counts")?;
        let count =
            |worker: &mut Worker, number, text: &str, _: &mut Vec<u16>, on_progress: OnProgress<'_>| {
                specials.check(number, text)?;
                let mut counter = Counter { n: 0, limit: usize::MAX };
                worker.encode(&self.shared, text, self.recognised(specials), &mut counter, on_progress)?;
                Ok(counter.n)
            };
        self.for_all(texts, threads, monitor, count, |result| {
            counts.extend(result.counts.iter().map(|&n| n as i64));
            Ok(())
        })?;
        Ok(counts)
    }

    /// Calls `encode` for all texts, and `collect` for the groups in order.
    fn for_all<I: Id>(
        &self,
        texts: &[impl Text],
        threads: usize,
        monitor: &dyn Monitor,
        encode: impl Fn(&mut Worker, usize, &str, &mut Vec<I>, OnProgress<'_>) -> Result<usize> + Sync,
        mut collect: impl FnMut(&mut GroupResult<I>) -> Result<()>,
    ) -> Result<()> {
        let groups = groups(texts, GROUP_BYTES)?;
        let n_bytes = texts.iter().map(|text| text.n_bytes() as u64).sum();
        let job = |number: usize, result: &mut GroupResult<I>, on_progress: OnProgress<'_>| {
            let group = groups.get(number).cloned().unwrap_or_default();
            let first = group.start;
            let texts = texts.get(group).unwrap_or_default();
            result.ids.clear();
            result.counts.clear();
            result.counts.grow(texts.len(), "counts")?;
            let mut unreported = 0;
            // Reading the clock for each short text would be a tenth of its cost.
            let mut on_progress = |n_done: usize| {
                unreported += n_done;
                // A call with 0 bytes comes from long work within one pretoken.
                if n_done != 0 && unreported < PROGRESS_BYTES {
                    return Ok(());
                }
                on_progress(std::mem::take(&mut unreported))
            };
            self.with_worker(|worker| {
                for (index, text) in texts.iter().enumerate() {
                    if let Some(next) = texts.get(index + 1) {
                        next.prefetch();
                    }
                    let utf8 = text.utf8(&mut result.buffer).map_err(|error| error.in_text(first + index))?;
                    let n_ids = encode(worker, first + index, utf8, &mut result.ids, &mut on_progress)
                        .map_err(|error| error.in_text(first + index))?;
                    result.counts.push(n_ids);
                }
                on_progress(0)
            })
        };
        encode_jobs(groups.len(), threads, n_bytes, monitor, job, |result, _| collect(result))
    }
}

/// Divides the texts into groups of about equal length.
fn groups(texts: &[impl Text], group_bytes: usize) -> Result<Vec<Range<usize>>> {
    let mut groups = Vec::new();
    let (mut start, mut n_bytes) = (0, 0);
    for (index, text) in texts.iter().enumerate() {
        n_bytes += text.n_bytes();
        if n_bytes >= group_bytes || index + 1 == texts.len() {
            groups.try_push(start..index + 1, "a batch")?;
            (start, n_bytes) = (index + 1, 0);
        }
    }
    Ok(groups)
}
