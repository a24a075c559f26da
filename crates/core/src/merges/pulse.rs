//! What leaves the engine while it works: progress, and merges as they come.

use std::time::{Duration, Instant};

use super::{Merge, MergeOptions};
use crate::error::Result;
use crate::monitor::{Monitor, Stage};

const INTERVAL: Duration = Duration::from_millis(100);

/// The clock is looked at once in so many beats; the work between two takes less than a millisecond.
const BEATS_PER_LOOK: u32 = 16;

/// Collects merges, and about ten times a second passes on those that are new and reports progress.
pub(super) struct Pulse<'a> {
    /// All merges so far.
    pub merges: Vec<Merge>,
    n_passed: usize,
    total: u64,
    last: Instant,
    n_beats: u32,
    on_merges: &'a mut dyn FnMut(&[Merge]) -> Result<()>,
    monitor: &'a dyn Monitor,
}

impl<'a> Pulse<'a> {
    /// Begins; the first `n_known` merges are the caller's own and are not passed on.
    pub fn start(
        options: &MergeOptions,
        n_known: usize,
        on_merges: &'a mut dyn FnMut(&[Merge]) -> Result<()>,
        monitor: &'a dyn Monitor,
    ) -> Result<Pulse<'a>> {
        let total = options.n_merges as u64;
        monitor.report(Stage::Merge, 0, total)?;
        Ok(Pulse {
            merges: Vec::new(),
            n_passed: n_known,
            total,
            last: Instant::now(),
            n_beats: 0,
            on_merges,
            monitor,
        })
    }

    /// Passes on and reports if it is time; an error means that the work should stop.
    pub fn beat(&mut self) -> Result<()> {
        self.n_beats = self.n_beats.wrapping_add(1);
        if self.n_beats.is_multiple_of(BEATS_PER_LOOK) && self.last.elapsed() >= INTERVAL {
            self.flush()
        } else {
            Ok(())
        }
    }

    /// Passes on and reports now.
    pub fn flush(&mut self) -> Result<()> {
        if let Some(new @ [_, ..]) = self.merges.get(self.n_passed..) {
            (self.on_merges)(new)?;
            self.n_passed = self.merges.len();
        }
        let reported = self.monitor.report(Stage::Merge, self.merges.len() as u64, self.total);
        self.last = Instant::now();
        reported
    }
}
