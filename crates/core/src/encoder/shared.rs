//! What all workers of an encoder share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::cache::Cache;
use crate::budget::Budget;
use crate::pretokens::Pretokenizer;
use crate::special::SpecialTokens;
use crate::vocabulary::Vocabulary;

/// The tokenizer and the cache of what was merged.
pub(super) struct Shared {
    pub(super) vocabulary: Arc<Vocabulary>,
    pub(super) pretokenizer: Arc<Pretokenizer>,
    pub(super) specials: SpecialTokens,
    pub(super) cache: Cache,
    /// Bounds what a block of documents takes; without a limit except in [`super::Encoder::limited`].
    pub(super) budget: Budget,
    /// Set when the cache has a new table: idle workers keep the old one alive until they are refreshed.
    has_new_table: AtomicBool,
}

impl Shared {
    pub(super) fn new(
        vocabulary: Arc<Vocabulary>,
        pretokenizer: Arc<Pretokenizer>,
        specials: SpecialTokens,
        cache: Cache,
        budget: Budget,
    ) -> Self {
        Shared { vocabulary, pretokenizer, specials, cache, budget, has_new_table: AtomicBool::new(false) }
    }

    /// Notes that the cache has a new table.
    pub(super) fn note_new_table(&self) {
        self.has_new_table.store(true, Ordering::Relaxed);
    }

    /// Whether the cache has had a new table since the last call.
    #[inline]
    pub(super) fn take_new_table(&self) -> bool {
        self.has_new_table.load(Ordering::Relaxed) && self.has_new_table.swap(false, Ordering::Relaxed)
    }
}
