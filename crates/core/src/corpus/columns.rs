//! Columns of an Arrow or Parquet file -> documents, and the check of a sorted column.
//!
//! Arrow promises UTF-8, but files are not held to it, so it is validated here.

use std::str::Utf8Error;

use super::documents::{BLOCK, Documents, RecordErrors};
use crate::error::{Error, Result};
use crate::memory::TryReserve;

impl Documents {
    /// The rows of a string column as documents: row i is `bytes[offsets[i]..offsets[i + 1]]`, as Arrow lays it out.
    /// Errors name the row as `name` and `first_row` + i.
    ///
    /// Returns the documents and the number of rows that were skipped because they are not UTF-8.
    pub fn from_column(
        bytes: &[u8],
        offsets: &[i64],
        name: &str,
        first_row: u64,
        record_errors: RecordErrors,
    ) -> Result<(Self, u64)> {
        let [first, ..] = *offsets else { return Ok((Documents::default(), 0)) };
        let last = offsets.last().copied().unwrap_or(first);
        let location = |row: usize| format!("{name}: row {}", first_row + row as u64);
        let all = match (usize::try_from(first), usize::try_from(last)) {
            (Ok(first), Ok(last)) => bytes.get(first..last),
            _ => None,
        };
        let damaged = |row| Error::Record {
            location: location(row),
            message: "the column's offsets are damaged".into(),
        };
        let all = all.ok_or_else(|| damaged(0))?;
        if let Some(row) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(damaged(row));
        }
        let mut documents =
            Documents { ends: Vec::with_room(offsets.len() - 1, BLOCK)?, ..Documents::default() };
        // An offset may still fall within a character of a valid text: then some row is not UTF-8.
        if let Ok(text) = simdutf8::basic::from_utf8(all)
            && offsets.iter().all(|offset| text.is_char_boundary((offset - first) as usize))
        {
            documents.append(text)?;
            documents.ends.extend(offsets[1..].iter().map(|offset| (offset - first) as usize));
            return Ok((documents, 0));
        }
        let mut n_skipped = 0;
        for (row, pair) in offsets.windows(2).enumerate() {
            let bytes = &all[(pair[0] - first) as usize..(pair[1] - first) as usize];
            match std::str::from_utf8(bytes) {
                Ok(text) => documents.append(text)?,
                Err(_) if record_errors.replaces => documents.append(&String::from_utf8_lossy(bytes))?,
                Err(_) if record_errors.skips => {
                    n_skipped += 1;
                    continue;
                }
                Err(error) => {
                    return Err(not_utf8(location(row), error));
                }
            }
            documents.end()?;
        }
        Ok((documents, n_skipped))
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

/// Checks the pretokens of a counts file: ends ascend to the end of `bytes`, and each row is greater than the one before
/// it, compared as bytes. The error names the first row that is not.
pub fn check_ascending(bytes: &[u8], ends: &[u64]) -> Result<()> {
    let mut previous: &[u8] = &[];
    let mut start = 0;
    for (row, &end) in ends.iter().enumerate() {
        let pretoken = usize::try_from(end).ok().and_then(|end| bytes.get(start..end));
        let Some(pretoken) = pretoken.filter(|pretoken| !pretoken.is_empty()) else {
            return Err(Error::Invalid(format!("row {row}: an empty pretoken, or one beyond the end")));
        };
        if row > 0 && pretoken <= previous {
            return Err(Error::Invalid(format!(
                "row {row}: the pretoken is not greater than the one before it; sort by bytes, each once"
            )));
        }
        (previous, start) = (pretoken, start + pretoken.len());
    }
    if start != bytes.len() {
        return Err(Error::Invalid(format!("the pretokens end at {start} of {} bytes", bytes.len())));
    }
    Ok(())
}
