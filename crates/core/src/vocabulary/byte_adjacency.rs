//! Where no merge can reach across.
//!
//! Two bytes that are neighbours in no token stay apart whatever is merged around them, so a pretoken may be
//! cut between them and each part merged on its own. In text without spaces between words (Chinese,
//! Japanese, Thai) a vocabulary trained on other languages leaves parts of a character or two.

/// The pairs of bytes that are neighbours in some token.
#[derive(Debug)]
pub(super) struct ByteAdjacency {
    /// One bit for each second byte, a row for each first.
    rows: Box<[[u64; 4]; 256]>,
}

impl Default for ByteAdjacency {
    fn default() -> Self {
        ByteAdjacency { rows: Box::new([[0; 4]; 256]) }
    }
}

impl ByteAdjacency {
    /// Notes the neighbours within a token.
    pub(super) fn add(&mut self, token: &[u8]) {
        for pair in token.windows(2) {
            self.rows[usize::from(pair[0])][usize::from(pair[1] >> 6)] |= 1 << (pair[1] & 63);
        }
    }

    #[inline(always)]
    fn across(&self, first: u8, second: u8) -> bool {
        self.rows[usize::from(first)][usize::from(second >> 6)] >> (second & 63) & 1 != 0
    }

    /// SafeCuts `pretoken` wherever no token reaches across.
    #[inline]
    pub(super) fn parts<'a>(&'a self, pretoken: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        pretoken.chunk_by(|&first, &second| self.across(first, second))
    }
}
