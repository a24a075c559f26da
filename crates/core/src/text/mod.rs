//! Text as callers hold it: UTF-8, or characters of one, two or four bytes each, as Python keeps them.
//!
//! Enters: either. Leaves: UTF-8, in a buffer that the caller uses again from text to text, so that it stays in the
//! nearer caches ([`to_utf8`]); and characters of a wanted width from UTF-8 ([`from_utf8`]).

mod from_utf8;
mod to_utf8;
mod units;

pub use from_utf8::{from_utf8, measure, valid};
pub use units::Unit;

use to_utf8::{AHEAD_BYTES, to_utf8};

use crate::error::Result;
use crate::prefetch::prefetch;

/// What can be read as UTF-8.
pub trait Text: Sync {
    /// The text, in `buffer` where it is not UTF-8 as it lies.
    ///
    /// Errors: [`Error::NotCharacters`]; [`Error::OutOfMemory`] where `buffer` has no room.
    fn utf8<'a>(&'a self, buffer: &'a mut String) -> Result<&'a str>;

    /// About how many bytes it has: right to a small factor.
    fn n_bytes(&self) -> usize;

    /// Starts loading the text's beginning.
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

/// Characters of equal width, or UTF-8.
#[derive(Clone, Copy)]
pub struct Characters<'a>(Units<'a>);

#[derive(Clone, Copy)]
enum Units<'a> {
    Utf8(&'a str),
    One(&'a [u8]),
    Two(&'a [u16]),
    Four(&'a [u32]),
}

impl<'a> Characters<'a> {
    /// UTF-8 as it lies.
    #[inline]
    pub fn utf8(text: &'a str) -> Self {
        Characters(Units::Utf8(text))
    }

    /// The first 256 characters of Unicode, a byte each.
    pub fn latin1(characters: &'a [u8]) -> Self {
        Characters(Units::One(characters))
    }

    /// Characters of two bytes.
    pub fn ucs2(characters: &'a [u16]) -> Self {
        Characters(Units::Two(characters))
    }

    /// Characters of four bytes.
    pub fn ucs4(characters: &'a [u32]) -> Self {
        Characters(Units::Four(characters))
    }
}

impl Text for Characters<'_> {
    #[inline]
    fn utf8<'a>(&'a self, buffer: &'a mut String) -> Result<&'a str> {
        match self.0 {
            Units::Utf8(text) => return Ok(text),
            Units::One(units) => to_utf8(units, buffer)?,
            Units::Two(units) => to_utf8(units, buffer)?,
            Units::Four(units) => to_utf8(units, buffer)?,
        }
        Ok(buffer)
    }

    fn n_bytes(&self) -> usize {
        match self.0 {
            Units::Utf8(text) => text.len(),
            Units::One(units) => units.len(),
            Units::Two(units) => units.len() * 2,
            Units::Four(units) => units.len() * 4,
        }
    }

    fn prefetch(&self) {
        match self.0 {
            Units::Utf8(text) => text.prefetch(),
            Units::One(units) => prefetch_first(units, AHEAD_BYTES),
            Units::Two(units) => prefetch_first(units, AHEAD_BYTES),
            Units::Four(units) => prefetch_first(units, AHEAD_BYTES),
        }
    }
}

/// Starts loading the first `n_bytes` of `units`: what lies behind them the processor foresees, not where texts begin.
fn prefetch_first<U>(units: &[U], n_bytes: usize) {
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
    fn every_character_in_every_width() {
        let all: Vec<char> = (0..=char::MAX as u32).filter_map(char::from_u32).collect();
        // Mixed, so that characters of all lengths meet at all places of a step.
        for stride in [1, 7919, 65_537] {
            let n = all.len();
            let mixed: Vec<char> = (0..n).map(|i| all[i * stride % n]).collect();
            let four: Vec<u32> = mixed.iter().map(|&c| c as u32).collect();
            assert_eq!(utf8(Characters::ucs4(&four)), mixed.iter().collect::<String>());
            let two: Vec<u16> = four.iter().filter_map(|&c| u16::try_from(c).ok()).collect();
            let expected: String = mixed.iter().filter(|&&c| (c as u32) < 1 << 16).collect();
            assert_eq!(utf8(Characters::ucs2(&two)), expected);
            let one: Vec<u8> = two.iter().filter_map(|&c| u8::try_from(c).ok()).collect();
            let expected: String = one.iter().map(|&c| char::from(c)).collect();
            assert_eq!(utf8(Characters::latin1(&one)), expected);
        }
    }

    fn spelled_out<U: Unit>(text: &str) -> Vec<u32> {
        let (n_characters, largest) = measure(text);
        assert!(text.chars().all(|character| u32::from(character) <= largest));
        let mut units = vec![MaybeUninit::new(U::default()); n_characters];
        from_utf8(text, &mut units);
        // SAFETY: They were initialised when they were made.
        units.into_iter().map(|unit| unsafe { unit.assume_init() }.into()).collect()
    }

    #[test]
    fn every_character_back_in_every_width() {
        for stride in [1, 7919, 65_537] {
            let all: Vec<char> = (0..=char::MAX as u32).filter_map(char::from_u32).collect();
            let n = all.len();
            let mixed: Vec<char> = (0..n).map(|i| all[i * stride % n]).collect();
            for (most, what) in [(0x7f, 1), (0xff, 1), (0xffff, 2), (0x0010_ffff, 4)] {
                let text: String = mixed.iter().filter(|&&character| character as u32 <= most).collect();
                let expected: Vec<u32> = text.chars().map(u32::from).collect();
                assert_eq!(measure(&text), (expected.len(), most));
                let found = match what {
                    1 => spelled_out::<u8>(&text),
                    2 => spelled_out::<u16>(&text),
                    _ => spelled_out::<u32>(&text),
                };
                assert!(found == expected, "{most:x}");
            }
        }
    }

    #[test]
    fn every_length_back() {
        let text = "abcdefghij é߿ࠀ中￿x klmnopqrstuvwxyz 𐀀😀z 0123456789".repeat(6);
        for (at, _) in text.char_indices().chain([(text.len(), ' ')]) {
            let expected: Vec<u32> = text[..at].chars().map(u32::from).collect();
            assert_eq!(spelled_out::<u32>(&text[..at]), expected);
            let expected: Vec<u32> = text[at..].chars().map(u32::from).collect();
            assert_eq!(spelled_out::<u32>(&text[at..]), expected);
        }
    }

    #[test]
    fn every_length_and_the_portable_way() {
        let text = "a\0é߿ࠀ中￿x𐀀😀z".repeat(6);
        let characters: Vec<u32> = text.chars().map(u32::from).collect();
        for n in 0..characters.len() {
            let expected: String = text.chars().take(n).collect();
            assert_eq!(utf8(Characters::ucs4(&characters[..n])), expected);
            let mut portable = Vec::new();
            to_utf8_portable(&characters[..n], &mut portable).unwrap();
            assert_eq!(portable, expected.as_bytes());
        }
    }

    #[test]
    fn what_is_no_character_is_refused() {
        let refused = |text: Characters<'_>| {
            let mut buffer = "x".to_owned();
            let is_refused = matches!(text.utf8(&mut buffer), Err(Error::NotCharacters));
            is_refused && buffer.is_empty()
        };
        for unit in [0xd800, 0xdfff] {
            for n_before in [0, 1, 15, 16, 40] {
                let two = [vec![0x61; n_before], vec![unit, 0x61]].concat();
                let four: Vec<u32> = two.iter().copied().map(u32::from).collect();
                assert!(refused(Characters::ucs2(&two)));
                assert!(refused(Characters::ucs4(&four)));
                assert!(to_utf8_portable(&two, &mut Vec::new()).is_err());
            }
        }
        assert!(refused(Characters::ucs4(&[0x0011_0000])));
        assert!(refused(Characters::ucs4(&[u32::MAX])));
        assert!(!refused(Characters::ucs2(&[0xd7ff, 0xe000])));
    }
}
