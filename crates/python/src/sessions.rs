//! Bindings of `pairloom_core::encoder::Session`: a text that grows, and its ids.

use pairloom_core::encoder::{Change, Session as Inner};
use pairloom_core::ids::Id;
use pairloom_core::memory::TryReserve;
use pairloom_core::monitor::{Monitor, Silent};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::arrays::{Item, array};
use crate::errors::exception;
use crate::exclusive::Exclusive;
use crate::monitor::{MIN_DETACHED_BYTES, PyMonitor};
use crate::objects::{self, no_memory};
use crate::text::{text_argument, utf8};

/// A text that grows at its end.
#[pyclass(frozen, module = "pairloom._core")]
pub struct Session {
    inner: Exclusive<Inner>,
    is_narrow: bool,
}

impl Session {
    pub(crate) fn new(inner: Inner, is_narrow: bool) -> Self {
        Session { inner: Exclusive::new("Session", inner), is_narrow }
    }

    fn array<'py>(
        &self,
        py: Python<'py>,
        n: usize,
        ids: impl Iterator<Item = u32>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if self.is_narrow { array_of::<u16>(py, n, ids) } else { array_of::<u32>(py, n, ids) }
    }

    fn changed<'py>(
        &self,
        py: Python<'py>,
        change: impl FnOnce(&mut Inner, &dyn Monitor) -> pairloom_core::Result<Change> + Send,
    ) -> PyResult<(usize, Bound<'py, PyAny>)> {
        let inner = &mut *self.inner.lock()?;
        let change = PyMonitor::run(py, None, |monitor| change(inner, monitor))?;
        self.as_pair(py, change)
    }

    fn as_pair<'py>(
        &self,
        py: Python<'py>,
        Change { keep, ids }: Change,
    ) -> PyResult<(usize, Bound<'py, PyAny>)> {
        Ok((keep, self.array(py, ids.len(), ids.into_iter())?))
    }
}

#[pymethods]
impl Session {
    fn append<'py>(&self, py: Python<'py>, text: &Bound<'py, PyAny>) -> PyResult<(usize, Bound<'py, PyAny>)> {
        let text = &*utf8(text_argument(text)?)?;
        if text.len() < MIN_DETACHED_BYTES {
            let change = self.inner.lock()?.append(text, &Silent);
            return self.as_pair(py, change.map_err(|error| exception(py, error))?);
        }
        self.changed(py, |session, monitor| session.append(text, monitor))
    }

    fn truncate<'py>(&self, py: Python<'py>, n_chars: usize) -> PyResult<(usize, Bound<'py, PyAny>)> {
        self.changed(py, |session, monitor| session.truncate(n_chars, monitor))
    }

    fn fork(&self) -> PyResult<Self> {
        Ok(Session::new(self.inner.lock()?.clone(), self.is_narrow))
    }

    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let inner = self.inner.lock()?;
        self.array(py, inner.n_ids(), inner.ids_from(0))
    }

    #[getter]
    fn text<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        let text = self.inner.lock()?.text().map_err(|_| no_memory())?;
        objects::str(py, &text)
    }

    #[getter]
    fn n_chars(&self) -> PyResult<usize> {
        Ok(self.inner.lock()?.n_chars())
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.inner.lock()?.n_ids())
    }
}

fn array_of<I: Id + Item>(
    py: Python<'_>,
    n: usize,
    ids: impl Iterator<Item = u32>,
) -> PyResult<Bound<'_, PyAny>> {
    let mut items = Vec::<I>::with_reserved(n, "ids").map_err(|_| no_memory())?;
    items.extend(ids.map(I::from_u32));
    array(py, items)
}
