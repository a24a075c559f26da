//! The core as a WebAssembly module, for JavaScript (crates/wasm/js).
//!
//! It has only plain functions and memory, so a caller needs no generated code. The caller writes a function's arguments into
//! memory from [`pairloom_alloc`], and reads what the function left from [`pairloom_result`]. Numbers are little-endian.
//!
//! ```js
//! const put = (bytes) => { const at = pairloom_alloc(bytes.length); new Uint8Array(memory.buffer, at, bytes.length).set(bytes); return at; };
//! const taken = () => new Uint8Array(memory.buffer, pairloom_result(), pairloom_result_len()).slice();
//! ```
//!
//! A function that fails returns 0 or -1 and leaves the message as the result. A trap is a bug of ours: its message is the
//! result too, and the instance must not be used again. The module has one thread and uses no clock and no files.

mod streams;
mod tokenizer;

use std::cell::RefCell;
use std::sync::Once;
use std::{panic, slice};

use pairloom_core::encoder::SpecialPolicy;
use pairloom_core::train::TieBreak;
use pairloom_core::{Error, Result, Tokenizer};

pub use streams::Stream;

thread_local! {
    static RESULT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

fn text_of(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| Error::Invalid(format!("the text is not UTF-8: {error}")))
}

/// Leaves bytes as the result; returns how many there are.
fn set_result(bytes: Vec<u8>) -> usize {
    let n = bytes.len();
    RESULT.set(bytes);
    n
}

fn set_result_numbers(numbers: impl Iterator<Item = u32>) -> usize {
    set_result(numbers.flat_map(u32::to_le_bytes).collect())
}

/// Returns a handle; on an error null, with the message as the result.
fn handle_of(built: Result<Tokenizer>) -> *mut Tokenizer {
    match built {
        Ok(tokenizer) => Box::into_raw(Box::new(tokenizer)),
        Err(error) => {
            set_result(error.to_string().into_bytes());
            std::ptr::null_mut()
        }
    }
}

/// Returns the number; on an error -1, with the message as the result.
fn number_of(done: Result<usize>) -> isize {
    match done {
        Ok(n) => n as isize,
        Err(error) => {
            set_result(error.to_string().into_bytes());
            -1
        }
    }
}

/// Allocates memory for the caller, aligned for four-byte numbers.
#[unsafe(no_mangle)]
pub extern "C" fn pairloom_alloc(n_bytes: usize) -> *mut u8 {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| panic::set_hook(Box::new(|panic| _ = set_result(panic.to_string().into_bytes()))));
    let words: Box<[u32]> = vec![0; n_bytes.div_ceil(4)].into();
    Box::into_raw(words).cast()
}

/// Frees memory from [`pairloom_alloc`].
///
/// # Safety
/// `start` is what `pairloom_alloc(n_bytes)` returned, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairloom_free(start: *mut u8, n_bytes: usize) {
    let words = std::ptr::slice_from_raw_parts_mut(start.cast::<u32>(), n_bytes.div_ceil(4));
    // SAFETY: the caller promises that this is the slice that `pairloom_alloc` leaked.
    drop(unsafe { Box::from_raw(words) });
}

/// Returns the address of the last result, which stays valid until the next function that leaves one.
#[unsafe(no_mangle)]
pub extern "C" fn pairloom_result() -> *const u8 {
    RESULT.with_borrow(|bytes| bytes.as_ptr())
}

/// Returns the length of the last result in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn pairloom_result_len() -> usize {
    RESULT.with_borrow(Vec::len)
}

/// Loads a tokenizer file of any format; or GPT-2's vocab.json as `data` with its merges.txt as `merges`, which is otherwise
/// empty. `pattern`, a name or a regex, is for files that store none, such as a .tiktoken. Null on an error.
///
/// # Safety
/// `data`, `merges` and `pattern` are readable for the given numbers of bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairloom_load(
    data: *const u8,
    n_bytes: usize,
    merges: *const u8,
    merges_len: usize,
    pattern: *const u8,
    pattern_len: usize,
) -> *mut Tokenizer {
    // SAFETY: the caller's contract.
    let (data, merges, pattern) = unsafe {
        (
            slice::from_raw_parts(data, n_bytes),
            slice::from_raw_parts(merges, merges_len),
            slice::from_raw_parts(pattern, pattern_len),
        )
    };
    handle_of(text_of(pattern).and_then(|pattern| tokenizer::load(data, merges, pattern)))
}

/// Trains on a text; null on an error. `pattern` is a name or a regex. `bytes_greatest` gives ties to the greatest bytes;
/// otherwise they go to the least ids.
///
/// # Safety
/// `text` and `pattern` are readable for the given numbers of bytes.
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
    handle_of(text_of(text).and_then(|text| tokenizer::train(text, text_of(pattern)?, n_merges, tie_break)))
}

/// Frees a tokenizer.
///
/// # Safety
/// `tokenizer` is a handle that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairloom_drop(tokenizer: *mut Tokenizer) {
    // SAFETY: the caller promises that the handle is from `Box::into_raw` and is not used again.
    drop(unsafe { Box::from_raw(tokenizer) });
}

/// Encodes a text; leaves its ids, and returns how many. With `is_ordinary`, special tokens' literals stay text.
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
    let done = text_of(text).and_then(|text| tokenizer.encoder().encode(text, policy, &mut ids));
    let n = ids.len();
    number_of(done.map(|()| {
        set_result_numbers(ids.into_iter());
        n
    }))
}

/// Decodes ids; leaves their bytes, or with `is_text` the text that the tokenizer makes of them. Returns the number of bytes.
///
/// # Safety
/// `tokenizer` is a handle; `ids` is readable for `n_ids` numbers and aligned to four bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairloom_decode(
    tokenizer: *const Tokenizer,
    ids: *const u32,
    n_ids: usize,
    is_text: bool,
) -> isize {
    // SAFETY: the caller's contract.
    let (tokenizer, ids) = unsafe { (&*tokenizer, slice::from_raw_parts(ids, n_ids)) };
    number_of(tokenizer::decode(tokenizer, ids, is_text).map(set_result))
}

/// Splits a text; leaves the end offset of each pretoken in bytes, and returns how many there are.
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
    number_of(text_of(text).and_then(|text| tokenizer.encoder().pretokenizer().ends(text)).map(|ends| {
        let n = ends.len();
        set_result_numbers(ends.into_iter().map(|end| end as u32));
        n
    }))
}

/// Leaves left, right and merged id of each merge, in rank order; returns how many merges there are. If ids are ranks, there is
/// one merge for each token that merging makes.
///
/// # Safety
/// `tokenizer` is a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairloom_merges(tokenizer: *const Tokenizer) -> isize {
    // SAFETY: the caller's contract.
    let merges = unsafe { (*tokenizer).encoder().vocabulary().merges() };
    set_result_numbers(merges.iter().flatten().copied());
    merges.len() as isize
}

/// Leaves rank, left, right and merged id of each merge that makes a token from its bytes, in the order in which they are
/// applied; returns how many there are.
///
/// # Safety
/// `tokenizer` is a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairloom_merges_of(tokenizer: *const Tokenizer, id: u32) -> usize {
    // SAFETY: the caller's contract.
    let merges = tokenizer::merges_of(unsafe { (*tokenizer).encoder().vocabulary() }, id);
    set_result_numbers(merges.iter().flatten().copied());
    merges.len()
}

/// Returns whether the id is a special token's.
///
/// # Safety
/// `tokenizer` is a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairloom_is_special(tokenizer: *const Tokenizer, id: u32) -> bool {
    // SAFETY: the caller's contract.
    let specials = unsafe { (*tokenizer).encoder().specials() };
    specials.tokens().iter().any(|&(_, known)| known == id)
}

/// Returns the largest id, plus 1.
///
/// # Safety
/// `tokenizer` is a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairloom_n_vocab(tokenizer: *const Tokenizer) -> usize {
    // SAFETY: the caller's contract.
    unsafe { (*tokenizer).n_ids() }
}
