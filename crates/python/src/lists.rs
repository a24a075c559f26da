//! Python lists of ids. A table of int objects, made once for a tokenizer, saves an allocation for each id.

use std::slice;

use pairloom_core::ids::Id;
use pairloom_core::pages;
use pairloom_core::prefetch::prefetch;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyInt, PyList};

use crate::objects::{int, list, vec_for};

/// Ids below this have a cached int object; a vocabulary may have larger ids.
const MAX_CACHED: usize = 1 << 20;

/// Bytes of memory for lists that are requested at once.
const AHEAD_BYTES: usize = 16 << 20;

/// Ints that are prefetched before their reference counts are increased.
const IDS_PER_PREFETCH: usize = 256;

/// The int objects of a tokenizer's ids, made for the first list.
pub struct CachedInts {
    n_ids: usize,
    ints: PyOnceLock<Vec<Py<PyInt>>>,
}

impl CachedInts {
    /// An empty table for the ids below `n_ids`.
    pub fn new(n_ids: usize) -> Self {
        CachedInts { n_ids: n_ids.min(MAX_CACHED), ints: PyOnceLock::new() }
    }

    fn ints(&self, py: Python<'_>) -> PyResult<&[Py<PyInt>]> {
        let ints = self.ints.get_or_try_init(py, || {
            let mut ints = vec_for(self.n_ids)?;
            #[cfg(not(Py_GIL_DISABLED))]
            for id in 0..self.n_ids as u32 {
                ints.push(int(py, id)?.unbind());
            }
            #[cfg(Py_GIL_DISABLED)]
            free_threaded::fill(py, &mut ints, self.n_ids)?;
            Ok::<_, PyErr>(ints)
        })?;
        Ok(ints)
    }

    /// A list of `ids`; MemoryError if there is no memory.
    #[inline]
    pub fn list<'py, I: Id>(&self, py: Python<'py>, ids: &[I]) -> PyResult<Bound<'py, PyList>> {
        let ints = self.ints(py)?;
        // SAFETY: the interpreter is attached; a null result becomes the pending exception.
        let list =
            unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyList_New(ids.len() as ffi::Py_ssize_t))? };
        // SAFETY: `list` is a list object.
        let items = unsafe { (*list.as_ptr().cast::<ffi::PyListObject>()).ob_item };
        if !items.is_null() {
            // SAFETY: the new list has `ids.len()` items, all null, and no other reference to it exists.
            let items = unsafe { slice::from_raw_parts_mut(items, ids.len()) };
            pages::prefer_huge(items);
            for (ids, items) in ids.chunks(IDS_PER_PREFETCH).zip(items.chunks_mut(IDS_PER_PREFETCH)) {
                let n_cached = fill_cached(ints, ids, items);
                for (id, item) in ids.iter().zip(items).skip(n_cached) {
                    let cached = ints.get(id.to_u32() as usize).map(|int| int.clone_ref(py).into_bound(py));
                    *item = cached.map_or_else(|| int(py, id.to_u32()), Ok)?.into_ptr();
                }
            }
        }
        // SAFETY: PyList_New returned it.
        Ok(unsafe { list.cast_into_unchecked() })
    }
}

/// Int objects that threads can share without the interpreter's lock.
///
/// There each new reference to an object of another thread is counted by an atomic instruction: eight threads that made
/// lists of the same ints were slower than one. An immortal int's references are not counted; it is never freed, so the
/// process has one table of them for all tokenizers.
#[cfg(Py_GIL_DISABLED)]
mod free_threaded {
    use std::sync::atomic::Ordering;

    use pyo3::prelude::*;
    use pyo3::sync::MutexExt;
    use pyo3::types::PyInt;

    use crate::objects::{int, push};

    static INTS: std::sync::Mutex<Vec<Py<PyInt>>> = std::sync::Mutex::new(Vec::new());

    /// Appends the ints below `n_ids`, at most [`MAX_CACHED`](super::MAX_CACHED), to `ints`, which has room for them.
    pub(super) fn fill(py: Python<'_>, ints: &mut Vec<Py<PyInt>>, n_ids: usize) -> PyResult<()> {
        let mut all = INTS.lock_py_attached(py).unwrap_or_else(|poisoned| poisoned.into_inner());
        while all.len() < n_ids {
            let new = int(py, all.len() as u32)?;
            // SAFETY: `new` is a new object that no other thread can reach, but for CPython's small ints, which are
            // immortal already and are left alone. These are the values that CPython gives immortal objects: all bits
            // of the local count, nothing in the shared one.
            unsafe {
                let object = new.as_ptr();
                if (*object).ob_ref_local.load(Ordering::Relaxed) != u32::MAX {
                    (*object).ob_tid = 0;
                    (*object).ob_ref_local.store(u32::MAX, Ordering::Relaxed);
                    (*object).ob_ref_shared.store(0, Ordering::Relaxed);
                }
            }
            push(&mut all, new)?;
        }
        ints.extend(all[..n_ids].iter().map(|int| int.clone_ref(py)));
        Ok(())
    }
}

/// Writes the int objects of `ids` to the items of a new list, up to the first that is not cached; returns how many.
#[inline(always)]
fn fill_cached<I: Id>(ints: &[Py<PyInt>], ids: &[I], items: &mut [*mut ffi::PyObject]) -> usize {
    let mut n_ready = 0;
    for (id, item) in ids.iter().zip(&mut *items) {
        let Some(int) = ints.get(id.to_u32() as usize) else { break };
        *item = int.as_ptr();
        prefetch(*item);
        n_ready += 1;
    }
    for item in &items[..n_ready] {
        // SAFETY: `ints` owns a reference to each, so they are alive; the new reference is the list's.
        unsafe { ffi::Py_INCREF(*item) };
    }
    n_ready
}

/// Makes the allocator place many small lists in huge pages.
///
/// Lists are allocated one by one, and the allocator takes new memory from the system in small pages. Here a large block in
/// huge pages is allocated and freed at once, so that the allocator serves the next lists from it.
pub struct RoomAhead {
    /// About the bytes of the lists still to come.
    n_coming: usize,
    /// Bytes of the last block that are not used yet.
    n_ready: usize,
}

impl RoomAhead {
    /// For the lists of `n_text_bytes` bytes of text.
    pub fn new(n_text_bytes: usize) -> Self {
        // Rarely more than one id for two bytes of text; an item takes eight bytes.
        RoomAhead { n_coming: n_text_bytes.saturating_mul(4), n_ready: 0 }
    }

    /// Prepares memory for lists of `n_ids` ids in all.
    pub fn take(&mut self, n_ids: usize) {
        let n_bytes = n_ids * size_of::<*mut ffi::PyObject>();
        if self.n_ready < n_bytes {
            self.n_ready = n_bytes.max(AHEAD_BYTES.min(self.n_coming));
            pages::reserve(&mut Vec::<u8>::new(), self.n_ready);
        }
        self.n_ready -= n_bytes;
        self.n_coming = self.n_coming.saturating_sub(n_bytes);
    }
}

/// Lists that the cyclic garbage collector ignores while more of them are made.
///
/// Python tracks every new list, and every few hundred start a collection that visits all items of the young ones: a third
/// of the time of encoding many documents. Lists of int are in no cycle, so they are untracked until all are made. The
/// collector is not disabled instead: other threads would see that, and a process forked meanwhile would keep it disabled.
#[derive(Default)]
pub struct UntrackedLists(Vec<Py<PyList>>);

impl UntrackedLists {
    /// No lists, with room for `n`.
    pub fn with_room(n: usize) -> PyResult<Self> {
        vec_for(n).map(UntrackedLists)
    }

    /// Adds a list to which no other reference exists.
    pub fn push(&mut self, list: Bound<'_, PyList>) {
        // SAFETY: it is a new list, which Python tracks. Deallocation does not require a list to be tracked.
        unsafe { ffi::PyObject_GC_UnTrack(list.as_ptr().cast()) };
        self.0.push(list.unbind());
    }

    /// The list of all lists, all of them tracked again.
    pub fn into_list(self, py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
        for list in &self.0 {
            // SAFETY: `push` untracked it, no other reference exists, and all its items are set.
            unsafe { ffi::PyObject_GC_Track(list.as_ptr().cast()) };
        }
        list(py, self.0)
    }
}
