//! How long work reports progress and learns that it should stop.

use crate::error::Result;

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
