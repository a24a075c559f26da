//! A pull parser for JSON: the caller requests the value that it expects, and gets it or an error with the offset.
//!
//! It builds nothing that is not requested, accepts only integers as numbers, and leaves repeated keys to the caller. It makes
//! one pass and allocates only for strings with escapes.

use std::borrow::Cow;

use serde::de::IgnoredAny;

use crate::error::{Error, Result};

/// A text, and the offset of the next byte to read.
#[derive(Clone)]
pub struct Json<'a> {
    text: &'a str,
    at: usize,
}

/// Adds the location in the document to an error.
pub trait Within<T> {
    /// Puts `location` before the message of an [`Error::Model`] or [`Error::MissingKey`].
    fn within(self, location: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Within<T> for Result<T> {
    fn within(self, location: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| match error {
            Error::Model(message) => Error::Model(format!("{}: {message}", location())),
            Error::MissingKey(message) => Error::MissingKey(format!("{}: {message}", location())),
            other => other,
        })
    }
}

impl<'a> Json<'a> {
    /// Makes a reader of `text` that starts at offset `at`.
    pub fn new(text: &'a str, at: usize) -> Self {
        Json { text, at }
    }

    /// Returns the whole text.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Reads letters, digits, signs and dots: a number, or a word such as `null`.
    pub fn word(&mut self) -> &'a str {
        self.peek();
        let rest = self.text.get(self.at..).unwrap_or_default();
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-+.".contains(byte);
        let n_bytes = rest.bytes().take_while(is_plain).count();
        self.at += n_bytes;
        &rest[..n_bytes]
    }

    /// Returns the offset of the next byte.
    pub fn offset(&self) -> usize {
        self.at
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// Skips white space; returns the next byte without reading it.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        loop {
            match self.byte(self.at) {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                other => return other,
            }
        }
    }

    /// Returns an error that names what was expected and what was found.
    #[cold]
    pub fn unexpected<T>(&mut self, expected: &str) -> Result<T> {
        let message = match self.peek() {
            None => format!("expected {expected}, but the file ends; it may be truncated"),
            Some(_) => {
                let rest = self.text.get(self.at..).unwrap_or_default();
                let found: String = rest.chars().take(24).collect();
                format!("expected {expected} at byte {}, found {found:?}", self.at)
            }
        };
        Err(Error::Model(message))
    }

    /// Reads `byte`; the error names `expected`.
    #[inline]
    pub fn expect(&mut self, byte: u8, expected: &str) -> Result<()> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        self.unexpected(expected)
    }

    /// Fails unless only white space follows.
    pub fn expect_end(&mut self) -> Result<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => self.unexpected("the end of the file"),
        }
    }

    /// Reads a list; `element` is called with each index and must read one value.
    #[inline]
    pub fn list(&mut self, mut element: impl FnMut(&mut Self, usize) -> Result<()>) -> Result<()> {
        self.expect(b'[', "a list")?;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        for index in 0.. {
            element(self, index)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return self.unexpected("',' or ']'"),
            }
        }
        self.at += 1;
        Ok(())
    }

    /// Reads an object; `entry` is called with each key and must read one value.
    pub fn object(&mut self, mut entry: impl FnMut(&mut Self, Cow<'a, str>) -> Result<()>) -> Result<()> {
        self.expect(b'{', "an object")?;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            let key = self.string()?;
            self.expect(b':', "':'")?;
            entry(self, key)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return self.unexpected("',' or '}'"),
            }
        }
        self.at += 1;
        Ok(())
    }

    /// Reads an integer that is not negative.
    #[inline(always)]
    pub fn integer(&mut self) -> Result<u64> {
        self.peek();
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let mut value: u64 = 0;
        let mut n_digits = 0;
        for byte in rest {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            n_digits += 1;
        }
        let follows = rest.get(n_digits).copied().unwrap_or_default();
        let is_integer = n_digits == 1 || n_digits > 1 && rest.first() != Some(&b'0');
        // Nineteen digits always fit in 64 bits.
        if is_integer && n_digits <= 19 && !matches!(follows, b'.' | b'e' | b'E') {
            self.at += n_digits;
            return Ok(value);
        }
        self.unexpected(if n_digits > 19 {
            "a number with at most 19 digits"
        } else {
            "a non-negative integer"
        })
    }

    /// Reads true or false.
    pub fn boolean(&mut self) -> Result<bool> {
        self.peek();
        let rest = self.text.get(self.at..).unwrap_or_default();
        for (literal, value) in [("true", true), ("false", false)] {
            if rest.starts_with(literal) {
                self.at += literal.len();
                return Ok(value);
            }
        }
        self.unexpected("true or false")
    }

    /// Reads a string.
    #[inline]
    pub fn string(&mut self) -> Result<Cow<'a, str>> {
        let (start, end, has_escapes) = self.string_span()?;
        let Some(inside) = self.text.get(start..end) else {
            return self.unexpected("a string");
        };
        if !has_escapes {
            return Ok(Cow::Borrowed(inside));
        }
        // serde_json aborts if it cannot allocate, so try to allocate first.
        String::new().try_reserve(2 * inside.len()).map_err(Error::out_of_memory("a string of a file"))?;
        let text = serde_json::from_str(&self.text[start - 1..=end]);
        text.map(Cow::Owned).map_err(|error| {
            let (fault, at) = (error.to_string(), start - 1);
            let fault = fault.split(" at line").next().unwrap_or_default();
            Error::Model(format!(
                "the string at byte {at} has an escape that is not a character, such as half of a surrogate pair ({fault})"
            ))
        })
    }

    /// Reads a string without decoding it; returns the span between the quotes and whether it has escapes.
    #[inline]
    fn string_span(&mut self) -> Result<(usize, usize, bool)> {
        if self.peek() != Some(b'"') {
            return self.unexpected("a string");
        }
        let start = self.at + 1;
        let mut at = start;
        let mut has_escapes = false;
        loop {
            let rest = self.text.as_bytes().get(at..).unwrap_or_default();
            at += rest.iter().take_while(|byte| **byte >= b' ' && !matches!(**byte, b'"' | b'\\')).count();
            match self.byte(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    has_escapes = true;
                    at += 2;
                }
                Some(control) => {
                    let message = format!("control character 0x{control:02x} in a string at byte {at}");
                    return Err(Error::Model(message));
                }
                None => {
                    let message =
                        format!("the string at byte {} has no end; the file may be cut short", self.at);
                    return Err(Error::Model(message));
                }
            }
        }
        self.at = at + 1;
        Ok((start, at, has_escapes))
    }

    /// Skips one value.
    pub fn skip(&mut self) -> Result<()> {
        self.peek();
        let rest = self.text.get(self.at..).unwrap_or_default();
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        match values.next() {
            Some(Ok(_)) => {
                self.at += values.byte_offset();
                Ok(())
            }
            Some(Err(error)) => {
                let lines = rest.split_inclusive('\n').take(error.line().saturating_sub(1));
                let n_bytes = lines.map(str::len).sum::<usize>() + error.column().saturating_sub(1);
                self.at = if error.is_eof() { self.text.len() } else { self.at + n_bytes };
                self.unexpected("a value")
            }
            None => self.unexpected("a value"),
        }
    }
}
