//! Unicode normalisation forms, of Unicode 9.0 as in HuggingFace's library: by the crate `unicode-normalization` and the
//! list of the characters that are newer.
//!
//! Nearly all text is normal already. Each form has a table of the characters that it leaves alone whatever their
//! neighbours are. Bytes below all those that begin other characters are skipped 32 at a time. Where a text is not
//! normal, only the stretch from the last character that is left alone to the next one is rewritten (Unicode Standard
//! Annex 15, section 9: text can be divided before each of these).

use std::sync::LazyLock;

use unicode_normalization::char::{canonical_combining_class, compose};
use unicode_normalization::{IsNormalized, UnicodeNormalization};
use unicode_normalization::{is_nfc_quick, is_nfd_quick, is_nfkc_quick, is_nfkd_quick};

use super::unicode;
use crate::error::{Error, Result};
use crate::memory::{TryReserve, try_push_str};

/// How many bytes are checked at once.
const CHUNK: usize = 32;

/// A normalisation form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Canonical composition.
    Nfc,
    /// Canonical decomposition.
    Nfd,
    /// Compatibility composition.
    Nfkc,
    /// Compatibility decomposition.
    Nfkd,
}

impl Form {
    fn table(self) -> &'static Table {
        &TABLES[self as usize]
    }

    /// Whether the form leaves a character alone whatever its neighbours are.
    pub(super) fn is_stable(self, character: char) -> bool {
        self.table().class_of(u32::from(character)) == STABLE
    }

    /// Returns the text in this form, if it is not already.
    pub(super) fn changed(self, text: &str) -> Result<Option<String>> {
        let table = self.table();
        let (mut normal, mut stretch, mut copied, mut at) = (None, String::new(), 0, 0);
        while let Some(unstable) = table.first_unstable(text, at) {
            let (start, end) = table.stretch(text, at, unstable);
            stretch.clear();
            self.rewrite(text.get(start..end).unwrap_or_default(), &mut stretch)?;
            if text.get(start..end) != Some(&stretch) {
                let normal = match &mut normal {
                    Some(normal) => normal,
                    none => none.insert(with_reserved(text.len())?),
                };
                try_push_str(normal, &text[copied..start], NAME)?;
                try_push_str(normal, &stretch, NAME)?;
                copied = end;
            }
            at = end;
        }
        if let Some(normal) = &mut normal {
            try_push_str(normal, &text[copied..], NAME)?;
        }
        Ok(normal)
    }
    /// Appends the normal form of a stretch.
    fn rewrite(self, stretch: &str, into: &mut String) -> Result<()> {
        let mut characters = stretch.chars();
        // Most stretches are a letter and a mark.
        if self == Form::Nfc
            && let (Some(first), Some(second), None) =
                (characters.next(), characters.next(), characters.next())
            && let Some(composed) = compose(first, second)
        {
            return collect([composed].into_iter(), into);
        }
        match self {
            Form::Nfc => collect(stretch.nfc(), into),
            Form::Nfd => collect(stretch.nfd(), into),
            Form::Nfkc => collect(stretch.nfkc(), into),
            Form::Nfkd => collect(stretch.nfkd(), into),
        }
    }
}

/// The class of characters that a form leaves alone whatever their neighbours are. A mark has its combining class.
const STABLE: u8 = 0;
/// The class of characters that a form changes, or can change because of their neighbours.
const UNSTABLE: u8 = u8::MAX;
/// All code points from this one on are [`STABLE`].
const N_CODES: usize = 0x3_0000;

/// Where a run of characters newer than Unicode 9.0 begins, which a form of 16.0 would change, sort or compose, and where
/// it ends, in turn. They stay, and divide the text.
const NEWER: [u32; 138] = [
    0x7fd, 0x7fe, 0x897, 0x8a0, 0x8ca, 0x8d4, 0x9fe, 0x9ff, 0xc3c, 0xc3d, 0xd3b, 0xd3d, 0xeba, 0xebb, 0x1715,
    0x1716, 0x1abf, 0x1acf, 0x1df6, 0x1dfb, 0x32ff, 0x3300, 0xa7f2, 0xa7f5, 0xa82c, 0xa82d, 0xab69, 0xab6a,
    0x105c9, 0x105ca, 0x105d2, 0x105d3, 0x105da, 0x105db, 0x105e4, 0x105e5, 0x10781, 0x10786, 0x10787,
    0x107b1, 0x107b2, 0x107bb, 0x10d24, 0x10d28, 0x10d69, 0x10d6e, 0x10eab, 0x10ead, 0x10efd, 0x10f00,
    0x10f46, 0x10f51, 0x10f82, 0x10f86, 0x11070, 0x11071, 0x1133b, 0x1133c, 0x11382, 0x11386, 0x1138b,
    0x1138c, 0x1138e, 0x1138f, 0x11390, 0x11392, 0x113b8, 0x113b9, 0x113bb, 0x113bc, 0x113c2, 0x113c3,
    0x113c5, 0x113c6, 0x113c7, 0x113ca, 0x113ce, 0x113d1, 0x1145e, 0x1145f, 0x11839, 0x1183b, 0x11930,
    0x11931, 0x11935, 0x11936, 0x11938, 0x11939, 0x1193d, 0x1193f, 0x11943, 0x11944, 0x119e0, 0x119e1,
    0x11a34, 0x11a35, 0x11a47, 0x11a48, 0x11a99, 0x11a9a, 0x11d42, 0x11d43, 0x11d44, 0x11d46, 0x11d97,
    0x11d98, 0x11f41, 0x11f43, 0x1611e, 0x1612a, 0x1612f, 0x16130, 0x16d63, 0x16d64, 0x16d67, 0x16d6b,
    0x16ff0, 0x16ff2, 0x1ccd6, 0x1ccfa, 0x1e030, 0x1e06e, 0x1e08f, 0x1e090, 0x1e130, 0x1e137, 0x1e2ae,
    0x1e2af, 0x1e2ec, 0x1e2f0, 0x1e4ec, 0x1e4f0, 0x1e5ee, 0x1e5f0, 0x1f16c, 0x1f16d, 0x1fbf0, 0x1fbfa,
];

pub(super) fn is_newer(code: u32) -> bool {
    NEWER.partition_point(|&bound| bound <= code) % 2 == 1
}

/// What a form does to each character.
struct Table {
    /// For each 256 code points, where their classes start in `classes`.
    blocks: Vec<u16>,
    classes: Vec<u8>,
    /// For each byte, whether all characters that begin with it are [`STABLE`]; true for continuation bytes.
    is_stable: [bool; 256],
    /// The first byte for which that is false.
    least: u8,
}

/// The tables in the order of [`Form`].
static TABLES: [LazyLock<Table>; 4] = [
    LazyLock::new(|| Table::new(|character| is_nfc_quick(character.into_iter()))),
    LazyLock::new(|| Table::new(|character| is_nfd_quick(character.into_iter()))),
    LazyLock::new(|| Table::new(|character| is_nfkc_quick(character.into_iter()))),
    LazyLock::new(|| Table::new(|character| is_nfkd_quick(character.into_iter()))),
];

impl Table {
    fn new(quick: fn(Option<char>) -> IsNormalized) -> Self {
        let class_of = |code| {
            let class = match char::from_u32(code) {
                Some(character) if quick(Some(character)) != IsNormalized::Yes => UNSTABLE,
                character => character.map_or(STABLE, canonical_combining_class),
            };
            if class != STABLE && is_newer(code) { STABLE } else { class }
        };
        let (mut blocks, mut classes, mut is_stable): (_, Vec<u8>, _) = (Vec::new(), Vec::new(), [true; 256]);
        for code in (0..N_CODES as u32).step_by(256) {
            let block: Vec<u8> = (code..code + 256).map(class_of).collect();
            for (code, _) in (code..).zip(&block).filter(|&(_, &class)| class != STABLE) {
                let first = char::from_u32(code).unwrap_or_default().encode_utf8(&mut [0; 4]).as_bytes()[0];
                is_stable[usize::from(first)] = false;
            }
            let known = classes.chunks(256).position(|other| other == block).unwrap_or(classes.len() / 256);
            classes.resize(classes.len().max((known + 1) * 256), STABLE);
            classes[known * 256..][..256].copy_from_slice(&block);
            blocks.push((known * 256) as u16);
        }
        let least = is_stable.iter().position(|&is_stable| !is_stable).unwrap_or(256) as u8;
        Table { blocks, classes, is_stable, least }
    }

    #[inline(always)]
    fn class_of(&self, code: u32) -> u8 {
        let block = self.blocks.get((code >> 8) as usize);
        block.map_or(STABLE, |&start| self.classes[usize::from(start) + (code & 255) as usize])
    }

    /// Returns the first character from `from` on that may not be normal where it is, ignoring text before `from`.
    fn first_unstable(&self, text: &str, from: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        // The end and the class of the last character that was looked up.
        let (mut end, mut before) = (from, STABLE);
        let mut start = from;
        while start < bytes.len() {
            let chunk = &bytes[start..bytes.len().min(start + CHUNK)];
            let is_plain = <&[u8; CHUNK]>::try_from(chunk)
                .is_ok_and(|whole| whole.iter().fold(0, |most, &byte| most.max(byte)) < self.least);
            if !is_plain {
                for (at, &byte) in (start..).zip(chunk) {
                    if self.is_stable[usize::from(byte)] {
                        continue;
                    }
                    let (code, n_bytes) = unicode::decoded(bytes, at, byte);
                    let class = self.class_of(code);
                    if class != STABLE && (class == UNSTABLE || at == end && class < before) {
                        return Some(at);
                    }
                    (end, before) = (at + n_bytes, class);
                }
            }
            start += CHUNK;
        }
        None
    }

    /// Returns the stretch around the character at `unstable` that is rewritten as a whole. It begins at `from` or
    /// later, and after a newer character.
    fn stretch(&self, text: &str, from: usize, unstable: usize) -> (usize, usize) {
        let is_stable = |&(_, character): &(usize, char)| self.class_of(u32::from(character)) == STABLE;
        let (before, after) = (&text[from..unstable], &text[unstable..]);
        let start = before.char_indices().rev().find(is_stable).map_or(from, |(at, character)| {
            from + at + if is_newer(u32::from(character)) { character.len_utf8() } else { 0 }
        });
        let end = after.char_indices().skip(1).find(is_stable).map_or(text.len(), |(at, _)| unstable + at);
        (start, end)
    }
}

const NAME: &str = "a normalised text";

/// Returns an empty string with room for `n` bytes.
pub(super) fn with_reserved(n: usize) -> Result<String> {
    let bytes: Vec<u8> = Vec::with_reserved(n, NAME)?;
    // An empty vector is UTF-8.
    Ok(String::from_utf8(bytes).unwrap_or_default())
}

/// Appends characters.
pub(super) fn collect(characters: impl Iterator<Item = char>, into: &mut String) -> Result<()> {
    for character in characters {
        into.try_reserve(character.len_utf8()).map_err(Error::out_of_memory(NAME))?;
        into.push(character);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_those_of_the_patterns() {
        let (major, minor, update) = unicode_normalization::UNICODE_VERSION;
        assert_eq!(format!("{major}.{minor}.{update}"), super::super::UNICODE_VERSION);
    }

    #[test]
    fn code_points_beyond_the_table_are_left_alone() {
        for character in (N_CODES as u32..=0x10_ffff).filter_map(char::from_u32) {
            assert_eq!(
                (canonical_combining_class(character), is_nfkd_quick(Some(character).into_iter())),
                (0, IsNormalized::Yes)
            );
        }
    }
}
