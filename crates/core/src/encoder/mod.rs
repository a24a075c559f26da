//! Encodes text to ids.
//!
//! Special tokens divide a text into documents, the pretokenizer divides each document into pretokens, and each
//! pretoken is merged on its own: the pair of lowest rank first, leftmost first, until no pair merges
//! ([`merge::naive`] is the definition, in ten lines). A bounded cache shared by all threads keeps the ids of
//! pretokens, so nearly every pretoken is looked up, not merged.
//!
//! - `worker.rs`: one text on one thread, its special tokens and documents.
//! - `encode_loop.rs`: the hot loop over pretokens. `cache/`: lookup. `merge/`: merging. `words.rs`: long pretokens.
//! - What can be encoded: many texts (`batch.rs`), one long text (`parts.rs`), a file (`file.rs`), text that arrives
//!   in parts (`stream.rs`), text that grows and is never done (`session.rs`), a corpus (`block_encoder.rs`).

mod batch;
mod block_encoder;
mod cache;
pub mod dropout;
mod encode_loop;
mod file;
pub mod merge;
mod output;
mod parts;
mod pool;
mod pretoken_ids;
mod pretokens_of_text;
mod session;
mod shared;
mod special_literals;
mod stream;
mod words;
mod worker;

use std::sync::Arc;

use crate::cpu::CpuTier;
use crate::error::{Error, Result};
use crate::ids::Id;
use crate::monitor::{Monitor, OnProgress, Stage};
use crate::parallel::{self, OrderedJobs};
use crate::pretokens::key::KeyHasher;
use crate::pretokens::safe_cuts::SafeCuts;
use crate::pretokens::{Place, Pretokenizer};
use crate::special::SpecialTokens;
use crate::vocabulary::Vocabulary;

use cache::Cache;
use output::Ids;
use pool::Pool;
use pretokens_of_text::{DocumentEnds, Pretokens};
use shared::EncoderData;
use words::EncodeWords;
use worker::Worker;

pub use block_encoder::{BlockEncoder, BlockOptions, BlockSource, Encoded};
pub use parts::MIN_UNITS_IN_PARTS;
pub use session::{Change, Replaced, Session};
pub use special_literals::{LiteralCount, LiteralCounts, Specials};
pub use stream::StreamEncoder;

/// Options that do not change the ids.
#[derive(Clone, Copy, Debug)]
pub struct EncoderOptions {
    /// Upper bound on the bytes of the cache, which all threads share; 1.5 times that while its table is replaced. If
    /// pretokens are whole lines, a second cache of the same size holds their words.
    pub cache_bytes: usize,
    /// The instructions to use. [`Encoder::new`] fails if the processor lacks them.
    pub tier: CpuTier,
}

impl Default for EncoderOptions {
    fn default() -> Self {
        EncoderOptions { cache_bytes: 96 << 20, tier: CpuTier::best() }
    }
}

/// What the literals of special tokens in a text become.
#[derive(Clone, Copy, Default)]
pub enum SpecialPolicy<'a> {
    /// Ids, for all special tokens of the encoder.
    #[default]
    All,
    /// Ordinary text.
    None,
    /// Ordinary text; each literal is counted, or is an error, as the [`LiteralCounts`] say.
    Counted(&'a LiteralCounts<'a>),
    /// Ids if they are in `allowed`, [`Error::DisallowedSpecial`] if in `disallowed`, otherwise ordinary text.
    Some {
        /// Special tokens whose literals become ids.
        allowed: &'a SpecialTokens,
        /// Special tokens whose literals are an error anywhere in the text.
        disallowed: &'a SpecialTokens,
    },
}

impl SpecialPolicy<'_> {
    /// Returns the special tokens that this policy looks for: a text with none of their literals needs no special
    /// handling. `None` if any of them has rules, since then the text around a literal matters too.
    fn literals<'a>(&'a self, all: &'a SpecialTokens) -> Option<[Option<&'a SpecialTokens>; 2]> {
        let literals = match self {
            SpecialPolicy::All => [Some(all), None],
            SpecialPolicy::None => [None, None],
            SpecialPolicy::Counted(counts) => [Some(counts.specials()), None],
            SpecialPolicy::Some { allowed, disallowed } => [Some(*allowed), Some(*disallowed)],
        };
        (!literals.iter().flatten().any(|specials| specials.has_rules())).then_some(literals)
    }

    /// Returns whether all of a text must be read, because literals are counted or are an error.
    fn reads_all(&self) -> bool {
        match self {
            SpecialPolicy::All | SpecialPolicy::None => false,
            SpecialPolicy::Counted(_) => true,
            SpecialPolicy::Some { disallowed, .. } => !disallowed.is_empty(),
        }
    }

    /// Fails if `text`, which has index `number` in its batch, contains a disallowed literal. Counts literals if the
    /// policy does.
    fn check(&self, number: usize, text: &str) -> Result<()> {
        match self {
            SpecialPolicy::All | SpecialPolicy::None => Ok(()),
            SpecialPolicy::Counted(counts) => counts.count(number, text),
            SpecialPolicy::Some { disallowed, .. } => disallowed.refuse(text, 0),
        }
    }
}

/// Encodes text. Threads can share one encoder.
pub struct Encoder {
    shared: EncoderData,
    workers: Arc<Pool<Worker>>,
}

impl Encoder {
    /// Creates an encoder with these tokens, this pattern and these special tokens.
    ///
    /// [`Error::Invalid`] if the processor lacks the instructions of `options.tier`.
    pub fn new(
        vocabulary: Arc<Vocabulary>,
        pretokenizer: Arc<Pretokenizer>,
        specials: SpecialTokens,
        options: EncoderOptions,
    ) -> Result<Self> {
        // The hot loop uses the tier of the cache's hasher and relies on this check.
        options.tier.check_available()?;
        let cache = Cache::new(options.cache_bytes, vocabulary.n_ids(), KeyHasher::new(options.tier))?;
        let workers = Arc::new(Pool::<Worker>::new());
        let all = Arc::clone(&workers);
        let refresh_idle = move |cache: &Cache| all.visit(|worker| worker.refresh(cache));
        let refresh_idle = Box::new(refresh_idle);
        let same = Arc::clone(&pretokenizer);
        let new_encoder = move |vocabulary| {
            let encoder = Encoder::new(vocabulary, Arc::clone(&same), SpecialTokens::none(), options)?;
            encoder.shared.cut_no_words();
            let encode = move |words: Pretokens<'_>,
                               lines: DocumentEnds<'_>,
                               ids: &mut Vec<u32>,
                               on_progress: OnProgress<'_>| {
                encoder.with_worker(|worker| {
                    let (shared, output) = (&encoder.shared, &mut Ids(ids));
                    worker.pretoken_encoder.encode_as_they_are(shared, words, lines, output, on_progress)
                })
            };
            Ok(Box::new(encode) as EncodeWords)
        };
        let new_encoder = Box::new(new_encoder);
        let shared =
            EncoderData::new(vocabulary, pretokenizer, Arc::new(specials), cache, refresh_idle, new_encoder);
        Ok(Encoder { shared, workers })
    }

    /// Returns the ordinary tokens.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.shared.vocabulary
    }

    /// Returns the pretokenizer.
    pub fn pretokenizer(&self) -> &Arc<Pretokenizer> {
        &self.shared.pretokenizer
    }

    /// Returns the special tokens.
    pub fn specials(&self) -> &SpecialTokens {
        &self.shared.specials
    }

    /// Returns whether an ordinary or special token has this id.
    pub fn has_id(&self, id: u32) -> bool {
        self.shared.vocabulary.token(id).is_some()
            || self.shared.specials.tokens().iter().any(|&(_, special)| special == id)
    }

    /// Returns the largest id of ordinary and special tokens, + 1.
    #[inline]
    pub fn n_ids(&self) -> usize {
        self.shared.specials.n_ids().max(self.shared.vocabulary.n_ids())
    }

    /// Appends the ids of `text` to `out`; on an error `out` is unchanged.
    pub fn encode<I: Id>(&self, text: &str, specials: SpecialPolicy<'_>, out: &mut Vec<I>) -> Result<()> {
        self.encode_with_progress(text, specials, out, &mut |_| Ok(()))
    }

    fn encode_with_progress<I: Id>(
        &self,
        text: &str,
        specials: SpecialPolicy<'_>,
        out: &mut Vec<I>,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        self.check_width::<I>()?;
        specials.check(0, text)?;
        let before = out.len();
        let recognised = self.recognised(specials);
        let done = self.with_worker(|worker| {
            worker.encode(&self.shared, text, Place::Start, recognised, &mut Ids(out), on_progress)
        });
        if done.is_err() {
            out.truncate(before);
        }
        done
    }

    /// Returns the special tokens whose literals become ids under `policy`.
    fn recognised<'a>(&'a self, policy: SpecialPolicy<'a>) -> Option<&'a SpecialTokens> {
        match policy {
            SpecialPolicy::All => Some(&*self.shared.specials),
            SpecialPolicy::None | SpecialPolicy::Counted(_) => None,
            SpecialPolicy::Some { allowed, .. } => Some(allowed),
        }
        .filter(|specials| !specials.is_empty())
    }

    /// Returns the safe cuts of data in which literals of special tokens are treated as `specials` says.
    fn safe_cuts(&self, specials: Specials) -> SafeCuts {
        let splits = specials == Specials::Recognise;
        SafeCuts::new(Arc::clone(&self.shared.pretokenizer), Arc::clone(&self.shared.specials), splits)
    }

    /// Fails unless every id fits `I`.
    fn check_width<I: Id>(&self) -> Result<()> {
        match self.n_ids() {
            0 => Ok(()),
            n if n - 1 <= I::MAX as usize => Ok(()),
            n => Err(Error::Invalid(format!("ids up to {} do not fit {} bytes", n - 1, size_of::<I>()))),
        }
    }

    /// Runs `work` with an idle worker, or a new one if all are busy.
    #[inline]
    fn with_worker<T>(&self, work: impl FnOnce(&mut Worker) -> Result<T>) -> Result<T> {
        let work = |worker: &mut Worker| {
            let done = work(worker);
            worker.refresh(&self.shared.cache);
            done
        };
        self.workers.with(|| Worker::new(&self.shared), work)
    }
}

/// Runs jobs that encode `n_bytes` of text in total on up to `threads` threads, and collects their results in order. At
/// most three results per thread wait to be collected.
fn encode_jobs<R: Send + Default>(
    n_jobs: usize,
    threads: usize,
    n_bytes: u64,
    monitor: &dyn Monitor,
    job: impl Fn(usize, &mut R, OnProgress<'_>) -> Result<()> + Sync,
    collect: impl FnMut(&mut R, OnProgress<'_>) -> Result<()>,
) -> Result<()> {
    let report = |done: u64| monitor.report(Stage::Encode, done.min(n_bytes), n_bytes);
    let n_threads = parallel::thread_count(threads).min(n_jobs).max(1);
    let jobs = OrderedJobs { n_jobs, max_waiting: 3 * n_threads, thread_name: "pairloom-encode" };
    report(0)?;
    // Jobs take workers from the encoder's pool, so a thread needs no state of its own.
    jobs.run(
        &mut vec![(); n_threads],
        |(), number, result, on_progress| job(number, result, on_progress),
        collect,
        &mut |done| report(done),
    )?;
    report(n_bytes)
}

#[cfg(test)]
mod tests;
