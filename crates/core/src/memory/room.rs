//! Address space held in reserve while a library runs that allocates infallibly.
//!
//! Only needed if the address space of the process is limited (`RLIMIT_AS`); otherwise nothing is held.

pub use system::Room;
pub(super) use system::{is_limited, release};

#[cfg(target_os = "linux")]
mod system {
    use std::cell::Cell;
    use std::marker::PhantomData;
    use std::mem::MaybeUninit;
    use std::ptr;

    use crate::error::{Error, Result};

    /// A mapping: its start and its length in bytes.
    type Mapping = (*mut libc::c_void, usize);

    const NONE: Mapping = (ptr::null_mut(), 0);

    thread_local! {
        /// The innermost mapping that this thread holds and has not released.
        static HELD: Cell<Mapping> = const { Cell::new(NONE) };
    }

    /// Address space held by this thread. Released when dropped, or earlier when
    /// [`Allocator`](crate::memory::Allocator) is refused memory on this thread.
    #[must_use]
    pub struct Room {
        /// The mapping that the thread held before.
        before: Mapping,
        own: Mapping,
        /// Not `Send`: it belongs to the thread that made it.
        thread: PhantomData<*const ()>,
    }

    impl Room {
        /// Holds `n_bytes` if the address space of the process is limited; [`Error::OutOfMemory`] if there is less.
        ///
        /// Cost: about 100 ns without a limit, some microseconds with one.
        pub fn hold(n_bytes: usize, what: &'static str) -> Result<Self> {
            let own = if is_limited() { map(n_bytes).ok_or(Error::OutOfMemory { what })? } else { NONE };
            let before = HELD.replace(own);
            Ok(Room { before, own, thread: PhantomData })
        }
    }

    impl Drop for Room {
        fn drop(&mut self) {
            if HELD.replace(self.before) == self.own {
                unmap(self.own);
            }
        }
    }

    /// Releases what this thread holds; returns whether it held anything.
    pub(in crate::memory) fn release() -> bool {
        let held = HELD.replace(NONE);
        unmap(held);
        held != NONE
    }

    /// Whether the process's address space is limited.
    pub(in crate::memory) fn is_limited() -> bool {
        let mut limit = MaybeUninit::<libc::rlimit>::uninit();
        // SAFETY: `getrlimit` gets a valid pointer to an rlimit, and has written it if it returns 0.
        unsafe {
            libc::getrlimit(libc::RLIMIT_AS, limit.as_mut_ptr()) == 0
                && limit.assume_init().rlim_cur != libc::RLIM_INFINITY
        }
    }

    fn map(n_bytes: usize) -> Option<Mapping> {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: A new anonymous mapping at an address of the system's choice touches no existing memory.
        let start = unsafe { libc::mmap(ptr::null_mut(), n_bytes, protection, flags, -1, 0) };
        (start != libc::MAP_FAILED).then_some((start, n_bytes))
    }

    fn unmap((start, n_bytes): Mapping) {
        if n_bytes > 0 {
            // SAFETY: `map` returned it, no reference into it exists, and it is unmapped once: `release` and `drop`
            // each take it out of `HELD` first.
            unsafe { libc::munmap(start, n_bytes) };
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use crate::error::Result;

    /// Address space of this thread, which this system does not limit.
    #[must_use]
    pub struct Room;

    impl Room {
        /// Holds nothing.
        pub fn hold(_n_bytes: usize, _what: &'static str) -> Result<Self> {
            Ok(Room)
        }
    }

    pub(in crate::memory) fn release() -> bool {
        false
    }

    pub(in crate::memory) fn is_limited() -> bool {
        false
    }
}
