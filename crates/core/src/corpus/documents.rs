//! A block of documents: what all readers return, and what the counter and the encoder take.

use super::buffers::Buffer;
use crate::error::{Error, Result};
use crate::memory::{TryReserve, try_push_str};

/// What grows, in the message of [`Error::OutOfMemory`].
pub(super) const BLOCK: &str = "a block of documents";

/// How invalid records are handled; the default is an error.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordErrors {
    /// Bytes that are not UTF-8 become U+FFFD, one for each maximal invalid sequence.
    pub replaces: bool,
    /// Records that cannot be read are skipped and counted.
    pub skips: bool,
}

/// Text, and the ends of the documents in it.
///
/// Invariants: `ends` ascends (equal ends are empty documents), and each is a character boundary of `text`. Text after
/// the last end belongs to a document that continues in the next block.
#[derive(Debug, Default)]
pub struct Documents {
    pub(super) text: Buffer<String>,
    pub(super) ends: Vec<usize>,
}

impl Documents {
    /// A block in which each of `texts` is a document.
    pub fn from_texts(texts: &[&str]) -> Result<Self> {
        let mut documents = Documents::default();
        let n_bytes = texts.iter().map(|text| text.len()).sum();
        documents.text.try_reserve_exact(n_bytes).map_err(Error::out_of_memory(BLOCK))?;
        for text in texts {
            documents.append(text)?;
            documents.end()?;
        }
        Ok(documents)
    }

    /// One block of consecutive ones.
    pub fn joined(blocks: &[&Documents]) -> Result<Self> {
        let mut joined = Documents::default();
        let n_bytes = blocks.iter().map(|block| block.text.len()).sum();
        joined.text.try_reserve_exact(n_bytes).map_err(Error::out_of_memory(BLOCK))?;
        joined.ends = Vec::with_room(blocks.iter().map(|block| block.len()).sum(), BLOCK)?;
        for block in blocks {
            let start = joined.text.len();
            joined.append(&block.text)?;
            joined.ends.extend(block.ends.iter().map(|end| start + end));
        }
        Ok(joined)
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The end of each document in the text.
    pub fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// The number of documents that end in this block.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether the block has neither text nor an end.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.ends.is_empty()
    }

    /// The documents that end here; the first may have begun in an earlier block.
    pub fn iter(&self) -> impl Iterator<Item = &str> + '_ {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.text[start..end])
    }

    /// The text after the last end, which belongs to a document that continues in the next block.
    pub fn open_text(&self) -> &str {
        &self.text[self.ends.last().copied().unwrap_or(0)..]
    }

    /// Counts the words that begin here, separated by white space. `in_word` says whether the previous block ended within
    /// a word; returned for this block.
    pub fn count_words(&self, mut in_word: bool) -> (u64, bool) {
        let mut n_words = 0;
        let mut count = |text: &str, mut inside: bool| {
            for character in text.chars() {
                let is_space = character.is_whitespace();
                n_words += u64::from(!is_space && !inside);
                inside = !is_space;
            }
            inside
        };
        for document in self.iter() {
            count(document, in_word);
            in_word = false;
        }
        in_word = count(self.open_text(), in_word);
        (n_words, in_word)
    }

    /// A copy of the documents from index `first` on.
    pub fn skip(&self, first: usize) -> Result<Self> {
        let last = first.checked_sub(1);
        let start = last.map_or(0, |last| self.ends.get(last).copied().unwrap_or(self.text.len()));
        let mut rest = Documents::default();
        rest.append(&self.text[start..])?;
        let ends = self.ends.get(first..).unwrap_or_default();
        rest.ends = Vec::with_room(ends.len(), BLOCK)?;
        rest.ends.extend(ends.iter().map(|end| end - start));
        Ok(rest)
    }

    /// Appends text to the open document.
    pub(super) fn append(&mut self, text: &str) -> Result<()> {
        try_push_str(&mut self.text, text, BLOCK)
    }

    /// Ends the open document, which may be empty.
    pub(super) fn end(&mut self) -> Result<()> {
        self.ends.try_push(self.text.len(), BLOCK)
    }
}
