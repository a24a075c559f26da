//! The allocator of the Python module: the system's, with a small reserve for when that has no memory left.
//!
//! The reserve is a static array that is handed out from its begin to its end and starts over when all of it was
//! given back. It serves small allocations only, of which few live for long: names and handles of threads, boxed
//! jobs, messages of errors. A large allocation that is refused stays refused, which `try_reserve` reports. Cost
//! where there is memory: a comparison for each allocation and each release.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use super::room;

/// Bytes of the reserve; pages of it that were never used take no memory.
const RESERVE_BYTES: usize = 1 << 20;

/// The largest allocation that the reserve serves.
const MOST_BYTES: usize = 1 << 14;

/// No allocation from the reserve is aligned to more.
const MOST_ALIGN: usize = 64;

/// The system's allocator, and a reserve. For `#[global_allocator]`.
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

// SAFETY: Memory comes from `system`, which keeps to the contract, or from the reserve, which hands out each of its
// bytes to one allocation at a time. Which of the two it was is known from the address, so each is released where it
// came from.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Allocator<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: The caller's contract.
        let place = unsafe { self.system.alloc(layout) };
        if !place.is_null() {
            return place;
        }
        // SAFETY: as above.
        self.alloc_scarce(layout, |system, layout| unsafe { system.alloc(layout) })
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: The caller's contract.
        let place = unsafe { self.system.alloc_zeroed(layout) };
        if !place.is_null() {
            return place;
        }
        // SAFETY: as above.
        let place = self.alloc_scarce(layout, |system, layout| unsafe { system.alloc_zeroed(layout) });
        if self.reserve.holds(place) {
            // SAFETY: The reserve gave as many bytes.
            unsafe { place.write_bytes(0, layout.size()) };
        }
        place
    }

    #[inline]
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        if self.reserve.holds(place) {
            self.reserve.give_back();
        } else {
            // SAFETY: The place is from the system, with this layout.
            unsafe { self.system.dealloc(place, layout) };
        }
    }

    #[inline]
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, n_bytes: usize) -> *mut u8 {
        if !self.reserve.holds(place) {
            // SAFETY: The place is from the system, with this layout; `n_bytes` is the caller's.
            let moved = unsafe { self.system.realloc(place, layout, n_bytes) };
            if !moved.is_null() {
                return moved;
            }
        }
        // SAFETY: The caller's contract.
        unsafe { self.realloc_scarce(place, layout, n_bytes) }
    }
}

impl<A: GlobalAlloc> Allocator<A> {
    /// What is to be had where the system refused: from what the room of this thread gives back, or from the reserve.
    #[cold]
    fn alloc_scarce(&self, layout: Layout, again: impl Fn(&A, Layout) -> *mut u8) -> *mut u8 {
        if room::give_up() {
            let place = again(&self.system, layout);
            if !place.is_null() {
                return place;
            }
        }
        self.reserve.take(layout)
    }

    /// Moves what does not fit where it is.
    #[cold]
    unsafe fn realloc_scarce(&self, place: *mut u8, layout: Layout, n_bytes: usize) -> *mut u8 {
        // SAFETY: The caller of `realloc` vouches that the size is valid for this alignment.
        let wanted = unsafe { Layout::from_size_align_unchecked(n_bytes, layout.align()) };
        // SAFETY: The size is not zero, by the same contract.
        let moved = self.alloc_scarce(wanted, |system, layout| unsafe { system.alloc(layout) });
        let moved = match moved.is_null() && self.reserve.holds(place) {
            // SAFETY: as above. What outgrew the reserve may be had from the system.
            true => unsafe { self.system.alloc(wanted) },
            false => moved,
        };
        if !moved.is_null() {
            // SAFETY: Both are at least that long and lie apart; the old one is not used any more.
            unsafe {
                ptr::copy_nonoverlapping(place, moved, layout.size().min(n_bytes));
                self.dealloc(place, layout);
            }
        }
        moved
    }
}

/// See the module.
#[repr(align(64))]
struct Reserve {
    bytes: UnsafeCell<[u8; RESERVE_BYTES]>,
    /// How many allocations live in it, times 2^32, plus the offset of the first byte that is free.
    state: AtomicU64,
}

// SAFETY: The bytes are only reached through allocations, each of which has some of its own.
unsafe impl Sync for Reserve {}

impl Reserve {
    const fn new() -> Self {
        Reserve { bytes: UnsafeCell::new([0; RESERVE_BYTES]), state: AtomicU64::new(0) }
    }

    /// Whether `place` is in the reserve.
    #[inline(always)]
    fn holds(&self, place: *const u8) -> bool {
        (place as usize).wrapping_sub(self.bytes.get() as usize) < RESERVE_BYTES
    }

    /// Memory for `layout`, or null.
    fn take(&self, layout: Layout) -> *mut u8 {
        if layout.size() > MOST_BYTES || layout.align() > MOST_ALIGN {
            return ptr::null_mut();
        }
        let mut begin = 0;
        let taken = self.state.fetch_update(Ordering::Acquire, Ordering::Relaxed, |state| {
            begin = (state as u32 as usize).next_multiple_of(layout.align());
            let end = begin + layout.size();
            (end <= RESERVE_BYTES).then_some(((state >> 32) + 1) << 32 | end as u64)
        });
        match taken {
            // SAFETY: The range lies within the array, and until it is given back no other call gets any of it.
            Ok(_) => unsafe { self.bytes.get().cast::<u8>().add(begin) },
            Err(_) => ptr::null_mut(),
        }
    }

    /// Takes an allocation back.
    #[cold]
    fn give_back(&self) {
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

    /// A system that has no more memory once it is told so.
    struct Scarce(Cell<bool>);

    // SAFETY: It is the system's, or gives nothing.
    unsafe impl GlobalAlloc for Scarce {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            // SAFETY: The caller's contract.
            if self.0.get() { ptr::null_mut() } else { unsafe { System.alloc(layout) } }
        }

        unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
            // SAFETY: The caller's contract.
            unsafe { System.dealloc(place, layout) };
        }
    }

    fn scarce() -> Box<Allocator<Scarce>> {
        Box::new(Allocator { system: Scarce(Cell::new(true)), reserve: Reserve::new() })
    }

    fn layout(n_bytes: usize, align: usize) -> Layout {
        Layout::from_size_align(n_bytes, align).unwrap()
    }

    #[test]
    fn small_allocations_come_from_the_reserve_and_large_ones_fail() {
        let allocator = scarce();
        // SAFETY: Layouts are not empty, and each place is released once with its own.
        unsafe {
            let large = layout(MOST_BYTES + 1, 8);
            assert!(allocator.alloc(large).is_null());
            let small: Vec<(*mut u8, Layout)> = (1..500)
                .map(|n| layout(n, 1 << (n % 7)))
                .map(|layout| (allocator.alloc_zeroed(layout), layout))
                .collect();
            for &(place, layout) in &small {
                assert!(!place.is_null() && place.cast::<[u8; 64]>().is_aligned() | (layout.align() < 64));
                assert!((0..layout.size()).all(|at| place.add(at).read() == 0));
                place.write_bytes(7, layout.size());
            }
            for &(place, layout) in &small {
                allocator.dealloc(place, layout);
            }
            assert_eq!(allocator.reserve.state.load(Ordering::Relaxed), 0);
        }
    }

    #[test]
    fn what_grows_moves_between_the_system_and_the_reserve_with_its_bytes() {
        let allocator = scarce();
        // SAFETY: as above; ten bytes of each allocation are written before they are read.
        unsafe {
            let is = |place: *mut u8| (0..10).all(|at| place.add(at).read() == at as u8);
            allocator.system.0.set(false);
            let place = allocator.alloc(layout(10, 1));
            (0..10).for_each(|at| place.add(at).write(at as u8));
            allocator.system.0.set(true);
            let moved = allocator.realloc(place, layout(10, 1), 20);
            assert!(allocator.reserve.holds(moved) && is(moved));
            assert!(allocator.realloc(moved, layout(20, 1), MOST_BYTES + 1).is_null());
            assert!(is(moved));
            allocator.system.0.set(false);
            let back = allocator.realloc(moved, layout(20, 1), MOST_BYTES + 1);
            assert!(!allocator.reserve.holds(back) && is(back));
            allocator.dealloc(back, layout(MOST_BYTES + 1, 1));
            assert_eq!(allocator.reserve.state.load(Ordering::Relaxed), 0);
        }
    }

    #[test]
    fn a_full_reserve_gives_nothing_and_starts_over_when_it_is_empty() {
        let allocator = scarce();
        let kilobyte = layout(1024, 16);
        // SAFETY: as above.
        unsafe {
            for _ in 0..3 {
                let places: Vec<_> = (0..RESERVE_BYTES / 1024).map(|_| allocator.alloc(kilobyte)).collect();
                assert!(places.iter().all(|place| !place.is_null()));
                assert!(allocator.alloc(kilobyte).is_null());
                places.into_iter().for_each(|place| allocator.dealloc(place, kilobyte));
            }
        }
    }
}
