//! Progress of learning: reported about ten times a second.

use std::time::{Duration, Instant};

use super::{Merge, MergeOptions};
use crate::error::Result;
use crate::monitor::{Monitor, Stage};

const INTERVAL: Duration = Duration::from_millis(100);

/// The clock is looked at once in so many beats; the work between two takes less than a millisecond.
const BEATS_PER_LOOK: u32 = 16;

/// Collects merges, and about ten times a second reports how many there are.
pub(super) struct Pulse<'a> {
    /// All merges so far.
    pub merges: Vec<Merge>,
    total: u64,
    last: Instant,
    n_beats: u32,
    monitor: &'a dyn Monitor,
}

impl<'a> Pulse<'a> {
    /// Begins, and reports that there are no merges yet.
    pub fn start(options: &MergeOptions, monitor: &'a dyn Monitor) -> Result<Pulse<'a>> {
        let total = options.n_merges as u64;
        monitor.report(Stage::Merge, 0, total)?;
        Ok(Pulse { merges: Vec::new(), total, last: Instant::now(), n_beats: 0, monitor })
    }

    /// Reports if it is time; an error means that the work should stop.
    pub fn beat(&mut self) -> Result<()> {
        self.n_beats = self.n_beats.wrapping_add(1);
        if self.n_beats.is_multiple_of(BEATS_PER_LOOK) && self.last.elapsed() >= INTERVAL {
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
