//! Ids that Python hands over: lists, tuples, integer arrays, iterables of int.

use std::fmt;

use numpy::{
    PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pairloom_core::Error;
use pairloom_core::decoder::Decoder;
use pairloom_core::memory::TryReserve;
use pairloom_core::pages;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyList, PyString, PyTuple};

use crate::errors::{exception, type_name, unknown_id};
use crate::objects::no_memory;

/// Ids between two looks for a pending signal.
const IDS_PER_LOOK: usize = 1 << 16;

/// Which ids of a call a message is about.
#[derive(Clone, Copy)]
pub enum Place {
    /// The only ones.
    Only,
    /// Item `index` of the argument `name`.
    Item {
        /// The argument.
        name: &'static str,
        /// Which item of it.
        index: usize,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Only => Ok(()),
            Place::Item { name, index } => write!(f, "{name}[{index}]: "),
        }
    }
}

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
    /// Reads any list, tuple, integer array or iterable of int; bool, float and str are a TypeError, and what is
    /// below zero or has more than 32 bits an UnknownTokenIdError. Ctrl-C stops it.
    pub fn of(ids: &Bound<'py, PyAny>, place: Place) -> PyResult<Self> {
        if let Ok(list) = ids.cast::<PyList>() {
            return from_list(list, place).map(Ids::Collected);
        }
        if let Ok(array) = ids.cast::<PyUntypedArray>() {
            return Ok(Ids::Borrowed(borrowed(ids, array, place)?));
        }
        if let Ok(tuple) = ids.cast::<PyTuple>() {
            return collected(ids.py(), tuple.iter().map(Ok), place).map(Ids::Collected);
        }
        if ids.is_instance_of::<PyString>() || ids.is_instance_of::<PyBytes>() {
            return Err(not_ids(ids, place));
        }
        let items = ids.try_iter().map_err(|_| not_ids(ids, place))?;
        collected(ids.py(), items, place).map(Ids::Collected)
    }

    /// Appends the bytes of the ids to `out`.
    pub fn decode(&self, py: Python<'_>, decoder: &Decoder, out: &mut Vec<u8>, place: Place) -> PyResult<()> {
        /// Fewer ids than this are decoded without giving the interpreter away.
        const FEW: usize = 4096;
        /// So many are decoded between two looks for a pending signal: tenths of a second.
        const MANY: usize = 1 << 25;
        macro_rules! each {
            ($ids:expr) => {{
                let ids = $ids;
                if ids.len() < FEW {
                    return decoder.decode(ids, out).map_err(|error| failure(py, error, place));
                }
                pages::reserve(out, ids.len() * 4);
                for ids in ids.chunks(MANY) {
                    py.check_signals()?;
                    py.detach(|| decoder.decode(ids, out)).map_err(|error| failure(py, error, place))?;
                }
            }};
        }
        match self {
            Ids::Collected(ids) => each!(ids.as_slice()),
            Ids::Borrowed(Array::U8(ids)) => each!(ids.as_slice()?),
            Ids::Borrowed(Array::U16(ids)) => each!(ids.as_slice()?),
            Ids::Borrowed(Array::U32(ids)) => each!(ids.as_slice()?),
            Ids::Borrowed(Array::U64(ids)) => each!(ids.as_slice()?),
            Ids::Borrowed(Array::I8(ids)) => each!(ids.as_slice()?),
            Ids::Borrowed(Array::I16(ids)) => each!(ids.as_slice()?),
            Ids::Borrowed(Array::I32(ids)) => each!(ids.as_slice()?),
            Ids::Borrowed(Array::I64(ids)) => each!(ids.as_slice()?),
        }
        Ok(())
    }
}

/// The exception of an error of decoding.
fn failure(py: Python<'_>, error: Error, place: Place) -> PyErr {
    match error {
        Error::UnknownTokenId { .. } => unknown_id(py, format!("{place}{error}")),
        error => exception(py, error),
    }
}

/// The ids in a list.
fn from_list(list: &Bound<'_, PyList>, place: Place) -> PyResult<Vec<u32>> {
    let mut collected = Vec::new();
    pages::reserve(&mut collected, list.len());
    collected.try_reserve(list.len()).map_err(|_| no_memory())?;
    #[cfg(not(Py_GIL_DISABLED))]
    while collected.len() < list.len() {
        // SAFETY: The place is within the list. The interpreter is attached and nothing of Python runs before the
        // item has been read or has a reference of its own, so that nobody can take it out of the list.
        unsafe {
            let item = ffi::PyList_GET_ITEM(list.as_ptr(), collected.len() as ffi::Py_ssize_t);
            let mut overflow = 0;
            let value = match ffi::PyLong_CheckExact(item) {
                0 => -1,
                _ => ffi::PyLong_AsLongLongAndOverflow(item, &mut overflow),
            };
            let id = match u32::try_from(value) {
                Ok(id) => id,
                Err(_) => index(&Bound::from_borrowed_ptr(list.py(), item), place)?,
            };
            // An item that is no int may have made the list longer.
            collected.try_push(id, IDS).map_err(|_| no_memory())?;
        }
    }
    #[cfg(Py_GIL_DISABLED)]
    for item in list {
        collected.try_push(index(&item, place)?, IDS).map_err(|_| no_memory())?;
    }
    Ok(collected)
}

const IDS: &str = "the ids";

/// The ids that an iterable gives, which may be without end.
fn collected<'py>(
    py: Python<'py>,
    items: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
    place: Place,
) -> PyResult<Vec<u32>> {
    let mut collected = Vec::new();
    for item in items {
        collected.try_push(index(&item?, place)?, IDS).map_err(|_| no_memory())?;
        if collected.len().is_multiple_of(IDS_PER_LOOK) {
            py.check_signals()?;
        }
    }
    Ok(collected)
}

/// One id as the core reads it.
fn index(item: &Bound<'_, PyAny>, place: Place) -> PyResult<u32> {
    u32::try_from(id(item, place)?).map_err(|_| no_such_id(item, place))
}

fn no_such_id(item: &Bound<'_, PyAny>, place: Place) -> PyErr {
    unknown_id(item.py(), format!("{place}unknown token id {item}"))
}

fn not_ids(value: &Bound<'_, PyAny>, place: Place) -> PyErr {
    let kind = type_name(value);
    PyTypeError::new_err(format!(
        "{place}ids must be a list, an integer array or an iterable of int, not {kind}"
    ))
}

/// One id; an int beyond 64 bits is in no vocabulary.
#[inline]
pub fn id(item: &Bound<'_, PyAny>, place: Place) -> PyResult<i64> {
    let py = item.py();
    // SAFETY: the interpreter is attached and `item` is a live object.
    if unsafe { ffi::PyLong_CheckExact(item.as_ptr()) } == 0 {
        if item.is_instance_of::<PyBool>() {
            return Err(PyTypeError::new_err(format!("{place}an id must be an int, not bool")));
        }
        // SAFETY: as above; a null result is turned into the pending exception.
        let index = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyNumber_Index(item.as_ptr())) };
        return match index {
            Ok(index) => id(&index, place),
            Err(error) if error.is_instance_of::<PyTypeError>(py) => {
                Err(PyTypeError::new_err(format!("{place}an id must be an int, not {}", type_name(item))))
            }
            Err(error) => Err(error),
        };
    }
    let mut overflow = 0;
    // SAFETY: `item` is an exact int; `overflow` is a valid place to write to.
    let value = unsafe { ffi::PyLong_AsLongLongAndOverflow(item.as_ptr(), &mut overflow) };
    if overflow == 0 { Ok(value) } else { Err(no_such_id(item, place)) }
}

fn borrowed<'py>(
    ids: &Bound<'py, PyAny>,
    untyped: &Bound<'py, PyUntypedArray>,
    place: Place,
) -> PyResult<Array<'py>> {
    if untyped.ndim() != 1 {
        let n = untyped.ndim();
        return Err(PyTypeError::new_err(format!("{place}ids must have one dimension, not {n}")));
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
    let dtype = untyped.dtype();
    Err(PyTypeError::new_err(match (dtype.kind(), dtype.is_native_byteorder()) {
        (b'i' | b'u', Some(false)) => format!(
            "{place}ids must have the byte order of this machine, not that of {dtype}; convert them with \
             ids.astype(ids.dtype.newbyteorder(\"=\"))"
        ),
        _ => format!("{place}ids must be integers, not {dtype}"),
    }))
}
