//! Maps characters to classes for an automaton: those that no set of the pattern tells apart share a class.

use std::collections::HashMap;

use regex_syntax::hir::ClassUnicode;

use super::unicode;

/// The most sets of characters that a pattern can have.
pub const MAX_SETS: usize = 128;

/// In [`Alphabet::by_byte`]: the byte begins a longer character.
const LONGER: u8 = 255;

/// The classes of the characters that a pattern tells apart.
#[derive(Clone)]
pub struct Alphabet {
    pub n_classes: usize,
    /// For each class, the sets that contain it, as bits.
    pub sets_of: Vec<u128>,
    /// For each byte, the class of the ASCII character, or [`LONGER`].
    by_byte: [u8; 256],
    /// For each 256 code points, where their classes start in `classes`.
    blocks: Vec<u32>,
    classes: Vec<u8>,
}

impl Alphabet {
    pub fn new(sets: &[ClassUnicode]) -> Option<Self> {
        if sets.len() > MAX_SETS {
            return None;
        }
        let mut toggles = vec![(0x11_0000, 0)];
        for (number, set) in sets.iter().enumerate() {
            for range in set.ranges() {
                toggles
                    .extend([(range.start() as usize, 1 << number), (range.end() as usize + 1, 1 << number)]);
            }
        }
        toggles.sort_unstable();
        let mut all = vec![0u8; 0x11_0000];
        let (mut sets_of, mut from, mut within) = (Vec::new(), 0, 0u128);
        for (at, set) in toggles {
            if at > from {
                let known = sets_of.iter().position(|&sets| sets == within);
                let class = known.unwrap_or(sets_of.len());
                if known.is_none() {
                    sets_of.push(within);
                }
                all[from..at].fill(u8::try_from(class).ok().filter(|&class| class < LONGER)?);
                from = at;
            }
            within ^= set;
        }
        let mut by_byte = [LONGER; 256];
        by_byte[..128].copy_from_slice(&all[..128]);
        let (mut blocks, mut classes, mut known) = (Vec::new(), Vec::new(), HashMap::new());
        for block in all.chunks(256) {
            let start = *known.entry(block).or_insert(classes.len() as u32);
            if start as usize == classes.len() {
                classes.extend_from_slice(block);
            }
            blocks.push(start);
        }
        Some(Alphabet { n_classes: sets_of.len(), sets_of, by_byte, blocks, classes })
    }

    pub fn class_of(&self, code: u32) -> usize {
        usize::from(self.classes[self.blocks[(code >> 8) as usize] as usize + (code & 255) as usize])
    }

    /// Returns an alphabet of bytes: each byte has the class of its letter in GPT-2's byte alphabet.
    pub fn of_letters(&self) -> Self {
        let class_of = |byte| self.class_of(unicode::byte_letter(byte)) as u8;
        Alphabet { by_byte: std::array::from_fn(|byte| class_of(byte as u8)), ..self.clone() }
    }

    /// Returns the class of a one-byte character; `None` for the first byte of a longer one.
    #[inline(always)]
    pub fn class_of_byte(&self, byte: u8) -> Option<usize> {
        let class = self.by_byte[usize::from(byte)];
        (class != LONGER).then_some(usize::from(class))
    }

    /// Returns the class and the length of the character at `at`; at the end of the text, `n_classes` and 1.
    #[inline(always)]
    pub fn class_at(&self, bytes: &[u8], at: usize) -> (usize, usize) {
        let Some(&byte) = bytes.get(at) else { return (self.n_classes, 1) };
        if let Some(class) = self.class_of_byte(byte) {
            return (class, 1);
        }
        let (code, n_bytes) = unicode::decoded(bytes, at, byte);
        (self.class_of(code), n_bytes)
    }
}
