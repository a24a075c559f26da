//! The memory of blocks, used again and again.
//!
//! Blocks are made by one thread and dropped by another, megabytes at a time. An allocator gives such memory
//! back to the system and takes it again page by page: of 70 ms for reading 80 MB, 47 went into page faults;
//! and what it keeps, it keeps in pieces, so that memory crept up by a fifth over gigabytes. A reader
//! therefore keeps the buffers of the blocks that were dropped, a few at most, until it is dropped itself.

use std::ops::Deref;
use std::sync::{Arc, Mutex, Weak};

use crate::error::{Error, Result};

/// How many buffers are kept: one is filled, some wait, one is encoded.
const N_KEPT: usize = 4;

/// Room is a multiple of this: blocks that differ by what was held back do with one another's buffers.
const STEP_BYTES: usize = 256 << 10;

/// Buffers that are not in use.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffers(Arc<Mutex<Vec<String>>>);

impl Buffers {
    /// An empty buffer with room for `n_bytes`.
    pub(super) fn take(&self, n_bytes: usize) -> Result<Buffer> {
        let kept = self.0.try_lock().ok().and_then(|mut kept| kept.pop());
        let mut text = kept.unwrap_or_default();
        let n_room = (n_bytes + 1).next_multiple_of(STEP_BYTES);
        text.try_reserve_exact(n_room).map_err(Error::out_of_memory("a block of documents"))?;
        Ok(Buffer { text, home: Arc::downgrade(&self.0) })
    }
}

/// Text whose memory goes back to where it came from.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    text: String,
    home: Weak<Mutex<Vec<String>>>,
}

impl Buffer {
    /// Appends text.
    pub(super) fn push(&mut self, text: &str) -> Result<()> {
        self.text.try_reserve(text.len()).map_err(Error::out_of_memory("a block of documents"))?;
        self.text.push_str(text);
        Ok(())
    }

    /// The text, to be appended to.
    pub(super) fn as_string(&mut self) -> &mut String {
        &mut self.text
    }
}

impl Deref for Buffer {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        Buffer::from(self.text.clone())
    }
}

impl PartialEq for Buffer {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Buffer {}

impl From<String> for Buffer {
    fn from(text: String) -> Self {
        Buffer { text, home: Weak::new() }
    }
}

impl From<&str> for Buffer {
    fn from(text: &str) -> Self {
        Buffer::from(text.to_owned())
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(home) = self.home.upgrade()
            && let Ok(mut kept) = home.lock()
            && kept.len() < N_KEPT
        {
            self.text.clear();
            kept.push(std::mem::take(&mut self.text));
        }
    }
}
