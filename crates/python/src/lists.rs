//! Python lists of ids, from a table of int objects made once per tokenizer: an incref per id, not an allocation.

use std::slice;

use pairloom_core::ids::Id;
use pairloom_core::pages;
use pairloom_core::prefetch::prefetch;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyInt, PyList};

use crate::objects::{int, list, vec_for};

/// Ids below this have a ready int object; a hand-made vocabulary may have larger ones.
const MOST_READY: usize = 1 << 20;

/// How much memory for lists is asked for at once.
const AHEAD_BYTES: usize = 16 << 20;

/// So many ints are asked for before the references to them are counted.
const N_AT_ONCE: usize = 256;

/// The int objects of a tokenizer's ids, made when the first list is asked for.
pub struct ReadyInts {
    n_ids: usize,
    ints: PyOnceLock<Vec<Py<PyInt>>>,
}

impl ReadyInts {
    /// A table for the ids below `n_ids`; nothing is made yet.
    pub fn new(n_ids: usize) -> Self {
        ReadyInts { n_ids: n_ids.min(MOST_READY), ints: PyOnceLock::new() }
    }

    fn ints(&self, py: Python<'_>) -> PyResult<&[Py<PyInt>]> {
        let ints = self.ints.get_or_try_init(py, || {
            let mut ints = vec_for(self.n_ids)?;
            for id in 0..self.n_ids as u32 {
                ints.push(int(py, id)?.unbind());
            }
            Ok::<_, PyErr>(ints)
        })?;
        Ok(ints)
    }

    /// A list of `ids`; MemoryError when there is no room for it.
    #[inline]
    pub fn list<'py, I: Id>(&self, py: Python<'py>, ids: &[I]) -> PyResult<Bound<'py, PyList>> {
        let ints = self.ints(py)?;
        // SAFETY: the interpreter is attached; a null result is turned into the pending exception.
        let list =
            unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyList_New(ids.len() as ffi::Py_ssize_t))? };
        // SAFETY: it is a list.
        let items = unsafe { (*list.as_ptr().cast::<ffi::PyListObject>()).ob_item };
        if !items.is_null() {
            // SAFETY: the new list has memory for that many items, all null, and nobody else has seen it.
            let items = unsafe { slice::from_raw_parts_mut(items, ids.len()) };
            pages::prefer_huge(items);
            for (ids, items) in ids.chunks(N_AT_ONCE).zip(items.chunks_mut(N_AT_ONCE)) {
                let n_ready = fill_ready(ints, ids, items);
                for (id, item) in ids.iter().zip(items).skip(n_ready) {
                    let ready = ints.get(id.to_u32() as usize).map(|int| int.clone_ref(py).into_bound(py));
                    *item = ready.map_or_else(|| int(py, id.to_u32()), Ok)?.into_ptr();
                }
            }
        }
        // SAFETY: PyList_New made it.
        Ok(unsafe { list.cast_into_unchecked() })
    }
}

/// Writes the ints of ids into a part of a new list, up to the first that is not ready; says how many.
#[inline(always)]
fn fill_ready<I: Id>(ints: &[Py<PyInt>], ids: &[I], items: &mut [*mut ffi::PyObject]) -> usize {
    let mut n_ready = 0;
    for (id, item) in ids.iter().zip(&mut *items) {
        let Some(int) = ints.get(id.to_u32() as usize) else { break };
        *item = int.as_ptr();
        prefetch(*item);
        n_ready += 1;
    }
    for item in &items[..n_ready] {
        // SAFETY: `ints` has a reference to each; the new one is the list's.
        unsafe { ffi::Py_INCREF(*item) };
    }
    n_ready
}

/// Memory for many lists in huge pages, where the system has them.
///
/// Lists come from the allocator one by one and small, and the allocator has new memory from the system page by page.
/// Asked for much at once and given it back, it makes the next lists of that, and a page fault is for 2 MiB.
pub struct RoomAhead {
    /// Bytes that are still to come, about.
    n_coming: usize,
    /// Bytes that were asked for and not used yet.
    n_ready: usize,
}

impl RoomAhead {
    /// Before the lists of so many bytes of text.
    pub fn new(n_text_bytes: usize) -> Self {
        // Two bytes of text are hardly ever more than an id, which takes eight.
        RoomAhead { n_coming: n_text_bytes.saturating_mul(4), n_ready: 0 }
    }

    /// Sees to it that there is room for lists of so many ids in all.
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

/// Lists that the cyclic garbage collector does not look through while more of them are made.
///
/// Python tracks every new list, and each few hundred of them start a collection that looks through all items of the
/// young ones: a third of the time of encoding many documents. Lists of int hold no cycle, so they are taken out of
/// the collector's sight until all are there. The collector itself stays as its owner has set it: a pause would be
/// seen by other threads, and a process forked meanwhile would never end it.
#[derive(Default)]
pub struct UntrackedLists(Vec<Py<PyList>>);

impl UntrackedLists {
    /// None yet, with room for `n`.
    pub fn with_room(n: usize) -> PyResult<Self> {
        vec_for(n).map(UntrackedLists)
    }

    /// Takes a list that nobody else has seen.
    pub fn push(&mut self, list: Bound<'_, PyList>) {
        // SAFETY: It is a list, and tracked, as every new one. A list that is dropped need not be tracked.
        unsafe { ffi::PyObject_GC_UnTrack(list.as_ptr().cast()) };
        self.0.push(list.unbind());
    }

    /// A list of all lists, tracked like any others.
    pub fn into_list(self, py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
        for list in &self.0 {
            // SAFETY: `push` untracked it, and nobody else has seen it. All its items are set.
            unsafe { ffi::PyObject_GC_Track(list.as_ptr().cast()) };
        }
        list(py, self.0)
    }
}
