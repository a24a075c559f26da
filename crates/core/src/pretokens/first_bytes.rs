//! Finds where a match can begin: the bytes that characters of a set begin with.

use regex_syntax::hir::ClassUnicode;

/// Bytes that are checked together.
const CHUNK: usize = 32;

/// A set of first bytes.
#[derive(Clone)]
pub(super) struct FirstBytes {
    has: [bool; 256],
    /// The lowest and the highest one below 0x80.
    ascii: (u8, u8),
}

impl FirstBytes {
    pub fn new(has: [bool; 256]) -> Self {
        let ascii = |byte: &u8| has[usize::from(*byte)];
        let lowest = (0..0x80).find(ascii).unwrap_or(0xff);
        FirstBytes { has, ascii: (lowest, (0..0x80).rev().find(ascii).unwrap_or(0)) }
    }

    /// Returns the first bytes of a set's characters.
    pub fn of(set: &ClassUnicode) -> Self {
        let mut has = [false; 256];
        for character in set.ranges().iter().flat_map(|range| range.start()..=range.end()) {
            has[usize::from(character.encode_utf8(&mut [0; 4]).as_bytes()[0])] = true;
        }
        Self::new(has)
    }

    #[inline(always)]
    pub fn has(&self, byte: u8) -> bool {
        self.has[usize::from(byte)]
    }

    /// Returns the offset of the first of these bytes.
    #[inline]
    pub fn position(&self, bytes: &[u8]) -> Option<usize> {
        let (lowest, highest) = self.ascii;
        let (chunks, rest) = bytes.as_chunks::<CHUNK>();
        for (number, chunk) in chunks.iter().enumerate() {
            // Skips most chunks without a branch for each byte.
            let may = chunk
                .iter()
                .fold(false, |may, &byte| may | (byte >= lowest) & (byte <= highest) | !byte.is_ascii());
            if may && let Some(at) = chunk.iter().position(|&byte| self.has(byte)) {
                return Some(number * CHUNK + at);
            }
        }
        rest.iter().position(|&byte| self.has(byte)).map(|at| chunks.len() * CHUNK + at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_equal_those_of_a_loop_over_the_bytes() {
        let sets: [fn(usize) -> bool; 5] = [
            |byte| (0x30..0x3a).contains(&byte) || byte == 0xd9,
            |byte| byte >= 0xc2,
            |byte| byte == 0 || byte == 0x7f,
            |byte| byte == 0x80,
            |_| false,
        ];
        for has in sets {
            let first_bytes = FirstBytes::new(std::array::from_fn(has));
            for n in [0, 1, 31, 32, 33, 64, 100] {
                for (at, byte) in (0..n).flat_map(|at| (0..=u8::MAX).map(move |byte| (at, byte))) {
                    let mut bytes = vec![b'a'; n];
                    bytes[at] = byte;
                    let expected = bytes.iter().position(|&byte| has(usize::from(byte)));
                    assert_eq!(first_bytes.position(&bytes), expected, "{byte} at {at} of {n}");
                }
            }
        }
    }
}
