//! Which bytes are adjacent in some token: between other bytes a pretoken can be split before merging.
//!
//! Two bytes that are not adjacent in any token stay in different tokens whatever is merged around them, so the parts
//! on both sides can be merged independently. In text without spaces (Chinese, Japanese, Thai) and with a vocabulary
//! trained on other languages, the parts are one or two characters long.

/// The set of pairs of bytes that are adjacent in some token.
#[derive(Debug)]
pub(super) struct ByteAdjacency {
    /// A row for each first byte, with a bit for each second byte.
    rows: Box<[[u64; 4]; 256]>,
}

impl Default for ByteAdjacency {
    fn default() -> Self {
        ByteAdjacency { rows: Box::new([[0; 4]; 256]) }
    }
}

impl ByteAdjacency {
    /// Adds the pairs of adjacent bytes of a token.
    pub(super) fn add(&mut self, token: &[u8]) {
        for pair in token.windows(2) {
            self.rows[usize::from(pair[0])][usize::from(pair[1] >> 6)] |= 1 << (pair[1] & 63);
        }
    }

    #[inline(always)]
    fn is_adjacent(&self, first: u8, second: u8) -> bool {
        self.rows[usize::from(first)][usize::from(second >> 6)] >> (second & 63) & 1 != 0
    }

    /// Writes the ends of the parts of `pretoken`, which starts at `start`, to `ends`, which is at least as long.
    /// Returns their number. Without a branch for each byte: the ends of words cannot be predicted.
    pub(super) fn ends(&self, pretoken: &[u8], start: u32, ends: &mut [u32]) -> usize {
        let mut n = 0;
        for (end, pair) in (start + 1..).zip(pretoken.windows(2)) {
            ends[n] = end;
            n += usize::from(!self.is_adjacent(pair[0], pair[1]));
        }
        if !pretoken.is_empty() {
            ends[n] = start + pretoken.len() as u32;
            n += 1;
        }
        n
    }

    /// Splits `pretoken` between all bytes that are not adjacent in any token.
    #[inline]
    pub(super) fn parts<'a>(&'a self, pretoken: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        pretoken.chunk_by(|&first, &second| self.is_adjacent(first, second))
    }
}
