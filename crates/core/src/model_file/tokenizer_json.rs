//! Reads the vocabulary and the merges of HuggingFace's tokenizer.json: nearly all of the file, and the only part whose
//! size matters. The rest goes to Python as a JSON text of its own.
//!
//! Only files as the library writes them are taken; any other is left to the reader in Python, which names what is wrong
//! with it. Tokens are written in the GPT-2 byte alphabet: each byte is one character of U+0000 to U+0143. Cost: one pass
//! over the file, and two lookups of a token for each merge.

use std::borrow::Cow;

use hashbrown::{HashMap, HashSet};

use super::json::Json;
use super::{LARGEST_ID, not_taken, taken};
use crate::error::{Error, Result};
use crate::memory::{TryReserve, copied, try_push_str};
use crate::model::CheckedColumns;

/// What is allocated, in the message of [`Error::OutOfMemory`].
const WHAT: &str = "the vocabulary of a file";

/// A token in the order of the file.
struct Entry {
    id: u32,
    /// Its bytes in [`Vocabulary::bytes`].
    start: usize,
    end: usize,
    /// Whether it is not written in the byte alphabet; then its bytes are those of its text.
    is_foreign: bool,
}

/// The entries of a vocabulary, distinct in text and in id, and the merges.
pub struct Vocabulary {
    bytes: Vec<u8>,
    /// By ascending id.
    entries: Vec<Entry>,
    merges: Vec<[u32; 3]>,
}

/// A vocabulary, and the file with an empty vocabulary and no merges.
pub fn read(data: &[u8]) -> Result<Option<(Vocabulary, String)>> {
    taken(read_file(data))
}

fn read_file(data: &[u8]) -> Result<(Vocabulary, String)> {
    let Ok(text) = simdutf8::basic::from_utf8(data) else { return not_taken() };
    let mut json = Json::new(text, 0);
    let mut rest = Rest { text, out: String::new() };
    let mut vocabulary = None;
    try_push_str(&mut rest.out, "{", WHAT)?;
    let mut is_model_read = false;
    json.object(|json, key| {
        if key != "model" {
            return rest.copy(json, &key);
        }
        if std::mem::replace(&mut is_model_read, true) {
            return not_taken();
        }
        rest.key("model")?;
        try_push_str(&mut rest.out, "{", WHAT)?;
        let mut merges = None;
        json.object(|json, key| match (&*key, &vocabulary, &merges) {
            ("vocab", None, None) => {
                rest.key(&key)?;
                try_push_str(&mut rest.out, "{}", WHAT)?;
                vocabulary = Some(read_vocabulary(json)?);
                Ok(())
            }
            ("merges", Some(vocabulary), None) => {
                rest.key(&key)?;
                try_push_str(&mut rest.out, "[]", WHAT)?;
                merges = Some(read_merges(json, vocabulary)?);
                Ok(())
            }
            ("vocab" | "merges", ..) => not_taken(),
            _ => rest.copy(json, &key),
        })?;
        let (Some(vocabulary), Some(merges)) = (&mut vocabulary, merges) else { return not_taken() };
        vocabulary.merges = merges;
        try_push_str(&mut rest.out, "}", WHAT)
    })?;
    json.expect_end()?;
    try_push_str(&mut rest.out, "}", WHAT)?;
    let Some(vocabulary) = vocabulary else { return not_taken() };
    Ok((vocabulary, rest.out))
}

/// The rest of the file as it grows.
struct Rest<'a> {
    text: &'a str,
    out: String,
}

impl<'a> Rest<'a> {
    /// Begins an entry of an object.
    fn key(&mut self, key: &str) -> Result<()> {
        // A key of a tokenizer.json needs no escapes.
        if key.contains(['"', '\\']) || key.contains(|c: char| c < ' ') {
            return not_taken();
        }
        let comma = if self.out.ends_with('{') { "" } else { "," };
        for part in [comma, "\"", key, "\":"] {
            try_push_str(&mut self.out, part, WHAT)?;
        }
        Ok(())
    }

    /// Copies an entry whose value comes next.
    fn copy(&mut self, json: &mut Json<'a>, key: &str) -> Result<()> {
        self.key(key)?;
        json.peek();
        let start = json.offset();
        json.skip()?;
        try_push_str(&mut self.out, &self.text[start..json.offset()], WHAT)
    }
}

/// The byte of each character of the alphabet, or [`NO_BYTE`].
static BYTES: [u16; 0x144] = {
    let mut bytes = [NO_BYTE; 0x144];
    let mut hidden = 0x100;
    let mut byte = 0;
    while byte < 256 {
        if matches!(byte, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF) {
            bytes[byte] = byte as u16;
        } else {
            bytes[hidden] = byte as u16;
            hidden += 1;
        }
        byte += 1;
    }
    bytes
};
const NO_BYTE: u16 = 256;

/// Appends the bytes that `text` shows; returns false, with `bytes` as it was, if a character is none of the alphabet.
#[inline]
fn append_bytes(text: &str, bytes: &mut Vec<u8>) -> Result<bool> {
    let before = bytes.len();
    bytes.grow(text.len(), WHAT)?;
    for character in text.chars() {
        match BYTES.get(character as usize) {
            Some(&byte) if byte != NO_BYTE => bytes.push(byte as u8),
            _ => {
                bytes.truncate(before);
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn read_vocabulary(json: &mut Json<'_>) -> Result<Vocabulary> {
    let mut bytes = Vec::new();
    let mut entries: Vec<Entry> = Vec::new();
    json.object(|json, text| {
        let id = json.integer()?;
        if text.is_empty() || id > u64::from(LARGEST_ID) {
            return not_taken();
        }
        let start = bytes.len();
        let is_foreign = !append_bytes(&text, &mut bytes)?;
        if is_foreign {
            bytes.try_extend(text.as_bytes(), WHAT)?;
        }
        entries.try_push(Entry { id: id as u32, start, end: bytes.len(), is_foreign }, WHAT)
    })?;
    if !entries.is_sorted_by(|first, second| first.id < second.id) {
        entries.sort_unstable_by_key(|entry| entry.id);
        if !entries.is_sorted_by(|first, second| first.id < second.id) {
            return not_taken();
        }
    }
    Ok(Vocabulary { bytes, entries, merges: Vec::new() })
}

/// The two tokens of a merge, "left right" or ["left", "right"].
fn read_pair<'a>(json: &mut Json<'a>) -> Result<(Cow<'a, str>, Cow<'a, str>)> {
    if json.peek() == Some(b'[') {
        let mut parts = [None, None];
        json.list(|json, index| {
            let Some(part) = parts.get_mut(index) else { return not_taken() };
            *part = Some(json.string()?);
            Ok(())
        })?;
        let [Some(left), Some(right)] = parts else { return not_taken() };
        return Ok((left, right));
    }
    let split = |pair: &'a str| pair.split_once(' ').filter(|(_, right)| !right.contains(' '));
    match json.string()? {
        Cow::Borrowed(pair) => match split(pair) {
            Some((left, right)) => Ok((Cow::Borrowed(left), Cow::Borrowed(right))),
            None => not_taken(),
        },
        Cow::Owned(pair) => match pair.split_once(' ') {
            Some((left, right)) if !right.contains(' ') => {
                Ok((Cow::Owned(left.to_owned()), Cow::Owned(right.to_owned())))
            }
            _ => not_taken(),
        },
    }
}

fn read_merges(json: &mut Json<'_>, vocabulary: &Vocabulary) -> Result<Vec<[u32; 3]>> {
    let Vocabulary { bytes, entries, .. } = vocabulary;
    let mut id_of: HashMap<&[u8], u32> = HashMap::new();
    id_of.try_reserve(entries.len()).map_err(Error::out_of_memory(WHAT))?;
    for (index, entry) in entries.iter().enumerate() {
        let is_new = id_of.insert(&bytes[entry.start..entry.end], index as u32).is_none();
        // A foreign entry is a special token, which is looked up by its text.
        if !is_new {
            return not_taken();
        }
    }
    let mut merges: Vec<[u32; 3]> = Vec::new();
    let mut joined = Vec::new();
    let mut next = 0;
    json.list(|json, _| {
        let (left, right) = read_pair(json)?;
        joined.clear();
        if !append_bytes(&left, &mut joined)? {
            return not_taken();
        }
        let cut = joined.len();
        if !append_bytes(&right, &mut joined)? {
            return not_taken();
        }
        // Merges mostly make one entry after the other.
        let token = |index: usize| entries.get(index).map(|entry| &bytes[entry.start..entry.end]);
        let merged = match token(next) {
            Some(token) if token == joined.as_slice() => Some(next as u32),
            _ => id_of.get(joined.as_slice()).copied(),
        };
        let parts = (id_of.get(&joined[..cut]).copied(), id_of.get(&joined[cut..]).copied());
        let (Some(merged), (Some(left), Some(right))) = (merged, parts) else { return not_taken() };
        let row = [left, right, merged];
        if row.iter().any(|&index| entries[index as usize].is_foreign) {
            return not_taken();
        }
        next = merged as usize + 1;
        merges.try_push(row.map(|index| entries[index as usize].id), WHAT)
    })?;
    // Equal pairs make equal tokens, so pairs are distinct where what they make ascends.
    if !merges.is_sorted_by(|first, second| first[2] < second[2]) {
        let mut pairs = HashSet::new();
        pairs.try_reserve(merges.len()).map_err(Error::out_of_memory(WHAT))?;
        if !merges.iter().all(|&[left, right, _]| pairs.insert((left, right))) {
            return not_taken();
        }
    }
    Ok(merges)
}

impl Vocabulary {
    /// The number of entries.
    pub fn n_entries(&self) -> usize {
        self.entries.len()
    }

    /// The ids of those of `texts` that are entries.
    pub fn ids_of<'a>(&self, texts: impl Iterator<Item = &'a str>) -> Result<HashMap<&'a str, u32>> {
        let mut wanted: HashMap<Vec<u8>, Vec<(&str, bool)>> = HashMap::new();
        let mut is_wanted_len = [false; 1 << 8];
        for text in texts {
            let mut shown = Vec::new();
            let is_foreign = !append_bytes(text, &mut shown)?;
            if is_foreign {
                shown.try_extend(text.as_bytes(), WHAT)?;
            }
            is_wanted_len[shown.len() % 256] = true;
            wanted.try_reserve(1).map_err(Error::out_of_memory(WHAT))?;
            wanted.entry(shown).or_default().try_push((text, is_foreign), WHAT)?;
        }
        let mut found = HashMap::new();
        found.try_reserve(wanted.len()).map_err(Error::out_of_memory(WHAT))?;
        for entry in self.entries.iter().filter(|entry| is_wanted_len[(entry.end - entry.start) % 256]) {
            for &(text, is_foreign) in wanted.get(&self.bytes[entry.start..entry.end]).into_iter().flatten() {
                if is_foreign == entry.is_foreign {
                    found.insert(text, entry.id);
                }
            }
        }
        Ok(found)
    }

    /// The columns of the entries without those that are special tokens and nothing else, see `ordinary_entries` of the
    /// reader in Python; `None` where that has something to refuse, or a token is not written in the alphabet.
    pub fn columns(&self, specials: &[(String, u32)]) -> Result<Option<CheckedColumns>> {
        let id_of = self.ids_of(specials.iter().map(|(literal, _)| literal.as_str()))?;
        let mut merged: HashSet<u32> = HashSet::new();
        if !specials.is_empty() {
            let wanted: HashSet<u32> = specials.iter().map(|&(_, id)| id).collect();
            merged.extend(self.merges.as_flattened().iter().filter(|id| wanted.contains(*id)));
        }
        let mut dropped: Vec<u32> = Vec::new();
        for (literal, id) in specials {
            let Ok(index) = self.entries.binary_search_by_key(id, |entry| entry.id) else { continue };
            let entry = &self.entries[index];
            let is_same = !entry.is_foreign && &self.bytes[entry.start..entry.end] == literal.as_bytes();
            let (is_literal, is_merged) =
                (is_same || id_of.get(literal.as_str()) == Some(id), merged.contains(id));
            if !is_literal || is_merged && !is_same {
                return Ok(None);
            }
            if !(is_merged || is_same && literal.chars().count() == 1) {
                dropped.try_push(*id, WHAT)?;
            }
        }
        dropped.sort_unstable();
        let n_kept = self.entries.len() - dropped.len();
        let (mut ids, mut ends) = (Vec::with_room(n_kept, WHAT)?, Vec::with_room(n_kept, WHAT)?);
        let mut bytes = Vec::with_room(self.bytes.len(), WHAT)?;
        for entry in &self.entries {
            if !dropped.is_empty() && dropped.binary_search(&entry.id).is_ok() {
                continue;
            }
            if entry.is_foreign {
                return Ok(None);
            }
            ids.push(entry.id);
            bytes.extend_from_slice(&self.bytes[entry.start..entry.end]);
            ends.push(bytes.len() as u64);
        }
        let merges = copied(&self.merges, WHAT)?;
        Ok(Some(CheckedColumns::checked(ids, bytes, ends, merges, false)))
    }
}
