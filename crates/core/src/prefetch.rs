//! Software prefetch, for random accesses that the program can foresee and the processor cannot.

/// Bytes of a cache line, as most processors have it; elsewhere only speed depends on it.
pub(crate) const LINE_BYTES: usize = 64;

/// Starts loading the cache line at `address` into all cache levels. A hint: any address is allowed.
#[inline(always)]
pub fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: PREFETCHT0 is part of SSE, so of every x86-64; it changes no state and never faults at any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: PRFM is part of every aarch64; it changes no state and never faults at any address.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{0}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}

/// Memory that will be read in order, asked for a few cache lines at a time between other work. All at once would be waited
/// for: a processor has few loads under way.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    /// The address of the next line.
    next: usize,
    n_lines: usize,
}

impl Ahead {
    /// The first of these bytes, at most `n_most`.
    pub(crate) fn of(bytes: &[u8], n_most: usize) -> Self {
        let begin = bytes.as_ptr().addr();
        let next = begin / LINE_BYTES * LINE_BYTES;
        let n_bytes = bytes.len().min(n_most);
        let n_lines = if n_bytes > 0 { (begin - next + n_bytes).div_ceil(LINE_BYTES) } else { 0 };
        Ahead { next, n_lines }
    }

    /// Asks for the next lines, at most `n_most`; how many that were.
    #[inline(always)]
    pub(crate) fn ask(&mut self, n_most: usize) -> usize {
        let n_asked = n_most.min(self.n_lines);
        for _ in 0..n_asked {
            prefetch(std::ptr::without_provenance::<u8>(self.next));
            self.next = self.next.wrapping_add(LINE_BYTES);
        }
        self.n_lines -= n_asked;
        n_asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_asked_for_once() {
        let bytes = vec![0; 10 * LINE_BYTES];
        let begin = bytes.as_ptr().addr().next_multiple_of(LINE_BYTES) - bytes.as_ptr().addr();
        // From where, how many bytes, how many at most, and how many lines these are in.
        for (from, n_bytes, n_most, expected) in [
            (0, 0, 100, 0),
            (5, 1, 100, 1),
            (5, 64, 100, 2),
            (0, 128, 100, 2),
            (63, 2, 100, 2),
            (0, 500, 129, 3),
            (0, 500, 0, 0),
        ] {
            let mut ahead = Ahead::of(&bytes[begin + from..][..n_bytes], n_most);
            assert_eq!(ahead.ask(2) + ahead.ask(1) + ahead.ask(100), expected, "{n_bytes} from {from}");
            assert_eq!(ahead.ask(100), 0);
        }
    }
}
