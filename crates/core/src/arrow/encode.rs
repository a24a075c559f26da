//! Columns of text -> columns of ids and of counts of ids; columns of ids -> columns of text.

use std::ffi::CStr;

use super::export::{Buffer, Column, Validity};
use super::import::{Chunked, Kind, View, invalid};
use super::rows::is_set;
use crate::decoder::{DecodeErrors, Decoder, PARTIAL_CHARACTER};
use crate::encoder::{Encoder, SpecialPolicy};
use crate::error::{Error, Result};
use crate::ids::AnyId;
use crate::memory::{TryReserve, copied};
use crate::monitor::{Monitor, Stage};
use crate::text::valid;

/// The type of a column of ids: list or large_list of an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdType {
    /// Whether offsets are 64-bit (large_list); `None` is where 32 bits are too few.
    pub is_large: Option<bool>,
    /// The integers.
    pub item: Item,
}

/// The integers of a column of ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Item {
    U16,
    U32,
    I32,
    I64,
}

impl IdType {
    /// The type in which an encoder of `n_ids` ids gives them by itself.
    pub fn narrowest(n_ids: usize) -> Self {
        IdType { is_large: None, item: if n_ids <= 1 << 16 { Item::U16 } else { Item::U32 } }
    }

    /// The type that an Arrow schema asks for.
    pub fn of(schema: &super::abi::ArrowSchema) -> Result<Self> {
        let kind = Kind::of(schema)?;
        let item = match (kind.format, kind.n_children()) {
            ("+l" | "+L", 1) => kind.child(0)?.format,
            _ => "",
        };
        let item = match item {
            "S" => Item::U16,
            "I" => Item::U32,
            "i" => Item::I32,
            "l" => Item::I64,
            _ => {
                return invalid(format!(
                    "type is {}; ids come as list or large_list of uint16, uint32, int32 or int64",
                    kind.shown()
                ));
            }
        };
        Ok(IdType { is_large: Some(kind.format == "+L"), item })
    }
}

impl Item {
    fn format(self) -> &'static CStr {
        match self {
            Item::U16 => c"S",
            Item::U32 => c"I",
            Item::I32 => c"i",
            Item::I64 => c"l",
        }
    }

    fn largest(self) -> usize {
        match self {
            Item::U16 => u16::MAX.into(),
            Item::I32 => i32::MAX as usize,
            Item::U32 | Item::I64 => u32::MAX as usize,
        }
    }
}

impl Encoder {
    /// The ids of each row of a column of text; a null stays one.
    pub fn encode_column(
        &self,
        column: &Chunked,
        kind: IdType,
        specials: SpecialPolicy<'_>,
        threads: usize,
        monitor: &dyn Monitor,
    ) -> Result<Column> {
        let item = kind.item;
        if self.n_ids() > item.largest() + 1 {
            return invalid(format!(
                "type holds ids up to {}, but this tokenizer has {}",
                item.largest(),
                self.n_ids() - 1
            ));
        }
        let rows = column.rows()?;
        let (ids, offsets) = if item == Item::U16 {
            let (ids, offsets) = self.encode_batch::<u16>(&rows.items, specials, threads, monitor)?;
            (Buffer::from(ids), offsets)
        } else {
            let (ids, offsets) = self.encode_batch::<u32>(&rows.items, specials, threads, monitor)?;
            // Ids below 2^31 are the same bits as i32.
            let ids = if item == Item::I64 { Buffer::from(widened(&ids)?) } else { Buffer::from(ids) };
            (ids, offsets)
        };
        let n_ids = offsets.last().map_or(0, |&end| end as usize);
        let (is_large, offsets) = narrowed(offsets, kind.is_large)?;
        let items = Column::new(item.format(), c"item", n_ids, vec![ids]).with_validity(Validity::default());
        let format = if is_large { c"+L" } else { c"+l" };
        let lists = Column::new(format, c"", rows.items.len(), vec![offsets]);
        Ok(lists.with_validity(rows.validity).with_children(vec![items]))
    }

    /// The number of ids of each row of a column of text, as int64; a null stays one.
    pub fn count_column(
        &self,
        column: &Chunked,
        specials: SpecialPolicy<'_>,
        threads: usize,
        monitor: &dyn Monitor,
    ) -> Result<Column> {
        let rows = column.rows()?;
        let counts = self.count_batch(&rows.items, specials, threads, monitor)?;
        Ok(Column::new(c"l", c"", counts.len(), vec![counts.into()]).with_validity(rows.validity))
    }
}

fn widened(ids: &[u32]) -> Result<Vec<i64>> {
    let mut wide = Vec::with_room(ids.len(), "ids")?;
    wide.extend(ids.iter().map(|&id| i64::from(id)));
    Ok(wide)
}

/// Offsets of 64 bits if `is_large`, and of 32 if not; unless it says, 32 if they suffice.
fn narrowed(offsets: Vec<i64>, is_large: Option<bool>) -> Result<(bool, Buffer)> {
    let end = offsets.last().copied().unwrap_or(0);
    let fits = i32::try_from(end).is_ok();
    if is_large == Some(false) && !fits {
        return invalid(format!(
            "{end} items are more than the 32-bit offsets of the type can hold; pass a large type, or fewer rows"
        ));
    }
    if is_large.unwrap_or(!fits) {
        return Ok((true, offsets.into()));
    }
    let mut narrow = Vec::with_room(offsets.len(), "offsets")?;
    narrow.extend(offsets.iter().map(|&offset| offset as i32));
    Ok((false, narrow.into()))
}

/// The text of each row of a column of ids (list, large_list or fixed_size_list of integers), as string, or large_string
/// where 32-bit offsets are too few; a null stays one.
pub fn decode_column(
    decoder: &Decoder,
    column: &Chunked,
    errors: DecodeErrors,
    monitor: &dyn Monitor,
) -> Result<Column> {
    let mut texts = Texts { bytes: Vec::new(), ends: vec![0], validity: Validity::default(), errors };
    check_ids(column.only_column()?)?;
    for view in column.views() {
        monitor.report(Stage::Encode, 0, 0)?;
        let view = view?;
        let (bounds, valid, items) = (view.list_bounds()?, view.validity()?, view.child(0)?);
        let (first, last) = (bounds.first().copied().unwrap_or(0), bounds.last().copied().unwrap_or(0));
        let used = items.within(first, last - first)?;
        let item_bits = used.validity()?;
        macro_rules! each {
            ($integer:ty) => {{
                let ids = used.buffer::<$integer>(1, used.first + used.n_rows)?;
                let ids = &ids[used.first..];
                for (row, bounds) in bounds.windows(2).enumerate() {
                    if row % ROWS_PER_SIGNAL_CHECK == ROWS_PER_SIGNAL_CHECK - 1 {
                        monitor.report(Stage::Encode, 0, 0)?;
                    }
                    let items = is_set(valid, row).then(|| bounds[0] - first..bounds[1] - first);
                    let n_done = texts.ends.len() - 1;
                    if let (Some(bits), Some(items)) = (item_bits, &items)
                        && !items.clone().all(|item| bits.is_set(item))
                    {
                        return invalid(format!(
                            "list_of_ids[{n_done}] holds a null; only whole lists may be null"
                        ));
                    }
                    texts
                        .push(decoder, items.map(|items| &ids[items]))
                        .map_err(|error| error.in_list(n_done))?;
                }
            }};
        }
        match items.kind.format {
            "c" => each!(i8),
            "C" => each!(u8),
            "s" => each!(i16),
            "S" => each!(u16),
            "i" => each!(i32),
            "I" => each!(u32),
            "l" => each!(i64),
            _ => each!(u64),
        }
    }
    let n_rows = texts.ends.len() - 1;
    let (is_large, ends) = narrowed(texts.ends, None)?;
    let format = if is_large { c"U" } else { c"u" };
    Ok(Column::new(format, c"", n_rows, vec![ends, texts.bytes.into()]).with_validity(texts.validity))
}

/// Rows decoded between two checks for a pending signal.
const ROWS_PER_SIGNAL_CHECK: usize = 1 << 12;

fn check_ids(kind: Kind<'_>) -> Result<()> {
    let is_list = kind.format == "+l" || kind.format == "+L" || kind.format.starts_with("+w:");
    let is_plain = |item: Kind<'_>| item.dictionary().is_none() && "cCsSiIlL".contains(item.format);
    if is_list && kind.child(0).is_ok_and(is_plain) {
        return Ok(());
    }
    invalid(format!("the column is {}, not list or large_list of integers", kind.shown()))
}

/// Decoded texts.
struct Texts {
    bytes: Vec<u8>,
    ends: Vec<i64>,
    validity: Validity,
    errors: DecodeErrors,
}

impl Texts {
    fn push<I: AnyId>(&mut self, decoder: &Decoder, ids: Option<&[I]>) -> Result<()> {
        let start = self.bytes.len();
        decoder.decode(ids.unwrap_or_default(), self.errors, &mut self.bytes)?;
        if valid(&self.bytes[start..]).is_none() {
            self.mend(start)?;
        }
        self.validity.push(ids.is_some())?;
        self.ends.try_push(self.bytes.len() as i64, "decoded text")
    }

    /// Makes UTF-8 of the bytes from `start` on, or fails.
    fn mend(&mut self, start: usize) -> Result<()> {
        let bytes = copied(&self.bytes[start..], "decoded text")?;
        self.bytes.truncate(start);
        for chunk in bytes.utf8_chunks() {
            self.bytes.try_extend(chunk.valid().as_bytes(), "decoded text")?;
            if chunk.invalid().is_empty() {
                continue;
            }
            let Some(n_replacements) = self.errors.n_replacements(chunk.invalid()) else {
                let offset = (self.bytes.len() - start) as u64;
                return Err(Error::InvalidUtf8 { path: None, offset, hint: PARTIAL_CHARACTER });
            };
            for _ in 0..n_replacements {
                self.bytes.try_extend("\u{fffd}".as_bytes(), "decoded text")?;
            }
        }
        Ok(())
    }
}

impl View<'_> {
    /// The bounds of the lists: list i is the items from bound i to bound i + 1.
    fn list_bounds(self) -> Result<Vec<usize>> {
        match self.kind.format {
            "+l" => self.offsets::<i32>(),
            "+L" => self.offsets::<i64>(),
            fixed => {
                let size = fixed.strip_prefix("+w:").and_then(|size| size.parse::<usize>().ok());
                let end = size.and_then(|size| size.checked_mul(self.first + self.n_rows));
                let (Some(size), Some(_)) = (size, end) else {
                    return invalid(format!("the size of {}", self.kind.shown()));
                };
                let mut bounds = Vec::with_room(self.n_rows + 1, "offsets")?;
                bounds.extend((self.first..=self.first + self.n_rows).map(|row| row * size));
                Ok(bounds)
            }
        }
    }
}
