//! Reads JSON lines as documents: one string field of each line.
//!
//! The caller pushes the file as it reads it, in blocks cut anywhere. Every line is a document, even if its text is
//! empty, so documents correspond to rows; blank lines are dropped. The field is given as a path of keys. If a key is
//! repeated the last one counts, as in Python's json. A key that ends with `[]` holds a list, and each text below it is
//! a document. serde_json parses each line without building anything but its texts. On request the reader also records
//! each document's line number, and its id from another field.

use std::fmt;

use memchr::memchr;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor,
};

use super::buffers::BufferPool;
use super::documents::{BLOCK, Documents, RecordErrors};
use super::utf8_reader::likely_cause;
use crate::error::{Error, Result};
use crate::memory::TryReserve;

/// Maximum number of kept messages about skipped records.
const MAX_MESSAGES: usize = 5;
/// Maximum number of keys listed in a message.
const MAX_KEYS: usize = 8;

/// Names the allocation in [`Error::OutOfMemory`].
const LINE: &str = "a line of a file";

/// Reads the documents of one file of JSON lines.
pub struct JsonLines {
    name: String,
    field: Vec<Step>,
    record_errors: RecordErrors,
    /// The start of a line whose end has not been read yet.
    pending: Vec<u8>,
    n_lines: u64,
    n_skipped: u64,
    messages: Vec<String>,
    origins: Option<Origins>,
    id_field: Vec<String>,
    buffers: BufferPool<String>,
}

/// Where each document comes from.
#[derive(Debug, Default)]
pub struct Origins {
    /// The line number of each document, from 1.
    pub lines: Vec<i64>,
    /// The id of each document, `None` if its record has no id. Empty if no id field was named.
    pub ids: Vec<Option<String>>,
}

impl JsonLines {
    /// Creates a reader for a file that errors call `name`; `field` is the path of keys to the text.
    pub fn new(name: String, field: Vec<String>, record_errors: RecordErrors) -> Result<Self> {
        let field: Vec<Step> = field.iter().map(|name| Step::new(name)).collect();
        if field.is_empty() || field.iter().any(|step| step.key.is_empty()) {
            return Err(Error::Invalid(
                "the field has an empty name; give a key, or keys separated by dots".into(),
            ));
        }
        Ok(JsonLines {
            name,
            field,
            record_errors,
            pending: Vec::new(),
            n_lines: 0,
            n_skipped: 0,
            messages: Vec::new(),
            origins: None,
            id_field: Vec::new(),
            buffers: BufferPool::default(),
        })
    }

    /// Makes the reader record the [`Origins`] of documents. `id_field` is the path of keys to the id, or empty.
    #[must_use]
    pub fn with_origins(mut self, id_field: Vec<String>) -> Self {
        self.origins = Some(Origins::default());
        self.id_field = id_field;
        self
    }

    /// Returns the origins of the documents returned since the last call; empty unless the reader records them.
    pub fn take_origins(&mut self) -> Origins {
        self.origins.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Reads the next bytes of the file.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Documents> {
        let text = self.buffers.take(bytes.len()).map_err(Error::out_of_memory(BLOCK))?;
        let mut documents = Documents { text, ends: Vec::new() };
        self.read_lines(bytes, &mut documents)?;
        Ok(documents)
    }

    fn read_lines(&mut self, bytes: &[u8], documents: &mut Documents) -> Result<()> {
        let mut start = 0;
        while let Some(length) = memchr(b'\n', &bytes[start..]) {
            let line = &bytes[start..start + length];
            start += length + 1;
            if self.pending.is_empty() {
                self.read_line(line, documents)?;
            } else {
                let mut whole = std::mem::take(&mut self.pending);
                whole.try_extend(line, LINE)?;
                self.read_line(&whole, documents)?;
            }
        }
        self.pending.try_extend(&bytes[start..], LINE)?;
        if self.n_lines == 0 && !self.record_errors.skips && begins_list(&self.pending) {
            // Fail early on a list of records: it is often a single line that ends with the file.
            let begun = std::mem::take(&mut self.pending);
            return self.read_line(&begun, documents);
        }
        Ok(())
    }

    /// Ends the file; returns the document of a last line without a newline.
    pub fn finish(&mut self) -> Result<Documents> {
        let mut documents = Documents::default();
        let last = std::mem::take(&mut self.pending);
        self.read_line(&last, &mut documents)?;
        Ok(documents)
    }

    /// Returns the number of skipped records.
    pub fn n_skipped(&self) -> u64 {
        self.n_skipped
    }

    /// Returns the errors of the first few skipped records.
    pub fn messages(&self) -> &[String] {
        &self.messages
    }

    fn read_line(&mut self, line: &[u8], documents: &mut Documents) -> Result<()> {
        self.n_lines += 1;
        let line = if self.n_lines == 1 { without_mark(line) } else { line };
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let start = (documents.text.len(), documents.ends.len());
        let mut read = self.extract(line, documents);
        if read.is_err()
            && self.record_errors.replaces
            && let Some(replaced) = with_replacements(line)?
        {
            truncate(documents, start);
            read = self.extract(&replaced, documents);
        }
        let error = match read {
            Ok((n_nulls, id)) => {
                self.n_skipped += n_nulls;
                if n_nulls > 0 && self.messages.len() < MAX_MESSAGES {
                    let nulls = format!("{n_nulls} elements without a text");
                    self.messages.push(format!("{}: line {}: {nulls}", self.name, self.n_lines));
                }
                return self.note_origins(id, documents.ends.len() - start.1);
            }
            Err(error) => error,
        };
        truncate(documents, start);
        let error = Error::Record {
            location: format!("{}: line {}", self.name, self.n_lines),
            message: message(&error, line, self.n_lines == 1, &self.field),
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

    /// Records the origin of `n` documents, all from the current line.
    fn note_origins(&mut self, id: Option<String>, n: usize) -> Result<()> {
        let Some(origins) = &mut self.origins else { return Ok(()) };
        let line = i64::try_from(self.n_lines).unwrap_or(i64::MAX);
        for _ in 0..n {
            origins.lines.try_push(line, BLOCK)?;
            if !self.id_field.is_empty() {
                origins.ids.try_push(id.clone(), BLOCK)?;
            }
        }
        Ok(())
    }

    /// Appends the texts of the field. Returns the number of nulls skipped in its lists, and the id. After an error,
    /// some texts may have been appended.
    fn extract(&self, line: &[u8], documents: &mut Documents) -> serde_json::Result<(u64, Option<String>)> {
        let mut parser = serde_json::Deserializer::from_slice(line);
        let mut nulls = Nulls { are_skipped: self.record_errors.skips, n: 0 };
        Field { path: &self.field, depth: 0, in_list: false, documents, nulls: &mut nulls }
            .deserialize(&mut parser)?;
        parser.end()?;
        if self.id_field.is_empty() {
            return Ok((nulls.n, None));
        }
        let id = IdAt(&self.id_field).deserialize(&mut serde_json::Deserializer::from_slice(line))?;
        Ok((nulls.n, id))
    }
}

/// Removes everything appended after `start`, a pair (bytes of text, number of ends).
fn truncate(documents: &mut Documents, start: (usize, usize)) {
    documents.text.truncate(start.0);
    documents.ends.truncate(start.1);
}

/// Returns whether a file that starts with these bytes is a list of records.
fn begins_list(bytes: &[u8]) -> bool {
    without_mark(bytes).trim_ascii_start().first() == Some(&b'[')
}

/// Strips a byte order mark.
fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// A key on the path to the field, and the number of nested lists below it.
struct Step {
    key: String,
    n_lists: usize,
}

impl Step {
    fn new(name: &str) -> Self {
        let key = name.trim_end_matches("[]");
        Step { key: key.to_owned(), n_lists: (name.len() - key.len()) / 2 }
    }
}

/// Nulls found in place of texts in lists.
struct Nulls {
    are_skipped: bool,
    n: u64,
}

/// Replaces bytes that are not UTF-8 and escapes of lone surrogates (`"\\ud83d"`) by U+FFFD. Returns `None` if the line
/// has neither.
fn with_replacements(line: &[u8]) -> Result<Option<Vec<u8>>> {
    const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();
    let mut replaced = Vec::with_reserved(line.len(), LINE)?;
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

/// Returns the surrogate if `bytes` start with the escape of one.
fn surrogate(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    let digits =
        std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
    u16::from_str_radix(digits, 16).ok().filter(|unit| (0xd800..0xe000).contains(unit))
}

/// Returns the error message, with the column, for a line that cannot be read. `is_first`: it is the file's first line.
fn message(error: &serde_json::Error, line: &[u8], is_first: bool, field: &[Step]) -> String {
    if is_first && matches!(line.trim_ascii(), b"{" | b"[" | b"[{") {
        return "the file is a single JSON value that spans several lines, not one record per line; convert it with `jq -c .`, \
        or with `jq -c '.[]'` if it is a list"
            .into();
    }
    let text = error.to_string();
    let location = format!(" at line {} column {}", error.line(), error.column());
    let mut text = match text.strip_suffix(&location) {
        Some(text) => format!("{text} at column {}", error.column()),
        None => text,
    };
    if error.is_eof() {
        text.push_str("; the line is truncated");
    } else if error.is_syntax() && is_nan_or_infinity(line, error.column()) {
        text.push_str(
            "; NaN and Infinity are not JSON: write null instead, or skip such records with skip_bad",
        );
    } else if error.is_syntax() && looks_like_utf16(line) {
        text.push_str(likely_cause(line, false));
    } else if error.is_syntax()
        && let Err(malformed) = std::str::from_utf8(line)
        && malformed.valid_up_to() < error.column()
    {
        text = format!(
            "invalid UTF-8 at byte {} of the line{}",
            malformed.valid_up_to(),
            likely_cause(line, true)
        );
    } else if error.is_syntax()
        && std::str::from_utf8(line).is_ok()
        && matches!(with_replacements(line), Ok(Some(_)))
    {
        text.push_str("; a lone surrogate is not a character: replace it with input_errors=\"replace\"");
    } else if error.is_syntax() {
        text.push_str("; the line is not JSON: correct it, or skip such lines with skip_bad");
    } else if error.is_data()
        && let Ok(serde_json::Value::Object(record)) = serde_json::from_slice(line)
        && field.first().is_some_and(|step| !record.contains_key(&step.key))
    {
        let keys: Vec<String> = record.keys().take(MAX_KEYS).map(|key| format!("{key:?}")).collect();
        let keys = if keys.is_empty() { "no fields".to_owned() } else { keys.join(", ") };
        let name = shown(field);
        text = format!("no field {name:?}; the record has {keys}");
        if record.contains_key(&name) {
            text.push_str("; dots separate nested fields, so rename the key that contains one");
        } else {
            text.push_str("; name the key of the text with text_field, or skip such rows with skip_bad");
        }
    } else if error.is_data() && line.trim_ascii_start().starts_with(b"[") {
        text.push_str("; write one record per line, not a list of records");
    } else if error.is_data() && text.starts_with("invalid type: sequence, expected") {
        text.push_str("; add [] to the field to read the texts of a list");
    } else if error.is_data() && text.starts_with("invalid type: map, expected a string") {
        text.push_str("; name a nested key with a dot, as in a.b");
    } else if error.is_data() {
        text.push_str("; skip such rows with skip_bad");
    }
    text
}

/// Returns whether NaN or Infinity, which Python writes but JSON lacks, is at `column`; the error may be at its sign.
fn is_nan_or_infinity(line: &[u8], column: usize) -> bool {
    (column.saturating_sub(2)..=column).any(|start| {
        line.get(start..).is_some_and(|rest| rest.starts_with(b"NaN") || rest.starts_with(b"Infinity"))
    })
}

/// Returns whether a line starts like UTF-16: with its byte order mark, or with a character that has a zero byte.
fn looks_like_utf16(line: &[u8]) -> bool {
    matches!(line, [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, _, ..] | [_, 0, ..])
}

/// Returns the field's name as the caller wrote it.
fn shown(field: &[Step]) -> String {
    let names: Vec<String> = field.iter().map(|step| step.key.clone() + &"[]".repeat(step.n_lists)).collect();
    names.join(".")
}

/// Deserializes the string at a path of keys, or all strings of lists on that path, and appends each as a document.
struct Field<'a> {
    path: &'a [Step],
    /// The number of nested lists to enter before the first key of the path.
    depth: usize,
    /// Whether the value is inside a list: there, a null or a missing key invalidates one text, not the whole record.
    in_list: bool,
    documents: &'a mut Documents,
    nulls: &'a mut Nulls,
}

impl<'de> DeserializeSeed<'de> for Field<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        if self.depth > 0 {
            deserializer.deserialize_seq(self)
        } else if self.path.is_empty() {
            deserializer.deserialize_str(self)
        } else {
            deserializer.deserialize_map(self)
        }
    }
}

impl<'de> Visitor<'de> for Field<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.depth, self.path) {
            (0, []) => "a string",
            (0, _) => "an object",
            _ => "a list",
        })
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> std::result::Result<(), E> {
        let added = self.documents.append(text).and_then(|()| self.documents.end());
        added.map_err(|_| E::custom("out of memory"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<(), A::Error> {
        let Field { path, depth, documents, nulls, .. } = self;
        // `Element` deserializes an Option, so that null is noticed.
        while list
            .next_element_seed(Element(Field { path, depth: depth - 1, in_list: true, documents, nulls }))?
            .is_some()
        {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        let Some((step, rest)) = self.path.split_first() else {
            return Err(A::Error::custom("invalid type: map, expected a string"));
        };
        let Field { in_list, documents, nulls, .. } = self;
        let (start, n_nulls) = ((documents.text.len(), documents.ends.len()), nulls.n);
        let mut is_found = false;
        while let Some(is_key) = map.next_key_seed(KeyIs(&step.key))? {
            if is_key {
                truncate(documents, start);
                nulls.n = n_nulls;
                let field = Field { path: rest, depth: step.n_lists, in_list, documents, nulls };
                if in_list {
                    map.next_value_seed(Element(field))?;
                } else {
                    map.next_value_seed(field)?;
                }
                is_found = true;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        if is_found {
            Ok(())
        } else if in_list && nulls.are_skipped {
            nulls.n += 1;
            Ok(())
        } else {
            Err(A::Error::custom(format_args!("no field {:?}", step.key)))
        }
    }
}

/// Deserializes an element of a list, or a value in such an element; either can be null.
struct Element<'a>(Field<'a>);

impl<'de> DeserializeSeed<'de> for Element<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for Element<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_none<E: serde::de::Error>(self) -> std::result::Result<(), E> {
        if !self.0.nulls.are_skipped {
            return Err(E::invalid_type(Unexpected::Unit, &self));
        }
        self.0.nulls.n += 1;
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        self.0.deserialize(deserializer)
    }
}

/// Deserializes the id at a path of keys: a text, or the digits of an integer; `None` if it is null or missing.
struct IdAt<'a>(&'a [String]);

impl<'de> DeserializeSeed<'de> for IdAt<'_> {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for IdAt<'_> {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or an integer as the id")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Self::Value, A::Error> {
        let Some((key, rest)) = self.0.split_first() else {
            return Err(A::Error::invalid_type(Unexpected::Map, &self));
        };
        let mut id = None;
        while let Some(is_key) = map.next_key_seed(KeyIs(key))? {
            if is_key {
                id = map.next_value_seed(IdAt(rest))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(id)
    }

    fn visit_unit<E>(self) -> std::result::Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E: serde::de::Error>(self, id: &str) -> std::result::Result<Self::Value, E> {
        if self.0.is_empty() {
            Ok(Some(id.to_owned()))
        } else {
            Err(E::invalid_type(Unexpected::Str(id), &"an object that contains the id"))
        }
    }

    fn visit_u64<E: serde::de::Error>(self, id: u64) -> std::result::Result<Self::Value, E> {
        self.visit_str(&id.to_string())
    }

    fn visit_i64<E: serde::de::Error>(self, id: i64) -> std::result::Result<Self::Value, E> {
        self.visit_str(&id.to_string())
    }
}

/// Compares a key with the given one without allocating.
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
