//! What all workers of an encoder share.

use std::sync::Arc;

use super::cache::Cache;
use crate::budget::Budget;
use crate::pretokens::Pretokenizer;
use crate::special::SpecialTokens;
use crate::vocabulary::Vocabulary;

/// Gives idle workers the newest table of the cache: while one refers to an old table, its memory stays in use.
pub(super) type RefreshIdle = Box<dyn Fn(&Cache) + Send + Sync>;

/// The tokenizer and the cache of what was merged.
pub(super) struct Shared {
    pub(super) vocabulary: Arc<Vocabulary>,
    pub(super) pretokenizer: Arc<Pretokenizer>,
    pub(super) specials: SpecialTokens,
    pub(super) cache: Cache,
    /// Bounds what a block of documents takes; without a limit except in [`super::Encoder::limited`].
    pub(super) budget: Budget,
    refresh_idle: RefreshIdle,
}

impl Shared {
    pub(super) fn new(
        vocabulary: Arc<Vocabulary>,
        pretokenizer: Arc<Pretokenizer>,
        specials: SpecialTokens,
        cache: Cache,
        budget: Budget,
        refresh_idle: RefreshIdle,
    ) -> Self {
        Shared { vocabulary, pretokenizer, specials, cache, budget, refresh_idle }
    }

    /// To be called when the cache has a new table.
    #[cold]
    pub(super) fn refresh_idle(&self) {
        (self.refresh_idle)(&self.cache);
    }
}
