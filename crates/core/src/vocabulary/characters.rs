//! Vocabularies in which merging starts with characters, as SentencePiece's BPE does, not with bytes.
//!
//! A character without a token of its own becomes the tokens of its bytes ("byte fallback"). Such a token is written
//! `<0x41>`; it is never found by its byte, since `A` is a token too. U+2581, which stands for a space in such files, is
//! a space here. Without byte fallback all such characters in a row become one id, that of `<unk>`.
//!
//! Two owners merge differently. HuggingFace merges the pairs of a list in rank order. SentencePiece merges any two
//! neighbours whose joined text is a piece, the piece of the best score first; of equal scores the leftmost pair. Here
//! scores are priorities: 0 is merged first, and pieces of equal score have equal priorities.

/// Stands for a space in the files of SentencePiece.
pub const SPACE_SYMBOL: char = '\u{2581}';

/// The pattern of tokenizers whose merging starts with characters.
pub const CHARACTERS: &str = "(?#characters)";

/// What such a vocabulary has beyond others.
#[derive(Debug)]
pub(crate) struct Characters {
    /// The priority of each rank; empty if ranks are priorities.
    pub(super) priorities: Vec<u32>,
    /// Tokens that no merge makes or joins, each found as a whole; SentencePiece calls them user-defined.
    pub(crate) whole: Vec<u32>,
    /// The tokens of single bytes, ascending.
    pub(crate) fallback: Vec<u32>,
    /// What becomes of characters without a token, where their bytes have none.
    pub(crate) unknown: Option<Unknown>,
}

/// What becomes of characters without a token.
#[derive(Clone, Copy, Debug)]
pub struct Unknown {
    /// Their id.
    pub id: u32,
    /// Whether it stands for several in a row.
    pub is_fused: bool,
    /// Whether spaces only end words: they become no id, and decoding puts one before each token.
    pub drops_spaces: bool,
}

/// What decoding does with spaces at the beginning of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeadingSpaces {
    /// They stay.
    Kept,
    /// One goes.
    OneDropped,
    /// One goes of each token before the first character that is no space: SentencePiece's `remove_extra_whitespaces`.
    OneOfEachDropped,
}

/// The byte that a token such as `<0x41>` stands for.
pub fn fallback_byte(token: &[u8]) -> Option<u8> {
    let digits = token.strip_prefix(b"<0x")?.strip_suffix(b">")?;
    let is_digit = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'A'..=b'F');
    if digits.len() != 2 || !digits.iter().all(is_digit) {
        return None;
    }
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

impl Characters {
    /// What decides which of two pairs merges first: the less, and of equals the left one.
    #[inline]
    pub(crate) fn priority(&self, rank: u32) -> u32 {
        self.priorities.get(rank as usize).copied().unwrap_or(rank)
    }
}
