//! The seam of `pairloom_core::pretokens`.

use std::sync::Arc;

use pairloom_core::pretokens::Pretokenizer;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::errors::exception;
use crate::text::{text_argument, utf8};

/// A pattern: one regex, or several that each split what the one before left.
#[derive(FromPyObject)]
pub enum Pattern {
    /// One regex.
    One(String),
    /// Several, in order.
    Several(Vec<String>),
}

impl Pattern {
    /// Compiles the pattern.
    pub fn compile(&self, py: Python<'_>) -> PyResult<Arc<Pretokenizer>> {
        let made = match self {
            Pattern::One(pattern) => Pretokenizer::new(pattern),
            Pattern::Several(patterns) => Pretokenizer::sequence(patterns),
        };
        made.map(Arc::new).map_err(|error| exception(py, error))
    }
}

/// Whether a pattern has a scanner written by hand, which may start at any pretoken.
#[pyfunction]
pub fn is_scanned(py: Python<'_>, pattern: Pattern) -> PyResult<bool> {
    Ok(pattern.compile(py)?.is_memoryless())
}

/// Splits `text` into pretokens.
#[pyfunction]
pub fn pretokenize<'py>(
    py: Python<'py>,
    text: &Bound<'py, PyAny>,
    pattern: Pattern,
) -> PyResult<Bound<'py, PyList>> {
    let pretokenizer = pattern.compile(py)?;
    let text = &*utf8(text_argument(text)?)?;
    let ends = py.detach(|| pretokenizer.ends(text)).map_err(|error| exception(py, error))?;
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let pretokens = starts.zip(&ends).map(|(start, &end)| PyBytes::new(py, &text.as_bytes()[start..end]));
    PyList::new(py, pretokens.collect::<Vec<_>>())
}
