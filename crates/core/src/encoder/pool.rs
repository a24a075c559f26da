//! Idle workers of an encoder.
//!
//! A caller takes a worker out and puts it back. Only `try_lock` is used: a lock held across fork() costs the child the
//! pool, never a deadlock. At most [`MAX_IDLE`] workers are kept.

use std::sync::{Mutex, MutexGuard};

/// Workers that are kept; more are dropped when their work is done.
const MAX_IDLE: usize = 64;

/// How often the lock is tried: others hold it for nanoseconds.
const N_TRIES: usize = 100;

/// Values that nobody uses now.
pub(super) struct Pool<T>(Mutex<Vec<Box<T>>>);

impl<T> Pool<T> {
    /// No values yet, and room for those that are kept.
    pub(super) fn new() -> Self {
        Pool(Mutex::new(Vec::with_capacity(MAX_IDLE)))
    }

    #[inline]
    fn lock(&self) -> Option<MutexGuard<'_, Vec<Box<T>>>> {
        (0..N_TRIES).find_map(|_| self.0.try_lock().inspect_err(|_| std::hint::spin_loop()).ok())
    }

    /// Takes a value out, if there is one.
    #[inline]
    pub(super) fn take(&self) -> Option<Box<T>> {
        self.lock()?.pop()
    }

    /// Puts a value in, or drops it if the pool is full or locked.
    #[inline]
    pub(super) fn put(&self, value: Box<T>) {
        if let Some(mut values) = self.lock()
            && values.len() < MAX_IDLE
        {
            values.push(value);
        }
    }

    /// Calls `work` for all values in the pool.
    pub(super) fn visit(&self, mut work: impl FnMut(&mut T)) {
        if let Some(mut values) = self.lock() {
            values.iter_mut().for_each(|value| work(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pool_keeps_values_up_to_a_bound_and_visits_them() {
        let pool = Pool::new();
        assert!(pool.take().is_none());
        for number in 0..MAX_IDLE + 3 {
            pool.put(Box::new(number));
        }
        pool.visit(|number| *number += 100);
        let taken: Vec<_> = std::iter::from_fn(|| pool.take()).collect();
        assert!(taken.len() == MAX_IDLE && taken.iter().all(|number| **number >= 100));
    }
}
