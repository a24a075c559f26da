//! The memory of the tables of all partitions.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::budget::Budget;
use crate::error::Result;
use crate::memory::{SharedPages, Zero, Zeros};

/// Allocates the slots and arenas of tables, and charges them to its budget.
pub(super) struct TableMemory {
    pub(super) budget: Budget,
    pages: SharedPages,
    n_bytes: AtomicUsize,
}

impl TableMemory {
    /// Creates an allocator with no memory in use.
    pub(super) fn new(max_memory: Option<u64>) -> Self {
        let (budget, n_bytes) = (Budget::new(max_memory), AtomicUsize::new(0));
        TableMemory { budget, pages: SharedPages::default(), n_bytes }
    }

    /// Returns the approximate number of bytes that the tables take.
    pub(super) fn n_bytes(&self) -> usize {
        self.n_bytes.load(Ordering::Relaxed)
    }

    /// Allocates `n` zeros. They share huge pages with other slices if their size in bytes is a power of two.
    ///
    /// Under a limit they come from the system allocator: a shared huge page takes memory as long as any of its slices
    /// is in use, which is more than the budget is charged.
    pub(super) fn zeros<T: Zero + Copy + Default>(&self, n: usize, what: &'static str) -> Result<Zeros<T>> {
        let n_bytes = n.saturating_mul(size_of::<T>());
        self.budget.take(n_bytes, what)?;
        self.n_bytes.fetch_add(n_bytes, Ordering::Relaxed);
        if self.budget.is_limited() { Zeros::on_heap(n, what) } else { self.pages.zeros(n, what) }
    }

    /// Frees a slice that a larger one has replaced.
    pub(super) fn free<T: Zero>(&self, slice: Zeros<T>) {
        let n_bytes = size_of_val(&*slice);
        self.pages.free(slice);
        self.n_bytes.fetch_sub(n_bytes, Ordering::Relaxed);
        self.budget.release_freed(n_bytes);
    }
}
