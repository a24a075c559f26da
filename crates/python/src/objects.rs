//! Fallible constructors of Python objects: they raise MemoryError if Python cannot allocate.
//!
//! PyO3's own constructors (`PyBytes::new`, `PyString::new`, `PyList::new`, tuples) panic in that case, so objects
//! whose size depends on input are made only with these functions.

use std::mem::MaybeUninit;

use pyo3::exceptions::PyMemoryError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyList, PyString, PyTuple};

use pairloom_core::memory::TryReserve;
use pairloom_core::pages;

/// Makes a bytes object.
pub fn bytes<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    if pages::is_large::<u8>(data.len()) {
        return long_bytes(py, data);
    }
    // SAFETY: `data` is valid during the call, which returns a new bytes object, or null with an exception set.
    unsafe {
        let new = ffi::PyBytes_FromStringAndSize(data.as_ptr().cast(), data.len() as ffi::Py_ssize_t);
        Ok(Bound::from_owned_ptr_or_err(py, new)?.cast_into_unchecked())
    }
}

/// Like [`bytes`], in huge pages: page faults of new memory would take most of the time.
fn long_bytes<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    // SAFETY: The first call returns a new, uninitialised object with as many bytes as `data`, or null with an
    // exception set. No other reference to it exists, so writing to it is allowed; the copy writes all of it.
    unsafe {
        let new = ffi::PyBytes_FromStringAndSize(std::ptr::null(), data.len() as ffi::Py_ssize_t);
        let new = Bound::from_owned_ptr_or_err(py, new)?.cast_into_unchecked::<PyBytes>();
        let start = ffi::PyBytes_AsString(new.as_ptr()).cast::<MaybeUninit<u8>>();
        let room = std::slice::from_raw_parts_mut(start, data.len());
        py.detach(|| {
            pages::prefer_huge(room);
            room.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(data.as_ptr(), data.len());
        });
        Ok(new)
    }
}

/// Makes a str object.
pub fn str<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
    // SAFETY: `text` is valid UTF-8 during the call, which returns a new str, or null with an exception set.
    unsafe {
        let new = ffi::PyUnicode_FromStringAndSize(text.as_ptr().cast(), text.len() as ffi::Py_ssize_t);
        Ok(Bound::from_owned_ptr_or_err(py, new)?.cast_into_unchecked())
    }
}

/// Makes an int object.
#[inline]
pub fn int(py: Python<'_>, value: u32) -> PyResult<Bound<'_, PyInt>> {
    // SAFETY: The interpreter is attached; the call returns a new int, or null with an exception set.
    unsafe {
        let new = ffi::PyLong_FromUnsignedLong(value.into());
        Ok(Bound::from_owned_ptr_or_err(py, new)?.cast_into_unchecked())
    }
}

/// Makes a tuple of two objects.
pub fn pair<'py, A, B>(first: Bound<'py, A>, second: Bound<'py, B>) -> PyResult<Bound<'py, PyTuple>> {
    let py = first.py();
    // SAFETY: The tuple is new and has two slots; `SET_ITEM` takes over the references.
    unsafe {
        let new = Bound::from_owned_ptr_or_err(py, ffi::PyTuple_New(2))?;
        ffi::PyTuple_SET_ITEM(new.as_ptr(), 0, first.into_ptr());
        ffi::PyTuple_SET_ITEM(new.as_ptr(), 1, second.into_ptr());
        Ok(new.cast_into_unchecked())
    }
}

/// Makes a list of these items.
pub fn list<T>(py: Python<'_>, items: Vec<Py<T>>) -> PyResult<Bound<'_, PyList>> {
    // SAFETY: The list is new and has `items.len()` slots; `SET_ITEM` takes over the references, and no Python code
    // runs before all slots are set.
    unsafe {
        let new = Bound::from_owned_ptr_or_err(py, ffi::PyList_New(items.len() as ffi::Py_ssize_t))?;
        for (index, item) in (0..).zip(items) {
            ffi::PyList_SET_ITEM(new.as_ptr(), index, item.into_ptr());
        }
        Ok(new.cast_into_unchecked())
    }
}

/// How many items are made between two checks for a pending signal.
const ITEMS_PER_SIGNAL_CHECK: usize = 1 << 16;

/// Makes a list of `make(item)` for each item; Ctrl-C stops it.
pub fn list_of<'py, T, I>(
    py: Python<'py>,
    items: impl Iterator<Item = I>,
    mut make: impl FnMut(I) -> PyResult<Bound<'py, T>>,
) -> PyResult<Bound<'py, PyList>> {
    let mut objects = vec_with_capacity(items.size_hint().0)?;
    for (number, item) in items.enumerate() {
        if number % ITEMS_PER_SIGNAL_CHECK == ITEMS_PER_SIGNAL_CHECK - 1 {
            py.check_signals()?;
        }
        push(&mut objects, make(item)?)?;
    }
    list(py, objects)
}

/// Appends an object to the items for [`list`].
pub fn push<T>(items: &mut Vec<Py<T>>, item: Bound<'_, T>) -> PyResult<()> {
    items.try_push(item.unbind(), "a list").map_err(|_| no_memory())
}

/// Makes an empty vector with room for `n` items.
pub fn vec_with_capacity<T>(n: usize) -> PyResult<Vec<T>> {
    Vec::with_reserved(n, "a list").map_err(|_| no_memory())
}

/// Returns the MemoryError for allocations of this crate.
pub fn no_memory() -> PyErr {
    PyMemoryError::new_err(())
}
