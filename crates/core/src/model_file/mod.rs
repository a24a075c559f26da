//! Reads pairloom's own model file into validated columns.
//!
//! docs/formats.md specifies schemas 1 and 2. The returned [`Model`] satisfies the invariants of [`CheckedColumns`]. Whatever
//! can be checked while reading is checked here, so that errors name the location in the file. Cost: two passes, of which the
//! first finds the keys; memory linear in the file. Never recurses and never panics, whatever the bytes.

pub(crate) mod base64;
pub mod json;
mod lists;
mod schema1;
mod schema2;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use hashbrown::HashMap;

use crate::error::{Error, Result, quoted};
use crate::memory::TryReserve;
use crate::model::CheckedColumns;
use crate::vocabulary::MAX_IDS;
use json::{Json, Within};

pub use self::lists::lists;
pub use crate::decoder::DecodeErrors;

/// The largest id of a token.
pub const LARGEST_ID: u32 = MAX_IDS as u32 - 1;

/// Everything that defines a tokenizer.
#[derive(Debug, PartialEq, Eq)]
pub struct Model {
    /// The tokens and the merges.
    pub columns: CheckedColumns,
    /// Whether a pretoken that is a token is encoded as that token without merging.
    pub ignore_merges: bool,
    /// Special tokens in the order of the file.
    pub special_tokens: Vec<(String, u32)>,
    /// The special tokens that HuggingFace's decoder does not skip, ascending.
    pub plain_specials: Vec<String>,
    /// The regular expressions that split text into pretokens: at least one; each splits the pretokens of the previous one.
    pub patterns: Vec<String>,
    /// How invalid bytes are decoded.
    pub decode_errors: DecodeErrors,
    /// The post_processor of a tokenizer.json, as JSON text that is not parsed here.
    pub post_processor: Option<String>,
    /// The tokenizer_config.json of a model folder, as JSON text that is not parsed here.
    pub tokenizer_config: Option<String>,
    /// The steps that change a text before it is split, by name.
    pub normalizer: Vec<String>,
    /// Rules of special tokens as (literal, name of the rule); see [`crate::special`].
    pub special_rules: Vec<(String, String)>,
    /// How the tokenizer was trained, as JSON text that is not parsed here. Schema 1 implies profile "bpetite".
    pub training: Option<String>,
}

impl Model {
    /// Makes a model of tokens, special tokens and patterns; everything else is empty.
    pub fn new(
        columns: CheckedColumns,
        ignore_merges: bool,
        special_tokens: Vec<(String, u32)>,
        patterns: Vec<String>,
        decode_errors: DecodeErrors,
    ) -> Self {
        Model {
            columns,
            ignore_merges,
            special_tokens,
            plain_specials: Vec::new(),
            patterns,
            decode_errors,
            post_processor: None,
            tokenizer_config: None,
            normalizer: Vec::new(),
            special_rules: Vec::new(),
            training: None,
        }
    }
}

/// Maps each key of an object to the span of its value.
type Spans<'a> = HashMap<Cow<'a, str>, (usize, usize)>;

/// Reads a model file; errors call it `name`.
///
/// [`Error::MissingKey`] for a missing key, [`Error::Model`] for every other defect.
pub fn read(data: &[u8], name: &str) -> Result<Model> {
    read_text(data).within(|| name.to_string())
}

fn read_text(data: &[u8]) -> Result<Model> {
    let text = text_of(data)?;
    let mut file = File { text, spans: find_keys(text)?, version: 0 };
    file.version = file.value("schema_version", |json| json.integer()).map_err(|error| match error {
        Error::MissingKey(_) => Error::MissingKey(
            "key 'schema_version' is missing; is this a pairloom tokenizer? (For a vocab.json or a \
            tokenizer_config.json, load its folder.)"
                .into(),
        ),
        other => other,
    })?;
    match file.version {
        1 => schema1::read(&file),
        2 => schema2::read(&file),
        version => Err(Error::Model(format!(
            "schema_version {version} is unknown; this pairloom reads 1 and 2: update pairloom, or save the file again"
        ))),
    }
}

/// Returns the text of a file; [`Error::Model`] if it is not UTF-8.
pub(crate) fn text_of(data: &[u8]) -> Result<&str> {
    simdutf8::compat::from_utf8(data).map_err(|error| {
        let at = error.valid_up_to();
        Error::Model(format!("not UTF-8 at byte {at}; save the file as UTF-8"))
    })
}

fn find_keys(text: &str) -> Result<Spans<'_>> {
    let mut keys = Spans::new();
    let mut json = Json::new(text, 0);
    if json.peek() != Some(b'{') {
        return json.unexpected("the JSON object of a tokenizer file");
    }
    json.object(|json, key| {
        json.peek();
        let at = json.offset();
        json.skip()?;
        if keys.len() > 64 {
            const HINT: &str =
                "this may be another kind of file (a vocab.json needs its merges.txt in the same folder)";
            return Err(Error::Model(format!("more keys than a tokenizer file has; {HINT}")));
        }
        if keys.contains_key(&key) {
            return Err(Error::Model(format!("key {} appears twice; keep one of them", quoted(&key))));
        }
        keys.insert(key, (at, json.offset()));
        Ok(())
    })?;
    json.expect_end()?;
    Ok(keys)
}

/// The text of a file, its keys, and its schema version.
struct File<'a> {
    text: &'a str,
    spans: Spans<'a>,
    version: u64,
}

impl<'a> File<'a> {
    /// Checks that the keys are exactly `expected`, plus any of `optional`.
    fn check_keys(&self, expected: &[&str], optional: &[&str]) -> Result<()> {
        if let Some(key) = expected.iter().find(|key| !self.spans.contains_key(**key)) {
            return Err(missing(key));
        }
        let is_extra = |key: &&str| !expected.contains(key) && !optional.contains(key);
        let extra = self.spans.keys().map(|key| key.as_ref()).filter(is_extra).min();
        match extra {
            None => Ok(()),
            Some(key) => Err(Error::Model(format!(
                "key {} is not a key of schema {}; remove it",
                quoted(key),
                self.version
            ))),
        }
    }

    /// Reads the value of `key`.
    fn value<T>(&self, key: &str, read: impl FnOnce(&mut Json<'a>) -> Result<T>) -> Result<T> {
        self.optional(key, read)?.ok_or_else(|| missing(key))
    }

    /// Reads the value of a key that may be missing.
    fn optional<T>(&self, key: &str, read: impl FnOnce(&mut Json<'a>) -> Result<T>) -> Result<Option<T>> {
        let Some(&(start, end)) = self.spans.get(key) else { return Ok(None) };
        let mut json = Json::new(self.text, start);
        let value = read(&mut json).within(|| key.to_string())?;
        if json.offset() != end {
            return json.unexpected("',' or '}'").within(|| key.to_string());
        }
        Ok(Some(value))
    }
}

#[cold]
fn missing(key: &str) -> Error {
    Error::MissingKey(format!("key '{key}' is missing; save the tokenizer again"))
}

/// Reads an id.
#[inline(always)]
pub(crate) fn read_id(json: &mut Json<'_>) -> Result<u32> {
    let value = json.integer()?;
    match u32::try_from(value) {
        Ok(id) if id <= LARGEST_ID => Ok(id),
        _ => Err(Error::Model(format!("id {value} is above the largest id, {LARGEST_ID}"))),
    }
}

/// Reads an object from special tokens to ids.
fn read_specials(json: &mut Json<'_>) -> Result<Vec<(String, u32)>> {
    let mut specials: Vec<(String, u32)> = Vec::new();
    json.object(|json, text| {
        let id = read_id(json).within(|| quoted(&text))?;
        specials.try_push((text.into_owned(), id), "special tokens")
    })?;
    Ok(specials)
}

/// Turns the error of a check of columns into one about the file that the columns come from.
pub(crate) fn in_file(error: Error) -> Error {
    match error {
        Error::Invalid(message) => Error::Model(message),
        Error::Pattern { .. } => Error::Model(error.to_string()),
        other => other,
    }
}
