//! Large results, whose memory serves the next one.
//!
//! The system clears each page that it gives, which is a tenth of the time that the ids of a file take. So the memory of
//! a large result is kept when it is dropped: one piece for each type of ids, of at most [`MAX_KEPT_BYTES`]. Linux may take
//! its pages back whenever it wants memory (`MADV_FREE`). Elsewhere, and where address space is scarce (32 bits,
//! `RLIMIT_AS`), nothing is kept.

use std::mem;
use std::ops::{Deref, DerefMut};

use super::room::is_limited;
use super::this_process;
use crate::ids::Id;
use crate::pages;

/// The most bytes that are kept for a type of ids.
const MAX_KEPT_BYTES: usize = 256 << 20;

/// Whether anything is kept on this platform.
const KEEPS: bool = cfg!(all(target_os = "linux", target_pointer_width = "64"));

/// The ids of a call.
#[derive(Debug)]
pub struct ResultIds<I: Id> {
    ids: Vec<I>,
    process: u32,
}

/// Memory of a result that was dropped, or nothing.
#[derive(Debug)]
pub struct Kept<I> {
    ids: Vec<I>,
    process: u32,
}

impl<I> Kept<I> {
    /// No memory.
    pub const fn nothing() -> Self {
        Kept { ids: Vec::new(), process: 0 }
    }

    /// Room for `n` ids, if it is kept.
    fn take(&mut self, n: usize) -> Option<Vec<I>> {
        // In a process that was forked, writing to these pages would copy them, one small page at a time.
        if self.process != this_process() || is_limited() {
            self.ids = Vec::new();
        }
        (self.ids.capacity() >= n).then(|| mem::take(&mut self.ids))
    }
}

impl<I: Id> ResultIds<I> {
    /// An empty vector; if `n` ids are many, with room for so many, in memory of a result that was dropped or in huge
    /// pages. Where that fails, it grows as usual.
    pub fn room(n: usize) -> Vec<I> {
        if pages::is_large::<I>(n)
            && let Ok(mut kept) = I::kept().try_lock()
            && let Some(ids) = kept.take(n)
        {
            return ids;
        }
        let mut ids = Vec::new();
        pages::reserve(&mut ids, n);
        ids
    }
}

impl<I: Id> From<Vec<I>> for ResultIds<I> {
    /// The ids; memory behind them is given back to the system.
    fn from(mut ids: Vec<I>) -> Self {
        if is_kept(&ids) {
            pages::give_back(ids.spare_capacity_mut());
        } else {
            ids.shrink_to_fit();
        }
        ResultIds { ids, process: this_process() }
    }
}

/// Whether memory of this size is kept.
fn is_kept<I>(ids: &Vec<I>) -> bool {
    KEEPS
        && pages::is_large::<I>(ids.capacity())
        && ids.capacity() <= MAX_KEPT_BYTES / size_of::<I>()
        && !is_limited()
}

impl<I: Id> Drop for ResultIds<I> {
    fn drop(&mut self) {
        let (mut ids, process) = (mem::take(&mut self.ids), self.process);
        if !is_kept(&ids) || process != this_process() {
            return;
        }
        ids.clear();
        // Only `try_lock`: a lock that another thread has while the process is forked stays locked in the child, which
        // then keeps nothing.
        if pages::lend(ids.spare_capacity_mut())
            && let Ok(mut kept) = I::kept().try_lock()
            && (kept.ids.capacity() < ids.capacity() || kept.process != process)
        {
            // What was kept is freed without the lock.
            mem::swap(&mut kept.ids, &mut ids);
            kept.process = process;
        }
    }
}

impl<I: Id + PartialEq> PartialEq for ResultIds<I> {
    fn eq(&self, other: &Self) -> bool {
        self.ids == other.ids
    }
}

impl<I: Id> Deref for ResultIds<I> {
    type Target = Vec<I>;

    fn deref(&self) -> &Vec<I> {
        &self.ids
    }
}

impl<I: Id> DerefMut for ResultIds<I> {
    fn deref_mut(&mut self) -> &mut Vec<I> {
        &mut self.ids
    }
}

#[cfg(all(test, target_os = "linux", target_pointer_width = "64"))]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::ids::private::Sealed;

    /// Ids of this type are of this test alone.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    struct TestId(u64);

    impl Sealed for TestId {}

    impl Id for TestId {
        const MAX: u32 = u32::MAX;

        fn from_u32(id: u32) -> Self {
            TestId(id.into())
        }

        fn to_u32(self) -> u32 {
            self.0 as u32
        }

        fn kept() -> &'static Mutex<Kept<Self>> {
            static KEPT: Mutex<Kept<TestId>> = Mutex::new(Kept::nothing());
            &KEPT
        }
    }

    #[test]
    fn memory_of_a_large_result_serves_the_next() {
        const N: usize = 4 << 20;
        const MOST: usize = MAX_KEPT_BYTES / size_of::<TestId>();
        let ids = |n: u32, room: usize| {
            let mut ids = ResultIds::room(room);
            ids.extend((0..n).map(TestId::from_u32));
            ResultIds::from(ids)
        };
        let first = ids(N as u32, N);
        let address = first.as_ptr();
        drop(first);
        let small = ids(10, 10);
        let (second, third) = (ids(N as u32 / 2, N / 2), ids(10, N / 2));
        assert!(small.as_ptr() != address && second.as_ptr() == address && third.as_ptr() != address);
        assert!(second.iter().map(|id| id.to_u32()).eq(0..N as u32 / 2));
        drop(third);
        drop(second);
        drop(ids(10, N / 4));
        assert_eq!(ids(1, N).as_ptr(), address, "the larger one is kept");
        let larger = ids(1, N + 1);
        assert!(larger.as_ptr() != address && larger.capacity() > N);
        drop(ids(3, MOST + 1));
        assert!(TestId::kept().lock().unwrap().ids.capacity() <= MOST, "a very large one is not");
        let mut kept = ids(4, N);
        kept.process += 1;
        TestId::kept().lock().unwrap().ids = Vec::new();
        drop(kept);
        assert_eq!(TestId::kept().lock().unwrap().ids.capacity(), 0, "nor one of the process before a fork");
        drop(ids(5, N));
        TestId::kept().lock().unwrap().process += 1;
        assert!(TestId::kept().lock().unwrap().take(1).is_none());
    }
}
