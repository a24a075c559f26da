//! Reads the vocabulary and merges of a tokenizer.json, or of vocab.json and merges.txt: strings in the GPT-2 byte alphabet.
//!
//! Each byte is one character of U+0000 to U+0143. An entry with any other character, such as a special token, is foreign: it
//! is its own text. Cost: one pass over the file, and two token lookups for each merge.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::hash::BuildHasher;

use hashbrown::hash_map::Entry as MapEntry;
use hashbrown::hash_table::Entry as TableEntry;
use hashbrown::{DefaultHashBuilder, HashMap, HashSet, HashTable};
use memchr::memmem;

use super::character_pieces::SYMBOL;
use super::node::duplicate_key_error;
use crate::error::{Error, Result, quoted};
use crate::memory::{TryReserve, copied, try_push_str};
use crate::model::{CheckedColumns, Columns};
use crate::model_file::json::{Json, Within};
use crate::model_file::{in_file, read_id};
use crate::pretokens::byte_letter;
use crate::vocabulary::Tokens;
use crate::vocabulary::characters::{SPACE_SYMBOL, fallback_byte};

/// The name of what is allocated, for [`Error::OutOfMemory`].
const WHAT: &str = "the vocabulary of a file";

/// A token of the vocabulary.
struct Entry {
    id: u32,
    /// The range of its bytes in [`Vocabulary::bytes`].
    start: usize,
    end: usize,
    /// Whether it is not in the byte alphabet; its bytes are then the UTF-8 of its text.
    is_foreign: bool,
}

/// A hash-table entry. It holds the range in [`Vocabulary::bytes`] itself, so that a lookup touches few cache lines.
#[derive(Clone, Copy)]
struct Slot {
    start: usize,
    len: u32,
    /// The index of the entry; the highest bit is set if it is foreign.
    index: u32,
}
const FOREIGN: u32 = 1 << 31;

impl Slot {
    /// Returns whether it has this text, and is foreign if and only if `index` says so.
    #[inline]
    fn is_equal(&self, index: u32, text: &[u8], bytes: &[u8]) -> bool {
        bytes[self.start..self.start + self.len as usize] == *text && (self.index ^ index) & FOREIGN == 0
    }
}

/// The entries of a vocabulary, with distinct texts and ids, and the merges.
#[derive(Default)]
pub struct Vocabulary {
    bytes: Vec<u8>,
    /// Sorted by id.
    entries: Vec<Entry>,
    slots: HashTable<Slot>,
    hasher: DefaultHashBuilder,
    merges: Vec<[u32; 3]>,
    /// A buffer for the joined bytes of the current merge.
    joined: Vec<u8>,
    /// The index after the entry that the previous merge made: a guess for the next one.
    next: usize,
}

/// Maps each character of the alphabet to its byte, others to [`NO_BYTE`].
static BYTES: [u16; 0x144] = {
    let mut bytes = [NO_BYTE; 0x144];
    let mut byte = 0;
    while byte < 256 {
        bytes[byte_letter(byte as u8) as usize] = byte;
        byte += 1;
    }
    bytes
};
const NO_BYTE: u16 = 256;

/// Appends the bytes that `text` spells. If a character is not in the alphabet, leaves `bytes` unchanged and returns false.
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

impl Vocabulary {
    /// Reads an object of tokens and ids.
    pub fn read(json: &mut Json<'_>) -> Result<Self> {
        let mut found = Vocabulary::default();
        json.object(|json, text| {
            let id = read_id(json).within(|| format!("vocab[{}]", quoted(&text)))?;
            found.push(id, &text)
        })?;
        found.index()?;
        Ok(found)
    }

    /// Makes a vocabulary in which each text's id is its index.
    pub fn from_texts(texts: &[&str]) -> Result<Self> {
        let mut found = Vocabulary::default();
        (0..).zip(texts).try_for_each(|(id, text)| found.push(id, text))?;
        found.index()?;
        Ok(found)
    }

    #[inline]
    fn push(&mut self, id: u32, text: &str) -> Result<()> {
        let Vocabulary { bytes, entries, .. } = self;
        if text.is_empty() {
            return Err(Error::Model(format!("the token with id {id} is empty; remove it")));
        }
        let start = bytes.len();
        let is_foreign = !append_bytes(text, bytes)?;
        if is_foreign {
            bytes.try_extend(text.as_bytes(), WHAT)?;
        }
        entries.try_push(Entry { id, start, end: bytes.len(), is_foreign }, WHAT)
    }

    /// Sorts the entries and fills the hash table.
    fn index(&mut self) -> Result<()> {
        if !self.entries.is_sorted_by(|first, second| first.id < second.id) {
            self.entries.sort_unstable_by_key(|entry| entry.id);
        }
        self.slots.try_reserve(self.entries.len(), |_| 0).map_err(Error::out_of_memory(WHAT))?;
        for index in 0..self.entries.len() {
            let Entry { id, start, end, is_foreign } = self.entries[index];
            if index > 0 && self.entries[index - 1].id == id {
                let (first, second) = (quoted(&self.text(index - 1)), quoted(&self.text(index)));
                return Err(Error::Model(format!(
                    "{first} and {second} have the same id, {id}; give each token its own id"
                )));
            }
            let slot = Slot {
                start,
                len: (end - start) as u32,
                index: index as u32 | if is_foreign { FOREIGN } else { 0 },
            };
            let (bytes, hash) = (&self.bytes, self.hasher.hash_one(&self.bytes[start..end]));
            // Room is reserved, so the table never grows and rehashes.
            match self.slots.entry(hash, |other| other.is_equal(slot.index, &bytes[start..end], bytes), |_| 0)
            {
                TableEntry::Vacant(free) => free.insert(slot),
                TableEntry::Occupied(_) => return Err(duplicate_key_error(&self.text(index))),
            };
        }
        Ok(())
    }

    /// Returns the number of entries.
    pub fn n_entries(&self) -> usize {
        self.entries.len()
    }

    /// Returns the largest id, plus 1.
    pub fn n_ids(&self) -> usize {
        self.entries.last().map_or(0, |entry| entry.id as usize + 1)
    }

    /// Returns whether an entry has this id.
    pub fn has_id(&self, id: u32) -> bool {
        self.entries.binary_search_by_key(&id, |entry| entry.id).is_ok()
    }

    /// Returns the id of the entry that the file spells as `text`.
    pub fn id_of(&self, text: &str) -> Result<Option<u32>> {
        let mut bytes = Vec::new();
        let is_foreign = !append_bytes(text, &mut bytes)?;
        let found = self.find(if is_foreign { text.as_bytes() } else { &bytes }, is_foreign);
        Ok(found.map(|index| self.entries[index as usize].id))
    }

    #[inline]
    fn find(&self, text: &[u8], is_foreign: bool) -> Option<u32> {
        let kind = if is_foreign { FOREIGN } else { 0 };
        let found =
            self.slots.find(self.hasher.hash_one(text), |slot| slot.is_equal(kind, text, &self.bytes));
        found.map(|slot| slot.index & !FOREIGN)
    }

    /// Returns the token as the file spells it.
    fn text(&self, index: usize) -> String {
        let Entry { start, end, is_foreign, .. } = self.entries[index];
        let bytes = &self.bytes[start..end];
        match is_foreign {
            true => String::from_utf8_lossy(bytes).into_owned(),
            false => bytes.iter().filter_map(|&byte| char::from_u32(byte_letter(byte))).collect(),
        }
    }

    /// Reads a list of merges, "left right" or ["left", "right"].
    pub fn read_merges(&mut self, json: &mut Json<'_>) -> Result<()> {
        json.list(|json, rank| {
            let (left, right) = read_pair(json, rank)?;
            self.add_merge(&left, &right).within(|| format!("merges[{rank}]"))
        })?;
        self.check_distinct(|rank| format!("merges[{rank}]"))
    }

    /// Adds the merge of two tokens, given as the file spells them.
    #[inline]
    pub fn add_merge(&mut self, left: &str, right: &str) -> Result<()> {
        self.joined.clear();
        let is_left = append_bytes(left, &mut self.joined)?;
        let cut = self.joined.len();
        if !(is_left && append_bytes(right, &mut self.joined)?) {
            return self.add_foreign(left, right);
        }
        // Merges usually produce the entries in order.
        let joined = self.joined.as_slice();
        let merged = match self.entries.get(self.next) {
            Some(entry) if !entry.is_foreign && self.bytes[entry.start..entry.end] == *joined => {
                Some(self.next as u32)
            }
            _ => self.find(joined, false),
        };
        let parts = (self.find(&joined[..cut], false), self.find(&joined[cut..], false), merged);
        let (Some(left), Some(right), Some(merged)) = parts else { return self.add_foreign(left, right) };
        self.next = merged as usize + 1;
        self.merges.try_push([left, right, merged].map(|index| self.entries[index as usize].id), WHAT)
    }

    /// Adds a merge of foreign tokens, or reports the token that the vocabulary lacks.
    #[cold]
    fn add_foreign(&mut self, left: &str, right: &str) -> Result<()> {
        let mut joined = String::new();
        try_push_str(&mut joined, left, WHAT)?;
        try_push_str(&mut joined, right, WHAT)?;
        let mut row = [0; 3];
        for (id, text) in row.iter_mut().zip([left, right, &joined]) {
            *id = self.id_of(text)?.ok_or_else(|| {
                Error::Model(format!(
                    "{} and {} are merged, but the vocabulary has no {}; check that the merges and the vocabulary belong to \
                     the same tokenizer",
                    quoted(left),
                    quoted(right),
                    quoted(text)
                ))
            })?;
        }
        self.merges.try_push(row, WHAT)
    }

    /// Refuses a merge that is listed twice.
    pub fn check_distinct(&self, place: impl Fn(usize) -> String) -> Result<()> {
        // Equal pairs produce equal tokens, so if the produced ids ascend, all pairs are distinct.
        if self.merges.is_sorted_by(|first, second| first[2] < second[2]) {
            return Ok(());
        }
        let mut ranks = HashMap::new();
        ranks.try_reserve(self.merges.len()).map_err(Error::out_of_memory(WHAT))?;
        for (rank, &[left, right, _]) in self.merges.iter().enumerate() {
            match ranks.entry((left, right)) {
                MapEntry::Vacant(free) => free.insert(rank),
                MapEntry::Occupied(first) => {
                    let message = format!("repeats {}; keep only the first", place(*first.get()));
                    return Err(Error::Model(format!("{} {message}", place(rank))));
                }
            };
        }
        Ok(())
    }

    /// Returns the foreign entries whose bytes equal another entry's (Command-R has 404), except `specials`. No text
    /// produces them, so they are kept only for decoding, as special tokens that are never found in a text.
    pub fn duplicate_foreign_entries(&self, specials: &[(String, u32)]) -> Vec<(String, u32)> {
        let bytes = |entry: &Entry| &self.bytes[entry.start..entry.end];
        let known: LazyCell<HashSet<u32>, _> = LazyCell::new(|| {
            let merged = self.merges.as_flattened().iter().copied();
            merged.chain(specials.iter().map(|&(_, id)| id)).collect()
        });
        let foreign = self.entries.iter().filter(|entry| entry.is_foreign);
        let found = foreign.filter(|entry| self.find(bytes(entry), false).is_some());
        let found = found.filter(|entry| !known.contains(&entry.id));
        found.map(|entry| (String::from_utf8_lossy(bytes(entry)).into_owned(), entry.id)).collect()
    }

    /// Returns the columns of the entries, without those that are nothing but special tokens.
    ///
    /// An entry stays if a merge uses or makes it, or if it is a byte: then it is also an ordinary token with the same bytes.
    /// With `ignore_merges`, no foreign entry may stay: HuggingFace's library never finds it in a text, but here a pretoken
    /// that equals its text would become that token.
    pub fn columns(&self, specials: &[(String, u32)], ignore_merges: bool) -> Result<CheckedColumns> {
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
            let is_merged = merged.contains(id);
            let is_literal = is_same || self.id_of(literal)? == Some(*id);
            if !is_literal || is_merged && !is_same {
                let owner = if is_literal { "which the merges use for" } else { "which belongs to" };
                let (literal, text) = (quoted(literal), quoted(&self.text(index)));
                return Err(Error::Model(format!("special token {literal} has id {id}, {owner} {text}")));
            }
            if !(is_merged || is_same && literal.chars().count() == 1) {
                dropped.try_push(*id, WHAT)?;
            }
        }
        dropped.sort_unstable();
        let n_kept = self.entries.len() - dropped.len();
        let mut tokens = Tokens::with_room(n_kept, self.bytes.len())?;
        let mut has_foreign = false;
        for (index, entry) in self.entries.iter().enumerate() {
            if !dropped.is_empty() && dropped.binary_search(&entry.id).is_ok() {
                continue;
            }
            has_foreign |= entry.is_foreign;
            if has_foreign && ignore_merges {
                let text = quoted(&self.text(index));
                return Err(Error::Model(format!(
                    "token {text} has characters outside the GPT-2 byte alphabet; rewrite or \
                remove it"
                )));
            }
            tokens.push(entry.id, &self.bytes[entry.start..entry.end])?;
        }
        let columns = Columns { tokens, merges: copied(&self.merges, WHAT)?, ..Columns::default() };
        // A foreign entry's bytes can equal another token's, so check the columns.
        if has_foreign { columns.checked().map_err(in_file) } else { Ok(columns.assume_checked()) }
    }
}

impl Vocabulary {
    /// Drops the merges whose tokens have U+2581 after their first character.
    pub fn split_at_spaces(&mut self) {
        let Vocabulary { bytes, entries, merges, .. } = self;
        merges.retain(|&[.., made]| {
            let found = entries.binary_search_by_key(&made, |entry| entry.id);
            let token = found.map_or(&[][..], |index| &bytes[entries[index].start..entries[index].end]);
            memmem::rfind(token, SYMBOL.as_bytes()).is_none_or(|at| at == 0)
        });
    }

    /// Returns a token such as `<0x41>`, which stands for a byte.
    pub fn byte_entry(&self) -> Option<&str> {
        let mut tokens = self.entries.iter().map(|entry| &self.bytes[entry.start..entry.end]);
        tokens.find(|token| fallback_byte(token).is_some()).and_then(|token| str::from_utf8(token).ok())
    }

    /// Returns whether a token contains U+2581 after another character.
    pub fn has_inner_space(&self) -> bool {
        let mut tokens = self.entries.iter().map(|entry| &self.bytes[entry.start..entry.end]);
        tokens.any(|token| memmem::rfind(token, SYMBOL.as_bytes()).is_some_and(|at| at > 0))
    }

    /// Returns the columns of a character vocabulary. Drops special tokens, except single characters and tokens that a merge
    /// uses or makes. U+2581 becomes a space; with `are_words` it stays, since words hold no spaces.
    pub fn character_columns(&self, specials: &[(String, u32)], are_words: bool) -> Result<CheckedColumns> {
        let mut dropped: HashSet<u32> = specials.iter().map(|&(_, id)| id).collect();
        self.merges.as_flattened().iter().for_each(|id| _ = dropped.remove(id));
        let mut tokens = Tokens::with_room(self.entries.len(), self.bytes.len())?;
        for (index, entry) in self.entries.iter().enumerate() {
            let text = self.text(index);
            if dropped.contains(&entry.id) && text.chars().nth(1).is_some() {
                continue;
            }
            if text.contains(' ') {
                let text = quoted(&text);
                return Err(Error::Model(format!(
                    "token {text} contains a space, but every space becomes another character before merging, so no text can \
                     produce it; remove it"
                )));
            }
            let text = if are_words { text } else { text.replace(SPACE_SYMBOL, " ") };
            tokens.push(entry.id, text.as_bytes())?;
        }
        let merges = copied(&self.merges, WHAT)?;
        Columns { tokens, merges, ..Columns::default() }.checked().map_err(in_file)
    }
}

/// Reads the two tokens of a merge.
fn read_pair<'a>(json: &mut Json<'a>, rank: usize) -> Result<(Cow<'a, str>, Cow<'a, str>)> {
    let start = json.clone();
    let pair = match json.peek() {
        Some(b'[') => {
            let (mut parts, mut n) = ([None, None], 0);
            let done = json.list(|json, index| {
                n += 1;
                let part = json.string()?;
                if let Some(free) = parts.get_mut(index) {
                    *free = Some(part);
                }
                Ok(())
            });
            match parts {
                [Some(left), Some(right)] if n == 2 && done.is_ok() => Some((left, right)),
                _ => None,
            }
        }
        Some(b'"') => match json.string()? {
            Cow::Borrowed(pair) => split(pair).map(|(left, right)| (left.into(), right.into())),
            Cow::Owned(pair) => {
                split(&pair).map(|(left, right)| (left.to_owned().into(), right.to_owned().into()))
            }
        },
        _ => None,
    };
    pair.map_or_else(|| start.clone().unexpected("two tokens").within(|| format!("merges[{rank}]")), Ok)
}

/// Splits "left right" into its two tokens.
pub fn split(pair: &str) -> Option<(&str, &str)> {
    pair.split_once(' ').filter(|(_, right)| !right.contains(' '))
}
