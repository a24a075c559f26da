//! Bindings of `pairloom_core::model`.

use std::sync::Arc;

use pairloom_core::memory::copied;
use pairloom_core::model::{CheckedColumns, Columns};
use pairloom_core::model_file;
use pairloom_core::vocabulary::Tokens;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict};

use crate::array_items::Items;
use crate::arrays::shared;
use crate::errors::exception;
use crate::objects;

/// The checked tokens and merges of a model.
#[pyclass(frozen, module = "pairloom._core")]
pub struct ModelColumns {
    columns: Arc<CheckedColumns>,
    /// The bytes of all tokens as a Python object, made when Python first asks for them.
    bytes: PyOnceLock<Py<PyBytes>>,
}

impl ModelColumns {
    pub(crate) fn from_checked(columns: CheckedColumns) -> Self {
        ModelColumns { columns: Arc::new(columns), bytes: PyOnceLock::new() }
    }

    /// Returns the core's columns.
    pub(crate) fn shared(&self) -> &Arc<CheckedColumns> {
        &self.columns
    }
}

#[pymethods]
impl ModelColumns {
    #[new]
    #[pyo3(signature = (*, token_ids, token_bytes, token_ends, merges, ranks, priorities = None))]
    fn new(
        py: Python<'_>,
        token_ids: Items<u32>,
        token_bytes: &[u8],
        token_ends: Items<u64>,
        merges: Items<u32>,
        ranks: bool,
        priorities: Option<Items<u32>>,
    ) -> PyResult<Self> {
        let (ids, ends) = (token_ids.as_slice(), token_ends.as_slice());
        let (merges, _) = merges.as_slice().as_chunks::<3>();
        const WHAT: &str = "the columns of a model";
        let priorities = priorities.as_ref().map_or(&[][..], Items::as_slice);
        let checked = py.detach(|| {
            let (ids, bytes, ends) = (copied(ids, WHAT)?, copied(token_bytes, WHAT)?, copied(ends, WHAT)?);
            let (merges, priorities) = (copied(merges, WHAT)?, copied(priorities, WHAT)?);
            Columns { tokens: Tokens { ids, bytes, ends }, merges, ranks, priorities }.checked()
        });
        Ok(Self::from_checked(checked.map_err(|error| exception(py, error))?))
    }

    #[staticmethod]
    #[pyo3(signature = (pairs, *, byte_order, first_byte, first_merge))]
    fn from_pairs(
        py: Python<'_>,
        pairs: Items<u32>,
        byte_order: [u8; 256],
        first_byte: u32,
        first_merge: u32,
    ) -> PyResult<Self> {
        let (pairs, _) = pairs.as_slice().as_chunks::<2>();
        let laid_out = py.detach(|| CheckedColumns::from_pairs(pairs, &byte_order, first_byte, first_merge));
        Ok(Self::from_checked(laid_out.map_err(|error| exception(py, error))?))
    }

    #[getter]
    fn token_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        shared(py, &self.columns, |columns| &columns.tokens.ids, None)
    }

    #[getter]
    fn token_bytes(&self, py: Python<'_>) -> PyResult<Py<PyBytes>> {
        let object = self
            .bytes
            .get_or_try_init(py, || Ok::<_, PyErr>(objects::bytes(py, &self.columns.tokens.bytes)?.unbind()));
        Ok(object?.clone_ref(py))
    }

    #[getter]
    fn token_ends<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        shared(py, &self.columns, |columns| &columns.tokens.ends, None)
    }

    #[getter]
    fn merges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        shared(py, &self.columns, |columns| columns.merges.as_flattened(), Some(3))
    }

    #[getter]
    fn has_priorities(&self) -> bool {
        !self.columns.priorities.is_empty()
    }

    #[getter]
    fn priorities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        shared(py, &self.columns, |columns| &columns.priorities, None)
    }

    #[getter]
    fn n_tokens(&self) -> usize {
        self.columns.tokens.ids.len()
    }

    #[getter]
    fn n_merges(&self) -> usize {
        self.columns.merges.len()
    }

    #[getter]
    fn n_ids(&self) -> usize {
        self.columns.tokens.ids.last().map_or(0, |&id| id as usize + 1)
    }

    #[getter]
    fn ranks(&self) -> bool {
        self.columns.ranks
    }

    fn tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tokens = PyDict::new(py);
        for (id, token) in self.columns.tokens.iter() {
            tokens.set_item(objects::int(py, id)?, objects::bytes(py, token)?)?;
        }
        Ok(tokens)
    }

    fn missing_bytes(&self) -> Vec<u32> {
        self.columns.missing_bytes().into_iter().map(u32::from).collect()
    }

    fn check_special_tokens(&self, py: Python<'_>, special_tokens: Vec<(String, u32)>) -> PyResult<()> {
        py.detach(|| self.columns.check_specials(&special_tokens)).map_err(|error| exception(py, error))
    }

    fn canonical_form(&self, py: Python<'_>) -> PyResult<Option<Self>> {
        let found = py.detach(|| self.columns.canonical_form()).map_err(|error| exception(py, error))?;
        Ok(found.map(Self::from_checked))
    }

    fn lists<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let lists = py.detach(|| model_file::lists(&self.columns)).map_err(|error| exception(py, error))?;
        let values = PyDict::new(py);
        for (key, value) in lists {
            values.set_item(key, objects::bytes(py, &value)?)?;
        }
        Ok(values)
    }

    fn equals(&self, other: &Self) -> bool {
        self.columns == other.columns
    }
}
