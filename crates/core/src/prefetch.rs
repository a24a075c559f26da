//! Software prefetch, for random accesses that the program can predict and the processor cannot.

/// Bytes of a cache line on most processors; only speed depends on it.
pub(crate) const LINE_BYTES: usize = 64;

/// Prefetches the cache line at `address` into all cache levels. A hint: any address is allowed.
#[inline(always)]
pub fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: PREFETCHT0 is part of SSE, so of every x86-64; it changes no state and never faults, whatever the
        // address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: PRFM is part of every aarch64; it changes no state and never faults, whatever the address.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{0}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}

/// Memory that will be read in order, prefetched a few cache lines at a time between other work. Prefetching all lines
/// at once would stall: a processor can have only few loads in progress.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    /// The address of the next line.
    next: usize,
    n_lines: usize,
}

impl Ahead {
    /// Covers the first of these bytes, at most `n_most`.
    pub(crate) fn new(bytes: &[u8], n_most: usize) -> Self {
        let start = bytes.as_ptr().addr();
        let next = start / LINE_BYTES * LINE_BYTES;
        let n_bytes = bytes.len().min(n_most);
        let n_lines = if n_bytes > 0 { (start - next + n_bytes).div_ceil(LINE_BYTES) } else { 0 };
        Ahead { next, n_lines }
    }

    /// Prefetches the next lines, at most `n_most`; returns how many.
    #[inline(always)]
    pub(crate) fn prefetch(&mut self, n_most: usize) -> usize {
        let n_prefetched = n_most.min(self.n_lines);
        for _ in 0..n_prefetched {
            prefetch(std::ptr::without_provenance::<u8>(self.next));
            self.next = self.next.wrapping_add(LINE_BYTES);
        }
        self.n_lines -= n_prefetched;
        n_prefetched
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_prefetched_once() {
        let bytes = vec![0; 10 * LINE_BYTES];
        let start = bytes.as_ptr().addr().next_multiple_of(LINE_BYTES) - bytes.as_ptr().addr();
        // (offset of the first byte, number of bytes, most bytes to prefetch, number of lines they are in)
        for (from, n_bytes, n_most, expected) in [
            (0, 0, 100, 0),
            (5, 1, 100, 1),
            (5, 64, 100, 2),
            (0, 128, 100, 2),
            (63, 2, 100, 2),
            (0, 500, 129, 3),
            (0, 500, 0, 0),
        ] {
            let mut ahead = Ahead::new(&bytes[start + from..][..n_bytes], n_most);
            assert_eq!(
                ahead.prefetch(2) + ahead.prefetch(1) + ahead.prefetch(100),
                expected,
                "{n_bytes} from {from}"
            );
            assert_eq!(ahead.prefetch(100), 0);
        }
    }
}
