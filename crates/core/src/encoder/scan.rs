//! Merging a short pretoken: scan for the lowest rank, merge, repeat.
//!
//! Enters: at most [`MOST_BYTES`] bytes. Leaves: their ids. Everything lives on the stack. Quadratic, but
//! below that length cheaper than any queue.

use crate::error::{Error, Result};
use crate::vocabulary::{NONE, Vocabulary};

/// The longest pretoken that is merged this way.
pub(super) const MOST_BYTES: usize = 48;

/// The ids of a short pretoken, at the front of an array, and how many.
pub(super) fn merge(vocabulary: &Vocabulary, pretoken: &[u8]) -> Result<([u32; MOST_BYTES], usize)> {
    let mut ids = [0u32; MOST_BYTES];
    // ranks[i] is that of the pair (i, i + 1); one NONE past the last.
    let mut ranks = [NONE; MOST_BYTES + 1];
    let mut n = pretoken.len();
    for (id, &byte) in ids.iter_mut().zip(pretoken) {
        *id = vocabulary.id_of_byte(byte).ok_or(Error::MissingByte { byte })?;
    }
    for (rank, pair) in ranks.iter_mut().zip(pretoken.windows(2)) {
        *rank = vocabulary.byte_pair_rank(pair[0], pair[1]);
    }
    loop {
        let (mut lowest, mut at) = (NONE, 0);
        for (i, &rank) in ranks[..n].iter().enumerate() {
            if rank < lowest {
                (lowest, at) = (rank, i);
            }
        }
        if lowest == NONE {
            return Ok((ids, n));
        }
        ids[at] = vocabulary.made(lowest);
        ids.copy_within(at + 2..n, at + 1);
        ranks.copy_within(at + 2..n, at + 1);
        n -= 1;
        ranks[n - 1] = NONE;
        if at > 0 {
            ranks[at - 1] = vocabulary.pair_rank(ids[at - 1], ids[at]);
        }
        if at + 1 < n {
            ranks[at] = vocabulary.pair_rank(ids[at], ids[at + 1]);
        }
    }
}
