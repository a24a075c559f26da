//! Bindings of `pairloom_core::model_file`, the readers of `format`, and `vocabulary::rank_merges`.

use pairloom_core::format::byte_vocabulary::Vocabulary;
use pairloom_core::format::{added_tokens, gpt2, tokenizer_json};
use pairloom_core::model_file::{self, DecodeErrors, Model, PatternText};
use pairloom_core::vocabulary::rank_merges;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFrozenSet, PyString, PyTuple};

use crate::array_items::Items;
use crate::arrays::{array, rows};
use crate::errors::exception;
use crate::model::ModelColumns;

/// The fields of `pairloom.model.Model` by name, of a native file.
#[pyfunction]
pub fn read_model<'py>(py: Python<'py>, data: &[u8], name: &str) -> PyResult<Bound<'py, PyDict>> {
    let read = py.detach(|| model_file::read(data, name));
    fields(py, read.map_err(|error| exception(py, error))?)
}

/// The fields of `pairloom.model.Model` by name, of a tokenizer.json. `beside` is what stands in other files, as JSON.
#[pyfunction]
pub fn read_tokenizer_json<'py>(
    py: Python<'py>,
    data: &[u8],
    name: &str,
    are_ordinary: bool,
    beside: Option<&[u8]>,
) -> PyResult<Bound<'py, PyDict>> {
    let read = py.detach(|| tokenizer_json::read(data, name, are_ordinary, beside));
    fields(py, read.map_err(|error| exception(py, error))?)
}

/// Whether a file that begins so may be a tokenizer.json.
#[pyfunction]
pub fn is_tokenizer_json(head: &[u8]) -> bool {
    tokenizer_json::is_begin(head)
}

/// Ids, plain literals and rules of a list of added tokens in JSON.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn read_added_tokens<'py>(
    py: Python<'py>,
    data: &[u8],
    name: &str,
) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyFrozenSet>, Bound<'py, PyTuple>)> {
    let read = added_tokens::read_list(data, name).map_err(|error| exception(py, error))?;
    Ok((ids(py, read.ids)?, PyFrozenSet::new(py, read.plain)?, PyTuple::new(py, read.rules)?))
}

/// Literals and ids as a dict.
fn ids(py: Python<'_>, tokens: Vec<(String, u32)>) -> PyResult<Bound<'_, PyDict>> {
    let ids = PyDict::new(py);
    for (text, id) in tokens {
        ids.set_item(text, id)?;
    }
    Ok(ids)
}

/// Tokens and merges as "columns".
fn fields(py: Python<'_>, read: Model) -> PyResult<Bound<'_, PyDict>> {
    let fields = PyDict::new(py);
    fields.set_item("columns", ModelColumns::from_checked(read.columns))?;
    fields.set_item("ignore_merges", read.ignore_merges)?;
    fields.set_item("special_tokens", ids(py, read.special_tokens)?)?;
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

/// The entries of vocab.json, and the merges of merges.txt.
#[pyclass(frozen, module = "pairloom._core")]
pub struct ByteVocabulary {
    vocabulary: Vocabulary,
}

#[pymethods]
impl ByteVocabulary {
    #[staticmethod]
    fn read(
        py: Python<'_>,
        vocab: &[u8],
        vocab_name: &str,
        merges: &[u8],
        merges_name: &str,
    ) -> PyResult<Self> {
        let read = py.detach(|| gpt2::read(vocab, vocab_name, merges, merges_name));
        Ok(ByteVocabulary { vocabulary: read.map_err(|error| exception(py, error))? })
    }

    #[getter]
    fn n_ids(&self) -> usize {
        self.vocabulary.n_ids()
    }

    fn id_of(&self, py: Python<'_>, text: &str) -> PyResult<Option<u32>> {
        self.vocabulary.id_of(text).map_err(|error| exception(py, error))
    }

    fn columns(&self, py: Python<'_>, special_tokens: Vec<(String, u32)>) -> PyResult<ModelColumns> {
        let columns = py.detach(|| self.vocabulary.columns(&special_tokens, false));
        Ok(ModelColumns::from_checked(columns.map_err(|error| exception(py, error))?))
    }
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
