//! Bindings of `pairloom_core::counts`.

use std::path::PathBuf;
use std::sync::Arc;

use pairloom_core::corpus::Rows;
use pairloom_core::counts::{self, CorpusSpecials, CountOptions, Totals};
use pairloom_core::memory::copied;
use pairloom_core::special::SpecialTokens;
use pairloom_core::train::WeightedPretokens;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::array_items::Items;
use crate::arrays::array;
use crate::columns::TextColumn;
use crate::corpus::Documents;
use crate::errors::exception;
use crate::exclusive::{Exclusive, Shared};
use crate::monitor::PyMonitor;
use crate::objects::{self, vec_with_capacity};
use crate::pretokens::Pattern;
use crate::texts::Texts;

/// Distinct pretokens with their counts. Only `add` changes them.
#[pyclass(frozen, module = "pairloom._core")]
pub struct PretokenCounts {
    pub(crate) inner: Shared<counts::PretokenCounts>,
}

impl From<counts::PretokenCounts> for PretokenCounts {
    fn from(inner: counts::PretokenCounts) -> Self {
        PretokenCounts { inner: Shared::new("PretokenCounts", inner) }
    }
}

type Columns<'py> = (Bound<'py, PyBytes>, Bound<'py, PyAny>, Bound<'py, PyAny>);

#[pymethods]
impl PretokenCounts {
    fn __len__(&self) -> PyResult<usize> {
        Ok(self.inner.read()?.len())
    }

    #[getter]
    fn n_bytes(&self) -> PyResult<u64> {
        Ok(self.inner.read()?.totals().n_bytes)
    }

    #[getter]
    fn n_documents(&self) -> PyResult<u64> {
        Ok(self.inner.read()?.totals().n_documents)
    }

    #[getter]
    fn n_special_literals(&self) -> PyResult<u64> {
        Ok(self.inner.read()?.totals().n_special_literals)
    }

    fn sorted_columns<'py>(&self, py: Python<'py>) -> PyResult<Columns<'py>> {
        let inner = &*self.inner.read()?;
        let sorted = py.detach(|| inner.sorted()).map_err(|error| exception(py, error))?;
        let (bytes, ends, counts) = sorted.into_columns();
        Ok((objects::bytes(py, &bytes)?, array(py, ends)?, array(py, counts)?))
    }

    fn unsorted_columns<'py>(&self, py: Python<'py>) -> PyResult<Columns<'py>> {
        let inner = &*self.inner.read()?;
        let WeightedPretokens { bytes, ends, counts } = inner.columns();
        let copies = || Ok((copied(ends, COLUMNS)?, copied(counts, COLUMNS)?));
        let (ends, counts) = py.detach(copies).map_err(|error| exception(py, error))?;
        Ok((objects::bytes(py, bytes)?, array(py, ends)?, array(py, counts)?))
    }

    fn pruned(&self, py: Python<'_>, min_count: u64) -> PyResult<Self> {
        let inner = &*self.inner.read()?;
        let pruned = py.detach(|| inner.pruned(min_count)).map_err(|error| exception(py, error))?;
        Ok(pruned.into())
    }

    fn add(&self, py: Python<'_>, other: &PretokenCounts) -> PyResult<()> {
        let sum = &mut *self.inner.write()?;
        let other = &*other.inner.read()?;
        py.detach(|| sum.add(other)).map_err(|error| exception(py, error))
    }

    fn minus(&self, py: Python<'_>, other: &PretokenCounts) -> PyResult<Self> {
        let (inner, other) = (&*self.inner.read()?, &*other.inner.read()?);
        Ok(py.detach(|| inner.minus(other)).map_err(|error| exception(py, error))?.into())
    }

    #[staticmethod]
    fn merged(py: Python<'_>, parts: Vec<Bound<'_, PretokenCounts>>) -> PyResult<Self> {
        let mut guards = vec_with_capacity(parts.len())?;
        for part in &parts {
            guards.push(part.get().inner.read()?);
        }
        let mut inner: Vec<&counts::PretokenCounts> = vec_with_capacity(parts.len())?;
        inner.extend(guards.iter().map(|guard| &**guard));
        let merged = py.detach(|| counts::PretokenCounts::merge(&inner));
        merged.map(PretokenCounts::from).map_err(|error| exception(py, error))
    }

    #[staticmethod]
    #[pyo3(signature = (bytes, ends, counts, totals, are_distinct = false))]
    fn from_columns(
        py: Python<'_>,
        bytes: Items<u8>,
        ends: Items<u64>,
        counts: Items<u64>,
        totals: [u64; 3],
        are_distinct: bool,
    ) -> PyResult<Self> {
        let (bytes, ends, counts) = (bytes.as_slice(), ends.as_slice(), counts.as_slice());
        let [n_bytes, n_documents, n_special_literals] = totals;
        let totals = Totals { n_bytes, n_documents, n_special_literals };
        let inner = py.detach(|| {
            let (ends, counts) = (copied(ends, COLUMNS)?, copied(counts, COLUMNS)?);
            counts::PretokenCounts::from_columns(copied(bytes, COLUMNS)?, ends, counts, totals, are_distinct)
        });
        inner.map(PretokenCounts::from).map_err(|error| exception(py, error))
    }
}

/// Counts batches of texts, files, or blocks of documents.
#[pyclass(frozen, module = "pairloom._core")]
pub struct Counter {
    /// `None` after `finish`.
    state: Exclusive<Option<counts::Counter>>,
    report: Option<Py<PyAny>>,
}

fn open(state: &mut Option<counts::Counter>) -> PyResult<&mut counts::Counter> {
    state.as_mut().ok_or_else(finished)
}

fn finished() -> PyErr {
    PyRuntimeError::new_err("this counter has finished; make a new one")
}

/// The name of what is allocated, for the message of a MemoryError.
const COLUMNS: &str = "the columns of the counts";

#[pymethods]
impl Counter {
    #[new]
    #[pyo3(signature = (*, pattern, special_tokens, split, threads, max_memory, report))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        pattern: Pattern,
        special_tokens: Vec<String>,
        split: bool,
        threads: usize,
        max_memory: Option<u64>,
        report: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let specials = special_tokens.into_iter().map(|token| (token, 0)).collect();
        let options = CountOptions {
            pretokenizer: pattern.compile(py)?,
            specials: Arc::new(SpecialTokens::new(specials).map_err(|error| exception(py, error))?),
            corpus_specials: if split { CorpusSpecials::Split } else { CorpusSpecials::Text },
            threads,
            max_memory,
        };
        let inner = counts::Counter::new(options).map_err(|error| exception(py, error))?;
        Ok(Counter { state: Exclusive::new("Counter", Some(inner)), report })
    }

    #[pyo3(signature = (texts, first=0))]
    fn count_texts(&self, py: Python<'_>, texts: &Bound<'_, PyAny>, first: u64) -> PyResult<()> {
        let mut state = self.state.lock()?;
        let texts = Texts::from_iterable("texts", first, texts)?;
        let (texts, counter) = (texts.utf8()?, open(&mut state)?);
        PyMonitor::run(py, self.report.as_ref(), |monitor| counter.count_texts(&texts, monitor))
    }

    fn count_arrow(&self, py: Python<'_>, texts: &Bound<'_, PyAny>) -> PyResult<()> {
        let column = TextColumn::of("texts", texts)?;
        let mut state = self.state.lock()?;
        let (counter, chunks) = (open(&mut state)?, column.chunks());
        PyMonitor::run(py, self.report.as_ref(), |monitor| {
            counter.count_texts(&Rows::of(&chunks)?.texts()?, monitor)
        })
    }

    fn add_counts(&self, py: Python<'_>, counts: &PretokenCounts) -> PyResult<()> {
        let mut state = self.state.lock()?;
        let counter = open(&mut state)?;
        let counts = &*counts.inner.read()?;
        py.detach(|| counter.add_counts(counts)).map_err(|error| exception(py, error))
    }

    fn add_rows(&self, py: Python<'_>, pretokens: &Bound<'_, PyAny>, counts: Items<u64>) -> PyResult<u64> {
        let column = TextColumn::of("pretokens", pretokens)?;
        let mut state = self.state.lock()?;
        let (counter, chunks, counts) = (open(&mut state)?, column.chunks(), counts.as_slice());
        let n_text_bytes = py.detach(|| {
            let (bytes, ends) = Rows::of(&chunks)?.pretokens()?;
            counter.add_columns(WeightedPretokens { bytes: &bytes, ends: &ends, counts })
        });
        n_text_bytes.map_err(|error| exception(py, error))
    }

    fn add_totals(
        &self,
        py: Python<'_>,
        n_bytes: u64,
        n_documents: u64,
        n_special_literals: u64,
    ) -> PyResult<()> {
        let totals = Totals { n_bytes, n_documents, n_special_literals };
        open(&mut *self.state.lock()?)?.add_totals(totals).map_err(|error| exception(py, error))
    }

    fn count_files(&self, py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<()> {
        let mut state = self.state.lock()?;
        let counter = open(&mut state)?;
        PyMonitor::run(py, self.report.as_ref(), |monitor| counter.count_files(&paths, monitor))
    }

    #[pyo3(signature = (documents, *, n_bytes_read = 0))]
    fn count_block(&self, py: Python<'_>, documents: &Documents, n_bytes_read: usize) -> PyResult<()> {
        let mut state = self.state.lock()?;
        let counter = open(&mut state)?;
        PyMonitor::run(py, self.report.as_ref(), |monitor| {
            counter.count_block(&documents.inner, n_bytes_read, monitor)
        })
    }

    fn finish(&self, py: Python<'_>) -> PyResult<PretokenCounts> {
        let counter = self.state.lock()?.take().ok_or_else(finished)?;
        let inner = py.detach(|| counter.finish()).map_err(|error| exception(py, error))?;
        Ok(inner.into())
    }
}

/// Checks that the pretokens of a counts file are in ascending order.
#[pyfunction]
pub fn check_ascending(py: Python<'_>, bytes: &[u8], ends: Items<u64>) -> PyResult<()> {
    let ends = ends.as_slice();
    py.detach(|| counts::check_ascending(bytes, ends)).map_err(|error| exception(py, error))
}
