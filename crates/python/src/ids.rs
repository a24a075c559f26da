//! Ids that Python hands over: lists, tuples, integer arrays, iterables of int.

use numpy::{PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyMemoryError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyList, PyTuple};

use pairloom_core::Result;

use crate::errors::unknown_id;
use pairloom_core::decoder::Decoder;
use pairloom_core::pages;

/// Ids as the core reads them.
pub enum Ids<'py> {
    /// Collected from Python ints.
    Collected(Vec<u32>),
    /// Borrowed from a NumPy array.
    Borrowed(Array<'py>),
}

/// A borrowed NumPy array of any integer type.
pub enum Array<'py> {
    U8(PyReadonlyArrayDyn<'py, u8>),
    U16(PyReadonlyArrayDyn<'py, u16>),
    U32(PyReadonlyArrayDyn<'py, u32>),
    U64(PyReadonlyArrayDyn<'py, u64>),
    I8(PyReadonlyArrayDyn<'py, i8>),
    I16(PyReadonlyArrayDyn<'py, i16>),
    I32(PyReadonlyArrayDyn<'py, i32>),
    I64(PyReadonlyArrayDyn<'py, i64>),
}

impl<'py> Ids<'py> {
    /// Reads any list, tuple, integer array or iterable of int; bool, float and str are a TypeError, and what is below
    /// zero or has more than 32 bits an UnknownTokenIdError.
    pub fn of(ids: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(list) = ids.cast::<PyList>() {
            return collected(list).map(Ids::Collected);
        }
        if let Ok(array) = ids.cast::<PyUntypedArray>() {
            return Ok(Ids::Borrowed(borrowed(ids, array)?));
        }
        if let Ok(tuple) = ids.cast::<PyTuple>() {
            return tuple.iter().map(|item| index(&item)).collect::<PyResult<_>>().map(Ids::Collected);
        }
        if ids.is_instance_of::<pyo3::types::PyString>() || ids.is_instance_of::<pyo3::types::PyBytes>() {
            return Err(not_ids(ids));
        }
        let items = ids.try_iter().map_err(|_| not_ids(ids))?;
        items.map(|item| index(&item?)).collect::<PyResult<_>>().map(Ids::Collected)
    }

    /// Appends the bytes of the ids to `out`.
    pub fn decode(&self, py: Python<'_>, decoder: &Decoder, out: &mut Vec<u8>) -> PyResult<Result<()>> {
        /// Fewer ids than this are decoded without giving the interpreter away.
        const FEW: usize = 4096;
        macro_rules! each {
            ($ids:expr) => {{
                let ids = $ids;
                if ids.len() < FEW {
                    decoder.decode(ids, out)
                } else {
                    py.detach(|| decoder.decode(ids, out))
                }
            }};
        }
        Ok(match self {
            Ids::Collected(ids) => each!(ids.as_slice()),
            Ids::Borrowed(Array::U8(ids)) => each!(ids.as_slice()?),
            Ids::Borrowed(Array::U16(ids)) => each!(ids.as_slice()?),
            Ids::Borrowed(Array::U32(ids)) => each!(ids.as_slice()?),
            Ids::Borrowed(Array::U64(ids)) => each!(ids.as_slice()?),
            Ids::Borrowed(Array::I8(ids)) => each!(ids.as_slice()?),
            Ids::Borrowed(Array::I16(ids)) => each!(ids.as_slice()?),
            Ids::Borrowed(Array::I32(ids)) => each!(ids.as_slice()?),
            Ids::Borrowed(Array::I64(ids)) => each!(ids.as_slice()?),
        })
    }
}

/// The ids in a list.
fn collected(list: &Bound<'_, PyList>) -> PyResult<Vec<u32>> {
    let mut collected = Vec::new();
    pages::reserve(&mut collected, list.len());
    collected.try_reserve(list.len()).map_err(|_| PyMemoryError::new_err("no memory for the ids"))?;
    #[cfg(not(Py_GIL_DISABLED))]
    while collected.len() < list.len() {
        // SAFETY: The place is within the list. The interpreter is attached and nothing of Python runs before the item
        // has been read or has a reference of its own, so that nobody can take it out of the list.
        unsafe {
            let item = ffi::PyList_GET_ITEM(list.as_ptr(), collected.len() as ffi::Py_ssize_t);
            let mut overflow = 0;
            let value = match ffi::PyLong_CheckExact(item) {
                0 => -1,
                _ => ffi::PyLong_AsLongLongAndOverflow(item, &mut overflow),
            };
            collected.push(match u32::try_from(value) {
                Ok(id) => id,
                Err(_) => index(&Bound::from_borrowed_ptr(list.py(), item))?,
            });
        }
    }
    #[cfg(Py_GIL_DISABLED)]
    for item in list {
        collected.push(index(&item)?);
    }
    Ok(collected)
}

/// One id as the core reads it.
fn index(item: &Bound<'_, PyAny>) -> PyResult<u32> {
    u32::try_from(id(item)?).map_err(|_| unknown_id(item))
}

fn not_ids(value: &Bound<'_, PyAny>) -> PyErr {
    let kind = value.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("ids must be a list, an integer array or an iterable of int, not {kind}"))
}

/// One id; an int beyond 64 bits is in no vocabulary.
#[inline]
pub fn id(item: &Bound<'_, PyAny>) -> PyResult<i64> {
    let py = item.py();
    // SAFETY: the interpreter is attached and `item` is a live object.
    if unsafe { ffi::PyLong_CheckExact(item.as_ptr()) } == 0 {
        if item.is_instance_of::<PyBool>() {
            return Err(PyTypeError::new_err("an id must be an int, not bool"));
        }
        // SAFETY: as above; a null result is turned into the pending exception.
        let index = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyNumber_Index(item.as_ptr())) };
        return match index {
            Ok(index) => id(&index),
            Err(_) => {
                let kind =
                    item.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
                Err(PyTypeError::new_err(format!("an id must be an int, not {kind}")))
            }
        };
    }
    let mut overflow = 0;
    // SAFETY: `item` is an exact int; `overflow` is a valid place to write to.
    let value = unsafe { ffi::PyLong_AsLongLongAndOverflow(item.as_ptr(), &mut overflow) };
    if overflow == 0 { Ok(value) } else { Err(unknown_id(item)) }
}

fn borrowed<'py>(ids: &Bound<'py, PyAny>, untyped: &Bound<'py, PyUntypedArray>) -> PyResult<Array<'py>> {
    if untyped.ndim() != 1 {
        return Err(PyTypeError::new_err(format!("ids must have one dimension, not {}", untyped.ndim())));
    }
    let array = if untyped.is_contiguous() {
        ids.clone()
    } else {
        ids.py().import("numpy")?.call_method1("ascontiguousarray", (ids,))?
    };
    macro_rules! first_of {
        ($($variant:ident $integer:ty),*) => {$(
            if let Ok(typed) = array.cast::<PyArrayDyn<$integer>>() {
                return Ok(Array::$variant(typed.try_readonly()?));
            }
        )*};
    }
    first_of!(U16 u16, U32 u32, I64 i64, I32 i32, U64 u64, U8 u8, I8 i8, I16 i16);
    Err(PyTypeError::new_err(format!("ids must be integers, not {}", untyped.dtype())))
}
