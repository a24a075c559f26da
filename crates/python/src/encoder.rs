//! Bindings of `pairloom_core::encoder` and `decoder` for whole texts and whole lists of ids.

use std::path::PathBuf;
use std::sync::Arc;

use pairloom_core::Tokenizer;
use pairloom_core::corpus::Rows;
use pairloom_core::decoder::{DecodeErrors, Decoder};
use pairloom_core::encoder::dropout::Dropout;
use pairloom_core::encoder::{self, EncoderOptions, SpecialPolicy as Policy};
use pairloom_core::ids::Id;
use pairloom_core::memory::{ResultIds, TryReserve};
use pairloom_core::monitor::Silent;
use pairloom_core::special::SpecialTokens;
use pairloom_core::text::{Characters, Text};
use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use crate::arrays::{Item, array, pooled_array};
use crate::columns::TextColumn;
use crate::errors::{exception, type_name};
use crate::ids::{Ids, Location};
use crate::lists::{IdLists, RoomAhead, UntrackedLists};
use crate::model::ModelColumns;
use crate::monitor::{MIN_DETACHED_BYTES, PyMonitor};
use crate::objects::{self, list_of, no_memory};
use crate::pretokens::{Pattern, steps_named};
use crate::scratch::{Kept, with_ids};
use crate::sessions::Session;
use crate::special_policies::{SpecialPolicy, policy, specials_named};
use crate::streams::{DecodeStream, StreamEncoder};
use crate::text::{characters, extend_reason, lone_surrogate, str_of, text_argument, utf8};
use crate::texts::Texts;

/// Ids of texts up to this many units are collected in a reused vector, then copied to an array of the right size.
const MAX_COPIED_UNITS: usize = 1 << 16;

/// The encoder and decoder of one tokenizer.
#[pyclass(frozen, weakref, module = "pairloom._core")]
pub struct Encoder {
    encoder: Arc<encoder::Encoder>,
    decoder: Arc<Decoder>,
    /// A decoder that omits the ids in `skipped`; made on first use.
    skipping: PyOnceLock<Arc<Decoder>>,
    skipped: Vec<u32>,
    errors: DecodeErrors,
    id_lists: IdLists,
}

/// Evaluates an expression in which `$id` is the narrowest type for the ids of the encoder.
macro_rules! with_id {
    ($encoder:expr, $id:ident => $body:expr) => {
        if $encoder.is_narrow() {
            type $id = u16;
            $body
        } else {
            type $id = u32;
            $body
        }
    };
}

/// Releases the interpreter and evaluates an expression in which `$texts` are the texts of an iterable of str; with
/// `$are_rows`, the rows of a column of text.
macro_rules! with_texts {
    ($py:expr, $given:expr, $are_rows:expr, $texts:ident, $monitor:ident => $body:expr) => {
        if $are_rows {
            let column = TextColumn::of("texts", $given)?;
            let chunks = column.chunks();
            PyMonitor::run($py, None, |$monitor| {
                let $texts = &Rows::of(&chunks)?.items;
                $body
            })
        } else {
            let given = Texts::from_iterable("texts", 0, $given)?;
            let $texts = &given.characters()?;
            PyMonitor::run($py, None, |$monitor| $body).map_err(|error| given.locate(error))
        }
    };
}

impl Encoder {
    /// Appends the ids of a text; releases the interpreter if the text is long.
    #[inline]
    fn append<I: Id>(
        &self,
        py: Python<'_>,
        text: &Characters<'_>,
        policy: Policy<'_>,
        threads: Option<usize>,
        ids: &mut Vec<I>,
    ) -> PyResult<()> {
        if text.n_bytes() < MIN_DETACHED_BYTES {
            let mut buffer = String::new();
            let done = text.utf8(&mut buffer).and_then(|text| self.encoder.encode(text, policy, ids));
            return done.map_err(|error| exception(py, error));
        }
        let threads = threads_for(py, text, threads)?;
        PyMonitor::run(py, None, |monitor| self.encoder.encode_long(text, policy, threads, ids, monitor))
    }

    fn list<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        policy: Policy<'_>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        let text = text_argument(text)?;
        let readable = characters(text)?;
        with_id!(self, I => self.list_as::<I>(py, &readable, policy, threads))
            .map_err(|error| in_text(text, error))
    }

    #[inline]
    fn list_as<'py, I: Kept>(
        &self,
        py: Python<'py>,
        text: &Characters<'_>,
        policy: Policy<'_>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        with_ids(|ids: &mut Vec<I>| {
            self.append(py, text, policy, threads, ids)?;
            self.id_lists.list(py, ids)
        })
    }

    fn array_as<'py, I: Kept + Item>(
        &self,
        py: Python<'py>,
        text: &Characters<'_>,
        policy: Policy<'_>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if text.n_units() <= MAX_COPIED_UNITS {
            let ids = with_ids(|ids: &mut Vec<I>| {
                self.append(py, text, policy, threads, ids)?;
                let mut copy = Vec::with_reserved(ids.len(), "ids").map_err(|_| no_memory())?;
                copy.extend_from_slice(ids);
                PyResult::Ok(copy)
            })?;
            return array(py, ids);
        }
        // Hardly any text has more than one id per two bytes.
        let mut ids = ResultIds::<I>::with_capacity(text.n_units() / 2);
        self.append(py, text, policy, threads, &mut ids)?;
        pooled_array(py, ResultIds::from(ids))
    }

    /// Returns a list of ids for each text.
    fn lists<I: Id>(
        &self,
        py: Python<'_>,
        texts: &[Characters<'_>],
        threads: usize,
        policy: Policy<'_>,
    ) -> PyResult<UntrackedLists> {
        let mut lists = UntrackedLists::with_reserved(texts.len())?;
        let mut room = RoomAhead::new(texts.iter().map(Text::n_bytes).sum());
        PyMonitor::run(py, None, |monitor| {
            self.encoder.encode_each::<I>(texts, policy, threads, monitor, |ids, counts| {
                monitor.call(|py| {
                    room.take(counts.len(), ids.len());
                    let mut rest = ids;
                    for &n_ids in counts {
                        let (ids, after) = rest.split_at(n_ids);
                        lists.push(self.id_lists.list(py, ids)?);
                        rest = after;
                    }
                    Ok(())
                })
            })
        })?;
        Ok(lists)
    }

    /// Returns the core's encoder.
    pub(crate) fn shared(&self) -> &Arc<encoder::Encoder> {
        &self.encoder
    }

    /// Returns the decoder that omits special tokens if `skips`, else the one that decodes all ids.
    fn decoder_for(&self, py: Python<'_>, skips: bool) -> PyResult<&Arc<Decoder>> {
        if !skips {
            return Ok(&self.decoder);
        }
        let skipping = || self.decoder.without(&self.skipped).map(Arc::new);
        self.skipping.get_or_try_init(py, || skipping().map_err(|error| exception(py, error)))
    }

    pub(crate) fn is_narrow(&self) -> bool {
        self.encoder.n_ids() <= 1 << 16
    }
}

#[pymethods]
impl Encoder {
    #[new]
    #[pyo3(signature = (
        *, columns, ignore_merges, special_tokens, pattern, decode_errors, normalizer = Vec::new(),
        special_rules = Vec::new(), cache_bytes = None, skipped = Vec::new()
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        columns: &ModelColumns,
        ignore_merges: bool,
        special_tokens: &Bound<'_, PyDict>,
        pattern: Pattern,
        decode_errors: &str,
        normalizer: Vec<String>,
        special_rules: Vec<(String, String)>,
        cache_bytes: Option<usize>,
        skipped: Vec<u32>,
    ) -> PyResult<Self> {
        let specials = special_tokens.iter().map(|(token, id)| Ok((token.extract()?, id.extract()?)));
        let specials = specials.collect::<PyResult<Vec<(String, u32)>>>()?;
        let columns = columns.shared();
        let steps = steps_named(py, &normalizer)?;
        let errors = errors_named(decode_errors)?;
        let options = EncoderOptions {
            cache_bytes: cache_bytes.unwrap_or_else(|| EncoderOptions::default().cache_bytes),
            ..EncoderOptions::default()
        };
        let built = py.detach(|| {
            let specials = SpecialTokens::with_rules(specials, &special_rules)?;
            Tokenizer::new(columns, ignore_merges, specials, &pattern.0, steps, options)
        });
        let built = built.map_err(|error| exception(py, error))?;
        let (encoder, decoder) = (Arc::clone(built.encoder()), Arc::clone(built.decoder()));
        let id_lists = IdLists::new(encoder.n_ids());
        Ok(Encoder { encoder, decoder, skipping: PyOnceLock::new(), skipped, errors, id_lists })
    }

    #[getter]
    fn n_vocab(&self) -> usize {
        self.encoder.n_ids()
    }

    #[pyo3(signature = (text, specials = None, threads = None))]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        specials: Option<&SpecialPolicy>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.list(py, text, policy(specials), threads)
    }

    fn encode_beginning<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        limit: usize,
        specials: Option<&SpecialPolicy>,
    ) -> PyResult<(Bound<'py, PyList>, usize)> {
        let (text, mut ids) = (text_argument(text)?, Vec::<u32>::new());
        let (readable, policy) = (characters(text)?, policy(specials));
        let n_chars = PyMonitor::run(py, None, |monitor| {
            self.encoder.encode_beginning(&readable, policy, limit, &mut ids, monitor)
        });
        let n_chars = n_chars.map_err(|error| in_text(text, error))?;
        Ok((self.id_lists.list(py, &ids)?, n_chars))
    }

    #[pyo3(signature = (text, threshold, seed, specials = None))]
    fn encode_with_dropout<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        threshold: u64,
        seed: u64,
        specials: Option<&SpecialPolicy>,
    ) -> PyResult<Bound<'py, PyList>> {
        let text = &*utf8(text_argument(text)?)?;
        let mut ids = Vec::<u32>::new();
        let mut dropout = Dropout::new(threshold, seed);
        PyMonitor::run(py, None, |monitor| {
            self.encoder.encode_with_dropout(text, policy(specials), &mut dropout, &mut ids, monitor)
        })?;
        self.id_lists.list(py, &ids)
    }

    fn encode_ordinary<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.list(py, text, Policy::None, None)
    }

    #[pyo3(signature = (text, specials = None, threads = None))]
    fn encode_to_numpy<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        specials: Option<&SpecialPolicy>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let text = text_argument(text)?;
        let readable = characters(text)?;
        with_id!(self, I => self.array_as::<I>(py, &readable, policy(specials), threads))
            .map_err(|error| in_text(text, error))
    }

    fn encode_batch<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        threads: usize,
        specials: Option<&SpecialPolicy>,
    ) -> PyResult<Bound<'py, PyList>> {
        let texts = Texts::from_iterable("texts", 0, texts)?;
        let readable = texts.characters()?;
        let lists = with_id!(self, I => self.lists::<I>(py, &readable, threads, policy(specials)));
        lists.map_err(|error| texts.locate(error))?.into_list(py)
    }

    #[pyo3(signature = (texts, threads, specials, are_rows = false))]
    fn encode_batch_to_numpy<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        threads: usize,
        specials: Option<&SpecialPolicy>,
        are_rows: bool,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        with_id!(self, I => {
            let (ids, offsets) = with_texts!(py, texts, are_rows, texts, monitor => {
                self.encoder.encode_batch::<I>(texts, policy(specials), threads, monitor)
            })?;
            Ok((pooled_array(py, ids)?, array(py, offsets)?))
        })
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
        with_id!(self, I => {
            let work = |monitor: &PyMonitor| self.encoder.encode_file::<I>(&path, specials, threads, monitor);
            pooled_array(py, PyMonitor::run(py, report, work)?)
        })
    }

    #[pyo3(signature = (text, limit, specials = None, threads = None))]
    fn count_tokens(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        limit: Option<usize>,
        specials: Option<&SpecialPolicy>,
        threads: Option<usize>,
    ) -> PyResult<usize> {
        let (text, policy) = (text_argument(text)?, policy(specials));
        let readable = characters(text)?;
        let counted = if let Some(limit) = limit {
            let count = |monitor: &PyMonitor| self.encoder.count_up_to(&readable, policy, limit, monitor);
            PyMonitor::run(py, None, count)
        } else if readable.n_bytes() < MIN_DETACHED_BYTES {
            self.encoder.count(&readable, policy, 1, &Silent).map_err(|error| exception(py, error))
        } else {
            let threads = threads_for(py, &readable, threads)?;
            PyMonitor::run(py, None, |monitor| self.encoder.count(&readable, policy, threads, monitor))
        };
        counted.map_err(|error| in_text(text, error))
    }

    #[pyo3(signature = (texts, threads, specials, are_rows = false))]
    fn count_tokens_batch<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        threads: usize,
        specials: Option<&SpecialPolicy>,
        are_rows: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let counts = with_texts!(py, texts, are_rows, texts, monitor => {
            self.encoder.count_batch(texts, policy(specials), threads, monitor)
        })?;
        array(py, counts)
    }

    fn encode_stream(&self, specials: &str) -> PyResult<StreamEncoder> {
        Ok(StreamEncoder::new(Arc::clone(&self.encoder), specials_named(specials)?))
    }

    #[pyo3(signature = (specials = None))]
    fn session(&self, specials: Option<&SpecialPolicy>) -> Session {
        let specials = specials.map(SpecialPolicy::shared);
        Session::new(encoder::Session::new(Arc::clone(&self.encoder), specials), self.is_narrow())
    }

    fn decode_bytes<'py>(&self, py: Python<'py>, ids: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let (mut out, errors) = (Vec::new(), DecodeErrors::Strict);
        Ids::from_argument(ids, Location::Only)?.decode(
            py,
            &self.decoder,
            errors,
            &mut out,
            Location::Only,
        )?;
        objects::bytes(py, &out)
    }

    #[pyo3(signature = (ids, errors = None, skips = false))]
    fn decode<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
        errors: Option<&str>,
        skips: bool,
    ) -> PyResult<Bound<'py, PyString>> {
        let errors = decode_errors_or_default(self, errors)?;
        let (decoder, mut out) = (self.decoder_for(py, skips)?, Vec::new());
        Ids::from_argument(ids, Location::Only)?.decode(py, decoder, errors, &mut out, Location::Only)?;
        str_of(py, &out, errors)
    }

    fn decode_batch<'py>(
        &self,
        py: Python<'py>,
        list_of_ids: &Bound<'py, PyAny>,
        skips: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let decoder = self.decoder_for(py, skips)?;
        let mut texts = Vec::new();
        let mut out = Vec::new();
        let lists = list_of_ids.try_iter().map_err(|_| {
            let kind = type_name(list_of_ids);
            PyTypeError::new_err(format!("list_of_ids must be an iterable of lists of ids, not {kind}"))
        })?;
        for (index, ids) in lists.enumerate() {
            let location = Location::Item { name: "list_of_ids", index };
            out.clear();
            Ids::from_argument(&ids?, location)?.decode(py, decoder, self.errors, &mut out, location)?;
            let text = str_of(py, &out, self.errors)
                .map_err(|error| extend_reason(py, error, &location.to_string(), ""))?;
            objects::push(&mut texts, text)?;
            if index % LISTS_PER_SIGNAL_CHECK == LISTS_PER_SIGNAL_CHECK - 1 {
                py.check_signals()?;
            }
        }
        objects::list(py, texts)
    }

    fn decode_stream(
        &self,
        py: Python<'_>,
        prompt: &Bound<'_, PyAny>,
        skips: bool,
    ) -> PyResult<DecodeStream> {
        let stream = self.decoder_for(py, skips)?.stream(self.errors);
        let prompt = Ids::collected(prompt)?;
        Ok(DecodeStream::new(stream.after(&prompt).map_err(|error| exception(py, error))?))
    }

    /// Returns the bytes of a token, including a space that decoding drops at the beginning of a text.
    fn id_to_token<'py>(&self, py: Python<'py>, id: u32) -> PyResult<Bound<'py, PyBytes>> {
        let token = self.encoder.vocabulary().token(id).map_or_else(|| self.decoder.token(id), Ok);
        objects::bytes(py, token.map_err(|error| exception(py, error))?)
    }

    fn token_to_id(&self, token: &[u8]) -> Option<u32> {
        self.encoder.vocabulary().id_of(token)
    }

    fn merges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let vocabulary = self.encoder.vocabulary();
        let bytes_of = |id| objects::bytes(py, vocabulary.token(id).unwrap_or_default());
        list_of(py, vocabulary.merges().iter(), |&[left, right, _]| {
            objects::pair(bytes_of(left)?, bytes_of(right)?)
        })
    }

    fn token_byte_lengths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let n_ids = self.encoder.n_ids() as u32;
        let mut lengths = objects::vec_with_capacity(n_ids as usize)?;
        lengths.extend((0..n_ids).map(|id| self.decoder.token(id).map_or(0, |token| token.len() as i64)));
        array(py, lengths)
    }
}

/// Returns the number of threads for a text. By default a short text uses one, and Python decides about a long one: in a
/// worker process that is one, too.
fn threads_for(py: Python<'_>, text: &Characters<'_>, threads: Option<usize>) -> PyResult<usize> {
    match threads {
        None if text.n_units() >= encoder::MIN_UNITS_IN_PARTS => {
            py.import("pairloom._internal.arguments")?.call_method1("resolve_threads", (0,))?.extract()
        }
        threads => Ok(threads.unwrap_or(1)),
    }
}

/// Turns an error about a text into Python's own if it is about lone surrogates.
fn in_text(text: &Bound<'_, PyString>, error: PyErr) -> PyErr {
    if error.is_instance_of::<PyUnicodeEncodeError>(text.py()) { lone_surrogate(text, "") } else { error }
}

/// Returns how to decode malformed bytes: as `errors` says, else by the tokenizer's default.
fn decode_errors_or_default(encoder: &Encoder, errors: Option<&str>) -> PyResult<DecodeErrors> {
    errors.map_or(Ok(encoder.errors), errors_named)
}

fn errors_named(name: &str) -> PyResult<DecodeErrors> {
    let found = DecodeErrors::NAMED.iter().find(|(known, _)| *known == name);
    found.map(|&(_, errors)| errors).ok_or_else(|| {
        let known = DecodeErrors::NAMED.map(|(known, _)| known).join(", ");
        PyValueError::new_err(format!("errors must be one of {known}, not {name:?}"))
    })
}

/// How many lists of ids are decoded between two checks for a pending signal.
const LISTS_PER_SIGNAL_CHECK: usize = 1 << 10;
