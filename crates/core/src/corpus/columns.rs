//! The buffers of a column to documents, and what a sorted column must be.
//!
//! Enters: bytes and the offsets of n rows in them, n + 1 of them, as Arrow lays out a column of strings.
//! Leaves: [`Documents`], one a row. Arrow promises UTF-8, but files are not held to it: it is checked here.

use super::documents::{BLOCK, Documents, RecordErrors};
use crate::error::{Error, Result};

impl Documents {
    /// Row i is `bytes[offsets[i]..offsets[i + 1]]`; `name` and `first_row` say where in messages.
    ///
    /// Gives the documents and how many rows were left out for not being UTF-8.
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
        let Some(all) = all else {
            return Err(Error::Record {
                location: location(0),
                message: "the column's offsets are damaged".into(),
            });
        };
        if let Some(row) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(Error::Record {
                location: location(row),
                message: "the column's offsets are damaged".into(),
            });
        }
        let mut documents = Documents::default();
        documents.ends.try_reserve_exact(offsets.len() - 1).map_err(Error::out_of_memory(BLOCK))?;
        // The ends of a valid text may still fall within a character: then some row is not UTF-8.
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
                    let message = format!("invalid UTF-8 at byte {}", error.valid_up_to());
                    return Err(Error::Record { location: location(row), message });
                }
            }
            documents.end()?;
        }
        Ok((documents, n_skipped))
    }
}

/// Checks a column of a counts file: ends ascend to the end of `bytes`, and each row is greater than the one
/// before it, byte by byte. The error names the first row that is not.
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
