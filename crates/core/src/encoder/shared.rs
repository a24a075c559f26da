//! What all workers of an encoder share.

use std::sync::Arc;

use super::cache::Cache;
use crate::pretokens::Pretokenizer;
use crate::special::SpecialTokens;
use crate::vocabulary::Vocabulary;

/// Gives idle workers the newest table of the cache: a worker that refers to an old table keeps its memory in use.
pub(super) type RefreshIdle = Box<dyn Fn(&Cache) + Send + Sync>;

/// The tokenizer and its cache.
pub(super) struct Shared {
    pub(super) vocabulary: Arc<Vocabulary>,
    pub(super) pretokenizer: Arc<Pretokenizer>,
    pub(super) specials: Arc<SpecialTokens>,
    pub(super) cache: Cache,
    refresh_idle: RefreshIdle,
}

impl Shared {
    pub(super) fn new(
        vocabulary: Arc<Vocabulary>,
        pretokenizer: Arc<Pretokenizer>,
        specials: Arc<SpecialTokens>,
        cache: Cache,
        refresh_idle: RefreshIdle,
    ) -> Self {
        Shared { vocabulary, pretokenizer, specials, cache, refresh_idle }
    }

    /// Must be called when the cache has a new table.
    #[cold]
    pub(super) fn refresh_idle(&self) {
        (self.refresh_idle)(&self.cache);
    }
}
