//! The seam of `pairloom_core::counts`.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{PyArray1, PyReadonlyArray1};
use pairloom_core::counts::{self, CorpusSpecials, CountOptions, InputErrors};
use pairloom_core::records::BlockCounter;
use pairloom_core::special::SpecialTokens;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::errors::exception;
use crate::monitor::PyMonitor;
use crate::pretokens::Pattern;
use crate::records::Documents;
use crate::text::utf8;

/// Distinct pretokens with their counts, frozen.
#[pyclass(frozen, module = "pairloom._core")]
pub struct PretokenCounts {
    pub(crate) inner: counts::PretokenCounts,
}

type Columns<'py> = (Bound<'py, PyBytes>, Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u64>>);

#[pymethods]
impl PretokenCounts {
    fn __len__(&self) -> usize {
        self.inner.len()
    }

    #[getter]
    fn n_bytes(&self) -> u64 {
        self.inner.n_bytes()
    }

    #[getter]
    fn n_documents(&self) -> u64 {
        self.inner.n_documents()
    }

    #[getter]
    fn n_special_literals(&self) -> u64 {
        self.inner.n_special_literals()
    }

    fn sorted_columns<'py>(&self, py: Python<'py>) -> PyResult<Columns<'py>> {
        let sorted = py.detach(|| self.inner.sorted()).map_err(|error| exception(py, error))?;
        let columns = sorted.columns();
        Ok((
            PyBytes::new(py, columns.bytes),
            PyArray1::from_slice(py, columns.ends),
            PyArray1::from_slice(py, columns.counts),
        ))
    }

    #[staticmethod]
    fn merged(py: Python<'_>, parts: Vec<PyRef<'_, PretokenCounts>>) -> PyResult<Self> {
        let parts: Vec<&counts::PretokenCounts> = parts.iter().map(|part| &part.inner).collect();
        let inner =
            py.detach(|| counts::PretokenCounts::merge(&parts)).map_err(|error| exception(py, error))?;
        Ok(PretokenCounts { inner })
    }

    #[staticmethod]
    #[pyo3(signature = (bytes, ends, counts, *, n_bytes, n_documents, n_special_literals))]
    fn from_columns(
        py: Python<'_>,
        bytes: &[u8],
        ends: PyReadonlyArray1<'_, u64>,
        counts: PyReadonlyArray1<'_, u64>,
        n_bytes: u64,
        n_documents: u64,
        n_special_literals: u64,
    ) -> PyResult<Self> {
        let (ends, counts) = (ends.as_slice()?.to_vec(), counts.as_slice()?.to_vec());
        let inner = counts::PretokenCounts::from_columns(
            bytes.to_vec(),
            ends,
            counts,
            n_bytes,
            n_documents,
            n_special_literals,
        )
        .map_err(|error| exception(py, error))?;
        Ok(PretokenCounts { inner })
    }
}

/// Counts batches of texts, files, or blocks of documents.
#[pyclass(module = "pairloom._core")]
pub struct Counter {
    inner: Option<BlockCounter>,
    report: Option<Py<PyAny>>,
}

impl Counter {
    fn open(&mut self) -> PyResult<&mut BlockCounter> {
        self.inner.as_mut().ok_or_else(|| PyRuntimeError::new_err("this counter is finished"))
    }
}

#[pymethods]
impl Counter {
    #[new]
    #[pyo3(signature = (*, pattern, special_tokens, split, replace, threads, max_memory, report))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        pattern: Pattern,
        special_tokens: Vec<String>,
        split: bool,
        replace: bool,
        threads: usize,
        max_memory: Option<u64>,
        report: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let specials = special_tokens.into_iter().map(|token| (token, 0)).collect();
        let options = CountOptions {
            pretokenizer: pattern.compile(py)?,
            specials: Arc::new(SpecialTokens::new(specials).map_err(|error| exception(py, error))?),
            corpus_specials: if split { CorpusSpecials::Split } else { CorpusSpecials::Text },
            input_errors: if replace { InputErrors::Replace } else { InputErrors::Strict },
            threads,
            max_memory,
            total_hint: None,
        };
        let inner = BlockCounter::new(options).map_err(|error| exception(py, error))?;
        Ok(Counter { inner: Some(inner), report })
    }

    fn count_texts(&mut self, py: Python<'_>, texts: Vec<Bound<'_, PyString>>) -> PyResult<()> {
        let texts = texts.iter().map(utf8).collect::<PyResult<Vec<_>>>()?;
        let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
        let report = self.report.as_ref().map(|report| report.clone_ref(py));
        let counter = self.open()?;
        PyMonitor::run(py, report.as_ref(), |monitor| counter.count_texts(&texts, monitor))
    }

    fn count_files(&mut self, py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<()> {
        let report = self.report.as_ref().map(|report| report.clone_ref(py));
        let counter = self.open()?;
        PyMonitor::run(py, report.as_ref(), |monitor| counter.count_files(&paths, monitor))
    }

    fn count_block(&mut self, py: Python<'_>, documents: &Documents) -> PyResult<()> {
        let report = self.report.as_ref().map(|report| report.clone_ref(py));
        let counter = self.open()?;
        PyMonitor::run(py, report.as_ref(), |monitor| counter.count_block(&documents.inner, monitor))
    }

    fn finish(&mut self, py: Python<'_>) -> PyResult<PretokenCounts> {
        self.open()?;
        match self.inner.take() {
            Some(counter) => {
                let inner = py.detach(|| counter.finish()).map_err(|error| exception(py, error))?;
                Ok(PretokenCounts { inner })
            }
            None => Err(PyRuntimeError::new_err("this counter is finished")),
        }
    }
}
