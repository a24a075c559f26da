//! Reads arrays of integers in place, through the buffer protocol.

use std::marker::PhantomData;
use std::slice;

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::errors::type_name;

/// The element types of arrays that can be read.
pub trait Integer: Copy {
    const IS_SIGNED: bool;
}

macro_rules! integers {
    ($($is_signed:literal $integer:ty),*) => {$(
        impl Integer for $integer {
            const IS_SIGNED: bool = $is_signed;
        }
    )*};
}

integers!(false u8, false u16, false u32, false u64, true i8, true i16, true i32, true i64);

/// The items of a contiguous array, in row order, read in place.
///
/// Another thread can change them at the same time, and Python has no way to prevent that. So read each item once, and check
/// the value that was read.
pub struct Items<T>(PyUntypedBuffer, PhantomData<T>);

impl<T: Integer> Items<T> {
    /// Returns the items; or the buffer itself if it is not aligned, consecutive integers of this type.
    pub fn of(buffer: PyUntypedBuffer) -> Result<Self, PyUntypedBuffer> {
        // Not `PyBuffer<T>`: PyO3 does not notice that integers have the other byte order.
        let is_integer = match buffer.format().to_bytes() {
            [b'b' | b'h' | b'i' | b'l' | b'q'] => T::IS_SIGNED,
            [b'B' | b'H' | b'I' | b'L' | b'Q'] => !T::IS_SIGNED,
            _ => false,
        };
        if is_integer
            && buffer.item_size() == size_of::<T>()
            && buffer.is_c_contiguous()
            && buffer.buf_ptr().cast::<T>().is_aligned()
        {
            Ok(Items(buffer, PhantomData))
        } else {
            Err(buffer)
        }
    }

    pub fn as_slice(&self) -> &[T] {
        match self.0.item_count() {
            0 => &[], // whose pointer may be null
            // SAFETY: The buffer has `n` initialised integers, aligned and consecutive, until it is released.
            n => unsafe { slice::from_raw_parts(self.0.buf_ptr().cast::<T>(), n) },
        }
    }
}

impl<'py, T: Integer> FromPyObject<'_, 'py> for Items<T> {
    type Error = PyErr;

    fn extract(array: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Items::of(PyUntypedBuffer::get(&array)?).map_err(|_| {
            let kind = std::any::type_name::<T>();
            PyTypeError::new_err(format!("expected a contiguous array of {kind}, not {}", type_name(&array)))
        })
    }
}
