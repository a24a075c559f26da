//! Reads arguments that are ids: lists, tuples, integer arrays, iterables of int.

use std::fmt;

use pairloom_core::Error;
use pairloom_core::decoder::{DecodeErrors, Decoder};
use pairloom_core::memory::TryReserve;
use pairloom_core::pages;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyMemoryError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyList, PyString, PyTuple};

use crate::array_items::Items;
use crate::arrays::is_array;
use crate::errors::{exception, type_name, unknown_id};
use crate::objects::no_memory;

/// How many ids are read between two checks for a pending signal.
const IDS_PER_SIGNAL_CHECK: usize = 1 << 16;

/// Which ids of a call an error is about.
#[derive(Clone, Copy)]
pub enum Location {
    /// The only ids of the call.
    Only,
    /// Item `index` of the argument `name`.
    Item {
        /// The argument.
        name: &'static str,
        /// The index of the item.
        index: usize,
    },
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Only => Ok(()),
            Location::Item { name, index } => write!(f, "{name}[{index}]: "),
        }
    }
}

/// Ids in a form that the core reads.
pub enum Ids {
    /// Collected from Python ints.
    Collected(Vec<u32>),
    /// Borrowed from a NumPy array.
    Borrowed(Array),
}

/// A borrowed NumPy array of any integer type.
pub enum Array {
    U8(Items<u8>),
    U16(Items<u16>),
    U32(Items<u32>),
    U64(Items<u64>),
    I8(Items<i8>),
    I16(Items<i16>),
    I32(Items<i32>),
    I64(Items<i64>),
}

/// Calls a macro with the ids as a slice of their element type.
macro_rules! each_array {
    ($ids:expr, $each:ident) => {
        match $ids {
            Ids::Collected(ids) => $each!(ids.as_slice()),
            Ids::Borrowed(Array::U8(ids)) => $each!(ids.as_slice()),
            Ids::Borrowed(Array::U16(ids)) => $each!(ids.as_slice()),
            Ids::Borrowed(Array::U32(ids)) => $each!(ids.as_slice()),
            Ids::Borrowed(Array::U64(ids)) => $each!(ids.as_slice()),
            Ids::Borrowed(Array::I8(ids)) => $each!(ids.as_slice()),
            Ids::Borrowed(Array::I16(ids)) => $each!(ids.as_slice()),
            Ids::Borrowed(Array::I32(ids)) => $each!(ids.as_slice()),
            Ids::Borrowed(Array::I64(ids)) => $each!(ids.as_slice()),
        }
    };
}

impl Ids {
    /// Reads a list, tuple, integer array or iterable of int. TypeError for bool, float and str; UnknownTokenIdError
    /// for a negative int or one of more than 32 bits. Ctrl-C stops it.
    pub fn from_argument(ids: &Bound<'_, PyAny>, location: Location) -> PyResult<Self> {
        if let Ok(list) = ids.cast::<PyList>() {
            return from_list(list, location).map(Ids::Collected);
        }
        if is_array(ids)? {
            return borrowed(ids, location).map(Ids::Borrowed);
        }
        if let Ok(tuple) = ids.cast::<PyTuple>() {
            return collected(ids.py(), tuple.iter().map(Ok), location).map(Ids::Collected);
        }
        if ids.is_instance_of::<PyString>() || ids.is_instance_of::<PyBytes>() {
            return Err(not_ids(ids, location));
        }
        let items = ids.try_iter().map_err(|_| not_ids(ids, location))?;
        collected(ids.py(), items, location).map(Ids::Collected)
    }

    /// Collects the ids of any argument that [`from_argument`](Self::from_argument) takes.
    pub fn collected(ids: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
        if let Ok(list) = ids.cast::<PyList>() {
            return from_list(list, Location::Only);
        }
        let items = ids.try_iter().map_err(|_| not_ids(ids, Location::Only))?;
        collected(ids.py(), items, Location::Only)
    }

    /// Appends the text of the ids to `out`, which can still hold bytes that are not UTF-8 ([`Decoder::decode`]).
    ///
    /// Another thread can change a borrowed array at the same time. That is harmless only because the decoder reads each id
    /// once and checks the value that it read; keep it so.
    pub fn decode(
        &self,
        py: Python<'_>,
        decoder: &Decoder,
        errors: DecodeErrors,
        out: &mut Vec<u8>,
        location: Location,
    ) -> PyResult<()> {
        /// Fewer ids than this are decoded without releasing the interpreter.
        const MIN_IDS_DETACHED: usize = 4096;
        /// How many ids are decoded between two checks for a pending signal: tenths of a second.
        const IDS_PER_CHECK: usize = 1 << 25;
        macro_rules! each {
            ($ids:expr) => {{
                let ids = $ids;
                if ids.len() < MIN_IDS_DETACHED {
                    return decoder.decode(ids, errors, out).map_err(|error| failure(py, error, location));
                }
                pages::reserve(out, ids.len() * 4);
                let start = out.len();
                for ids in ids.chunks(IDS_PER_CHECK) {
                    py.check_signals()?;
                    py.detach(|| decoder.append(ids, out)).map_err(|error| failure(py, error, location))?;
                }
                let finished = py.detach(|| decoder.finish(ids, errors, start, out));
                finished.map_err(|error| failure(py, error, location))?;
            }};
        }
        each_array!(self, each);
        Ok(())
    }
}

/// Returns the exception for a decoding error.
fn failure(py: Python<'_>, error: Error, location: Location) -> PyErr {
    match error {
        Error::UnknownTokenId { .. } => unknown_id(py, format!("{location}{error}")),
        error => exception(py, error),
    }
}

/// Reads the ids in a list.
fn from_list(list: &Bound<'_, PyList>, location: Location) -> PyResult<Vec<u32>> {
    let mut collected = Vec::new();
    pages::reserve(&mut collected, list.len());
    collected.try_reserve(list.len()).map_err(|_| no_memory())?;
    #[cfg(not(Py_GIL_DISABLED))]
    while collected.len() < list.len() {
        // SAFETY: The index is within the list. The GIL is held, and no Python code runs until the item is read or has its
        // own reference, so nothing can remove it from the list.
        unsafe {
            let item = ffi::PyList_GET_ITEM(list.as_ptr(), collected.len() as ffi::Py_ssize_t);
            let mut overflow = 0;
            let value = match ffi::PyLong_CheckExact(item) {
                0 => -1,
                _ => ffi::PyLong_AsLongLongAndOverflow(item, &mut overflow),
            };
            let id = match u32::try_from(value) {
                Ok(id) => id,
                Err(_) => index(&Bound::from_borrowed_ptr(list.py(), item), location)?,
            };
            // An item's `__index__` can have made the list longer, so the capacity is checked.
            collected.try_push(id, IDS).map_err(|_| no_memory())?;
        }
    }
    #[cfg(Py_GIL_DISABLED)]
    for item in list {
        collected.try_push(index(&item, location)?, IDS).map_err(|_| no_memory())?;
    }
    Ok(collected)
}

const IDS: &str = "the ids";

/// Collects the ids of an iterable, which can be infinite.
fn collected<'py>(
    py: Python<'py>,
    items: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
    location: Location,
) -> PyResult<Vec<u32>> {
    let mut collected = Vec::new();
    for item in items {
        collected.try_push(index(&item?, location)?, IDS).map_err(|_| no_memory())?;
        if collected.len().is_multiple_of(IDS_PER_SIGNAL_CHECK) {
            py.check_signals()?;
        }
    }
    Ok(collected)
}

/// Reads one id as a u32.
fn index(item: &Bound<'_, PyAny>, location: Location) -> PyResult<u32> {
    u32::try_from(id(item, location)?).map_err(|_| no_such_id(item, location))
}

fn no_such_id(item: &Bound<'_, PyAny>, location: Location) -> PyErr {
    unknown_id(item.py(), format!("{location}unknown token id {item}"))
}

fn not_ids(value: &Bound<'_, PyAny>, location: Location) -> PyErr {
    let kind = type_name(value);
    PyTypeError::new_err(format!(
        "{location}ids must be a list, an integer array or an iterable of int, not {kind}"
    ))
}

/// Reads one id as an i64; UnknownTokenIdError beyond 64 bits.
#[inline]
pub fn id(item: &Bound<'_, PyAny>, location: Location) -> PyResult<i64> {
    let py = item.py();
    // SAFETY: The interpreter is attached and `item` is a live object.
    if unsafe { ffi::PyLong_CheckExact(item.as_ptr()) } == 0 {
        if item.is_instance_of::<PyBool>() {
            return Err(PyTypeError::new_err(format!("{location}an id must be an int, not bool")));
        }
        // SAFETY: as above; a null result becomes the pending exception.
        let index = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyNumber_Index(item.as_ptr())) };
        return match index {
            Ok(index) => id(&index, location),
            Err(error) if error.is_instance_of::<PyTypeError>(py) => {
                Err(PyTypeError::new_err(format!("{location}an id must be an int, not {}", type_name(item))))
            }
            Err(error) => Err(error),
        };
    }
    let mut overflow = 0;
    // SAFETY: `item` is an exact int, and `overflow` is a valid pointer.
    let value = unsafe { ffi::PyLong_AsLongLongAndOverflow(item.as_ptr(), &mut overflow) };
    if overflow == 0 { Ok(value) } else { Err(no_such_id(item, location)) }
}

/// Borrows the items of a NumPy array, or of a copy if they are not consecutive and aligned.
fn borrowed(ids: &Bound<'_, PyAny>, location: Location) -> PyResult<Array> {
    if let Some(array) = in_place(ids)? {
        return Ok(array);
    }
    let dtype = ids.getattr("dtype")?;
    let n_dims: usize = ids.getattr("ndim")?.extract()?;
    let is_integer = matches!(dtype.getattr("kind")?.extract()?, 'i' | 'u');
    let copy = if n_dims != 1 {
        return Err(PyTypeError::new_err(format!("{location}ids must have one dimension, not {n_dims}")));
    } else if is_integer && dtype.getattr("isnative")?.extract()? {
        ids.call_method0("copy")?
    } else if is_integer {
        return Err(PyTypeError::new_err(format!(
            "{location}ids must have this machine's byte order, not {dtype}; convert them with \
             ids.astype(ids.dtype.newbyteorder(\"=\"))"
        )));
    } else if ids.len()? == 0 && dtype.getattr("kind")?.extract::<char>()? == 'f' {
        ids.call_method1("astype", ("uint32",))? // `np.array([])`
    } else {
        ids.clone()
    };
    in_place(&copy)?
        .ok_or_else(|| PyTypeError::new_err(format!("{location}ids must be integers, not {dtype}")))
}

/// Borrows the items of a NumPy array if they are consecutive, aligned integers in one dimension.
fn in_place(ids: &Bound<'_, PyAny>) -> PyResult<Option<Array>> {
    let mut buffer = match PyUntypedBuffer::get(ids) {
        Ok(buffer) if buffer.dimensions() == 1 => buffer,
        Err(error) if error.is_instance_of::<PyMemoryError>(ids.py()) => return Err(error),
        _ => return Ok(None), // dates, for example, have no buffer
    };
    macro_rules! first_of {
        ($($variant:ident $integer:ty),*) => {$(
            match Items::<$integer>::of(buffer) {
                Ok(items) => return Ok(Some(Array::$variant(items))),
                Err(other) => buffer = other,
            }
        )*};
    }
    first_of!(U16 u16, U32 u32, I64 i64, I32 i32, U64 u64, U8 u8, I8 i8, I16 i16);
    drop(buffer);
    Ok(None)
}
