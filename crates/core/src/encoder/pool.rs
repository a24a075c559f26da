//! Workers that wait for work.
//!
//! A caller takes one out and puts it back; there is no lock, so that nothing is left locked in a child process
//! that was forked meanwhile (what another thread had taken out is lost to the child, no more). Memory is
//! bounded by the workers that were ever busy at once, [`MOST_IDLE`] at most.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Workers that are kept; more than that are dropped when their work is done.
const MOST_IDLE: usize = 64;

/// Owned values in slots; each slot is null or owns what it points to.
pub(super) struct Pool<T> {
    slots: [AtomicPtr<T>; MOST_IDLE],
}

// SAFETY: A value is reached through one slot or one caller at a time, so it only ever moves between threads.
unsafe impl<T: Send> Sync for Pool<T> {}

impl<T> Pool<T> {
    /// No values yet.
    pub(super) fn new() -> Self {
        Pool { slots: std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())) }
    }

    /// Takes a value out, if there is one.
    #[inline]
    pub(super) fn take(&self) -> Option<Box<T>> {
        for slot in &self.slots {
            if !slot.load(Ordering::Relaxed).is_null() {
                let value = slot.swap(ptr::null_mut(), Ordering::Acquire);
                if !value.is_null() {
                    // SAFETY: The pointer came from `Box::into_raw`, and the swap made this caller its owner.
                    return Some(unsafe { Box::from_raw(value) });
                }
            }
        }
        None
    }

    /// Works on all values that nobody has taken out, on some perhaps twice.
    pub(super) fn visit(&self, mut work: impl FnMut(&mut T)) {
        for slot in &self.slots {
            let value = slot.swap(ptr::null_mut(), Ordering::Acquire);
            if !value.is_null() {
                // SAFETY: As in `take`.
                let mut value = unsafe { Box::from_raw(value) };
                work(&mut value);
                self.put(value);
            }
        }
    }

    /// Puts a value in, or drops it where there is no room.
    #[inline]
    pub(super) fn put(&self, value: Box<T>) {
        let value = Box::into_raw(value);
        for slot in &self.slots {
            if slot.load(Ordering::Relaxed).is_null()
                && slot.compare_exchange(ptr::null_mut(), value, Ordering::Release, Ordering::Relaxed).is_ok()
            {
                return;
            }
        }
        // SAFETY: No slot took the pointer, which is the one that was just made of a box.
        drop(unsafe { Box::from_raw(value) });
    }
}

impl<T> Drop for Pool<T> {
    fn drop(&mut self) {
        while self.take().is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    struct Counted<'a>(&'a AtomicUsize);

    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn values_are_given_back_once_and_dropped_once() {
        let dropped = AtomicUsize::new(0);
        let pool = Pool::new();
        assert!(pool.take().is_none());
        for _ in 0..MOST_IDLE + 3 {
            pool.put(Box::new(Counted(&dropped)));
        }
        assert_eq!(dropped.load(Ordering::Relaxed), 3);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        if let Some(value) = pool.take() {
                            pool.put(value);
                        }
                    }
                });
            }
        });
        assert_eq!(dropped.load(Ordering::Relaxed), 3);
        let mut n_visited = 0;
        pool.visit(|_| n_visited += 1);
        assert!(n_visited >= MOST_IDLE);
        assert_eq!(dropped.load(Ordering::Relaxed), 3);
        drop(pool);
        assert_eq!(dropped.load(Ordering::Relaxed), MOST_IDLE + 3);
    }
}
