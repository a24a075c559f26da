//! Bindings of `pairloom_core::pretokens`.

use std::mem;
use std::sync::Arc;

use pairloom_core::format::oniguruma;
use pairloom_core::monitor::report_progress;
use pairloom_core::pretokens::normalizer::{self, Step};
use pairloom_core::pretokens::{self, Pretokenizer};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::errors::exception;
use crate::monitor::PyMonitor;
use crate::objects::{self, list_of};
use crate::text::{text_argument, utf8};

/// A pattern: the regexes that are applied in sequence, given as one str or as several.
pub struct Pattern(pub Vec<String>);

impl<'py> FromPyObject<'_, 'py> for Pattern {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Pattern(if given.is_instance_of::<PyString>() {
            vec![given.extract()?]
        } else {
            given.extract()?
        }))
    }
}

impl Pattern {
    /// Compiles the pattern.
    pub fn compile(&self, py: Python<'_>) -> PyResult<Arc<Pretokenizer>> {
        let compiled = py.detach(|| Pretokenizer::sequence(&self.0));
        Ok(Arc::new(compiled.map_err(|error| exception(py, error))?))
    }
}

/// Returns the engine that runs a pattern: "scanner", "dfa" or "backtracking".
#[pyfunction]
pub fn pattern_engine(py: Python<'_>, pattern: Pattern) -> PyResult<&'static str> {
    Ok(pattern.compile(py)?.engine_name())
}

/// Returns whether the matches of a pattern are known to leave no gaps in any text.
#[pyfunction]
pub fn is_total(py: Python<'_>, pattern: Pattern) -> PyResult<bool> {
    let pretokenizer = pattern.compile(py)?;
    Ok(py.detach(|| pretokenizer.is_total()))
}

/// Raises FormatError for a pattern that tiktoken's regex engine does not run as it is written.
#[pyfunction]
pub fn check_run_as_written(py: Python<'_>, pattern: String) -> PyResult<()> {
    pretokens::check_run_as_written(&pattern).map_err(|error| exception(py, error))
}

/// Returns whether a match of the pattern can be empty, or leave text out with `\K`.
#[pyfunction]
pub fn can_match_nothing(py: Python<'_>, pattern: String) -> PyResult<bool> {
    pretokens::can_match_nothing(&pattern).map_err(|error| exception(py, error))
}

/// Returns the matches of a pattern in each text as (start, end), in characters.
#[pyfunction]
pub fn matches(py: Python<'_>, texts: Vec<String>, pattern: String) -> PyResult<Vec<Vec<(usize, usize)>>> {
    py.detach(|| pretokens::matches(&pattern, &texts)).map_err(|error| exception(py, error))
}

/// Runs the steps of a normalizer on each text.
#[pyfunction]
pub fn normalized(py: Python<'_>, texts: Vec<String>, steps: Vec<String>) -> PyResult<Vec<String>> {
    py.detach(|| normalizer::normalized_texts(&steps, &texts)).map_err(|error| exception(py, error))
}

/// Translates a tokenizer.json's pattern for pairloom; also returns whether it can match nothing.
#[pyfunction]
pub fn read_oniguruma(py: Python<'_>, pattern: String) -> PyResult<(String, bool)> {
    oniguruma::read(&pattern).map_err(|error| exception(py, error))
}

/// Translates a pattern of pairloom for a tokenizer.json; also returns whether it can match nothing.
#[pyfunction]
pub fn write_oniguruma(py: Python<'_>, pattern: String) -> PyResult<(String, bool)> {
    oniguruma::write(&pattern).map_err(|error| exception(py, error))
}

/// Returns the normalizer steps with these names; ValueError for an unknown one.
pub fn steps_named(py: Python<'_>, names: &[String]) -> PyResult<Vec<Step>> {
    normalizer::steps_named(names).map_err(|error| exception(py, error))
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
    let ends = PyMonitor::run(py, None, |monitor| {
        pretokenizer.ends_with_progress(text, &mut report_progress(monitor, text.len()))
    })?;
    let mut start = 0;
    list_of(py, ends.iter(), |&end| objects::bytes(py, &text.as_bytes()[mem::replace(&mut start, end)..end]))
}
