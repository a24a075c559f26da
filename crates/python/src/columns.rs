//! Reads other libraries' columns of text in place: pyarrow hands over their buffers to the core.

use std::ops::Range;

use pairloom_core::corpus::RowChunk;
use pyo3::prelude::*;

use crate::array_items::Items;

/// A chunk of rows: bytes per offset or view, the first row in the buffers, the number of rows, and the buffers.
#[derive(FromPyObject)]
struct Chunk<'py>(usize, usize, usize, Vec<Bound<'py, PyAny>>);

/// A column of text. For each chunk: the bytes per offset or view, the range of rows in the buffers, and the buffers.
pub struct TextColumn(Vec<(usize, Range<usize>, Vec<Items<u8>>)>);

impl TextColumn {
    /// Reads the argument `name`. TypeError or ValueError if it is not an Arrow column of text.
    pub fn of(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let arrow = value.py().import("pairloom._internal.arrow")?;
        let chunks: Vec<Chunk<'_>> = arrow.call_method1("text_chunks", (name, value))?.extract()?;
        let held = chunks.into_iter().map(|Chunk(width, first, n, buffers)| {
            let buffers = buffers.iter().map(|buffer| buffer.extract::<Items<u8>>());
            Ok((width, first..first.saturating_add(n), buffers.collect::<PyResult<Vec<_>>>()?))
        });
        Ok(TextColumn(held.collect::<PyResult<Vec<_>>>()?))
    }

    /// Returns the chunks in the core's form.
    pub fn chunks(&self) -> Vec<RowChunk<'_>> {
        let chunks = self.0.iter().map(|(width, rows, buffers)| RowChunk {
            width: *width,
            rows: rows.clone(),
            buffers: buffers.iter().map(Items::as_slice).collect(),
        });
        chunks.collect()
    }
}
