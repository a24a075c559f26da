//! Writes the long values of a schema 2 file as JSON: lists of numbers, and the bytes of the tokens. Cost: one pass over the
//! merges and one over the tokens.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::LARGEST_ID;
use super::schema2::MAX_DERIVED_BYTES;
use crate::error::{Error, Result};
use crate::memory::{TryReserve, filled};
use crate::model::{CheckedColumns, Columns};

const WHAT: &str = "a model file";

/// The most bytes of a number in a list, with the comma.
const NUMBER_BYTES: usize = 11;

/// Returns the long values by key.
pub fn lists(columns: &CheckedColumns) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let tokens = &columns.tokens;
    let listed = listed(columns)?;
    let mut blob = Vec::new();
    listed.iter().try_for_each(|&at| blob.try_extend(tokens.token(at), WHAT))?;
    let mut token_bytes = filled(blob.len().div_ceil(3) * 4 + 2, b'"', WHAT)?;
    let inside = 1..token_bytes.len() - 1;
    STANDARD
        .encode_slice(&blob, &mut token_bytes[inside])
        .map_err(|_| Error::Model("token bytes that do not fit".to_owned()))?;
    let lengths = listed.iter().map(|&at| tokens.token(at).len() as u64);
    let mut lists = vec![
        ("made_ids", numbers(runs(columns.merges.iter().map(|merge| merge[2])))?),
        ("merges", numbers(columns.merges.iter().flat_map(|merge| [merge[0], merge[1]]).map(u64::from))?),
        ("token_bytes", token_bytes),
        ("token_ids", numbers(runs(listed.iter().map(|&at| tokens.ids[at])))?),
        ("token_lengths", numbers(lengths)?),
    ];
    if !columns.priorities.is_empty() {
        let priorities = columns.priorities.iter().map(|&priority| u64::from(priority.min(LARGEST_ID)));
        lists.push(("priorities", numbers(priorities)?));
    }
    Ok(lists)
}

/// Returns the indices of tokens whose bytes a reader cannot derive from the merges in one pass in rank order.
fn listed(columns: &Columns) -> Result<Vec<usize>> {
    let ids = &columns.tokens.ids;
    let n_tokens = ids.len();
    let is_dense = ids.last().is_none_or(|&last| last as usize + 1 == n_tokens);
    let index = |id: u32| if is_dense { id as usize } else { ids.partition_point(|&each| each < id) };
    // For each token, the first row that makes it; `usize::MAX` if none does.
    let mut first = filled(n_tokens, usize::MAX, WHAT)?;
    for (row, merge) in columns.merges.iter().enumerate() {
        let made = &mut first[index(merge[2])];
        *made = row.min(*made);
    }
    let mut is_listed = filled(n_tokens, false, WHAT)?;
    for (at, (_, token)) in columns.tokens.iter().enumerate() {
        is_listed[at] = first[at] == usize::MAX || token.len() > MAX_DERIVED_BYTES;
    }
    // A reader cannot derive a token if the row that makes it, or a later one, is the first to make one of its parts.
    for (row, &[left, right, merged]) in columns.merges.iter().enumerate() {
        let is_later = |part: u32| (row..usize::MAX).contains(&first[index(part)]);
        if first[index(merged)] == row && (is_later(left) || is_later(right)) {
            is_listed[index(merged)] = true;
        }
    }
    let mut found = Vec::new();
    found.grow(n_tokens, WHAT)?;
    found.extend((0..n_tokens).filter(|&at| is_listed[at]));
    Ok(found)
}

/// Encodes ids as runs: first, count, first, count, ...
fn runs(ids: impl Iterator<Item = u32> + Clone) -> impl Iterator<Item = u64> + Clone {
    let mut ids = ids.peekable();
    std::iter::from_fn(move || {
        let first = ids.next()?;
        let mut count = 1u32;
        while ids.next_if(|&id| first.checked_add(count) == Some(id)).is_some() {
            count += 1;
        }
        Some([u64::from(first), u64::from(count)])
    })
    .flatten()
}

fn numbers(values: impl Iterator<Item = u64> + Clone) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    text.grow(values.clone().count() * NUMBER_BYTES + 2, WHAT)?;
    text.push(b'[');
    for value in values {
        if text.len() > 1 {
            text.push(b',');
        }
        // Room is reserved, and writing to a vector does not fail.
        let _ = write!(text, "{value}");
    }
    text.push(b']');
    Ok(text)
}
