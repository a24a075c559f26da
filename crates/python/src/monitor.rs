//! Reports progress to a Python callable, and stops the work on Ctrl-C.

use std::cell::RefCell;

use pairloom_core::monitor::{Monitor, Stage};
use pairloom_core::{Error, Result};
use pyo3::prelude::*;

use crate::errors::exception;

/// Shorter texts are encoded without releasing the interpreter, which would take longer than encoding them.
pub(crate) const MIN_DETACHED_BYTES: usize = 4096;

/// Calls `report(stage, done, total)` if given. A pending signal or an exception stops the work.
pub struct PyMonitor {
    report: Option<Py<PyAny>>,
    failure: RefCell<Option<PyErr>>,
}

impl PyMonitor {
    /// Releases the interpreter and runs `work` with a monitor for `report`.
    pub fn run<T: Send>(
        py: Python<'_>,
        report: Option<&Py<PyAny>>,
        work: impl FnOnce(&PyMonitor) -> Result<T> + Send,
    ) -> PyResult<T> {
        let report = report.map(|report| report.clone_ref(py));
        let (result, failure) = py.detach(move || {
            let monitor = PyMonitor { report, failure: RefCell::new(None) };
            let result = work(&monitor);
            (result, monitor.failure.into_inner())
        });
        result.map_err(|error| match (error, failure) {
            (Error::Interrupted, Some(failure)) => failure,
            (error, _) => exception(py, error),
        })
    }

    /// Calls Python from work that runs without the interpreter. An exception stops the work, and `run` raises it.
    pub fn call(&self, work: impl FnOnce(Python<'_>) -> PyResult<()>) -> Result<()> {
        Python::attach(work).map_err(|failure| {
            self.failure.replace(Some(failure));
            Error::Interrupted
        })
    }
}

impl Monitor for PyMonitor {
    fn report(&self, stage: Stage, done: u64, total: u64) -> Result<()> {
        let name = match stage {
            Stage::Count => "count",
            Stage::Merge => "merge",
            Stage::Encode => "encode",
        };
        self.call(|py| {
            py.check_signals()?;
            match &self.report {
                Some(report) => report.call1(py, (name, done, total)).map(|_| ()),
                None => Ok(()),
            }
        })
    }
}
