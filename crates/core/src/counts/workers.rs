//! The threads that count, and how work gets to them.
//!
//! Enters: sources and jobs. Leaves: pretokens in tallies, and the ranges that were counted. Threads take
//! jobs from a queue that is one atomic number, in the order of the sources; the calling thread is one of
//! them and alone calls the monitor. No thread outlives the call. Where threads cannot be started, fewer
//! do the work.
//!
//! An error about the input is the one that a single thread would meet: the first in the order of the
//! jobs. When a job fails, those before it are finished, since they might fail too, and none after it are
//! begun.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use super::CountOptions;
use super::cut_points;
use super::local_counts::LocalCounts;
use super::range::{Plan, RangeCounter, Totals};
use super::shared_table::SharedTable;
use super::stitch::Counted;
use crate::corpus::utf8_reader::{Buffers, Source, Utf8Reader};
use crate::error::{Error, Result};
use crate::monitor::REPORT_EVERY;
use crate::parallel;

/// How many calls there are between two looks at the clock, which cost as much as counting ten pretokens.
const CALLS_PER_LOOK: u32 = 16;

/// Says when the monitor is due.
pub(super) struct Clock {
    n_calls: u32,
    reported: Instant,
}

impl Clock {
    /// Due after [`REPORT_EVERY`], not at once.
    pub(super) fn start() -> Self {
        Clock { n_calls: 0, reported: Instant::now() }
    }

    /// Whether it is time, now and then; if so, the next time is later.
    pub(super) fn is_due(&mut self) -> bool {
        self.n_calls += 1;
        self.n_calls >= CALLS_PER_LOOK && self.is_due_now()
    }

    /// Whether it is time; if so, the next time is later.
    fn is_due_now(&mut self) -> bool {
        self.n_calls = 0;
        let is_due = self.reported.elapsed() >= REPORT_EVERY;
        if is_due {
            self.reported = Instant::now();
        }
        is_due
    }
}

/// What one thread does before it takes the next job.
#[derive(Clone, Debug)]
pub(super) enum Job {
    /// Sources that are counted whole.
    Whole(Range<usize>),
    /// The range of a source that begins at the nominal cut of this number.
    Part(usize, u64),
}

/// A call's work, as all its threads see it.
pub(super) struct CountWorkers<'s> {
    pub(super) options: &'s CountOptions,
    pub(super) plan: &'s Plan,
    pub(super) table: &'s SharedTable,
    pub(super) sources: &'s [Source<'s>],
    pub(super) jobs: &'s [Job],
    next_job: AtomicUsize,
    n_bytes: AtomicU64,
    /// Set when all threads should stop where they are.
    stop: AtomicBool,
    /// Jobs from this number on are not wanted any more.
    wanted: AtomicUsize,
    /// The first failed job and its error.
    failure: Mutex<Option<(usize, Error)>>,
}

/// What a thread has to say at the end.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) totals: Totals,
    pub(super) counted: Vec<Counted>,
}

/// What a thread uses again and again.
#[derive(Default)]
struct Scratch<'s> {
    buffers: Buffers,
    ends: Vec<usize>,
    /// The source of the last part, still open.
    open: Option<(usize, Utf8Reader<'s>)>,
}

impl<'s> CountWorkers<'s> {
    pub(super) fn new(
        options: &'s CountOptions,
        plan: &'s Plan,
        table: &'s SharedTable,
        sources: &'s [Source<'s>],
        jobs: &'s [Job],
    ) -> Self {
        CountWorkers {
            options,
            plan,
            table,
            sources,
            jobs,
            next_job: AtomicUsize::new(0),
            n_bytes: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            wanted: AtomicUsize::new(usize::MAX),
            failure: Mutex::new(None),
        }
    }

    /// Bytes that are done.
    pub(super) fn n_bytes(&self) -> u64 {
        self.n_bytes.load(Ordering::Relaxed)
    }

    /// Does the work, with a thread for each tally. `report` is called by this thread alone, with the
    /// bytes that are done; an error of it stops the work.
    pub(super) fn work(
        &self,
        locals: &mut [LocalCounts],
        report: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<Vec<Outcome>> {
        let Some((own, others)) = locals.split_first_mut() else { return Ok(Vec::new()) };
        let mut outcomes = Vec::new();
        outcomes.try_reserve(1 + others.len()).map_err(Error::out_of_memory("the results of threads"))?;
        thread::scope(|scope| {
            let (sender, finished) = mpsc::channel();
            for local in others {
                let sender = sender.clone();
                let work = move || {
                    let outcome = self.take_jobs(local, &mut || self.check());
                    // The receiver is only gone if the calling thread panicked.
                    let _ = sender.send(outcome);
                };
                if parallel::spawn_scoped(scope, "pairloom-count", work).is_err() {
                    break;
                }
            }
            drop(sender);
            let mut clock = Clock::start();
            let mut on_progress = || if clock.is_due() { report(self.n_bytes()) } else { self.check() };
            outcomes.push(self.take_jobs(own, &mut on_progress));
            loop {
                match finished.recv_timeout(REPORT_EVERY) {
                    Ok(outcome) => outcomes.push(outcome),
                    Err(RecvTimeoutError::Disconnected) => break,
                    Err(RecvTimeoutError::Timeout) => {
                        if clock.is_due_now()
                            && let Err(error) = report(self.n_bytes())
                        {
                            self.fail(usize::MAX, error);
                        }
                    }
                }
            }
        });
        match self.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some((_, error)) => Err(error),
            None => Ok(outcomes),
        }
    }

    /// An error when all threads should stop.
    fn check(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Takes jobs until there are none that are wanted.
    fn take_jobs(&self, local: &mut LocalCounts, on_progress: &mut dyn FnMut() -> Result<()>) -> Outcome {
        let mut outcome = Outcome::default();
        let mut scratch = Scratch::default();
        loop {
            let number = self.next_job.fetch_add(1, Ordering::Relaxed);
            let Some(job) = self.jobs.get(number) else { break };
            if number >= self.wanted.load(Ordering::Relaxed) {
                break;
            }
            if let Err(error) = self.do_job(job, local, &mut scratch, &mut outcome, on_progress) {
                self.fail(number, error);
                break;
            }
        }
        outcome
    }

    fn do_job(
        &self,
        job: &Job,
        local: &mut LocalCounts,
        scratch: &mut Scratch<'s>,
        outcome: &mut Outcome,
        on_progress: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let Scratch { buffers, ends, open } = scratch;
        let mut scan = RangeCounter {
            options: self.options,
            plan: self.plan,
            table: self.table,
            local,
            ends,
            on_progress: &mut |n_bytes| {
                self.n_bytes.fetch_add(n_bytes, Ordering::Relaxed);
                on_progress()
            },
            totals: &mut outcome.totals,
        };
        match job {
            Job::Whole(range) => {
                for source in &self.sources[range.clone()] {
                    let mut reader = self.open(*source, std::mem::take(buffers))?;
                    scan.count(&mut reader, 0, source.n_bytes().unwrap_or(u64::MAX))?;
                    *buffers = reader.close();
                }
            }
            &Job::Part(source, index) => {
                let reader = match open {
                    Some((opened, reader)) if *opened == source => reader,
                    _ => {
                        if let Some((_, reader)) = open.take() {
                            *buffers = reader.close();
                        }
                        let reader = self.open(self.sources[source], std::mem::take(buffers))?;
                        &mut open.insert((source, reader)).1
                    }
                };
                let Some(begin) = self.cut(reader, source, index)? else { return Ok(()) };
                let mut next = index + 1;
                let end = loop {
                    if let Some(end) = self.cut(reader, source, next)? {
                        break end;
                    }
                    next += 1;
                };
                let stopped = scan.count(reader, begin, end)?;
                outcome.counted.try_reserve(1).map_err(Error::out_of_memory("the ranges of a file"))?;
                outcome.counted.push(Counted { source, begin, end, stopped });
            }
        }
        Ok(())
    }

    /// The cut of this number: the first is the source's begin, the last its end.
    fn cut(&self, reader: &mut Utf8Reader<'_>, source: usize, index: u64) -> Result<Option<u64>> {
        let n_bytes = self.sources[source].n_bytes().unwrap_or(0);
        match index {
            0 => Ok(Some(0)),
            _ if index.saturating_mul(self.plan.range_bytes) >= n_bytes => Ok(Some(n_bytes)),
            _ => cut_points::cut(self.options, self.plan, reader, index),
        }
    }

    /// Opens a source.
    pub(super) fn open(&self, source: Source<'s>, buffers: Buffers) -> Result<Utf8Reader<'s>> {
        Utf8Reader::open(source, self.options.input_errors, &self.table.budget, buffers)
    }

    /// Notes that job `number` failed, unless one before it has.
    fn fail(&self, number: usize, error: Error) {
        let is_about_input =
            matches!(error, Error::Io { .. } | Error::InvalidUtf8 { .. } | Error::Pattern { .. });
        {
            let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            let replaces = match &*failure {
                None => true,
                Some((first, _)) => is_about_input && number < *first,
            };
            if replaces {
                self.wanted.store(number, Ordering::Relaxed);
                *failure = Some((number, error));
            }
        }
        if !is_about_input {
            self.wanted.store(0, Ordering::Relaxed);
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// Does `work` on all items with up to `threads` threads, this one among them; returns the first error
/// that a thread met.
pub(super) fn share<T: Send>(
    threads: usize,
    items: impl Iterator<Item = T> + Send,
    work: impl Fn(T) -> Result<()> + Sync,
) -> Result<()> {
    let queue = Mutex::new(items);
    let failure = Mutex::new(None);
    let take_all = || {
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        while let Some(item) = next() {
            if let Err(error) = work(item) {
                failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                break;
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            if parallel::spawn_scoped(scope, "pairloom-count", take_all).is_err() {
                break;
            }
        }
        take_all();
    });
    failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}
