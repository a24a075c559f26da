//! Bindings of `pairloom_core::model_file`, `special::first_overlap` and `vocabulary::rank_merges`.

use numpy::{PyArray1, PyArray2, PyReadonlyArray1};
use pairloom_core::model::CheckedColumns;
use pairloom_core::model_file::{self, DecodeErrors, PatternText};
use pairloom_core::special::first_overlap;
use pairloom_core::vocabulary::rank_merges;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFrozenSet, PyString, PyTuple};

use crate::arrays::{array, rows};
use crate::errors::exception;
use crate::model::ModelColumns;

/// The fields of `pairloom.model.Model`, by name, tokens and merges as "columns"; `legacy` accepts schema 1 as earlier builds wrote it.
#[pyfunction]
pub fn read_model<'py>(
    py: Python<'py>,
    data: &[u8],
    name: &str,
    legacy: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let read = py.detach(|| {
        let mut read = model_file::read(data, name, legacy)?;
        Ok((CheckedColumns::of_file(&mut read)?, read))
    });
    let (checked, read) = read.map_err(|error| exception(py, error))?;
    let specials = PyDict::new(py);
    for (text, id) in read.special_tokens {
        specials.set_item(text, id)?;
    }
    let columns = PyDict::new(py);
    columns.set_item("columns", ModelColumns::new_of(checked))?;
    columns.set_item("ignore_merges", read.ignore_merges)?;
    columns.set_item("special_tokens", specials)?;
    columns.set_item("plain_specials", PyFrozenSet::new(py, read.plain_specials)?)?;
    match read.pattern {
        PatternText::One(text) => columns.set_item("pattern", PyString::new(py, &text))?,
        PatternText::Several(texts) => columns.set_item("pattern", PyTuple::new(py, texts)?)?,
    }
    let decode_errors = match read.decode_errors {
        DecodeErrors::Strict => "strict",
        DecodeErrors::Replace => "replace",
        DecodeErrors::Ignore => "ignore",
    };
    columns.set_item("decode_errors", decode_errors)?;
    columns.set_item("post_processor", read.post_processor)?;
    columns.set_item("tokenizer_config", read.tokenizer_config)?;
    columns.set_item("normalizer", PyTuple::new(py, read.normalizer)?)?;
    Ok(columns)
}

/// The index of the first of `second` that contains one of `first` or has a proper suffix that is a prefix of one.
#[pyfunction]
pub fn find_overlap(py: Python<'_>, first: Vec<String>, second: Vec<String>) -> PyResult<Option<usize>> {
    py.detach(|| first_overlap(&first, &second)).map_err(|error| exception(py, error))
}

/// The merges of tokens in rank order: rows [m, 3], unreachable tokens, and tokens with a byte that is no token; all as
/// ranks.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn pairs_of_ranks<'py>(
    py: Python<'py>,
    token_bytes: &[u8],
    token_ends: PyReadonlyArray1<'py, u64>,
) -> PyResult<(Bound<'py, PyArray2<u32>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>)> {
    let ends = token_ends.as_slice()?;
    let found = py.detach(|| rank_merges::pairs(token_bytes, ends)).map_err(|error| exception(py, error))?;
    Ok((rows(py, found.rows.into_flattened(), 3)?, array(py, found.unreachable)?, array(py, found.nameless)?))
}
