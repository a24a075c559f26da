//! Huge pages for large results and tables: one page fault and one TLB entry for 2 MiB instead of 4 KiB.
//!
//! Only advice to the system (`MADV_HUGEPAGE`): where it is refused, everything works with small pages.

#[cfg(not(target_family = "wasm"))]
use std::io;

#[cfg(target_family = "wasm")]
pub(crate) use heap::Pages;
#[cfg(not(target_family = "wasm"))]
pub(crate) use memmap2::MmapRaw as Pages;

/// Vectors smaller than this get no advice: it costs a system call.
const MIN_BYTES: usize = 8 << 20;

/// Bytes of a huge page; elsewhere they may differ.
pub(crate) const HUGE_BYTES: usize = 2 << 20;

/// Reserves room for `n` items in huge pages if they are many; the caller should `shrink_to_fit` in the end. Where it
/// fails, the vector is unchanged and grows as usual.
pub fn reserve<T>(items: &mut Vec<T>, n: usize) {
    if n.saturating_mul(size_of::<T>()) < MIN_BYTES || items.try_reserve_exact(n).is_err() {
        return;
    }
    prefer_huge(items.spare_capacity_mut());
}

/// Maps `n_bytes` zeros, at least one. Pages take no memory before they are touched.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn map(n_bytes: usize) -> io::Result<Pages> {
    let memory = memmap2::MmapMut::map_anon(n_bytes.max(1))?;
    #[cfg(target_os = "linux")]
    if n_bytes >= HUGE_BYTES {
        let _ = memory.advise(memmap2::Advice::HugePage);
    }
    Ok(memory.into())
}

#[cfg(target_family = "wasm")]
pub(crate) use heap::map;

/// WebAssembly maps no memory: there it comes from the allocator.
#[cfg(target_family = "wasm")]
mod heap {
    use std::alloc::{self, Layout};
    use std::io;

    /// Zeroed memory; aligned as a cache line and a page of 4 KiB are.
    pub(crate) struct Pages {
        start: *mut u8,
        layout: Layout,
    }

    // SAFETY: the memory belongs to this value alone; those who reach it by its address see to it how threads share it.
    unsafe impl Send for Pages {}
    // SAFETY: as above.
    unsafe impl Sync for Pages {}

    impl Pages {
        pub(crate) fn as_ptr(&self) -> *const u8 {
            self.start
        }

        pub(crate) fn as_mut_ptr(&self) -> *mut u8 {
            self.start
        }

        pub(crate) fn len(&self) -> usize {
            self.layout.size()
        }
    }

    /// `n_bytes` zeros, at least one.
    pub(crate) fn map(n_bytes: usize) -> io::Result<Pages> {
        let layout = Layout::from_size_align(n_bytes.max(1), 4096)
            .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        // SAFETY: the layout's size is not zero.
        let start = unsafe { alloc::alloc_zeroed(layout) };
        if start.is_null() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        Ok(Pages { start, layout })
    }

    impl Drop for Pages {
        fn drop(&mut self) {
            // SAFETY: `map` allocated it with this layout, and it is freed only here.
            unsafe { alloc::dealloc(self.start, self.layout) };
        }
    }
}

/// Asks for huge pages for `room`, if it is large. It must not have been touched yet.
pub fn prefer_huge<T>(room: &mut [T]) {
    #[cfg(target_os = "linux")]
    if size_of_val(room) >= MIN_BYTES {
        let begin = room.as_mut_ptr() as usize;
        let end = begin + size_of_val(room);
        let (first, last) = (begin.next_multiple_of(HUGE_BYTES), end / HUGE_BYTES * HUGE_BYTES);
        if first < last {
            // SAFETY: `first..last` lies within `room`, which is borrowed mutably, and this advice changes no byte.
            unsafe { libc::madvise(first as *mut libc::c_void, last - first, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = room;
}
