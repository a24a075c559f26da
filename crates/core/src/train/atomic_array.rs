//! Arrays of integers that several threads can read and write at once.
//!
//! The elements are relaxed atomics, as narrow as their values allow. On x86-64 and AArch64 a relaxed load or store is
//! an ordinary instruction, so sharing costs nothing, and disjoint writes by several threads need no unsafe code.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::error::{Error, Result};
use crate::pages::{self, Pages};

/// An integer that threads share. The value 0 is all zero bytes.
///
/// # Safety
/// An implementor must be valid when all its bytes are zero, and must not implement `Drop`.
pub(super) unsafe trait AtomicCell: Sized + Send + Sync + 'static {
    /// The largest value that fits.
    const MAX: u64;

    /// Reads the value.
    fn get(&self) -> usize;

    /// Writes a value, which must be at most [`AtomicCell::MAX`].
    fn set(&self, value: usize);
}

macro_rules! cell {
    ($atomic:ty, $integer:ty) => {
        // SAFETY: A standard atomic integer is represented like a plain integer, for which all zero bytes are valid,
        // and it does not implement Drop.
        unsafe impl AtomicCell for $atomic {
            const MAX: u64 = <$integer>::MAX as u64;

            #[inline(always)]
            fn get(&self) -> usize {
                self.load(Relaxed) as usize
            }

            #[inline(always)]
            fn set(&self, value: usize) {
                debug_assert!(value as u64 <= Self::MAX);
                self.store(value as $integer, Relaxed);
            }
        }
    };
}

cell!(AtomicU16, u16);
cell!(AtomicU32, u32);
cell!(AtomicU64, u64);

/// A fixed number of cells in separate pages, which are huge if there are enough cells. Accesses are scattered: with
/// small pages most of them miss the TLB (training took 40 % longer).
pub(super) struct AtomicArray<T> {
    memory: Pages,
    len: usize,
    cell: PhantomData<T>,
}

impl<T: AtomicCell> AtomicArray<T> {
    /// Allocates `len` zeros. Pages that are never touched take no memory.
    pub fn zeroed(len: usize, what: &'static str) -> Result<AtomicArray<T>> {
        let n_bytes = len.checked_mul(size_of::<T>()).ok_or(Error::OutOfMemory { what })?;
        let memory = pages::map(n_bytes).map_err(Error::out_of_memory(what))?;
        Ok(AtomicArray { memory, len, cell: PhantomData })
    }
}

impl<T: AtomicCell> Deref for AtomicArray<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: The mapping has at least `len` cells, lives as long as `self`, and is accessed only through this
        // shared slice. It is page-aligned, which is enough for any cell. It was zeroed, and all zero bytes are a valid
        // cell.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().cast::<T>(), self.len) }
    }
}
