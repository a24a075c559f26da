//! Columns of text of other libraries: pyarrow hands over their buffers, which the core reads in place.

use std::ops::Range;

use pairloom_core::corpus::RowChunk;
use pyo3::prelude::*;

use crate::array_items::Items;

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
