//! The Python bindings: borrow the arguments, release the interpreter, call the core, convert the result. No loop and no
//! decision belongs here. `_core.pyi` documents the module.
#![allow(missing_docs)]

mod array_items;
mod arrays;
mod block_encoder;
mod columns;
mod corpus;
mod counts;
mod digest;
mod encoder;
mod errors;
mod exclusive;
mod ids;
mod lists;
mod model;
mod model_file;
mod monitor;
mod objects;
mod pretokens;
mod scratch;
mod sessions;
mod shared_ints;
mod special_policies;
mod streams;
mod text;
mod texts;
mod train;

use pairloom_core::cpu::CpuTier;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// CPython aligns objects to only two words, even if a class needs more. Box members with a larger alignment.
const OBJECT_ALIGN: usize = 2 * size_of::<usize>();

macro_rules! assert_alignment {
    ($($class:ty),* $(,)?) => {
        $(const _: () = assert!(align_of::<$class>() <= OBJECT_ALIGN, "box members with a larger alignment");)*
    };
}

assert_alignment!(
    arrays::Owner,
    counts::Counter,
    counts::PretokenCounts,
    block_encoder::BlockEncoder,
    digest::ContentDigest,
    encoder::Encoder,
    sessions::Session,
    special_policies::SpecialPolicy,
    streams::DecodeStream,
    streams::StreamEncoder,
    corpus::Documents,
    corpus::JsonLines,
    corpus::PlainText,
    corpus::TextColumns,
    corpus::ByteLimit,
    model::ModelColumns,
);

#[pymodule(gil_used = false)]
mod _core {
    use super::*;

    #[cfg(unix)]
    #[pymodule_export]
    use super::arrays::map_file;
    #[pymodule_export]
    use super::block_encoder::BlockEncoder;
    #[pymodule_export]
    use super::corpus::{ByteLimit, Documents, JsonLines, PlainText, TextColumns, not_text};
    #[pymodule_export]
    use super::counts::{Counter, PretokenCounts, check_ascending};
    #[pymodule_export]
    use super::digest::ContentDigest;
    #[pymodule_export]
    use super::encoder::Encoder;
    #[pymodule_export]
    use super::model::ModelColumns;
    #[pymodule_export]
    use super::model_file::{
        format_of, model_of_ranks, pairs_of_ranks, read_added_tokens, read_gpt2, read_model,
    };
    #[pymodule_export]
    use super::pretokens::{
        can_match_nothing, check_run_as_written, is_total, matches, normalized, pattern_engine, pretokenize,
        read_oniguruma, write_oniguruma,
    };
    #[pymodule_export]
    use super::sessions::Session;
    #[pymodule_export]
    use super::special_policies::SpecialPolicy;
    #[pymodule_export]
    use super::streams::{DecodeStream, StreamEncoder};
    #[pymodule_export]
    use super::train::{
        count_units, encode_counts, extend, train, train_alphabet, train_first_seen, train_parity,
    };

    /// Returns the name of the instruction set that the hot loops use: "avx512", "avx2", "neon" or "portable".
    #[pyfunction]
    fn cpu_tier() -> &'static str {
        CpuTier::best().name()
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        CpuTier::checked().map_err(|error| PyValueError::new_err(error.to_string()))?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add(
            "CLIP_PATTERNS",
            pyo3::types::PyTuple::new(module.py(), pairloom_core::format::pre_tokenizer::CLIP)?,
        )?;
        module.add("DIGIT", pairloom_core::format::pre_tokenizer::DIGIT)?;
        module.add("PUNCTUATION", pairloom_core::format::pre_tokenizer::PUNCTUATION)?;
        let steps = pairloom_core::pretokens::normalizer::STEPS.map(|(name, _)| name);
        module.add("NORMALIZERS", pyo3::types::PyTuple::new(module.py(), steps)?)?;
        let prefixes = pairloom_core::pretokens::normalizer::PREFIXES;
        module.add("NORMALIZER_PREFIXES", pyo3::types::PyTuple::new(module.py(), prefixes)?)?;
        module.add("UNICODE_VERSION", pairloom_core::pretokens::UNICODE_VERSION)?;
        module.add("DEBUG_ASSERTIONS", cfg!(debug_assertions))
    }
}
