//! The seam of `pairloom_core::merges`.

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pairloom_core::merges::{self, Merge, MergeOptions, TieBreak};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::counts::PretokenCounts;
use crate::monitor::PyMonitor;

/// Learns merges: uint32 [m, 2] of symbols. `already` are merges learned before, which are not chosen again;
/// `on_merges` is given the new ones as they come.
#[pyfunction]
#[pyo3(signature = (
    counts, *, n_merges, tie_break, byte_order, min_frequency, max_token_bytes, threads, report,
    max_memory = None,     already = None, on_merges = None
))]
#[allow(clippy::too_many_arguments)]
pub fn learn<'py>(
    py: Python<'py>,
    counts: &PretokenCounts,
    n_merges: usize,
    tie_break: &str,
    byte_order: &[u8],
    min_frequency: u64,
    max_token_bytes: Option<usize>,
    threads: usize,
    report: Option<Py<PyAny>>,
    max_memory: Option<u64>,
    already: Option<PyReadonlyArray2<'py, u32>>,
    on_merges: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyArray2<u32>>> {
    let mut places = [0u8; 256];
    if byte_order.len() != places.len() {
        return Err(PyValueError::new_err("byte_order must hold each of the 256 bytes once"));
    }
    for (place, &byte) in (0..=255).zip(byte_order) {
        places[usize::from(byte)] = place;
    }
    let options = MergeOptions {
        n_merges,
        tie_break: match tie_break {
            "ids_least" => TieBreak::IdsLeast,
            "bytes_greatest" => TieBreak::BytesGreatest,
            other => return Err(PyValueError::new_err(format!("unknown tie_break {other:?}"))),
        },
        byte_order: places,
        min_frequency,
        max_token_bytes,
        max_memory,
        threads,
    };
    let columns = counts.inner.columns();
    let already = match &already {
        Some(already) => {
            already.as_slice()?.as_chunks::<2>().0.iter().map(|&[left, right]| (left, right)).collect()
        }
        None => Vec::new(),
    };
    let learned = PyMonitor::run(py, report.as_ref(), |monitor| {
        let mut hand_over = |new: &[Merge]| match &on_merges {
            Some(on_merges) => monitor.call(|py| on_merges.call1(py, (columns_of(py, new)?,)).map(|_| ())),
            None => Ok(()),
        };
        merges::learn_from(columns, &options, &already, &mut hand_over, monitor)
    })?;
    columns_of(py, &learned)
}

/// Merges as an array [m, 2].
fn columns_of<'py>(py: Python<'py>, learned: &[Merge]) -> PyResult<Bound<'py, PyArray2<u32>>> {
    let flat: Vec<u32> = learned.iter().flat_map(|&(left, right)| [left, right]).collect();
    PyArray1::from_vec(py, flat).reshape([learned.len(), 2])
}
