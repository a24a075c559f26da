//! What a producer handed over, and typed access to its buffers.

use std::borrow::Cow;
use std::ffi::{CStr, c_char};
use std::slice;

use super::abi::{ArrowArray, ArrowArrayStream, ArrowSchema};
use crate::error::{Error, Result, quoted};
use crate::memory::TryReserve;

/// A column, or a table, as a producer handed it over: its type and its chunks.
pub struct Chunked {
    schema: ArrowSchema,
    chunks: Vec<ArrowArray>,
}

pub(super) fn invalid<T>(message: impl Into<String>) -> Result<T> {
    Err(Error::Invalid(message.into()))
}

impl Chunked {
    /// One array.
    ///
    /// # Safety
    /// Both are as the C data interface asks: all pointers and lengths are valid until they are released.
    pub unsafe fn from_array(schema: ArrowSchema, array: ArrowArray) -> Result<Self> {
        if schema.is_released() || array.is_released() {
            return invalid("the Arrow array has been released: another consumer took it");
        }
        let mut chunks = Vec::with_room(1, CHUNKS)?;
        chunks.push(array);
        Ok(Chunked { schema, chunks })
    }

    /// All arrays of a stream.
    ///
    /// # Safety
    /// The stream is as the C stream interface asks, and so is everything that it gives.
    pub unsafe fn from_stream(mut stream: ArrowArrayStream) -> Result<Self> {
        let (Some(get_schema), Some(get_next), Some(_)) =
            (stream.get_schema, stream.get_next, stream.release)
        else {
            return invalid("the Arrow stream has been released: another consumer took it");
        };
        let mut schema = ArrowSchema::default();
        // SAFETY: the caller vouches for the stream; `schema` is a valid place for one.
        let status = unsafe { get_schema(&mut stream, &mut schema) };
        check(&mut stream, status)?;
        let mut chunks = Vec::new();
        loop {
            let mut chunk = ArrowArray::default();
            // SAFETY: as above.
            let status = unsafe { get_next(&mut stream, &mut chunk) };
            check(&mut stream, status)?;
            if chunk.is_released() {
                return Ok(Chunked { schema, chunks });
            }
            chunks.try_push(chunk, CHUNKS)?;
        }
    }

    /// The key-value pairs of the schema, as bytes.
    pub fn metadata(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut at = self.schema.metadata.cast::<u8>();
        if at.is_null() {
            return Vec::new();
        }
        let mut take = |n: usize| {
            // SAFETY: the interface: an int32 number of pairs, then for each an int32 length and as many bytes, twice.
            unsafe {
                let bytes = slice::from_raw_parts(at, n);
                at = at.add(n);
                bytes
            }
        };
        let int = |bytes: &[u8]| bytes.try_into().map_or(0, i32::from_ne_bytes).max(0) as usize;
        let n_pairs = int(take(4));
        (0..n_pairs)
            .map(|_| {
                let n_key = int(take(4));
                let key = take(n_key).to_vec();
                let n_value = int(take(4));
                (key, take(n_value).to_vec())
            })
            .collect()
    }

    /// The chunks.
    pub(super) fn chunks(&self) -> impl Iterator<Item = Result<View<'_>>> {
        self.chunks.iter().map(|array| View::new(&self.schema, array))
    }

    /// The type.
    pub(super) fn kind(&self) -> Result<Kind<'_>> {
        Kind::of(&self.schema)
    }
}

const CHUNKS: &str = "the chunks of a column";

/// Fails with the message of the stream unless `status` is 0.
fn check(stream: &mut ArrowArrayStream, status: i32) -> Result<()> {
    if status == 0 {
        return Ok(());
    }
    // SAFETY: the interface: the message, or null, stays valid until the next call.
    let message = stream.get_last_error.and_then(|get| unsafe { text_at(get(stream)) });
    invalid(format!("the Arrow stream failed: {} (errno {status})", message.unwrap_or("no message")))
}

/// The text at `address`, if there is any.
///
/// # Safety
/// Null, or bytes that end with 0 and live for `'a`.
unsafe fn text_at<'a>(address: *const c_char) -> Option<&'a str> {
    // SAFETY: the caller vouches.
    (!address.is_null()).then(|| unsafe { CStr::from_ptr(address) }.to_str().ok())?
}

/// A type: its format string and children.
#[derive(Clone, Copy)]
pub(super) struct Kind<'a> {
    schema: &'a ArrowSchema,
    /// The format string: "u" is string, "+l" a list, ...
    pub(super) format: &'a str,
}

impl<'a> Kind<'a> {
    pub(super) fn of(schema: &'a ArrowSchema) -> Result<Self> {
        // SAFETY: the interface: the format ends with 0 and lives as long as the schema.
        match unsafe { text_at(schema.format) } {
            Some(format) => Ok(Kind { schema, format }),
            None => invalid("the Arrow type has no format; its producer is at fault"),
        }
    }

    /// The name of the field; empty where it has none.
    pub(super) fn name(self) -> &'a str {
        // SAFETY: as the format.
        unsafe { text_at(self.schema.name) }.unwrap_or_default()
    }

    pub(super) fn n_children(self) -> usize {
        usize::try_from(self.schema.n_children).unwrap_or(0)
    }

    /// Child `index`.
    pub(super) fn child(self, index: usize) -> Result<Kind<'a>> {
        // SAFETY: the interface: `children` holds `n_children` schemas, which live as long as their parent.
        let child = (index < self.n_children() && !self.schema.children.is_null())
            .then(|| unsafe { (*self.schema.children.add(index)).as_ref() })
            .flatten();
        child.map_or_else(|| invalid("the Arrow type lacks a child; its producer is at fault"), Kind::of)
    }

    /// The type of the dictionary's values, where it is one.
    pub(super) fn dictionary(self) -> Option<Result<Kind<'a>>> {
        // SAFETY: the interface: null, or a schema that lives as long as its parent.
        unsafe { self.schema.dictionary.as_ref() }.map(Kind::of)
    }

    /// The type in words, for messages.
    pub(super) fn shown(self) -> String {
        if let Some(Ok(values)) = self.dictionary() {
            return format!("dictionary<{}>", values.shown());
        }
        let known = match self.format {
            "n" => "null",
            "b" => "bool",
            "c" => "int8",
            "C" => "uint8",
            "s" => "int16",
            "S" => "uint16",
            "i" => "int32",
            "I" => "uint32",
            "l" => "int64",
            "L" => "uint64",
            "e" => "float16",
            "f" => "float32",
            "g" => "float64",
            "z" => "binary",
            "Z" => "large_binary",
            "vz" => "binary_view",
            "u" => "string",
            "U" => "large_string",
            "vu" => "string_view",
            "+l" => "list",
            "+L" => "large_list",
            "+vl" | "+vL" => "list_view",
            "+s" => "struct",
            "+m" => "map",
            "+r" => "run_end_encoded",
            other if other.starts_with("+w") => "fixed_size_list",
            other if other.starts_with('w') => "fixed_size_binary",
            other if other.starts_with('t') => "a date or time",
            other if other.starts_with('d') => "decimal",
            other => return format!("the type {}", quoted(other)),
        };
        match self.n_children() {
            1 => self.child(0).map_or_else(|_| known.into(), |child| format!("{known}<{}>", child.shown())),
            _ => known.into(),
        }
    }
}

/// Some rows of an array: `n_rows` from `first` of its buffers.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) kind: Kind<'a>,
    array: &'a ArrowArray,
    pub(super) first: usize,
    pub(super) n_rows: usize,
}

/// Types of which every pattern of bits is a value.
pub(super) trait Plain: Copy + 'static {}

macro_rules! plain {
    ($($integer:ty),*) => {$(impl Plain for $integer {})*};
}

plain!(u8, i8, u16, i16, u32, i32, u64, i64, u128);

impl<'a> View<'a> {
    fn new(schema: &'a ArrowSchema, array: &'a ArrowArray) -> Result<Self> {
        let kind = Kind::of(schema)?;
        match (usize::try_from(array.offset), usize::try_from(array.length)) {
            (Ok(first), Ok(n_rows)) if first.checked_add(n_rows).is_some_and(|end| end < MAX_ROWS) => {
                Ok(View { kind, array, first, n_rows })
            }
            _ => invalid(format!("an Arrow array of {} rows at {}", array.length, array.offset)),
        }
    }

    /// Child `index`, all of its rows.
    pub(super) fn child(self, index: usize) -> Result<View<'a>> {
        let kind = self.kind.child(index)?;
        let has = usize::try_from(self.array.n_children).is_ok_and(|n| index < n);
        // SAFETY: as for the type's children.
        let child = (has && !self.array.children.is_null())
            .then(|| unsafe { (*self.array.children.add(index)).as_ref() })
            .flatten();
        match child {
            Some(child) => View::new(kind.schema, child),
            None => invalid("the Arrow array lacks a child; its producer is at fault"),
        }
    }

    /// The values of a dictionary.
    pub(super) fn dictionary(self) -> Result<View<'a>> {
        // SAFETY: as for the type's dictionary.
        match unsafe { (self.kind.schema.dictionary.as_ref(), self.array.dictionary.as_ref()) } {
            (Some(schema), Some(array)) => View::new(schema, array),
            _ => invalid("the Arrow array lacks its dictionary; its producer is at fault"),
        }
    }

    /// `n_rows` of the rows from `first` on.
    pub(super) fn within(self, first: usize, n_rows: usize) -> Result<View<'a>> {
        match first.checked_add(n_rows) {
            Some(end) if end <= self.n_rows => Ok(View { first: self.first + first, n_rows, ..self }),
            _ => invalid(format!(
                "rows {first} to {} of an Arrow array that has {}; its producer is at fault",
                first.saturating_add(n_rows),
                self.n_rows
            )),
        }
    }

    pub(super) fn n_buffers(self) -> usize {
        usize::try_from(self.array.n_buffers).unwrap_or(0)
    }

    /// The first `n` items of buffer `index`; copied if they are not aligned.
    pub(super) fn buffer<T: Plain>(self, index: usize, n: usize) -> Result<Cow<'a, [T]>> {
        if n == 0 {
            return Ok(Cow::Borrowed(&[]));
        }
        let address = self.address(index)?.cast::<T>();
        if address.is_null()
            || n.checked_mul(size_of::<T>()).is_none_or(|n_bytes| n_bytes > isize::MAX as usize)
        {
            return invalid(format!("buffer {index} of an Arrow array is missing; its producer is at fault"));
        }
        if address.is_aligned() {
            // SAFETY: the interface: the buffer holds what the array's length, offset and offsets ask for, which is `n`
            // items, and lives as long as the array; every pattern of bits is a `T`.
            return Ok(Cow::Borrowed(unsafe { slice::from_raw_parts(address, n) }));
        }
        let mut items = Vec::with_room(n, "a buffer")?;
        // SAFETY: as above.
        items.extend((0..n).map(|index| unsafe { address.add(index).read_unaligned() }));
        Ok(Cow::Owned(items))
    }

    /// The first `n` bytes of buffer `index`, which need no alignment.
    pub(super) fn bytes(self, index: usize, n: usize) -> Result<&'a [u8]> {
        match self.buffer::<u8>(index, n)? {
            Cow::Borrowed(bytes) => Ok(bytes),
            Cow::Owned(_) => unreachable!("bytes are always aligned"),
        }
    }

    fn address(self, index: usize) -> Result<*const u8> {
        if index >= self.n_buffers() || self.array.buffers.is_null() {
            return invalid(format!("an Arrow array lacks buffer {index}; its producer is at fault"));
        }
        // SAFETY: the interface: `buffers` holds `n_buffers` addresses.
        Ok(unsafe { *self.array.buffers.add(index) }.cast())
    }

    /// The bits that say which rows are not null; `None` if none is.
    pub(super) fn validity(self) -> Result<Option<Bits<'a>>> {
        if self.kind.format == "n" || self.array.null_count == 0 || self.address(0)?.is_null() {
            return Ok(None);
        }
        Ok(Some(Bits { bytes: self.bytes(0, (self.first + self.n_rows).div_ceil(8))?, first: self.first }))
    }
}

/// More rows are taken for damage: of 16 bytes each, no address space has room for them.
const MAX_ROWS: usize = isize::MAX as usize / 64;

/// One bit a row, the lowest of a byte first.
#[derive(Clone, Copy)]
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    first: usize,
}

impl Bits<'_> {
    pub(super) fn is_set(self, row: usize) -> bool {
        let at = self.first + row;
        self.bytes.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1)
    }
}
