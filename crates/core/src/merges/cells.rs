//! Arrays of integers that several threads may read and write at once.
//!
//! Enters: a length. Leaves: a zeroed array of relaxed atomics, as narrow as its values allow. On the
//! processors that matter a relaxed load or store is a plain one, so sharing costs nothing and the
//! engine's disjoint writes need no unsafe code.

use std::alloc::{Layout, alloc_zeroed};
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::error::{Error, Result};

/// An integer in memory that threads share; an all-zero bit pattern is the value 0.
///
/// # Safety
/// An implementor must be valid when all its bytes are zero, and must not implement `Drop`.
pub(super) unsafe trait Cell: Sized + Send + Sync + 'static {
    /// The greatest value that fits.
    const LARGEST: u64;

    /// Reads the value.
    fn get(&self) -> usize;

    /// Writes a value, which the caller knows to fit.
    fn set(&self, value: usize);
}

macro_rules! cell {
    ($atomic:ty, $integer:ty) => {
        // SAFETY: a standard atomic integer has the representation of its integer, for which zero is
        // a value, and it has no destructor.
        unsafe impl Cell for $atomic {
            const LARGEST: u64 = <$integer>::MAX as u64;

            #[inline(always)]
            fn get(&self) -> usize {
                self.load(Relaxed) as usize
            }

            #[inline(always)]
            fn set(&self, value: usize) {
                debug_assert!(value as u64 <= Self::LARGEST);
                self.store(value as $integer, Relaxed);
            }
        }
    };
}

cell!(AtomicU16, u16);
cell!(AtomicU32, u32);
cell!(AtomicU64, u64);

/// `len` zeros. The system hands out the pages on first touch, so what is never used is never paid.
pub(super) fn zeroed<T: Cell>(len: usize, what: &'static str) -> Result<Vec<T>> {
    if len == 0 {
        return Ok(Vec::new());
    }
    let layout = Layout::array::<T>(len).map_err(Error::out_of_memory(what))?;
    // SAFETY: the layout is not of size zero, since `len` is not zero and no cell is empty.
    let start = unsafe { alloc_zeroed(layout) };
    if start.is_null() {
        return Err(Error::OutOfMemory { what });
    }
    // SAFETY: `start` was just allocated by the global allocator with the layout of `len` elements of
    // type T, and all of them are initialised, zero being a value of every cell.
    Ok(unsafe { Vec::from_raw_parts(start.cast::<T>(), len, len) })
}
