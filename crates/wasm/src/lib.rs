//! The core as a WebAssembly module, for pages in which tokens are watched.
//!
//! Plain functions and memory, so a page needs no generated code: it writes what a function takes into memory of
//! [`pairloom_alloc`], and reads what the function left from [`pairloom_result`]. Numbers are little-endian.
//!
//! ```js
//! const put = (bytes) => { const at = pairloom_alloc(bytes.length); new Uint8Array(memory.buffer, at, bytes.length).set(bytes); return at; };
//! const taken = () => new Uint8Array(memory.buffer, pairloom_result(), pairloom_result_len()).slice();
//! ```
//!
//! Functions that may fail return 0 or -1 then, and leave the message as the result. A trap is a bug of ours; its message is
//! the result too, and the instance must not be used again. One thread; no clock, no files.

use std::cell::RefCell;
use std::sync::{Arc, Once};
use std::{panic, slice};

use pairloom_core::corpus::InputErrors;
use pairloom_core::counts::{CorpusSpecials, CountOptions, Counter};
use pairloom_core::decoder::Decoder;
use pairloom_core::encoder::{Encoder, EncoderOptions, SpecialPolicy};
use pairloom_core::model_file::{self, PatternText};
use pairloom_core::monitor::Silent;
use pairloom_core::pretokens::{Pretokenizer, named_patterns, normalizer};
use pairloom_core::special::SpecialTokens;
use pairloom_core::train::{self, MergeOptions, TieBreak};
use pairloom_core::vocabulary::{Tokens, Vocabulary};
use pairloom_core::{Error, Result};

/// A page encodes little at a time.
const CACHE_BYTES: usize = 4 << 20;

thread_local! {
    static RESULT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// What a handle stands for.
pub struct Tokenizer {
    encoder: Encoder,
    decoder: Decoder,
    /// Left, right and merged id of each merge, in rank order; none for vocabularies of ranks.
    merges: Vec<[u32; 3]>,
}

impl Tokenizer {
    fn new(
        tokens: Tokens,
        merges: Option<Vec<[u32; 3]>>,
        ignore_merges: bool,
        specials: SpecialTokens,
        pretokenizer: Pretokenizer,
    ) -> Result<Tokenizer> {
        let kept = merges.clone().unwrap_or_default();
        let vocabulary = match merges {
            Some(merges) => Vocabulary::from_merges(tokens, merges, ignore_merges)?,
            None => Vocabulary::from_ranks(tokens)?,
        };
        let decoder = Decoder::new(&vocabulary, &specials)?;
        let options = EncoderOptions { cache_bytes: CACHE_BYTES, ..EncoderOptions::default() };
        let encoder = Encoder::new(Arc::new(vocabulary), Arc::new(pretokenizer), specials, options)?;
        Ok(Tokenizer { encoder, decoder, merges: kept })
    }

    /// The tokenizer of a model file of pairloom.
    fn from_file(data: &[u8]) -> Result<Tokenizer> {
        let model = model_file::read(data, "the file", false)?;
        let pretokenizer = match &model.pattern {
            PatternText::One(text) => Pretokenizer::new(text)?,
            PatternText::Several(texts) => Pretokenizer::sequence(texts)?,
        };
        let tokens = Tokens::from_columns(&model.token_ids, &model.token_bytes, &model.token_ends)?;
        let merges = (!model.ranks).then(|| model.merges.as_chunks().0.to_vec());
        let pretokenizer = pretokenizer.with_normalizer(normalizer::steps_named(&model.normalizer)?);
        let specials = SpecialTokens::with_rules(model.special_tokens, &model.special_rules)?;
        Tokenizer::new(tokens, merges, model.ignore_merges, specials, pretokenizer)
    }

    /// The tokenizer of columns that a page read from a file of another format.
    fn from_columns(columns: &Columns<'_>, pattern: &str) -> Result<Tokenizer> {
        let mut ends = Vec::with_capacity(columns.lengths.len());
        let mut end = 0;
        for &length in columns.lengths {
            end += u64::from(length);
            ends.push(end);
        }
        let tokens = Tokens::from_columns(columns.ids, columns.bytes, &ends)?;
        let merges = (!columns.is_ranks).then(|| columns.merges.as_chunks().0.to_vec());
        Tokenizer::new(
            tokens,
            merges,
            columns.ignore_merges,
            SpecialTokens::none(),
            pretokenizer_of(pattern)?,
        )
    }

    /// Trains on one text: ids are bytes by value, then merges.
    fn train(text: &str, pattern: &str, n_merges: usize, tie_break: TieBreak) -> Result<Tokenizer> {
        let pretokenizer = pretokenizer_of(pattern)?;
        let options = CountOptions {
            pretokenizer: Arc::new(pretokenizer),
            specials: Arc::new(SpecialTokens::none()),
            corpus_specials: CorpusSpecials::Text,
            input_errors: InputErrors::Strict,
            threads: 1,
            max_memory: None,
            total_hint: None,
        };
        let mut counter = Counter::new(options)?;
        counter.count_texts(&[text], &Silent)?;
        let counts = counter.finish()?;
        let options = MergeOptions {
            n_merges,
            tie_break,
            byte_order: std::array::from_fn(|byte| byte as u8),
            min_frequency: 1,
            max_token_bytes: None,
            max_memory: None,
            threads: 1,
        };
        let merges = train::train(counts.columns(), &options, &Silent)?.merges;
        let mut all: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
        let mut rows = Vec::with_capacity(merges.len());
        for (left, right) in merges {
            let merged = all.len();
            all.push([&all[left as usize][..], &all[right as usize]].concat());
            rows.push([left, right, merged as u32]);
        }
        let mut tokens = Tokens::default();
        for (id, bytes) in all.iter().enumerate() {
            tokens.push(id as u32, bytes)?;
        }
        Tokenizer::new(tokens, Some(rows), false, SpecialTokens::none(), pretokenizer_of(pattern)?)
    }
}

/// A vocabulary as columns in the memory of the module.
struct Columns<'a> {
    ids: &'a [u32],
    lengths: &'a [u32],
    bytes: &'a [u8],
    /// Three numbers a merge.
    merges: &'a [u32],
    is_ranks: bool,
    ignore_merges: bool,
}

/// The pattern of a name, or of a regex.
fn pretokenizer_of(pattern: &str) -> Result<Pretokenizer> {
    match named_patterns(pattern) {
        Some(texts) => Pretokenizer::sequence(texts),
        None => Pretokenizer::new(pattern),
    }
}

fn text_of(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| Error::Invalid(format!("the text is not UTF-8: {error}")))
}

fn leave(bytes: Vec<u8>) {
    RESULT.set(bytes);
}

fn leave_numbers(numbers: impl Iterator<Item = u32>) {
    leave(numbers.flat_map(u32::to_le_bytes).collect());
}

/// A handle, or null with the message as the result.
fn handle_of(built: Result<Tokenizer>) -> *mut Tokenizer {
    match built {
        Ok(tokenizer) => Box::into_raw(Box::new(tokenizer)),
        Err(error) => {
            leave(error.to_string().into_bytes());
            std::ptr::null_mut()
        }
    }
}

/// The number, or -1 with the message as the result.
fn number_of(done: Result<usize>) -> isize {
    match done {
        Ok(n) => n as isize,
        Err(error) => {
            leave(error.to_string().into_bytes());
            -1
        }
    }
}

/// Memory of the page's own, aligned for numbers of four bytes.
#[unsafe(no_mangle)]
pub extern "C" fn pairloom_alloc(n_bytes: usize) -> *mut u8 {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| panic::set_hook(Box::new(|panic| leave(panic.to_string().into_bytes()))));
    let words: Box<[u32]> = vec![0; n_bytes.div_ceil(4)].into();
    Box::into_raw(words).cast()
}

/// Frees memory of [`pairloom_alloc`].
///
/// # Safety
/// `start` is what `pairloom_alloc(n_bytes)` returned, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairloom_free(start: *mut u8, n_bytes: usize) {
    let words = std::ptr::slice_from_raw_parts_mut(start.cast::<u32>(), n_bytes.div_ceil(4));
    // SAFETY: the caller vouches that this is the slice that `pairloom_alloc` leaked.
    drop(unsafe { Box::from_raw(words) });
}

/// Where the last result lies. It stays until the next function that leaves one.
#[unsafe(no_mangle)]
pub extern "C" fn pairloom_result() -> *const u8 {
    RESULT.with_borrow(|bytes| bytes.as_ptr())
}

/// The length of the last result in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn pairloom_result_len() -> usize {
    RESULT.with_borrow(Vec::len)
}

/// The tokenizer of a model file of pairloom; null on an error.
///
/// # Safety
/// `data` is readable for `n_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairloom_load(data: *const u8, n_bytes: usize) -> *mut Tokenizer {
    // SAFETY: the caller's contract.
    handle_of(Tokenizer::from_file(unsafe { slice::from_raw_parts(data, n_bytes) }))
}

/// The tokenizer of a vocabulary that the page read from another format; null on an error.
///
/// Token i has id `ids[i]` and the next `lengths[i]` of `bytes`. `merges` holds left, right and merged id of each of
/// `n_merges`, in rank order; with `is_ranks` it is ignored and ids are ranks.
///
/// # Safety
/// All pointers are readable for as many items as the numbers say; those of numbers are aligned to four bytes.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn pairloom_from_columns(
    ids: *const u32,
    lengths: *const u32,
    n_tokens: usize,
    bytes: *const u8,
    n_bytes: usize,
    merges: *const u32,
    n_merges: usize,
    is_ranks: bool,
    ignore_merges: bool,
    pattern: *const u8,
    pattern_len: usize,
) -> *mut Tokenizer {
    // SAFETY: the caller's contract, for each of the five.
    let (columns, pattern) = unsafe {
        let columns = Columns {
            ids: slice::from_raw_parts(ids, n_tokens),
            lengths: slice::from_raw_parts(lengths, n_tokens),
            bytes: slice::from_raw_parts(bytes, n_bytes),
            merges: slice::from_raw_parts(merges, 3 * n_merges),
            is_ranks,
            ignore_merges,
        };
        (columns, slice::from_raw_parts(pattern, pattern_len))
    };
    handle_of(text_of(pattern).and_then(|pattern| Tokenizer::from_columns(&columns, pattern)))
}

/// Trains on a text; null on an error. `pattern` is a name or a regex; ties go to the greatest bytes with
/// `bytes_greatest`, else to the least ids.
///
/// # Safety
/// `text` and `pattern` are readable for as many bytes as the numbers say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairloom_train(
    text: *const u8,
    text_len: usize,
    pattern: *const u8,
    pattern_len: usize,
    n_merges: usize,
    bytes_greatest: bool,
) -> *mut Tokenizer {
    // SAFETY: the caller's contract.
    let (text, pattern) =
        unsafe { (slice::from_raw_parts(text, text_len), slice::from_raw_parts(pattern, pattern_len)) };
    let tie_break = if bytes_greatest { TieBreak::BytesGreatest } else { TieBreak::IdsLeast };
    handle_of(text_of(text).and_then(|text| Tokenizer::train(text, text_of(pattern)?, n_merges, tie_break)))
}

/// Frees a tokenizer.
///
/// # Safety
/// `tokenizer` is a handle that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairloom_drop(tokenizer: *mut Tokenizer) {
    // SAFETY: the caller vouches that the handle is from `Box::into_raw` and used no more.
    drop(unsafe { Box::from_raw(tokenizer) });
}

/// Encodes a text; leaves its ids, and returns how many. With `is_ordinary` literals of special tokens are text.
///
/// # Safety
/// `tokenizer` is a handle; `text` is readable for `n_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairloom_encode(
    tokenizer: *const Tokenizer,
    text: *const u8,
    n_bytes: usize,
    is_ordinary: bool,
) -> isize {
    // SAFETY: the caller's contract.
    let (tokenizer, text) = unsafe { (&*tokenizer, slice::from_raw_parts(text, n_bytes)) };
    let mut ids = Vec::<u32>::new();
    let policy = if is_ordinary { SpecialPolicy::None } else { SpecialPolicy::All };
    let done = text_of(text).and_then(|text| tokenizer.encoder.encode(text, policy, &mut ids));
    let n = ids.len();
    number_of(done.map(|()| {
        leave_numbers(ids.into_iter());
        n
    }))
}

/// Decodes ids; leaves the bytes, and returns how many.
///
/// # Safety
/// `tokenizer` is a handle; `ids` is readable for `n_ids` numbers and aligned to four bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairloom_decode(
    tokenizer: *const Tokenizer,
    ids: *const u32,
    n_ids: usize,
) -> isize {
    // SAFETY: the caller's contract.
    let (tokenizer, ids) = unsafe { (&*tokenizer, slice::from_raw_parts(ids, n_ids)) };
    let mut bytes = Vec::new();
    number_of(tokenizer.decoder.decode(ids, &mut bytes).map(|()| {
        let n = bytes.len();
        leave(bytes);
        n
    }))
}

/// Splits a text; leaves the end of each pretoken in bytes, and returns how many there are.
///
/// # Safety
/// `tokenizer` is a handle; `text` is readable for `n_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairloom_split(
    tokenizer: *const Tokenizer,
    text: *const u8,
    n_bytes: usize,
) -> isize {
    // SAFETY: the caller's contract.
    let (tokenizer, text) = unsafe { (&*tokenizer, slice::from_raw_parts(text, n_bytes)) };
    number_of(text_of(text).and_then(|text| tokenizer.encoder.pretokenizer().ends(text)).map(|ends| {
        let n = ends.len();
        leave_numbers(ends.into_iter().map(|end| end as u32));
        n
    }))
}

/// Leaves left, right and merged id of each merge, in rank order, and returns how many merges there are.
///
/// # Safety
/// `tokenizer` is a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairloom_merges(tokenizer: *const Tokenizer) -> usize {
    // SAFETY: the caller's contract.
    let merges = unsafe { &(*tokenizer).merges };
    leave_numbers(merges.iter().flatten().copied());
    merges.len()
}

/// The largest id, + 1.
///
/// # Safety
/// `tokenizer` is a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairloom_n_vocab(tokenizer: *const Tokenizer) -> usize {
    // SAFETY: the caller's contract.
    unsafe { (*tokenizer).encoder.n_ids() }
}
