//! Counts one part of a source.
//!
//! A part starts at the start of the source or at a safe cut ([`crate::pretokens::safe_cuts`]) and ends at a safe cut
//! or at the end of the source, so no pretoken crosses its ends. It is read in windows:
//!
//! ```text
//! at = start
//! while at < end:
//!     window = text from at on, about a block
//!     count the pretokens of the window that later text cannot change: all except the last two
//!     at = end of the last one counted
//! ```
//!
//! A pattern that is not memoryless needs each document in one window. Cost: linear; memory for a block, or for the
//! longest pretoken.

use super::local_counts::LocalCounts;
use super::shared_table::SharedTable;
use super::{CorpusSpecials, CountOptions};
use crate::corpus::utf8_reader::{Utf8Reader, Window};
use crate::error::Result;
use crate::monitor::OnProgress;
use crate::pretokens::safe_cuts::n_settled;

/// The sizes into which work is divided, at least 1. They change the time, never the result; tests make them tiny.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Bytes of a part.
    pub part_bytes: u64,
    /// Bytes of a window.
    pub block_bytes: usize,
}

impl Default for Plan {
    fn default() -> Self {
        Plan { part_bytes: 1 << 19, block_bytes: 128 << 10 }
    }
}

/// The totals of a part.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub(super) n_bytes: u64,
    pub(super) n_documents: u64,
    pub(super) n_special_literals: u64,
}

/// Counts one part of a source.
pub(super) struct PartCounter<'s> {
    pub(super) options: &'s CountOptions,
    pub(super) plan: &'s Plan,
    pub(super) table: &'s SharedTable,
    pub(super) local: &'s mut LocalCounts,
    /// A buffer for the ends of pretokens.
    pub(super) ends: &'s mut Vec<u32>,
    /// Called often, with the number of bytes counted since the last call; an error stops counting.
    pub(super) on_progress: OnProgress<'s>,
    pub(super) totals: &'s mut Totals,
}

impl PartCounter<'_> {
    /// Counts from `start` to `end`. Both are safe cuts or ends of the source; `end` is `u64::MAX` if the size is
    /// unknown.
    pub(super) fn count(&mut self, reader: &mut Utf8Reader<'_>, start: u64, end: u64) -> Result<()> {
        let block = match self.plan.block_bytes {
            _ if reader.is_text() => usize::MAX,
            n_bytes if self.options.pretokenizer.is_memoryless() => n_bytes,
            n_bytes => n_bytes.max(2 * self.plan.part_bytes as usize),
        };
        let mut n_bytes = block;
        // Literals are counted up to `searched`, which may be after `at`: a literal may end in a pretoken that is not
        // settled.
        let (mut at, mut searched, mut is_first) = (start, start, start == 0);
        loop {
            let left = usize::try_from(end - at).unwrap_or(usize::MAX);
            // A last window that is up to a quarter larger avoids a small one after it.
            let is_last = left <= n_bytes.saturating_add(n_bytes / 4);
            let window = reader.window(at, if is_last { left } else { n_bytes })?;
            if let Some(offset) = window.invalid {
                return Err(reader.invalid_utf8(offset));
            }
            // `end` is a safe cut or the end of the source, where all pretokens are settled.
            let is_open = window.more && window.offset_of(window.text.len()) < end;
            let visible = self.visible(&window, is_open);
            if self.options.corpus_specials == CorpusSpecials::Text {
                // The source is one document.
                if is_first && !window.text.is_empty() {
                    self.totals.n_documents += 1;
                    is_first = false;
                }
                searched = self.count_literals(&window, searched, visible);
            }
            let settled = window.offset_of(self.count_window(&window, visible, is_open)?);
            self.totals.n_bytes += settled - at;
            (self.on_progress)(usize::try_from(settled - at).unwrap_or(usize::MAX))?;
            if !is_open {
                return Ok(());
            }
            n_bytes = if settled == at { n_bytes.saturating_mul(2) } else { block };
            at = settled;
        }
    }

    /// The index before which each literal that starts in the window is complete.
    fn visible(&self, window: &Window<'_>, is_open: bool) -> usize {
        let n_hidden = if is_open { self.options.specials.longest().saturating_sub(1) } else { 0 };
        window.text.floor_char_boundary(window.text.len().saturating_sub(n_hidden))
    }

    /// Counts the literals that start between `searched`, an offset in the source, and `visible`, an index in the
    /// window. Returns the offset from which to search in the next window.
    fn count_literals(&mut self, window: &Window<'_>, searched: u64, visible: usize) -> u64 {
        let mut from = window.index_of(searched);
        if from == usize::MAX {
            return searched;
        }
        while from < visible
            && let Some(found) = self.options.specials.find(window.text.as_bytes(), from)
            && found.start < visible
        {
            self.totals.n_special_literals += 1;
            from = found.end;
        }
        window.offset_of(from.max(visible))
    }

    /// Counts the settled pretokens of a window; returns the end of the last one.
    fn count_window(&mut self, window: &Window<'_>, visible: usize, is_open: bool) -> Result<usize> {
        let text = window.text;
        let mut from = 0;
        if self.options.corpus_specials == CorpusSpecials::Split {
            while let Some(found) = self.options.specials.find(text.as_bytes(), from)
                && found.start < visible
            {
                self.count_document(window, from, found.start, false)?;
                self.totals.n_documents += u64::from(found.start > from);
                self.totals.n_special_literals += 1;
                from = found.end;
            }
            // A document that continues after the part is counted with the part where it ends.
            self.totals.n_documents += u64::from(!window.more && from < text.len());
        }
        self.count_document(window, from, visible.max(from), is_open)
    }

    /// Counts the settled pretokens of the document in `start..end` of a window, or of a part of it; returns the end of
    /// the last one. `is_open`: the document continues.
    fn count_document(
        &mut self,
        window: &Window<'_>,
        start: usize,
        end: usize,
        is_open: bool,
    ) -> Result<usize> {
        let document = &window.text[start..end];
        if is_open && !self.options.pretokenizer.is_memoryless() {
            return Ok(start);
        }
        let mut counted = 0;
        while counted < document.len() {
            (self.on_progress)(0)?;
            let end = self.options.pretokenizer.fill(document, counted, self.ends)?;
            if is_open {
                self.ends.truncate(n_settled(self.ends.len(), end == document.len()));
            }
            self.local.add_pretokens(self.table, &document.as_bytes()[counted..], self.ends)?;
            counted += self.ends.last().map_or(0, |&distance| distance as usize);
            if end == document.len() {
                break;
            }
        }
        Ok(start + counted)
    }
}
