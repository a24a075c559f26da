//! How many bytes counting may take, and how many it has.
//!
//! Every table, arena and buffer whose size depends on the corpus asks here before it grows, so that a
//! limit is an error that comes before the memory is taken. Growing may need the old and the new block
//! at once: both are on the books until the old one is gone.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// A shared account of bytes under an optional limit.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    used: AtomicU64,
}

impl Budget {
    /// An empty account; `None` is no limit.
    pub(crate) fn new(limit: Option<u64>) -> Self {
        Budget { limit: limit.unwrap_or(u64::MAX), used: AtomicU64::new(0) }
    }

    /// Enters `n_bytes` for `what`, or refuses when that would exceed the limit.
    pub(crate) fn take(&self, n_bytes: usize, what: &'static str) -> Result<()> {
        let n_bytes = n_bytes as u64;
        let before = self.used.fetch_add(n_bytes, Ordering::Relaxed);
        if before.saturating_add(n_bytes) > self.limit {
            self.used.fetch_sub(n_bytes, Ordering::Relaxed);
            return Err(Error::MemoryLimit { limit: self.limit, what });
        }
        Ok(())
    }

    /// Gives `n_bytes` back.
    pub(crate) fn give(&self, n_bytes: usize) {
        self.used.fetch_sub(n_bytes as u64, Ordering::Relaxed);
    }
}
