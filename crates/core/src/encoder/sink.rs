//! Where ids go: into an array, or only into a count.

use crate::error::{Error, Result};
use crate::ids::Id;

/// Takes the ids of a text in order.
pub(super) trait Sink {
    /// Takes one id.
    fn put(&mut self, id: u32) -> Result<()>;

    /// Takes several.
    fn extend(&mut self, ids: &[u32]) -> Result<()>;

    /// Whether nothing more is wanted.
    fn is_full(&self) -> bool {
        false
    }
}

/// Appends the ids.
pub(super) struct Ids<'a, I>(pub(super) &'a mut Vec<I>);

impl<I: Id> Sink for Ids<'_, I> {
    fn put(&mut self, id: u32) -> Result<()> {
        self.0.try_reserve(1).map_err(Error::out_of_memory("ids"))?;
        self.0.push(I::from_u32(id));
        Ok(())
    }

    fn extend(&mut self, ids: &[u32]) -> Result<()> {
        self.0.try_reserve(ids.len()).map_err(Error::out_of_memory("ids"))?;
        self.0.extend(ids.iter().map(|&id| I::from_u32(id)));
        Ok(())
    }
}

/// Counts the ids, up to a limit.
pub(super) struct Counter {
    pub(super) n: usize,
    pub(super) limit: usize,
}

impl Sink for Counter {
    fn put(&mut self, _id: u32) -> Result<()> {
        self.n += 1;
        Ok(())
    }

    fn extend(&mut self, ids: &[u32]) -> Result<()> {
        self.n += ids.len();
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.n >= self.limit
    }
}
