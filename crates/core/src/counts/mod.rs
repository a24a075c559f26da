//! Counts the distinct pretokens of a corpus.
//!
//! - `counter.rs` takes texts, files and blocks of documents.
//! - `jobs.rs` divides them among threads; large files are cut into parts (`part.rs`).
//! - `count_batch.rs` is the hot loop. Each thread counts the pretokens that it sees often in its own table
//!   (`local_table.rs`, `local_counts.rs`) and passes the rest on to the table that all threads share
//!   (`shared_table.rs`), many at a time (`partition_log.rs`).
//! - `pretoken_counts.rs` is the result: columns of pretokens and counts.
//!
//! The counts of parts add up to the counts of the whole, in any order, so the result depends neither on the number of
//! threads nor on the order of documents.

mod count_batch;
mod counter;
mod jobs;
mod local_counts;
mod local_table;
mod long_table;
mod merge;
mod part;
mod partition_log;
mod pretoken_counts;
mod shared_table;
mod short_key_table;
mod table_memory;
mod totals;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::pretokens::Pretokenizer;
use crate::pretokens::safe_cuts::SafeCuts;
use crate::special::SpecialTokens;

pub use counter::Counter;
pub use merge::check_ascending;
#[doc(hidden)]
pub use part::Plan;
pub use pretoken_counts::PretokenCounts;
pub use totals::Totals;

/// How special tokens that occur literally in a corpus are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CorpusSpecials {
    /// As ordinary text. They are counted, for a warning.
    Text,
    /// As boundaries between documents, not as text.
    Split,
}

/// Options for counting a corpus.
#[derive(Clone)]
pub struct CountOptions {
    /// Splits documents into pretokens.
    pub pretokenizer: Arc<Pretokenizer>,
    /// The special tokens.
    pub specials: Arc<SpecialTokens>,
    /// How special tokens in the text are treated.
    pub corpus_specials: CorpusSpecials,
    /// Number of threads; 0 means one per processor.
    pub threads: usize,
    /// Limit on the bytes of all tables, arenas and buffers together.
    pub max_memory: Option<u64>,
}

impl CountOptions {
    /// Returns the rules for where texts of the corpus can be cut.
    fn safe_cuts(&self) -> SafeCuts {
        let splits = self.corpus_specials == CorpusSpecials::Split;
        SafeCuts::new(Arc::clone(&self.pretokenizer), Arc::clone(&self.specials), splits)
    }
}
