//! Progress reports, and interruption of long work.

use std::time::{Duration, Instant};

use crate::error::Result;

/// The time between two calls of a monitor.
pub(crate) const REPORT_EVERY: Duration = Duration::from_millis(100);

/// Called by long work every few milliseconds with the number of bytes done since the last call; an error ends the
/// work.
pub type OnProgress<'a> = &'a mut dyn FnMut(usize) -> Result<()>;

/// The stages of work that report progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Counting pretokens; the unit is bytes of text.
    Count,
    /// Learning merges; the unit is merges.
    Merge,
    /// Encoding; the unit is bytes of text.
    Encode,
}

/// Receives progress and may stop the work.
///
/// Only the thread that called into the core calls a monitor, about ten times a second, so an implementation may take
/// locks or call into an interpreter. When `report` fails, the calling thread stops the workers through an atomic flag.
pub trait Monitor {
    /// Reports that `done` of `total` units are finished; an error stops the work and is returned.
    fn report(&self, stage: Stage, done: u64, total: u64) -> Result<()>;
}

/// A monitor that ignores reports and never stops the work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Monitor for Silent {
    fn report(&self, _stage: Stage, _done: u64, _total: u64) -> Result<()> {
        Ok(())
    }
}

/// Decides when a report is due: every [`REPORT_EVERY`].
pub(crate) struct Ticker {
    /// `None` if there is no clock; then no report is ever due.
    last: Option<Instant>,
    n_calls: u32,
}

/// [`Ticker::is_due_cheaply`] reads the clock once in this many calls.
const CALLS_PER_CLOCK_READ: u32 = 16;

impl Ticker {
    /// Starts the clock: the first report is due after [`REPORT_EVERY`].
    pub(crate) fn start() -> Self {
        Ticker { last: now(), n_calls: 0 }
    }

    /// Returns whether a report is due; if so, restarts the clock.
    pub(crate) fn is_due(&mut self) -> bool {
        let is_due = self.last.is_some_and(|last| last.elapsed() >= REPORT_EVERY);
        if is_due {
            self.last = now();
        }
        is_due
    }

    /// Like `is_due`, for callers with so little work between two calls that reading the clock would cost as much.
    pub(crate) fn is_due_cheaply(&mut self) -> bool {
        self.n_calls = self.n_calls.wrapping_add(1);
        self.n_calls.is_multiple_of(CALLS_PER_CLOCK_READ) && self.is_due()
    }
}

/// Returns the time; `None` in WebAssembly, where the standard library's clock panics.
fn now() -> Option<Instant> {
    if cfg!(target_family = "wasm") { None } else { Some(Instant::now()) }
}

/// Returns a callback that reports the encoding of `n_bytes` of text to a monitor.
pub fn report_progress(monitor: &dyn Monitor, n_bytes: usize) -> impl FnMut(usize) -> Result<()> {
    // Some milliseconds of work: a short text never reads the clock.
    const STEP_BYTES: usize = 1 << 20;
    let (mut done, mut since, mut ticker) = (0, 0, None);
    move |n_done| {
        since += n_done;
        // A call with 0 bytes comes from long work within one pretoken.
        if since >= STEP_BYTES || n_done == 0 {
            done += std::mem::take(&mut since) as u64;
            if ticker.get_or_insert_with(Ticker::start).is_due() {
                monitor.report(Stage::Encode, done, n_bytes as u64)?;
            }
        }
        Ok(())
    }
}
