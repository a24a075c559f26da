//! Arrays of integers that several threads may read and write at once.
//!
//! Enters: a length. Leaves: a zeroed array of relaxed atomics, as narrow as its values allow. On the
//! processors that matter a relaxed load or store is a plain one, so sharing costs nothing and the
//! engine's disjoint writes need no unsafe code.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

use memmap2::MmapMut;

use crate::error::{Error, Result};
use crate::memory::TryReserve;

/// An integer in memory that threads share; an all-zero bit pattern is the value 0.
///
/// # Safety
/// An implementor must be valid when all its bytes are zero, and must not implement `Drop`.
pub(super) unsafe trait AtomicCell: Sized + Send + Sync + 'static {
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
        unsafe impl AtomicCell for $atomic {
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

/// From so many bytes on, an array asks for large pages: its accesses are scattered, and with small
/// pages most of them would miss the processor's table of pages.
const LARGE: usize = 4 << 20;

/// A fixed number of cells.
pub(super) struct AtomicArray<T> {
    memory: Memory,
    len: usize,
    cell: PhantomData<T>,
}

enum Memory {
    Heap(Vec<AtomicU64>),
    Mapped(MmapMut),
}

impl<T: AtomicCell> AtomicArray<T> {
    /// `len` zeros. Of a large array, what is never touched takes no memory.
    pub fn zeroed(len: usize, what: &'static str) -> Result<AtomicArray<T>> {
        let n_bytes = len.checked_mul(size_of::<T>()).ok_or(Error::OutOfMemory { what })?;
        let memory = if n_bytes < LARGE {
            let n_words = n_bytes.div_ceil(size_of::<u64>());
            let mut words = Vec::with_room(n_words, what)?;
            words.resize_with(n_words, AtomicU64::default);
            Memory::Heap(words)
        } else {
            let map = MmapMut::map_anon(n_bytes).map_err(Error::out_of_memory(what))?;
            // Only advice: where it is refused, small pages do.
            #[cfg(target_os = "linux")]
            let _ = map.advise(memmap2::Advice::HugePage);
            Memory::Mapped(map)
        };
        Ok(AtomicArray { memory, len, cell: PhantomData })
    }
}

impl<T: AtomicCell> Deref for AtomicArray<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        let start = match &self.memory {
            Memory::Heap(words) => words.as_ptr().cast::<u8>(),
            Memory::Mapped(map) => map.as_ptr(),
        };
        // SAFETY: the memory is as long as `len` cells, lives as long as `self` and is reached through
        // this slice alone. It is aligned for 8 bytes or for a page, so for any cell, and was zeroed,
        // zero being a value of every cell. Behind it are atomics, or memory that no reference covers.
        unsafe { std::slice::from_raw_parts(start.cast::<T>(), self.len) }
    }
}
