//! Vocabularies in which merging starts with characters, as in SentencePiece's BPE, instead of bytes.
//!
//! A character without a token of its own becomes the tokens of its bytes ("byte fallback"). Such a token is written
//! `<0x41>`; it is never found by its byte, since `A` is a token too. U+2581, which stands for a space in such files,
//! is a space here. Without byte fallback, each such character, or each run of them, becomes the id of `<unk>`.
//!
//! HuggingFace's library merges the pairs of a list in rank order. SentencePiece itself merges any two neighbours whose
//! joined text is a piece, the piece of the best score first; of equal scores the leftmost pair. Here scores are
//! priorities: 0 is merged first, and pieces of equal score have equal priorities.

/// Stands for a space in SentencePiece's files.
pub const SPACE_SYMBOL: char = '\u{2581}';

/// The pattern of tokenizers whose merging starts with characters.
pub const CHARACTERS: &str = "(?#characters)";

/// What such a vocabulary has in addition to others.
#[derive(Debug)]
pub(crate) struct Characters {
    /// For each rank the last one of equal priority; empty if no two are equal.
    pub(super) last_equal: Vec<u32>,
    /// The id of each character of ASCII, if it has one.
    pub(crate) ascii: [Option<u32>; 128],
    /// Tokens that no merge makes or joins; each is found only as a whole. SentencePiece calls them user-defined.
    pub(crate) whole: Vec<u32>,
    /// The tokens of single bytes, ascending.
    pub(crate) fallback: Vec<u32>,
    /// What characters without a token become, if their bytes have none either.
    pub(crate) unknown: Option<Unknown>,
}

/// What characters without a token become.
#[derive(Clone, Copy, Debug)]
pub struct Unknown {
    /// Their id.
    pub id: u32,
    /// Whether one id stands for several in a row.
    pub is_fused: bool,
    /// Whether spaces only end words: they become no id, and decoding puts a space before each token.
    pub drops_spaces: bool,
}

/// What decoding does with spaces at the beginning of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeadingSpaces {
    /// They stay.
    Kept,
    /// One is dropped.
    OneDropped,
    /// Each token before the first character that is not a space loses one: SentencePiece's `remove_extra_whitespaces`.
    OneOfEachDropped,
}

/// Returns the byte that a token such as `<0x41>` stands for.
pub fn fallback_byte(token: &[u8]) -> Option<u8> {
    let digits = token.strip_prefix(b"<0x")?.strip_suffix(b">")?;
    let is_digit = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'A'..=b'F');
    if digits.len() != 2 || !digits.iter().all(is_digit) {
        return None;
    }
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

impl Characters {
    /// Returns the priority of a rank, which is the last rank of equal priority. Of two pairs the one of lower priority
    /// merges first; of equals, the left one.
    #[inline]
    pub(crate) fn priority(&self, rank: u32) -> u32 {
        self.last_equal.get(rank as usize).copied().unwrap_or(rank)
    }
}
