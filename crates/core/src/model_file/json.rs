//! A JSON reader that is told what to expect.
//!
//! Enters: text. Leaves: what the caller asks for next, or an error with the offset. Nothing is built that was not
//! asked for, nothing recurses (a value to be skipped is counted in and out of its brackets), a number is an integer
//! or an error, and a repeated key is for the caller to see. Cost: one pass, no allocation but for strings with
//! escapes.

use std::borrow::Cow;

use crate::error::{Error, Result};

/// The deepest nesting that any schema has, with room to spare.
const DEEPEST: usize = 16;

/// Text and how far it has been read.
#[derive(Clone)]
pub struct Json<'a> {
    text: &'a str,
    at: usize,
}

/// Says where in the document an error lies.
pub trait Within<T> {
    /// Puts `place` before the message of a [`Error::Model`] or [`Error::MissingKey`].
    fn within(self, place: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Within<T> for Result<T> {
    fn within(self, place: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| match error {
            Error::Model(message) => Error::Model(format!("{}: {message}", place())),
            Error::MissingKey(message) => Error::MissingKey(format!("{}: {message}", place())),
            other => other,
        })
    }
}

impl<'a> Json<'a> {
    /// A reader of `text` from the offset `at` on.
    pub fn new(text: &'a str, at: usize) -> Self {
        Json { text, at }
    }

    /// The offset of the next byte to be read.
    pub fn offset(&self) -> usize {
        self.at
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// The next byte that is not white space, which stays unread.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        loop {
            match self.byte(self.at) {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                other => return other,
            }
        }
    }

    /// An error that says what was expected and what is there instead.
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

    /// Reads `byte`, or says that `expected` should be there.
    #[inline]
    pub fn expect(&mut self, byte: u8, expected: &str) -> Result<()> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        self.unexpected(expected)
    }

    /// Whether a comma and this key follow; what has been read is of no use afterwards.
    pub fn next_key_is(&mut self, key: &str) -> bool {
        self.expect(b',', "','").is_ok() && self.string().is_ok_and(|found| found == key)
    }

    /// Nothing but white space may follow.
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
        // Nineteen digits always fit.
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

    /// Reads past a string; gives the span between its quotes and whether it holds escapes.
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

    /// Reads past one value, whatever it is; only brackets and strings are looked at.
    pub fn skip(&mut self) -> Result<()> {
        let mut depth = 0;
        loop {
            self.peek();
            let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
            let passes = if depth == 0 { Kind::Plain } else { Kind::Between };
            let n_passed = rest.iter().take_while(|byte| KINDS[usize::from(**byte)] <= passes).count();
            self.at += n_passed;
            match rest.get(n_passed) {
                _ if depth == 0 && n_passed > 0 => {}
                Some(b'"') => {
                    self.string_span()?;
                }
                Some(b'[' | b'{') => {
                    depth += 1;
                    if depth > DEEPEST {
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

/// What a byte is to [`Json::skip`].
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Kind {
    /// Part of a number or of a word.
    Plain,
    /// White space, a comma, a colon: between values.
    Between,
    /// A bracket, a quote, or what has no place outside of strings.
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

/// The text of a string's inside; the fault when an escape is none.
fn unescape(inside: &str) -> std::result::Result<String, String> {
    let mut text = String::new();
    text.try_reserve(inside.len()).map_err(|_| "no memory to unescape".to_string())?;
    let mut rest = inside;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        // An escape's letter is ASCII wherever it is one, and the backslash is: the slices below are on boundaries.
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

/// The character of the four digits (or of a surrogate pair) that follow `\u`, and what comes after it.
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
