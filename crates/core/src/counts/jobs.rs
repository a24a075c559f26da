//! Divides a corpus into jobs, and does one.
//!
//! Many small sources (texts, files) make one job; a big source makes many jobs, of about [`Plan::range_bytes`] each.
//! Where the pattern does not allow cuts inside a document, a big source is one job.

use std::ops::Range;

use super::cut_points;
use super::local_counts::LocalCounts;
use super::range::{Plan, RangeCounter, Totals};
use super::shared_table::SharedTable;
use super::{CorpusSpecials, CountOptions};
use crate::corpus::utf8_reader::{Buffers, Source, Utf8Reader};
use crate::error::Result;
use crate::memory::TryReserve;
use crate::monitor::OnProgress;

/// Most ranges that the sources of one call are divided into, so that the list of jobs stays small.
const MAX_RANGES: u64 = 1 << 14;

/// The cost of opening a source, in bytes that could be counted in that time.
const SOURCE_WEIGHT: u64 = 256;

/// What one thread does before it takes the next job.
#[derive(Clone, Debug)]
pub(super) enum Job {
    /// Counts sources as a whole.
    Whole(Range<usize>),
    /// Counts the range of a source that begins at the cut of this number.
    Range(usize, u64),
}

/// What a thread uses for one job after another.
pub(super) struct ThreadState<'s> {
    local: &'s mut LocalCounts,
    buffers: Buffers,
    ends: Vec<usize>,
    /// The source of the last range, still open.
    open: Option<(usize, Utf8Reader<'s>)>,
}

impl<'s> ThreadState<'s> {
    pub(super) fn new(local: &'s mut LocalCounts) -> Self {
        ThreadState { local, buffers: Buffers::default(), ends: Vec::new(), open: None }
    }
}

/// What all jobs of a call share.
pub(super) struct Jobs<'s> {
    pub(super) options: &'s CountOptions,
    pub(super) plan: Plan,
    pub(super) table: &'s SharedTable,
    pub(super) sources: &'s [Source<'s>],
    pub(super) jobs: Vec<Job>,
}

impl<'s> Jobs<'s> {
    /// Divides `sources`.
    pub(super) fn new(
        options: &'s CountOptions,
        plan: Plan,
        table: &'s SharedTable,
        sources: &'s [Source<'s>],
    ) -> Result<Self> {
        let n_bytes = sources.iter().filter_map(Source::n_bytes).fold(0, u64::saturating_add);
        let plan = Plan { range_bytes: plan.range_bytes.max(n_bytes / MAX_RANGES), ..plan };
        let mut jobs = Jobs { options, plan, table, sources, jobs: Vec::new() };
        jobs.divide()?;
        Ok(jobs)
    }

    fn divide(&mut self) -> Result<()> {
        let range_bytes = self.plan.range_bytes;
        let can_cut = self.options.pretokenizer.is_memoryless()
            || (self.options.corpus_specials == CorpusSpecials::Split && !self.options.specials.is_empty());
        let (mut first, mut weight) = (0, 0);
        for (index, source) in self.sources.iter().enumerate() {
            let n_bytes = source.n_bytes().unwrap_or(range_bytes);
            let is_big = can_cut && source.n_bytes().is_some() && n_bytes > range_bytes;
            if first < index && (is_big || weight >= range_bytes / 4) {
                self.add(Job::Whole(first..index))?;
                (first, weight) = (index, 0);
            }
            if is_big {
                for number in 0..n_bytes.div_ceil(range_bytes) {
                    self.add(Job::Range(index, number))?;
                }
                first = index + 1;
            } else {
                weight += n_bytes + SOURCE_WEIGHT;
            }
        }
        if first < self.sources.len() { self.add(Job::Whole(first..self.sources.len())) } else { Ok(()) }
    }

    fn add(&mut self, job: Job) -> Result<()> {
        self.jobs.try_push(job, "the list of jobs")
    }

    /// Does the job of this number.
    pub(super) fn run(
        &self,
        state: &mut ThreadState<'s>,
        number: usize,
        totals: &mut Totals,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        *totals = Totals::default();
        let ThreadState { local, buffers, ends, open } = state;
        let mut counter = RangeCounter {
            options: self.options,
            plan: &self.plan,
            table: self.table,
            local,
            ends,
            on_progress,
            totals,
        };
        match &self.jobs[number] {
            Job::Whole(range) => {
                for source in &self.sources[range.clone()] {
                    let mut reader = self.open(*source, std::mem::take(buffers))?;
                    counter.count(&mut reader, 0, source.n_bytes().unwrap_or(u64::MAX))?;
                    *buffers = reader.close();
                }
            }
            &Job::Range(source, number) => {
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
                let Some(begin) = self.cut(reader, source, number)? else { return Ok(()) };
                let mut next = number + 1;
                let end = loop {
                    if let Some(end) = self.cut(reader, source, next)? {
                        break end;
                    }
                    next += 1;
                };
                counter.count(reader, begin, end)?;
            }
        }
        Ok(())
    }

    /// The cut of this number: the first is the source's begin, the last its end.
    fn cut(&self, reader: &mut Utf8Reader<'_>, source: usize, number: u64) -> Result<Option<u64>> {
        let n_bytes = self.sources[source].n_bytes().unwrap_or(0);
        match number {
            0 => Ok(Some(0)),
            _ if number.saturating_mul(self.plan.range_bytes) >= n_bytes => Ok(Some(n_bytes)),
            _ => cut_points::cut(self.options, &self.plan, reader, number),
        }
    }

    /// Opens a source.
    pub(super) fn open(&self, source: Source<'s>, buffers: Buffers) -> Result<Utf8Reader<'s>> {
        Utf8Reader::open(source, self.options.input_errors, &self.table.budget, buffers)
    }
}
