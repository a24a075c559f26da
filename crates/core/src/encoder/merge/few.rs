//! Merges at most three bytes without a buffer. Text whose characters have no tokens of their own falls apart into such
//! parts.

use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::vocabulary::{NONE, Vocabulary};

/// Appends the ids of `part` to `out` if it has at most three bytes; returns whether it has.
#[inline]
pub(in crate::encoder) fn merge(vocabulary: &Vocabulary, part: &[u8], out: &mut Vec<u32>) -> Result<bool> {
    let own = |byte| match vocabulary.id_of_byte(byte) {
        Some(id) => Ok(id),
        // `ok_or` would create and drop an error for each byte.
        None => Err(Error::MissingByte { byte }),
    };
    out.grow(part.len(), "ids")?;
    match *part {
        [] => {}
        [byte] => out.push(own(byte)?),
        [first, second] => match vocabulary.byte_pair_rank(first, second) {
            NONE => out.extend([own(first)?, own(second)?]),
            rank => out.push(vocabulary.merged_id(rank)),
        },
        [first, second, third] => {
            let ids = [own(first)?, own(second)?, own(third)?];
            let ranks = [(first, second), (second, third)].map(|(a, b)| vocabulary.byte_pair_rank(a, b));
            let [left, right] = match ranks {
                [NONE, NONE] => {
                    out.extend(ids);
                    return Ok(true);
                }
                [before, after] if before <= after => [vocabulary.merged_id(before), ids[2]],
                [_, after] => [ids[0], vocabulary.merged_id(after)],
            };
            match vocabulary.pair_rank(left, right) {
                NONE => out.extend([left, right]),
                rank => out.push(vocabulary.merged_id(rank)),
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}
