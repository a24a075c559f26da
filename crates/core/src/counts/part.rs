//! Counts one part of a source.
//!
//! A part starts at the start of the source or at a safe cut ([`crate::pretokens::safe_cuts`]) and ends at a safe cut
//! or at the end of the source, so no pretoken crosses its boundaries. It is read in blocks that also end at safe cuts.
//!
//! A pattern that needs backtracking needs each document in a single block. Cost: linear time, and memory for a block
//! or for the longest pretoken.

use std::ops::Range;

use super::local_counts::LocalCounts;
use super::shared_table::SharedTable;
use super::totals::Totals;
use super::{CorpusSpecials, CountOptions};
use crate::corpus::utf8_reader::Utf8Reader;
use crate::error::Result;
use crate::monitor::OnProgress;
use crate::pretokens::safe_cuts::SafeCuts;

/// The sizes into which work is divided, at least 1. They affect speed, never the result; tests make them tiny.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Bytes of a part.
    pub part_bytes: u64,
    /// Bytes of a block.
    pub block_bytes: usize,
}

impl Default for Plan {
    fn default() -> Self {
        Plan { part_bytes: 1 << 19, block_bytes: 128 << 10 }
    }
}

/// Counts one part of a source.
pub(super) struct PartCounter<'s> {
    pub(super) options: &'s CountOptions,
    pub(super) plan: &'s Plan,
    pub(super) cuts: &'s SafeCuts,
    pub(super) table: &'s SharedTable,
    pub(super) local: &'s mut LocalCounts,
    /// A buffer for the ends of pretokens.
    pub(super) ends: &'s mut Vec<u32>,
    /// Called often, with the number of bytes counted since the last call; an error stops counting.
    pub(super) on_progress: OnProgress<'s>,
    pub(super) totals: &'s mut Totals,
}

impl PartCounter<'_> {
    /// Counts a part; both its boundaries must be safe cuts or ends of the source.
    pub(super) fn count(&mut self, reader: &mut Utf8Reader<'_>, part: Range<u64>) -> Result<()> {
        let block = if reader.is_text() { usize::MAX } else { self.plan.block_bytes };
        // Whether the open document has any text so far.
        let mut has_text = false;
        reader.each_block(part, block, self.cuts, |_, text, more| {
            self.count_text(text, &mut has_text)?;
            self.totals.n_bytes += text.len() as u64;
            // A document that continues after the part is counted with the part where it ends.
            self.totals.n_documents += u64::from(has_text && !more);
            (self.on_progress)(text.len())
        })
    }

    /// Counts the pretokens and the literals of special tokens in text between safe cuts.
    fn count_text(&mut self, text: &str, has_text: &mut bool) -> Result<()> {
        let (mut from, mut searched) = (0, 0);
        while let Some(found) = self.options.specials.find(text.as_bytes(), searched) {
            searched = found.end;
            self.totals.n_special_literals += 1;
            if self.options.corpus_specials == CorpusSpecials::Split {
                self.count_document(&text[from..found.start])?;
                let has_more = found.start > from;
                self.totals.n_documents += u64::from(std::mem::take(has_text) || has_more);
                from = found.end;
            }
        }
        *has_text |= from < text.len();
        self.count_document(&text[from..])
    }

    /// Counts the pretokens of a document, or of a part of it.
    fn count_document(&mut self, document: &str) -> Result<()> {
        let mut from = 0;
        while from < document.len() {
            (self.on_progress)(0)?;
            let end = self.options.pretokenizer.fill(document, from, self.ends)?;
            self.local.add_pretokens(self.table, &document.as_bytes()[from..], self.ends)?;
            from = end;
        }
        Ok(())
    }
}
