//! The definition of merging a pretoken: the pair of lowest rank, leftmost first, until no pair merges.
//!
//! Too simple to be wrong; the tests compare the other implementations with it.

use crate::error::{Error, Result};
use crate::vocabulary::Vocabulary;

/// Returns the ids of a pretoken, in quadratic time.
pub fn encode_pretoken(vocabulary: &Vocabulary, pretoken: &[u8]) -> Result<Vec<u32>> {
    if vocabulary.ignores_merges()
        && let Some(id) = vocabulary.id_of(pretoken)
    {
        return Ok(vec![id]);
    }
    let byte_id = |&byte: &u8| vocabulary.id_of(&[byte]).ok_or(Error::MissingByte { byte });
    let mut ids = pretoken.iter().map(byte_id).collect::<Result<Vec<u32>>>()?;
    loop {
        let mut best: Option<(u32, u32, usize)> = None;
        for at in 1..ids.len() {
            if let Some((rank, merged_id)) = vocabulary.pair(ids[at - 1], ids[at])
                && best.is_none_or(|(lowest, _, _)| rank < lowest)
            {
                best = Some((rank, merged_id, at - 1));
            }
        }
        let Some((_, merged_id, at)) = best else { return Ok(ids) };
        ids[at] = merged_id;
        ids.remove(at + 1);
    }
}
