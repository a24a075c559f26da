//! JSON lines -> documents: one string field of each line.
//!
//! The file is pushed as it is read, in blocks cut anywhere. Every line is a document, also an empty text, so that
//! documents correspond to rows; blank lines are dropped. The field is named by the path of keys that leads to it; of a
//! repeated key the last counts, as in Python's json. A line is parsed by serde_json without building anything but its
//! text.

use std::fmt;

use memchr::memchr;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use super::buffers::BufferPool;
use super::documents::{BLOCK, Documents, RecordErrors};
use crate::error::{Error, Result};
use crate::memory::TryReserve;

/// The most messages about skipped records that are kept.
const MAX_MESSAGES: usize = 5;
/// The most keys that a message lists.
const MAX_KEYS: usize = 8;

/// What grows, in the message of [`Error::OutOfMemory`].
const LINE: &str = "a line of a file";

/// Reads the documents of one file of JSON lines.
pub struct JsonLines {
    name: String,
    field: Vec<String>,
    record_errors: RecordErrors,
    /// The beginning of a line whose end is not read yet.
    held: Vec<u8>,
    n_lines: u64,
    n_skipped: u64,
    messages: Vec<String>,
    buffers: BufferPool<String>,
    /// The documents of a block before an error in it.
    salvaged: Documents,
}

impl JsonLines {
    /// A reader for the file that errors call `name`; `field` is the path of keys to the text.
    pub fn new(name: String, field: Vec<String>, record_errors: RecordErrors) -> Result<Self> {
        if field.is_empty() || field.iter().any(String::is_empty) {
            return Err(Error::Invalid(
                "the field has an empty name; name a key, or keys apart by dots".into(),
            ));
        }
        Ok(JsonLines {
            name,
            field,
            record_errors,
            held: Vec::new(),
            n_lines: 0,
            n_skipped: 0,
            messages: Vec::new(),
            buffers: BufferPool::default(),
            salvaged: Documents::default(),
        })
    }

    /// Reads the next bytes of the file.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Documents> {
        let text = self.buffers.take(bytes.len()).map_err(Error::out_of_memory(BLOCK))?;
        let mut documents = Documents { text, ends: Vec::new() };
        match self.read_lines(bytes, &mut documents) {
            Ok(()) => Ok(documents),
            Err(error) => {
                self.salvaged = documents;
                Err(error)
            }
        }
    }

    /// After an error: the documents of the lines before it in the block.
    pub fn salvage(&mut self) -> Documents {
        std::mem::take(&mut self.salvaged)
    }

    fn read_lines(&mut self, bytes: &[u8], documents: &mut Documents) -> Result<()> {
        let mut start = 0;
        while let Some(length) = memchr(b'\n', &bytes[start..]) {
            let line = &bytes[start..start + length];
            start += length + 1;
            if self.held.is_empty() {
                self.read_line(line, documents)?;
            } else {
                let mut whole = std::mem::take(&mut self.held);
                whole.try_extend(line, LINE)?;
                self.read_line(&whole, documents)?;
            }
        }
        self.held.try_extend(&bytes[start..], LINE)
    }

    /// Ends the file; returns a last line without a newline.
    pub fn finish(&mut self) -> Result<Documents> {
        let mut documents = Documents::default();
        let last = std::mem::take(&mut self.held);
        self.read_line(&last, &mut documents)?;
        Ok(documents)
    }

    /// The number of skipped records.
    pub fn n_skipped(&self) -> u64 {
        self.n_skipped
    }

    /// The errors of the first few of them.
    pub fn messages(&self) -> &[String] {
        &self.messages
    }

    fn read_line(&mut self, line: &[u8], documents: &mut Documents) -> Result<()> {
        self.n_lines += 1;
        let line = match line {
            [0xef, 0xbb, 0xbf, rest @ ..] if self.n_lines == 1 => rest,
            line => line,
        };
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let start = documents.text.len();
        let mut read = extract(line, &self.field, &mut documents.text);
        if read.is_err()
            && self.record_errors.replaces
            && let Some(replaced) = with_replacements(line)?
        {
            documents.text.truncate(start);
            read = extract(&replaced, &self.field, &mut documents.text);
        }
        let Err(error) = read else { return documents.end() };
        documents.text.truncate(start);
        let error = Error::Record {
            location: format!("{}: line {}", self.name, self.n_lines),
            message: message(&error, line, &self.field),
        };
        if !self.record_errors.skips {
            return Err(error);
        }
        self.n_skipped += 1;
        if self.messages.len() < MAX_MESSAGES {
            self.messages.push(error.to_string());
        }
        Ok(())
    }
}

/// The line with U+FFFD for bytes that are not UTF-8 and for escapes of lone surrogates (`"\\ud83d"`); `None` if it has
/// neither.
fn with_replacements(line: &[u8]) -> Result<Option<Vec<u8>>> {
    const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();
    let mut replaced = Vec::with_room(line.len(), LINE)?;
    let mut put = |bytes: &[u8]| replaced.try_extend(bytes, LINE);
    for chunk in line.utf8_chunks() {
        let mut rest = chunk.valid().as_bytes();
        while let Some(escape) = memchr(b'\\', rest) {
            put(&rest[..escape])?;
            rest = &rest[escape..];
            let low = rest.get(6..).and_then(surrogate);
            let (n_bytes, is_lone) = match (surrogate(rest), low) {
                (Some(0xd800..0xdc00), Some(0xdc00..)) => (12, false),
                (Some(_), _) => (6, true),
                // Any other escape is copied with its second byte, which may be a backslash.
                (None, _) => (rest.len().min(2), false),
            };
            put(if is_lone { REPLACEMENT } else { &rest[..n_bytes] })?;
            rest = &rest[n_bytes..];
        }
        put(rest)?;
        if !chunk.invalid().is_empty() {
            put(REPLACEMENT)?;
        }
    }
    Ok((replaced != line).then_some(replaced))
}

/// The surrogate whose escape is at the beginning of `bytes`.
fn surrogate(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    let digits =
        std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
    u16::from_str_radix(digits, 16).ok().filter(|unit| (0xd800..0xe000).contains(unit))
}

/// Appends the text of `field` to `text`; after an error part of it may have been appended.
fn extract(line: &[u8], field: &[String], text: &mut String) -> serde_json::Result<()> {
    let mut parser = serde_json::Deserializer::from_slice(line);
    Field { path: field, text }.deserialize(&mut parser)?;
    parser.end()
}

/// The message for a line that cannot be read, with the column.
fn message(error: &serde_json::Error, line: &[u8], field: &[String]) -> String {
    let text = error.to_string();
    let location = format!(" at line {} column {}", error.line(), error.column());
    let mut text = match text.strip_suffix(&location) {
        Some(text) => format!("{text} at column {}", error.column()),
        None => text,
    };
    if error.is_eof() {
        text.push_str("; the line is cut short");
    } else if error.is_syntax() && matches!(with_replacements(line), Ok(Some(_))) {
        text.push_str("; replace what is no character with input_errors=\"replace\"");
    } else if error.is_data()
        && let Ok(serde_json::Value::Object(record)) = serde_json::from_slice(line)
        && field.first().is_some_and(|key| !record.contains_key(key))
    {
        let keys: Vec<String> = record.keys().take(MAX_KEYS).map(|key| format!("{key:?}")).collect();
        let keys = if keys.is_empty() { "no fields".to_owned() } else { keys.join(", ") };
        text = format!("no field {:?}; the record has {keys}", field.join("."));
    }
    text
}

/// Deserializes the string at a path of keys, and appends it to `text`.
struct Field<'a> {
    path: &'a [String],
    text: &'a mut String,
}

impl<'de> DeserializeSeed<'de> for Field<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        if self.path.is_empty() {
            deserializer.deserialize_str(self)
        } else {
            deserializer.deserialize_map(self)
        }
    }
}

impl<'de> Visitor<'de> for Field<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.path.is_empty() { "a string" } else { "an object" })
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> std::result::Result<(), E> {
        self.text.try_reserve(text.len()).map_err(|_| E::custom("out of memory"))?;
        self.text.push_str(text);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        let Some((key, rest)) = self.path.split_first() else {
            return Err(A::Error::custom("an object where a string is wanted"));
        };
        let start = self.text.len();
        let mut is_found = false;
        while let Some(is_key) = map.next_key_seed(KeyIs(key))? {
            if is_key {
                self.text.truncate(start);
                map.next_value_seed(Field { path: rest, text: &mut *self.text })?;
                is_found = true;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        if is_found { Ok(()) } else { Err(A::Error::custom(format_args!("no field {key:?}"))) }
    }
}

/// Deserializes whether a key is the given one, without allocating.
struct KeyIs<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for KeyIs<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyIs<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> std::result::Result<bool, E> {
        Ok(key == self.0)
    }
}
