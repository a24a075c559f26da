//! Merging one pretoken: always the mergeable pair of lowest rank, leftmost first, until none is left.
//!
//! [`naive`] is the definition. Three engines give the same ids, each for the lengths where it is the fastest:
//!
//! | engine | pretokens | cost |
//! |---|---|---|
//! | [`short`] | up to 48 bytes | n passes over n ranks that stay in registers and the first-level cache |
//! | [`heap`] | up to 32 KB | n log n, a binary heap of candidate pairs |
//! | [`by_rank`] | longer | n log n, candidate pairs in lists by rank, memory accessed in order |

pub(super) mod by_rank;
pub(super) mod heap;
pub mod naive;
pub(super) mod short;
mod spans;
mod symbols;
