//! What all workers of an encoder share.

use std::sync::Arc;

use super::cache::Cache;
use super::pool::Pool;
use super::worker::Worker;
use crate::budget::Budget;
use crate::error::Result;
use crate::pretokens::Pretokenizer;
use crate::special::SpecialTokens;
use crate::vocabulary::Vocabulary;

/// The tokenizer, the cache of what was merged, and the workers themselves.
pub(super) struct Shared {
    pub(super) vocabulary: Arc<Vocabulary>,
    pub(super) pretokenizer: Arc<Pretokenizer>,
    pub(super) specials: SpecialTokens,
    pub(super) cache: Cache,
    /// Bounds what a block of documents takes; without a limit except in [`super::Encoder::limited`].
    pub(super) budget: Budget,
    workers: Pool<Worker>,
}

impl Shared {
    pub(super) fn new(
        vocabulary: Arc<Vocabulary>,
        pretokenizer: Arc<Pretokenizer>,
        specials: SpecialTokens,
        cache: Cache,
        budget: Budget,
    ) -> Self {
        Shared { vocabulary, pretokenizer, specials, cache, budget, workers: Pool::new() }
    }

    /// Runs `work` with an idle worker, or a new one if all are busy.
    #[inline]
    pub(super) fn with_worker<T>(&self, work: impl FnOnce(&mut Worker) -> Result<T>) -> Result<T> {
        let work = |worker: &mut Worker| {
            let done = work(worker);
            worker.refresh(&self.cache);
            done
        };
        self.workers.with(|| Worker::new(self), work)
    }

    /// Gives idle workers the newest table of the cache: while one refers to an old table, its memory stays in use.
    #[cold]
    pub(super) fn refresh_idle(&self) {
        self.workers.visit(|worker| worker.refresh(&self.cache));
    }
}
