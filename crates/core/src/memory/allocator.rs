//! The global allocator of the Python module: the system's, with a small static reserve for when that fails.
//!
//! The reserve is a bump allocator that starts over when all its allocations are freed. It serves only small
//! allocations, few of which live long: names and handles of threads, boxed jobs, error messages. A large allocation
//! that the system refuses stays refused, and `try_reserve` reports it. Cost while there is memory: one comparison for
//! each allocation and each release.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use super::room;

/// The size of the reserve. It is in .bss, so pages that were never used take no memory.
const RESERVE_BYTES: usize = 1 << 20;

/// The largest allocation that the reserve serves.
const MAX_BYTES: usize = 1 << 14;

/// The largest alignment that the reserve serves.
const MAX_ALIGN: usize = 64;

/// The system's allocator with a reserve, for `#[global_allocator]`.
pub struct Allocator<A = System> {
    system: A,
    reserve: Reserve,
}

impl Allocator {
    /// An allocator whose reserve is unused.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Allocator { system: System, reserve: Reserve::new() }
    }
}

// SAFETY: Memory comes from `system`, which fulfils the contract, or from the reserve, which gives each of its bytes to
// one live allocation at a time. The address decides which one it was, so each block is freed where it came from.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Allocator<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: The caller's contract.
        let pointer = unsafe { self.system.alloc(layout) };
        if !pointer.is_null() {
            return pointer;
        }
        // SAFETY: as above.
        self.alloc_scarce(layout, |system, layout| unsafe { system.alloc(layout) })
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: The caller's contract.
        let pointer = unsafe { self.system.alloc_zeroed(layout) };
        if !pointer.is_null() {
            return pointer;
        }
        // SAFETY: as above.
        let pointer = self.alloc_scarce(layout, |system, layout| unsafe { system.alloc_zeroed(layout) });
        if self.reserve.holds(pointer) {
            // SAFETY: The reserve returned a block of `layout.size()` bytes.
            unsafe { pointer.write_bytes(0, layout.size()) };
        }
        pointer
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if self.reserve.holds(pointer) {
            self.reserve.free();
        } else {
            // SAFETY: The block is not in the reserve, so `system` allocated it with this layout.
            unsafe { self.system.dealloc(pointer, layout) };
        }
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, n_bytes: usize) -> *mut u8 {
        if !self.reserve.holds(pointer) {
            // SAFETY: as in `dealloc`; the caller vouches for `n_bytes`.
            let moved = unsafe { self.system.realloc(pointer, layout, n_bytes) };
            if !moved.is_null() {
                return moved;
            }
        }
        // SAFETY: The caller's contract.
        unsafe { self.realloc_scarce(pointer, layout, n_bytes) }
    }
}

impl<A: GlobalAlloc> Allocator<A> {
    /// Called after the system refused: releases this thread's [`Room`](super::Room) and tries again, then takes from
    /// the reserve.
    #[cold]
    fn alloc_scarce(&self, layout: Layout, again: impl Fn(&A, Layout) -> *mut u8) -> *mut u8 {
        if room::release() {
            let pointer = again(&self.system, layout);
            if !pointer.is_null() {
                return pointer;
            }
        }
        self.reserve.take(layout)
    }

    /// Moves a block of the reserve, or one that the system refused to grow.
    #[cold]
    unsafe fn realloc_scarce(&self, pointer: *mut u8, layout: Layout, n_bytes: usize) -> *mut u8 {
        // SAFETY: The caller of `realloc` vouches that the size is valid for this alignment.
        let wanted = unsafe { Layout::from_size_align_unchecked(n_bytes, layout.align()) };
        // SAFETY: The size is not zero, by the same contract.
        let moved = self.alloc_scarce(wanted, |system, layout| unsafe { system.alloc(layout) });
        let moved = match moved.is_null() && self.reserve.holds(pointer) {
            // SAFETY: as above. A block that outgrew the reserve moves to the system.
            true => unsafe { self.system.alloc(wanted) },
            false => moved,
        };
        if !moved.is_null() {
            // SAFETY: Both blocks have at least this many bytes and do not overlap; the caller no longer uses the old
            // one.
            unsafe {
                ptr::copy_nonoverlapping(pointer, moved, layout.size().min(n_bytes));
                self.dealloc(pointer, layout);
            }
        }
        moved
    }
}

/// The bump allocator.
#[repr(align(64))]
struct Reserve {
    bytes: UnsafeCell<[u8; RESERVE_BYTES]>,
    /// High half: the number of live allocations. Low half: the offset of the first free byte.
    state: AtomicU64,
}

// SAFETY: The bytes are accessed only through allocations, which do not overlap; `state` is atomic.
unsafe impl Sync for Reserve {}

impl Reserve {
    const fn new() -> Self {
        Reserve { bytes: UnsafeCell::new([0; RESERVE_BYTES]), state: AtomicU64::new(0) }
    }

    /// Whether `pointer` is in the reserve.
    #[inline(always)]
    fn holds(&self, pointer: *const u8) -> bool {
        (pointer as usize).wrapping_sub(self.bytes.get() as usize) < RESERVE_BYTES
    }

    /// Memory for `layout`, or null.
    fn take(&self, layout: Layout) -> *mut u8 {
        if layout.size() > MAX_BYTES || layout.align() > MAX_ALIGN {
            return ptr::null_mut();
        }
        let mut start = 0;
        let taken = self.state.fetch_update(Ordering::Acquire, Ordering::Relaxed, |state| {
            start = (state as u32 as usize).next_multiple_of(layout.align());
            let end = start + layout.size();
            (end <= RESERVE_BYTES).then_some(((state >> 32) + 1) << 32 | end as u64)
        });
        match taken {
            // SAFETY: `start + size` is within the array; until the block is freed no other call gets any of its bytes.
            Ok(_) => unsafe { self.bytes.get().cast::<u8>().add(start) },
            Err(_) => ptr::null_mut(),
        }
    }

    /// Frees an allocation; the last one resets the offset.
    #[cold]
    fn free(&self) {
        let _ = self.state.fetch_update(Ordering::Release, Ordering::Relaxed, |state| {
            Some(match (state >> 32) - 1 {
                0 => 0,
                n_live => n_live << 32 | state & u64::from(u32::MAX),
            })
        });
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A system allocator that refuses everything once its flag is set.
    struct Scarce(Cell<bool>);

    // SAFETY: `System` fulfils the contract, and null is always allowed.
    unsafe impl GlobalAlloc for Scarce {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            // SAFETY: The caller's contract.
            if self.0.get() { ptr::null_mut() } else { unsafe { System.alloc(layout) } }
        }

        unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
            // SAFETY: The caller's contract.
            unsafe { System.dealloc(pointer, layout) };
        }
    }

    fn scarce() -> Box<Allocator<Scarce>> {
        Box::new(Allocator { system: Scarce(Cell::new(true)), reserve: Reserve::new() })
    }

    fn layout(n_bytes: usize, align: usize) -> Layout {
        Layout::from_size_align(n_bytes, align).unwrap()
    }

    #[test]
    fn alloc_without_memory_serves_small_blocks_from_the_reserve() {
        let allocator = scarce();
        // SAFETY: Layouts are not empty, and each block is freed once with its own layout.
        unsafe {
            let large = layout(MAX_BYTES + 1, 8);
            assert!(allocator.alloc(large).is_null());
            let small: Vec<(*mut u8, Layout)> = (1..500)
                .map(|n| layout(n, 1 << (n % 7)))
                .map(|layout| (allocator.alloc_zeroed(layout), layout))
                .collect();
            for &(pointer, layout) in &small {
                assert!(
                    !pointer.is_null() && pointer.cast::<[u8; 64]>().is_aligned() | (layout.align() < 64)
                );
                assert!((0..layout.size()).all(|at| pointer.add(at).read() == 0));
                pointer.write_bytes(7, layout.size());
            }
            for &(pointer, layout) in &small {
                allocator.dealloc(pointer, layout);
            }
            assert_eq!(allocator.reserve.state.load(Ordering::Relaxed), 0);
        }
    }

    #[test]
    fn realloc_between_system_and_reserve_keeps_the_bytes() {
        let allocator = scarce();
        // SAFETY: as above; ten bytes of each allocation are written before they are read.
        unsafe {
            let is = |pointer: *mut u8| (0..10).all(|at| pointer.add(at).read() == at as u8);
            allocator.system.0.set(false);
            let pointer = allocator.alloc(layout(10, 1));
            (0..10).for_each(|at| pointer.add(at).write(at as u8));
            allocator.system.0.set(true);
            let moved = allocator.realloc(pointer, layout(10, 1), 20);
            assert!(allocator.reserve.holds(moved) && is(moved));
            assert!(allocator.realloc(moved, layout(20, 1), MAX_BYTES + 1).is_null());
            assert!(is(moved));
            allocator.system.0.set(false);
            let back = allocator.realloc(moved, layout(20, 1), MAX_BYTES + 1);
            assert!(!allocator.reserve.holds(back) && is(back));
            allocator.dealloc(back, layout(MAX_BYTES + 1, 1));
            assert_eq!(allocator.reserve.state.load(Ordering::Relaxed), 0);
        }
    }

    #[test]
    fn alloc_from_full_reserve_fails_until_all_is_freed() {
        let allocator = scarce();
        let kilobyte = layout(1024, 16);
        // SAFETY: as above.
        unsafe {
            for _ in 0..3 {
                let pointers: Vec<_> = (0..RESERVE_BYTES / 1024).map(|_| allocator.alloc(kilobyte)).collect();
                assert!(pointers.iter().all(|pointer| !pointer.is_null()));
                assert!(allocator.alloc(kilobyte).is_null());
                pointers.into_iter().for_each(|pointer| allocator.dealloc(pointer, kilobyte));
            }
        }
    }
}
