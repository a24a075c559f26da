//! Counts the documents of a corpus, block by block.

use std::sync::Arc;

use crate::corpus::Documents;
use crate::corpus::split::Splitter;
use crate::counts::{CorpusSpecials, CountOptions, Counter, PretokenCounts};
use crate::error::Result;
use crate::monitor::Monitor;
use crate::pretokens::safe_cuts::SafeCuts;

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

    /// The counter, for texts, files and counts that are not blocks.
    pub fn counter(&mut self) -> &mut Counter {
        &mut self.counter
    }

    /// Counts the documents of a block, without text at its end that is not final yet. The caller holds `n_bytes_read`
    /// bytes for reading at the same time.
    pub fn count_block(
        &mut self,
        documents: &Documents,
        n_bytes_read: usize,
        monitor: &dyn Monitor,
    ) -> Result<()> {
        // What the reader holds counts towards `max_memory`, and so does text kept for the next block, which is copied
        // when it grows.
        let n_held = n_bytes_read.saturating_add(2 * self.parts.n_kept());
        self.counter.hold(n_held)?;
        let counter = &mut self.counter;
        let done = self.parts.with(documents, |texts| counter.count_texts(&texts.texts, monitor));
        self.counter.release(n_held);
        done
    }

    /// The counts of everything that was added.
    pub fn finish(self) -> Result<PretokenCounts> {
        let mut counts = self.counter.finish()?;
        // Each part of a divided document was counted as a document.
        let n_documents = counts.n_documents().saturating_sub(self.parts.n_cuts);
        counts.set_totals(counts.n_bytes(), n_documents, counts.n_special_literals());
        Ok(counts)
    }
}
