//! The result of counting: distinct pretokens and their counts, as columns.
//!
//! Enters: columns, from the counter, from a file or from other counts. Leaves: columns in which each
//! pretoken stands once. Cost: adding is one hash operation per entry, sorting n log n comparisons of
//! eight-byte prefixes. Invariants: `ends` ascends strictly, its last member is `bytes.len()`, `counts`
//! is as long as `ends` and holds no zero, no two pretokens are equal.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

use crate::error::{Error, Result};
use crate::merges::WeightedPretokens;

/// Distinct pretokens with their counts: a commutative monoid under [`PretokenCounts::merge`].
#[derive(Clone, Debug, Default)]
pub struct PretokenCounts {
    bytes: Vec<u8>,
    ends: Vec<u64>,
    counts: Vec<u64>,
    n_bytes: u64,
    n_documents: u64,
    n_special_literals: u64,
}

/// What is reserved when columns grow; named in [`Error::OutOfMemory`].
const COLUMNS: &str = "the columns of the counts";

impl PretokenCounts {
    /// How many distinct pretokens there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of the corpus as read, special literals included.
    pub fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// Documents that hold at least one byte.
    pub fn n_documents(&self) -> u64 {
        self.n_documents
    }

    /// Special literals in the corpus: counted as text or removed, as the counter was told.
    pub fn n_special_literals(&self) -> u64 {
        self.n_special_literals
    }

    /// The columns, in no order that means anything.
    pub fn columns(&self) -> WeightedPretokens<'_> {
        WeightedPretokens { bytes: &self.bytes, ends: &self.ends, counts: &self.counts }
    }

    /// The pretokens and their counts, in the order of the columns.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> + '_ {
        (0..self.len()).map(|index| (self.pretoken(index), self.counts[index]))
    }

    /// Counts out of columns that may come from anywhere: checked, equal pretokens summed, zero counts
    /// dropped.
    pub fn from_columns(
        bytes: Vec<u8>,
        ends: Vec<u64>,
        counts: Vec<u64>,
        n_bytes: u64,
        n_documents: u64,
        n_special_literals: u64,
    ) -> Result<Self> {
        if ends.len() != counts.len() {
            return Err(Error::Invalid(format!(
                "counts: {} pretokens have {} counts; give one count to each pretoken",
                ends.len(),
                counts.len()
            )));
        }
        if ends.last().copied().unwrap_or(0) != bytes.len() as u64 {
            return Err(Error::Invalid(format!(
                "counts: the last pretoken ends at {}, but there are {} bytes; the two must agree",
                ends.last().copied().unwrap_or(0),
                bytes.len()
            )));
        }
        let mut start = 0;
        for (index, &end) in ends.iter().enumerate() {
            if end <= start {
                return Err(Error::Invalid(format!(
                    "counts: pretoken {index} ends at {end} and starts at {start}; ends must ascend and \
                     no pretoken may be empty"
                )));
            }
            start = end;
        }
        let columns = PretokenCounts { bytes, ends, counts, n_bytes, n_documents, n_special_literals };
        PretokenCounts::merge(&[&columns])
    }

    /// The sum: each pretoken once, with the sum of its counts; the totals are added too.
    pub fn merge(parts: &[&PretokenCounts]) -> Result<PretokenCounts> {
        let mut sum = PretokenCounts::default();
        let hasher = DefaultHashBuilder::default();
        let mut places: HashTable<usize> = HashTable::new();
        for part in parts {
            sum.n_bytes = add(sum.n_bytes, part.n_bytes)?;
            sum.n_documents = add(sum.n_documents, part.n_documents)?;
            sum.n_special_literals = add(sum.n_special_literals, part.n_special_literals)?;
            for (pretoken, count) in part.iter() {
                if count == 0 {
                    continue;
                }
                let hash = hasher.hash_one(pretoken);
                if let Some(&place) = places.find(hash, |&place| sum.pretoken(place) == pretoken) {
                    sum.counts[place] = add(sum.counts[place], count)?;
                    continue;
                }
                places
                    .try_reserve(1, |&place| hasher.hash_one(sum.pretoken(place)))
                    .map_err(Error::out_of_memory("the table that adds counts"))?;
                let place = sum.len();
                places.insert_unique(hash, place, |&place| hasher.hash_one(sum.pretoken(place)));
                sum.push(pretoken, count)?;
            }
        }
        Ok(sum)
    }

    /// The same counts ordered by the bytes of the pretokens: the canonical order of files and listings.
    pub fn sorted(&self) -> Result<PretokenCounts> {
        let mut order: Vec<(u64, usize)> = Vec::new();
        order.try_reserve_exact(self.len()).map_err(Error::out_of_memory("the order of the counts"))?;
        order.extend((0..self.len()).map(|index| (prefix(self.pretoken(index)), index)));
        // Equal prefixes are equal bytes or differ after them or in length: then all bytes decide.
        order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.pretoken(a.1).cmp(self.pretoken(b.1))));
        let mut sorted = PretokenCounts {
            n_bytes: self.n_bytes,
            n_documents: self.n_documents,
            n_special_literals: self.n_special_literals,
            ..PretokenCounts::default()
        };
        sorted.reserve(self.len(), self.bytes.len())?;
        for (_, index) in order {
            sorted.push(self.pretoken(index), self.counts[index])?;
        }
        Ok(sorted)
    }

    /// Pretoken `index`; `index` is less than `len()`.
    fn pretoken(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.bytes[start..self.ends[index] as usize]
    }

    /// Makes room for that many more pretokens and bytes of them.
    pub(super) fn reserve(&mut self, n_pretokens: usize, n_bytes: usize) -> Result<()> {
        self.bytes.try_reserve_exact(n_bytes).map_err(Error::out_of_memory(COLUMNS))?;
        self.ends.try_reserve_exact(n_pretokens).map_err(Error::out_of_memory(COLUMNS))?;
        self.counts.try_reserve_exact(n_pretokens).map_err(Error::out_of_memory(COLUMNS))
    }

    /// Appends a pretoken that is not there yet.
    pub(super) fn push(&mut self, pretoken: &[u8], count: u64) -> Result<()> {
        self.bytes.try_reserve(pretoken.len()).map_err(Error::out_of_memory(COLUMNS))?;
        self.ends.try_reserve(1).map_err(Error::out_of_memory(COLUMNS))?;
        self.counts.try_reserve(1).map_err(Error::out_of_memory(COLUMNS))?;
        self.bytes.extend_from_slice(pretoken);
        self.ends.push(self.bytes.len() as u64);
        self.counts.push(count);
        Ok(())
    }

    /// Sets the totals.
    pub(super) fn set_totals(&mut self, n_bytes: u64, n_documents: u64, n_special_literals: u64) {
        self.n_bytes = n_bytes;
        self.n_documents = n_documents;
        self.n_special_literals = n_special_literals;
    }
}

/// Adds counts; more than a `u64` holds is an error, never a wrapped count.
fn add(a: u64, b: u64) -> Result<u64> {
    a.checked_add(b)
        .ok_or_else(|| Error::Invalid("counts: a sum exceeds 2**64 - 1; the parts are damaged".into()))
}

/// The first eight bytes as a number that orders as they do.
fn prefix(pretoken: &[u8]) -> u64 {
    let mut first = [0; 8];
    let n = pretoken.len().min(8);
    first[..n].copy_from_slice(&pretoken[..n]);
    u64::from_be_bytes(first)
}
