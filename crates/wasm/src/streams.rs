//! Streams: edited text (a session), text that arrives in parts (an encoder) and ids that do (a decoder), all with the same
//! functions.

use std::slice;
use std::sync::Arc;

use pairloom_core::decoder::DecodeStream;
use pairloom_core::encoder::{Replaced, Session, Specials, StreamEncoder};
use pairloom_core::monitor::Silent;
use pairloom_core::{Result, Tokenizer};

use crate::{number_of, set_result, set_result_numbers, text_of};

/// What a stream handle points to; it can outlive its tokenizer.
pub enum Stream {
    /// An edited text, with its ids.
    Session(Session),
    /// Text in, ids out.
    Encode(StreamEncoder),
    /// Ids in, text out.
    Decode(DecodeStream),
}

/// Makes a stream. `kind`: 0 is a session, 1 encodes, 2 encodes with special tokens' literals as text, others decode.
///
/// # Safety
/// `tokenizer` is a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairloom_stream(tokenizer: *const Tokenizer, kind: u32) -> *mut Stream {
    // SAFETY: the caller's contract.
    let tokenizer = unsafe { &*tokenizer };
    let encoder = Arc::clone(tokenizer.encoder());
    Box::into_raw(Box::new(match kind {
        0 => Stream::Session(Session::new(encoder, None)),
        1 => Stream::Encode(StreamEncoder::new(encoder, Specials::Recognise)),
        2 => Stream::Encode(StreamEncoder::new(encoder, Specials::Ordinary)),
        _ => Stream::Decode(tokenizer.decode_stream()),
    }))
}

/// Pushes text, or ids as numbers; leaves the ids or text that are final, with `is_last` all that remain. A session instead
/// replaces its characters from `start` to `end`, and leaves how many ids stay, how many after them are removed, and the ids
/// that replace those. Returns the number of bytes left as the result.
///
/// # Safety
/// `stream` is a handle; `data` is readable for `n_bytes` bytes and aligned to four bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairloom_stream_push(
    stream: *mut Stream,
    data: *const u8,
    n_bytes: usize,
    start: usize,
    end: usize,
    is_last: bool,
) -> isize {
    // SAFETY: the caller's contract.
    let (stream, data) = unsafe { (&mut *stream, slice::from_raw_parts(data, n_bytes)) };
    number_of(push(stream, data, start, end, is_last))
}

fn push(stream: &mut Stream, data: &[u8], start: usize, end: usize, is_last: bool) -> Result<usize> {
    match stream {
        Stream::Session(session) => {
            let Replaced { keep, n_removed, ids } = session.replace(start..end, text_of(data)?, &Silent)?;
            Ok(set_result_numbers([keep as u32, n_removed as u32].into_iter().chain(ids)))
        }
        Stream::Encode(encoder) => {
            let mut ids = Vec::<u32>::new();
            encoder.push(text_of(data)?, &mut ids, &Silent)?;
            if is_last {
                encoder.finish(&mut ids, &Silent)?;
            }
            Ok(set_result_numbers(ids.into_iter()))
        }
        Stream::Decode(decoder) => {
            let (ids, _) = data.as_chunks::<4>();
            let before = decoder.clone();
            let pushed =
                ids.iter().map(|id| decoder.push(u32::from_le_bytes(*id))).collect::<Result<String>>();
            let mut text = pushed.inspect_err(|_| *decoder = before)?;
            if is_last {
                text += &decoder.finish()?;
            }
            Ok(set_result(text.into_bytes()))
        }
    }
}

/// Frees a stream.
///
/// # Safety
/// `stream` is a handle that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairloom_stream_drop(stream: *mut Stream) {
    // SAFETY: the caller promises that the handle is from `Box::into_raw` and is not used again.
    drop(unsafe { Box::from_raw(stream) });
}
