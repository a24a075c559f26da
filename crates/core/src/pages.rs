//! Huge pages for large results and tables: one page fault and one TLB entry for 2 MiB instead of 4 KiB.
//!
//! Only advice to the system (`MADV_HUGEPAGE`): where it is refused, everything works with small pages.

use std::io;

use memmap2::{Advice, MmapMut, MmapRaw};

/// Vectors smaller than this get no advice: it costs a system call.
const MIN_BYTES: usize = 8 << 20;

#[cfg(target_os = "linux")]
const HUGE_BYTES: usize = 2 << 20;

/// Reserves room for `n` items in huge pages if they are many; the caller should `shrink_to_fit` in the end. Where it
/// fails, the vector is unchanged and grows as usual.
pub fn reserve<T>(items: &mut Vec<T>, n: usize) {
    if n.saturating_mul(size_of::<T>()) < MIN_BYTES || items.try_reserve_exact(n).is_err() {
        return;
    }
    prefer_huge(items.spare_capacity_mut());
}

/// Maps `n_bytes` zeros, at least one. Pages take no memory before they are touched.
pub(crate) fn map(n_bytes: usize) -> io::Result<MmapRaw> {
    let memory = MmapMut::map_anon(n_bytes.max(1))?;
    #[cfg(target_os = "linux")]
    if n_bytes >= HUGE_BYTES {
        let _ = memory.advise(Advice::HugePage);
    }
    Ok(memory.into())
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
