//! Columns of text of other libraries: pyarrow hands over their buffers, which the core reads in place.

use std::ops::Range;

use pairloom_core::corpus::{RowChunk, Rows};
use pairloom_core::ids::Id;
use pyo3::prelude::*;

use crate::array_items::Items;
use crate::arrays::{Item, array, lent};
use crate::encoder::Encoder;
use crate::monitor::PyMonitor;
use crate::special_policies::{SpecialPolicy, policy};

/// Some rows: bytes of an offset or a view, the first row in the buffers, the number of rows, and the buffers.
#[derive(FromPyObject)]
struct Chunk<'py>(usize, usize, usize, Vec<Bound<'py, PyAny>>);

/// A column of text: for each of its chunks the bytes of an offset or a view, the rows in the buffers, and these.
pub struct TextColumn(Vec<(usize, Range<usize>, Vec<Items<u8>>)>);

impl TextColumn {
    /// The argument `name`; TypeError or ValueError for what is no Arrow column of text.
    pub fn of(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let arrow = value.py().import("pairloom._internal.arrow")?;
        let chunks: Vec<Chunk<'_>> = arrow.call_method1("text_chunks", (name, value))?.extract()?;
        let held = chunks.into_iter().map(|Chunk(width, first, n, buffers)| {
            let buffers = buffers.iter().map(|buffer| buffer.extract::<Items<u8>>());
            Ok((width, first..first.saturating_add(n), buffers.collect::<PyResult<Vec<_>>>()?))
        });
        Ok(TextColumn(held.collect::<PyResult<Vec<_>>>()?))
    }

    /// The chunks, as the core reads them.
    pub fn chunks(&self) -> Vec<RowChunk<'_>> {
        let chunks = self.0.iter().map(|(width, rows, buffers)| RowChunk {
            width: *width,
            rows: rows.clone(),
            buffers: buffers.iter().map(Items::as_slice).collect(),
        });
        chunks.collect()
    }
}

/// The ids of each row of a column of text, one after the other, and their offsets; of 16 bits if `narrow`, else 32.
#[pyfunction]
#[pyo3(signature = (encoder, texts, *, narrow, threads, specials))]
pub fn encode_rows<'py>(
    py: Python<'py>,
    encoder: &Encoder,
    texts: &Bound<'py, PyAny>,
    narrow: bool,
    threads: usize,
    specials: Option<&SpecialPolicy>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let column = TextColumn::of("texts", texts)?;
    match narrow {
        true => encode_as::<u16>(py, encoder, &column, threads, specials),
        false => encode_as::<u32>(py, encoder, &column, threads, specials),
    }
}

fn encode_as<'py, I: Id + Item>(
    py: Python<'py>,
    encoder: &Encoder,
    column: &TextColumn,
    threads: usize,
    specials: Option<&SpecialPolicy>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let (encoder, specials, chunks) = (encoder.shared(), policy(specials), column.chunks());
    let (ids, offsets) = PyMonitor::run(py, None, |monitor| {
        encoder.encode_batch::<I>(&Rows::of(&chunks)?.items, specials, threads, monitor)
    })?;
    Ok((lent(py, ids)?, array(py, offsets)?))
}

/// The number of ids of each row of a column of text.
#[pyfunction]
#[pyo3(signature = (encoder, texts, *, threads, specials))]
pub fn count_rows<'py>(
    py: Python<'py>,
    encoder: &Encoder,
    texts: &Bound<'py, PyAny>,
    threads: usize,
    specials: Option<&SpecialPolicy>,
) -> PyResult<Bound<'py, PyAny>> {
    let column = TextColumn::of("texts", texts)?;
    let (encoder, specials, chunks) = (encoder.shared(), policy(specials), column.chunks());
    let counts = PyMonitor::run(py, None, |monitor| {
        encoder.count_batch(&Rows::of(&chunks)?.items, specials, threads, monitor)
    })?;
    array(py, counts)
}
