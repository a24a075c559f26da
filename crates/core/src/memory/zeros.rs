//! Slices of zeros for hash tables, in huge pages if they are large.
//!
//! A table that doubles touches new memory each time. With pages of 4 KiB that took a tenth of the time of counting,
//! and more on virtual machines.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;

use super::TryReserve;
use crate::error::{Error, Result};
use crate::pages::{self, HUGE_BYTES, Pages};

/// Types whose default value is zeroed memory.
///
/// # Safety
/// Zeroed memory must be the default value. The type must be aligned to at most 64 bytes, and must not implement `Drop`.
pub(crate) unsafe trait Zero: Default {}

// SAFETY: A zero byte is the number 0, the default.
unsafe impl Zero for u8 {}

/// An owned slice whose items are all zero at first.
pub(crate) struct Zeros<T> {
    start: NonNull<T>,
    n: usize,
    /// The memory to free with the slice. No other slice refers to these items.
    _memory: Memory<T>,
}

enum Memory<T> {
    Heap { _items: Vec<T> },
    Pages { _pages: Pages },
}

// SAFETY: A slice is the only owner of its items.
unsafe impl<T: Send> Send for Zeros<T> {}
// SAFETY: as above; a shared slice can only be read.
unsafe impl<T: Sync> Sync for Zeros<T> {}

impl<T: Zero> Default for Zeros<T> {
    fn default() -> Self {
        Zeros::from_vec(Vec::new())
    }
}

impl<T: Zero> Zeros<T> {
    /// Allocates `n` zeros, in separate huge pages if they are many. `what` is for the error if memory is short.
    pub(crate) fn new(n: usize, what: &'static str) -> Result<Self> {
        if n.saturating_mul(size_of::<T>()) < HUGE_BYTES {
            let mut items = Vec::with_reserved(n, what)?;
            items.resize_with(n, T::default);
            Ok(Zeros::from_vec(items))
        } else {
            Zeros::in_pages(n, what)
        }
    }

    /// Allocates `n` zeros in separate pages, which take no memory until they are touched.
    pub(crate) fn in_pages(n: usize, what: &'static str) -> Result<Self> {
        let pages = pages::map(n.saturating_mul(size_of::<T>())).map_err(Error::out_of_memory(what))?;
        // The pages were just mapped: they are zero and have room for `n` items, and pages are aligned for all types.
        let start = NonNull::new(pages.as_mut_ptr().cast()).unwrap_or(NonNull::dangling());
        Ok(Zeros { start, n, _memory: Memory::Pages { _pages: pages } })
    }

    fn from_vec(mut items: Vec<T>) -> Self {
        // The items of a vector stay in place when the vector is moved.
        let start = NonNull::new(items.as_mut_ptr()).unwrap_or(NonNull::dangling());
        Zeros { start, n: items.len(), _memory: Memory::Heap { _items: items } }
    }
}

impl<T> Deref for Zeros<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: There are `n` items at `start`. They are initialised, because zeros are a valid value. They live as
        // long as `memory`, which is freed with this slice, and nothing else refers to them.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.n) }
    }
}

impl<T> DerefMut for Zeros<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.n) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_zero_and_keep_what_is_written() {
        for exponent in [0, 10, 20, 21, 23] {
            let mut slice = Zeros::<u8>::new(1 << exponent, "a test").unwrap();
            assert!(slice.len() == 1 << exponent && slice.iter().all(|&item| item == 0));
            slice.fill(7);
            assert!(slice.iter().all(|&item| item == 7));
        }
        assert!(Zeros::<u8>::default().is_empty());
        assert!(Zeros::<u8>::in_pages(0, "a test").unwrap().is_empty());
    }
}
