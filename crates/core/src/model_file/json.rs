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

    /// Whether a comma and this key follow. Leaves the parser at an arbitrary offset: call it on a clone.
    pub fn next_key_is(&mut self, key: &str) -> bool {
        self.expect(b',', "','").is_ok() && self.string().is_ok_and(|found| found == key)
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
        match unescape(inside) {
            Ok(text) => Ok(Cow::Owned(text)),
            Err(fault) => Err(Error::Model(format!("{fault} in the string at byte {}", start - 1))),
        }
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

/// Decodes the escapes of a string; the error is the message for an invalid escape.
fn unescape(inside: &str) -> std::result::Result<String, String> {
    let mut text = String::new();
    text.try_reserve(inside.len()).map_err(|_| "no memory to unescape".to_string())?;
    let mut rest = inside;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        // The backslash is ASCII and the letter is skipped by its length, so the slices are on character boundaries.
        let letter = rest[at + 1..].chars().next().unwrap_or('\\');
        rest = &rest[at + 1 + letter.len_utf8()..];
        text.push(match letter {
            '"' | '\\' | '/' => letter,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let (found, after) = code_point(rest)?;
                rest = after;
                found
            }
            other => return Err(format!("unknown escape \\{other}")),
        });
    }
    text.push_str(rest);
    Ok(text)
}

/// Decodes the four digits after `\u`, or a surrogate pair; returns the character and the rest.
fn code_point(rest: &str) -> std::result::Result<(char, &str), String> {
    let (high, after) = four_digits(rest)?;
    if let Some(found) = char::from_u32(high) {
        return Ok((found, after));
    }
    if let (0xD800..0xDC00, Some(second)) = (high, after.strip_prefix("\\u")) {
        let (low, after) = four_digits(second)?;
        let code = 0x10000 + ((high - 0xD800) << 10) + (low & 0x3FF);
        if let (0xDC00..0xE000, Some(found)) = (low, char::from_u32(code)) {
            return Ok((found, after));
        }
    }
    Err(format!("\\u{high:04x} is half of a surrogate pair, which is not text,"))
}

fn four_digits(rest: &str) -> std::result::Result<(u32, &str), String> {
    let digits = rest.get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    digits
        .and_then(|digits| u32::from_str_radix(digits, 16).ok())
        .map(|code| (code, &rest[4..]))
        .ok_or_else(|| "\\u without four digits".to_string())
}
