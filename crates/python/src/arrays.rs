//! NumPy arrays that own the memory of a Rust vector, without a copy.

use std::any::Any;
use std::ops::DerefMut;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use numpy::npyffi::{self, NPY_ARRAY_WRITEABLE, NpyTypes, PY_ARRAY_API, npy_intp};
use numpy::{Element, PyArray1, PyArray2, PyArrayDescrMethods};
use pairloom_core::ids::Id;
use pyo3::prelude::*;

use crate::objects::no_memory;

/// The base object of an array: it keeps the memory alive.
#[pyclass(frozen, module = "pairloom._core")]
pub struct Owner(#[allow(dead_code)] Memory);

/// The memory of an array.
#[allow(dead_code)]
enum Memory {
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    I64(Vec<i64>),
    /// Any other owner of the memory.
    Other(Box<dyn Any + Send + Sync>),
}

/// The element types of arrays.
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
    // SAFETY: The owner takes the vector, whose heap memory has `n` initialised items and does not move with it.
    unsafe {
        Ok(array_of::<T>(py, data, &mut [n as npy_intp], T::memory(items), NPY_ARRAY_WRITEABLE)?
            .cast_into_unchecked())
    }
}

/// An array [n, n_columns] of consecutive rows.
pub fn rows<T: Item>(
    py: Python<'_>,
    mut items: Vec<T>,
    n_columns: usize,
) -> PyResult<Bound<'_, PyArray2<T>>> {
    let (data, n) = (items.as_mut_ptr(), items.len() / n_columns);
    // SAFETY: As in `array`; n * n_columns is at most the number of items.
    unsafe {
        let shape = &mut [n as npy_intp, n_columns as npy_intp];
        Ok(array_of::<T>(py, data, shape, T::memory(items), NPY_ARRAY_WRITEABLE)?.cast_into_unchecked())
    }
}

/// An array [n] of ids whose memory is reused when the array is freed: a buffer of a pool, or a result.
pub fn lent<I: Id + Item>(
    py: Python<'_>,
    mut ids: impl DerefMut<Target = Vec<I>> + Send + Sync + 'static,
) -> PyResult<Bound<'_, PyArray1<I>>> {
    let (data, n) = (ids.as_mut_ptr(), ids.len());
    let memory = Memory::Other(Box::new(ids));
    // SAFETY: As in `array`; the owner of the vector does not touch it until it is dropped.
    unsafe {
        Ok(array_of::<I>(py, data, &mut [n as npy_intp], memory, NPY_ARRAY_WRITEABLE)?.cast_into_unchecked())
    }
}

/// A read-only array of the items of a shared owner, of shape [n], or [n, `n_columns`] of consecutive rows.
pub fn shared<'py, T: Item, O: Send + Sync + 'static>(
    py: Python<'py>,
    owner: &Arc<O>,
    items: impl FnOnce(&O) -> &[T],
    n_columns: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let items = items(owner);
    let (data, n) = (items.as_ptr(), items.len() as npy_intp);
    let columns = n_columns.unwrap_or(1).max(1) as npy_intp;
    let mut shape = [n / columns, columns];
    let n_dims = if n_columns.is_some() { 2 } else { 1 };
    let memory = Memory::Other(Box::new(Arc::clone(owner)));
    // SAFETY: The owner has `n` initialised items at `data`, cannot change while it is shared, and lives as long as the
    // array, which is not writeable.
    unsafe { array_of::<T>(py, data.cast_mut(), &mut shape[..n_dims], memory, 0) }
}

/// Imports NumPy, and raises what its import raises, for example an interruption. The crate `numpy` panics if its own
/// import fails, so call this before using anything of that crate.
pub fn import_numpy(py: Python<'_>) -> PyResult<()> {
    static IS_IMPORTED: AtomicBool = AtomicBool::new(false);
    if !IS_IMPORTED.load(Ordering::Relaxed) {
        py.import("numpy.lib")?;
        IS_IMPORTED.store(true, Ordering::Relaxed);
    }
    Ok(())
}

/// An array of the given shape with the memory `data`; `flags` are NumPy's and decide whether it is writeable.
///
/// # Safety
/// `memory` owns the initialised items at `data`, at least as many as the shape has. It does not move or touch them,
/// and frees them when it is dropped.
unsafe fn array_of<'py, T: Item>(
    py: Python<'py>,
    data: *mut T,
    shape: &mut [npy_intp],
    memory: Memory,
    flags: i32,
) -> PyResult<Bound<'py, PyAny>> {
    import_numpy(py)?;
    let owner = Bound::new(py, Owner(memory))?;
    // SAFETY: `shape` is a valid array of its length; the caller vouches for `data`. `PyArray_NewFromDescr` takes over
    // the reference to the dtype and returns a new array, or null with an exception set. `PyArray_SetBaseObject` takes
    // over the reference to the owner, even if it fails.
    unsafe {
        let new = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            npyffi::get_type_object(py, NpyTypes::PyArray_Type),
            T::get_dtype(py).into_dtype_ptr(),
            shape.len() as i32,
            shape.as_mut_ptr(),
            ptr::null_mut(),
            data.cast(),
            flags,
            ptr::null_mut(),
        );
        let new = Bound::from_owned_ptr_or_err(py, new)?;
        match PY_ARRAY_API.PyArray_SetBaseObject(py, new.as_ptr().cast(), owner.into_ptr()) {
            0 => Ok(new),
            _ => Err(PyErr::take(py).unwrap_or_else(no_memory)),
        }
    }
}
