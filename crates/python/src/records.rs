//! The seam of `pairloom_core::records`.

use std::sync::Arc;

use numpy::{PyArray1, PyReadonlyArray1};
use pairloom_core::records::{self, Mending};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::encoder::Encoder;
use crate::errors::exception;
use crate::monitor::PyMonitor;
use crate::text::utf8;

/// A block of documents, frozen.
#[pyclass(frozen, module = "pairloom._core")]
pub struct Documents {
    pub(crate) inner: records::Documents,
}

impl Documents {
    fn of(py: Python<'_>, made: pairloom_core::Result<records::Documents>) -> PyResult<Self> {
        made.map(|inner| Documents { inner }).map_err(|error| exception(py, error))
    }
}

#[pymethods]
impl Documents {
    #[staticmethod]
    fn from_texts(py: Python<'_>, texts: Vec<Bound<'_, PyString>>) -> PyResult<Self> {
        let texts = texts.iter().map(utf8).collect::<PyResult<Vec<_>>>()?;
        let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
        Documents::of(py, py.detach(|| records::Documents::from_texts(&texts)))
    }

    #[staticmethod]
    #[pyo3(signature = (data, offsets, *, name, first_row, replace, skip))]
    fn from_column(
        py: Python<'_>,
        data: PyBuffer<u8>,
        offsets: PyReadonlyArray1<'_, i64>,
        name: &str,
        first_row: u64,
        replace: bool,
        skip: bool,
    ) -> PyResult<(Self, u64)> {
        let offsets = offsets.as_slice()?;
        let bytes = data.to_vec(py)?;
        let mending = Mending { replaces: replace, skips: skip };
        match records::Documents::from_column(&bytes, offsets, name, first_row, mending) {
            Ok((inner, n_skipped)) => Ok((Documents { inner }, n_skipped)),
            Err(error) => Err(exception(py, error)),
        }
    }

    fn __len__(&self) -> usize {
        self.inner.len()
    }

    #[getter]
    fn n_bytes(&self) -> usize {
        self.inner.text().len()
    }

    #[getter]
    fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    fn ends<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.inner.ends().iter().map(|&end| end as i64))
    }

    fn texts(&self) -> Vec<&str> {
        self.inner.iter().collect()
    }

    fn open_text(&self) -> &str {
        self.inner.open_text()
    }

    fn skip(&self, py: Python<'_>, first: usize) -> PyResult<Self> {
        Documents::of(py, self.inner.skip(first))
    }

    fn count_words(&self, py: Python<'_>, in_word: bool) -> (u64, bool) {
        py.detach(|| self.inner.count_words(in_word))
    }
}

/// Reads documents of plain text.
#[pyclass(module = "pairloom._core")]
pub struct PlainText {
    inner: records::PlainText,
}

#[pymethods]
impl PlainText {
    #[new]
    #[pyo3(signature = (name, *, separator, replace))]
    fn new(py: Python<'_>, name: String, separator: Option<&str>, replace: bool) -> PyResult<Self> {
        let mending = Mending { replaces: replace, skips: false };
        let inner =
            records::PlainText::new(name, separator, mending).map_err(|error| exception(py, error))?;
        Ok(PlainText { inner })
    }

    fn push(&mut self, py: Python<'_>, data: &[u8]) -> PyResult<Documents> {
        Documents::of(py, py.detach(|| self.inner.push(data)))
    }

    fn finish(&mut self, py: Python<'_>) -> PyResult<Documents> {
        Documents::of(py, self.inner.finish())
    }
}

/// Reads documents of JSON lines.
#[pyclass(module = "pairloom._core")]
pub struct JsonLines {
    inner: records::JsonLines,
}

#[pymethods]
impl JsonLines {
    #[new]
    #[pyo3(signature = (name, *, field, replace, skip))]
    fn new(py: Python<'_>, name: String, field: Vec<String>, replace: bool, skip: bool) -> PyResult<Self> {
        let mending = Mending { replaces: replace, skips: skip };
        let inner = records::JsonLines::new(name, field, mending).map_err(|error| exception(py, error))?;
        Ok(JsonLines { inner })
    }

    #[getter]
    fn n_skipped(&self) -> u64 {
        self.inner.n_skipped()
    }

    #[getter]
    fn messages(&self) -> Vec<String> {
        self.inner.messages().to_vec()
    }

    fn push(&mut self, py: Python<'_>, data: &[u8]) -> PyResult<Documents> {
        Documents::of(py, py.detach(|| self.inner.push(data)))
    }

    fn finish(&mut self, py: Python<'_>) -> PyResult<Documents> {
        Documents::of(py, self.inner.finish())
    }
}

/// Cuts a corpus short.
#[pyclass(module = "pairloom._core")]
pub struct Quota {
    inner: records::Quota,
}

#[pymethods]
impl Quota {
    #[new]
    #[pyo3(signature = (*, doc_cap, max_bytes))]
    fn new(doc_cap: Option<usize>, max_bytes: Option<u64>) -> Self {
        Quota { inner: records::Quota::new(doc_cap, max_bytes) }
    }

    #[getter]
    fn is_full(&self) -> bool {
        self.inner.is_full()
    }

    fn use_up(&mut self, n_bytes: u64) {
        self.inner.use_up(n_bytes);
    }

    fn apply(&mut self, py: Python<'_>, documents: &Documents) -> PyResult<Documents> {
        Documents::of(py, self.inner.apply(documents.inner.clone()))
    }
}

/// Encodes blocks of documents.
#[pyclass(module = "pairloom._core")]
pub struct BlockEncoder {
    inner: records::BlockEncoder,
    is_narrow: bool,
}

type Encoded<'py> = (Bound<'py, PyAny>, Bound<'py, PyArray1<i64>>);

#[pymethods]
impl BlockEncoder {
    #[new]
    #[pyo3(signature = (encoder, *, end_id, threads))]
    fn new(encoder: &Encoder, end_id: Option<u32>, threads: usize) -> Self {
        let inner = records::BlockEncoder::new(Arc::clone(encoder.shared()), end_id, threads);
        BlockEncoder { inner, is_narrow: encoder.is_narrow() }
    }

    fn push<'py>(&mut self, py: Python<'py>, documents: &Documents) -> PyResult<Encoded<'py>> {
        let (inner, documents) = (&mut self.inner, &documents.inner);
        if self.is_narrow {
            let encoded = PyMonitor::run(py, None, |monitor| inner.push::<u16>(documents, monitor))?;
            Ok((PyArray1::from_vec(py, encoded.ids).into_any(), PyArray1::from_vec(py, encoded.ends)))
        } else {
            let encoded = PyMonitor::run(py, None, |monitor| inner.push::<u32>(documents, monitor))?;
            Ok((PyArray1::from_vec(py, encoded.ids).into_any(), PyArray1::from_vec(py, encoded.ends)))
        }
    }
}

/// Checks that pretokens in a counts file ascend.
#[pyfunction]
pub fn check_ascending(py: Python<'_>, bytes: &[u8], ends: PyReadonlyArray1<'_, u64>) -> PyResult<()> {
    let ends = ends.as_slice()?;
    py.detach(|| records::check_ascending(bytes, ends)).map_err(|error| exception(py, error))
}
