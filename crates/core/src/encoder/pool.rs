//! The workers of an encoder, in slots.
//!
//! A call locks a slot while it uses the worker in it, which takes two atomic instructions. Taking a worker out of a
//! list behind a lock and putting it back took four, a twentieth of a call with a short text. Only `try_lock` is used,
//! so no call ever waits, and a slot that another thread holds during a fork is merely lost to the child.
//!
//! A thread first tries the slot that it used last. If all threads started at the first slot, each call would
//! invalidate the cache lines of slots that others use. A new thread starts at the first slot, so that short-lived
//! threads share few workers.

use std::cell::Cell;
use std::sync::{Mutex, MutexGuard};

use crate::error::Result;

/// Number of workers to keep. If more calls run at once, the others create workers for themselves.
const N_SLOTS: usize = 64;

thread_local! {
    /// The number of the slot that this thread used last, in any pool.
    static LAST: Cell<usize> = const { Cell::new(0) };
}

/// Aligned so that slots do not share a cache line, nor a pair of lines that are fetched together.
#[repr(align(128))]
struct Slot<T>(Mutex<Option<T>>);

/// Values that are each used by one call at a time, created when first needed.
pub(super) struct Pool<T>(Vec<Slot<T>>);

impl<T> Pool<T> {
    /// Creates an empty pool.
    pub(super) fn new() -> Self {
        Pool((0..N_SLOTS).map(|_| Slot(Mutex::new(None))).collect())
    }

    /// Calls `work` with a value that is not in use, or with a new one.
    #[inline]
    pub(super) fn with<R>(
        &self,
        new: impl FnOnce() -> Result<T>,
        work: impl FnOnce(&mut T) -> Result<R>,
    ) -> Result<R> {
        // A slot whose call panicked is poisoned and is not used again.
        match self.lock() {
            Some(mut slot) => match &mut *slot {
                Some(value) => work(value),
                empty => work(empty.insert(new()?)),
            },
            None => work(&mut new()?),
        }
    }

    /// Locks a slot that is not in use.
    #[inline]
    fn lock(&self) -> Option<MutexGuard<'_, Option<T>>> {
        let last = LAST.get();
        self.0[last].0.try_lock().ok().or_else(|| self.lock_another())
    }

    /// Locks the first free slot, which becomes the last used slot of this thread.
    #[cold]
    fn lock_another(&self) -> Option<MutexGuard<'_, Option<T>>> {
        let mut slots = self.0.iter().enumerate();
        slots.find_map(|(number, slot)| slot.0.try_lock().ok().inspect(|_| LAST.set(number)))
    }

    /// Calls `work` for each value that is not in use.
    pub(super) fn visit(&self, mut work: impl FnMut(&mut T)) {
        for slot in &self.0 {
            if let Ok(mut slot) = slot.0.try_lock() {
                slot.iter_mut().for_each(&mut work);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Calls `inner` while `n` values of the pool are in use.
    fn while_in_use(pool: &Pool<usize>, new: &impl Fn() -> Result<usize>, n: usize, inner: &mut dyn FnMut()) {
        match n {
            0 => inner(),
            _ => {
                let inside = |_: &mut usize| {
                    while_in_use(pool, new, n - 1, inner);
                    Ok(())
                };
                pool.with(new, inside).unwrap();
            }
        }
    }

    #[test]
    fn pool_uses_values_again_and_keeps_up_to_a_bound() {
        let (pool, n_new) = (Pool::new(), Cell::new(0));
        let new = || Ok(n_new.replace(n_new.get() + 1));
        for _ in 0..3 {
            assert_eq!(pool.with(new, |value| Ok(*value)).unwrap(), 0);
        }
        while_in_use(&pool, &new, N_SLOTS + 3, &mut || ());
        assert_eq!(n_new.get(), N_SLOTS + 3);
        while_in_use(&pool, &new, N_SLOTS, &mut || ());
        assert_eq!(n_new.get(), N_SLOTS + 3);
    }

    #[test]
    fn threads_keep_to_slots_of_their_own() {
        let pool = Pool::new();
        // Each thread holds a slot while the other holds another; from then on it finds its own value in its slot.
        let both = std::sync::Barrier::new(2);
        let work = |name: usize| {
            both.wait();
            let first = pool.with(
                || Ok(name),
                |value| {
                    both.wait();
                    both.wait();
                    Ok(*value)
                },
            );
            let later = (0..100).map(|_| pool.with(|| Ok(name), |value| Ok(*value)).unwrap());
            assert!(later.into_iter().all(|value| value == *first.as_ref().unwrap()));
            first.unwrap()
        };
        std::thread::scope(|scope| {
            let found =
                [1, 2].map(|name| scope.spawn(move || work(name))).map(|thread| thread.join().unwrap());
            assert_eq!(found, [1, 2]);
        });
        // A new thread starts at the first slot, so no third value is made.
        let third = std::thread::scope(|scope| {
            scope.spawn(|| pool.with(|| Ok(3), |value| Ok(*value))).join().unwrap()
        });
        assert_ne!(third.unwrap(), 3);
    }

    #[test]
    fn visit_reaches_the_values_that_nobody_uses() {
        let pool = Pool::new();
        while_in_use(&pool, &|| Ok(0), 5, &mut || ());
        while_in_use(&pool, &|| Ok(0), 2, &mut || pool.visit(|value| *value += 1));
        let mut values = Vec::new();
        pool.visit(|value| values.push(*value));
        values.sort_unstable();
        assert_eq!(values, [0, 0, 1, 1, 1]);
    }

    #[test]
    fn failure_to_make_a_value_leaves_the_slot_empty() {
        let pool = Pool::<usize>::new();
        let failed = pool.with(|| Err(crate::error::Error::NotCharacters), |_| Ok(()));
        assert!(failed.is_err());
        assert_eq!(pool.with(|| Ok(7), |value| Ok(*value)).unwrap(), 7);
    }

    #[test]
    fn value_of_a_call_that_panicked_is_not_used_again() {
        let pool = Pool::new();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            pool.with(|| Ok(1), |_| -> Result<()> { panic!("on purpose") })
        }));
        assert!(panicked.is_err());
        assert_eq!(pool.with(|| Ok(2), |value| Ok(*value)).unwrap(), 2);
    }
}
