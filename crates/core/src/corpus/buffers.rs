//! A pool of reusable buffers for blocks of text and their ids.
//!
//! One thread allocates blocks and another drops them, megabytes at a time. The allocator returns such memory to the
//! system and gets it back page by page: of 70 ms for reading 80 MB, 47 ms were page faults. The memory that it does
//! keep becomes fragmented: over gigabytes of text, usage grew by a fifth. So the producer keeps a few dropped buffers
//! for reuse, for as long as it lives.

use std::collections::TryReserveError;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, Weak};

use crate::ids::Id;

/// Maximum number of unused buffers in a pool.
const MAX_KEPT: usize = 2;

/// Capacities are rounded up to this, so that blocks of slightly different sizes can share buffers.
const STEP_BYTES: usize = 256 << 10;

/// Types that a buffer can hold.
pub trait Content: Default {
    /// Removes the items and keeps the capacity.
    fn clear(&mut self);

    /// Reserves capacity for `n` more items (bytes, ids).
    fn make_room(&mut self, n: usize) -> Result<(), TryReserveError>;

    /// Returns the capacity in items.
    fn room(&self) -> usize;
}

impl Content for String {
    fn clear(&mut self) {
        self.clear();
    }

    fn make_room(&mut self, n: usize) -> Result<(), TryReserveError> {
        self.try_reserve_exact((n + 1).next_multiple_of(STEP_BYTES))
    }

    fn room(&self) -> usize {
        self.capacity()
    }
}

impl<I: Id> Content for Vec<I> {
    fn clear(&mut self) {
        self.clear();
    }

    fn make_room(&mut self, n: usize) -> Result<(), TryReserveError> {
        self.try_reserve_exact((n + 1).next_multiple_of(STEP_BYTES / size_of::<I>()))
    }

    fn room(&self) -> usize {
        self.capacity()
    }
}

/// The buffers that are not in use. A dropped [`Buffer`] returns to its pool.
#[derive(Clone, Debug)]
pub(crate) struct BufferPool<C>(Arc<Mutex<Vec<C>>>);

impl<C> Default for BufferPool<C> {
    fn default() -> Self {
        BufferPool(Arc::default())
    }
}

impl<C: Content> BufferPool<C> {
    /// Returns an empty buffer with room for `n` items.
    pub(crate) fn take(&self, n: usize) -> Result<Buffer<C>, TryReserveError> {
        let kept = self.0.try_lock().ok().and_then(|mut kept| kept.pop());
        let mut content = kept.unwrap_or_default();
        content.make_room(n)?;
        Ok(Buffer { max_room: content.room(), content, pool: Arc::downgrade(&self.0) })
    }
}

/// A string or vector whose memory returns to its pool when it is dropped.
#[derive(Debug, Default)]
pub struct Buffer<C: Content> {
    content: C,
    /// A buffer that grew beyond this capacity is freed when dropped; otherwise all would eventually be as large as the
    /// largest.
    max_room: usize,
    pool: Weak<Mutex<Vec<C>>>,
}

impl<C: Content> Deref for Buffer<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.content
    }
}

impl<C: Content> DerefMut for Buffer<C> {
    fn deref_mut(&mut self) -> &mut C {
        &mut self.content
    }
}

impl<C: Content> Drop for Buffer<C> {
    fn drop(&mut self) {
        if self.content.room() <= self.max_room
            && let Some(pool) = self.pool.upgrade()
            // Only `try_lock`: a lock held across fork() stays locked in the child, which then loses a buffer instead
            // of deadlocking.
            && let Ok(mut kept) = pool.try_lock()
            && kept.len() < MAX_KEPT
        {
            let mut content = std::mem::take(&mut self.content);
            content.clear();
            kept.push(content);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn take_after_drop_reuses_the_memory() {
        let buffers = BufferPool::<Vec<u16>>::default();
        let mut first = buffers.take(10).unwrap();
        first.extend([1, 2, 3]);
        let mut second = buffers.take(10).unwrap();
        second.push(4);
        let address = first.as_ptr();
        drop(first);
        let third = buffers.take(1000).unwrap();
        assert_eq!((third.as_ptr(), third.len(), &**second), (address, 0, &[4][..]));
        let mut grown = buffers.take(1).unwrap();
        let n = grown.capacity() + 1;
        grown.resize(n, 0);
        drop(grown);
        assert!(buffers.0.lock().unwrap().is_empty());
        let many: Vec<_> = (0..3 * MAX_KEPT).map(|_| buffers.take(1).unwrap()).collect();
        drop((many, second));
        assert_eq!(buffers.0.lock().unwrap().len(), MAX_KEPT);
        drop(buffers);
        assert!(third.is_empty());
    }
}
