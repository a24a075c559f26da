//! Counts what it is given, batch after batch.
//!
//! Enters: texts or paths. Leaves: [`PretokenCounts`]. Each call makes jobs of about equal size out of its
//! sources (many small ones to a job, many jobs to a big one), has a [`CountWorkers`] do them, and joins what
//! was cut in two.

use std::fs;
use std::io;
use std::path::PathBuf;

use super::local_counts::LocalCounts;
use super::range::{Plan, Totals};
use super::shared_table::SharedTable;
use super::stitch::{Counted, Stitcher};
use super::workers::{Clock, CountWorkers, Job, share};
use super::{CorpusSpecials, CountOptions, PretokenCounts};
use crate::corpus::utf8_reader::{Buffers, Source};
use crate::error::{Error, Result};
use crate::monitor::{Monitor, Stage};
use crate::parallel;

/// Counts what it is given, batch after batch; [`Counter::finish`] freezes the result.
///
/// After an error a counter has counted some of the batch and is of no more use: `finish` fails too.
pub struct Counter {
    options: CountOptions,
    plan: Plan,
    table: SharedTable,
    locals: Vec<LocalCounts>,
    threads: usize,
    n_bytes: u64,
    totals: Totals,
    has_reported: bool,
    has_failed: bool,
}

impl Counter {
    /// A counter that has counted nothing.
    pub fn new(options: CountOptions) -> Result<Self> {
        Counter::with_plan(options, Plan::default())
    }

    /// A counter that cuts work in other sizes, for tests and measurements.
    #[doc(hidden)]
    pub fn with_plan(options: CountOptions, plan: Plan) -> Result<Self> {
        let threads = parallel::wanted(options.threads);
        Ok(Counter {
            table: SharedTable::new(options.max_memory)?,
            options,
            plan,
            locals: Vec::new(),
            threads,
            n_bytes: 0,
            totals: Totals::default(),
            has_reported: false,
            has_failed: false,
        })
    }

    /// Counts texts, each a document of its own, or several where special literals split it.
    pub fn count_texts(&mut self, texts: &[&str], monitor: &dyn Monitor) -> Result<()> {
        let mut sources = Vec::new();
        sources.try_reserve_exact(texts.len()).map_err(Error::out_of_memory(SOURCES))?;
        sources.extend(texts.iter().map(|text| Source::Text(text)));
        let total = self.options.total_hint;
        self.count(&sources, total, monitor)
    }

    /// Counts files of UTF-8, each a document of its own, or several where special literals split it.
    ///
    /// A file of no size (a pipe) is read to its end. An error names the first file in the order of
    /// `paths` that has one.
    pub fn count_files(&mut self, paths: &[PathBuf], monitor: &dyn Monitor) -> Result<()> {
        self.has_failed = true;
        let mut sources = Vec::new();
        sources.try_reserve_exact(paths.len()).map_err(Error::out_of_memory(SOURCES))?;
        let mut total = self.n_bytes;
        for path in paths {
            let metadata = fs::metadata(path).map_err(Error::io(path))?;
            if metadata.is_dir() {
                let source = io::Error::new(io::ErrorKind::IsADirectory, "is a folder; name the files in it");
                return Err(Error::Io { path: path.clone(), source });
            }
            // A file that says it is empty may not be: those of /proc say so.
            let n_bytes = Some(metadata.len()).filter(|&n_bytes| metadata.is_file() && n_bytes > 0);
            total = total.saturating_add(n_bytes.unwrap_or(0));
            sources.push(Source::File(path, n_bytes));
        }
        self.count(&sources, Some(total), monitor)
    }

    /// Puts `n_bytes` of text that its caller keeps on the books of `max_memory`, until they are released.
    pub(crate) fn hold(&mut self, n_bytes: usize) -> Result<()> {
        let held = self.table.budget.take(n_bytes, "the text of a pretoken that goes on");
        self.has_failed |= held.is_err();
        held
    }

    /// Takes off the books what was held.
    pub(crate) fn release(&self, n_bytes: usize) {
        self.table.budget.give(n_bytes);
    }

    /// The counts of all that was given.
    pub fn finish(self) -> Result<PretokenCounts> {
        if self.has_failed {
            return Err(Error::Counts("counting failed before; count again from the start".into()));
        }
        let n_locals = self.locals.len();
        share(n_locals, self.locals.into_iter(), |mut local| local.flush(&self.table))?;
        let mut counts = self.table.into_counts(self.threads)?;
        counts.set_totals(self.n_bytes, self.totals.n_documents, self.totals.n_special_literals);
        Ok(counts)
    }

    /// Counts sources; `total` is what the monitor is told, where it is known.
    fn count(&mut self, sources: &[Source<'_>], total: Option<u64>, monitor: &dyn Monitor) -> Result<()> {
        let before = self.n_bytes;
        let report = |n_bytes: u64| {
            let done = before + n_bytes;
            monitor.report(Stage::Count, done, total.unwrap_or(0).max(done))
        };
        self.has_failed = true;
        if !self.has_reported {
            self.has_reported = true;
            report(0)?;
        }
        let plan = self.plan_for(sources);
        let jobs = self.jobs(sources, &plan)?;
        self.add_threads(jobs.len())?;
        let n_threads = self.threads.min(jobs.len()).min(self.locals.len());
        let workers = CountWorkers::new(&self.options, &plan, &self.table, sources, &jobs);
        let outcomes = workers.work(&mut self.locals[..n_threads], &mut |n_bytes| report(n_bytes))?;
        let mut counted: Vec<Counted> = Vec::new();
        for outcome in outcomes {
            self.totals.n_documents += outcome.totals.n_documents;
            self.totals.n_special_literals += outcome.totals.n_special_literals;
            counted.try_reserve(outcome.counted.len()).map_err(Error::out_of_memory(SOURCES))?;
            counted.extend(outcome.counted);
        }
        counted.sort_unstable();
        let n_bytes = workers.n_bytes();
        if let Some(local) = self.locals.first_mut() {
            let mut clock = Clock::start();
            let mut seams = Stitcher {
                options: &self.options,
                plan: &plan,
                table: &self.table,
                local,
                on_progress: &mut || if clock.is_due() { report(n_bytes) } else { Ok(()) },
            };
            for ranges in counted.chunk_by(|a, b| a.source == b.source) {
                seams.join(ranges, || workers.open(sources[ranges[0].source], Buffers::default()))?;
            }
        }
        self.n_bytes = before + n_bytes;
        self.has_failed = false;
        report(n_bytes)
    }

    /// The plan with ranges of a size that suits the sources: a source of petabytes is not cut in so many
    /// that listing them takes memory.
    fn plan_for(&self, sources: &[Source<'_>]) -> Plan {
        let n_bytes = sources.iter().filter_map(Source::n_bytes).fold(0, u64::saturating_add);
        Plan { range_bytes: self.plan.range_bytes.max(n_bytes / MOST_RANGES), ..self.plan }
    }

    /// SafeCuts the work in jobs: many small sources to one, a big source to many if its pattern allows it.
    fn jobs(&self, sources: &[Source<'_>], plan: &Plan) -> Result<Vec<Job>> {
        let is_cut = self.options.pretokenizer.is_memoryless()
            || (self.options.corpus_specials == CorpusSpecials::Split && !self.options.specials.is_empty());
        let mut jobs = Vec::new();
        let mut add = |job: Job| {
            jobs.try_reserve(1).map_err(Error::out_of_memory("the list of jobs"))?;
            jobs.push(job);
            Ok(())
        };
        let (mut first, mut weight) = (0, 0);
        for (index, source) in sources.iter().enumerate() {
            let n_bytes = source.n_bytes().unwrap_or(plan.range_bytes);
            let is_big = is_cut && source.n_bytes().is_some() && n_bytes > plan.range_bytes;
            if first < index && (is_big || weight >= plan.range_bytes / 4) {
                add(Job::Whole(first..index))?;
                (first, weight) = (index, 0);
            }
            if is_big {
                for part in 0..n_bytes.div_ceil(plan.range_bytes) {
                    add(Job::Part(index, part))?;
                }
                first = index + 1;
            } else {
                weight += n_bytes + SOURCE_WEIGHT;
            }
        }
        if first < sources.len() {
            add(Job::Whole(first..sources.len()))?;
        }
        Ok(jobs)
    }

    /// Makes a tally for each thread that `n_jobs` jobs can use. Where there is no memory for more than
    /// one, fewer threads count.
    fn add_threads(&mut self, n_jobs: usize) -> Result<()> {
        while self.locals.len() < self.threads.min(n_jobs).max(1) {
            match LocalCounts::new(&self.table) {
                Ok(local) => self.locals.push(local),
                Err(error) if self.locals.is_empty() => return Err(error),
                Err(_) => self.threads = self.locals.len(),
            }
        }
        Ok(())
    }
}

const SOURCES: &str = "the list of texts or files";

/// Most ranges that the sources of one call are cut in.
const MOST_RANGES: u64 = 1 << 14;

/// What opening a source costs, in bytes that could be counted instead.
const SOURCE_WEIGHT: u64 = 256;
