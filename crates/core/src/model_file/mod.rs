//! Reads the native model file: bytes -> validated columns.
//!
//! docs/formats.md specifies schemas 1 and 2. The returned [`ModelColumns`] satisfy the invariants of
//! [`Columns::check`](crate::model::Columns::check), which are checked here while reading, so that errors can name the
//! location in the file. Cost: one pass over a file as pairloom saves it; two over any other, the first of which finds the
//! keys. Memory is linear in the file. Never recurses and never panics, whatever the bytes.

mod base64;
mod json;
mod schema1;
mod schema2;
#[cfg(test)]
mod tests;
pub mod tiktoken;
pub mod tokenizer_json;

use std::borrow::Cow;

use hashbrown::{HashMap, HashSet};

use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::model::CheckedColumns;
use crate::vocabulary::MAX_IDS;
use json::{Json, Within};

pub use crate::decoder::DecodeErrors;

/// The largest id of a token.
pub const LARGEST_ID: u32 = MAX_IDS as u32 - 1;

/// One pattern, or several that are applied in sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternText {
    /// A regular expression.
    One(String),
    /// At least one; each splits the pretokens of the one before.
    Several(Vec<String>),
}

/// Everything that defines a tokenizer, as columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelColumns {
    /// The tokens' ids, ascending.
    pub token_ids: Vec<u32>,
    /// The tokens' bytes, one after the other.
    pub token_bytes: Vec<u8>,
    /// The end of each token in `token_bytes`.
    pub token_ends: Vec<u64>,
    /// Left id, right id and merged id of each merge, in rank order.
    pub merges: Vec<u32>,
    /// Whether ids are ranks: any two tokens merge whose joined bytes are a token, the least id first.
    pub ranks: bool,
    /// Whether a pretoken that is a token is encoded as that token without merging.
    pub ignore_merges: bool,
    /// Special tokens in the order of the file.
    pub special_tokens: Vec<(String, u32)>,
    /// The special tokens that HuggingFace's decoder does not skip, ascending.
    pub plain_specials: Vec<String>,
    /// How text is split into pretokens.
    pub pattern: PatternText,
    /// How invalid bytes are decoded.
    pub decode_errors: DecodeErrors,
    /// The post_processor of a tokenizer.json, as JSON text that is not parsed here.
    pub post_processor: Option<String>,
    /// The tokenizer_config.json of a model folder, as JSON text that is not parsed here.
    pub tokenizer_config: Option<String>,
    /// The steps that change a text before it is split, by name.
    pub normalizer: Vec<String>,
    /// Rules of special tokens, each a literal and a name: see [`crate::special`].
    pub special_rules: Vec<(String, String)>,
}

impl ModelColumns {
    /// Takes the tokens and merges.
    pub fn take_columns(&mut self) -> Result<CheckedColumns> {
        let mut merges = Vec::with_room(self.merges.len() / 3, "merges")?;
        merges.extend_from_slice(self.merges.as_chunks().0);
        let (ids, ends) = (std::mem::take(&mut self.token_ids), std::mem::take(&mut self.token_ends));
        Ok(CheckedColumns::checked(ids, std::mem::take(&mut self.token_bytes), ends, merges, self.ranks))
    }
}

/// The span of the value of each key of an object.
type Spans<'a> = HashMap<Cow<'a, str>, (usize, usize)>;

/// How values are found.
enum Keys<'a> {
    /// By reading on: keys are requested in the order in which pairloom saves them, with nothing between.
    Sorted(Json<'a>),
    /// By a first pass that found all keys, in any order.
    Found(Spans<'a>),
}

/// Reads a model file that errors call `name`.
///
/// With `legacy`, schema 1 may lack the entry of the special token in `vocab`, as earlier builds wrote it.
/// [`Error::MissingKey`] for a missing key, [`Error::Model`] for every other defect.
pub fn read(data: &[u8], name: &str, legacy: bool) -> Result<ModelColumns> {
    read_text(data, legacy).within(|| name.to_string())
}

fn read_text(data: &[u8], legacy: bool) -> Result<ModelColumns> {
    let text = std::str::from_utf8(data).map_err(|error| {
        let at = error.valid_up_to();
        Error::Model(format!("not UTF-8 at byte {at}; save the file as UTF-8"))
    })?;
    // Fast path: a file as pairloom saves it. Any other is read again, which finds the defect, if there is one.
    let mut sorted = File { text, keys: Keys::Sorted(Json::new(text, 0)), version: 0 };
    if let Ok(columns) = schema1::read(&mut sorted, legacy) {
        return Ok(columns);
    }
    sorted.keys = Keys::Sorted(Json::new(text, 0));
    if let Ok(columns) = schema2::read(&mut sorted) {
        return Ok(columns);
    }
    let mut file = File { text, keys: Keys::Found(find_keys(text)?), version: 0 };
    file.version = file.value("schema_version", |json| json.integer()).map_err(|error| match error {
        Error::MissingKey(_) => {
            Error::MissingKey("key 'schema_version' is missing; is this a pairloom tokenizer?".into())
        }
        other => other,
    })?;
    match file.version {
        1 => schema1::read(&mut file, legacy),
        2 => schema2::read(&mut file),
        version => Err(Error::Model(format!(
            "schema_version {version} is unknown; this pairloom reads 1 and 2: update it, or save the file again"
        ))),
    }
}

fn find_keys(text: &str) -> Result<Spans<'_>> {
    let mut keys = Spans::new();
    let mut json = Json::new(text, 0);
    if json.peek() != Some(b'{') {
        return json.unexpected("a JSON object, which a tokenizer file is,");
    }
    json.object(|json, key| {
        json.peek();
        let at = json.offset();
        json.skip()?;
        if keys.len() > 64 {
            return Err(Error::Model("more keys than a tokenizer file has; the file is another kind".into()));
        }
        if keys.contains_key(&key) {
            return Err(Error::Model(format!("key {:?} is given twice; keep one of them", shown(&key))));
        }
        keys.insert(key, (at, json.offset()));
        Ok(())
    })?;
    json.expect_end()?;
    Ok(keys)
}

/// A file, its keys, and its schema version if known.
struct File<'a> {
    text: &'a str,
    keys: Keys<'a>,
    version: u64,
}

impl<'a> File<'a> {
    /// Checks that the keys are exactly `expected`, plus any of `optional`.
    fn check_keys(&self, expected: &[&str], optional: &[&str]) -> Result<()> {
        let Keys::Found(spans) = &self.keys else {
            return Ok(());
        };
        if let Some(key) = expected.iter().find(|key| !spans.contains_key(**key)) {
            return Err(missing(key));
        }
        let is_extra = |key: &&str| !expected.contains(key) && !optional.contains(key);
        let extra = spans.keys().map(|key| key.as_ref()).filter(is_extra).min();
        match extra {
            None => Ok(()),
            Some(key) => Err(Error::Model(format!(
                "key {:?} does not belong to schema {}; remove it",
                shown(key),
                self.version
            ))),
        }
    }

    /// Reads the value of `key`.
    fn value<T>(&mut self, key: &str, read: impl FnOnce(&mut Json<'a>) -> Result<T>) -> Result<T> {
        match &mut self.keys {
            Keys::Sorted(json) => {
                let opening = if json.offset() == 0 { b'{' } else { b',' };
                json.expect(opening, "the next key")?;
                if json.string()? != key {
                    return Err(missing(key));
                }
                json.expect(b':', "':'")?;
                read(json)
            }
            Keys::Found(spans) => {
                let Some(&(start, end)) = spans.get(key) else {
                    return Err(missing(key));
                };
                let mut json = Json::new(self.text, start);
                let value = read(&mut json).within(|| key.to_string())?;
                if json.offset() != end {
                    return json.unexpected("',' or '}'").within(|| key.to_string());
                }
                Ok(value)
            }
        }
    }

    /// Reads the value of a key that may be missing.
    fn optional<T>(&mut self, key: &str, read: impl FnOnce(&mut Json<'a>) -> Result<T>) -> Result<Option<T>> {
        let is_there = match &self.keys {
            Keys::Sorted(json) => json.clone().next_key_is(key),
            Keys::Found(spans) => spans.contains_key(key),
        };
        if is_there { self.value(key, read).map(Some) } else { Ok(None) }
    }

    /// Ends reading: nothing may follow the last value.
    fn end(&mut self) -> Result<()> {
        match &mut self.keys {
            Keys::Sorted(json) => json.expect(b'}', "the end of the object").and_then(|()| json.expect_end()),
            Keys::Found(_) => Ok(()),
        }
    }
}

#[cold]
fn missing(key: &str) -> Error {
    Error::MissingKey(format!("key '{key}' is missing; save the tokenizer again"))
}

/// A text, shortened for a message.
fn shown(text: &str) -> String {
    text.chars().take(60).collect()
}

/// `None` for a file that a fast reader does not take; only the refusal of memory is an error.
fn taken<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error @ Error::OutOfMemory { .. }) => Err(error),
        Err(_) => Ok(None),
    }
}

/// The error of a fast reader for a file that it does not take.
#[cold]
fn not_taken<T>() -> Result<T> {
    Err(Error::Model(String::new()))
}

/// Reads an id.
#[inline(always)]
fn read_id(json: &mut Json<'_>) -> Result<u32> {
    let value = json.integer()?;
    match u32::try_from(value) {
        Ok(id) if id <= LARGEST_ID => Ok(id),
        _ => Err(Error::Model(format!("id {value} is above the largest, {LARGEST_ID}"))),
    }
}

/// Reads an object from special tokens to ids; both must be distinct.
fn read_specials(json: &mut Json<'_>) -> Result<Vec<(String, u32)>> {
    let mut specials: Vec<(String, u32)> = Vec::new();
    let mut texts = HashSet::new();
    let mut ids = HashSet::new();
    json.object(|json, text| {
        let id = read_id(json).within(|| format!("{:?}", shown(&text)))?;
        if text.is_empty() {
            return Err(Error::Model("a special token is empty; it has at least one character".into()));
        }
        texts.try_reserve(1).map_err(Error::out_of_memory("special tokens"))?;
        ids.try_reserve(1).map_err(Error::out_of_memory("special tokens"))?;
        if !texts.insert(text.to_string()) {
            return Err(Error::Model(format!("key {:?} is given twice; keep one of them", shown(&text))));
        }
        if !ids.insert(id) {
            return Err(Error::Model(format!(
                "{:?} has id {id}, as has another; ids are distinct",
                shown(&text)
            )));
        }
        specials.try_push((text.into_owned(), id), "special tokens")
    })?;
    Ok(specials)
}

/// Tokens in the order of the file: ids, and the spans of their bytes in one blob.
#[derive(Default)]
struct Tokens {
    blob: Vec<u8>,
    ids: Vec<u32>,
    spans: Vec<(usize, usize)>,
}

impl Tokens {
    /// The bytes of the token at `index`.
    fn bytes(&self, index: usize) -> &[u8] {
        self.spans.get(index).and_then(|&(start, end)| self.blob.get(start..end)).unwrap_or_default()
    }

    /// Removes the tokens from index `n` on.
    fn truncate(&mut self, n: usize) {
        self.ids.truncate(n);
        self.spans.truncate(n);
    }

    /// Fails if two tokens have the same bytes.
    fn check_distinct(&self) -> Result<()> {
        let mut seen: HashMap<&[u8], usize> = HashMap::new();
        seen.try_reserve(self.ids.len()).map_err(Error::out_of_memory("token map"))?;
        for (index, id) in self.ids.iter().enumerate() {
            if let Some(first) = seen.insert(self.bytes(index), index) {
                let other = self.ids.get(first).copied().unwrap_or_default();
                return Err(Error::Model(format!(
                    "ids {other} and {id} have the same bytes {:?}; tokens are distinct",
                    shown(&String::from_utf8_lossy(self.bytes(index)))
                )));
            }
        }
        Ok(())
    }

    /// Ids, bytes and ends of the tokens, in the order of the indices `order`.
    fn into_columns(
        self,
        order: impl ExactSizeIterator<Item = usize>,
    ) -> Result<(Vec<u32>, Vec<u8>, Vec<u64>)> {
        let mut ids = Vec::with_room(order.len(), "token ids")?;
        let mut ends = Vec::with_room(order.len(), "token ends")?;
        let mut bytes = Vec::with_room(self.blob.len(), "token bytes")?;
        for index in order {
            ids.push(self.ids.get(index).copied().unwrap_or_default());
            bytes.extend_from_slice(self.bytes(index));
            ends.push(bytes.len() as u64);
        }
        Ok((ids, bytes, ends))
    }
}
