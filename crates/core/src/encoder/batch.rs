//! Many texts at once, over all threads.
//!
//! Enters: texts. Leaves: all ids in one array with the offsets of each text, or one count a text. Texts are
//! taken in stretches of about [`STRETCH_BYTES`] by whichever thread is free; what comes out does not depend
//! on which. The calling thread works too, so that it goes on alone where no thread can be started.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::sink::{Counter, Ids};
use super::{Encoder, SpecialPolicy};
use crate::error::{Error, Result};
use crate::ids::Id;
use crate::monitor::{Monitor, Stage};

/// How much text a thread takes at a time.
const STRETCH_BYTES: usize = 1 << 18;

/// How often the monitor is told.
const REPORT_EVERY: Duration = Duration::from_millis(100);

/// The product of one stretch: ids where they are wanted, and where each text's end or how many it has.
struct Piece<I> {
    ids: Vec<I>,
    counts: Vec<usize>,
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
        let pieces = self.pieces(texts, threads, monitor, |worker, text, ids: &mut Vec<I>| {
            specials.check(text)?;
            let before = ids.len();
            worker.encode(self, text, self.recognised(specials), &mut Ids(ids))?;
            Ok(ids.len() - before)
        })?;
        let mut offsets = Vec::new();
        offsets.try_reserve_exact(texts.len() + 1).map_err(Error::out_of_memory("offsets"))?;
        offsets.push(0i64);
        let mut end = 0i64;
        for piece in &pieces {
            offsets.extend(piece.counts.iter().map(|&n| {
                end += n as i64;
                end
            }));
        }
        Ok((join(pieces)?, offsets))
    }

    /// How many ids each text has.
    pub fn count_batch(
        &self,
        texts: &[&str],
        specials: SpecialPolicy<'_>,
        threads: usize,
        monitor: &dyn Monitor,
    ) -> Result<Vec<u64>> {
        let pieces = self.pieces(texts, threads, monitor, |worker, text, _: &mut Vec<u32>| {
            specials.check(text)?;
            let mut counter = Counter { n: 0, limit: usize::MAX };
            worker.encode(self, text, self.recognised(specials), &mut counter)?;
            Ok(counter.n)
        })?;
        let mut counts = Vec::new();
        counts.try_reserve_exact(texts.len()).map_err(Error::out_of_memory("counts"))?;
        counts.extend(pieces.iter().flat_map(|piece| &piece.counts).map(|&n| n as u64));
        Ok(counts)
    }

    /// Runs `encode` over all texts; the pieces come in the order of the texts.
    fn pieces<I: Id>(
        &self,
        texts: &[&str],
        threads: usize,
        monitor: &dyn Monitor,
        encode: impl Fn(&mut super::Worker, &str, &mut Vec<I>) -> Result<usize> + Sync,
    ) -> Result<Vec<Piece<I>>> {
        let n_bytes: usize = texts.iter().map(|text| text.len()).sum();
        let stretches = stretches(texts)?;
        monitor.report(Stage::Encode, 0, n_bytes as u64)?;
        let (next, done_bytes, stop) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
        let finished: Mutex<Vec<(usize, Piece<I>)>> = Mutex::default();
        let work = |tell: &mut dyn FnMut() -> Result<()>| {
            self.with_worker(|worker| {
                while !stop.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(stretch) = stretches.get(index) else { break };
                    let mut piece = Piece { ids: Vec::new(), counts: Vec::new() };
                    piece.counts.try_reserve_exact(stretch.len()).map_err(Error::out_of_memory("counts"))?;
                    for text in &texts[stretch.clone()] {
                        piece.counts.push(encode(worker, text, &mut piece.ids)?);
                        done_bytes.fetch_add(text.len(), Ordering::Relaxed);
                    }
                    let mut finished = finished.lock().map_err(|_| Error::Interrupted)?;
                    finished.try_reserve(1).map_err(Error::out_of_memory("ids"))?;
                    finished.push((index, piece));
                    drop(finished);
                    tell()?;
                }
                Ok(())
            })
            .inspect_err(|_| stop.store(true, Ordering::Relaxed))
        };
        let wanted = wanted_threads(threads).min(stretches.len());
        let failures = std::thread::scope(|scope| {
            let mut others = Vec::new();
            for _ in 1..wanted {
                match std::thread::Builder::new().spawn_scoped(scope, || work(&mut || Ok(()))) {
                    Ok(other) => others.push(other),
                    Err(_) => break,
                }
            }
            let mut last = Instant::now();
            let own = work(&mut || {
                if last.elapsed() < REPORT_EVERY {
                    return Ok(());
                }
                last = Instant::now();
                monitor.report(Stage::Encode, done_bytes.load(Ordering::Relaxed) as u64, n_bytes as u64)
            });
            let joined = others.into_iter().map(|other| other.join().unwrap_or(Err(Error::Interrupted)));
            std::iter::once(own).chain(joined).filter_map(Result::err).collect::<Vec<_>>()
        });
        if let Some(first) = failures.into_iter().next() {
            return Err(first);
        }
        let mut finished = finished.into_inner().map_err(|_| Error::Interrupted)?;
        finished.sort_unstable_by_key(|&(index, _)| index);
        monitor.report(Stage::Encode, n_bytes as u64, n_bytes as u64)?;
        Ok(finished.into_iter().map(|(_, piece)| piece).collect())
    }
}

/// How many threads to use when `threads` are asked for; 0 asks for all there are.
pub(super) fn wanted_threads(threads: usize) -> usize {
    match threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    }
}

/// Cuts the texts into stretches of about equal length.
fn stretches(texts: &[&str]) -> Result<Vec<std::ops::Range<usize>>> {
    let mut stretches = Vec::new();
    let (mut start, mut n_bytes) = (0, 0);
    for (index, text) in texts.iter().enumerate() {
        n_bytes += text.len();
        if n_bytes >= STRETCH_BYTES || index + 1 == texts.len() {
            stretches.try_reserve(1).map_err(Error::out_of_memory("a batch"))?;
            stretches.push(start..index + 1);
            (start, n_bytes) = (index + 1, 0);
        }
    }
    Ok(stretches)
}

/// One array of all ids.
fn join<I: Id>(pieces: Vec<Piece<I>>) -> Result<Vec<I>> {
    let n: usize = pieces.iter().map(|piece| piece.ids.len()).sum();
    let mut all = Vec::new();
    all.try_reserve_exact(n).map_err(Error::out_of_memory("ids"))?;
    for piece in pieces {
        all.extend_from_slice(&piece.ids);
    }
    Ok(all)
}
