//! Huge pages for large results and tables: one page fault and one TLB entry for 2 MiB instead of 4 KiB.
//!
//! This is only advice to the system (`MADV_HUGEPAGE`): if it is refused, everything works with small pages.

#[cfg(not(target_family = "wasm"))]
use std::io;
use std::mem::MaybeUninit;

#[cfg(target_family = "wasm")]
pub(crate) use heap::Pages;
#[cfg(not(target_family = "wasm"))]
pub(crate) use memmap2::MmapRaw as Pages;

/// Smaller vectors get no advice, because each costs a system call.
const MIN_BYTES: usize = 8 << 20;

/// Bytes of a huge page. They can differ on other systems.
pub(crate) const HUGE_BYTES: usize = 2 << 20;

/// Maximum bytes that an allocator writes before a block that it maps.
#[cfg(target_os = "linux")]
const HEADER_BYTES: usize = 32;

/// Reserves capacity for `n` items, in huge pages if it is large; the caller should `shrink_to_fit` at the end. On
/// failure the vector is unchanged and grows as usual.
pub fn reserve<T>(items: &mut Vec<T>, n: usize) {
    if !is_large::<T>(n) || items.try_reserve_exact(n).is_err() {
        return;
    }
    prefer_huge(items.spare_capacity_mut());
}

/// Reserves capacity for `n` items that will all be written, in huge pages except for a remainder of less than half a
/// huge page. On failure the vector is unchanged.
pub(crate) fn reserve_full<T>(items: &mut Vec<T>, n: usize) {
    #[cfg(target_os = "linux")]
    {
        let n_bytes = n.saturating_mul(size_of::<T>());
        let n_huge = n_bytes.saturating_add(HUGE_BYTES / 2) / HUGE_BYTES * HUGE_BYTES;
        // A mapping whose length is a multiple of a huge page starts at the boundary of one (Linux 6.7 and later).
        let n_mapped = n_bytes.checked_add(HEADER_BYTES).and_then(|n| n.checked_next_multiple_of(HUGE_BYTES));
        if n_huge > 0
            && let Some(n_mapped) = n_mapped
            && items.try_reserve_exact((n_mapped - HEADER_BYTES) / size_of::<T>()).is_ok()
        {
            // By writing its header, the allocator has already made the first page a small one.
            make_huge(items.as_ptr() as usize / 4096 * 4096, n_huge, HUGE_BYTES);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (items, n);
}

/// Returns whether `n` items are large enough for huge pages.
pub fn is_large<T>(n: usize) -> bool {
    n.saturating_mul(size_of::<T>()) >= MIN_BYTES
}

/// Makes the allocator serve the next allocations from huge pages, if `n_bytes` are many: allocates a block, puts it in
/// huge pages and frees it. Returns how many bytes are ready; prepare the next block before allocating more than that.
/// If huge pages are not available, memory comes in small pages as usual.
///
/// Tried: blocks of 31 MB, blocks up to a huge page boundary, and lists whose memory is not zeroed first. None was
/// faster (`benchmarks/run.py --only encode`).
pub fn prepare(n_bytes: usize) -> usize {
    let mut block = Vec::<u8>::new();
    if n_bytes < MIN_BYTES || block.try_reserve_exact(n_bytes).is_err() {
        return n_bytes;
    }
    let room = block.spare_capacity_mut();
    prefer_huge(room);
    let n_ready;
    #[cfg(target_os = "linux")]
    {
        // glibc writes the size of the remaining memory after each block. That puts a small page there before anyone
        // can ask for a huge one, and costs 511 more page faults around it. So the caller stops before the last huge
        // page, which is not entirely within the block. The next block starts there, and Linux 6.1 and later moves the
        // pages around its start, with their content, to huge pages.
        let (start, end) = (room.as_ptr() as usize, room.as_ptr_range().end as usize);
        make_huge(start / HUGE_BYTES * HUGE_BYTES, 2 * HUGE_BYTES, 2 * HUGE_BYTES);
        n_ready = end / HUGE_BYTES * HUGE_BYTES - start;
    }
    #[cfg(not(target_os = "linux"))]
    {
        n_ready = n_bytes;
    }
    n_ready
}

/// Asks for huge pages for `n_bytes` bytes at `start`, and moves the first `n_now` bytes, with their content, to huge
/// pages at once (Linux 6.1 and later).
#[cfg(target_os = "linux")]
fn make_huge(start: usize, n_bytes: usize, n_now: usize) {
    const MADV_COLLAPSE: libc::c_int = 25;
    let start = start as *mut libc::c_void;
    // SAFETY: Neither advice changes a byte, whoever owns the memory; the system refuses it if nothing is mapped there.
    unsafe {
        libc::madvise(start, n_bytes, libc::MADV_HUGEPAGE);
        libc::madvise(start, n_now, MADV_COLLAPSE);
    }
}

/// Maps `n_bytes` zeros, at least one. Pages take no memory until they are touched.
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

/// WebAssembly cannot map memory, so it comes from the allocator.
#[cfg(target_family = "wasm")]
mod heap {
    use std::alloc::{self, Layout};
    use std::io;

    /// Zeroed memory, aligned to 4096 bytes.
    pub(crate) struct Pages {
        start: *mut u8,
        layout: Layout,
    }

    // SAFETY: Only this value owns the memory; code that accesses it by address must synchronise its accesses.
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

    /// Allocates `n_bytes` zeros, at least one.
    pub(crate) fn map(n_bytes: usize) -> io::Result<Pages> {
        let layout = Layout::from_size_align(n_bytes.max(1), 4096)
            .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        // SAFETY: The size of the layout is not zero.
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

/// Asks for huge pages for `room`, if it is large. Call it before `room` is touched.
pub fn prefer_huge<T>(room: &mut [T]) {
    #[cfg(target_os = "linux")]
    if size_of_val(room) >= MIN_BYTES {
        // SAFETY: This advice changes no byte.
        unsafe { advise(room, libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = room;
}

/// Gives the pages of `room` back to the system, except partial huge pages at its ends. Writing to them again gets new
/// pages.
pub(crate) fn release<T>(room: &mut [MaybeUninit<T>]) {
    #[cfg(target_os = "linux")]
    // SAFETY: The content of `room` counts as uninitialised.
    unsafe {
        advise(room, libc::MADV_DONTNEED);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = room;
}

/// Lets the system take the pages of `room`, except partial huge pages at its ends, if it needs memory before they are
/// written to again. Returns whether the system agreed.
pub(crate) fn release_lazily<T>(room: &mut [MaybeUninit<T>]) -> bool {
    #[cfg(target_os = "linux")]
    // SAFETY: The content of `room` counts as uninitialised.
    return unsafe { advise(room, libc::MADV_FREE) };
    #[cfg(not(target_os = "linux"))]
    {
        let _ = room;
        false
    }
}

/// Gives the system advice on the whole huge pages in `room`; returns whether it accepted.
///
/// # Safety
/// If the advice discards content, nothing may rely on the content of `room`.
#[cfg(target_os = "linux")]
unsafe fn advise<T>(room: &mut [T], advice: libc::c_int) -> bool {
    let start = room.as_mut_ptr() as usize;
    let end = start + size_of_val(room);
    let (first, last) = (start.next_multiple_of(HUGE_BYTES), end / HUGE_BYTES * HUGE_BYTES);
    // SAFETY: `first..last` lies within `room`, which is borrowed mutably; the caller vouches for its content.
    first >= last || unsafe { libc::madvise(first as *mut libc::c_void, last - first, advice) } == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserve_full_gives_room_and_changes_no_memory_that_is_used() {
        let mut used: Vec<Vec<u8>> = Vec::new();
        let mut columns: Vec<Vec<u64>> = Vec::new();
        for n_bytes in
            [0, 8, HUGE_BYTES - 8, HUGE_BYTES, HUGE_BYTES + 8, 2 * HUGE_BYTES - 32, 7 * HUGE_BYTES - 16]
        {
            for _ in 0..3 {
                used.push(vec![used.len() as u8; 9000]);
                let mut column = Vec::new();
                reserve_full(&mut column, n_bytes / 8);
                assert!(column.is_empty());
                column.resize(n_bytes / 8, columns.len() as u64);
                columns.push(column);
            }
        }
        for (n, (block, column)) in used.iter().zip(&columns).enumerate() {
            assert!(block.iter().all(|&byte| byte == n as u8) && column.iter().all(|&item| item == n as u64));
        }
        let mut refused = vec![7u64];
        reserve_full(&mut refused, usize::MAX);
        assert_eq!((refused.len(), refused[0]), (1, 7));
    }

    #[test]
    fn prepare_changes_no_memory_that_is_used() {
        let mut used: Vec<Vec<u8>> = Vec::new();
        for round in 0..6 {
            assert_eq!(prepare(1000), 1000, "small blocks are left to the allocator");
            let n_ready = prepare(MIN_BYTES + 4096 * round);
            assert!((1..=MIN_BYTES + 4096 * round).contains(&n_ready));
            used.extend((0..300).map(|n| vec![(n % 251) as u8; 9000]));
        }
        for (n, block) in used.iter().enumerate() {
            assert!(block.iter().all(|&byte| byte == (n % 300 % 251) as u8), "block {n}");
        }
    }
}
