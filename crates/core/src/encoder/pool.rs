//! Idle workers of an encoder.
//!
//! A caller takes a worker out and puts it back. One lies in a slot that is exchanged by one atomic instruction, which is
//! all that a program of one thread ever uses: taking a lock and giving it back, twice, took a tenth of the time of encoding 13
//! characters. The others lie behind a lock. Only `try_lock` is used: a lock held across fork() costs the child the pool,
//! never a deadlock. At most [`MAX_IDLE`] workers are kept.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Workers that are kept; more are dropped when their work is done.
const MAX_IDLE: usize = 64;

/// How often the lock is tried: others hold it for nanoseconds.
const N_TRIES: usize = 100;

/// Values that nobody uses now.
pub(super) struct Pool<T> {
    /// One of them, from [`Box::into_raw`], or null. Who takes the pointer out owns the value.
    first: AtomicPtr<T>,
    others: Mutex<Vec<Box<T>>>,
}

// SAFETY: a value is sent from the thread that puts it in to the one that takes it out, and never shared.
unsafe impl<T: Send> Sync for Pool<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Pool<T> {}

impl<T> Pool<T> {
    /// No values yet, and room for those that are kept.
    pub(super) fn new() -> Self {
        let first = AtomicPtr::new(ptr::null_mut());
        Pool { first, others: Mutex::new(Vec::with_capacity(MAX_IDLE)) }
    }

    #[inline]
    fn lock(&self) -> Option<MutexGuard<'_, Vec<Box<T>>>> {
        (0..N_TRIES).find_map(|_| self.others.try_lock().inspect_err(|_| std::hint::spin_loop()).ok())
    }

    /// Takes the value of the slot out.
    #[inline]
    fn take_first(&self) -> Option<Box<T>> {
        let first = self.first.swap(ptr::null_mut(), Ordering::Acquire);
        // SAFETY: it is from `Box::into_raw`, and the exchange gave it to this call alone.
        (!first.is_null()).then(|| unsafe { Box::from_raw(first) })
    }

    /// Takes a value out, if there is one.
    #[inline]
    pub(super) fn take(&self) -> Option<Box<T>> {
        self.take_first().or_else(|| self.lock()?.pop())
    }

    /// Puts a value in, or drops it if the pool is full or locked.
    #[inline]
    pub(super) fn put(&self, value: Box<T>) {
        let value = Box::into_raw(value);
        let (null, order) = (ptr::null_mut(), Ordering::Relaxed);
        if self.first.compare_exchange(null, value, Ordering::Release, order).is_ok() {
            return;
        }
        // SAFETY: it is from `Box::into_raw` above, and was not put into the slot.
        let value = unsafe { Box::from_raw(value) };
        if let Some(mut values) = self.lock()
            && values.len() + 1 < MAX_IDLE
        {
            values.push(value);
        }
    }

    /// Calls `work` for all values in the pool.
    pub(super) fn visit(&self, mut work: impl FnMut(&mut T)) {
        if let Some(mut first) = self.take_first() {
            work(&mut first);
            self.put(first);
        }
        if let Some(mut values) = self.lock() {
            values.iter_mut().for_each(|value| work(value));
        }
    }
}

impl<T> Drop for Pool<T> {
    fn drop(&mut self) {
        self.take_first();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    use super::*;

    #[test]
    fn pool_keeps_values_up_to_a_bound_and_visits_them() {
        let pool = Pool::new();
        assert!(pool.take().is_none());
        for number in 0..MAX_IDLE + 3 {
            pool.put(Box::new(number));
        }
        pool.visit(|number| *number += 100);
        let mut taken: Vec<_> = std::iter::from_fn(|| pool.take()).collect();
        taken.sort();
        let expected: Vec<_> = (100..100 + MAX_IDLE).map(Box::new).collect();
        assert_eq!(taken, expected);
    }

    #[test]
    fn pool_gives_each_value_to_one_thread_and_drops_what_is_left() {
        let value = Arc::new(());
        let pool = Pool::new();
        for _ in 0..3 {
            pool.put(Box::new((Arc::clone(&value), AtomicUsize::new(0))));
        }
        let n = if cfg!(miri) { 30 } else { 10_000 };
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..n {
                        let Some(taken) = pool.take() else { continue };
                        assert_eq!(taken.1.fetch_add(1, Ordering::Relaxed), 0);
                        thread::yield_now();
                        taken.1.fetch_sub(1, Ordering::Relaxed);
                        pool.put(taken);
                    }
                });
            }
        });
        let mut n_left = 0;
        pool.visit(|_| n_left += 1);
        assert_eq!(Arc::strong_count(&value), 1 + n_left);
        drop(pool);
        assert_eq!(Arc::strong_count(&value), 1);
    }
}
