//! Ids that Python hands over: lists, tuples, integer arrays, iterables of int.

use numpy::{PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyList, PyTuple};

use pairloom_core::Result;

use crate::errors::unknown_id;
use pairloom_core::decoder::Decoder;

/// Ids as the core reads them.
pub enum Ids<'py> {
    /// Collected from Python ints.
    Collected(Vec<i64>),
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
    /// Reads any list, tuple, integer array or iterable of int; bool, float and str are a TypeError.
    pub fn of(ids: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(list) = ids.cast::<PyList>() {
            let mut collected = Vec::with_capacity(list.len());
            for item in list.iter() {
                collected.push(id(&item)?);
            }
            return Ok(Ids::Collected(collected));
        }
        if let Ok(array) = ids.cast::<PyUntypedArray>() {
            return Ok(Ids::Borrowed(borrowed(ids, array)?));
        }
        if let Ok(tuple) = ids.cast::<PyTuple>() {
            return tuple.iter().map(|item| id(&item)).collect::<PyResult<_>>().map(Ids::Collected);
        }
        if ids.is_instance_of::<pyo3::types::PyString>() || ids.is_instance_of::<pyo3::types::PyBytes>() {
            return Err(not_ids(ids));
        }
        let items = ids.try_iter().map_err(|_| not_ids(ids))?;
        items.map(|item| id(&item?)).collect::<PyResult<_>>().map(Ids::Collected)
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
