//! Memory that the system may refuse.
//!
//! Rust ends the process where an ordinary allocation fails, so in this library none whose size input decides is
//! ordinary:
//! - What this crate allocates is reserved with [`TryReserve`] (or `try_reserve`) first: a refusal is
//!   [`Error::OutOfMemory`](crate::Error::OutOfMemory).
//! - Libraries that allocate without asking (regex engines, automata) run while a [`Room`] is held: address space
//!   that is given back to the system when they are refused memory, so that they find some after all.
//! - What is left is small (boxes, names of threads, messages). [`Allocator`] takes it from memory of its own where
//!   the system has none.

mod allocator;
mod room;

pub use allocator::Allocator;
pub use room::Room;

use crate::error::{Error, Result};

/// Growth that fails instead of ending the process; `what` is named in the error.
pub trait TryReserve: Sized {
    /// What there is room for.
    type Item;

    /// An empty collection with room for exactly `n` items.
    fn with_room(n: usize, what: &'static str) -> Result<Self>;

    /// Makes room for at least `n` more items; may make more, so that many small steps are linear.
    fn grow(&mut self, n: usize, what: &'static str) -> Result<()>;

    /// Appends an item.
    fn try_push(&mut self, item: Self::Item, what: &'static str) -> Result<()>;

    /// Appends copies of `items`.
    fn try_extend(&mut self, items: &[Self::Item], what: &'static str) -> Result<()>
    where
        Self::Item: Copy;

    /// Grows to `n` items, all of them copies of `item`.
    fn try_resize(&mut self, n: usize, item: Self::Item, what: &'static str) -> Result<()>
    where
        Self::Item: Copy;
}

impl<T> TryReserve for Vec<T> {
    type Item = T;

    fn with_room(n: usize, what: &'static str) -> Result<Self> {
        let mut merged_id = Vec::new();
        merged_id.try_reserve_exact(n).map_err(Error::out_of_memory(what))?;
        Ok(merged_id)
    }

    #[inline]
    fn grow(&mut self, n: usize, what: &'static str) -> Result<()> {
        self.try_reserve(n).map_err(Error::out_of_memory(what))
    }

    #[inline]
    fn try_push(&mut self, item: T, what: &'static str) -> Result<()> {
        self.grow(1, what)?;
        self.push(item);
        Ok(())
    }

    fn try_extend(&mut self, items: &[T], what: &'static str) -> Result<()>
    where
        T: Copy,
    {
        self.grow(items.len(), what)?;
        self.extend_from_slice(items);
        Ok(())
    }

    fn try_resize(&mut self, n: usize, item: T, what: &'static str) -> Result<()>
    where
        T: Copy,
    {
        self.try_reserve_exact(n.saturating_sub(self.len())).map_err(Error::out_of_memory(what))?;
        self.resize(n, item);
        Ok(())
    }
}

/// A vector of `n` copies of `item`.
pub fn filled<T: Copy>(n: usize, item: T, what: &'static str) -> Result<Vec<T>> {
    let mut items = Vec::with_room(n, what)?;
    items.resize(n, item);
    Ok(items)
}

/// A vector with the items of `items`.
pub fn copied<T: Copy>(items: &[T], what: &'static str) -> Result<Vec<T>> {
    let mut copy = Vec::with_room(items.len(), what)?;
    copy.extend_from_slice(items);
    Ok(copy)
}
