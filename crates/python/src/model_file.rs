//! Bindings of `pairloom_core::format`, which reads files, and `vocabulary::rank_merges`.

use pairloom_core::format::{self, CallerSettings, Format, Special, added_tokens, gpt2, ranks};
use pairloom_core::model_file::Model;
use pairloom_core::model_file::json::Within;
use pairloom_core::vocabulary::rank_merges;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFrozenSet, PyTuple};

use crate::array_items::Items;
use crate::arrays::{array, rows};
use crate::errors::exception;
use crate::model::ModelColumns;
use crate::pretokens::Pattern;

/// Returns the name of the format of a file that begins with `head`; FormatError if there is none.
#[pyfunction]
pub fn format_of(py: Python<'_>, head: &[u8], name: &str) -> PyResult<&'static str> {
    let found = Format::of(head).within(|| name.to_owned());
    found.map(Format::name).map_err(|error| exception(py, error))
}

/// Reads a file into the fields of `pairloom.model.Model`, by name. `beside`: what other files say, as JSON.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn read_model<'py>(
    py: Python<'py>,
    format: &str,
    data: &[u8],
    name: &str,
    pattern: Option<Pattern>,
    special_tokens: Vec<Special>,
    beside: Option<&[u8]>,
    are_ordinary: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let format = Format::named(format).ok_or_else(|| PyValueError::new_err("unknown format"))?;
    let patterns = pattern.map(|pattern| pattern.0);
    let settings = CallerSettings { patterns, specials: special_tokens, beside, are_ordinary };
    let read = py.detach(|| format::read(data, name, format, settings));
    fields(py, read.map_err(|error| exception(py, error))?)
}

/// Reads a vocab.json and a merges.txt into the fields of `pairloom.model.Model`, by name.
#[pyfunction]
pub fn read_gpt2<'py>(
    py: Python<'py>,
    vocab: &[u8],
    vocab_name: &str,
    merges: &[u8],
    merges_name: &str,
    pattern: Option<Pattern>,
    special_tokens: Vec<Special>,
) -> PyResult<Bound<'py, PyDict>> {
    let patterns = pattern.map(|pattern| pattern.0);
    let settings = CallerSettings { patterns, specials: special_tokens, ..CallerSettings::default() };
    let read = py.detach(|| gpt2::read(vocab, vocab_name, merges, merges_name, settings));
    fields(py, read.map_err(|error| exception(py, error))?)
}

/// Makes the fields of `pairloom.model.Model`, by name, from tokens whose ids are ranks.
#[pyfunction]
pub fn model_of_ranks<'py>(
    py: Python<'py>,
    columns: &ModelColumns,
    name: &str,
    pattern: Pattern,
    special_tokens: Vec<Special>,
) -> PyResult<Bound<'py, PyDict>> {
    let columns = columns.shared();
    let made = py.detach(|| {
        columns
            .try_clone()
            .and_then(|columns| ranks::model(columns, 0, &special_tokens, pattern.0))
            .within(|| name.to_owned())
    });
    fields(py, made.map_err(|error| exception(py, error))?)
}

/// Reads a JSON list of added tokens: ids, plain literals and rules. `forms`: the Unicode forms of the normalizer.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn read_added_tokens<'py>(
    py: Python<'py>,
    data: &[u8],
    name: &str,
    forms: Vec<String>,
) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyFrozenSet>, Bound<'py, PyTuple>)> {
    let read = added_tokens::read_list(data, name, &forms).map_err(|error| exception(py, error))?;
    Ok((ids(py, read.ids)?, PyFrozenSet::new(py, read.plain)?, PyTuple::new(py, read.rules)?))
}

/// Makes a dict from literals to ids.
fn ids(py: Python<'_>, tokens: Vec<(String, u32)>) -> PyResult<Bound<'_, PyDict>> {
    let ids = PyDict::new(py);
    for (text, id) in tokens {
        ids.set_item(text, id)?;
    }
    Ok(ids)
}

/// Returns the fields of the model by name, with tokens and merges as "columns".
fn fields(py: Python<'_>, read: Model) -> PyResult<Bound<'_, PyDict>> {
    let fields = PyDict::new(py);
    fields.set_item("columns", ModelColumns::from_checked(read.columns))?;
    fields.set_item("ignore_merges", read.ignore_merges)?;
    fields.set_item("special_tokens", ids(py, read.special_tokens)?)?;
    fields.set_item("plain_specials", PyFrozenSet::new(py, read.plain_specials)?)?;
    match read.patterns.as_slice() {
        [text] => fields.set_item("pattern", text)?,
        texts => fields.set_item("pattern", PyTuple::new(py, texts)?)?,
    }
    fields.set_item("decode_errors", read.decode_errors.name())?;
    fields.set_item("post_processor", read.post_processor)?;
    fields.set_item("tokenizer_config", read.tokenizer_config)?;
    fields.set_item("normalizer", PyTuple::new(py, read.normalizer)?)?;
    fields.set_item("training", read.training)?;
    fields.set_item("special_rules", PyTuple::new(py, read.special_rules)?)?;
    Ok(fields)
}

/// Returns the merges of tokens in rank order: rows [m, 3], unreachable tokens, and tokens with a byte that is not a token;
/// all as ranks.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn pairs_of_ranks<'py>(
    py: Python<'py>,
    token_bytes: &[u8],
    token_ends: Items<u64>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let ends = token_ends.as_slice();
    let found = py.detach(|| rank_merges::pairs(token_bytes, ends)).map_err(|error| exception(py, error))?;
    Ok((
        rows(py, found.rows.into_flattened(), 3)?,
        array(py, found.unreachable)?,
        array(py, found.with_missing_byte)?,
    ))
}
