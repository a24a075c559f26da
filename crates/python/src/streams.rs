//! Bindings of the streams of `pairloom_core::encoder` and `decoder`, for text and ids that arrive in pieces.

use std::sync::Arc;

use pairloom_core::decoder;
use pairloom_core::encoder::{self, Specials};
use pairloom_core::monitor::Silent;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::errors::exception;
use crate::exclusive::Exclusive;
use crate::ids::{Location, id};
use crate::lists::IdLists;
use crate::monitor::{MIN_DETACHED_BYTES, PyMonitor};
use crate::objects;
use crate::scratch::with_ids;
use crate::text::{text_argument, utf8};

/// Encodes the concatenation of the texts pushed.
#[pyclass(frozen, module = "pairloom._core")]
pub struct StreamEncoder {
    inner: Exclusive<encoder::StreamEncoder>,
    id_lists: IdLists,
}

impl StreamEncoder {
    pub(crate) fn new(encoder: Arc<encoder::Encoder>, specials: Specials) -> Self {
        let stream = encoder::StreamEncoder::new(encoder, specials);
        StreamEncoder { inner: Exclusive::new("StreamEncoder", stream), id_lists: IdLists::new(0) }
    }
}

#[pymethods]
impl StreamEncoder {
    fn push<'py>(&self, py: Python<'py>, text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let text = &*utf8(text_argument(text)?)?;
        let inner = &mut *self.inner.lock()?;
        with_ids(|ids: &mut Vec<u32>| {
            if text.len() < MIN_DETACHED_BYTES {
                inner.push(text, ids, &Silent).map_err(|error| exception(py, error))?;
            } else {
                PyMonitor::run(py, None, |monitor| inner.push(text, ids, monitor))?;
            }
            self.id_lists.list(py, ids)
        })
    }

    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let inner = &mut *self.inner.lock()?;
        let mut ids = Vec::<u32>::new();
        PyMonitor::run(py, None, |monitor| inner.finish(&mut ids, monitor))?;
        self.id_lists.list(py, &ids)
    }
}

/// Decodes id by id.
#[pyclass(frozen, module = "pairloom._core")]
pub struct DecodeStream {
    inner: Exclusive<decoder::DecodeStream>,
}

impl DecodeStream {
    pub(crate) fn new(stream: decoder::DecodeStream) -> Self {
        DecodeStream { inner: Exclusive::new("DecodeStream", stream) }
    }
}

#[pymethods]
impl DecodeStream {
    fn push<'py>(&self, py: Python<'py>, token_id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
        let id = id(token_id, Location::Only)?;
        let text = self.inner.lock()?.push(id).map_err(|error| exception(py, error))?;
        objects::str(py, &text)
    }

    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        let text = self.inner.lock()?.finish().map_err(|error| exception(py, error))?;
        objects::str(py, &text)
    }
}
