//! Divides a corpus into jobs, and runs one job.
//!
//! Several small sources (texts, files) form one job. A large source is divided into parts of about
//! [`Plan::part_bytes`], one job each, unless the pattern needs backtracking: then the source stays whole.

use std::ops::Range;

use super::CountOptions;
use super::local_counts::LocalCounts;
use super::part::{PartCounter, Plan};
use super::shared_table::SharedTable;
use super::totals::Totals;
use crate::corpus::utf8_reader::{Source, Utf8Reader};
use crate::error::Result;
use crate::memory::TryReserve;
use crate::monitor::OnProgress;
use crate::pretokens::safe_cuts::{SafeCuts, part_at};

/// Approximate maximum number of parts for all sources of one call; bounds the list of jobs.
const MAX_PARTS: u64 = 1 << 14;

/// The cost of opening a source, as the number of bytes that can be counted in that time.
const SOURCE_WEIGHT: u64 = 256;

/// Bytes between two progress reports. Each call counts as another [`BYTES_PER_CALL`], for the time that it takes.
const TICK_BYTES: usize = 1 << 16;
const BYTES_PER_CALL: usize = 1 << 11;

/// A unit of work for a thread.
#[derive(Clone, Debug)]
pub(super) enum Job {
    /// Counts these sources as a whole.
    Whole(Range<usize>),
    /// (source, part number): counts one part of a source.
    Part(usize, u64),
}

/// What a thread keeps between jobs.
pub(super) struct ThreadState<'s> {
    local: &'s mut LocalCounts,
    /// The buffer of a closed reader, for the next one.
    bytes: Vec<u8>,
    ends: Vec<u32>,
    /// The source of the last part and its open reader.
    open: Option<(usize, Utf8Reader<'s>)>,
}

impl<'s> ThreadState<'s> {
    pub(super) fn new(local: &'s mut LocalCounts) -> Self {
        ThreadState { local, bytes: Vec::new(), ends: Vec::new(), open: None }
    }
}

/// The jobs of a call, and the data that they share.
pub(super) struct Jobs<'s> {
    pub(super) options: &'s CountOptions,
    pub(super) plan: Plan,
    cuts: SafeCuts,
    pub(super) table: &'s SharedTable,
    pub(super) sources: &'s [Source<'s>],
    pub(super) jobs: Vec<Job>,
}

impl<'s> Jobs<'s> {
    /// Divides `sources` into jobs.
    pub(super) fn new(
        options: &'s CountOptions,
        plan: Plan,
        table: &'s SharedTable,
        sources: &'s [Source<'s>],
    ) -> Result<Self> {
        let n_bytes = sources.iter().filter_map(Source::n_bytes).fold(0, u64::saturating_add);
        let plan = Plan { part_bytes: plan.part_bytes.max(n_bytes / MAX_PARTS), ..plan };
        let cuts = options.safe_cuts();
        let mut jobs = Jobs { options, plan, cuts, table, sources, jobs: Vec::new() };
        jobs.divide()?;
        Ok(jobs)
    }

    fn divide(&mut self) -> Result<()> {
        let part_bytes = self.plan.part_bytes;
        let can_cut = self.options.pretokenizer.has_cuts();
        let (mut first, mut weight) = (0, 0);
        for (index, source) in self.sources.iter().enumerate() {
            let n_bytes = source.n_bytes().unwrap_or(part_bytes);
            let is_big = can_cut && source.n_bytes().is_some() && n_bytes > part_bytes;
            if first < index && (is_big || weight >= part_bytes / 4) {
                self.add(Job::Whole(first..index))?;
                (first, weight) = (index, 0);
            }
            if is_big {
                for number in 0..self.n_parts(*source) {
                    self.add(Job::Part(index, number))?;
                }
                first = index + 1;
            } else {
                weight += n_bytes + SOURCE_WEIGHT;
            }
        }
        if first < self.sources.len() { self.add(Job::Whole(first..self.sources.len())) } else { Ok(()) }
    }

    fn n_parts(&self, source: Source<'_>) -> u64 {
        source.n_bytes().unwrap_or(0).div_ceil(self.plan.part_bytes)
    }

    fn add(&mut self, job: Job) -> Result<()> {
        self.jobs.try_push(job, "the list of jobs")
    }

    /// Runs job `number`.
    pub(super) fn run(
        &self,
        state: &mut ThreadState<'s>,
        number: usize,
        totals: &mut Totals,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        *totals = Totals::default();
        // Many sources are a single line of text: reporting each one would take longer than counting it.
        let (mut n_done, mut since) = (0, 0);
        let mut report_progress = |n_bytes: usize| {
            n_done += n_bytes;
            since += n_bytes + BYTES_PER_CALL;
            if since < TICK_BYTES {
                return Ok(());
            }
            since = 0;
            on_progress(std::mem::take(&mut n_done))
        };
        let ThreadState { local, bytes, ends, open } = state;
        let mut counter = PartCounter {
            options: self.options,
            plan: &self.plan,
            cuts: &self.cuts,
            table: self.table,
            local,
            ends,
            on_progress: &mut report_progress,
            totals,
        };
        match &self.jobs[number] {
            Job::Whole(sources) => {
                for source in &self.sources[sources.clone()] {
                    let mut reader = self.open(*source, std::mem::take(bytes))?;
                    counter.count(&mut reader, 0..u64::MAX)?;
                    *bytes = reader.close();
                }
            }
            &Job::Part(source, number) => {
                let reader = match open {
                    Some((opened, reader)) if *opened == source => reader,
                    _ => {
                        if let Some((_, reader)) = open.take() {
                            *bytes = reader.close();
                        }
                        let reader = self.open(self.sources[source], std::mem::take(bytes))?;
                        &mut open.insert((source, reader)).1
                    }
                };
                let n_parts = self.n_parts(self.sources[source]);
                if let Some(part) = part_at(number, n_parts, |number| self.cut(reader, number))? {
                    counter.count(reader, part)?;
                }
            }
        }
        on_progress(n_done)
    }

    /// Finds the offset of cut `number`, at least 1, near that multiple of the part size; `None` if there is no safe
    /// cut.
    fn cut(&self, reader: &mut Utf8Reader<'_>, number: u64) -> Result<Option<u64>> {
        let part_bytes = self.plan.part_bytes;
        let CountOptions { pretokenizer, specials, .. } = self.options;
        reader.safe_cut(number * part_bytes, part_bytes, pretokenizer, specials)
    }

    /// Opens a source.
    pub(super) fn open(&self, source: Source<'s>, bytes: Vec<u8>) -> Result<Utf8Reader<'s>> {
        Utf8Reader::open(source, &self.table.memory.budget, bytes)
    }
}
