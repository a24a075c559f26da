//! Progress of training: the merges so far, reported about ten times a second.

use super::options::{Merge, MergeOptions};
use crate::error::Result;
use crate::monitor::{Monitor, Stage, Ticker};

/// Collects merges and reports how many there are.
pub(super) struct ProgressReporter<'a> {
    /// All merges so far.
    pub merges: Vec<Merge>,
    total: u64,
    ticker: Ticker,
    monitor: &'a dyn Monitor,
}

impl<'a> ProgressReporter<'a> {
    /// Reports zero merges, and returns the reporter.
    pub fn start(options: &MergeOptions, monitor: &'a dyn Monitor) -> Result<ProgressReporter<'a>> {
        let total = options.n_merges as u64;
        monitor.report(Stage::Merge, 0, total)?;
        Ok(ProgressReporter { merges: Vec::new(), total, ticker: Ticker::start(), monitor })
    }

    /// Reports if a report is due. Call it at least every millisecond; an error must end the training.
    pub fn tick(&mut self) -> Result<()> {
        if self.ticker.is_due_cheaply() { self.report() } else { Ok(()) }
    }

    /// Reports now.
    pub fn report(&mut self) -> Result<()> {
        self.monitor.report(Stage::Merge, self.merges.len() as u64, self.total.max(self.merges.len() as u64))
    }
}
