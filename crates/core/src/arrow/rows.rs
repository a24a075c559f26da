//! The rows of a column of string or binary, borrowed from its buffers.

use std::borrow::Cow;

use super::export::Validity;
use super::import::{Bits, Chunked, Kind, View, invalid};
use crate::corpus::not_utf8;
use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::text::{Text, valid};

/// The bytes of a row, which must be UTF-8; checked when they are read as [`Text`].
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

    fn n_bytes(&self) -> usize {
        self.0.len()
    }

    fn stored(&self) -> &[u8] {
        self.0
    }
}

/// Rows of bytes; a null is an empty row.
#[derive(Default)]
pub struct Rows<'a> {
    /// The bytes of each row.
    pub items: Vec<Utf8Row<'a>>,
    pub(super) validity: Validity,
}

const ROWS: &str = "the rows of a column";

impl<'a> Rows<'a> {
    /// The texts of all rows that are not null.
    pub fn texts(&self) -> Result<Vec<&'a str>> {
        let mut texts = Vec::with_room(self.items.len(), ROWS)?;
        for (index, row) in self.items.iter().enumerate() {
            match valid(row.0) {
                _ if !self.validity.is_valid(index) => {}
                Some(text) => texts.push(text),
                None => row.utf8(&mut String::new()).map(drop).map_err(|error| error.in_text(index))?,
            }
        }
        Ok(texts)
    }

    /// The texts of the rows that are records: neither null nor, unless `replaces` mends it, something else than UTF-8;
    /// and the numbers of the others, of which the first is an [`Error::Record`] unless they are left out. Errors call the
    /// rows `name`. Rows are numbered from `first` on.
    pub fn records(
        &self,
        name: &str,
        leaves_out: bool,
        replaces: bool,
        first: u64,
    ) -> Result<(Vec<Cow<'a, str>>, Vec<u64>)> {
        let mut texts = Vec::with_room(self.items.len(), ROWS)?;
        let mut others = Vec::new();
        for (index, row) in self.items.iter().enumerate() {
            let is_valid = self.validity.is_valid(index);
            match valid(row.0) {
                Some(text) if is_valid => texts.push(Cow::Borrowed(text)),
                None if is_valid && replaces => texts.push(String::from_utf8_lossy(row.0)),
                _ if leaves_out => others.try_push(first + index as u64, ROWS)?,
                _ => {
                    let location = format!("{name}: row {}", first + index as u64);
                    let message = "the text is null; leave such rows out with skip_bad".into();
                    let error = std::str::from_utf8(row.0).err().filter(|_| is_valid);
                    return Err(match error {
                        Some(error) => not_utf8(location, error),
                        None => Error::Record { location, message },
                    });
                }
            }
        }
        Ok((texts, others))
    }

    fn push(&mut self, row: Option<&'a [u8]>) -> Result<()> {
        self.validity.push(row.is_some())?;
        self.items.try_push(Utf8Row(row.unwrap_or_default()), ROWS)
    }
}

impl Chunked {
    /// The rows of a column of string or binary, or of the only column of a table.
    pub fn rows(&self) -> Result<Rows<'_>> {
        let mut rows = Rows::default();
        // Also where there are no chunks.
        check_bytes(self.only_column()?)?;
        for view in self.views() {
            view?.push_bytes(&mut rows)?;
        }
        Ok(rows)
    }

    /// The type of the column, or of the only column of a table.
    pub(super) fn only_column(&self) -> Result<Kind<'_>> {
        only_column(self.kind()?)
    }

    /// The chunks of the column, or of the only column of a table.
    pub(super) fn views(&self) -> impl Iterator<Item = Result<View<'_>>> {
        self.chunks().map(|chunk| {
            let chunk = chunk?;
            if chunk.kind.format == "+s" { chunk.field(0) } else { Ok(chunk) }
        })
    }
}

/// The column, if `kind` is a table of one.
fn only_column(kind: Kind<'_>) -> Result<Kind<'_>> {
    if kind.format != "+s" {
        return Ok(kind);
    }
    if kind.n_children() != 1 {
        let names = (0..kind.n_children()).map(|index| Ok(format!("{:?}", kind.child(index)?.name())));
        let names = names.collect::<Result<Vec<_>>>()?.join(", ");
        return invalid(format!("a table of {} columns ({names}); pass one of them", kind.n_children()));
    }
    kind.child(0)
}

/// Fails unless the type is string or binary, in any layout or in a dictionary.
fn check_bytes(kind: Kind<'_>) -> Result<()> {
    match kind.dictionary() {
        Some(values) => check_bytes(values?),
        None if matches!(kind.format, "u" | "U" | "vu" | "z" | "Z" | "vz" | "n") => Ok(()),
        None if kind.format == "+r" => invalid("the column is run_end_encoded; decode it first"),
        None => invalid(format!("the column is {}, not string or binary", kind.shown())),
    }
}

impl<'a> View<'a> {
    /// Column `index` of a chunk of a table.
    pub(super) fn field(self, index: usize) -> Result<View<'a>> {
        if self.validity()?.is_some_and(|bits| !(0..self.n_rows).all(|row| bits.is_set(row))) {
            return invalid("rows of the table itself are null; pass its column");
        }
        self.child(index)?.within(self.first, self.n_rows)
    }

    /// Appends the rows of a column of string or binary.
    pub(super) fn push_bytes(self, rows: &mut Rows<'a>) -> Result<()> {
        check_bytes(self.kind)?;
        rows.items.grow(self.n_rows, ROWS)?;
        if self.kind.dictionary().is_some() {
            return self.push_from_dictionary(rows);
        }
        match self.kind.format {
            "u" | "z" => self.push_by_offsets::<i32>(rows),
            "U" | "Z" => self.push_by_offsets::<i64>(rows),
            "n" => (0..self.n_rows).try_for_each(|_| rows.push(None)),
            _ => self.push_views(rows),
        }
    }

    /// Row i is the bytes from offset i to offset i + 1.
    fn push_by_offsets<O: Offset>(self, rows: &mut Rows<'a>) -> Result<()> {
        let (offsets, valid) = (self.offsets::<O>()?, self.validity()?);
        let bytes = self.bytes(2, offsets.last().copied().unwrap_or(0))?;
        for (row, bounds) in offsets.windows(2).enumerate() {
            // `offsets` ascend, and the last one is the length of `bytes`.
            rows.push(is_set(valid, row).then(|| &bytes[bounds[0]..bounds[1]]))?;
        }
        Ok(())
    }

    /// Row i has 16 bytes: its length, and if that is up to 12 its bytes, else four of them, a buffer and an offset.
    fn push_views(self, rows: &mut Rows<'a>) -> Result<()> {
        const N_INLINE: usize = 12;
        let n_data = self.n_buffers().saturating_sub(3);
        // Buffers: validity, views, data, and last the lengths of the data.
        let n_bytes = self.buffer::<i64>(2 + n_data, n_data)?;
        let mut data = Vec::with_room(n_data, ROWS)?;
        for (index, &n_bytes) in n_bytes.iter().enumerate() {
            data.push(self.bytes(2 + index, usize::try_from(n_bytes).unwrap_or(0))?);
        }
        let views = self.bytes(1, (self.first + self.n_rows) * size_of::<u128>())?;
        let (views, _) = views[self.first * size_of::<u128>()..].as_chunks::<{ size_of::<u128>() }>();
        let valid = self.validity()?;
        for (row, view) in views.iter().enumerate() {
            let number = |index: usize| view[4 * index..].first_chunk().map_or(0, |b| i32::from_ne_bytes(*b));
            let number = |index: usize| usize::try_from(number(index)).ok();
            let bytes = match (is_set(valid, row), number(0)) {
                (false, _) => None,
                (true, Some(n)) if n <= N_INLINE => Some(&view[4..4 + n]),
                (true, n) => Some(
                    (|| data.get(number(2)?)?.get(number(3)?..number(3)?.checked_add(n?)?))()
                        .ok_or_else(|| damaged(rows.items.len(), "lies outside the buffers of its array"))?,
                ),
            };
            rows.push(bytes)?;
        }
        Ok(())
    }

    fn push_from_dictionary(self, rows: &mut Rows<'a>) -> Result<()> {
        let mut values = Rows::default();
        self.dictionary()?.push_bytes(&mut values)?;
        let valid = self.validity()?;
        let mut push = |row: usize, index: Option<usize>| {
            if !is_set(valid, row) {
                return rows.push(None);
            }
            match index.and_then(|index| Some((index, values.items.get(index)?))) {
                Some((index, value)) => rows.push(values.validity.is_valid(index).then_some(value.0)),
                None => Err(damaged(rows.items.len(), "has an index outside its dictionary")),
            }
        };
        self.integers(&mut |row, index| push(row, usize::try_from(index).ok()))
    }

    /// Gives each row of a column of integers to `take`.
    pub(super) fn integers(self, take: &mut dyn FnMut(usize, i128) -> Result<()>) -> Result<()> {
        macro_rules! each {
            ($integer:ty) => {{
                let all = self.buffer::<$integer>(1, self.first + self.n_rows)?;
                let rows = all.iter().skip(self.first).enumerate();
                for (row, &integer) in rows {
                    take(row, i128::from(integer))?;
                }
                Ok(())
            }};
        }
        match self.kind.format {
            "c" => each!(i8),
            "C" => each!(u8),
            "s" => each!(i16),
            "S" => each!(u16),
            "i" => each!(i32),
            "I" => each!(u32),
            "l" => each!(i64),
            "L" => each!(u64),
            _ => invalid(format!("{} where integers are expected", self.kind.shown())),
        }
    }

    /// The `n_rows` + 1 offsets of rows; they ascend.
    pub(super) fn offsets<O: Offset>(self) -> Result<Vec<usize>> {
        if self.n_rows == 0 {
            return Ok(Vec::new());
        }
        let all: Cow<'_, [O]> = self.buffer(1, self.first + self.n_rows + 1)?;
        let mut offsets = Vec::with_room(self.n_rows + 1, ROWS)?;
        let mut least = 0;
        for (row, &offset) in all[self.first..].iter().enumerate() {
            match offset.index() {
                Some(offset) if offset >= least => least = offset,
                _ => return Err(damaged(row, "ends before it begins")),
            }
            offsets.push(least);
        }
        Ok(offsets)
    }
}

fn damaged(row: usize, how: &str) -> Error {
    Error::Invalid(format!("row {row} of the column {how}; its producer is at fault"))
}

pub(super) fn is_set(bits: Option<Bits<'_>>, row: usize) -> bool {
    bits.is_none_or(|bits| bits.is_set(row))
}

/// The integers that offsets are.
pub(super) trait Offset: super::import::Plain {
    fn index(self) -> Option<usize>;
}

impl Offset for i32 {
    fn index(self) -> Option<usize> {
        usize::try_from(self).ok()
    }
}

impl Offset for i64 {
    fn index(self) -> Option<usize> {
        usize::try_from(self).ok()
    }
}
