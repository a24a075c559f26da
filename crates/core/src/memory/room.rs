//! Address space that is held while a library runs that allocates without asking.

use crate::error::{Error, Result};

pub use system::Room;
pub(super) use system::give_up;

#[cfg(target_os = "linux")]
mod system {
    use std::cell::Cell;
    use std::marker::PhantomData;
    use std::mem::MaybeUninit;
    use std::ptr;

    use super::{Error, Result};

    /// A mapping: where it begins and its bytes.
    type Mapping = (*mut libc::c_void, usize);

    const NONE: Mapping = (ptr::null_mut(), 0);

    thread_local! {
        /// What this thread holds and has not given up.
        static HELD: Cell<Mapping> = const { Cell::new(NONE) };
    }

    /// Address space of this thread; given back when it is dropped, or when [`Allocator`](crate::memory::Allocator)
    /// finds no memory for this thread before that.
    #[must_use]
    pub struct Room {
        before: Mapping,
        own: Mapping,
        /// It belongs to the thread that made it.
        thread: PhantomData<*const ()>,
    }

    impl Room {
        /// Holds `n_bytes` where the process's address space is limited; [`Error::OutOfMemory`] where there are not
        /// as many.
        ///
        /// Without a limit nothing is held: some 100 ns; else some microseconds.
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

    /// Gives back what this thread holds; says whether it held anything.
    pub(in crate::memory) fn give_up() -> bool {
        let held = HELD.replace(NONE);
        unmap(held);
        held != NONE
    }

    /// Whether the process may not have as much address space as it likes.
    fn is_limited() -> bool {
        let mut limit = MaybeUninit::<libc::rlimit>::uninit();
        // SAFETY: The call writes a limit to where there is room for one, and gives 0 if it did.
        unsafe {
            libc::getrlimit(libc::RLIMIT_AS, limit.as_mut_ptr()) == 0
                && limit.assume_init().rlim_cur != libc::RLIM_INFINITY
        }
    }

    fn map(n_bytes: usize) -> Option<Mapping> {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: A new mapping, anywhere; nothing that exists is touched.
        let place = unsafe { libc::mmap(ptr::null_mut(), n_bytes, protection, flags, -1, 0) };
        (place != libc::MAP_FAILED).then_some((place, n_bytes))
    }

    fn unmap((place, n_bytes): Mapping) {
        if n_bytes > 0 {
            // SAFETY: `map` made it, nobody else knows it, and it is in one place of `HELD` and `Room` at most.
            unsafe { libc::munmap(place, n_bytes) };
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::Result;

    /// Address space of this thread; this system has no limit of it that would have to be kept to.
    #[must_use]
    pub struct Room;

    impl Room {
        /// Holds nothing.
        pub fn hold(_n_bytes: usize, _what: &'static str) -> Result<Self> {
            Ok(Room)
        }
    }

    pub(in crate::memory) fn give_up() -> bool {
        false
    }
}
