//! Room for large results and tables in huge pages, where the system has them: a page fault for 2 MiB, not for 4 KiB.

use std::io;

use memmap2::{Advice, MmapMut, MmapRaw};

/// Below this, pages are not worth a call.
const LEAST_BYTES: usize = 8 << 20;

#[cfg(target_os = "linux")]
const HUGE_BYTES: usize = 2 << 20;

/// Makes room for `n` items, if they are many and the system allows it; what is not used should be given back by
/// `shrink_to_fit`. Nothing depends on it: where it fails the vector grows as it must.
pub fn reserve<T>(items: &mut Vec<T>, n: usize) {
    if n.saturating_mul(size_of::<T>()) < LEAST_BYTES || items.try_reserve_exact(n).is_err() {
        return;
    }
    prefer_huge(items.spare_capacity_mut());
}

/// Zeros that are no page in use before they are touched; at least one.
pub(crate) fn map(n_bytes: usize) -> io::Result<MmapRaw> {
    let memory = MmapMut::map_anon(n_bytes.max(1))?;
    #[cfg(target_os = "linux")]
    if n_bytes >= HUGE_BYTES {
        // Only a wish: without it all works, somewhat slower.
        let _ = memory.advise(Advice::HugePage);
    }
    Ok(memory.into())
}

/// Asks for huge pages for `room`, which has not been touched yet, if it is large.
pub fn prefer_huge<T>(room: &mut [T]) {
    #[cfg(target_os = "linux")]
    if size_of_val(room) >= LEAST_BYTES {
        let begin = room.as_mut_ptr() as usize;
        let end = begin + size_of_val(room);
        let (first, last) = (begin.next_multiple_of(HUGE_BYTES), end / HUGE_BYTES * HUGE_BYTES);
        if first < last {
            // SAFETY: The range lies within memory that the caller owns; the advice changes no byte of it. That it
            // may be refused does not matter.
            unsafe { libc::madvise(first as *mut libc::c_void, last - first, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = room;
}
