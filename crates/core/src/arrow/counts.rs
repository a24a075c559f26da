//! Tables of pretokens and counts: columns `pretoken` of bytes and `count` of integers.

use super::export::Column;
use super::import::{Chunked, invalid};
use super::rows::{Rows, is_set};
use crate::counts::PretokenCounts;
use crate::error::{Error, Result};
use crate::memory::TryReserve;

/// Pretokens one after the other, where each ends, and their counts.
pub type CountColumns = (Vec<u8>, Vec<u64>, Vec<u64>);

const COLUMNS: &str = "the columns of the counts";

impl Chunked {
    /// The columns `pretoken` and `count` of a table.
    pub fn counts(&self) -> Result<CountColumns> {
        let kind = self.kind()?;
        let names = (0..kind.n_children()).map(|index| kind.child(index).map(|child| child.name()));
        let names = names.collect::<Result<Vec<_>>>()?;
        let index_of = |name: &str| match names.iter().position(|&other| other == name) {
            Some(index) if kind.format == "+s" => Ok(index),
            _ => invalid(format!(
                "counts are a table with the columns \"pretoken\" and \"count\"; this is {} with {names:?}",
                kind.shown()
            )),
        };
        let (pretoken, count) = (index_of("pretoken")?, index_of("count")?);
        if kind.child(count)?.dictionary().is_some() {
            // Its integers would be indices.
            return invalid("the column \"count\" is a dictionary; cast it to int64".to_owned());
        }
        let (mut bytes, mut ends, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        for chunk in self.chunks() {
            let chunk = chunk?;
            let mut rows = Rows::default();
            chunk.field(pretoken)?.push_bytes(&mut rows)?;
            for (index, row) in rows.items.iter().enumerate() {
                if row.0.is_empty() {
                    let row = counts.len() + index;
                    return Err(Error::Counts(format!(
                        "row {row}: the pretoken is null or empty; leave such rows out"
                    )));
                }
                bytes.try_extend(row.0, COLUMNS)?;
                ends.try_push(bytes.len() as u64, COLUMNS)?;
            }
            let column = chunk.field(count)?;
            let valid = column.validity()?;
            column.integers(&mut |row, count| match u64::try_from(count) {
                Ok(count) if is_set(valid, row) => counts.try_push(count, COLUMNS),
                _ => Err(Error::Counts(format!(
                    "row {}: the count is {}; counts are at least 0",
                    counts.len(),
                    if is_set(valid, row) { count.to_string() } else { "null".into() }
                ))),
            })?;
        }
        Ok((bytes, ends, counts))
    }
}

impl PretokenCounts {
    /// A table of the columns `pretoken` (large_binary) and `count` (int64), in the order of the pretokens' bytes, with
    /// these key-value pairs in its schema.
    pub fn to_table(&self, metadata: &[(Vec<u8>, Vec<u8>)]) -> Result<Column> {
        let (bytes, ends, counts) = self.sorted()?.into_columns();
        let n_rows = counts.len();
        let mut offsets = Vec::with_room(n_rows + 1, COLUMNS)?;
        offsets.push(0i64);
        offsets.extend(ends.iter().map(|&end| end as i64));
        if let Some(count) = counts.iter().find(|&&count| i64::try_from(count).is_err()) {
            return Err(Error::Counts(format!("a count of {count}, which int64 cannot hold")));
        }
        // Below 2^63, u64 and i64 are the same bits.
        let pretokens = Column::new(c"Z", c"pretoken", n_rows, vec![offsets.into(), bytes.into()]);
        let counts = Column::new(c"l", c"count", n_rows, vec![counts.into()]);
        let table = Column::new(c"+s", c"", n_rows, Vec::new()).with_children(vec![pretokens, counts]);
        Ok(table.with_metadata(metadata))
    }
}
