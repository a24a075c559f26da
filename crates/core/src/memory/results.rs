//! Large results, and the reuse of their memory for the next result.
//!
//! The system clears each new page, which takes a tenth of the time of encoding a file. So the memory of a dropped
//! large result is kept: one block per id type, of at most [`MAX_KEPT_BYTES`]. Linux can take its pages back whenever
//! it needs memory (`MADV_FREE`). On other systems, and on 32-bit platforms, no result is kept.
//!
//! The memory of the parts from which threads assemble a result is also kept, on all platforms, for at most
//! [`MAX_PARTS`] parts per id type. The system cannot take it back.

use std::mem;
use std::ops::{Deref, DerefMut};

use super::this_process;
use crate::ids::Id;
use crate::pages;

/// Maximum bytes kept per id type.
const MAX_KEPT_BYTES: usize = 256 << 20;

/// Maximum number of parts of results kept per id type.
const MAX_PARTS: usize = 16;
/// Maximum capacity, in ids, of a kept part.
const MAX_PART_IDS: usize = 2 << 20;

/// Whether this platform keeps the memory of results.
const KEEPS_RESULTS: bool = cfg!(all(target_os = "linux", target_pointer_width = "64"));

/// The ids that a call returns.
#[derive(Debug)]
pub struct ResultIds<I: Id> {
    ids: Vec<I>,
    process: u32,
}

/// The kept memory of a dropped result and of parts of results; either can be empty.
#[derive(Debug)]
pub struct Kept<I> {
    ids: Vec<I>,
    parts: Vec<Vec<I>>,
    process: u32,
}

impl<I> Kept<I> {
    /// Creates a store without any memory.
    pub const fn empty() -> Self {
        Kept { ids: Vec::new(), parts: Vec::new(), process: 0 }
    }

    /// Takes the memory of a result, if it has room for `n` ids.
    fn take(&mut self, n: usize) -> Option<Vec<I>> {
        self.forget_stale();
        (self.ids.capacity() >= n).then(|| mem::take(&mut self.ids))
    }

    /// Frees everything from before a fork: writing to those pages would copy them, one small page at a time.
    fn forget_stale(&mut self) {
        if self.process != this_process() {
            *self = Kept { process: this_process(), ..Kept::empty() };
        }
    }
}

impl<I: Id> ResultIds<I> {
    /// Returns an empty vector. If `n` ids are many it has room for them, in the memory of a dropped result or in huge
    /// pages; if that fails it grows as usual.
    pub fn with_capacity(n: usize) -> Vec<I> {
        if pages::is_large::<I>(n)
            && let Ok(mut kept) = I::kept_memory().try_lock()
            && let Some(ids) = kept.take(n)
        {
            return ids;
        }
        let mut ids = Vec::new();
        pages::reserve(&mut ids, n);
        ids
    }

    /// Returns an empty vector for a part of about `n` ids of a result, if possible in the memory of an earlier part.
    pub(crate) fn for_part(n: usize) -> Vec<I> {
        let kept = I::kept_memory().try_lock().ok();
        let part = kept.and_then(|mut kept| {
            kept.forget_stale();
            kept.parts.pop()
        });
        let mut ids = part.unwrap_or_default();
        // If this fails the vector grows as usual.
        let _ = ids.try_reserve_exact(n);
        ids
    }

    /// Keeps the memory of a part for later parts, within limits. If the threads of a call freed it, it would go back
    /// to the system, and each call would get new pages.
    pub(crate) fn keep_part(mut ids: Vec<I>) {
        ids.clear();
        if ids.capacity() <= MAX_PART_IDS
            && let Ok(mut kept) = I::kept_memory().try_lock()
        {
            kept.forget_stale();
            if kept.parts.len() < MAX_PARTS && kept.parts.try_reserve(1).is_ok() {
                kept.parts.push(ids);
            }
        }
    }
}

impl<I: Id> From<Vec<I>> for ResultIds<I> {
    /// Wraps the ids, and returns unused memory after them to the system.
    fn from(mut ids: Vec<I>) -> Self {
        if is_kept(&ids) {
            pages::release(ids.spare_capacity_mut());
        } else {
            ids.shrink_to_fit();
        }
        ResultIds { ids, process: this_process() }
    }
}

/// Returns whether memory of this size is kept.
fn is_kept<I>(ids: &Vec<I>) -> bool {
    KEEPS_RESULTS && pages::is_large::<I>(ids.capacity()) && ids.capacity() <= MAX_KEPT_BYTES / size_of::<I>()
}

impl<I: Id> Drop for ResultIds<I> {
    fn drop(&mut self) {
        let (mut ids, process) = (mem::take(&mut self.ids), self.process);
        if !is_kept(&ids) || process != this_process() {
            return;
        }
        ids.clear();
        // Only `try_lock`: a lock that another thread holds during a fork stays locked in the child, which then keeps
        // nothing.
        if pages::release_lazily(ids.spare_capacity_mut())
            && let Ok(mut kept) = I::kept_memory().try_lock()
        {
            kept.forget_stale();
            if kept.ids.capacity() < ids.capacity() {
                // The smaller block is freed after the lock is released.
                mem::swap(&mut kept.ids, &mut ids);
            }
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

    /// A type of ids for one test only.
    macro_rules! test_id {
        ($id:ident) => {
            #[derive(Clone, Copy, Debug, Default, PartialEq)]
            struct $id(u64);

            impl Sealed for $id {}

            impl Id for $id {
                const MAX: u32 = u32::MAX;

                fn from_u32(id: u32) -> Self {
                    $id(id.into())
                }

                fn to_u32(self) -> u32 {
                    self.0 as u32
                }

                fn kept_memory() -> &'static Mutex<Kept<Self>> {
                    static KEPT: Mutex<Kept<$id>> = Mutex::new(Kept::empty());
                    &KEPT
                }
            }
        };
    }

    #[test]
    fn memory_of_a_large_result_serves_the_next() {
        test_id!(TestId);
        const N: usize = 4 << 20;
        const MAX_KEPT_IDS: usize = MAX_KEPT_BYTES / size_of::<TestId>();
        let ids = |n: u32, room: usize| {
            let mut ids = ResultIds::with_capacity(room);
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
        drop(ids(3, MAX_KEPT_IDS + 1));
        assert!(
            TestId::kept_memory().lock().unwrap().ids.capacity() <= MAX_KEPT_IDS,
            "a very large one is not"
        );
        let mut kept = ids(4, N);
        kept.process += 1;
        TestId::kept_memory().lock().unwrap().ids = Vec::new();
        drop(kept);
        assert_eq!(
            TestId::kept_memory().lock().unwrap().ids.capacity(),
            0,
            "nor one of the process before a fork"
        );
        drop(ids(5, N));
        TestId::kept_memory().lock().unwrap().process += 1;
        assert!(TestId::kept_memory().lock().unwrap().take(1).is_none());
    }
    #[test]
    fn memory_of_a_part_serves_the_next() {
        test_id!(PartId);
        let n_kept = || PartId::kept_memory().lock().unwrap().parts.len();
        let mut first = ResultIds::<PartId>::for_part(100);
        first.push(PartId(1));
        let address = first.as_ptr();
        ResultIds::keep_part(first);
        let second = ResultIds::<PartId>::for_part(50);
        assert!(second.as_ptr() == address && second.is_empty() && second.capacity() >= 100);
        let third = ResultIds::<PartId>::for_part(MAX_PART_IDS + 1);
        assert!(third.capacity() > MAX_PART_IDS);
        ResultIds::keep_part(third);
        assert_eq!(n_kept(), 0, "a large part is not kept");
        (0..MAX_PARTS + 3).for_each(|_| ResultIds::<PartId>::keep_part(Vec::with_capacity(10)));
        assert_eq!(n_kept(), MAX_PARTS);
        PartId::kept_memory().lock().unwrap().process += 1;
        ResultIds::keep_part(second);
        assert_eq!(n_kept(), 1, "nor one of the process before a fork");
    }
}
