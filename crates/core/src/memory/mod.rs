//! Fallible allocation: running out of memory is an error, not the end of the process.
//!
//! Rust aborts when an ordinary allocation fails. So in this library:
//! - Memory whose size depends on input is reserved with [`TryReserve`] (or `try_reserve`); a refusal becomes
//!   [`Error::OutOfMemory`].
//! - Small allocations (boxes, thread names, messages) and those of libraries (regex engines) are ordinary: if even
//!   these are refused, under a tight `RLIMIT_AS`, the process aborts.

mod results;
mod zeros;

pub use results::{Kept, ResultIds};
pub(crate) use zeros::{SharedPages, Zero, Zeros};

use crate::error::{Error, Result};

/// Returns the id of this process, which changes at a fork. WebAssembly has no process id, and asking for it would
/// panic.
pub(crate) fn this_process() -> u32 {
    if cfg!(target_family = "wasm") { 1 } else { std::process::id() }
}

/// Fallible growth of collections. A refused allocation is [`Error::OutOfMemory`] with `what`.
pub trait TryReserve: Sized {
    /// The type of an item.
    type Item;

    /// Creates an empty collection with capacity for exactly `n` items.
    fn with_reserved(n: usize, what: &'static str) -> Result<Self>;

    /// Reserves capacity for at least `n` more items. Grows geometrically, so that many small steps take linear time.
    fn grow(&mut self, n: usize, what: &'static str) -> Result<()>;

    /// Appends an item.
    fn try_push(&mut self, item: Self::Item, what: &'static str) -> Result<()>;

    /// Appends copies of `items`.
    fn try_extend(&mut self, items: &[Self::Item], what: &'static str) -> Result<()>
    where
        Self::Item: Copy;

    /// Resizes to `n` items; new ones are copies of `item`.
    fn try_resize(&mut self, n: usize, item: Self::Item, what: &'static str) -> Result<()>
    where
        Self::Item: Copy;
}

impl<T> TryReserve for Vec<T> {
    type Item = T;

    fn with_reserved(n: usize, what: &'static str) -> Result<Self> {
        let mut items = Vec::new();
        items.try_reserve_exact(n).map_err(Error::out_of_memory(what))?;
        Ok(items)
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

/// Appends `more` to `text`.
pub fn try_push_str(text: &mut String, more: &str, what: &'static str) -> Result<()> {
    text.try_reserve(more.len()).map_err(Error::out_of_memory(what))?;
    text.push_str(more);
    Ok(())
}

/// Returns a vector of `n` copies of `item`.
pub fn filled<T: Copy>(n: usize, item: T, what: &'static str) -> Result<Vec<T>> {
    let mut items = Vec::with_reserved(n, what)?;
    items.resize(n, item);
    Ok(items)
}

/// Returns a vector with copies of `items`.
pub fn copied<T: Copy>(items: &[T], what: &'static str) -> Result<Vec<T>> {
    let mut copy = Vec::with_reserved(items.len(), what)?;
    copy.extend_from_slice(items);
    Ok(copy)
}
