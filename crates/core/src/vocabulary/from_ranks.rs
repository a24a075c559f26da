//! The merges of a vocabulary whose ids are ranks, as in `.tiktoken` files.
//!
//! Such a file lists no merges. Two adjacent tokens merge if their joined bytes are a token, at that token's rank. That
//! holds for each way to split the token in two, not only for the one that training found.

use super::{Vocabulary, rank_merges};
use crate::error::Result;
use crate::memory::TryReserve;

/// Named in the message of [`Error::OutOfMemory`](crate::Error::OutOfMemory).
const MERGES: &str = "a table of merges";

/// Returns every pair of tokens whose joined bytes are a token: left id, right id, merged id.
///
/// Tokens are cut only where both parts have the length of some token. Tokens of `n` bytes in total have at most
/// `sqrt(2 n)` different lengths, so even one huge token takes little time.
pub(super) fn pairs(vocabulary: &Vocabulary) -> Result<Vec<[u32; 3]>> {
    let longest = vocabulary.tokens().map(|(_, token)| token.len()).max().unwrap_or(0);
    let mut is_length = Vec::with_reserved(longest + 1, MERGES)?;
    is_length.resize(longest + 1, false);
    vocabulary.tokens().for_each(|(_, token)| is_length[token.len()] = true);
    let n_lengths = is_length.iter().filter(|&&is_length| is_length).count();
    let mut lengths = Vec::with_reserved(n_lengths, MERGES)?;
    lengths.extend((1..=longest).filter(|&length| is_length[length]));
    let mut found = Vec::new();
    for (id, token) in vocabulary.tokens() {
        for &cut in lengths.iter().take_while(|&&cut| cut < token.len()) {
            if !is_length[token.len() - cut] {
                continue;
            }
            let (left, right) = token.split_at(cut);
            // At a third of the cuts the left part is not a token, so the right part need not be hashed.
            if let Some(left) = vocabulary.id_of(left)
                && let Some(right) = vocabulary.id_of(right)
            {
                found.try_push([left, right, id], MERGES)?;
            }
        }
    }
    Ok(found)
}

/// Returns one merge for each token that merging can make ([`rank_merges`]): left id, right id, merged id.
pub(super) fn canonical_merges(vocabulary: &Vocabulary) -> Result<Vec<[u32; 3]>> {
    let mut ids = Vec::with_reserved(vocabulary.n_tokens(), MERGES)?;
    let (mut bytes, mut ends) = (Vec::new(), Vec::with_reserved(vocabulary.n_tokens(), MERGES)?);
    for (id, token) in vocabulary.tokens() {
        ids.push(id);
        bytes.try_extend(token, MERGES)?;
        ends.push(bytes.len() as u64);
    }
    // Tokens are in the order of their ids, which are their ranks.
    let mut merges = rank_merges::pairs(&bytes, &ends)?.rows;
    for merge in &mut merges {
        *merge = merge.map(|token| ids[token as usize]);
    }
    // A token that contains a byte without a token cannot be made from bytes.
    let has_bytes = |id: u32| {
        vocabulary
            .token(id)
            .is_some_and(|token| token.iter().all(|&byte| vocabulary.id_of_byte(byte).is_some()))
    };
    merges.retain(|merge| has_bytes(merge[2]));
    Ok(merges)
}
