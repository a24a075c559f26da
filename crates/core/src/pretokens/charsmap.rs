//! The normaliser of a SentencePiece model: a table of strings, whose longest match at each place is replaced.
//!
//! The table is the file's own (`precompiled_charsmap`): the size of a trie, the trie as a double array of 32-bit
//! units (darts-clone), and the replacements, each ended by a zero byte. Cost: a step of the trie per byte.

use aho_corasick::AhoCorasick;

use crate::error::{Error, Result};
use crate::memory::{TryReserve, filled};
use crate::model_file::base64;

const NAME: &str = "a normalised text";

/// The strings of a table are shorter; those of a damaged one can be endless.
const MAX_MATCHED: usize = 256;

/// A checked table.
#[derive(Debug, PartialEq, Eq)]
pub struct Charsmap {
    units: Vec<u32>,
    replacements: String,
    /// For each byte: a string of the table contains it (`is_used`), or ends with it (`is_last`).
    is_used: [bool; 256],
    is_last: [bool; 256],
}

impl Charsmap {
    /// Parses the table of a model file; [`Error::Invalid`] if it is damaged.
    pub fn new(data: &[u8]) -> Result<Self> {
        let damaged =
            || Error::Invalid("the charsmap of the normalizer is damaged; download the file again".into());
        let (size, rest) = data.split_first_chunk::<4>().ok_or_else(damaged)?;
        let (trie, replacements) =
            rest.split_at_checked(u32::from_le_bytes(*size) as usize).ok_or_else(damaged)?;
        let (units, odd) = trie.as_chunks::<4>();
        let replacements =
            std::str::from_utf8(replacements).ok().filter(|texts| texts.is_empty() || texts.ends_with('\0'));
        if !odd.is_empty() || units.is_empty() {
            return Err(damaged());
        }
        let replacements = replacements.ok_or_else(damaged)?.to_owned();
        let units = units.iter().map(|unit| u32::from_le_bytes(*unit)).collect();
        let mut table = Charsmap { units, replacements, is_used: [false; 256], is_last: [false; 256] };
        table.find_bytes()?;
        Ok(table)
    }

    /// Finds the bytes of all strings. Each unit stands for a string, which its children continue.
    fn find_bytes(&mut self) -> Result<()> {
        let mut is_seen = filled(self.units.len(), false, NAME)?;
        let mut bases = vec![children(self.units[0])];
        while let Some(base) = bases.pop() {
            for byte in 0..=u8::MAX {
                let at = (base ^ u32::from(byte)) as usize;
                let Some(&unit) = self.units.get(at).filter(|&&unit| is_child(unit, byte)) else { continue };
                self.is_used[usize::from(byte)] = true;
                self.is_last[usize::from(byte)] |= ends_string(unit);
                if !std::mem::replace(&mut is_seen[at], true) {
                    bases.try_push(at as u32 ^ children(unit), NAME)?;
                }
            }
        }
        Ok(())
    }

    /// Whether no match can span the place between these characters or end there, so that both stay as they are.
    pub(super) fn is_cut(&self, before: char, after: char) -> bool {
        let is_free = |of: &[bool; 256], character: char| character.is_ascii() && !of[character as usize];
        is_free(&self.is_last, before) && is_free(&self.is_used, after)
    }

    /// Parses the table in the name of a normaliser's step: base64.
    pub fn from_base64(text: &str) -> Result<Self> {
        let mut data = Vec::new();
        base64::append(text.as_bytes(), &mut data)?;
        Self::new(&data)
    }

    /// Returns the text with the longest match at each place replaced. Literals of `whole` stay.
    pub(super) fn normalized(&self, text: &str, whole: Option<&AhoCorasick>) -> Result<String> {
        let mut normal = String::new();
        normal.try_reserve(text.len()).map_err(Error::out_of_memory(NAME))?;
        let mut kept = whole.map(|whole| whole.find_iter(text).peekable());
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            if let Some(kept) = &mut kept {
                while kept.next_if(|found| found.start() < at).is_some() {}
                if let Some(found) = kept.next_if(|found| found.start() == at) {
                    put(&mut normal, &text[at..found.end()])?;
                    at = found.end();
                    continue;
                }
            }
            match self.longest(rest.as_bytes()) {
                Some((length, replacement)) if text.is_char_boundary(at + length) => {
                    put(&mut normal, replacement)?;
                    at += length;
                }
                _ => {
                    let length = rest.chars().next().map_or(1, char::len_utf8);
                    put(&mut normal, &rest[..length])?;
                    at += length;
                }
            }
        }
        Ok(normal)
    }

    /// Returns the length of the longest string of the table that `text` begins with, and its replacement.
    fn longest(&self, text: &[u8]) -> Option<(usize, &str)> {
        let mut at = children(*self.units.first()?);
        let mut found = None;
        for (index, &byte) in text.iter().enumerate().take(MAX_MATCHED) {
            at ^= u32::from(byte);
            let Some(&unit) = self.units.get(at as usize) else { break };
            if !is_child(unit, byte) {
                break;
            }
            at ^= children(unit);
            if ends_string(unit) {
                let value = self.units.get(at as usize)? & !(1 << 31);
                found = Some((index + 1, value));
            }
        }
        let (length, value) = found?;
        let replacement = self.replacements.get(value as usize..)?.split('\0').next()?;
        Some((length, replacement))
    }
}

/// Returns where the children of a unit are, relative to its own place.
fn children(unit: u32) -> u32 {
    (unit >> 10) << ((unit & 1 << 9) >> 6)
}

/// Whether the unit is its parent's child for this byte.
fn is_child(unit: u32, byte: u8) -> bool {
    unit & (1 << 31 | 0xff) == u32::from(byte)
}

/// Whether a string of the table ends with the unit.
fn ends_string(unit: u32) -> bool {
    unit >> 8 & 1 == 1
}

fn put(text: &mut String, more: &str) -> Result<()> {
    text.try_reserve(more.len()).map_err(Error::out_of_memory(NAME))?;
    text.push_str(more);
    Ok(())
}
