//! A block of documents: the output of all readers and the input of the counter and the encoder.

use super::buffers::{Buffer, BufferPool};
use crate::error::{Error, Result};
use crate::memory::{TryReserve, try_push_str};

/// Names the allocation in [`Error::OutOfMemory`].
pub(super) const BLOCK: &str = "a block of documents";

/// How invalid records are handled. By default they are errors.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordErrors {
    /// Replaces bytes that are not UTF-8 by U+FFFD, one for each maximal invalid sequence.
    pub replaces: bool,
    /// Skips and counts records that cannot be read.
    pub skips: bool,
}

/// The text of several documents, and the end of each.
///
/// Invariants: `ends` ascends (an end equal to the previous one is an empty document), and each end is a character
/// boundary of `text`. Text after the last end belongs to a document that continues in the next block.
#[derive(Debug, Default)]
pub struct Documents {
    pub(super) text: Buffer<String>,
    pub(super) ends: Vec<usize>,
}

impl Documents {
    /// Builds a block in which each of `texts` is a document.
    pub fn from_texts(texts: &[impl AsRef<str>]) -> Result<Self> {
        Documents::from_texts_in(&BufferPool::default(), texts)
    }

    /// Like [`from_texts`](Self::from_texts), in memory of `buffers`.
    pub(super) fn from_texts_in(buffers: &BufferPool<String>, texts: &[impl AsRef<str>]) -> Result<Self> {
        let n_bytes = texts.iter().map(|text| text.as_ref().len()).sum();
        let mut documents = Documents {
            text: buffers.take(n_bytes).map_err(Error::out_of_memory(BLOCK))?,
            ends: Vec::with_reserved(texts.len(), BLOCK)?,
        };
        for text in texts {
            documents.append(text.as_ref())?;
            documents.end()?;
        }
        Ok(documents)
    }

    /// Joins consecutive blocks into one.
    pub fn joined(blocks: &[&Documents]) -> Result<Self> {
        let mut joined = Documents::default();
        let n_bytes = blocks.iter().map(|block| block.text.len()).sum();
        joined.text.try_reserve_exact(n_bytes).map_err(Error::out_of_memory(BLOCK))?;
        joined.ends = Vec::with_reserved(blocks.iter().map(|block| block.len()).sum(), BLOCK)?;
        for block in blocks {
            let start = joined.text.len();
            joined.append(&block.text)?;
            joined.ends.extend(block.ends.iter().map(|end| start + end));
        }
        Ok(joined)
    }

    /// Returns the whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the end of each document in the text.
    pub fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// Returns the number of documents that end in this block.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether the block has neither text nor an end.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.ends.is_empty()
    }

    /// Iterates over the documents that end in this block; the first may have started in an earlier block.
    pub fn iter(&self) -> impl Iterator<Item = &str> + '_ {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.text[start..end])
    }

    /// Returns the text after the last end, which belongs to a document that continues in the next block.
    pub fn open_text(&self) -> &str {
        &self.text[self.ends.last().copied().unwrap_or(0)..]
    }

    /// Counts the words, separated by white space, that start in this block. `in_word` is whether the previous block
    /// ended within a word. Returns the count, and `in_word` for the next block.
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

    /// Copies the documents from index `first` on.
    pub fn skip(&self, first: usize) -> Result<Self> {
        let last = first.checked_sub(1);
        let start = last.map_or(0, |last| self.ends.get(last).copied().unwrap_or(self.text.len()));
        let mut rest = Documents::default();
        rest.append(&self.text[start..])?;
        let ends = self.ends.get(first..).unwrap_or_default();
        rest.ends = Vec::with_reserved(ends.len(), BLOCK)?;
        rest.ends.extend(ends.iter().map(|end| end - start));
        Ok(rest)
    }

    /// Appends text to the open document.
    pub(super) fn append(&mut self, text: &str) -> Result<()> {
        try_push_str(&mut self.text, text, BLOCK)
    }

    /// Ends the open document, which can be empty.
    pub(super) fn end(&mut self) -> Result<()> {
        self.ends.try_push(self.text.len(), BLOCK)
    }
}
