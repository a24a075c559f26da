//! Text as callers hold it: UTF-8, or characters of one, two or four bytes each, as CPython stores a str.
//!
//! [`Text::utf8`] converts to UTF-8 in a buffer that all texts reuse, so that it stays in cache. [`from_utf8()`]
//! converts back to characters of the wanted width.
//!
//! Tried: the crate `simdutf`. It is about as fast, but needs a C++ compiler per target, and the C++ library per
//! wheel.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod from_utf8;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod neon;
mod portable;
#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))]
mod shuffles;
mod to_utf8;
mod units;

use std::ops::Range;

pub use from_utf8::{from_utf8, measure, valid};
pub use units::Unit;

use to_utf8::to_utf8;

use crate::error::Result;

/// A text that can be read as UTF-8.
pub trait Text: Sync {
    /// Returns the text as UTF-8, converted into `buffer` unless it is UTF-8 already.
    ///
    /// Errors: [`Error::NotCharacters`](crate::Error::NotCharacters); [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    fn utf8<'a>(&'a self, buffer: &'a mut String) -> Result<&'a str>;

    /// Returns the bytes from which [`utf8`](Self::utf8) makes the text, as they are in memory.
    fn stored(&self) -> &[u8];

    /// Returns the size in bytes, exact within a small factor.
    fn n_bytes(&self) -> usize {
        self.stored().len()
    }
}

impl Text for &str {
    #[inline]
    fn utf8<'a>(&'a self, _buffer: &'a mut String) -> Result<&'a str> {
        Ok(self)
    }

    fn stored(&self) -> &[u8] {
        self.as_bytes()
    }
}

/// UTF-8, or characters of equal width.
#[derive(Clone, Copy)]
pub enum Characters<'a> {
    /// UTF-8.
    Utf8(&'a str),
    /// Code points below 256, one byte each.
    Latin1(&'a [u8]),
    /// Code points below 0x10000, two bytes each.
    Ucs2(&'a [u16]),
    /// Any code points, four bytes each.
    Ucs4(&'a [u32]),
}

impl Characters<'_> {
    /// Returns the number of units: bytes of UTF-8, or else characters.
    pub fn n_units(&self) -> usize {
        match *self {
            Characters::Utf8(text) => text.len(),
            Characters::Latin1(units) => units.len(),
            Characters::Ucs2(units) => units.len(),
            Characters::Ucs4(units) => units.len(),
        }
    }

    /// Returns the units of a range, as far as they exist. Of UTF-8, returns the characters that begin there.
    pub fn part(&self, range: Range<usize>) -> Self {
        let (start, end) = (range.start, range.end.min(self.n_units()));
        match *self {
            Characters::Utf8(text) => {
                Characters::Utf8(&text[text.floor_char_boundary(start)..text.floor_char_boundary(end)])
            }
            Characters::Latin1(units) => Characters::Latin1(&units[start..end]),
            Characters::Ucs2(units) => Characters::Ucs2(&units[start..end]),
            Characters::Ucs4(units) => Characters::Ucs4(&units[start..end]),
        }
    }
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

    fn stored(&self) -> &[u8] {
        match *self {
            Characters::Utf8(text) => text.as_bytes(),
            Characters::Latin1(units) => units,
            Characters::Ucs2(units) => units::as_bytes(units),
            Characters::Ucs4(units) => units::as_bytes(units),
        }
    }
}

#[cfg(test)]
mod tests;
