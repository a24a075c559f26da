//! Merging one pretoken: always the pair of lowest rank, leftmost first, until no pair merges.
//!
//! [`naive`] is the definition. Four implementations return the same ids; each is used for the lengths where it is
//! fastest:
//!
//! | module | pretokens | time and memory |
//! |---|---|---|
//! | `few` | parts of up to 3 bytes | a step for each merge |
//! | `short` | up to 48 bytes | n scans over n ranks in registers and the first-level cache |
//! | `heap` | up to 32 KB | n log n; a binary heap of candidate pairs |
//! | `by_rank` | longer | n log n; candidate pairs in a list for each rank, memory read in order |
//!
//! `symbols` merges a short list of symbols: those that merging each word of a line has left (`encoder::words`), and the
//! characters of a unit, if a vocabulary's merging starts with characters. `characters` merges longer units by a heap.
//!
//! Before bytes are merged, a pretoken is split wherever no token spans the boundary (`Vocabulary::parts`).

pub(super) mod by_rank;
pub(super) mod characters;
pub(super) mod few;
pub(super) mod heap;
pub mod naive;
pub(super) mod short;
pub(super) mod spans;
pub(super) mod symbols;
