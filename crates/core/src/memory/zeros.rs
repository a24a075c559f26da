//! Slices of zeros for hash tables, in huge pages if they are large or many.
//!
//! A table that doubles touches new memory each time. With pages of 4 KiB that took a tenth of the time of counting,
//! and more on virtual machines.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{TryReserve, filled};
use crate::error::{Error, Result};
use crate::pages::{self, HUGE_BYTES, Pages};

/// Types for which zeroed memory is a valid value; it is the default value if the type has one.
///
/// # Safety
/// Both must hold. The type must be aligned to at most 64 bytes, and must not implement `Drop`.
pub(crate) unsafe trait Zero: Sized {}

// SAFETY: A zero byte is the number 0, the default.
unsafe impl Zero for u8 {}

/// An owned slice whose items are all zero at first.
pub(crate) struct Zeros<T> {
    start: NonNull<T>,
    n: usize,
    /// The memory to free with the slice. No other slice refers to these items.
    memory: Memory<T>,
}

enum Memory<T> {
    Heap { _items: Vec<T> },
    Pages { pages: Arc<Pages> },
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
    pub(crate) fn new(n: usize, what: &'static str) -> Result<Self>
    where
        T: Copy + Default,
    {
        if n.saturating_mul(size_of::<T>()) < HUGE_BYTES {
            Zeros::on_heap(n, what)
        } else {
            Zeros::in_pages(n, what)
        }
    }

    /// Allocates `n` zeros with the system allocator. `what` is for the error if memory is short.
    pub(crate) fn on_heap(n: usize, what: &'static str) -> Result<Self>
    where
        T: Copy + Default,
    {
        filled(n, T::default(), what).map(Zeros::from_vec)
    }

    /// Allocates `n` zeros in separate pages, which take no memory until they are touched. They are huge if there are
    /// enough zeros.
    pub(crate) fn in_pages(n: usize, what: &'static str) -> Result<Self> {
        let pages = pages::map(n.saturating_mul(size_of::<T>())).map_err(Error::out_of_memory(what))?;
        // SAFETY: The pages were just mapped for this slice alone: they are zero and have room for `n` items from
        // offset 0.
        Ok(unsafe { Zeros::within(Arc::new(pages), 0, n) })
    }

    fn from_vec(mut items: Vec<T>) -> Self {
        // The items of a vector stay in place when the vector is moved.
        let start = NonNull::new(items.as_mut_ptr()).unwrap_or(NonNull::dangling());
        Zeros { start, n: items.len(), memory: Memory::Heap { _items: items } }
    }

    /// Returns the slice of `n` items that starts at byte `offset` of `pages`.
    ///
    /// # Safety
    /// The offset must be a multiple of 64. The items must lie within the pages and be zero, and no other slice may
    /// have them.
    unsafe fn within(pages: Arc<Pages>, offset: usize, n: usize) -> Self {
        debug_assert!(offset.is_multiple_of(64) && offset + n * size_of::<T>() <= pages.len().max(1));
        let start = pages.as_mut_ptr().wrapping_add(offset).cast();
        Zeros {
            start: NonNull::new(start).unwrap_or(NonNull::dangling()),
            n,
            memory: Memory::Pages { pages },
        }
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

/// Allocates slices for many tables of about equal size, which double at about the same time.
///
/// Slices of equal size share a huge page. Once all of them are [freed](SharedPages::free) the page is reused for other
/// slices, because touching a new page takes many times as long as clearing a used one.
pub(crate) struct SharedPages(Mutex<State>);

struct State {
    /// For each size of slices, a power of two: the page of the last slice.
    last: [LastPage; usize::BITS as usize],
    /// Unused pages of [`HUGE_BYTES`]; they are not cleared.
    freed: Vec<Pages>,
}

#[derive(Default)]
struct LastPage {
    page: Weak<Pages>,
    /// Bytes of the page that are in use.
    n_used: usize,
    /// Whether the page was used before.
    is_dirty: bool,
}

impl Default for SharedPages {
    fn default() -> Self {
        let last = std::array::from_fn(|_| LastPage::default());
        SharedPages(Mutex::new(State { last, freed: Vec::new() }))
    }
}

impl SharedPages {
    /// Smaller slices come from the system allocator.
    const MIN_BYTES: usize = 1 << 14;

    /// Allocates `n` zeros. They share pages only if their size in bytes is a power of two.
    pub(crate) fn zeros<T: Zero + Copy + Default>(&self, n: usize, what: &'static str) -> Result<Zeros<T>> {
        let n_bytes = n.saturating_mul(size_of::<T>());
        if !(Self::MIN_BYTES..HUGE_BYTES).contains(&n_bytes) || !n_bytes.is_power_of_two() {
            return Zeros::new(n, what);
        }
        let (pages, offset, is_dirty) = self.allocate_slice(n_bytes, what)?;
        // SAFETY: All slices of a page have the same size, a power of two of at least MIN_BYTES. So the offset is a
        // multiple of 64, and the slice lies within the page. Earlier slices end at or before this offset, so nothing
        // else refers to these bytes. They are zero, because a used page is cleared here.
        Ok(unsafe {
            if is_dirty {
                pages.as_mut_ptr().wrapping_add(offset).write_bytes(0, n_bytes);
            }
            Zeros::within(pages, offset, n)
        })
    }

    /// Returns the page and the offset for a slice of `n_bytes`, and whether the page was used before.
    fn allocate_slice(&self, n_bytes: usize, what: &'static str) -> Result<(Arc<Pages>, usize, bool)> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let State { last, freed } = &mut *state;
        let last = &mut last[n_bytes.ilog2() as usize];
        let (pages, offset) = match last.page.upgrade() {
            Some(pages) if last.n_used < HUGE_BYTES => (pages, last.n_used),
            _ => {
                let used = freed.pop();
                last.is_dirty = used.is_some();
                let pages = match used {
                    Some(pages) => pages,
                    None => pages::map(HUGE_BYTES).map_err(Error::out_of_memory(what))?,
                };
                (Arc::new(pages), 0)
            }
        };
        (last.page, last.n_used) = (Arc::downgrade(&pages), offset + n_bytes);
        Ok((pages, offset, last.is_dirty))
    }

    /// Frees a slice. Its page is reused once all its slices are freed.
    pub(crate) fn free<T: Zero>(&self, slice: Zeros<T>) {
        if let Memory::Pages { pages } = slice.memory
            && let Some(pages) = Arc::into_inner(pages)
            && pages.len() == HUGE_BYTES
        {
            // If the list cannot grow, the page goes back to the system.
            let freed = &mut self.0.lock().unwrap_or_else(PoisonError::into_inner).freed;
            let _ = freed.try_push(pages, "the list of free pages");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_zero_apart_and_outlive_the_pages_maker() {
        let pages = SharedPages::default();
        let mut slices = Vec::new();
        for round in 0..3 {
            for exponent in [0, 10, 14, 15, 17, 20, 21, 22] {
                for _ in 0..5 {
                    let mut slice = pages.zeros::<u8>(1 << exponent, "a test").unwrap();
                    assert!(slice.iter().all(|&byte| byte == 0));
                    slice.fill(slices.len() as u8 + 1);
                    slices.push(slice);
                }
            }
            // Freed pages must not be reused with their old content.
            if round == 0 {
                slices.drain(5..20).for_each(|slice| pages.free(slice));
                for (number, slice) in slices.iter_mut().enumerate() {
                    slice.fill(number as u8 + 1);
                }
            }
        }
        drop(pages);
        for (number, slice) in slices.iter().enumerate() {
            assert!(slice.iter().all(|&byte| byte == number as u8 + 1), "slice {number}");
        }
        assert!(Zeros::<u8>::default().is_empty());
        assert!(Zeros::<u8>::in_pages(0, "a test").unwrap().is_empty());
    }
}
