//! The seam of `pairloom_core::encoder` and `decoder`.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pairloom_core::decoder::{self, DecodeErrors, Decoder};
use pairloom_core::encoder::{self, EncoderOptions, SpecialPolicy as Policy, Specials};
use pairloom_core::ids::Id;
use pairloom_core::monitor::Silent;
use pairloom_core::special::SpecialTokens;
use pairloom_core::text::{Characters, Text};
use pairloom_core::vocabulary::{Tokens, Vocabulary};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use crate::errors::exception;
use crate::ids::{Ids, id};
use crate::lists::{CollectorPaused, ReadyInts, RoomAhead};
use crate::monitor::PyMonitor;
use crate::pretokens::Pattern;
use crate::text::{characters, placed, str_of, text_argument, utf8};

/// Texts shorter than this are encoded without giving the interpreter away: that costs more than they do.
const SHORT: usize = 4096;

/// Which special tokens are recognised and which raise.
#[pyclass(frozen, module = "pairloom._core")]
pub struct SpecialPolicy {
    allowed: SpecialTokens,
    disallowed: SpecialTokens,
}

#[pymethods]
impl SpecialPolicy {
    #[new]
    #[pyo3(signature = (*, allowed, disallowed))]
    fn new(py: Python<'_>, allowed: Vec<(String, u32)>, disallowed: Vec<String>) -> PyResult<Self> {
        let disallowed = disallowed.into_iter().map(|token| (token, 0)).collect();
        Ok(SpecialPolicy {
            allowed: SpecialTokens::new(allowed).map_err(|error| exception(py, error))?,
            disallowed: SpecialTokens::new(disallowed).map_err(|error| exception(py, error))?,
        })
    }
}

fn policy(given: Option<&SpecialPolicy>) -> Policy<'_> {
    match given {
        None => Policy::All,
        Some(given) => Policy::Some { allowed: &given.allowed, disallowed: &given.disallowed },
    }
}

/// Encoder and decoder of one tokenizer.
#[pyclass(frozen, module = "pairloom._core")]
pub struct Encoder {
    encoder: Arc<encoder::Encoder>,
    decoder: Arc<Decoder>,
    errors: DecodeErrors,
    ints: ReadyInts,
}

impl Encoder {
    /// Appends the ids of a text, without the interpreter where it is long.
    #[inline]
    fn append<I: Id>(
        &self,
        py: Python<'_>,
        text: &str,
        policy: Policy<'_>,
        ids: &mut Vec<I>,
    ) -> PyResult<()> {
        if text.len() < SHORT {
            return self.encoder.encode(text, policy, ids).map_err(|error| exception(py, error));
        }
        PyMonitor::run(py, None, |monitor| self.encoder.encode_long(text, policy, ids, monitor))
    }

    fn list<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        policy: Policy<'_>,
    ) -> PyResult<Bound<'py, PyList>> {
        let text = &*utf8(text_argument(text)?)?;
        if self.is_narrow() {
            self.list_as::<u16>(py, text, policy)
        } else {
            self.list_as::<u32>(py, text, policy)
        }
    }

    #[inline]
    fn list_as<'py, I: Id>(
        &self,
        py: Python<'py>,
        text: &str,
        policy: Policy<'_>,
    ) -> PyResult<Bound<'py, PyList>> {
        let mut ids = Vec::<I>::new();
        self.append(py, text, policy, &mut ids)?;
        self.ints.list(py, &ids)
    }

    /// The lists of all texts.
    fn lists<I: Id>(
        &self,
        py: Python<'_>,
        texts: &[Characters<'_>],
        threads: usize,
        policy: Policy<'_>,
    ) -> PyResult<Vec<Py<PyList>>> {
        let mut lists = Vec::with_capacity(texts.len());
        let mut room = RoomAhead::new(texts.iter().map(Text::n_bytes).sum());
        PyMonitor::run(py, None, |monitor| {
            self.encoder.encode_each::<I>(texts, policy, threads, monitor, |ids, counts| {
                monitor.call(|py| {
                    room.take(ids.len());
                    let mut rest = ids;
                    for &n_ids in counts {
                        let (ids, after) = rest.split_at(n_ids);
                        lists.push(self.ints.list(py, ids)?.unbind());
                        rest = after;
                    }
                    Ok(())
                })
            })
        })?;
        Ok(lists)
    }

    /// The core's encoder.
    pub(crate) fn shared(&self) -> &Arc<encoder::Encoder> {
        &self.encoder
    }

    pub(crate) fn is_narrow(&self) -> bool {
        self.encoder.n_ids() <= 1 << 16
    }
}

#[pymethods]
impl Encoder {
    #[new]
    #[pyo3(signature = (
        *, token_ids, token_bytes, token_ends, merges, ranks, whole_first, special_tokens, pattern, decode_errors,
        cache_bytes = None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        token_ids: PyReadonlyArray1<'_, u32>,
        token_bytes: &[u8],
        token_ends: PyReadonlyArray1<'_, u64>,
        merges: PyReadonlyArray2<'_, u32>,
        ranks: bool,
        whole_first: bool,
        special_tokens: &Bound<'_, PyDict>,
        pattern: Pattern,
        decode_errors: &str,
        cache_bytes: Option<usize>,
    ) -> PyResult<Self> {
        let specials = special_tokens.iter().map(|(token, id)| Ok((token.extract()?, id.extract()?)));
        let specials = specials.collect::<PyResult<Vec<(String, u32)>>>()?;
        let (ids, ends, merges) = (token_ids.as_slice()?, token_ends.as_slice()?, merges.as_slice()?);
        let pretokenizer = pattern.compile(py)?;
        let errors = errors_named(decode_errors)?;
        let options = EncoderOptions {
            cache_bytes: cache_bytes.unwrap_or_else(|| EncoderOptions::default().cache_bytes),
        };
        let built = py.detach(|| {
            let tokens = Tokens::from_columns(ids, token_bytes, ends)?;
            let vocabulary = if ranks {
                Vocabulary::from_ranks(tokens)?
            } else {
                let (triples, _) = merges.as_chunks::<3>();
                Vocabulary::from_merges(tokens, triples.to_vec(), whole_first)?
            };
            let specials = SpecialTokens::new(specials)?;
            let decoder = Arc::new(Decoder::new(&vocabulary, &specials)?);
            let vocabulary = Arc::new(vocabulary);
            let encoder = Arc::new(encoder::Encoder::new(vocabulary, pretokenizer, specials, options)?);
            Ok((encoder, decoder))
        });
        let (encoder, decoder) = built.map_err(|error| exception(py, error))?;
        let ints = ReadyInts::new(encoder.n_ids());
        Ok(Encoder { encoder, decoder, errors, ints })
    }

    #[getter]
    fn n_vocab(&self) -> usize {
        self.encoder.n_ids()
    }

    #[pyo3(signature = (text, specials = None))]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        specials: Option<&SpecialPolicy>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.list(py, text, policy(specials))
    }

    fn encode_ordinary<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.list(py, text, Policy::None)
    }

    #[pyo3(signature = (text, specials = None))]
    fn encode_to_numpy<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        specials: Option<&SpecialPolicy>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let text = &*utf8(text_argument(text)?)?;
        if self.is_narrow() {
            let mut ids = Vec::<u16>::new();
            self.append(py, text, policy(specials), &mut ids)?;
            ids.shrink_to_fit();
            Ok(PyArray1::from_vec(py, ids).into_any())
        } else {
            let mut ids = Vec::<u32>::new();
            self.append(py, text, policy(specials), &mut ids)?;
            ids.shrink_to_fit();
            Ok(PyArray1::from_vec(py, ids).into_any())
        }
    }

    fn encode_batch<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<Bound<'py, PyString>>,
        threads: usize,
        specials: Option<&SpecialPolicy>,
    ) -> PyResult<Bound<'py, PyList>> {
        let readable: Vec<_> = texts.iter().map(characters).collect();
        let _paused = CollectorPaused::new(py);
        let lists = match self.is_narrow() {
            true => self.lists::<u16>(py, &readable, threads, policy(specials)),
            false => self.lists::<u32>(py, &readable, threads, policy(specials)),
        };
        let lists = lists.map_err(|error| placed(&texts, error))?;
        PyList::new(py, lists)
    }

    fn encode_batch_to_numpy<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<Bound<'py, PyString>>,
        threads: usize,
        specials: Option<&SpecialPolicy>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyArray1<i64>>)> {
        let readable: Vec<_> = texts.iter().map(characters).collect();
        let placed = |error| placed(&texts, error);
        if self.is_narrow() {
            let (ids, offsets) = PyMonitor::run(py, None, |monitor| {
                self.encoder.encode_batch::<u16>(&readable, policy(specials), threads, monitor)
            })
            .map_err(placed)?;
            Ok((PyArray1::from_vec(py, ids).into_any(), PyArray1::from_vec(py, offsets)))
        } else {
            let (ids, offsets) = PyMonitor::run(py, None, |monitor| {
                self.encoder.encode_batch::<u32>(&readable, policy(specials), threads, monitor)
            })
            .map_err(placed)?;
            Ok((PyArray1::from_vec(py, ids).into_any(), PyArray1::from_vec(py, offsets)))
        }
    }

    fn encode_file<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        threads: usize,
        report: Option<Py<PyAny>>,
        specials: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (report, specials) = (report.as_ref(), specials_named(specials)?);
        if self.is_narrow() {
            let work =
                |monitor: &PyMonitor| self.encoder.encode_file::<u16>(&path, specials, threads, monitor);
            Ok(PyArray1::from_vec(py, PyMonitor::run(py, report, work)?).into_any())
        } else {
            let work =
                |monitor: &PyMonitor| self.encoder.encode_file::<u32>(&path, specials, threads, monitor);
            Ok(PyArray1::from_vec(py, PyMonitor::run(py, report, work)?).into_any())
        }
    }

    #[pyo3(signature = (text, limit, specials = None))]
    fn count_tokens(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        limit: Option<usize>,
        specials: Option<&SpecialPolicy>,
    ) -> PyResult<usize> {
        let text = &*utf8(text_argument(text)?)?;
        if text.len() < SHORT {
            let counted = self.encoder.count(text, policy(specials), limit, &Silent);
            return counted.map_err(|error| exception(py, error));
        }
        PyMonitor::run(py, None, |monitor| self.encoder.count(text, policy(specials), limit, monitor))
    }

    fn count_tokens_batch<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<Bound<'py, PyString>>,
        threads: usize,
        specials: Option<&SpecialPolicy>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let readable: Vec<_> = texts.iter().map(characters).collect();
        let counts = PyMonitor::run(py, None, |monitor| {
            self.encoder.count_batch(&readable, policy(specials), threads, monitor)
        })
        .map_err(|error| placed(&texts, error))?;
        Ok(PyArray1::from_iter(py, counts.into_iter().map(|count| count as i64)))
    }

    fn encode_stream(&self, specials: &str) -> PyResult<StreamEncoder> {
        let inner = encoder::StreamEncoder::new(Arc::clone(&self.encoder), specials_named(specials)?);
        Ok(StreamEncoder { inner, ints: ReadyInts::new(0) })
    }

    fn decode_bytes<'py>(&self, py: Python<'py>, ids: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let mut out = Vec::new();
        Ids::of(ids)?.decode(py, &self.decoder, &mut out)?.map_err(|error| exception(py, error))?;
        Ok(PyBytes::new(py, &out))
    }

    #[pyo3(signature = (ids, errors = None))]
    fn decode<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
        errors: Option<&str>,
    ) -> PyResult<Bound<'py, PyString>> {
        let errors = errors.map_or(Ok(self.errors), errors_named)?;
        let mut out = Vec::new();
        Ids::of(ids)?.decode(py, &self.decoder, &mut out)?.map_err(|error| exception(py, error))?;
        str_of(py, &out, errors)
    }

    fn decode_stream(&self) -> DecodeStream {
        DecodeStream { inner: self.decoder.stream(self.errors) }
    }

    fn token_to_id(&self, token: &[u8]) -> Option<u32> {
        self.encoder.vocabulary().id_of(token)
    }

    fn merges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let vocabulary = self.encoder.vocabulary();
        let bytes_of = |id| PyBytes::new(py, vocabulary.token(id).unwrap_or_default());
        let pairs = vocabulary.merges().iter().map(|&[left, right, _]| (bytes_of(left), bytes_of(right)));
        PyList::new(py, pairs.collect::<Vec<_>>())
    }

    fn token_byte_lengths<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let ids = 0..self.encoder.n_ids() as u32;
        PyArray1::from_iter(py, ids.map(|id| self.decoder.token(id).map_or(0, |token| token.len() as i64)))
    }
}

/// What literals of special tokens in data are.
pub(crate) fn specials_named(name: &str) -> PyResult<Specials> {
    match name {
        "recognise" => Ok(Specials::Recognise),
        "ordinary" => Ok(Specials::Ordinary),
        "error" => Ok(Specials::Error),
        other => Err(PyValueError::new_err(format!(
            "specials must be \"recognise\", \"ordinary\" or \"error\", not {other:?}"
        ))),
    }
}

fn errors_named(name: &str) -> PyResult<DecodeErrors> {
    match name {
        "strict" => Ok(DecodeErrors::Strict),
        "replace" => Ok(DecodeErrors::Replace),
        "ignore" => Ok(DecodeErrors::Ignore),
        other => {
            Err(PyValueError::new_err(format!("errors must be strict, replace or ignore, not {other:?}")))
        }
    }
}

/// Encodes the concatenation of the texts it is given.
#[pyclass(module = "pairloom._core")]
pub struct StreamEncoder {
    inner: encoder::StreamEncoder,
    ints: ReadyInts,
}

#[pymethods]
impl StreamEncoder {
    fn push<'py>(&mut self, py: Python<'py>, text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let text = &*utf8(text_argument(text)?)?;
        let mut ids = Vec::<u32>::new();
        let done = if text.len() < SHORT {
            self.inner.push(text, &mut ids)
        } else {
            py.detach(|| self.inner.push(text, &mut ids))
        };
        done.map_err(|error| exception(py, error))?;
        self.ints.list(py, &ids)
    }

    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let mut ids = Vec::<u32>::new();
        py.detach(|| self.inner.finish(&mut ids)).map_err(|error| exception(py, error))?;
        self.ints.list(py, &ids)
    }
}

/// Decodes id by id.
#[pyclass(module = "pairloom._core")]
pub struct DecodeStream {
    inner: decoder::DecodeStream,
}

#[pymethods]
impl DecodeStream {
    fn push(&mut self, py: Python<'_>, token_id: &Bound<'_, PyAny>) -> PyResult<String> {
        self.inner.push(id(token_id)?).map_err(|error| exception(py, error))
    }

    fn finish(&mut self, py: Python<'_>) -> PyResult<String> {
        self.inner.finish().map_err(|error| exception(py, error))
    }
}
