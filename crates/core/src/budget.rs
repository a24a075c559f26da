//! Accounting for `max_memory`: each table, arena and buffer whose size depends on the corpus takes its bytes here
//! before it grows, so that exceeding the limit is an error before the memory is used.
//!
//! Growing may need the old and the new block at once: both are counted until the old one is freed.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// A count of bytes in use, shared by threads, with an optional limit.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    used: AtomicU64,
    /// Bytes of tables and arenas that were freed but may still be held by the allocator.
    kept: AtomicU64,
}

impl Budget {
    /// Creates a budget with nothing in use; `None` means no limit.
    pub(crate) fn new(limit: Option<u64>) -> Self {
        let (limit, none) = (limit.unwrap_or(u64::MAX), AtomicU64::new(0));
        Budget { limit, used: none, kept: AtomicU64::new(0) }
    }

    /// Returns whether there is a limit.
    #[inline]
    pub(crate) fn is_limited(&self) -> bool {
        self.limit != u64::MAX
    }

    /// Takes `n_bytes` for `what`; [`Error::MemoryLimit`] if that would exceed the limit.
    pub(crate) fn take(&self, n_bytes: usize, what: &'static str) -> Result<()> {
        let n_bytes = n_bytes as u64;
        let before = self.used.fetch_add(n_bytes, Ordering::Relaxed);
        if before.saturating_add(n_bytes) > self.limit {
            self.used.fetch_sub(n_bytes, Ordering::Relaxed);
            return Err(Error::MemoryLimit { limit: self.limit, what, remedy: "train on fewer texts" });
        }
        Ok(())
    }

    /// Gives back `n_bytes` that were taken.
    pub(crate) fn release(&self, n_bytes: usize) {
        self.used.fetch_sub(n_bytes as u64, Ordering::Relaxed);
    }

    /// Gives back `n_bytes` of a table or an arena that was replaced by a larger one and is freed by now.
    ///
    /// glibc keeps freed blocks of up to 32 MiB, and a table that doubles cannot reuse any of its earlier ones. Without
    /// this, a process takes up to a third more than the limit. A sixteenth of the limit may be kept.
    pub(crate) fn release_freed(&self, n_bytes: usize) {
        self.release(n_bytes);
        if !self.is_limited() {
            return;
        }
        let kept = self.kept.fetch_add(n_bytes as u64, Ordering::Relaxed) + n_bytes as u64;
        if kept > self.limit / 16 && self.kept.swap(0, Ordering::Relaxed) != 0 {
            trim_allocator();
        }
    }
}

/// Makes glibc's allocator, if that is in use, give the freed memory that it keeps back to the system.
fn trim_allocator() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: Any thread may call it at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}
