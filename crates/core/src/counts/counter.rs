//! Counts texts and files, batch after batch.
//!
//! Each call divides its sources into jobs ([`super::jobs`]) and runs them on all threads.

use std::fs;
use std::io;
use std::path::PathBuf;

use super::jobs::{Jobs, ThreadState};
use super::local_counts::LocalCounts;
use super::part::{Plan, Totals};
use super::shared_table::SharedTable;
use super::{CountOptions, PretokenCounts};
use crate::corpus::utf8_reader::Source;
use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::monitor::{Monitor, OnProgress, Stage};
use crate::parallel::{self, OrderedJobs};

/// Counts batches of texts and files; [`Counter::finish`] gives the result.
///
/// After an error a part of the batch is counted, so `finish` fails too.
pub struct Counter {
    options: CountOptions,
    plan: Plan,
    table: SharedTable,
    locals: Vec<LocalCounts>,
    threads: usize,
    totals: Totals,
    has_reported: bool,
    has_failed: bool,
}

impl Counter {
    /// An empty counter.
    pub fn new(options: CountOptions) -> Result<Self> {
        Counter::with_plan(options, Plan::default())
    }

    /// An empty counter that divides work in other sizes, for tests and measurements.
    #[doc(hidden)]
    pub fn with_plan(options: CountOptions, plan: Plan) -> Result<Self> {
        let threads = parallel::wanted(options.threads);
        Ok(Counter {
            table: SharedTable::new(options.max_memory)?,
            options,
            plan,
            locals: Vec::new(),
            threads,
            totals: Totals::default(),
            has_reported: false,
            has_failed: false,
        })
    }

    /// Counts texts. Each is a document, or several if special literals split it.
    pub fn count_texts(&mut self, texts: &[&str], monitor: &dyn Monitor) -> Result<()> {
        let mut sources = Vec::with_room(texts.len(), SOURCES)?;
        sources.extend(texts.iter().map(|text| Source::Text(text)));
        let total = self.options.total_hint;
        self.count(&sources, total, monitor)
    }

    /// Counts UTF-8 files. Each is a document, or several if special literals split it.
    ///
    /// A file without a size (a pipe) is read to its end. An error is that of the first file, in the order of `paths`,
    /// that has one.
    pub fn count_files(&mut self, paths: &[PathBuf], monitor: &dyn Monitor) -> Result<()> {
        self.has_failed = true;
        let mut sources = Vec::with_room(paths.len(), SOURCES)?;
        let mut total = self.totals.n_bytes;
        for path in paths {
            let metadata = fs::metadata(path).map_err(Error::io(path))?;
            if metadata.is_dir() {
                let source = io::Error::new(io::ErrorKind::IsADirectory, "is a folder; name the files in it");
                return Err(Error::Io { path: path.clone(), source });
            }
            // Files in /proc have size 0, but content: they are read to their end.
            let n_bytes = Some(metadata.len()).filter(|&n_bytes| metadata.is_file() && n_bytes > 0);
            total = total.saturating_add(n_bytes.unwrap_or(0));
            sources.push(Source::File(path, n_bytes));
        }
        self.count(&sources, Some(total), monitor)
    }

    /// Takes `n_bytes` of text that the caller keeps from the budget of `max_memory`, until they are released.
    pub(crate) fn hold(&mut self, n_bytes: usize) -> Result<()> {
        let held = self.table.budget.take(n_bytes, "the text of a pretoken that goes on");
        self.has_failed |= held.is_err();
        held
    }

    /// Gives `n_bytes` back to the budget.
    pub(crate) fn release(&self, n_bytes: usize) {
        self.table.budget.give(n_bytes);
    }

    /// The counts of everything given.
    pub fn finish(self) -> Result<PretokenCounts> {
        if self.has_failed {
            return Err(Error::Counts("counting failed before; count again from the start".into()));
        }
        let n_locals = self.locals.len();
        parallel::for_each(n_locals, self.locals.into_iter(), |mut local| local.flush(&self.table))?;
        let mut counts = self.table.into_counts(self.threads)?;
        counts.set_totals(self.totals.n_bytes, self.totals.n_documents, self.totals.n_special_literals);
        Ok(counts)
    }

    /// Counts sources. `total`: what the monitor is told, if known.
    fn count(&mut self, sources: &[Source<'_>], total: Option<u64>, monitor: &dyn Monitor) -> Result<()> {
        let before = self.totals.n_bytes;
        let report = |n_bytes: u64| {
            let done = before + n_bytes;
            monitor.report(Stage::Count, done, total.unwrap_or(0).max(done))
        };
        self.has_failed = true;
        if !self.has_reported {
            self.has_reported = true;
            report(0)?;
        }
        let jobs = Jobs::new(&self.options, self.plan, &self.table, sources)?;
        add_threads(&mut self.locals, &mut self.threads, jobs.jobs.len(), &self.table)?;
        let n_threads = self.threads.min(jobs.jobs.len()).min(self.locals.len());
        let mut states = Vec::with_room(n_threads, SOURCES)?;
        states.extend(self.locals[..n_threads].iter_mut().map(ThreadState::new));
        let all = &mut self.totals;
        let collect = |totals: &mut Totals, _: OnProgress<'_>| {
            all.n_bytes += totals.n_bytes;
            all.n_documents += totals.n_documents;
            all.n_special_literals += totals.n_special_literals;
            Ok(())
        };
        let n_jobs = jobs.jobs.len();
        let run = OrderedJobs { n_jobs, max_waiting: n_jobs, thread_name: "pairloom-count" };
        run.run(
            &mut states,
            |state, number, result, on_progress| jobs.run(state, number, result, on_progress),
            collect,
            &mut |n_bytes| report(n_bytes),
        )?;
        self.has_failed = false;
        report(self.totals.n_bytes - before)
    }
}

/// Makes local counts for each thread that `n_jobs` jobs can use; fewer, but at least one, if memory is short.
fn add_threads(
    locals: &mut Vec<LocalCounts>,
    threads: &mut usize,
    n_jobs: usize,
    table: &SharedTable,
) -> Result<()> {
    while locals.len() < (*threads).min(n_jobs).max(1) {
        match LocalCounts::new(table) {
            Ok(local) => locals.push(local),
            Err(error) if locals.is_empty() => return Err(error),
            Err(_) => *threads = locals.len(),
        }
    }
    Ok(())
}

const SOURCES: &str = "the list of texts or files";
