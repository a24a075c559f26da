//! The classes of characters, as bits of a byte, from generated tables.
//!
//! Cost: two dependent loads (a two-stage table, Unicode Standard section 5.1). A text touches a few cache lines of
//! it. Code points from [`DIRECT`] on form few ranges, which are searched by bisection.

use super::unicode_tables::{BLOCKS, DIRECT, INDEX, RANGES};

pub(super) use super::unicode_tables::{HAN, LETTER, LOWER, MARK, NUMBER, SPACE, SYMBOL, UPPER};

/// Returns the class bits of a code point.
#[inline]
pub(super) fn class_of_code(code: u32) -> u8 {
    if code < DIRECT { class_direct(code) } else { class_in_ranges(code) }
}

/// Whether a character matches `[\p{L}\p{N}]`.
pub(super) fn is_letter_or_number(character: char) -> bool {
    class_of_code(u32::from(character)) & (LETTER | NUMBER) != 0
}

/// Returns the class bits of a code point below [`DIRECT`]; meaningless for any other.
#[inline(always)]
pub(super) fn class_direct(code: u32) -> u8 {
    block_of(code)[(code & 255) as usize]
}

/// Returns the class bits of the block of 256 code points that contains this one, which must be below [`DIRECT`].
#[inline(always)]
pub(super) fn block_of(code: u32) -> &'static [u8; 256] {
    let start = usize::from(INDEX[(code >> 8) as usize % INDEX.len()]);
    // SAFETY: Each entry of INDEX is at least 256 bytes before the end of BLOCKS, as is checked below.
    unsafe { &*BLOCKS.as_ptr().add(start).cast() }
}

/// Returns the class bits of a code point below 0x800. The blocks of these come first in the table.
#[inline(always)]
pub(super) fn class_of_first(code: u32) -> u8 {
    const FIRST: &[u8; 0x800] = BLOCKS.first_chunk().unwrap();
    FIRST[(code & 0x7ff) as usize]
}

const _: () = {
    let mut number = 0;
    while number < INDEX.len() {
        assert!(INDEX[number] as usize + 256 <= BLOCKS.len());
        assert!(number >= 8 || INDEX[number] as usize == 256 * number);
        number += 1;
    }
};

/// Returns the class bits of a code point from [`DIRECT`] on.
#[cold]
pub(super) fn class_in_ranges(code: u32) -> u8 {
    let next = RANGES.partition_point(|&(_, last, _)| last < code);
    match RANGES.get(next) {
        Some(&(first, _, class)) if first <= code => class,
        _ => 0,
    }
}

/// Returns the code point and the length of the character of several bytes that begins with `byte`, at `at`.
#[inline(always)]
pub(super) fn decoded(bytes: &[u8], at: usize, byte: u8) -> (u32, usize) {
    let continued = |code: u32, nth| code << 6 | u32::from(bytes.get(at + nth).map_or(0, |byte| byte & 0x3f));
    match byte {
        ..=0xdf => (continued(u32::from(byte & 0x1f), 1), 2),
        0xe0..=0xef => (continued(continued(u32::from(byte & 0xf), 1), 2), 3),
        _ => (continued(continued(continued(u32::from(byte & 7), 1), 2), 3), 4),
    }
}

/// Returns the class bits and the length of the character at `at`; `None` at the end of the text.
#[inline]
pub(super) fn class_at(text: &str, at: usize) -> Option<(u8, usize)> {
    let byte = *text.as_bytes().get(at)?;
    if byte < 0x80 {
        return Some((class_direct(u32::from(byte)), 1));
    }
    let character = text.get(at..)?.chars().next()?;
    Some((class_of_code(u32::from(character)), character.len_utf8()))
}

/// Returns the code point of a byte's letter: the byte itself if Latin-1 prints it, else one of the 68 from U+0100 on.
pub(crate) const fn byte_letter(byte: u8) -> u32 {
    match byte {
        0..=0x20 => 0x100 + byte as u32,
        0x7F..=0xA0 => 0x121 + (byte - 0x7F) as u32,
        0xAD => 0x143,
        _ => byte as u32,
    }
}

/// Full-width commas and full stops.
pub(super) const EAST_ASIAN: [char; 3] = ['，', '。', '、'];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_all_code_points_equal_those_of_the_regex_engine() {
        let everything: String = ('\0'..=char::MAX).collect();
        let mut expected = vec![0u8; 0x11_0000];
        for (bit, pattern) in [
            (LETTER, r"\p{L}"),
            (LOWER, r"\p{Ll}"),
            (UPPER, r"[\p{Lu}\p{Lt}]"),
            (MARK, r"\p{M}"),
            (NUMBER, r"\p{N}"),
            (SPACE, r"\s"),
            (HAN, r"\p{Han}"),
            (SYMBOL, r"[\p{P}\p{S}]"),
        ] {
            let regex = fancy_regex::Regex::new(&format!("{pattern}+")).unwrap();
            for found in regex.find_iter(&everything) {
                for character in found.unwrap().as_str().chars() {
                    expected[character as usize] |= bit;
                }
            }
        }
        for character in '\0'..=char::MAX {
            let code = u32::from(character);
            assert_eq!(class_of_code(code), expected[code as usize], "U+{code:04X}");
        }
    }
}
