//! Encodes many texts on all threads.
//!
//! A job is a group of texts of about [`GROUP_BYTES`]. Results are collected in the order of the texts, so they do not
//! depend on threads.
//!
//! Short texts are joined, so that their pretokens are looked up together: a text on its own would wait for the loads
//! of its few pretokens. Texts that hold a literal of a special token are not joined. If anything fails, texts are
//! encoded one by one, so that each reports its own literals and errors.
//!
//! Tried, by `cargo run --release --example encode`:
//! - Join texts of up to 8 KB to 16 KB: English and C as fast, fifteen languages 5 to 8 % slower.
//! - Let each thread append the ids of its groups to the result under a lock, instead of the calling thread: between 9
//!   % faster and 13 % slower from run to run.

use std::ops::Range;

use super::output::{Counter, Ids, Output};
use super::{Encoder, SpecialPolicy, Worker, encode_jobs};
use crate::error::{Error, Result};
use crate::ids::Id;
use crate::memory::{ResultIds, TryReserve, try_push_str};
use crate::monitor::{Monitor, OnProgress};
use crate::parallel;
use crate::prefetch::Ahead;
use crate::pretokens::{Place, Pretokenizer};
use crate::special::SpecialTokens;
use crate::text::Text;

/// Bytes of text per job.
const GROUP_BYTES: usize = 1 << 17;

/// Bytes of text after which progress is reported.
const PROGRESS_BYTES: usize = 1 << 14;

/// Texts of at most this many bytes are joined.
const SHORT_BYTES: usize = 512;

/// Bytes of the next text to prefetch while texts are joined.
const AHEAD_BYTES: usize = 1 << 10;

/// Short texts are joined up to this many bytes; with the keys of their pretokens they stay in the first-level cache.
const JOINED_BYTES: usize = 1 << 12;

/// Short texts, joined, in UTF-8.
#[derive(Default)]
struct Joined {
    text: String,
    /// Where each text ends.
    ends: Vec<usize>,
    /// How many of the texts are encoded.
    n_done: usize,
}

impl Joined {
    /// Joins the first of `texts`, up to one that is too long, not valid or changed by a normaliser.
    fn take(&mut self, texts: &[impl Text], pretokenizer: &Pretokenizer, buffer: &mut String) {
        self.clear();
        for (index, text) in texts.iter().enumerate() {
            if text.n_bytes() > SHORT_BYTES || self.text.len() >= JOINED_BYTES {
                break;
            }
            if let Some(next) = texts.get(index + 1) {
                Ahead::new(next.stored(), AHEAD_BYTES).prefetch(usize::MAX);
            }
            let Ok(utf8) = text.utf8(buffer) else { break };
            if !pretokenizer.leaves_unchanged(utf8)
                || try_push_str(&mut self.text, utf8, "short texts").is_err()
                || self.ends.try_push(self.text.len(), "short texts").is_err()
            {
                break;
            }
        }
    }

    fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.n_done = 0;
    }

    /// Returns the next texts, up to one that holds one of `literals`.
    fn next(&self, literals: [Option<&SpecialTokens>; 2]) -> Run<'_> {
        let start = self.n_done.checked_sub(1).map_or(0, |last| self.ends[last]);
        let found = literals
            .into_iter()
            .flatten()
            .filter_map(|specials| Some(specials.find(self.text.as_bytes(), start)?.start));
        let left = &self.ends[self.n_done..];
        let ends = found.min().map_or(left, |at| &left[..left.partition_point(|&end| end <= at)]);
        Run { text: &self.text[start..ends.last().map_or(start, |&end| end)], start, ends }
    }
}

/// Consecutive texts of [`Joined`].
#[derive(Clone, Copy)]
struct Run<'a> {
    text: &'a str,
    /// Where the first begins and where each ends, in the joined text.
    start: usize,
    ends: &'a [usize],
}

/// What a job encodes in one call.
enum Piece<'a> {
    /// One text and its number.
    One(usize, &'a str),
    /// Several short texts.
    Short(Run<'a>),
}

/// The result of a job: the ids of its texts, unless only counts are wanted, and how many each text has.
struct GroupResult<I> {
    ids: Vec<I>,
    counts: Vec<usize>,
    /// The current text in UTF-8, if it is stored in another encoding.
    buffer: String,
    joined: Joined,
}

/// Where a job puts ids and counts.
struct GroupSink<'a, I> {
    ids: &'a mut Vec<I>,
    counts: &'a mut Vec<usize>,
}

impl<I> Default for GroupResult<I> {
    fn default() -> Self {
        GroupResult { ids: Vec::new(), counts: Vec::new(), buffer: String::new(), joined: Joined::default() }
    }
}

impl Encoder {
    /// Returns the ids of all texts, concatenated, and n + 1 offsets: text i has `ids[offsets[i]..offsets[i + 1]]`.
    pub fn encode_batch<I: Id>(
        &self,
        texts: &[impl Text],
        specials: SpecialPolicy<'_>,
        threads: usize,
        monitor: &dyn Monitor,
    ) -> Result<(ResultIds<I>, Vec<i64>)> {
        let mut offsets = Vec::with_reserved(texts.len() + 1, "offsets")?;
        offsets.push(0i64);
        // Hardly any text has more than one id for two bytes.
        let n_ids = texts.iter().map(Text::n_bytes).sum::<usize>() / 2;
        // With one thread there is one result, to which each group adds its ids, so nothing is copied.
        let is_alone = parallel::thread_count(threads) == 1;
        let (mut all, mut end) = (if is_alone { Vec::new() } else { ResultIds::with_capacity(n_ids) }, 0);
        let n_first = if is_alone { n_ids } else { 0 };
        self.encode_groups(texts, specials, threads, monitor, n_first, |ids, counts| {
            offsets.extend(counts.iter().map(|&n| {
                end += n as i64;
                end
            }));
            if !is_alone {
                all.try_extend(ids, "ids")?;
                ids.clear();
            } else if offsets.len() > texts.len() {
                all = std::mem::take(ids);
            }
            Ok(())
        })?;
        Ok((all.into(), offsets))
    }

    /// Passes the ids of all texts to `take`, one group of texts at a time: their ids, concatenated, and how many each
    /// text has. The calling thread calls `take`, in the order of the texts.
    pub fn encode_each<I: Id>(
        &self,
        texts: &[impl Text],
        specials: SpecialPolicy<'_>,
        threads: usize,
        monitor: &dyn Monitor,
        mut take: impl FnMut(&[I], &[usize]) -> Result<()>,
    ) -> Result<()> {
        self.encode_groups(texts, specials, threads, monitor, 0, |ids, counts| {
            take(ids, counts)?;
            ids.clear();
            Ok(())
        })
    }

    /// Like [`encode_each`](Self::encode_each), but `take` can leave ids in the vector: they stay before those of a
    /// later group that the same thread encodes. Each thread reserves room for `n_first` ids.
    fn encode_groups<I: Id>(
        &self,
        texts: &[impl Text],
        specials: SpecialPolicy<'_>,
        threads: usize,
        monitor: &dyn Monitor,
        n_first: usize,
        mut take: impl FnMut(&mut Vec<I>, &[usize]) -> Result<()>,
    ) -> Result<()> {
        self.check_width::<I>()?;
        let encode = |worker: &mut Worker,
                      piece: Piece<'_>,
                      result: &mut GroupSink<'_, I>,
                      on_progress: OnProgress<'_>| {
            if result.ids.capacity() == 0 {
                *result.ids = ResultIds::with_capacity(n_first);
            }
            self.encode_piece(worker, piece, specials, &mut Ids(result.ids), result.counts, on_progress)
        };
        self.for_all(texts, specials, threads, monitor, encode, |result: &mut GroupResult<I>| {
            take(&mut result.ids, &result.counts)
        })
    }

    /// Returns the number of ids of each text.
    pub fn count_batch(
        &self,
        texts: &[impl Text],
        specials: SpecialPolicy<'_>,
        threads: usize,
        monitor: &dyn Monitor,
    ) -> Result<Vec<i64>> {
        let mut counts = Vec::with_reserved(texts.len(), "counts")?;
        let count = |worker: &mut Worker,
                     piece: Piece<'_>,
                     result: &mut GroupSink<'_, u16>,
                     on_progress: OnProgress<'_>| {
            let mut counter = Counter { n: 0, limit: usize::MAX };
            self.encode_piece(worker, piece, specials, &mut counter, result.counts, on_progress)
        };
        self.for_all(texts, specials, threads, monitor, count, |result| {
            counts.extend(result.counts.iter().map(|&n| n as i64));
            Ok(())
        })?;
        Ok(counts)
    }

    /// Appends the ids of the texts of a piece to `output`, and the number of ids of each text to `counts`.
    fn encode_piece<S: Output>(
        &self,
        worker: &mut Worker,
        piece: Piece<'_>,
        specials: SpecialPolicy<'_>,
        output: &mut S,
        counts: &mut Vec<usize>,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        let mut before = output.n();
        match piece {
            Piece::One(number, text) => {
                specials.check(number, text)?;
                worker.encode(
                    &self.shared,
                    text,
                    Place::Start,
                    self.recognised(specials),
                    output,
                    on_progress,
                )?;
                counts.push(output.n() - before);
            }
            Piece::Short(Run { text, start, ends }) => {
                let first = counts.len();
                worker.encode_joined(&self.shared, text, start, ends, output, counts)?;
                for count in &mut counts[first..] {
                    (before, *count) = (*count, *count - before);
                }
            }
        }
        Ok(())
    }

    /// Calls `encode` for all texts, and `collect` for each group, in order.
    fn for_all<I: Id>(
        &self,
        texts: &[impl Text],
        specials: SpecialPolicy<'_>,
        threads: usize,
        monitor: &dyn Monitor,
        encode: impl Fn(&mut Worker, Piece<'_>, &mut GroupSink<'_, I>, OnProgress<'_>) -> Result<()> + Sync,
        mut collect: impl FnMut(&mut GroupResult<I>) -> Result<()>,
    ) -> Result<()> {
        let groups = groups(texts, GROUP_BYTES)?;
        let n_bytes = texts.iter().map(|text| text.n_bytes() as u64).sum();
        let literals =
            specials.literals(&self.shared.specials).filter(|_| self.pretokenizer().looks_ahead_only());
        let job = |number: usize, result: &mut GroupResult<I>, on_progress: OnProgress<'_>| {
            let group = groups.get(number).cloned().unwrap_or_default();
            let first = group.start;
            let texts = texts.get(group).unwrap_or_default();
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
                let GroupResult { ids, counts, buffer, joined } = result;
                joined.clear();
                while counts.len() < texts.len() {
                    let (index, n_ids) = (counts.len(), ids.len());
                    let mut n_texts = 0;
                    if let Some(literals) = literals {
                        if joined.n_done == joined.ends.len() {
                            joined.take(&texts[index..], self.pretokenizer(), buffer);
                        }
                        let run = joined.next(literals);
                        n_texts = run.ends.len();
                        if n_texts > 1 {
                            let room = &mut GroupSink { ids, counts };
                            if encode(worker, Piece::Short(run), room, &mut |_| Ok(())).is_ok() {
                                on_progress(run.text.len())?;
                                joined.n_done += n_texts;
                                continue;
                            }
                            ids.truncate(n_ids);
                            counts.truncate(index);
                        }
                    }
                    let n_texts = n_texts.max(1);
                    joined.n_done = joined.ends.len().min(joined.n_done + n_texts);
                    for (index, text) in texts.iter().enumerate().skip(index).take(n_texts) {
                        worker.look_ahead(texts.get(index + 1));
                        let in_text = |error: Error| error.in_text(first + index);
                        let utf8 = text.utf8(buffer).map_err(in_text)?;
                        let piece = Piece::One(first + index, utf8);
                        encode(worker, piece, &mut GroupSink { ids, counts }, &mut on_progress)
                            .map_err(in_text)?;
                    }
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
