//! Slices of zeros for hash tables, in huge pages if they are large.
//!
//! Tried: huge pages that small tables share, and that serve other tables once these have grown. Counting was within 2 %
//! as fast (a first call on 80 MB, AVX2).

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;

use super::filled;
use crate::error::{Error, Result};
use crate::pages::{self, HUGE_BYTES, Pages};

/// Types whose default value is zeroed memory.
///
/// # Safety
/// Zeroed memory must be the default value, and the type must be aligned to at most a page.
pub(crate) unsafe trait Zero: Copy + Default {}

// SAFETY: A zero byte is the number 0, the default.
unsafe impl Zero for u8 {}

/// An owned slice whose items are all zero at first.
pub(crate) struct Zeros<T> {
    start: NonNull<T>,
    n: usize,
    /// The memory to free with the slice.
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
            Zeros::on_heap(n, what)
        } else {
            Zeros::in_pages(n, what)
        }
    }

    /// Allocates `n` zeros with the system allocator. `what` is for the error if memory is short.
    pub(crate) fn on_heap(n: usize, what: &'static str) -> Result<Self> {
        filled(n, T::default(), what).map(Zeros::from_vec)
    }

    /// Allocates `n` zeros in separate pages, which take no memory until they are touched.
    pub(crate) fn in_pages(n: usize, what: &'static str) -> Result<Self> {
        let pages = pages::map(n.saturating_mul(size_of::<T>())).map_err(Error::out_of_memory(what))?;
        // The pages were just mapped for this slice alone: they are zero and have room for `n` items.
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
        // long as `_memory`, which is freed with this slice, and nothing else refers to them.
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
    fn slices_are_zero_and_apart() {
        let mut slices = Vec::new();
        for exponent in [0, 10, 14, 15, 17, 20, 21, 22] {
            for _ in 0..5 {
                let mut slice = Zeros::<u8>::new(1 << exponent, "a test").unwrap();
                assert!(slice.iter().all(|&byte| byte == 0));
                slice.fill(slices.len() as u8 + 1);
                slices.push(slice);
            }
        }
        for (number, slice) in slices.iter().enumerate() {
            assert!(slice.iter().all(|&byte| byte == number as u8 + 1), "slice {number}");
        }
        assert!(Zeros::<u8>::default().is_empty());
        assert!(Zeros::<u8>::in_pages(0, "a test").unwrap().is_empty());
    }
}
