//! How long work reports progress and learns that it should stop.

use std::time::{Duration, Instant};

use crate::error::Result;

/// How often long work calls a monitor.
pub(crate) const REPORT_EVERY: Duration = Duration::from_millis(100);

/// What long work calls now and then, some milliseconds apart, with the bytes of text that it has done since; an
/// error ends the work.
pub type OnProgress<'a> = &'a mut dyn FnMut(usize) -> Result<()>;

/// The stages of training that report progress.
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
/// Only the thread that called into the core calls a monitor, about ten times a second, so an
/// implementation may take locks or call into an interpreter. Worker threads are stopped through an
/// atomic flag that the calling thread sets when `report` fails.
pub trait Monitor {
    /// Reports that `done` of `total` units are finished; an error stops the work and is returned.
    fn report(&self, stage: Stage, done: u64, total: u64) -> Result<()>;
}

/// A monitor that says nothing and never stops the work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Monitor for Silent {
    fn report(&self, _stage: Stage, _done: u64, _total: u64) -> Result<()> {
        Ok(())
    }
}

/// A pulse for the encoding of `n_bytes` of text: calls the monitor now and then.
pub fn report_progress(monitor: &dyn Monitor, n_bytes: usize) -> impl FnMut(usize) -> Result<()> {
    // Some milliseconds of work: below that not even the clock is asked.
    const STEP_BYTES: usize = 1 << 20;
    let (mut done, mut since, mut reported) = (0, 0, None);
    move |n_done| {
        since += n_done;
        // Who has done nothing yet has taken long over it.
        if since >= STEP_BYTES || n_done == 0 {
            done += std::mem::take(&mut since) as u64;
            if reported.get_or_insert_with(Instant::now).elapsed() >= REPORT_EVERY {
                reported = None;
                monitor.report(Stage::Encode, done, n_bytes as u64)?;
            }
        }
        Ok(())
    }
}
