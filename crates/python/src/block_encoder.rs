//! Bindings of `pairloom_core::encoder::BlockEncoder`.

use std::sync::Arc;

use pairloom_core::corpus;
use pairloom_core::encoder::{self, BlockOptions, BlockSource};
use pairloom_core::ids::Id;
use pyo3::prelude::*;

use crate::arrays::{Item, array, lent, rows};
use crate::corpus::Documents;
use crate::encoder::Encoder;
use crate::errors::exception;
use crate::exclusive::Exclusive;
use crate::monitor::PyMonitor;
use crate::special_policies::specials_named;

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

    #[pyo3(signature = (documents, *, name = "", first = 0))]
    fn push<'py>(
        &self,
        py: Python<'py>,
        documents: &Documents,
        name: &str,
        first: u64,
    ) -> PyResult<Encoded<'py>> {
        let source = BlockSource { name, first_document: first };
        match &mut *self.0.lock()? {
            AnyBlockEncoder::Narrow(inner) => encoded(py, inner, &documents.inner, source),
            AnyBlockEncoder::Wide(inner) => encoded(py, inner, &documents.inner, source),
        }
    }
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
    Ok((lent(py, encoded.ids)?, array(py, encoded.ends)?, literals))
}
