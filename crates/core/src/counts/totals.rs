//! Sums that must not overflow: the totals of a corpus.

use crate::error::{Error, Result};

/// The totals of a corpus.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// Bytes as read, including literals of special tokens.
    pub n_bytes: u64,
    /// Documents of at least one byte.
    pub n_documents: u64,
    /// Literals of special tokens, whether or not they were counted as text.
    pub n_special_literals: u64,
}

impl Totals {
    /// Adds totals; [`Error::Counts`] if one exceeds 64 bits.
    pub(super) fn plus(self, other: Totals) -> Result<Totals> {
        Ok(Totals {
            n_bytes: sum([self.n_bytes, other.n_bytes])?,
            n_documents: sum([self.n_documents, other.n_documents])?,
            n_special_literals: sum([self.n_special_literals, other.n_special_literals])?,
        })
    }
}

/// Returns the sum, or [`Error::Counts`] if it exceeds 64 bits.
pub(super) fn sum(counts: impl IntoIterator<Item = u64>) -> Result<u64> {
    let sum: u128 = counts.into_iter().map(u128::from).sum();
    u64::try_from(sum).map_err(|_| {
        Error::Counts(format!("counts: they add up to {sum}, which exceeds 2**64 - 1; the parts are damaged"))
    })
}
