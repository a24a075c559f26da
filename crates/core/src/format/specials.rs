//! The special tokens that a caller names for a file that does not list its own.

use crate::error::Result;

/// A special token and its id. Without one it gets the id of the entry with its text, else the next id after the largest.
pub type Special = (String, Option<u32>);

/// Returns distinct special tokens with their ids. `find` returns the id of the entry with a text; `next` is the largest
/// id + 1.
pub(super) fn with_ids(
    specials: &[Special],
    mut next: u32,
    mut find: impl FnMut(&str) -> Result<Option<u32>>,
) -> Result<Vec<(String, u32)>> {
    let with_id = |(literal, id): &Special| {
        let id = id.map_or_else(|| find(literal), |id| Ok(Some(id)))?.unwrap_or_else(|| {
            next += 1;
            next - 1
        });
        Ok((literal.clone(), id))
    };
    specials.iter().map(with_id).collect()
}
