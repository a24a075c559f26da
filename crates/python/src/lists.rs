//! Python lists of ids, from a table of int objects made once per tokenizer: an incref per id, not an allocation.

use std::mem::MaybeUninit;

use pairloom_core::ids::Id;
use pairloom_core::pages;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyInt, PyList};

/// Ids below this have a ready int object; a hand-made vocabulary may have larger ones.
const MOST_READY: usize = 1 << 20;

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

    fn ints(&self, py: Python<'_>) -> &[Py<PyInt>] {
        self.ints.get_or_init(py, || (0..self.n_ids).map(|id| PyInt::new(py, id).unbind()).collect())
    }

    /// A list of `ids`; MemoryError when there is no room for it.
    #[inline]
    pub fn list<'py, I: Id>(&self, py: Python<'py>, ids: &[I]) -> PyResult<Bound<'py, PyList>> {
        let ints = self.ints(py);
        // SAFETY: the interpreter is attached; a null result is turned into the pending exception.
        let list =
            unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyList_New(ids.len() as ffi::Py_ssize_t))? };
        // SAFETY: the new list has memory for that many items, and nobody else has seen it.
        unsafe {
            let items = (*list.as_ptr().cast::<ffi::PyListObject>()).ob_item;
            if !items.is_null() {
                pages::prefer_huge(std::slice::from_raw_parts_mut(
                    items.cast::<MaybeUninit<usize>>(),
                    ids.len(),
                ));
            }
        }
        for (place, &id) in ids.iter().enumerate() {
            let id = id.to_u32();
            let int = match ints.get(id as usize) {
                Some(int) => int.clone_ref(py).into_ptr(),
                None => PyInt::new(py, id).into_ptr(),
            };
            // SAFETY: `list` is a new list of ids.len() empty places that nobody else has seen, `place` is one of
            // them, and the reference to `int` is ours to give away.
            unsafe { ffi::PyList_SET_ITEM(list.as_ptr(), place as ffi::Py_ssize_t, int) };
        }
        // SAFETY: PyList_New made it.
        Ok(unsafe { list.cast_into_unchecked() })
    }
}

/// Keeps the cyclic garbage collector from running while many lists are made; it would look through each of them
/// again and again, and lists of int hold no cycle.
pub struct CollectorPaused<'py> {
    was_enabled: bool,
    _attached: Python<'py>,
}

impl<'py> CollectorPaused<'py> {
    /// Pauses the collector until this is dropped.
    pub fn new(py: Python<'py>) -> Self {
        // SAFETY: the interpreter is attached.
        CollectorPaused { was_enabled: unsafe { ffi::PyGC_Disable() } == 1, _attached: py }
    }
}

impl Drop for CollectorPaused<'_> {
    fn drop(&mut self) {
        if self.was_enabled {
            // SAFETY: `_attached` says that the interpreter is attached again when this is dropped.
            unsafe { ffi::PyGC_Enable() };
        }
    }
}
