//! Base64 to bytes: the standard alphabet, padded, canonical (RFC 4648, section 4); anything else is refused.

use crate::error::{Error, Result};

const NONE: u8 = 0xFF;

/// The six bits of each character.
const BITS: [u8; 256] = {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bits = [NONE; 256];
    let mut index = 0;
    while index < 64 {
        bits[alphabet[index] as usize] = index as u8;
        index += 1;
    }
    bits
};

/// The bytes that `text` stands for.
pub fn decode(text: &str) -> Result<Vec<u8>> {
    let text = text.as_bytes();
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(text.len() / 4 * 3).map_err(Error::out_of_memory("token bytes"))?;
    if !text.len().is_multiple_of(4) {
        return Err(Error::Model(format!("base64 of {} characters, not a multiple of 4", text.len())));
    }
    let n_padding = text.iter().rev().take(2).take_while(|&&character| character == b'=').count();
    for (index, group) in text.chunks_exact(4).enumerate() {
        let last = (index + 1) * 4 == text.len();
        let n_padded = if last { n_padding } else { 0 };
        let mut word: u32 = 0;
        for (place, &character) in group.iter().enumerate() {
            let bits = if place >= 4 - n_padded { 0 } else { BITS[usize::from(character)] };
            if bits == NONE {
                let at = index * 4 + place;
                return Err(Error::Model(format!("not base64 at character {at}; the file is damaged")));
            }
            word = word << 6 | u32::from(bits);
        }
        let [_, triple @ ..] = word.to_be_bytes();
        let (kept, spare) = triple.split_at(3 - n_padded);
        if spare.iter().any(|&byte| byte != 0) {
            return Err(Error::Model("base64 that is not in its canonical form; the file is damaged".into()));
        }
        bytes.extend_from_slice(kept);
    }
    Ok(bytes)
}
