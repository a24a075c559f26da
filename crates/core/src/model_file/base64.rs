//! Base64 (RFC 4648, section 4) in the standard alphabet, padded and canonical; anything else is an error.

use base64::engine::general_purpose::STANDARD;
use base64::{DecodeError, DecodeSliceError, Engine};

use crate::error::{Error, Result};
use crate::memory::TryReserve;

/// Encodes bytes.
pub fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes `coded` and appends its bytes.
pub fn append(coded: &[u8], bytes: &mut Vec<u8>) -> Result<()> {
    let start = bytes.len();
    let n_most = coded.len().div_ceil(4) * 3;
    bytes.grow(n_most, "token bytes")?;
    bytes.resize(start + n_most, 0);
    let n_bytes = STANDARD.decode_slice(coded, &mut bytes[start..]).map_err(|error| {
        Error::Model(match error {
            DecodeSliceError::DecodeError(DecodeError::InvalidByte(at, _)) => {
                format!("not base64 at character {at}; the file is damaged")
            }
            DecodeSliceError::DecodeError(DecodeError::InvalidLastSymbol(..)) => {
                "this base64 is not in its canonical form; the file is damaged".into()
            }
            _ => format!(
                "this base64 has {} characters, not a multiple of 4; the file is damaged",
                coded.len()
            ),
        })
    })?;
    bytes.truncate(start + n_bytes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_appended_one_by_one_seldom_move_the_others() {
        let (mut bytes, mut n_moves) = (Vec::new(), 0);
        for _ in 0..10_000 {
            let before = bytes.capacity();
            append(b"YWI=", &mut bytes).unwrap();
            n_moves += usize::from(bytes.capacity() != before);
        }
        assert!(bytes == b"ab".repeat(10_000) && n_moves < 30, "{n_moves} moves");
    }
}
