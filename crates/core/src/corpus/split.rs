//! Blocks of documents to the texts that an engine takes, long documents in parts.
//!
//! Enters: [`Documents`], block after block. Leaves: texts in order, each a document or a part of one, and for
//! each whether a document ends with it. What may not be cut off yet of a document that goes on is kept for
//! the next block.

use super::documents::{BLOCK, Documents};
use crate::error::{Error, Result};
use crate::pretokens::safe_cuts::{Cut, SafeCuts};

/// A document longer than this is cut in parts, so that all threads have work.
const PART_BYTES: usize = 1 << 18;

/// How much of a text is joined with what was kept of the block before, about.
const JOIN_BYTES: usize = 1 << 16;

/// How a text ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// With its document.
    Document,
    /// At a cut.
    Cut,
    /// In the middle of what comes with the next block.
    Open,
}

/// What is kept between blocks.
pub(crate) struct Splitter {
    safe_cuts: SafeCuts,
    tail: String,
    /// The length from which on the tail and what follows it are scanned for a cut again. Scanning begins anew each
    /// time, so it waits until there is twice as much: the time stays linear for a pretoken of many blocks.
    scan_from: usize,
    /// SafeCuts inside of what is one document.
    pub(crate) n_cuts: u64,
}

/// The texts of a block.
pub(crate) struct Texts<'a> {
    pub(crate) texts: Vec<&'a str>,
    /// For each text, whether a document ends with it.
    pub(crate) is_end: Vec<bool>,
}

impl Splitter {
    pub(crate) fn new(safe_cuts: SafeCuts) -> Self {
        Splitter { safe_cuts, tail: String::new(), scan_from: 0, n_cuts: 0 }
    }

    /// Forgets what is kept.
    pub(crate) fn clear(&mut self) {
        self.tail.clear();
        self.scan_from = 0;
    }

    /// How many bytes are kept.
    pub(crate) fn n_kept(&self) -> usize {
        self.tail.len()
    }

    /// Calls `work` with the texts of the next block.
    pub(crate) fn with<T>(
        &mut self,
        documents: &Documents,
        work: impl FnOnce(&Texts<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut texts = Texts { texts: Vec::new(), is_end: Vec::new() };
        let n = documents.len() + documents.text.len() / PART_BYTES + 2;
        texts.texts.try_reserve(n).map_err(Error::out_of_memory(BLOCK))?;
        texts.is_end.try_reserve(n).map_err(Error::out_of_memory(BLOCK))?;
        let mut rest =
            documents.iter().map(|text| (text, End::Document)).chain([(documents.open_text(), End::Open)]);
        let mut first = std::mem::take(&mut self.tail);
        let mut tail = "";
        if !first.is_empty()
            && let Some((text, end)) = rest.next()
        {
            // Only the begin of a long text is joined with what was kept.
            let head = match self.safe_cuts.near(text, JOIN_BYTES) {
                Some(cut) if text.len() > 2 * JOIN_BYTES && cut.at >= self.safe_cuts.longest_special() => {
                    cut.at
                }
                _ => text.len(),
            };
            let (head, more) = text.split_at(head);
            first.try_reserve(head.len()).map_err(Error::out_of_memory(BLOCK))?;
            first.push_str(head);
            if more.is_empty() {
                tail = self.add(&first, end, &mut texts)?;
            } else {
                self.n_cuts += 1;
                self.add(&first, End::Cut, &mut texts)?;
                tail = self.add(more, end, &mut texts)?;
            }
        }
        for (text, end) in rest {
            tail = self.add(text, end, &mut texts)?;
        }
        let done = work(&texts)?;
        if !tail.is_empty() && std::ptr::eq(tail.as_ptr(), first.as_ptr()) && tail.len() == first.len() {
            self.tail = first;
        } else {
            self.tail.try_reserve(tail.len()).map_err(Error::out_of_memory(BLOCK))?;
            self.tail.push_str(tail);
        }
        Ok(done)
    }

    /// The last cut of a text that goes on unseen, where it is worth the time to look for it.
    fn last_cut(&mut self, text: &str) -> Result<Option<Cut>> {
        if let Some(cut) = self.safe_cuts.near(text, text.len()) {
            self.scan_from = 0;
            return Ok(Some(cut));
        }
        if text.is_empty() || text.len() < self.scan_from {
            return Ok(None);
        }
        let cut = self.safe_cuts.last_by_scanning(text)?;
        let n_kept = text.len() - cut.map_or(0, |cut| cut.at);
        self.scan_from = 2 * n_kept;
        Ok(cut)
    }

    /// Adds a text in parts; gives what must be kept of one that goes on unseen.
    fn add<'a>(&mut self, mut text: &'a str, end: End, texts: &mut Texts<'a>) -> Result<&'a str> {
        let mut tail = "";
        if end != End::Open {
            self.scan_from = 0;
        } else {
            let Some(Cut { at, is_boundary }) = self.last_cut(text)? else { return Ok(text) };
            self.n_cuts += u64::from(!is_boundary);
            (text, tail) = text.split_at(at);
        }
        while text.len() > 2 * PART_BYTES
            && let Some(cut) = self.safe_cuts.near(text, PART_BYTES)
        {
            let (part, rest) = text.split_at(cut.at);
            push(texts, part, false)?;
            self.n_cuts += 1;
            text = rest;
        }
        push(texts, text, end == End::Document)?;
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
