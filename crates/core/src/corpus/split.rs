//! Splits blocks of documents into texts for one call of counting or encoding, so that all threads have work.
//!
//! A text is a document or a part of one. A document that continues in the next block is split at the last position
//! where that cannot change its pretokens ([`SafeCuts`]). The rest, the tail, is kept and joined with the next block.

use super::documents::{BLOCK, Documents};
use crate::error::Result;
use crate::memory::{TryReserve, try_push_str};
use crate::pretokens::safe_cuts::{Cut, SafeCuts};

/// Documents longer than twice this are split into parts of about this size.
const PART_BYTES: usize = 1 << 18;

/// Approximate length of the part of a long text that is joined with the tail of the previous block.
const JOIN_BYTES: usize = 1 << 16;

/// Where a text ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// At the end of its document.
    Document,
    /// At a cut.
    Cut,
    /// In the middle of a document that continues in the next block.
    Open,
}

/// Splits one block after another, and keeps the tail of a document that continues.
pub(crate) struct Splitter {
    safe_cuts: SafeCuts,
    tail: String,
    /// The minimum length of the tail and the text after it for the next scan for a cut. Each scan starts over, so it
    /// waits until the text has doubled: time stays linear even for a pretoken of many blocks.
    scan_from: usize,
    /// The number of cuts within documents so far; each adds a text that is not a document.
    pub(crate) n_cuts: u64,
}

/// The texts of a block, in order.
pub(crate) struct Texts<'a> {
    pub(crate) texts: Vec<&'a str>,
    /// For each text, whether a document ends with it.
    pub(crate) is_end: Vec<bool>,
}

impl Splitter {
    /// Creates a splitter without a tail.
    pub(crate) fn new(safe_cuts: SafeCuts) -> Self {
        Splitter { safe_cuts, tail: String::new(), scan_from: 0, n_cuts: 0 }
    }

    /// Returns the length of the tail in bytes.
    pub(crate) fn n_kept(&self) -> usize {
        self.tail.len()
    }

    /// Calls `work` with the texts of the next block.
    pub(crate) fn with_texts<T>(
        &mut self,
        documents: &Documents,
        work: impl FnOnce(&Texts<'_>) -> Result<T>,
    ) -> Result<T> {
        let n = documents.len() + documents.text.len() / PART_BYTES + 2;
        let mut texts = Texts { texts: Vec::with_reserved(n, BLOCK)?, is_end: Vec::with_reserved(n, BLOCK)? };
        let mut rest =
            documents.iter().map(|text| (text, End::Document)).chain([(documents.open_text(), End::Open)]);
        let mut first = std::mem::take(&mut self.tail);
        let mut tail = "";
        if !first.is_empty()
            && let Some((text, end)) = rest.next()
        {
            // Join only the beginning of a long text with the tail, so that the rest is not copied.
            let head = match self.safe_cuts.last_cut_before(text, JOIN_BYTES) {
                Some(cut) if text.len() > 2 * JOIN_BYTES && cut.at >= self.safe_cuts.longest_special() => {
                    cut.at
                }
                _ => text.len(),
            };
            let (head, more) = text.split_at(head);
            try_push_str(&mut first, head, BLOCK)?;
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
            try_push_str(&mut self.tail, tail, BLOCK)?;
        }
        Ok(done)
    }

    /// Returns the last cut of a text that continues in the next block; `None` if it has no cut or no scan is due yet.
    fn last_cut(&mut self, text: &str) -> Result<Option<Cut>> {
        if let Some(cut) = self.safe_cuts.last_cut_before(text, text.len()) {
            self.scan_from = 0;
            return Ok(Some(cut));
        }
        if text.is_empty() || text.len() < self.scan_from || !self.safe_cuts.keeps_place() {
            return Ok(None);
        }
        let cut = self.safe_cuts.last_by_scanning(text)?;
        let n_kept = text.len() - cut.map_or(0, |cut| cut.at);
        self.scan_from = 2 * n_kept;
        Ok(cut)
    }

    /// Adds a text in parts; returns the tail if the text continues in the next block.
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
            && let Some(cut) = self.safe_cuts.last_cut_before(text, PART_BYTES)
        {
            let (part, rest) = text.split_at(cut.at);
            texts.push(part, false)?;
            self.n_cuts += 1;
            text = rest;
        }
        texts.push(text, end == End::Document)?;
        Ok(tail)
    }
}

impl<'a> Texts<'a> {
    fn push(&mut self, text: &'a str, is_end: bool) -> Result<()> {
        self.texts.try_push(text, BLOCK)?;
        self.is_end.try_push(is_end, BLOCK)
    }
}
