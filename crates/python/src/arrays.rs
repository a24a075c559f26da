//! NumPy arrays of what the core made: an array shows the memory of a vector, which nothing copies.

use std::any::Any;
use std::ptr;

use numpy::npyffi::{self, NPY_ARRAY_WRITEABLE, NpyTypes, PY_ARRAY_API, npy_intp};
use numpy::{Element, PyArray1, PyArray2, PyArrayDescrMethods};
use pairloom_core::corpus::Buffer;
use pairloom_core::ids::Id;
use pyo3::prelude::*;

use crate::objects::no_memory;

/// Keeps memory alive as long as an array shows it.
#[pyclass(frozen, module = "pairloom._core")]
pub struct Owner(#[allow(dead_code)] Memory);

/// The memory of an array.
#[allow(dead_code)]
enum Memory {
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    I64(Vec<i64>),
    /// Anything else.
    Other(Box<dyn Any + Send + Sync>),
}

/// What arrays are made of.
pub trait Item: Element + Copy + Sync {
    #[allow(private_interfaces)]
    fn memory(items: Vec<Self>) -> Memory;
}

macro_rules! items {
    ($($variant:ident $item:ty),*) => {$(
        impl Item for $item {
            #[allow(private_interfaces)]
            fn memory(items: Vec<Self>) -> Memory {
                Memory::$variant(items)
            }
        }
    )*};
}

items!(U16 u16, U32 u32, U64 u64, I64 i64);

/// An array [n].
pub fn array<T: Item>(py: Python<'_>, mut items: Vec<T>) -> PyResult<Bound<'_, PyArray1<T>>> {
    let (data, n) = (items.as_mut_ptr(), items.len());
    // SAFETY: The owner takes the vector, whose memory is as many initialised items and stays where it is.
    unsafe { Ok(shown::<T>(py, data, &mut [n as npy_intp], T::memory(items))?.cast_into_unchecked()) }
}

/// An array [n, n_columns] of rows that lie one after the other.
pub fn rows<T: Item>(
    py: Python<'_>,
    mut items: Vec<T>,
    n_columns: usize,
) -> PyResult<Bound<'_, PyArray2<T>>> {
    let (data, n) = (items.as_mut_ptr(), items.len() / n_columns);
    // SAFETY: As in `array`; all rows together are no more items than there are.
    unsafe {
        let shape = &mut [n as npy_intp, n_columns as npy_intp];
        Ok(shown::<T>(py, data, shape, T::memory(items))?.cast_into_unchecked())
    }
}

/// An array [n] of the ids in a buffer, which goes back to where it came from when the last array that shows it is
/// dropped.
pub fn lent<I: Id + Item>(py: Python<'_>, mut ids: Buffer<Vec<I>>) -> PyResult<Bound<'_, PyArray1<I>>> {
    let (data, n) = (ids.as_mut_ptr(), ids.len());
    let memory = Memory::Other(Box::new(ids));
    // SAFETY: As in `array`; the buffer owns the vector and does not touch it before it is dropped.
    unsafe { Ok(shown::<I>(py, data, &mut [n as npy_intp], memory)?.cast_into_unchecked()) }
}

/// An array of the given shape that shows `data`.
///
/// # Safety
/// `memory` owns the items at `data`, as many as the shape has, does not move or touch them, and drops them when it
/// is dropped.
unsafe fn shown<'py, T: Item>(
    py: Python<'py>,
    data: *mut T,
    shape: &mut [npy_intp],
    memory: Memory,
) -> PyResult<Bound<'py, PyAny>> {
    let owner = Bound::new(py, Owner(memory))?;
    // SAFETY: The shape has as many dimensions as it is long, `data` is vouched for by the caller. The call takes
    // over the reference to the dtype and gives an array, or null and sets an exception; `PyArray_SetBaseObject`
    // takes over the reference to the owner in any case.
    unsafe {
        let new = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            npyffi::get_type_object(py, NpyTypes::PyArray_Type),
            T::get_dtype(py).into_dtype_ptr(),
            shape.len() as i32,
            shape.as_mut_ptr(),
            ptr::null_mut(),
            data.cast(),
            NPY_ARRAY_WRITEABLE,
            ptr::null_mut(),
        );
        let new = Bound::from_owned_ptr_or_err(py, new)?;
        match PY_ARRAY_API.PyArray_SetBaseObject(py, new.as_ptr().cast(), owner.into_ptr()) {
            0 => Ok(new),
            _ => Err(PyErr::take(py).unwrap_or_else(no_memory)),
        }
    }
}
