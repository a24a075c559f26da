//! Reads the rows of a text column in Arrow's layout in place, without copying its buffers.
//!
//! Checks that rows lie within the buffers and are UTF-8. Format: <https://arrow.apache.org/docs/format/Columnar.html>.

use std::borrow::Cow;
use std::ops::Range;

use super::not_utf8;
use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::text::{Text, valid};

/// Bytes of a view, which locates one row. Offsets have four or eight bytes.
const VIEW_BYTES: usize = 16;
/// Maximum bytes of a row that is stored within its view.
const MAX_INLINE_BYTES: usize = 12;

const ROWS: &str = "the rows of a column";

/// Some rows of an Arrow column. All numbers are little-endian.
pub struct RowChunk<'a> {
    /// Bytes of an offset (4 or 8) or of a view (16).
    pub width: usize,
    /// The range of rows in the buffers.
    pub rows: Range<usize>,
    /// The validity bitmap (1 for a row that is not null; empty if there are no nulls), then the offsets or views, then
    /// the bytes of the rows.
    pub buffers: Vec<&'a [u8]>,
}

/// Reads the number of four or eight bytes at an offset; `None` if it is negative or outside the buffer.
#[inline(always)]
fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes: &[u8; N] = bytes.get(at..)?.first_chunk()?;
    let mut wide = [if bytes[N - 1] < 0x80 { 0 } else { 0xff }; 8];
    wide[..N].copy_from_slice(bytes);
    usize::try_from(i64::from_le_bytes(wide)).ok()
}

/// Returns the bytes of a row in a column of offsets; `None` if it lies outside the buffers.
#[inline(always)]
fn by_offsets<'a, const N: usize>(places: &[u8], data: &[&'a [u8]], row: usize) -> Option<&'a [u8]> {
    data.first()?.get(number::<N>(places, row * N)?..number::<N>(places, (row + 1) * N)?)
}

/// Returns the bytes of a row in a column of views; `None` if it lies outside the buffers. A view holds the length,
/// then a short row itself, or the first four bytes of a long row, its buffer and its offset.
#[inline(always)]
fn by_views<'a>(places: &'a [u8], data: &[&'a [u8]], row: usize) -> Option<&'a [u8]> {
    let view: &[u8; VIEW_BYTES] = places.get(row * VIEW_BYTES..)?.first_chunk()?;
    let n = number::<4>(view, 0)?;
    if n <= MAX_INLINE_BYTES {
        return view.get(4..4 + n);
    }
    let start = number::<4>(view, 12)?;
    data.get(number::<4>(view, 8)?)?.get(start..start.checked_add(n)?)
}

/// The bytes of a row. They must be UTF-8, which is checked when they are read as [`Text`].
#[derive(Clone, Copy)]
pub struct Utf8Row<'a>(pub &'a [u8]);

impl Text for Utf8Row<'_> {
    #[inline]
    fn utf8<'a>(&'a self, _buffer: &'a mut String) -> Result<&'a str> {
        valid(self.0).ok_or_else(|| {
            let offset = std::str::from_utf8(self.0).err().map_or(0, |error| error.valid_up_to()) as u64;
            Error::InvalidUtf8 { path: None, offset, hint: "" }
        })
    }

    fn stored(&self) -> &[u8] {
        self.0
    }
}

/// Rows of bytes; a null counts as an empty row.
#[derive(Default)]
pub struct Rows<'a> {
    /// The bytes of each row.
    pub items: Vec<Utf8Row<'a>>,
    /// The indices of null rows, ascending.
    nulls: Vec<usize>,
}

impl<'a> Rows<'a> {
    /// Locates the rows of a column's chunks.
    pub fn of(chunks: &[RowChunk<'a>]) -> Result<Self> {
        let mut rows = Rows::default();
        for RowChunk { width, rows: range, buffers } in chunks {
            let [validity, places, data @ ..] = buffers.as_slice() else { continue };
            match width {
                4 => rows.push(range, validity, |row| by_offsets::<4>(places, data, row)),
                8 => rows.push(range, validity, |row| by_offsets::<8>(places, data, row)),
                _ => rows.push(range, validity, |row| by_views(places, data, row)),
            }?;
        }
        Ok(rows)
    }

    #[inline(always)]
    fn push(
        &mut self,
        range: &Range<usize>,
        validity: &[u8],
        bytes: impl Fn(usize) -> Option<&'a [u8]>,
    ) -> Result<()> {
        self.items.grow(range.len(), ROWS)?;
        let bit = |row: usize| validity.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1);
        for row in range.clone() {
            let is_valid = validity.is_empty() || bit(row);
            if !is_valid {
                self.nulls.try_push(self.items.len(), ROWS)?;
            }
            let Some(bytes) = (if is_valid { bytes(row) } else { Some(&[][..]) }) else {
                let row = self.items.len();
                let message = "of the column lies outside its buffers; this is an error in the library that made the column";
                return Err(Error::Invalid(format!("row {row} {message}")));
            };
            self.items.push(Utf8Row(bytes));
        }
        Ok(())
    }

    fn is_null(&self, row: usize) -> bool {
        self.nulls.binary_search(&row).is_ok()
    }

    /// Returns the texts of all rows that are not null.
    pub fn texts(&self) -> Result<Vec<&'a str>> {
        let mut texts = Vec::with_reserved(self.items.len(), ROWS)?;
        for (index, row) in self.items.iter().enumerate() {
            match valid(row.0) {
                _ if self.is_null(index) => {}
                Some(text) => texts.push(text),
                None => row.utf8(&mut String::new()).map(drop).map_err(|error| error.in_text(index))?,
            }
        }
        Ok(texts)
    }

    /// Returns the texts of the valid rows and the numbers of the skipped ones; row numbers start at `first`. A row is
    /// valid if it is not null and is UTF-8; `replaces` makes any bytes valid by replacing malformed ones. An invalid
    /// row is skipped if `leaves_out` is set, and otherwise an [`Error::Record`] at "`name`: row i".
    pub(super) fn records(
        &self,
        name: &str,
        leaves_out: bool,
        replaces: bool,
        first: u64,
    ) -> Result<(Vec<Cow<'a, str>>, Vec<u64>)> {
        let mut texts = Vec::with_reserved(self.items.len(), ROWS)?;
        let mut others = Vec::new();
        for (index, row) in self.items.iter().enumerate() {
            let (number, is_valid) = (first + index as u64, !self.is_null(index));
            match valid(row.0) {
                Some(text) if is_valid => texts.push(Cow::Borrowed(text)),
                None if is_valid && replaces => texts.push(String::from_utf8_lossy(row.0)),
                _ if leaves_out => others.try_push(number, ROWS)?,
                _ => {
                    let location = format!("{name}: row {number}");
                    let message = "the text is null; skip such rows with skip_bad".into();
                    return Err(match std::str::from_utf8(row.0) {
                        Err(error) => not_utf8(location, error),
                        Ok(_) => Error::Record { location, message },
                    });
                }
            }
        }
        Ok((texts, others))
    }

    /// Returns the rows as pretokens, in the columns (bytes, ends); [`Error::Counts`] for a null or empty row.
    pub fn pretokens(&self) -> Result<(Vec<u8>, Vec<u64>)> {
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_reserved(self.items.len(), ROWS)?);
        for (index, row) in self.items.iter().enumerate() {
            if row.0.is_empty() {
                let message = format!("row {index}: the pretoken is null or empty; remove such rows");
                return Err(Error::Counts(message));
            }
            bytes.try_extend(row.0, ROWS)?;
            ends.push(bytes.len() as u64);
        }
        Ok((bytes, ends))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(width: usize, places: &[u8], data: &[u8]) -> Result<Vec<String>> {
        let n = if width == VIEW_BYTES { places.len() / width } else { places.len() / width - 1 };
        let buffers = vec![&[0b101][..], places, data];
        let found = Rows::of(&[RowChunk { width, rows: 0..n, buffers }])?;
        Ok(found.texts()?.into_iter().map(str::to_owned).collect())
    }

    #[test]
    fn rows_in_each_layout_are_read_unless_they_are_null() {
        let offsets = |all: [i32; 4]| all.iter().flat_map(|at| at.to_ne_bytes()).collect::<Vec<_>>();
        assert_eq!(rows(4, &offsets([0, 2, 2, 5]), b"abxyz").unwrap(), ["ab", "xyz"]);
        let wide: Vec<u8> = [0i64, 2, 2, 5].iter().flat_map(|at| at.to_ne_bytes()).collect();
        assert_eq!(rows(8, &wide, b"abxyz").unwrap(), ["ab", "xyz"]);
        let text = "a row of more than twelve bytes";
        let mut views = [2i32.to_ne_bytes(), *b"ab\0\0", [0; 4], [0; 4]].concat();
        views.extend([0; 16]);
        views.extend([(text.len() as i32 - 2).to_ne_bytes(), *b"row ", [0; 4], 2i32.to_ne_bytes()].concat());
        assert_eq!(rows(16, &views, text.as_bytes()).unwrap(), ["ab", &text[2..]]);
        for damaged in [[0, 4, 5, 9], [3, 2, 4, 5], [-1, 2, 2, 5]] {
            assert!(matches!(rows(4, &offsets(damaged), b"abxyz"), Err(Error::Invalid(_))));
        }
        views[44..48].copy_from_slice(&3i32.to_ne_bytes());
        assert!(matches!(rows(16, &views, text.as_bytes()), Err(Error::Invalid(_))));
    }
}
