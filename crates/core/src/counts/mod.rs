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

/// What literals of special tokens in a corpus mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CorpusSpecials {
    /// Ordinary text; counted for a warning.
    Text,
    /// Boundaries between documents; not part of the text.
    Split,
}

/// How a corpus is counted.
#[derive(Clone)]
pub struct CountOptions {
    /// Splits documents into pretokens.
    pub pretokenizer: Arc<Pretokenizer>,
    /// The special tokens.
    pub specials: Arc<SpecialTokens>,
    /// What literals of special tokens mean.
    pub corpus_specials: CorpusSpecials,
    /// Number of threads; 0: one for each processor.
    pub threads: usize,
    /// Most bytes that tables, arenas and buffers may take together.
    pub max_memory: Option<u64>,
}

impl CountOptions {
    /// Where the texts of the corpus may be cut.
    fn safe_cuts(&self) -> SafeCuts {
        let splits = self.corpus_specials == CorpusSpecials::Split;
        SafeCuts::new(Arc::clone(&self.pretokenizer), Arc::clone(&self.specials), splits)
    }
}
