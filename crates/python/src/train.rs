//! Bindings of `pairloom_core::train`.

use pairloom_core::memory::{TryReserve, copied};
use pairloom_core::train::{
    Alphabet, Base, ByPlace, Merge, MergeOptions, Shortage, TieBreak, WeightedPretokens,
    count_units as count_each_unit, extend as extend_merges, train as train_merges,
    train_alphabet as train_units, train_first_seen as train_in_order, train_parity as train_in_groups,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arrays::{array, rows};
use crate::counts::PretokenCounts;
use crate::encoder::Encoder;
use crate::errors::exception;
use crate::monitor::PyMonitor;
use crate::objects::vec_with_capacity;

/// Merges [m, 2], and if m < n_merges, the reason: (whether pairs that are too rare are left, whether too long ones are).
type Trained<'py> = (Bound<'py, PyAny>, Reason);

/// [`Trained`], plus the pairs [m * n_traced, 2] and counts [m * n_traced] of the trace.
type Traced<'py> = (Bound<'py, PyAny>, Reason, Bound<'py, PyAny>, Bound<'py, PyAny>);

type Reason = Option<(bool, bool)>;

/// The argument `rules` of every function that learns merges.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Rules {
    n_merges: usize,
    min_frequency: u64,
    max_token_bytes: Option<usize>,
    #[pyo3(default)]
    tie_break: Option<String>,
    #[pyo3(default)]
    byte_order: Option<[u8; 256]>,
    #[pyo3(default)]
    max_memory: Option<u64>,
    #[pyo3(default)]
    threads: usize,
    #[pyo3(default)]
    n_traced: usize,
}

impl Rules {
    fn options(self) -> PyResult<MergeOptions> {
        let plain = MergeOptions::new(self.n_merges);
        Ok(MergeOptions {
            tie_break: self.tie_break.as_deref().map_or(Ok(plain.tie_break), tie_break_named)?,
            byte_order: self.byte_order.map_or(plain.byte_order, index_of_byte),
            min_frequency: self.min_frequency,
            max_token_bytes: self.max_token_bytes,
            max_memory: self.max_memory,
            threads: self.threads,
            n_traced: self.n_traced,
            ..plain
        })
    }
}

/// Learns merges. Returns (uint32 [m, 2] of symbols, the reason if m < n_merges, and the pairs and counts of the trace).
#[pyfunction]
pub fn train<'py>(
    py: Python<'py>,
    counts: &PretokenCounts,
    rules: Rules,
    report: Option<Py<PyAny>>,
) -> PyResult<Traced<'py>> {
    let options = rules.options()?;
    let counts = counts.inner.read()?;
    let columns = counts.columns();
    let trained = PyMonitor::run(py, report.as_ref(), |monitor| train_merges(columns, &options, monitor))?;
    let (mut pairs, mut times) =
        (vec_with_capacity(trained.trace.len())?, vec_with_capacity(trained.trace.len())?);
    pairs.extend(trained.trace.iter().map(|&(pair, _)| pair));
    times.extend(trained.trace.iter().map(|&(_, count)| count));
    let (merges, reason) = arrays_of(py, trained.merges, trained.shortage)?;
    Ok((merges, reason, rows(py, pairs.into_flattened(), 2)?, array(py, times)?))
}

/// Learns one list of merges for several groups of counts: see [`train_in_groups`].
#[pyfunction]
pub fn train_parity<'py>(
    py: Python<'py>,
    groups: Vec<PyRef<'py, PretokenCounts>>,
    references: Vec<PyRef<'py, PretokenCounts>>,
    rules: Rules,
    report: Option<Py<PyAny>>,
) -> PyResult<Trained<'py>> {
    let options = rules.options()?;
    let groups = groups.iter().map(|counts| counts.inner.read()).collect::<PyResult<Vec<_>>>()?;
    let references = references.iter().map(|counts| counts.inner.read()).collect::<PyResult<Vec<_>>>()?;
    let groups: Vec<_> = groups.iter().map(|counts| counts.columns()).collect();
    let references: Vec<_> = references.iter().map(|counts| counts.columns()).collect();
    let work = |monitor: &PyMonitor| train_in_groups(&groups, &references, &options, monitor);
    let trained = PyMonitor::run(py, report.as_ref(), work)?;
    arrays_of(py, trained.merges, trained.shortage)
}

/// Counts how often each unit (byte or code point) occurs at each place of a pretoken: see [`ByPlace`].
#[pyfunction]
pub fn count_units(py: Python<'_>, counts: &PretokenCounts, are_bytes: bool) -> PyResult<Vec<ByPlace<u64>>> {
    let counts = counts.inner.read()?;
    let columns = counts.columns();
    py.detach(|| count_each_unit(columns, are_bytes)).map_err(|error| exception(py, error))
}

/// Learns merges over an alphabet: see [`Alphabet`].
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn train_alphabet<'py>(
    py: Python<'py>,
    counts: &PretokenCounts,
    are_bytes: bool,
    units: Vec<ByPlace<u32>>,
    n_symbols: usize,
    named: Vec<(Vec<u32>, u32)>,
    rules: Rules,
    report: Option<Py<PyAny>>,
) -> PyResult<Trained<'py>> {
    let options = rules.options()?;
    let alphabet = Alphabet { are_bytes, units: &units, n_symbols, named: &named };
    let counts = counts.inner.read()?;
    let columns = counts.columns();
    let work = |monitor: &PyMonitor| train_units(columns, &alphabet, &options, monitor);
    let trained = PyMonitor::run(py, report.as_ref(), work)?;
    arrays_of(py, trained.merges, trained.shortage)
}

/// Learns the merges that continue those of `encoder`, as ids: see [`Base::id_pairs`].
#[pyfunction]
pub fn extend<'py>(
    py: Python<'py>,
    counts: &PretokenCounts,
    encoder: &Encoder,
    rules: Rules,
    report: Option<Py<PyAny>>,
) -> PyResult<Trained<'py>> {
    let base = Base::of(encoder.shared().vocabulary()).map_err(|error| exception(py, error))?;
    let options = MergeOptions { byte_order: base.byte_order, ..rules.options()? };
    let counts = counts.inner.read()?;
    let columns = counts.columns();
    let (merges, shortage) = PyMonitor::run(py, report.as_ref(), |monitor| {
        let pretokens =
            encoder.shared().encode_pretokens(columns, options.max_memory, options.threads, monitor)?;
        let trained = extend_merges(&base, pretokens, &options, monitor)?;
        Ok((base.id_pairs(&trained.merges)?, trained.shortage))
    })?;
    arrays_of(py, merges, shortage)
}

/// Returns the ids of all pretokens, the offset at which each pretoken's ids end, and the counts.
#[pyfunction]
#[pyo3(signature = (counts, encoder, *, threads, report, max_memory = None))]
pub fn encode_counts<'py>(
    py: Python<'py>,
    counts: &PretokenCounts,
    encoder: &Encoder,
    threads: usize,
    report: Option<Py<PyAny>>,
    max_memory: Option<u64>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let counts = counts.inner.read()?;
    let columns = counts.columns();
    let (ids, ends, counts) = PyMonitor::run(py, report.as_ref(), |monitor| {
        let encoded = encoder.shared().encode_pretokens(columns, max_memory, threads, monitor)?;
        Ok((encoded.ids, encoded.ends, copied(encoded.counts, "counts")?))
    })?;
    Ok((array(py, ids)?, array(py, ends)?, array(py, counts)?))
}

/// Learns merges with minbpe's tie rule; `pretokens` must be in the order of their first occurrence in the corpus.
#[pyfunction]
pub fn train_first_seen<'py>(
    py: Python<'py>,
    pretokens: &Bound<'py, PyDict>,
    rules: Rules,
    report: Option<Py<PyAny>>,
) -> PyResult<Trained<'py>> {
    let (mut bytes, mut ends, mut counts) =
        (Vec::new(), vec_with_capacity(pretokens.len())?, vec_with_capacity(pretokens.len())?);
    for (pretoken, count) in pretokens.iter() {
        let pretoken = pretoken.cast_into::<PyBytes>()?;
        bytes.try_extend(pretoken.as_bytes(), "pretokens").map_err(|error| exception(py, error))?;
        ends.push(bytes.len() as u64);
        counts.push(count.extract::<u64>()?);
    }
    let columns = WeightedPretokens { bytes: &bytes, ends: &ends, counts: &counts };
    let options = rules.options()?;
    let work = |monitor: &PyMonitor| train_in_order(columns, &options, monitor);
    let trained = PyMonitor::run(py, report.as_ref(), work)?;
    arrays_of(py, trained.merges, trained.shortage)
}

/// Returns the index of each byte in `byte_order`.
fn index_of_byte(byte_order: [u8; 256]) -> [u8; 256] {
    let mut index_of_byte = [0u8; 256];
    for (index, byte) in (0..=255).zip(byte_order) {
        index_of_byte[usize::from(byte)] = index;
    }
    index_of_byte
}

fn tie_break_named(name: &str) -> PyResult<TieBreak> {
    match name {
        "ids_least" => Ok(TieBreak::IdsLeast),
        "bytes_greatest" => Ok(TieBreak::BytesGreatest),
        other => Err(PyValueError::new_err(format!(
            "tie_break must be ids_least or bytes_greatest, not {other:?}"
        ))),
    }
}

fn arrays_of(py: Python<'_>, merges: Vec<Merge>, shortage: Option<Shortage>) -> PyResult<Trained<'_>> {
    let shortage = shortage.map(|shortage| (shortage.has_rare, shortage.has_long));
    Ok((rows(py, merges.into_flattened(), 2)?, shortage))
}
