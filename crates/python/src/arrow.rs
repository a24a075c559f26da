//! Bindings of `pairloom_core::arrow`: the capsules of the Arrow PyCapsule interface.
//!
//! Source: <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>.

use std::ffi::CStr;
use std::mem;
use std::sync::Arc;

use pairloom_core::arrow::abi::{ArrowArray, ArrowArrayStream, ArrowSchema};
use pairloom_core::arrow::{self, Chunked, IdType};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::encoder::{Encoder, errors_or};
use crate::errors::{exception, type_name};
use crate::monitor::PyMonitor;
use crate::objects;
use crate::special_policies::{SpecialPolicy, policy};

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// A column for any library that reads Arrow.
#[pyclass(frozen, module = "pairloom._core")]
pub struct ArrowColumn(Arc<arrow::Column>);

impl From<arrow::Column> for ArrowColumn {
    fn from(column: arrow::Column) -> Self {
        ArrowColumn(Arc::new(column))
    }
}

#[pymethods]
impl ArrowColumn {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        PyCapsule::new_with_value(py, self.0.schema(), SCHEMA)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        // A producer may ignore the requested schema.
        let _ = requested_schema;
        let array = PyCapsule::new_with_value(py, self.0.array(), ARRAY)?;
        objects::pair(self.__arrow_c_schema__(py)?, array)
    }
}

/// Moves the struct out of a capsule with this name and leaves a released one there.
///
/// # Safety
/// A capsule of this name has a `T`, and no other thread uses the capsule at the same time, which is possible on an
/// interpreter without a lock.
unsafe fn taken<T: Default>(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<T> {
    // SAFETY: The interpreter is attached; null comes with an exception set. The caller vouches for the type and that
    // no other thread uses it, and the interface allows a consumer to move the struct out.
    unsafe {
        let address = ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr()).cast::<T>();
        match address.as_mut() {
            Some(found) => Ok(mem::take(found)),
            None => Err(PyErr::fetch(capsule.py())),
        }
    }
}

/// The argument `name`: a column or table with `__arrow_c_stream__` or `__arrow_c_array__`.
pub fn chunked(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Chunked> {
    let py = value.py();
    // A class has the methods, too, but no instance to call them on.
    let is_class = value.is_instance_of::<pyo3::types::PyType>();
    if !is_class && value.hasattr("__arrow_c_stream__")? {
        let capsule = value.call_method0("__arrow_c_stream__")?;
        // SAFETY: By the PyCapsule interface each call of the method returns a new capsule, for this consumer alone.
        let stream: ArrowArrayStream = unsafe { taken(&capsule, STREAM)? };
        // SAFETY: The producer vouches for its stream. Its callbacks may wait for the interpreter.
        return py.detach(|| unsafe { Chunked::from_stream(stream) }).map_err(|error| exception(py, error));
    }
    if !is_class && value.hasattr("__arrow_c_array__")? {
        let pair = value.call_method0("__arrow_c_array__")?;
        let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract().map_err(|_| {
            PyTypeError::new_err(format!("{name}: __arrow_c_array__ did not return a schema and an array"))
        })?;
        // SAFETY: The PyCapsule interface, as above; the producer vouches for its array.
        let chunked = unsafe {
            let (schema, array): (ArrowSchema, ArrowArray) = (taken(&schema, SCHEMA)?, taken(&array, ARRAY)?);
            Chunked::from_array(schema, array)
        };
        return chunked.map_err(|error| exception(py, error));
    }
    Err(PyTypeError::new_err(format!(
        "{name} must be an Arrow column (anything with __arrow_c_stream__ or __arrow_c_array__: pyarrow, polars, \
         DuckDB, pandas, nanoarrow), not {}",
        type_name(value)
    )))
}

/// The id type for the argument `type`.
fn id_type(value: Option<&Bound<'_, PyAny>>, n_ids: usize) -> PyResult<IdType> {
    let Some(value) = value else { return Ok(IdType::narrowest(n_ids)) };
    if value.is_instance_of::<pyo3::types::PyType>() || !value.hasattr("__arrow_c_schema__")? {
        return Err(PyTypeError::new_err(format!(
            "type must be an Arrow type (anything with __arrow_c_schema__, such as pyarrow.list_(pyarrow.int32())), not {}",
            type_name(value)
        )));
    }
    let capsule = value.call_method0("__arrow_c_schema__")?;
    // SAFETY: The PyCapsule interface, as above; the producer vouches for its schema.
    let schema: ArrowSchema = unsafe { taken(&capsule, SCHEMA)? };
    if schema.is_released() {
        return Err(PyValueError::new_err(
            "type: the Arrow schema has been released: another consumer took it",
        ));
    }
    IdType::of(&schema).map_err(|error| exception(value.py(), error))
}

/// The ids of each row of a column of text.
#[pyfunction]
#[pyo3(signature = (encoder, texts, *, r#type, threads, specials))]
pub fn encode_arrow(
    py: Python<'_>,
    encoder: &Encoder,
    texts: &Bound<'_, PyAny>,
    r#type: Option<&Bound<'_, PyAny>>,
    threads: usize,
    specials: Option<&SpecialPolicy>,
) -> PyResult<ArrowColumn> {
    let (encoder, specials) = (encoder.shared(), policy(specials));
    let id_type = id_type(r#type, encoder.n_ids())?;
    let column = chunked("texts", texts)?;
    let encoded = PyMonitor::run(py, None, move |monitor| {
        encoder.encode_column(&column, id_type, specials, threads, monitor)
    })?;
    Ok(encoded.into())
}

/// The number of ids of each row of a column of text.
#[pyfunction]
#[pyo3(signature = (encoder, texts, *, threads, specials))]
pub fn count_tokens_arrow(
    py: Python<'_>,
    encoder: &Encoder,
    texts: &Bound<'_, PyAny>,
    threads: usize,
    specials: Option<&SpecialPolicy>,
) -> PyResult<ArrowColumn> {
    let (encoder, specials) = (encoder.shared(), policy(specials));
    let column = chunked("texts", texts)?;
    let counted =
        PyMonitor::run(py, None, move |monitor| encoder.count_column(&column, specials, threads, monitor))?;
    Ok(counted.into())
}

/// The text of each row of a column of ids.
#[pyfunction]
#[pyo3(signature = (encoder, list_of_ids, *, errors))]
pub fn decode_arrow(
    py: Python<'_>,
    encoder: &Encoder,
    list_of_ids: &Bound<'_, PyAny>,
    errors: Option<&str>,
) -> PyResult<ArrowColumn> {
    let (decoder, errors) = (encoder.decoder(), errors_or(encoder, errors)?);
    let column = chunked("list_of_ids", list_of_ids)?;
    let decoded =
        PyMonitor::run(py, None, move |monitor| arrow::decode_column(decoder, &column, errors, monitor))?;
    Ok(decoded.into())
}
