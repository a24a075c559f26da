//! The memory of blocks, used again and again.
//!
//! Blocks, and their ids, are made by one thread and dropped by another, megabytes at a time. An allocator gives
//! such memory back to the system and takes it again page by page: of 70 ms for reading 80 MB, 47 went into page
//! faults; and what it keeps, it keeps in pieces, so that memory crept up by a fifth over gigabytes. Who makes
//! them therefore keeps the buffers of those that were dropped, a few at most, until it is dropped itself.

use std::collections::TryReserveError;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, Weak};

use crate::ids::Id;

/// How many buffers are kept that nobody uses.
const N_KEPT: usize = 2;

/// Room is a multiple of this: blocks that differ by what was held back do with one another's buffers.
const STEP_BYTES: usize = 256 << 10;

/// What a buffer can hold.
pub trait Content: Default {
    /// Removes what is in it, not its room.
    fn clear(&mut self);

    /// Makes room for `n` more items (bytes, ids).
    fn make_room(&mut self, n: usize) -> Result<(), TryReserveError>;

    /// For how many items there is room.
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

/// BufferPool that are not in use.
#[derive(Clone, Debug)]
pub(crate) struct BufferPool<C>(Arc<Mutex<Vec<C>>>);

impl<C> Default for BufferPool<C> {
    fn default() -> Self {
        BufferPool(Arc::default())
    }
}

impl<C: Content> BufferPool<C> {
    /// An empty buffer with room for `n` items.
    pub(crate) fn take(&self, n: usize) -> Result<Buffer<C>, TryReserveError> {
        let kept = self.0.try_lock().ok().and_then(|mut kept| kept.pop());
        let mut content = kept.unwrap_or_default();
        content.make_room(n)?;
        Ok(Buffer { most_room: content.room(), content, home: Arc::downgrade(&self.0) })
    }
}

/// A string or vector whose memory goes back to where it came from.
#[derive(Debug, Default)]
pub struct Buffer<C: Content> {
    content: C,
    /// One that grew beyond this is not kept: after gigabytes all would have the size of the largest.
    most_room: usize,
    home: Weak<Mutex<Vec<C>>>,
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

impl<C: Content + Clone> Clone for Buffer<C> {
    fn clone(&self) -> Self {
        Buffer::from(self.content.clone())
    }
}

impl<C: Content + PartialEq> PartialEq for Buffer<C> {
    fn eq(&self, other: &Self) -> bool {
        self.content == other.content
    }
}

impl<C: Content + Eq> Eq for Buffer<C> {}

impl<C: Content> From<C> for Buffer<C> {
    fn from(content: C) -> Self {
        Buffer { content, most_room: 0, home: Weak::new() }
    }
}

impl From<&str> for Buffer<String> {
    fn from(text: &str) -> Self {
        Buffer::from(text.to_owned())
    }
}

impl<C: Content> Drop for Buffer<C> {
    fn drop(&mut self) {
        if self.content.room() <= self.most_room
            && let Some(home) = self.home.upgrade()
            // Only tried: a lock that was held across a fork stays held in the child.
            && let Ok(mut kept) = home.try_lock()
            && kept.len() < N_KEPT
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
    fn room_that_was_given_back_is_used_again() {
        let buffers = BufferPool::<Vec<u16>>::default();
        let mut first = buffers.take(10).unwrap();
        first.extend([1, 2, 3]);
        let mut second = buffers.take(10).unwrap();
        second.push(4);
        let place = first.as_ptr();
        drop(first);
        let third = buffers.take(1000).unwrap();
        assert_eq!((third.as_ptr(), third.len(), &**second), (place, 0, &[4][..]));
        let mut grown = buffers.take(1).unwrap();
        let n = grown.capacity() + 1;
        grown.resize(n, 0);
        drop(grown);
        assert!(buffers.0.lock().unwrap().is_empty());
        let many: Vec<_> = (0..3 * N_KEPT).map(|_| buffers.take(1).unwrap()).collect();
        drop((many, second));
        assert_eq!(buffers.0.lock().unwrap().len(), N_KEPT);
        drop(buffers);
        assert!(third.is_empty());
    }
}
