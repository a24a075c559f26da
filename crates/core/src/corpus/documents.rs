//! A block of documents: what all readers give and all engines take.

use super::buffers::Buffer;
use crate::error::{Error, Result};
use crate::memory::TryReserve;

/// What is reserved when a block grows; named in [`Error::OutOfMemory`].
pub(super) const BLOCK: &str = "a block of documents";

/// What happens to records that cannot be read.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordErrors {
    /// Bytes that are not UTF-8 become U+FFFD, one for each maximal malformed part.
    pub replaces: bool,
    /// Records that cannot be read are left out and counted.
    pub skips: bool,
}

/// Text and where documents end in it.
///
/// Invariants: `ends` ascends (equal ends are empty documents), each is a character boundary of `text`. Text
/// after the last end belongs to a document that goes on in the next block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Documents {
    pub(super) text: Buffer<String>,
    pub(super) ends: Vec<usize>,
}

impl Documents {
    /// Each of `texts` is a document.
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

    /// No text, and the end of a document that began in an earlier block.
    pub fn end_only() -> Result<Self> {
        let mut documents = Documents::default();
        documents.end()?;
        Ok(documents)
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where documents end.
    pub fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// How many documents end in this block.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is neither text nor an end.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.ends.is_empty()
    }

    /// The documents that end here, the first perhaps begun in an earlier block.
    pub fn iter(&self) -> impl Iterator<Item = &str> + '_ {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.text[start..end])
    }

    /// The text after the last end: the begin or the middle of a document that goes on.
    pub fn open_text(&self) -> &str {
        &self.text[self.ends.last().copied().unwrap_or(0)..]
    }

    /// How many words, apart by white space, begin here; `in_word` says whether the text before ended in one.
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

    /// The documents from number `first` on; their text is copied.
    pub fn skip(&self, first: usize) -> Result<Self> {
        let last = first.checked_sub(1);
        let start = last.map_or(0, |last| self.ends.get(last).copied().unwrap_or(self.text.len()));
        let mut rest = Documents::default();
        rest.text.try_reserve_exact(self.text.len() - start).map_err(Error::out_of_memory(BLOCK))?;
        rest.append(&self.text[start..])?;
        let ends = self.ends.get(first..).unwrap_or_default();
        rest.ends.try_reserve_exact(ends.len()).map_err(Error::out_of_memory(BLOCK))?;
        rest.ends.extend(ends.iter().map(|end| end - start));
        Ok(rest)
    }

    /// Appends text to the document that is open.
    pub(super) fn append(&mut self, text: &str) -> Result<()> {
        self.text.try_reserve(text.len()).map_err(Error::out_of_memory(BLOCK))?;
        self.text.push_str(text);
        Ok(())
    }

    /// Ends the document that is open, which may be empty.
    pub(super) fn end(&mut self) -> Result<()> {
        self.ends.try_push(self.text.len(), BLOCK)?;
        Ok(())
    }
}
