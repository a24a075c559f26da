//! Progress of learning: reported about ten times a second.

use std::time::{Duration, Instant};

use super::{Merge, MergeOptions};
use crate::error::Result;
use crate::monitor::{Monitor, Stage};

const INTERVAL: Duration = Duration::from_millis(100);

/// The clock is looked at once in so many beats; the work between two takes less than a millisecond.
const TICKS_PER_LOOK: u32 = 16;

/// Collects merges, and about ten times a second reports how many there are.
pub(super) struct ProgressReporter<'a> {
    /// All merges so far.
    pub merges: Vec<Merge>,
    total: u64,
    last: Instant,
    n_ticks: u32,
    monitor: &'a dyn Monitor,
}

impl<'a> ProgressReporter<'a> {
    /// Begins, and reports that there are no merges yet.
    pub fn start(options: &MergeOptions, monitor: &'a dyn Monitor) -> Result<ProgressReporter<'a>> {
        let total = options.n_merges as u64;
        monitor.report(Stage::Merge, 0, total)?;
        Ok(ProgressReporter { merges: Vec::new(), total, last: Instant::now(), n_ticks: 0, monitor })
    }

    /// Reports if it is time; an error means that the work should stop.
    pub fn tick(&mut self) -> Result<()> {
        self.n_ticks = self.n_ticks.wrapping_add(1);
        if self.n_ticks.is_multiple_of(TICKS_PER_LOOK) && self.last.elapsed() >= INTERVAL {
            self.report()
        } else {
            Ok(())
        }
    }

    /// Reports now.
    pub fn report(&mut self) -> Result<()> {
        let reported = self.monitor.report(Stage::Merge, self.merges.len() as u64, self.total);
        self.last = Instant::now();
        reported
    }
}
