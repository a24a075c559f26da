//! Large results, whose memory serves the next one.
//!
//! The system clears each page that it gives, which is a tenth of the time that the ids of a file take. So the memory of
//! a large result is kept when it is dropped: one piece for each type of ids, of at most [`MAX_KEPT_BYTES`]. Linux may take
//! its pages back whenever it wants memory (`MADV_FREE`). Elsewhere, and where address space is scarce (32 bits,
//! `RLIMIT_AS`), nothing is kept.

use std::mem;
use std::ops::{Deref, DerefMut};

use super::room::is_limited;
use crate::ids::Id;
use crate::pages;

/// The most bytes that are kept for a type of ids.
const MAX_KEPT_BYTES: usize = 256 << 20;

/// The ids of a call.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ResultIds<I: Id>(Vec<I>);

impl<I: Id> ResultIds<I> {
    /// An empty vector; if `n` ids are many, with room for so many, in memory of a result that was dropped or in huge
    /// pages. Where that fails, it grows as usual.
    pub fn room(n: usize) -> Vec<I> {
        let mut ids = Vec::new();
        if pages::is_large::<I>(n)
            && let Ok(mut kept) = I::kept().try_lock()
            && kept.capacity() >= n
        {
            ids = mem::take(&mut *kept);
        }
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
        ResultIds(ids)
    }
}

/// Whether memory of this size is kept.
fn is_kept<I>(ids: &Vec<I>) -> bool {
    cfg!(all(target_os = "linux", target_pointer_width = "64"))
        && pages::is_large::<I>(ids.capacity())
        && ids.capacity() <= MAX_KEPT_BYTES / size_of::<I>()
        && !is_limited()
}

impl<I: Id> Drop for ResultIds<I> {
    fn drop(&mut self) {
        let mut ids = mem::take(&mut self.0);
        if !is_kept(&ids) {
            return;
        }
        ids.clear();
        // Only `try_lock`: a lock that another thread has while the process is forked stays locked in the child, which
        // then keeps nothing.
        if pages::lend(ids.spare_capacity_mut())
            && let Ok(mut kept) = I::kept().try_lock()
            && kept.capacity() < ids.capacity()
        {
            mem::swap(&mut *kept, &mut ids);
        }
    }
}

impl<I: Id> Deref for ResultIds<I> {
    type Target = Vec<I>;

    fn deref(&self) -> &Vec<I> {
        &self.0
    }
}

impl<I: Id> DerefMut for ResultIds<I> {
    fn deref_mut(&mut self) -> &mut Vec<I> {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Ids of this type are of this test alone.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    struct TestId(u64);

    impl Id for TestId {
        const MAX: u32 = u32::MAX;

        fn from_u32(id: u32) -> Self {
            TestId(id.into())
        }

        fn to_u32(self) -> u32 {
            self.0 as u32
        }

        fn kept() -> &'static Mutex<Vec<Self>> {
            static KEPT: Mutex<Vec<TestId>> = Mutex::new(Vec::new());
            &KEPT
        }
    }

    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
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
        assert!(TestId::kept().lock().unwrap().capacity() <= MOST, "a very large one is not");
    }
}
