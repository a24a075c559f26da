//! Documents to counts.
//!
//! Enters: texts, or files of UTF-8, with the pattern and the special tokens. Leaves:
//! [`PretokenCounts`], every distinct pretoken with the number of times it occurs. Counts are a
//! commutative monoid: counts of parts, added, are the counts of the whole, so neither the number of
//! threads nor the order of the documents can show in the result.

mod block_counter;
mod count_batch;
mod counter;
mod cut_points;
mod jobs;
mod local_counts;
mod local_table;
mod merge;
mod pretoken_counts;
mod range;
mod shared_table;
mod short_key_table;

#[cfg(test)]
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::corpus::InputErrors;
use crate::pretokens::Pretokenizer;
use crate::special::SpecialTokens;

pub use block_counter::BlockCounter;
pub use counter::Counter;
pub use pretoken_counts::PretokenCounts;
#[doc(hidden)]
pub use range::Plan;

/// What special literals in the corpus are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CorpusSpecials {
    /// Ordinary text, counted for a warning.
    Text,
    /// Removed; each is a boundary between documents.
    Split,
}

/// How a corpus is counted.
#[derive(Clone)]
pub struct CountOptions {
    /// Splits documents into pretokens.
    pub pretokenizer: Arc<Pretokenizer>,
    /// The literals that [`CountOptions::corpus_specials`] is about.
    pub specials: Arc<SpecialTokens>,
    /// What special literals in the corpus are.
    pub corpus_specials: CorpusSpecials,
    /// What happens to bytes of a file that are not UTF-8.
    pub input_errors: InputErrors,
    /// Threads to use; 0 means all there are.
    pub threads: usize,
    /// Most bytes that tables, arenas and buffers may take together.
    pub max_memory: Option<u64>,
    /// Bytes in the whole corpus where the caller knows them: the total that
    /// [`Counter::count_texts`] reports. Without it the total is what is done.
    pub total_hint: Option<u64>,
}
