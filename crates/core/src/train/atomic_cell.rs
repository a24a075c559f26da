//! The cells of arrays of integers that several threads can read and write at once.
//!
//! The elements are relaxed atomics, as narrow as their values allow. On x86-64 and AArch64 a relaxed load or store is
//! an ordinary instruction, so sharing costs nothing, and disjoint writes by several threads need no unsafe code. Accesses
//! are scattered: with small pages most of them miss the TLB (training took 40 % longer), so the arrays are in huge ones.

use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::memory::Zero;

/// An integer that threads share.
pub(super) trait AtomicCell: Zero + Send + Sync + 'static {
    /// The largest value that fits.
    const MAX: u64;

    /// Reads the value.
    fn get(&self) -> usize;

    /// Writes a value, which must be at most [`AtomicCell::MAX`].
    fn set(&self, value: usize);
}

macro_rules! cell {
    ($atomic:ty, $integer:ty) => {
        // SAFETY: A standard atomic integer is represented like a plain integer, for which all zero bytes are 0, and it
        // does not implement Drop.
        unsafe impl Zero for $atomic {}

        impl AtomicCell for $atomic {
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
