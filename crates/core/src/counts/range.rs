//! One range of a source, counted.
//!
//! Enters: the offsets between which a worker counts. Leaves: counts in its tally, and how far the chain
//! of boundaries got. Cost: linear; memory is one block, unless a pretoken is longer.
//!
//! What this rests on, all of it promised by [`crate::pretokens::Pretokenizer::is_memoryless`]:
//! 1. Scanning may start afresh at any boundary. The boundaries after one are a function of the text
//!    after it: a chain.
//! 2. Text appended to a document changes at most its last two pretokens: "'r" and "e", or "\n " and "\n".
//!    So in a window that the source goes on after, all ends but the last two are settled.
//!
//! A range is scanned from its begin, as if that were a boundary. A pretoken is counted if it ends at or
//! before the range's end; the chain stops at the first that does not, and `seams` deals with it. A
//! pattern that is not memoryless is only ever given whole documents.

use super::local_counts::LocalCounts;
use super::shared_table::SharedTable;
use super::{CorpusSpecials, CountOptions};
use crate::corpus::utf8_reader::{Utf8Reader, Window};
use crate::error::Result;
use crate::monitor::OnProgress;
use crate::special::SpecialTokens;

/// How many pretokens at the end of a text that goes on may still change.
pub(super) const N_UNSETTLED: usize = 2;

/// The sizes that work is cut in, all but the last at least 1. They show in the time taken, never in the
/// result; tests make them tiny.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Bytes between nominal cuts.
    pub range_bytes: u64,
    /// Bytes of a window.
    pub block_bytes: usize,
    /// Bytes read beyond a range so that the pretokens at its end are settled.
    pub beyond_bytes: usize,
}

impl Default for Plan {
    fn default() -> Self {
        Plan { range_bytes: 2 << 20, block_bytes: 128 << 10, beyond_bytes: 4 << 10 }
    }
}

/// What a range held, but for its pretokens.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub(super) n_bytes: u64,
    pub(super) n_documents: u64,
    pub(super) n_special_literals: u64,
}

/// Counts ranges of one source.
pub(super) struct RangeCounter<'s> {
    pub(super) options: &'s CountOptions,
    pub(super) plan: &'s Plan,
    pub(super) table: &'s SharedTable,
    pub(super) local: &'s mut LocalCounts,
    /// Where the pretokenizer puts ends.
    pub(super) ends: &'s mut Vec<usize>,
    /// Called often, with the bytes that were finished since; an error stops the scan.
    pub(super) on_progress: OnProgress<'s>,
    pub(super) totals: &'s mut Totals,
}

impl RangeCounter<'_> {
    /// Counts from `begin` to `end`, which are cuts, or the source's begin and end (`u64::MAX` where that
    /// is unknown). Returns the boundary at which the chain stopped: `end`, or less where a pretoken
    /// spans that.
    pub(super) fn count(&mut self, reader: &mut Utf8Reader<'_>, begin: u64, end: u64) -> Result<u64> {
        // At least a character more, so that one that a window's end cuts is not of this range.
        let beyond = (self.plan.beyond_bytes + self.options.specials.longest() + 3) as u64;
        let reach = end.saturating_add(beyond);
        let block = if reader.is_text() { usize::MAX } else { self.plan.block_bytes };
        let mut n_bytes = block;
        let mut at = begin;
        let mut searched = begin;
        let mut is_first = true;
        loop {
            let left = usize::try_from(reach - at).unwrap_or(usize::MAX);
            // A quarter of a block more is better than a window of a quarter of a block.
            let is_last = left <= n_bytes.saturating_add(n_bytes / 4);
            let window = reader.window(at, if is_last { left } else { n_bytes })?;
            if let Some(offset) = window.invalid
                && offset < end
            {
                return Err(reader.invalid_utf8(offset));
            }
            let limit = window.index_of(end);
            if self.options.corpus_specials == CorpusSpecials::Text {
                // Counted where it begins, once: a window that was too small is asked for again.
                let begins = is_first && begin == 0 && !window.text.is_empty();
                self.totals.n_documents += u64::from(begins);
                is_first &= window.text.is_empty();
                searched = self.count_literals(&window, searched, limit);
            }
            let settled = window.offset_of(self.count_window(&window, limit)?);
            if !window.more || settled == end || is_last || window.invalid.is_some() {
                let finished = if end == u64::MAX { settled } else { end };
                self.advance(finished - at)?;
                return Ok(settled);
            }
            self.advance(settled - at)?;
            n_bytes = if settled == at { n_bytes.saturating_mul(2) } else { block };
            at = settled;
        }
    }

    /// Notes that `n_bytes` more are counted.
    fn advance(&mut self, n_bytes: u64) -> Result<()> {
        self.totals.n_bytes += n_bytes;
        (self.on_progress)(usize::try_from(n_bytes).unwrap_or(usize::MAX))
    }

    /// Counts the literals that start in the window, before `limit` and not before `searched`, an offset.
    /// Returns the offset to search from in the next window.
    fn count_literals(&mut self, window: &Window<'_>, searched: u64, limit: usize) -> u64 {
        let past = visible(window, &self.options.specials).min(limit);
        let mut from = window.index_of(searched);
        if from == usize::MAX {
            return searched;
        }
        while from < past
            && let Some(found) = self.options.specials.find(window.text.as_bytes(), from)
            && found.start < past
        {
            self.totals.n_special_literals += 1;
            from = found.end;
        }
        window.offset_of(from.max(past))
    }

    /// Counts the settled pretokens of a window that begins at a boundary and end at `limit` or before;
    /// returns where the last of them ends.
    fn count_window(&mut self, window: &Window<'_>, limit: usize) -> Result<usize> {
        let mut from = 0;
        while from < limit {
            let part = DocumentPart::find(window, self.options, from);
            let settled = from + self.count_part(window, from, &part, limit)?;
            if settled < part.end || part.more || part.end > limit {
                return Ok(settled);
            }
            if self.options.corpus_specials == CorpusSpecials::Split {
                self.totals.n_documents += u64::from(part.end > from);
                self.totals.n_special_literals += u64::from(part.next > part.end);
            }
            if part.next == part.end {
                break;
            }
            from = part.next;
        }
        Ok(from)
    }

    /// Counts the settled pretokens of one stretch that end at `limit` or before; returns how many bytes
    /// they cover.
    fn count_part(
        &mut self,
        window: &Window<'_>,
        begin: usize,
        part: &DocumentPart,
        limit: usize,
    ) -> Result<usize> {
        let document = &window.text[begin..part.end];
        if part.more && !self.options.pretokenizer.is_memoryless() {
            return Ok(0);
        }
        let readable = &window.readable[begin..];
        let limit = limit - begin;
        let mut unsettled = Unsettled::default();
        let (mut counted, mut from) = (0, 0);
        while from < document.len() {
            (self.on_progress)(0)?;
            self.options.pretokenizer.fill(document, from, self.ends)?;
            from = *self.ends.last().unwrap_or(&document.len());
            if part.more {
                unsettled.exchange(self.ends);
            }
            let n_within = match self.ends.last() {
                Some(&last) if last > limit => self.ends.partition_point(|&end| end <= limit),
                _ => self.ends.len(),
            };
            self.local.add_pretokens(self.table, readable, counted, &self.ends[..n_within])?;
            counted = self.ends[..n_within].last().copied().unwrap_or(counted);
            if n_within < self.ends.len() {
                break;
            }
        }
        Ok(counted)
    }
}

/// What lies between literals in a window: a document, or the part of one that can be seen.
pub(super) struct DocumentPart {
    /// Where it ends.
    pub(super) end: usize,
    /// Where the next one begins: past the literal that ends this one, if one does.
    pub(super) next: usize,
    /// Whether the document goes on after the window.
    pub(super) more: bool,
}

impl DocumentPart {
    /// The stretch that begins at `from`.
    pub(super) fn find(window: &Window<'_>, options: &CountOptions, from: usize) -> DocumentPart {
        let visible = visible(window, &options.specials);
        if options.corpus_specials == CorpusSpecials::Split
            && let Some(found) = options.specials.find(window.text.as_bytes(), from)
            && found.start < visible
        {
            return DocumentPart { end: found.start, next: found.end, more: false };
        }
        // A literal may start before what is visible ends, and end after that.
        let end = visible.max(from);
        DocumentPart { end, next: end, more: window.more }
    }
}

/// Up to where a literal that starts in the window is seen whole.
fn visible(window: &Window<'_>, specials: &SpecialTokens) -> usize {
    let n_bytes = window.text.len();
    if !window.more {
        return n_bytes;
    }
    window.text.floor_char_boundary(n_bytes.saturating_sub(specials.longest().saturating_sub(1)))
}

/// The last ends that were seen, which text that follows may still change.
#[derive(Default)]
pub(super) struct Unsettled {
    ends: [usize; N_UNSETTLED],
    n_ends: usize,
}

impl Unsettled {
    /// Puts what is held in front of `ends` and holds the last [`N_UNSETTLED`] instead.
    pub(super) fn exchange(&mut self, ends: &mut Vec<usize>) {
        ends.extend_from_slice(&self.ends[..self.n_ends]);
        ends.rotate_right(self.n_ends);
        self.n_ends = ends.len().min(N_UNSETTLED);
        let settled = ends.len() - self.n_ends;
        self.ends[..self.n_ends].copy_from_slice(&ends[settled..]);
        ends.truncate(settled);
    }
}
