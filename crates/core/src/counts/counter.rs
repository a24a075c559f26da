//! Counts texts, files and blocks of documents, one batch after another.
//!
//! Each call divides its sources into jobs ([`super::jobs`]) and runs them on all threads.

use std::fs;
use std::io;
use std::path::PathBuf;

use super::jobs::{Jobs, ThreadState};
use super::local_counts::LocalCounts;
use super::merge::check_columns;
use super::part::Plan;
use super::partition_log;
use super::shared_table::SharedTable;
use super::totals::{Totals, sum};
use super::{CountOptions, PretokenCounts};
use crate::corpus::Documents;
use crate::corpus::split::Splitter;
use crate::corpus::utf8_reader::Source;
use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::monitor::{Monitor, OnProgress, Stage};
use crate::parallel::{self, OrderedJobs};
use crate::train::WeightedPretokens;

/// Counts batches of texts, files and blocks of documents; [`Counter::finish`] returns the result.
///
/// After an error only part of the batch has been counted, so `finish` fails too.
pub struct Counter {
    options: CountOptions,
    plan: Plan,
    table: SharedTable,
    locals: Vec<LocalCounts>,
    threads: usize,
    /// Splits blocks of documents; created for the first block.
    splitter: Option<Splitter>,
    totals: Totals,
    /// No count is larger: all counts that were added, and the bytes of all text.
    n_added: u64,
    has_reported: bool,
    has_failed: bool,
}

impl Counter {
    /// Creates an empty counter.
    pub fn new(options: CountOptions) -> Result<Self> {
        Counter::with_plan(options, Plan::default())
    }

    /// Creates an empty counter with other sizes of work, for tests and benchmarks.
    #[doc(hidden)]
    pub fn with_plan(options: CountOptions, plan: Plan) -> Result<Self> {
        let mut threads = parallel::thread_count(options.threads);
        if let Some(max_memory) = options.max_memory {
            // Limit the threads, so that at least half of the memory is left for the distinct pretokens.
            threads = threads.min((max_memory / 2 / LocalCounts::MIN_BYTES as u64) as usize).max(1);
        }
        Ok(Counter {
            table: SharedTable::new(options.max_memory)?,
            splitter: None,
            options,
            plan,
            locals: Vec::new(),
            threads,
            totals: Totals::default(),
            n_added: 0,
            has_reported: false,
            has_failed: false,
        })
    }

    /// Counts texts. Each is a document, or several if special literals split it.
    pub fn count_texts(&mut self, texts: &[impl AsRef<str>], monitor: &dyn Monitor) -> Result<()> {
        let mut sources = Vec::with_reserved(texts.len(), SOURCES)?;
        sources.extend(texts.iter().map(|text| Source::Text(text.as_ref())));
        self.count(&sources, None, monitor)
    }

    /// Counts UTF-8 files. Each is a document, or several if special literals split it.
    ///
    /// A file without a size (a pipe) is read to its end. If several files fail, returns the error of the first in
    /// `paths`.
    pub fn count_files(&mut self, paths: &[PathBuf], monitor: &dyn Monitor) -> Result<()> {
        self.has_failed = true;
        let mut sources = Vec::with_reserved(paths.len(), SOURCES)?;
        let mut total = self.totals.n_bytes;
        for path in paths {
            let metadata = fs::metadata(path).map_err(Error::io(path))?;
            if metadata.is_dir() {
                let source = io::Error::new(io::ErrorKind::IsADirectory, "is a folder; pass the files in it");
                return Err(Error::Io { path: path.clone(), source });
            }
            // Files in /proc have content but report size 0: they are read to their end.
            let n_bytes = Some(metadata.len()).filter(|&n_bytes| metadata.is_file() && n_bytes > 0);
            total = total.saturating_add(n_bytes.unwrap_or(0));
            sources.push(Source::File(path, n_bytes));
        }
        self.count(&sources, Some(total), monitor)
    }

    /// Counts the documents of a block. Text at its end whose pretokens may still change is kept for the next block.
    /// Meanwhile the caller holds `n_bytes_read` bytes for reading.
    pub fn count_block(
        &mut self,
        documents: &Documents,
        n_bytes_read: usize,
        monitor: &dyn Monitor,
    ) -> Result<()> {
        let mut splitter = self.splitter.take().unwrap_or_else(|| Splitter::new(self.options.safe_cuts()));
        // The reader's bytes count towards `max_memory`. So does the text kept for the next block, twice because
        // growing copies it.
        let n_held = n_bytes_read.saturating_add(2 * splitter.n_kept());
        let held = self.table.memory.budget.take(n_held, "text that is read or kept");
        self.has_failed |= held.is_err();
        held?;
        let done = splitter.with_texts(documents, |texts| self.count_texts(&texts.texts, monitor));
        self.splitter = Some(splitter);
        self.table.memory.budget.release(n_held);
        done
    }

    /// Adds counts made elsewhere, including their totals.
    pub fn add_counts(&mut self, counts: &PretokenCounts) -> Result<()> {
        self.has_failed = true;
        self.table.reserve(counts.columns())?;
        self.add(counts.columns())?;
        self.add_totals(counts.totals())
    }

    /// Adds counts from columns of any origin, without totals; a pretoken can occur in several rows. Returns the number
    /// of bytes of text that these counts stand for. [`Error::Counts`] if the columns contradict each other.
    pub fn add_columns(&mut self, columns: WeightedPretokens<'_>) -> Result<u64> {
        check_columns(columns.bytes, columns.ends, columns.counts)?;
        let n_bytes = sum(columns.iter().map(|(pretoken, n)| (pretoken.len() as u64).saturating_mul(n)))?;
        self.add(columns)?;
        Ok(n_bytes)
    }

    /// Adds to the totals.
    pub fn add_totals(&mut self, totals: Totals) -> Result<()> {
        self.totals = self.totals.plus(totals)?;
        Ok(())
    }

    fn add(&mut self, columns: WeightedPretokens<'_>) -> Result<()> {
        self.has_failed = true;
        // The tables add modulo 2^64. If the sum of all counts does not overflow, no single count does.
        self.n_added = sum(columns.counts.iter().copied().chain([self.n_added]))?;
        self.table.add_all(&[columns], self.threads)?;
        self.has_failed = false;
        Ok(())
    }

    /// Returns the counts of everything that was added.
    pub fn finish(self) -> Result<PretokenCounts> {
        if self.has_failed {
            return Err(Error::Counts(
                "an earlier call failed, so the counts are incomplete; count again from the \
            start"
                    .into(),
            ));
        }
        let n_locals = self.locals.len();
        parallel::for_each(n_locals, self.locals.into_iter(), |mut local| local.flush(&self.table))?;
        let mut counts = self.table.into_counts(self.threads)?;
        // Each part of a divided document was counted as a document.
        let n_cuts = self.splitter.map_or(0, |splitter| splitter.n_cuts);
        let n_documents = self.totals.n_documents.saturating_sub(n_cuts);
        counts.totals = Totals { n_documents, ..self.totals };
        Ok(counts)
    }

    /// Counts sources. `total` is the total reported to the monitor, if known.
    fn count(&mut self, sources: &[Source<'_>], total: Option<u64>, monitor: &dyn Monitor) -> Result<()> {
        let before = self.totals.n_bytes;
        let report = |n_bytes: u64| {
            let done = before.saturating_add(n_bytes);
            monitor.report(Stage::Count, done, total.unwrap_or(0).max(done))
        };
        self.has_failed = true;
        if !self.has_reported {
            self.has_reported = true;
            report(0)?;
        }
        let jobs = Jobs::new(&self.options, self.plan, &self.table, sources)?;
        let n_bytes = sources.iter().map(|source| source.n_bytes().unwrap_or(u64::MAX));
        let n_bytes = n_bytes.fold(before, u64::saturating_add);
        let log_bytes = partition_log::max_bytes(self.options.max_memory, self.threads);
        self.locals.iter_mut().try_for_each(|local| local.grow(&self.table, n_bytes, log_bytes))?;
        while self.locals.len() < self.threads.min(jobs.jobs.len()).max(1) {
            match LocalCounts::new(&self.table, n_bytes, log_bytes) {
                Ok(local) => self.locals.push(local),
                Err(error) if self.locals.is_empty() => return Err(error),
                // Memory is short: go on with the threads that have counts.
                Err(_) => self.threads = self.locals.len(),
            }
        }
        let n_threads = self.threads.min(jobs.jobs.len()).min(self.locals.len());
        let mut states = Vec::with_reserved(n_threads, SOURCES)?;
        states.extend(self.locals[..n_threads].iter_mut().map(ThreadState::new));
        let (all, mut n_counted) = (&mut self.totals, 0);
        let collect = |totals: &mut Totals, _: OnProgress<'_>| {
            n_counted += totals.n_bytes;
            *all = all.plus(*totals)?;
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
        // The tables add modulo 2^64: see `add`.
        self.n_added = sum([self.n_added, n_counted])?;
        self.has_failed = false;
        report(n_counted)
    }
}

const SOURCES: &str = "the list of texts or files";
