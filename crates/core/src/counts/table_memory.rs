//! The memory of the tables of all partitions.

use crate::budget::Budget;
use crate::error::Result;
use crate::memory::{Zero, Zeros};

/// Allocates the slots and arenas of tables, and charges them to its budget.
pub(super) struct TableMemory {
    pub(super) budget: Budget,
}

impl TableMemory {
    /// Creates an allocator with no memory in use.
    pub(super) fn new(max_memory: Option<u64>) -> Self {
        TableMemory { budget: Budget::new(max_memory) }
    }

    /// Allocates `n` zeros.
    ///
    /// Under a limit they come from the system allocator: huge pages take memory that the budget is not charged.
    pub(super) fn zeros<T: Zero>(&self, n: usize, what: &'static str) -> Result<Zeros<T>> {
        let n_bytes = n.saturating_mul(size_of::<T>());
        self.budget.take(n_bytes, what)?;
        if self.budget.is_limited() { Zeros::on_heap(n, what) } else { Zeros::new(n, what) }
    }

    /// Frees a slice that a larger one has replaced.
    pub(super) fn free<T: Zero>(&self, slice: Zeros<T>) {
        let n_bytes = size_of_val(&*slice);
        drop(slice);
        self.budget.release_freed(n_bytes);
    }
}
