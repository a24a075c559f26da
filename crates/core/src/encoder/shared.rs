//! The data that all workers of an encoder share.

use std::sync::{Arc, OnceLock};

use super::cache::Cache;
use super::words::{EncodeWords, Words};
use crate::error::Result;
use crate::pretokens::Pretokenizer;
use crate::special::SpecialTokens;
use crate::vocabulary::Vocabulary;

/// Gives idle workers the newest table of the cache: a worker that refers to an old table keeps its memory in use.
pub(super) type RefreshIdle = Box<dyn Fn(&Cache) + Send + Sync>;

/// Creates a function that encodes words with another vocabulary.
pub(super) type NewEncoder = Box<dyn Fn(Arc<Vocabulary>) -> Result<EncodeWords> + Send + Sync>;

/// The tokenizer and its cache.
pub(super) struct EncoderData {
    pub(super) vocabulary: Arc<Vocabulary>,
    pub(super) pretokenizer: Arc<Pretokenizer>,
    pub(super) specials: Arc<SpecialTokens>,
    pub(super) cache: Cache,
    refresh_idle: RefreshIdle,
    new_encoder: NewEncoder,
    words: OnceLock<Option<Box<Words>>>,
}

impl EncoderData {
    pub(super) fn new(
        vocabulary: Arc<Vocabulary>,
        pretokenizer: Arc<Pretokenizer>,
        specials: Arc<SpecialTokens>,
        cache: Cache,
        refresh_idle: RefreshIdle,
        new_encoder: NewEncoder,
    ) -> Self {
        let words = OnceLock::new();
        EncoderData { vocabulary, pretokenizer, specials, cache, refresh_idle, new_encoder, words }
    }

    /// Returns the vocabulary's words, which are found on the first call; `None` if they are of no use.
    pub(super) fn words(&self) -> Result<Option<&Words>> {
        let words = match self.words.get() {
            Some(words) => words,
            None => {
                let found = Words::new(&self.vocabulary, &self.new_encoder)?;
                self.words.get_or_init(|| found)
            }
        };
        Ok(words.as_deref())
    }

    /// Makes [`words`](Self::words) return `None`: words have no words.
    pub(super) fn cut_no_words(&self) {
        self.words.get_or_init(|| None);
    }

    /// Must be called when the cache has a new table.
    #[cold]
    pub(super) fn refresh_idle(&self) {
        (self.refresh_idle)(&self.cache);
    }
}
