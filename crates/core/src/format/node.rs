//! A tree for the small part of a JSON file, with getters whose errors say what was expected and what was found.

use std::borrow::Cow;

use hashbrown::HashSet;

use crate::error::{Error, Result, quoted};
use crate::memory::TryReserve;
use crate::model_file::json::{Json, Within};

const WHAT: &str = "the settings of a file";
/// How deeply lists and objects may be nested; published files have up to 12 levels.
const MAX_DEPTH: usize = 64;

/// A value, and its text in the file.
pub struct Node<'a> {
    pub text: &'a str,
    pub value: Value<'a>,
}

/// The keys, without duplicates, and their values, in the order of the file.
pub type Object<'a> = Vec<(Cow<'a, str>, Node<'a>)>;

pub enum Value<'a> {
    Null,
    Bool(bool),
    Number,
    String(Cow<'a, str>),
    List(Vec<Node<'a>>),
    Object(Object<'a>),
}

impl<'a> Node<'a> {
    /// Reads the next value.
    pub fn read(json: &mut Json<'a>) -> Result<Self> {
        Self::read_at(json, 0)
    }

    fn read_at(json: &mut Json<'a>, depth: usize) -> Result<Self> {
        if depth > MAX_DEPTH {
            let at = json.offset();
            return Err(Error::Model(format!(
                "the JSON is nested too deeply at byte {at}; the file is damaged or is not a tokenizer"
            )));
        }
        let (first, start) = (json.peek(), json.offset());
        let value = match first {
            Some(b'"') => Value::String(json.string()?),
            Some(b'[') => {
                let mut items = Vec::new();
                json.list(|json, _| items.try_push(Self::read_at(json, depth + 1)?, WHAT))?;
                Value::List(items)
            }
            Some(b'{') => {
                let (mut entries, mut seen) = (Object::new(), HashSet::new());
                json.object(|json, key| {
                    seen.try_reserve(1).map_err(Error::out_of_memory(WHAT))?;
                    if !seen.insert(key.clone()) {
                        return Err(duplicate_key_error(&key));
                    }
                    let value = Self::read_at(json, depth + 1)?;
                    entries.try_push((key, value), WHAT)
                })?;
                Value::Object(entries)
            }
            _ => match json.word() {
                "null" => Value::Null,
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                word if serde_json::from_str::<f64>(word).is_ok() => Value::Number,
                _ => return Json::new(json.text(), start).unexpected("a value"),
            },
        };
        Ok(Node { text: &json.text()[start..json.offset()], value })
    }

    /// Returns the value of a key; `None` if it is missing or null, or if this is not an object.
    pub fn get(&self, key: &str) -> Option<&Node<'a>> {
        match &self.value {
            Value::Object(entries) => find(entries, key),
            _ => None,
        }
    }

    /// Returns what `pick` takes from the value; the error says that `name` must be `kind`.
    pub fn as_kind<'n, T>(
        &'n self,
        name: &str,
        kind: &str,
        pick: impl FnOnce(&'n Value<'a>) -> Option<T>,
    ) -> Result<T> {
        pick(&self.value)
            .ok_or_else(|| Error::Model(format!("{name} must be {kind}, not {}", shown(self.text))))
    }

    pub fn as_object(&self, name: &str) -> Result<&Object<'a>> {
        self.as_kind(name, "an object", |value| match value {
            Value::Object(entries) => Some(entries),
            _ => None,
        })
    }

    pub fn as_list(&self, name: &str) -> Result<&[Node<'a>]> {
        self.as_kind(name, "a list", |value| match value {
            Value::List(items) => Some(items.as_slice()),
            _ => None,
        })
    }

    pub fn as_string(&self, name: &str) -> Result<&str> {
        self.as_kind(name, "a string", |value| match value {
            Value::String(text) => Some(text.as_ref()),
            _ => None,
        })
    }

    pub fn as_bool(&self, name: &str) -> Result<bool> {
        self.as_kind(name, "true or false", |value| match value {
            Value::Bool(value) => Some(*value),
            _ => None,
        })
    }

    /// Returns the value of a required key.
    pub fn take(&self, key: &str) -> Result<&Node<'a>> {
        let Value::Object(entries) = &self.value else {
            return Err(Error::Model(format!("expected an object, found {}", shown(self.text))));
        };
        let found = entries.iter().find(|(known, _)| known == key);
        found.map(|(_, node)| node).ok_or_else(|| missing(key))
    }

    /// Returns the flag of a key, or `default` if the key is missing.
    pub fn flag(&self, key: &str, default: bool) -> Result<bool> {
        if self.has(key) { self.bool(key) } else { Ok(default) }
    }

    pub fn string(&self, key: &str) -> Result<&str> {
        self.take(key)?.as_string(&format!("'{key}'"))
    }

    pub fn bool(&self, key: &str) -> Result<bool> {
        self.take(key)?.as_bool(&format!("'{key}'"))
    }

    pub fn list(&self, key: &str) -> Result<&[Node<'a>]> {
        self.take(key)?.as_list(&format!("'{key}'"))
    }

    /// Returns whether the key exists, even with the value null.
    pub fn has(&self, key: &str) -> bool {
        matches!(&self.value, Value::Object(entries) if entries.iter().any(|(known, _)| known == key))
    }
}

/// Returns the value of a key; `None` if it is missing or null.
pub fn find<'n, 'a>(entries: &'n Object<'a>, key: &str) -> Option<&'n Node<'a>> {
    let found = entries.iter().find(|(known, _)| known == key);
    found.map(|(_, node)| node).filter(|node| !matches!(node.value, Value::Null))
}

/// Reads an object whose keys must be in `known`. `read` returns true if it has consumed the value itself.
pub fn read_object<'a>(
    json: &mut Json<'a>,
    known: &[&str],
    mut read: impl FnMut(&mut Json<'a>, &str) -> Result<bool>,
) -> Result<Object<'a>> {
    let mut entries = Object::new();
    json.object(|json, key| {
        check_known(&key, known)?;
        if entries.iter().any(|(seen, _)| *seen == key) {
            return Err(duplicate_key_error(&key));
        }
        let node = match read(json, &key)? {
            true => Node { text: "", value: Value::Null },
            false => Node::read(json).within(|| key.to_string())?,
        };
        entries.try_push((key, node), WHAT)
    })?;
    Ok(entries)
}

/// Refuses a key that is not in `known`, because its meaning would be lost.
pub fn check_known(key: &str, known: &[&str]) -> Result<()> {
    if known.contains(&key) {
        return Ok(());
    }
    Err(Error::Model(format!("the key {} is unknown, and saving would lose it; remove it", quoted(key))))
}

#[cold]
pub fn duplicate_key_error(key: &str) -> Error {
    Error::Model(format!("key {} appears twice; keep one of them", shown(&format!("{key:?}"))))
}

#[cold]
pub fn missing(key: &str) -> Error {
    Error::MissingKey(format!("key '{key}' is missing"))
}

/// Shortens the text of a value to one line for a message.
pub fn shown(text: &str) -> String {
    const MAX_CHARACTERS: usize = 60;
    let line: Vec<&str> = text.get(..1000).unwrap_or(text).split_whitespace().collect();
    let line = line.join(" ");
    match line.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}
