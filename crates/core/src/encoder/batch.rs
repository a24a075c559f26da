//! Many texts at once, over all threads.
//!
//! Enters: texts. Leaves: all ids in one array with the offsets of each text, or one count a text. Threads
//! take stretches of about [`STRETCH_BYTES`]; what comes out does not depend on who takes which.

use std::ops::Range;

use super::crew::{Crew, Pulse};
use super::sink::{Counter, Ids};
use super::{Encoder, SpecialPolicy, Worker};
use crate::error::{Error, Result};
use crate::ids::Id;
use crate::monitor::Monitor;

/// How much text a thread takes at a time.
const STRETCH_BYTES: usize = 1 << 19;

/// The product of one stretch: the ids of its texts, if they are wanted, and how many each has.
struct Piece<I> {
    ids: Vec<I>,
    counts: Vec<usize>,
}

impl<I> Default for Piece<I> {
    fn default() -> Self {
        Piece { ids: Vec::new(), counts: Vec::new() }
    }
}

impl Encoder {
    /// The ids of all texts, one after the other, and n + 1 offsets: text i has `ids[offsets[i]..offsets[i + 1]]`.
    pub fn encode_batch<I: Id>(
        &self,
        texts: &[&str],
        specials: SpecialPolicy<'_>,
        threads: usize,
        monitor: &dyn Monitor,
    ) -> Result<(Vec<I>, Vec<i64>)> {
        self.check_width::<I>()?;
        let mut offsets = Vec::new();
        offsets.try_reserve_exact(texts.len() + 1).map_err(Error::out_of_memory("offsets"))?;
        offsets.push(0i64);
        let (mut all, mut end) = (Vec::new(), 0);
        let encode = |worker: &mut Worker, text: &str, ids: &mut Vec<I>| {
            specials.check(text)?;
            let before = ids.len();
            worker.encode(self, text, self.recognised(specials), &mut Ids(ids))?;
            Ok(ids.len() - before)
        };
        self.for_all(texts, threads, monitor, encode, |piece: &mut Piece<I>| {
            if all.is_empty() {
                std::mem::swap(&mut all, &mut piece.ids);
            } else {
                all.try_reserve(piece.ids.len()).map_err(Error::out_of_memory("ids"))?;
                all.extend_from_slice(&piece.ids);
            }
            offsets.extend(piece.counts.iter().map(|&n| {
                end += n as i64;
                end
            }));
            Ok(())
        })?;
        Ok((all, offsets))
    }

    /// How many ids each text has.
    pub fn count_batch(
        &self,
        texts: &[&str],
        specials: SpecialPolicy<'_>,
        threads: usize,
        monitor: &dyn Monitor,
    ) -> Result<Vec<u64>> {
        let mut counts = Vec::new();
        counts.try_reserve_exact(texts.len()).map_err(Error::out_of_memory("counts"))?;
        let count = |worker: &mut Worker, text: &str, _: &mut Vec<u16>| {
            specials.check(text)?;
            let mut counter = Counter { n: 0, limit: usize::MAX };
            worker.encode(self, text, self.recognised(specials), &mut counter)?;
            Ok(counter.n)
        };
        self.for_all(texts, threads, monitor, count, |piece| {
            counts.extend(piece.counts.iter().map(|&n| n as u64));
            Ok(())
        })?;
        Ok(counts)
    }

    /// Runs `encode` over all texts and `join` over the pieces, in the order of the texts.
    fn for_all<I: Id>(
        &self,
        texts: &[&str],
        threads: usize,
        monitor: &dyn Monitor,
        encode: impl Fn(&mut Worker, &str, &mut Vec<I>) -> Result<usize> + Sync,
        join: impl FnMut(&mut Piece<I>) -> Result<()> + Send,
    ) -> Result<()> {
        let stretch_bytes = if threads == 1 { usize::MAX } else { STRETCH_BYTES };
        let stretches = stretches(texts, stretch_bytes)?;
        let n_bytes = texts.iter().map(|text| text.len() as u64).sum();
        let job = |number: usize, piece: &mut Piece<I>, pulse: Pulse<'_>| {
            let texts =
                stretches.get(number).and_then(|stretch| texts.get(stretch.clone())).unwrap_or_default();
            piece.ids.clear();
            piece.counts.clear();
            piece.counts.try_reserve(texts.len()).map_err(Error::out_of_memory("counts"))?;
            self.with_worker(|worker| {
                let mut n_bytes = 0;
                for text in texts {
                    piece.counts.push(encode(worker, text, &mut piece.ids)?);
                    n_bytes += text.len();
                    if n_bytes >= STRETCH_BYTES {
                        pulse(std::mem::take(&mut n_bytes))?;
                    }
                }
                pulse(n_bytes)
            })
        };
        Crew { n_jobs: stretches.len(), threads, monitor, n_bytes }.run(job, join)
    }
}

/// Cuts the texts into stretches of about equal length.
fn stretches(texts: &[&str], stretch_bytes: usize) -> Result<Vec<Range<usize>>> {
    let mut stretches = Vec::new();
    let (mut start, mut n_bytes) = (0, 0);
    for (index, text) in texts.iter().enumerate() {
        n_bytes += text.len();
        if n_bytes >= stretch_bytes || index + 1 == texts.len() {
            stretches.try_reserve(1).map_err(Error::out_of_memory("a batch"))?;
            stretches.push(start..index + 1);
            (start, n_bytes) = (index + 1, 0);
        }
    }
    Ok(stretches)
}
