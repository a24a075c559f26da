//! Python objects of what the core made; MemoryError where there is no room for them.
//!
//! PyO3's own constructors (`PyBytes::new`, `PyString::new`, `PyList::new`, tuples) panic when Python has no memory,
//! so the seam makes objects whose size depends on input with these functions only.

use pyo3::exceptions::PyMemoryError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyList, PyString, PyTuple};

use pairloom_core::memory::TryReserve;

/// A bytes object.
pub fn bytes<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    // SAFETY: `data` lives through the call, which gives bytes, or null and sets an exception.
    unsafe {
        let new = ffi::PyBytes_FromStringAndSize(data.as_ptr().cast(), data.len() as ffi::Py_ssize_t);
        Ok(Bound::from_owned_ptr_or_err(py, new)?.cast_into_unchecked())
    }
}

/// A str object.
pub fn str<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
    // SAFETY: `text` lives through the call, which gives a str, or null and sets an exception.
    unsafe {
        let new = ffi::PyUnicode_FromStringAndSize(text.as_ptr().cast(), text.len() as ffi::Py_ssize_t);
        Ok(Bound::from_owned_ptr_or_err(py, new)?.cast_into_unchecked())
    }
}

/// An int object.
#[inline]
pub fn int(py: Python<'_>, value: u32) -> PyResult<Bound<'_, PyInt>> {
    // SAFETY: The interpreter is attached; the call gives an int, or null and sets an exception.
    unsafe {
        let new = ffi::PyLong_FromUnsignedLong(value.into());
        Ok(Bound::from_owned_ptr_or_err(py, new)?.cast_into_unchecked())
    }
}

/// A tuple of two.
pub fn pair<'py, A, B>(first: Bound<'py, A>, second: Bound<'py, B>) -> PyResult<Bound<'py, PyTuple>> {
    let py = first.py();
    // SAFETY: The tuple is new and has room for two items; each takes over a reference.
    unsafe {
        let new = Bound::from_owned_ptr_or_err(py, ffi::PyTuple_New(2))?;
        ffi::PyTuple_SET_ITEM(new.as_ptr(), 0, first.into_ptr());
        ffi::PyTuple_SET_ITEM(new.as_ptr(), 1, second.into_ptr());
        Ok(new.cast_into_unchecked())
    }
}

/// A list of these items.
pub fn list<T>(py: Python<'_>, items: Vec<Py<T>>) -> PyResult<Bound<'_, PyList>> {
    // SAFETY: The list is new and has room for as many items; each takes over a reference, and nothing of Python runs
    // before the last has its place.
    unsafe {
        let new = Bound::from_owned_ptr_or_err(py, ffi::PyList_New(items.len() as ffi::Py_ssize_t))?;
        for (place, item) in (0..).zip(items) {
            ffi::PyList_SET_ITEM(new.as_ptr(), place, item.into_ptr());
        }
        Ok(new.cast_into_unchecked())
    }
}

/// Items between two looks for a pending signal while a list is made.
const ITEMS_PER_LOOK: usize = 1 << 16;

/// A list of what `make` gives for each item; Ctrl-C stops it.
pub fn list_of<'py, T, I>(
    py: Python<'py>,
    items: impl Iterator<Item = I>,
    mut make: impl FnMut(I) -> PyResult<Bound<'py, T>>,
) -> PyResult<Bound<'py, PyList>> {
    let mut merged_id = vec_for(items.size_hint().0)?;
    for (number, item) in items.enumerate() {
        if number % ITEMS_PER_LOOK == ITEMS_PER_LOOK - 1 {
            py.check_signals()?;
        }
        push(&mut merged_id, make(item)?)?;
    }
    list(py, merged_id)
}

/// Appends an object to those of a list to come.
pub fn push<T>(items: &mut Vec<Py<T>>, item: Bound<'_, T>) -> PyResult<()> {
    items.try_push(item.unbind(), "a list").map_err(|_| no_memory())
}

/// An empty vector with room for `n` items.
pub fn vec_for<T>(n: usize) -> PyResult<Vec<T>> {
    Vec::with_room(n, "a list").map_err(|_| no_memory())
}

/// What is told where memory is refused to the seam itself.
pub fn no_memory() -> PyErr {
    PyMemoryError::new_err(())
}
