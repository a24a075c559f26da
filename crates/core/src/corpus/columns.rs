//! Reads columns of text as documents.

use std::str::Utf8Error;

use super::buffers::BufferPool;
use super::documents::{Documents, RecordErrors};
use super::rows::{RowChunk, Rows};
use crate::error::{Error, Result};

/// Converts string columns to documents, reusing the memory of earlier ones.
#[derive(Debug)]
pub struct TextColumns {
    /// The name of the rows' source in errors.
    name: String,
    record_errors: RecordErrors,
    buffers: BufferPool<String>,
}

impl TextColumns {
    /// Creates a reader of columns. Errors name a row as "`name`: row i".
    pub fn new(name: String, record_errors: RecordErrors) -> Self {
        TextColumns { name, record_errors, buffers: BufferPool::default() }
    }

    /// Returns the rows of a column's chunks as documents, and the numbers of the rows that were skipped. Row numbers
    /// start at `first`.
    pub fn read(&self, chunks: &[RowChunk<'_>], first: u64) -> Result<(Documents, Vec<u64>)> {
        let RecordErrors { replaces, skips } = self.record_errors;
        let (texts, skipped) = Rows::of(chunks)?.records(&self.name, skips, replaces, first)?;
        Ok((Documents::from_texts_in(&self.buffers, &texts)?, skipped))
    }
}

/// Returns the error for a row that is not UTF-8.
pub(crate) fn not_utf8(location: String, error: Utf8Error) -> Error {
    let message = format!(
        "invalid UTF-8 at byte {}; the text may be Latin-1 or Windows-1252: replace malformed bytes with \
         input_errors=\"replace\", or skip such rows with skip_bad",
        error.valid_up_to()
    );
    Error::Record { location, message }
}
