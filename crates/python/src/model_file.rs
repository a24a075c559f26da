//! Bindings of `pairloom_core::model_file`, `special::first_overlap` and `vocabulary::rank_merges`.

use pairloom_core::model_file::{self, DecodeErrors, PatternText, tokenizer_json};
use pairloom_core::special::first_overlap;
use pairloom_core::vocabulary::rank_merges;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFrozenSet, PyString, PyTuple};

use crate::array_items::Items;
use crate::arrays::{array, rows};
use crate::errors::exception;
use crate::model::ModelColumns;
use crate::objects;

/// The fields of `pairloom.model.Model`, by name, tokens and merges as "columns".
#[pyfunction]
pub fn read_model<'py>(py: Python<'py>, data: &[u8], name: &str) -> PyResult<Bound<'py, PyDict>> {
    let read = py.detach(|| model_file::read(data, name)).map_err(|error| exception(py, error))?;
    let specials = PyDict::new(py);
    for (text, id) in read.special_tokens {
        specials.set_item(text, id)?;
    }
    let fields = PyDict::new(py);
    fields.set_item("columns", ModelColumns::from_checked(read.columns))?;
    fields.set_item("ignore_merges", read.ignore_merges)?;
    fields.set_item("special_tokens", specials)?;
    fields.set_item("plain_specials", PyFrozenSet::new(py, read.plain_specials)?)?;
    match read.pattern {
        PatternText::One(text) => fields.set_item("pattern", PyString::new(py, &text))?,
        PatternText::Several(texts) => fields.set_item("pattern", PyTuple::new(py, texts)?)?,
    }
    let decode_errors = match read.decode_errors {
        DecodeErrors::Strict => "strict",
        DecodeErrors::Replace => "replace",
        DecodeErrors::Ignore => "ignore",
    };
    fields.set_item("decode_errors", decode_errors)?;
    fields.set_item("post_processor", read.post_processor)?;
    fields.set_item("tokenizer_config", read.tokenizer_config)?;
    fields.set_item("normalizer", PyTuple::new(py, read.normalizer)?)?;
    fields.set_item("training", read.training)?;
    fields.set_item("special_rules", PyTuple::new(py, read.special_rules)?)?;
    Ok(fields)
}

/// The tokens of a `.tiktoken` file in its usual form; None for any other form.
#[pyfunction]
pub fn read_tiktoken(py: Python<'_>, data: &[u8]) -> PyResult<Option<ModelColumns>> {
    let read = py.detach(|| model_file::tiktoken::read(data)).map_err(|error| exception(py, error))?;
    Ok(read.map(ModelColumns::from_checked))
}

/// The entries of a tokenizer.json's vocabulary, and its merges.
#[pyclass(frozen, module = "pairloom._core")]
pub struct TokenizerJson {
    vocabulary: tokenizer_json::Vocabulary,
}

#[pymethods]
impl TokenizerJson {
    /// The vocabulary of a file in its usual form, and the rest of the file; None for any other form.
    #[staticmethod]
    fn read<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Option<(TokenizerJson, Bound<'py, PyBytes>)>> {
        let read = py.detach(|| tokenizer_json::read(data)).map_err(|error| exception(py, error))?;
        let Some((vocabulary, rest)) = read else { return Ok(None) };
        Ok(Some((TokenizerJson { vocabulary }, objects::bytes(py, rest.as_bytes())?)))
    }

    fn __len__(&self) -> usize {
        self.vocabulary.n_entries()
    }

    fn ids_of<'py>(&self, py: Python<'py>, texts: Vec<String>) -> PyResult<Bound<'py, PyDict>> {
        let found = self.vocabulary.ids_of(texts.iter().map(String::as_str));
        let ids = PyDict::new(py);
        for (text, id) in found.map_err(|error| exception(py, error))? {
            ids.set_item(text, id)?;
        }
        Ok(ids)
    }

    fn columns(&self, py: Python<'_>, special_tokens: Vec<(String, u32)>) -> PyResult<Option<ModelColumns>> {
        let columns = py.detach(|| self.vocabulary.columns(&special_tokens));
        Ok(columns.map_err(|error| exception(py, error))?.map(ModelColumns::from_checked))
    }
}

/// The index of the first literal of `second` that contains one of `first` or has a proper suffix that is a prefix of
/// one.
#[pyfunction]
pub fn find_overlap(py: Python<'_>, first: Vec<String>, second: Vec<String>) -> PyResult<Option<usize>> {
    py.detach(|| first_overlap(&first, &second)).map_err(|error| exception(py, error))
}

/// The merges of tokens in rank order: rows [m, 3], unreachable tokens, and tokens with a byte that is not a token; all
/// as ranks.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn pairs_of_ranks<'py>(
    py: Python<'py>,
    token_bytes: &[u8],
    token_ends: Items<u64>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let ends = token_ends.as_slice();
    let found = py.detach(|| rank_merges::pairs(token_bytes, ends)).map_err(|error| exception(py, error))?;
    Ok((rows(py, found.rows.into_flattened(), 3)?, array(py, found.unreachable)?, array(py, found.nameless)?))
}
