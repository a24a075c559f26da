//! Counts the documents of a corpus, block by block.

use std::path::PathBuf;
use std::sync::Arc;

use crate::corpus::Documents;
use crate::corpus::split::Splitter;
use crate::counts::{CorpusSpecials, CountOptions, Counter, PretokenCounts};
use crate::error::Result;
use crate::monitor::Monitor;
use crate::pretokens::safe_cuts::SafeCuts;
use crate::train::WeightedPretokens;

/// A [`Counter`] that also takes blocks of documents.
pub struct BlockCounter {
    counter: Counter,
    parts: Splitter,
}

impl BlockCounter {
    /// An empty counter.
    pub fn new(options: CountOptions) -> Result<Self> {
        let split = options.corpus_specials == CorpusSpecials::Split;
        let safe_cuts =
            SafeCuts::new(Arc::clone(&options.pretokenizer), Arc::clone(&options.specials), split);
        Ok(BlockCounter { counter: Counter::new(options)?, parts: Splitter::new(safe_cuts) })
    }

    /// As [`Counter::count_texts`].
    pub fn count_texts(&mut self, texts: &[&str], monitor: &dyn Monitor) -> Result<()> {
        self.counter.count_texts(texts, monitor)
    }

    /// As [`Counter::count_files`].
    pub fn count_files(&mut self, paths: &[PathBuf], monitor: &dyn Monitor) -> Result<()> {
        self.counter.count_files(paths, monitor)
    }

    /// As [`Counter::add_counts`].
    pub fn add_counts(&mut self, counts: &PretokenCounts) -> Result<()> {
        self.counter.add_counts(counts)
    }

    /// As [`Counter::add_columns`].
    pub fn add_columns(&mut self, columns: WeightedPretokens<'_>) -> Result<u64> {
        self.counter.add_columns(columns)
    }

    /// As [`Counter::add_totals`].
    pub fn add_totals(&mut self, n_bytes: u64, n_documents: u64, n_special_literals: u64) {
        self.counter.add_totals(n_bytes, n_documents, n_special_literals);
    }

    /// Counts the documents of a block, except for text at its end that is not final. Meanwhile whoever reads them holds
    /// `n_bytes_read` bytes.
    pub fn count_block(
        &mut self,
        documents: &Documents,
        n_bytes_read: usize,
        monitor: &dyn Monitor,
    ) -> Result<()> {
        // Both count towards `max_memory`, and so does text that is kept for the next block.
        let n_held = self.parts.n_kept().saturating_add(n_bytes_read);
        self.counter.hold(n_held)?;
        let counter = &mut self.counter;
        let done = self.parts.with(documents, |texts| counter.count_texts(&texts.texts, monitor));
        self.counter.release(n_held);
        done
    }

    /// The counts of everything given.
    pub fn finish(self) -> Result<PretokenCounts> {
        let mut counts = self.counter.finish()?;
        // The parts of a divided document were counted as documents.
        let n_documents = counts.n_documents().saturating_sub(self.parts.n_cuts);
        counts.set_totals(counts.n_bytes(), n_documents, counts.n_special_literals());
        Ok(counts)
    }
}
