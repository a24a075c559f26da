//! Columns of an Arrow or Parquet file -> documents.
//!
//! Arrow promises UTF-8, but files are not held to it, so it is validated here.

use std::mem;
use std::str::Utf8Error;

use super::buffers::BufferPool;
use super::documents::{BLOCK, Documents, RecordErrors};
use crate::error::{Error, Result};
use crate::memory::TryReserve;

/// Makes documents of string columns, in memory that is used again for the next one.
#[derive(Debug)]
pub struct TextColumns {
    /// What errors call the rows.
    name: String,
    record_errors: RecordErrors,
    buffers: BufferPool<String>,
}

impl TextColumns {
    /// A reader of columns whose rows errors name as `name`: row i.
    pub fn new(name: String, record_errors: RecordErrors) -> Self {
        TextColumns { name, record_errors, buffers: BufferPool::default() }
    }

    /// The rows of a column as documents: row i is `bytes[offsets[i]..offsets[i + 1]]`, as Arrow lays it out. Errors
    /// number rows from `first_row` on.
    ///
    /// Returns the documents and the number of rows that were skipped because they are not UTF-8.
    pub fn read(&self, bytes: &[u8], offsets: &[i64], first_row: u64) -> Result<(Documents, u64)> {
        let [first, ..] = *offsets else { return Ok((Documents::default(), 0)) };
        let last = offsets.last().copied().unwrap_or(first);
        let all = match (usize::try_from(first), usize::try_from(last)) {
            (Ok(first), Ok(last)) => bytes.get(first..last),
            _ => None,
        };
        let all = all.ok_or_else(|| self.damaged(first_row))?;
        if let Some(row) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(self.damaged(first_row + row as u64));
        }
        let mut text = self.buffers.take(all.len()).map_err(Error::out_of_memory(BLOCK))?;
        // SAFETY: text that is not UTF-8 is taken out below as bytes, before it is used as a string.
        unsafe { text.as_mut_vec().extend_from_slice(all) };
        // The copy is checked, so that nothing depends on whether the owner of `bytes` leaves them alone.
        let is_utf8 = simdutf8::basic::from_utf8(text.as_bytes()).is_ok();
        // An offset may still fall within a character of a valid text: then some row is not UTF-8.
        if !is_utf8 || !offsets.iter().all(|offset| text.is_char_boundary((offset - first) as usize)) {
            return self.read_each(&mem::take(&mut *text).into_bytes(), offsets, first_row);
        }
        let mut ends = Vec::with_room(offsets.len() - 1, BLOCK)?;
        ends.extend(offsets[1..].iter().map(|offset| (offset - first) as usize));
        Ok((Documents { text, ends }, 0))
    }

    /// Each of `texts` as a document.
    pub fn join(&self, texts: &[impl AsRef<str>]) -> Result<Documents> {
        let n_bytes = texts.iter().map(|text| text.as_ref().len()).sum();
        let mut documents = Documents {
            text: self.buffers.take(n_bytes).map_err(Error::out_of_memory(BLOCK))?,
            ends: Vec::with_room(texts.len(), BLOCK)?,
        };
        for text in texts {
            documents.append(text.as_ref())?;
            documents.end()?;
        }
        Ok(documents)
    }

    /// How invalid rows are handled.
    pub fn record_errors(&self) -> RecordErrors {
        self.record_errors
    }

    /// What errors call the rows.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// As `read`, where some row is not UTF-8: `bytes` begin at the first offset, and offsets are good.
    fn read_each(&self, bytes: &[u8], offsets: &[i64], first_row: u64) -> Result<(Documents, u64)> {
        let mut documents = Documents::default();
        let mut n_skipped = 0;
        for (row, pair) in offsets.windows(2).enumerate() {
            let bytes = &bytes[(pair[0] - offsets[0]) as usize..(pair[1] - offsets[0]) as usize];
            match std::str::from_utf8(bytes) {
                Ok(text) => documents.append(text)?,
                Err(_) if self.record_errors.replaces => documents.append(&String::from_utf8_lossy(bytes))?,
                Err(_) if self.record_errors.skips => {
                    n_skipped += 1;
                    continue;
                }
                Err(error) => {
                    return Err(not_utf8(self.location(first_row + row as u64), error));
                }
            }
            documents.end()?;
        }
        Ok((documents, n_skipped))
    }

    fn location(&self, row: u64) -> String {
        format!("{}: row {row}", self.name)
    }

    fn damaged(&self, row: u64) -> Error {
        Error::Record { location: self.location(row), message: "the column's offsets are damaged".into() }
    }
}

/// The error for a row that is not UTF-8.
pub(crate) fn not_utf8(location: String, error: Utf8Error) -> Error {
    let message = format!(
        "invalid UTF-8 at byte {}; the text may be Latin-1 or Windows-1252: replace malformed bytes with \
         input_errors=\"replace\", or leave such rows out with skip_bad",
        error.valid_up_to()
    );
    Error::Record { location, message }
}
