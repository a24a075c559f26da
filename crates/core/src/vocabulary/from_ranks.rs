//! Merges that follow from the ranks of whole tokens, as in `.tiktoken` files.
//!
//! Such a file lists no merges. Two neighbours merge when their joined bytes are a token, and that token's
//! id is the rank, for every way of cutting the token in two, not only for the one it was once learned by.

use super::{NONE, Vocabulary};
use crate::error::Result;
use crate::memory::TryReserve;

/// What is reserved; named in [`Error::OutOfMemory`](crate::Error::OutOfMemory).
const MERGES: &str = "a table of merges";

/// Every pair of tokens that joins into a token, and that token: left id, right id, made id.
pub(super) fn pairs(vocabulary: &Vocabulary) -> Result<Vec<[u32; 3]>> {
    let mut found = Vec::new();
    for (id, token) in vocabulary.tokens() {
        for cut in 1..token.len() {
            let (left, right) = token.split_at(cut);
            if let (Some(left), Some(right)) = (vocabulary.id_of(left), vocabulary.id_of(right)) {
                found.try_push([left, right, id], MERGES)?;
            }
        }
    }
    Ok(found)
}

/// For each token that merges of smaller rank bring down to two parts: those two parts and the token.
pub(super) fn canonical_merges(vocabulary: &Vocabulary) -> Result<Vec<[u32; 3]>> {
    let mut merges = Vec::new();
    let mut parts = Vec::new();
    for (id, token) in vocabulary.tokens() {
        parts.clear();
        parts.grow(token.len(), MERGES)?;
        parts.extend(token.iter().map_while(|&byte| vocabulary.id_of_byte(byte)));
        if token.len() < 2 || parts.len() < token.len() {
            continue;
        }
        merge_below(vocabulary, &mut parts, id);
        if let &[left, right] = parts.as_slice() {
            merges.try_push([left, right, id], MERGES)?;
        }
    }
    Ok(merges)
}

/// Merges `parts` as far as ranks below `limit` go.
fn merge_below(vocabulary: &Vocabulary, parts: &mut Vec<u32>, limit: u32) {
    loop {
        let ranks = parts.windows(2).map(|pair| vocabulary.pair_rank(pair[0], pair[1]));
        match ranks.enumerate().min_by_key(|&(at, rank)| (rank, at)) {
            Some((at, rank)) if rank != NONE && rank < limit => {
                parts[at] = vocabulary.merged_id(rank);
                parts.remove(at + 1);
            }
            _ => return,
        }
    }
}
