//! Bindings of `pairloom_core::encoder::BlockEncoder`.

use std::sync::Arc;

use pairloom_core::corpus;
use pairloom_core::encoder::{self, BlockOptions, BlockSource};
use pairloom_core::ids::Id;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::arrays::{Item, array, pooled_array, rows};
use crate::corpus::Documents;
use crate::encoder::Encoder;
use crate::errors::{exception, type_name};
use crate::exclusive::Exclusive;
use crate::monitor::PyMonitor;
use crate::special_policies::specials_named;
use crate::text::{not_a_str, utf8};

/// Encodes blocks of documents.
#[pyclass(frozen, module = "pairloom._core")]
pub struct BlockEncoder(Exclusive<AnyBlockEncoder>);

/// A block encoder with the narrowest ids that the vocabulary allows.
enum AnyBlockEncoder {
    Narrow(encoder::BlockEncoder<u16>),
    Wide(encoder::BlockEncoder<u32>),
}

#[pymethods]
impl BlockEncoder {
    #[new]
    #[pyo3(signature = (encoder, *, begin_id, end_id, specials, threads))]
    fn new(
        py: Python<'_>,
        encoder: &Encoder,
        begin_id: Option<u32>,
        end_id: Option<u32>,
        specials: &str,
        threads: usize,
    ) -> PyResult<Self> {
        let shared = Arc::clone(encoder.shared());
        let options = BlockOptions { begin_id, end_id, specials: specials_named(specials)?, threads };
        let inner = if encoder.is_narrow() {
            encoder::BlockEncoder::new(shared, options).map(AnyBlockEncoder::Narrow)
        } else {
            encoder::BlockEncoder::new(shared, options).map(AnyBlockEncoder::Wide)
        };
        let inner = inner.map_err(|error| exception(py, error))?;
        Ok(BlockEncoder(Exclusive::new("BlockEncoder", inner)))
    }

    #[pyo3(signature = (documents, *, name = None, first = None))]
    fn push<'py>(
        &self,
        py: Python<'py>,
        documents: &Bound<'py, PyAny>,
        name: Option<&Bound<'py, PyAny>>,
        first: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Encoded<'py>> {
        let documents = documents.cast::<Documents>().map_err(|_| {
            let kind = type_name(documents);
            PyTypeError::new_err(format!(
                "documents must be a pairloom object that holds documents, not {kind}"
            ))
        })?;
        let documents = documents.get();
        let name = name.map(|name| name.cast().map_err(|_| not_a_str("name", name))).transpose()?;
        let name = name.map(utf8).transpose()?.unwrap_or_default();
        let first = first.map(|first| count_argument("first", first)).transpose()?.unwrap_or(0);
        let source = BlockSource { name: &name, first_document: first };
        match &mut *self.0.lock()? {
            AnyBlockEncoder::Narrow(inner) => encoded(py, inner, &documents.inner, source),
            AnyBlockEncoder::Wide(inner) => encoded(py, inner, &documents.inner, source),
        }
    }
}

/// Converts the argument `name` to a count; TypeError or ValueError if it is not one.
fn count_argument(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    value.extract().map_err(|error: PyErr| {
        let py = value.py();
        if error.is_instance_of::<PyOverflowError>(py) {
            PyValueError::new_err(format!("{name} must be between 0 and 2**64 - 1"))
        } else if error.is_instance_of::<PyTypeError>(py) {
            PyTypeError::new_err(format!("{name} must be an int, not {}", type_name(value)))
        } else {
            error
        }
    })
}

/// The ids of a block, the ends of the documents in them, and the special literals that were encoded as text.
type Encoded<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

fn encoded<'py, I: Id + Item>(
    py: Python<'py>,
    encoder: &mut encoder::BlockEncoder<I>,
    documents: &corpus::Documents,
    source: BlockSource<'_>,
) -> PyResult<Encoded<'py>> {
    let encoded = PyMonitor::run(py, None, |monitor| encoder.push(documents, source, monitor))?;
    let literals = rows(py, encoded.literals.into_flattened(), 3)?;
    Ok((pooled_array(py, encoded.ids)?, array(py, encoded.ends)?, literals))
}
