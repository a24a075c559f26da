//! Makes NumPy arrays that own the memory of a Rust vector, without a copy.

use std::any::Any;
use std::ffi::{c_int, c_uint, c_ulong, c_void};
use std::ops::DerefMut;
use std::ptr;
use std::sync::Arc;

use pairloom_core::ids::Id;
#[cfg(unix)]
use pyo3::exceptions::PyOSError;
use pyo3::exceptions::{PyImportError, PyModuleNotFoundError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyType};

use crate::objects::no_memory;

/// The base object of an array; it keeps the memory alive.
#[pyclass(frozen, module = "pairloom._core")]
pub struct Owner(#[allow(dead_code)] Box<dyn Any + Send + Sync>);

/// The element types of arrays that can be made.
pub trait Item: Copy + Send + Sync + 'static {
    /// NumPy's type number of the dtype.
    const TYPE: c_int;
}

macro_rules! items {
    ($($item:ty = $type:expr),*) => {$(
        impl Item for $item {
            const TYPE: c_int = $type;
        }
    )*};
}

// NumPy numbers `long` and `long long` differently, even if both have 64 bits.
const LONG_IS_64: bool = size_of::<c_ulong>() == 8;
items!(u8 = 2, u16 = 4, u32 = 6, u64 = if LONG_IS_64 { 8 } else { 10 }, i64 = if LONG_IS_64 { 7 } else { 9 });

/// Makes an array [n].
pub fn array<T: Item>(py: Python<'_>, mut items: Vec<T>) -> PyResult<Bound<'_, PyAny>> {
    let (data, n) = (items.as_mut_ptr(), items.len());
    // SAFETY: The owner takes the vector, whose heap memory has `n` initialised items and does not move with it.
    unsafe { array_of::<T>(py, data, &mut [n as isize], items, WRITEABLE) }
}

/// Makes an array [n, n_columns] of consecutive rows.
pub fn rows<T: Item>(py: Python<'_>, mut items: Vec<T>, n_columns: usize) -> PyResult<Bound<'_, PyAny>> {
    let (data, n) = (items.as_mut_ptr(), items.len() / n_columns);
    // SAFETY: As in `array`; n * n_columns is at most the number of items.
    unsafe {
        let shape = &mut [n as isize, n_columns as isize];
        array_of::<T>(py, data, shape, items, WRITEABLE)
    }
}

/// Makes an array [n] of ids whose memory is reused when the array is freed: a pooled buffer, or a result.
pub fn pooled_array<I: Id + Item>(
    py: Python<'_>,
    mut ids: impl DerefMut<Target = Vec<I>> + Send + Sync + 'static,
) -> PyResult<Bound<'_, PyAny>> {
    let (data, n) = (ids.as_mut_ptr(), ids.len());
    // SAFETY: As in `array`; the owner of the vector does not touch it until it is dropped.
    unsafe { array_of::<I>(py, data, &mut [n as isize], ids, WRITEABLE) }
}

/// Makes a read-only array of a shared owner's items: shape [n], or [n, `n_columns`] of consecutive rows.
pub fn shared<'py, T: Item, O: Send + Sync + 'static>(
    py: Python<'py>,
    owner: &Arc<O>,
    items: impl FnOnce(&O) -> &[T],
    n_columns: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let items = items(owner);
    let (data, n) = (items.as_ptr(), items.len() as isize);
    let columns = n_columns.unwrap_or(1).max(1) as isize;
    let mut shape = [n / columns, columns];
    let n_dims = if n_columns.is_some() { 2 } else { 1 };
    // SAFETY: The owner has `n` initialised items at `data`, cannot change while it is shared, and lives as long as the
    // array, which is not writeable.
    unsafe { array_of::<T>(py, data.cast_mut(), &mut shape[..n_dims], Arc::clone(owner), 0) }
}

/// The bytes of an open file, mapped into memory: read-only, and without the descriptor that Python's mmap keeps.
#[cfg(unix)]
#[pyfunction]
pub fn map_file(py: Python<'_>, descriptor: i32) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: As for Python's mmap: the descriptor is open, and nobody changes the file while it is mapped.
    let mapped = unsafe { memmap2::Mmap::map(descriptor) };
    let mapped = mapped.map_err(|error| PyOSError::new_err((error.raw_os_error(), error.to_string())))?;
    shared::<u8, _>(py, &Arc::new(mapped), |mapped| mapped, None)
}

/// The parts of NumPy that the seam uses.
struct NumPy {
    ndarray: Py<PyType>,
    /// `PyArray_New(subtype, n_dims, shape, type, strides, data, item_size, flags, object)`
    new: NewArray,
    /// `PyArray_SetBaseObject(array, base)`
    set_base: SetBase,
}

type NewArray = unsafe extern "C" fn(
    *mut ffi::PyTypeObject,
    c_int,
    *mut isize,
    c_int,
    *mut isize,
    *mut c_void,
    c_int,
    c_int,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;
type SetBase = unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject) -> c_int;

/// NumPy's flag for a writeable array.
const WRITEABLE: c_int = 0x0400;

/// Imports NumPy at the first call. Raises what the import raises, for example an interruption.
fn numpy(py: Python<'_>) -> PyResult<&NumPy> {
    static NUMPY: PyOnceLock<NumPy> = PyOnceLock::new();
    NUMPY.get_or_try_init(py, || {
        let module = match py.import("numpy._core._multiarray_umath") {
            Err(error) if error.is_instance_of::<PyModuleNotFoundError>(py) => {
                py.import("numpy.core._multiarray_umath")? // NumPy 1
            }
            module => module?,
        };
        let table = module.getattr("_ARRAY_API")?.cast_into::<PyCapsule>()?.pointer_checked(None)?;
        let table = table.as_ptr().cast::<*const c_void>();
        // SAFETY: The capsule is the table of NumPy's C API. Its ABI fixes these indices and signatures. The function at
        // index 0, which every ABI has, returns the number of the ABI.
        unsafe {
            let version = table.cast::<unsafe extern "C" fn() -> c_uint>().read()();
            if !matches!(version >> 24, 1 | 2) {
                return Err(PyImportError::new_err(format!(
                    "pairloom supports NumPy 1 and 2, but this NumPy has another binary interface ({version:#x}): install an \
                     older NumPy"
                )));
            }
            Ok(NumPy {
                ndarray: module.getattr("ndarray")?.cast_into::<PyType>()?.unbind(),
                new: table.add(93).cast::<NewArray>().read(),
                set_base: table.add(282).cast::<SetBase>().read(),
            })
        }
    })
}

/// Makes an array of the given shape with the memory `data`. `flags` are NumPy's, and decide whether it is writeable.
///
/// # Safety
/// `memory` owns the initialised items at `data`, at least as many as the shape has. It does not move or touch them,
/// and frees them when it is dropped.
unsafe fn array_of<'py, T: Item>(
    py: Python<'py>,
    data: *mut T,
    shape: &mut [isize],
    memory: impl Send + Sync + 'static,
    flags: c_int,
) -> PyResult<Bound<'py, PyAny>> {
    let numpy = numpy(py)?;
    let owner = Bound::new(py, Owner(Box::new(memory)))?;
    // SAFETY: `shape` is a valid array of its length; the caller vouches for `data`. `PyArray_New` returns a new array, or
    // null with an exception set. `PyArray_SetBaseObject` takes over the reference to the owner, even if it fails.
    unsafe {
        let new = (numpy.new)(
            numpy.ndarray.as_ptr().cast(),
            shape.len() as c_int,
            shape.as_mut_ptr(),
            T::TYPE,
            ptr::null_mut(),
            data.cast(),
            0,
            flags,
            ptr::null_mut(),
        );
        let new = Bound::from_owned_ptr_or_err(py, new)?;
        match (numpy.set_base)(new.as_ptr(), owner.into_ptr()) {
            0 => Ok(new),
            _ => Err(PyErr::take(py).unwrap_or_else(no_memory)),
        }
    }
}

/// Returns whether an object is a NumPy array.
pub fn is_array(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    object.is_instance(numpy(object.py())?.ndarray.bind(object.py()))
}
