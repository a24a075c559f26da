//! The special tokens that a caller names for a file that does not list its own.

use crate::error::Result;

/// Distinct special tokens.
pub enum Specials {
    /// With ids.
    At(Vec<(String, u32)>),
    /// Without ids: each gets the id of the entry with its text, else the next id after the largest.
    Next(Vec<String>),
}

impl Default for Specials {
    fn default() -> Self {
        Specials::At(Vec::new())
    }
}

impl Specials {
    /// Returns the special tokens with their ids. `find` returns the id of the entry with a text; `next` is the largest id + 1.
    pub fn ids(
        &self,
        mut next: u32,
        mut find: impl FnMut(&str) -> Result<Option<u32>>,
    ) -> Result<Vec<(String, u32)>> {
        let literals = match self {
            Specials::At(ids) => return Ok(ids.clone()),
            Specials::Next(literals) => literals,
        };
        let with_id = |literal: &String| {
            let id = find(literal)?.unwrap_or_else(|| {
                next += 1;
                next - 1
            });
            Ok((literal.clone(), id))
        };
        literals.iter().map(with_id).collect()
    }
}
