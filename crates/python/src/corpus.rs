//! Bindings of `pairloom_core::corpus`.

use pairloom_core::corpus::{self, RecordErrors};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::arrays::array;
use crate::columns::TextColumn;
use crate::errors::exception;
use crate::exclusive::Exclusive;
use crate::objects::{self, list_of, vec_with_capacity};
use crate::texts::Texts;

/// An immutable block of documents.
#[pyclass(frozen, module = "pairloom._core")]
pub struct Documents {
    pub(crate) inner: corpus::Documents,
}

impl Documents {
    fn from_result(py: Python<'_>, result: pairloom_core::Result<corpus::Documents>) -> PyResult<Self> {
        result.map(|inner| Documents { inner }).map_err(|error| exception(py, error))
    }
}

#[pymethods]
impl Documents {
    #[staticmethod]
    #[pyo3(signature = (texts, *, first = 0))]
    fn from_texts(py: Python<'_>, texts: &Bound<'_, PyAny>, first: u64) -> PyResult<Self> {
        let texts = Texts::from_iterable("texts", first, texts)?;
        let texts = texts.utf8()?;
        Documents::from_result(py, py.detach(|| corpus::Documents::from_texts(&texts)))
    }

    #[staticmethod]
    fn joined(py: Python<'_>, blocks: Vec<PyRef<'_, Documents>>) -> PyResult<Self> {
        let blocks: Vec<_> = blocks.iter().map(|block| &block.inner).collect();
        Documents::from_result(py, corpus::Documents::joined(&blocks))
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

    fn ends<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut ends = vec_with_capacity(self.inner.len())?;
        ends.extend(self.inner.ends().iter().map(|&end| end as i64));
        array(py, ends)
    }

    fn texts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        list_of(py, self.inner.iter(), |text| objects::str(py, text))
    }

    #[getter]
    fn n_open_bytes(&self) -> usize {
        self.inner.open_text().len()
    }

    fn open_text<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        objects::str(py, self.inner.open_text())
    }

    fn skip(&self, py: Python<'_>, first: usize) -> PyResult<Self> {
        Documents::from_result(py, self.inner.skip(first))
    }

    fn count_words(&self, py: Python<'_>, in_word: bool) -> (u64, bool) {
        py.detach(|| self.inner.count_words(in_word))
    }
}

/// Reads documents from columns of text.
#[pyclass(frozen, module = "pairloom._core")]
pub struct TextColumns {
    inner: corpus::TextColumns,
}

#[pymethods]
impl TextColumns {
    #[new]
    #[pyo3(signature = (name, *, replace, skip))]
    fn new(name: String, replace: bool, skip: bool) -> Self {
        let record_errors = RecordErrors { replaces: replace, skips: skip };
        TextColumns { inner: corpus::TextColumns::new(name, record_errors) }
    }

    fn read<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'_, PyAny>,
        first_row: u64,
    ) -> PyResult<(Documents, Bound<'py, PyAny>)> {
        let column = TextColumn::of("texts", texts)?;
        let chunks = column.chunks();
        let documents = py.detach(|| self.inner.read(&chunks, first_row));
        let (inner, skipped) = documents.map_err(|error| exception(py, error))?;
        Ok((Documents { inner }, array(py, skipped)?))
    }
}

/// Returns what a file is if its first bytes show that it is not text.
#[pyfunction]
pub fn not_text(begin: &[u8]) -> Option<&'static str> {
    corpus::not_text(begin)
}

/// Reads documents from plain text.
#[pyclass(frozen, module = "pairloom._core")]
pub struct PlainText {
    inner: Exclusive<corpus::PlainText>,
}

#[pymethods]
impl PlainText {
    #[new]
    #[pyo3(signature = (name, *, separator, replace, keeps_separator=false))]
    fn new(
        py: Python<'_>,
        name: String,
        separator: Option<&str>,
        replace: bool,
        keeps_separator: bool,
    ) -> PyResult<Self> {
        let record_errors = RecordErrors { replaces: replace, skips: false };
        let inner = corpus::PlainText::new(name, separator, keeps_separator, record_errors)
            .map_err(|error| exception(py, error))?;
        Ok(PlainText { inner: Exclusive::new("PlainText", inner) })
    }

    fn push(&self, py: Python<'_>, data: &[u8]) -> PyResult<Documents> {
        let inner = &mut *self.inner.lock()?;
        Documents::from_result(py, py.detach(|| inner.push(data)))
    }

    fn finish(&self, py: Python<'_>) -> PyResult<Documents> {
        Documents::from_result(py, self.inner.lock()?.finish())
    }
}

/// Reads documents from JSON lines.
#[pyclass(frozen, module = "pairloom._core")]
pub struct JsonLines {
    inner: Exclusive<corpus::JsonLines>,
}

#[pymethods]
impl JsonLines {
    #[new]
    #[pyo3(signature = (name, *, field, replace, skip, origins = false, id_field = Vec::new()))]
    fn new(
        py: Python<'_>,
        name: String,
        field: Vec<String>,
        replace: bool,
        skip: bool,
        origins: bool,
        id_field: Vec<String>,
    ) -> PyResult<Self> {
        let record_errors = RecordErrors { replaces: replace, skips: skip };
        let mut inner =
            corpus::JsonLines::new(name, field, record_errors).map_err(|error| exception(py, error))?;
        if origins {
            inner = inner.with_origins(id_field);
        }
        Ok(JsonLines { inner: Exclusive::new("JsonLines", inner) })
    }

    #[getter]
    fn n_skipped(&self) -> PyResult<u64> {
        Ok(self.inner.lock()?.n_skipped())
    }

    #[getter]
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let inner = self.inner.lock()?;
        list_of(py, inner.messages().iter(), |message| objects::str(py, message))
    }

    fn take_origins<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Vec<Option<String>>)> {
        let origins = self.inner.lock()?.take_origins();
        Ok((array(py, origins.lines)?, origins.ids))
    }

    fn push(&self, py: Python<'_>, data: &[u8]) -> PyResult<Documents> {
        let inner = &mut *self.inner.lock()?;
        Documents::from_result(py, py.detach(|| inner.push(data)))
    }

    fn finish(&self, py: Python<'_>) -> PyResult<Documents> {
        Documents::from_result(py, self.inner.lock()?.finish())
    }
}

/// Limits the bytes of documents and of a corpus.
#[pyclass(frozen, module = "pairloom._core")]
pub struct ByteLimit {
    inner: Exclusive<corpus::ByteLimit>,
}

#[pymethods]
impl ByteLimit {
    #[new]
    #[pyo3(signature = (*, doc_cap, max_bytes))]
    fn new(doc_cap: Option<usize>, max_bytes: Option<u64>) -> Self {
        ByteLimit { inner: Exclusive::new("ByteLimit", corpus::ByteLimit::new(doc_cap, max_bytes)) }
    }

    #[getter]
    fn is_full(&self) -> PyResult<bool> {
        Ok(self.inner.lock()?.is_full())
    }

    fn use_up(&self, n_bytes: u64) -> PyResult<()> {
        self.inner.lock()?.use_up(n_bytes);
        Ok(())
    }

    fn apply(&self, py: Python<'_>, documents: &Documents) -> PyResult<Documents> {
        let copy = documents.inner.skip(0).map_err(|error| exception(py, error))?;
        Documents::from_result(py, self.inner.lock()?.apply(copy))
    }
}
