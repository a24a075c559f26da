//! Blocks of documents to the texts that an engine takes, long documents in parts.
//!
//! Enters: [`Documents`], block after block. Leaves: texts in order, each a document or a part of one, and for
//! each whether a document ends with it. What may not be cut off yet of a document that goes on is kept for
//! the next block.

use super::cuts::{Cut, Cuts};
use super::documents::{BLOCK, Documents};
use crate::error::{Error, Result};

/// A document longer than this is cut in parts, so that all threads have work.
const PART_BYTES: usize = 1 << 18;

/// What is kept between blocks.
pub(super) struct Parts {
    cuts: Cuts,
    tail: String,
    /// Cuts inside of what is one document.
    pub(super) n_cuts: u64,
}

/// The texts of a block.
pub(super) struct Texts<'a> {
    pub(super) texts: Vec<&'a str>,
    /// For each text, whether a document ends with it.
    pub(super) is_end: Vec<bool>,
}

impl Parts {
    pub(super) fn new(cuts: Cuts) -> Self {
        Parts { cuts, tail: String::new(), n_cuts: 0 }
    }

    /// Calls `work` with the texts of the next block.
    pub(super) fn with<T>(
        &mut self,
        documents: &Documents,
        work: impl FnOnce(&Texts<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut texts = Texts { texts: Vec::new(), is_end: Vec::new() };
        let n = documents.len() + documents.text.len() / PART_BYTES + 2;
        texts.texts.try_reserve(n).map_err(Error::out_of_memory(BLOCK))?;
        texts.is_end.try_reserve(n).map_err(Error::out_of_memory(BLOCK))?;
        let mut rest = documents.iter();
        let mut first = std::mem::take(&mut self.tail);
        let is_whole = if first.is_empty() {
            false
        } else {
            let next = rest.next();
            let more = next.unwrap_or(documents.open_text());
            first.try_reserve(more.len()).map_err(Error::out_of_memory(BLOCK))?;
            first.push_str(more);
            next.is_some()
        };
        let mut tail = "";
        if is_whole {
            self.add(&first, true, &mut texts)?;
        } else if !first.is_empty() {
            tail = self.add(&first, false, &mut texts)?;
        }
        if is_whole || first.is_empty() {
            for document in rest {
                self.add(document, true, &mut texts)?;
            }
            tail = self.add(documents.open_text(), false, &mut texts)?;
        }
        let done = work(&texts)?;
        self.tail.try_reserve(tail.len()).map_err(Error::out_of_memory(BLOCK))?;
        self.tail.push_str(tail);
        Ok(done)
    }

    /// Adds a document in parts; gives what must be kept if it goes on (unless `is_whole`).
    fn add<'a>(&mut self, mut text: &'a str, is_whole: bool, texts: &mut Texts<'a>) -> Result<&'a str> {
        let mut tail = "";
        if !is_whole {
            let cut = if text.is_empty() { None } else { self.cuts.last(text)? };
            let Some(Cut { at, is_boundary }) = cut else { return Ok(text) };
            self.n_cuts += u64::from(!is_boundary);
            (text, tail) = text.split_at(at);
        }
        while text.len() > 2 * PART_BYTES
            && let Some(cut) = self.cuts.near(text, PART_BYTES)
        {
            let (part, rest) = text.split_at(cut.at);
            push(texts, part, false)?;
            self.n_cuts += 1;
            text = rest;
        }
        push(texts, text, is_whole)?;
        Ok(tail)
    }
}

fn push<'a>(texts: &mut Texts<'a>, text: &'a str, is_end: bool) -> Result<()> {
    texts.texts.try_reserve(1).map_err(Error::out_of_memory(BLOCK))?;
    texts.is_end.try_reserve(1).map_err(Error::out_of_memory(BLOCK))?;
    texts.texts.push(text);
    texts.is_end.push(is_end);
    Ok(())
}
