//! The seam of `pairloom_core::records`.

use std::any::Any;
use std::sync::Arc;

use numpy::ndarray::ArrayView1;
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pairloom_core::ids::Id;
use pairloom_core::records::{self, BlockOptions, Buffer, Mending, Place};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::encoder::{Encoder, specials_named};
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

    #[staticmethod]
    fn end_only(py: Python<'_>) -> PyResult<Self> {
        Documents::of(py, records::Documents::end_only())
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

    #[getter]
    fn n_open_bytes(&self) -> usize {
        self.inner.open_text().len()
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

    fn salvage(&mut self) -> Documents {
        Documents { inner: self.inner.salvage() }
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

    fn salvage(&mut self) -> Documents {
        Documents { inner: self.inner.salvage() }
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

    fn give_back(&mut self, n_bytes: u64) {
        self.inner.give_back(n_bytes);
    }

    fn apply(&mut self, py: Python<'_>, documents: &Documents) -> PyResult<Documents> {
        Documents::of(py, self.inner.apply(documents.inner.clone()))
    }
}

/// Encodes blocks of documents.
#[pyclass(module = "pairloom._core")]
pub struct BlockEncoder(AnyBlockEncoder);

/// To ids as narrow as the vocabulary allows.
enum AnyBlockEncoder {
    Narrow(records::BlockEncoder<u16>),
    Wide(records::BlockEncoder<u32>),
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
        let made = if encoder.is_narrow() {
            records::BlockEncoder::new(shared, options).map(AnyBlockEncoder::Narrow)
        } else {
            records::BlockEncoder::new(shared, options).map(AnyBlockEncoder::Wide)
        };
        made.map(BlockEncoder).map_err(|error| exception(py, error))
    }

    #[pyo3(signature = (documents, *, name = "", first = 0))]
    fn push<'py>(
        &mut self,
        py: Python<'py>,
        documents: &Documents,
        name: &str,
        first: u64,
    ) -> PyResult<Encoded<'py>> {
        let place = Place { name, first };
        match &mut self.0 {
            AnyBlockEncoder::Narrow(inner) => encoded(py, inner, &documents.inner, place),
            AnyBlockEncoder::Wide(inner) => encoded(py, inner, &documents.inner, place),
        }
    }

    fn withdraw(&mut self) {
        match &mut self.0 {
            AnyBlockEncoder::Narrow(inner) => inner.withdraw(),
            AnyBlockEncoder::Wide(inner) => inner.withdraw(),
        }
    }
}

/// The ids of a block, where documents end in them, and the literals that are plain text.
type Encoded<'py> = (Bound<'py, PyAny>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray2<i64>>);

fn encoded<'py, I: Id + Element>(
    py: Python<'py>,
    encoder: &mut records::BlockEncoder<I>,
    documents: &records::Documents,
    place: Place<'_>,
) -> PyResult<Encoded<'py>> {
    let encoded = PyMonitor::run(py, None, |monitor| encoder.push(documents, place, monitor))?;
    let n_literals = encoded.literals.len();
    let literals = PyArray1::from_vec(py, encoded.literals.into_flattened()).reshape([n_literals, 3])?;
    Ok((lent(py, encoded.ids)?.into_any(), PyArray1::from_vec(py, encoded.ends), literals))
}

/// Keeps a buffer from being used again as long as an array shows what is in it.
#[pyclass(frozen, module = "pairloom._core")]
struct Lender(#[allow(dead_code)] Box<dyn Any + Send + Sync>);

/// An array of the ids in a buffer; the buffer goes back to where it came from when the array is dropped.
fn lent<I: Id + Element>(py: Python<'_>, mut ids: Buffer<Vec<I>>) -> PyResult<Bound<'_, PyArray1<I>>> {
    // SAFETY: It is the memory of a vector, with so many ids in it.
    let view = unsafe { ArrayView1::from_shape_ptr(ids.len(), ids.as_mut_ptr()) };
    let lender = Bound::new(py, Lender(Box::new(ids)))?;
    // SAFETY: The array refers to the lender, and the lender alone has the vector from here on: that is not
    // touched, and its memory stays where it is, until the last array that shows it is dropped.
    Ok(unsafe { PyArray1::borrow_from_array(&view, lender.into_any()) })
}

/// Checks that pretokens in a counts file ascend.
#[pyfunction]
pub fn check_ascending(py: Python<'_>, bytes: &[u8], ends: PyReadonlyArray1<'_, u64>) -> PyResult<()> {
    let ends = ends.as_slice()?;
    py.detach(|| records::check_ascending(bytes, ends)).map_err(|error| exception(py, error))
}
