//! Text as callers hold it: UTF-8, or characters of one, two or four bytes each, as CPython stores a str.
//!
//! [`Text::utf8`] converts to UTF-8 in a buffer that is reused from text to text, so that it stays in the cache.
//! [`from_utf8()`] converts back to characters of the wanted width.

mod from_utf8;
mod to_utf8;
mod units;

pub use from_utf8::{from_utf8, measure, valid};
pub use units::Unit;

use to_utf8::{AHEAD_BYTES, to_utf8};

use crate::error::Result;
use crate::prefetch::prefetch;

/// A text that can be read as UTF-8.
pub trait Text: Sync {
    /// The text as UTF-8, converted into `buffer` unless it is UTF-8 already.
    ///
    /// Errors: [`Error::NotCharacters`](crate::Error::NotCharacters); [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    fn utf8<'a>(&'a self, buffer: &'a mut String) -> Result<&'a str>;

    /// The size in bytes, exact to a small factor.
    fn n_bytes(&self) -> usize;

    /// Prefetches the beginning of the text.
    fn prefetch(&self);
}

impl Text for &str {
    #[inline]
    fn utf8<'a>(&'a self, _buffer: &'a mut String) -> Result<&'a str> {
        Ok(self)
    }

    fn n_bytes(&self) -> usize {
        self.len()
    }

    fn prefetch(&self) {
        prefetch_first(self.as_bytes(), 1 << 13);
    }
}

/// UTF-8, or characters of equal width.
#[derive(Clone, Copy)]
pub enum Characters<'a> {
    /// UTF-8.
    Utf8(&'a str),
    /// Code points below 256, a byte each.
    Latin1(&'a [u8]),
    /// Code points of two bytes.
    Ucs2(&'a [u16]),
    /// Code points of four bytes.
    Ucs4(&'a [u32]),
}

impl Text for Characters<'_> {
    #[inline]
    fn utf8<'a>(&'a self, buffer: &'a mut String) -> Result<&'a str> {
        match *self {
            Characters::Utf8(text) => return Ok(text),
            Characters::Latin1(units) => to_utf8(units, buffer)?,
            Characters::Ucs2(units) => to_utf8(units, buffer)?,
            Characters::Ucs4(units) => to_utf8(units, buffer)?,
        }
        Ok(buffer)
    }

    fn n_bytes(&self) -> usize {
        match *self {
            Characters::Utf8(text) => text.len(),
            Characters::Latin1(units) => units.len(),
            Characters::Ucs2(units) => units.len() * 2,
            Characters::Ucs4(units) => units.len() * 4,
        }
    }

    fn prefetch(&self) {
        match *self {
            Characters::Utf8(text) => text.prefetch(),
            Characters::Latin1(units) => prefetch_first(units, AHEAD_BYTES),
            Characters::Ucs2(units) => prefetch_first(units, AHEAD_BYTES),
            Characters::Ucs4(units) => prefetch_first(units, AHEAD_BYTES),
        }
    }
}

/// Prefetches the first `n_bytes` of `units`. The processor prefetches the rest, but cannot foresee where texts begin.
pub(crate) fn prefetch_first<U>(units: &[U], n_bytes: usize) {
    const LINE_BYTES: usize = 64;
    let n_units = units.len().min(n_bytes / size_of::<U>());
    for unit in units[..n_units].iter().step_by(LINE_BYTES / size_of::<U>()) {
        prefetch(unit);
    }
}

#[cfg(test)]
mod tests {
    use super::to_utf8::to_utf8_portable;
    use super::*;
    use crate::error::Error;
    use std::mem::MaybeUninit;

    fn utf8(text: Characters<'_>) -> String {
        text.utf8(&mut String::new()).unwrap().to_owned()
    }

    #[test]
    fn utf8_of_every_character_in_every_width_is_exact() {
        let all: Vec<char> = (0..=char::MAX as u32).filter_map(char::from_u32).collect();
        // Mixed, so that characters of all lengths meet at all positions of a vector.
        for stride in [1, 7919, 65_537] {
            let n = all.len();
            let mixed: Vec<char> = (0..n).map(|i| all[i * stride % n]).collect();
            let four: Vec<u32> = mixed.iter().map(|&c| c as u32).collect();
            assert_eq!(utf8(Characters::Ucs4(&four)), mixed.iter().collect::<String>());
            let two: Vec<u16> = four.iter().filter_map(|&c| u16::try_from(c).ok()).collect();
            let expected: String = mixed.iter().filter(|&&c| (c as u32) < 1 << 16).collect();
            assert_eq!(utf8(Characters::Ucs2(&two)), expected);
            let one: Vec<u8> = two.iter().filter_map(|&c| u8::try_from(c).ok()).collect();
            let expected: String = one.iter().map(|&c| char::from(c)).collect();
            assert_eq!(utf8(Characters::Latin1(&one)), expected);
        }
    }

    fn converted<U: Unit>(text: &str) -> Vec<u32> {
        let (n_characters, largest) = measure(text);
        assert!(text.chars().all(|character| u32::from(character) <= largest));
        let mut units = vec![MaybeUninit::new(U::default()); n_characters];
        from_utf8(text, &mut units);
        // SAFETY: `vec!` initialised all of them.
        units.into_iter().map(|unit| unsafe { unit.assume_init() }.into()).collect()
    }

    #[test]
    fn from_utf8_of_every_character_in_every_width_is_exact() {
        for stride in [1, 7919, 65_537] {
            let all: Vec<char> = (0..=char::MAX as u32).filter_map(char::from_u32).collect();
            let n = all.len();
            let mixed: Vec<char> = (0..n).map(|i| all[i * stride % n]).collect();
            for (largest, width) in [(0x7f, 1), (0xff, 1), (0xffff, 2), (0x0010_ffff, 4)] {
                let text: String = mixed.iter().filter(|&&character| character as u32 <= largest).collect();
                let expected: Vec<u32> = text.chars().map(u32::from).collect();
                assert_eq!(measure(&text), (expected.len(), largest));
                let found = match width {
                    1 => converted::<u8>(&text),
                    2 => converted::<u16>(&text),
                    _ => converted::<u32>(&text),
                };
                assert!(found == expected, "{largest:x}");
            }
        }
    }

    #[test]
    fn from_utf8_of_every_length_is_exact() {
        let text = "abcdefghij é߿ࠀ中￿x klmnopqrstuvwxyz 𐀀😀z 0123456789".repeat(6);
        for (at, _) in text.char_indices().chain([(text.len(), ' ')]) {
            let expected: Vec<u32> = text[..at].chars().map(u32::from).collect();
            assert_eq!(converted::<u32>(&text[..at]), expected);
            let expected: Vec<u32> = text[at..].chars().map(u32::from).collect();
            assert_eq!(converted::<u32>(&text[at..]), expected);
        }
    }

    #[test]
    fn utf8_of_every_length_equals_the_portable_conversion() {
        let text = "a\0é߿ࠀ中￿x𐀀😀z".repeat(6);
        let characters: Vec<u32> = text.chars().map(u32::from).collect();
        for n in 0..characters.len() {
            let expected: String = text.chars().take(n).collect();
            assert_eq!(utf8(Characters::Ucs4(&characters[..n])), expected);
            let mut portable = Vec::new();
            to_utf8_portable(&characters[..n], &mut portable).unwrap();
            assert_eq!(portable, expected.as_bytes());
        }
    }

    #[test]
    fn utf8_of_surrogates_and_large_numbers_fails() {
        let refused = |text: Characters<'_>| {
            let mut buffer = "x".to_owned();
            let is_refused = matches!(text.utf8(&mut buffer), Err(Error::NotCharacters));
            is_refused && buffer.is_empty()
        };
        for unit in [0xd800, 0xdfff] {
            for n_before in [0, 1, 15, 16, 40] {
                let two = [vec![0x61; n_before], vec![unit, 0x61]].concat();
                let four: Vec<u32> = two.iter().copied().map(u32::from).collect();
                assert!(refused(Characters::Ucs2(&two)));
                assert!(refused(Characters::Ucs4(&four)));
                assert!(to_utf8_portable(&two, &mut Vec::new()).is_err());
            }
        }
        assert!(refused(Characters::Ucs4(&[0x0011_0000])));
        assert!(refused(Characters::Ucs4(&[u32::MAX])));
        assert!(!refused(Characters::Ucs2(&[0xd7ff, 0xe000])));
    }
}
