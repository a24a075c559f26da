//! Base64 (RFC 4648, section 4): the standard alphabet with padding, canonical; anything else is an error.

use base64::engine::general_purpose::STANDARD;
use base64::{DecodeError, DecodeSliceError, Engine};

use crate::error::{Error, Result};
use crate::memory::filled;

/// Decodes `text`.
pub fn decode(text: &str) -> Result<Vec<u8>> {
    let mut bytes = filled(text.len().div_ceil(4) * 3, 0, "token bytes")?;
    let n_bytes = STANDARD.decode_slice(text, &mut bytes).map_err(|error| {
        Error::Model(match error {
            DecodeSliceError::DecodeError(DecodeError::InvalidByte(at, _)) => {
                format!("not base64 at character {at}; the file is damaged")
            }
            DecodeSliceError::DecodeError(DecodeError::InvalidLastSymbol(..)) => {
                "base64 that is not in its canonical form; the file is damaged".into()
            }
            _ => format!("base64 of {} characters, not a multiple of 4 with its padding", text.len()),
        })
    })?;
    bytes.truncate(n_bytes);
    Ok(bytes)
}
