//! A pull parser for JSON: the caller requests the value it expects and gets it, or an error with the offset.
//!
//! It builds nothing that is not requested, does not recurse (a skipped value is tracked by a depth counter), accepts
//! only integers as numbers, and leaves repeated keys to the caller. One pass; only strings with escapes allocate.

use std::borrow::Cow;

use crate::error::{Error, Result};

/// The deepest nesting that is skipped; no schema has as much.
const MAX_DEPTH: usize = 16;

/// A text and the offset up to which it is read.
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
    /// A reader of `text` from the offset `at` on.
    pub fn new(text: &'a str, at: usize) -> Self {
        Json { text, at }
    }

    /// The whole text.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Reads letters, digits, signs and dots: a number, or a word such as `null`.
    pub fn word(&mut self) -> &'a str {
        self.peek();
        let rest = self.text.get(self.at..).unwrap_or_default();
        let n_bytes = rest.bytes().take_while(|byte| KINDS[usize::from(*byte)] == Kind::Plain).count();
        self.at += n_bytes;
        &rest[..n_bytes]
    }

    /// The offset of the next byte.
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

    /// The error that names what was expected and what was found.
    #[cold]
    pub fn unexpected<T>(&mut self, expected: &str) -> Result<T> {
        let message = match self.peek() {
            None => format!("expected {expected}, but the file ends; it may be cut short"),
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
        self.unexpected(if n_digits > 19 { "a smaller number" } else { "an integer of 0 or more" })
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
        // serde_json aborts where the system refuses memory.
        String::new().try_reserve(2 * inside.len()).map_err(Error::out_of_memory("a string of a file"))?;
        let text = serde_json::from_str(&self.text[start - 1..=end]);
        text.map(Cow::Owned).map_err(|error| {
            let (fault, at) = (error.to_string(), start - 1);
            let fault = fault.split(" at line").next().unwrap_or_default();
            Error::Model(format!(
                "the string at byte {at} has an escape that is no character, such as half of a surrogate pair ({fault})"
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

    /// Skips one value. Only brackets and strings are checked.
    pub fn skip(&mut self) -> Result<()> {
        let mut depth = 0;
        loop {
            self.peek();
            let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
            let skipped = if depth == 0 { Kind::Plain } else { Kind::Between };
            let n_skipped = rest.iter().take_while(|byte| KINDS[usize::from(**byte)] <= skipped).count();
            self.at += n_skipped;
            match rest.get(n_skipped) {
                _ if depth == 0 && n_skipped > 0 => {}
                Some(b'"') => {
                    self.string_span()?;
                }
                Some(b'[' | b'{') => {
                    depth += 1;
                    if depth > MAX_DEPTH {
                        return self.unexpected("a tokenizer, which is not nested so deep");
                    }
                    self.at += 1;
                }
                Some(b']' | b'}') if depth > 0 => {
                    depth -= 1;
                    self.at += 1;
                }
                _ => return self.unexpected("a value"),
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }
}

/// The classes of bytes in [`Json::skip`].
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Kind {
    /// Part of a number or of a word.
    Plain,
    /// White space, a comma, a colon: between values.
    Between,
    /// A bracket, a quote, or a byte that is invalid outside strings.
    Other,
}

const KINDS: [Kind; 256] = {
    let mut kinds = [Kind::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        kinds[byte] = match byte as u8 {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'+' | b'.' => Kind::Plain,
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => Kind::Between,
            _ => Kind::Other,
        };
        byte += 1;
    }
    kinds
};
