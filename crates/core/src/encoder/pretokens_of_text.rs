//! The input of the hot loop: pretokens of a text, and where documents end among them.

use std::ops::Range;

use super::cache::lookup::pretoken_range;
use crate::pretokens::key::PretokenKey;

/// Pretokens of a text: the first starts at `start`, and they end at `ends`, which ascend.
#[derive(Clone, Copy)]
pub(super) struct Pretokens<'a> {
    pub(super) text: &'a [u8],
    pub(super) start: usize,
    pub(super) ends: &'a [u32],
}

impl<'a> Pretokens<'a> {
    /// Creates pretokens of `text`, the first at byte 0. UTF-8 never has the byte 0xff, which pads keys.
    pub(super) fn from_text(text: &'a str, ends: &'a [u32]) -> Self {
        Pretokens { text: text.as_bytes(), start: 0, ends }
    }

    /// Creates pretokens of arbitrary bytes.
    ///
    /// # Safety
    /// No pretoken ends in 0xff ([`PretokenKey::can_end_in`]).
    pub(super) unsafe fn from_bytes(text: &'a [u8], start: usize, ends: &'a [u32]) -> Self {
        debug_assert!(ends.iter().all(|&end| end == 0 || PretokenKey::can_end_in(text[end as usize - 1])));
        Pretokens { text, start, ends }
    }

    /// Returns pretoken `index`.
    pub(super) fn get(&self, index: usize) -> &'a [u8] {
        &self.text[pretoken_range(self.start, self.ends, index)]
    }

    /// Returns the total length in bytes of the pretokens in a range that is not empty.
    #[inline(always)]
    pub(super) fn n_bytes(&self, Range { start, end }: &Range<usize>) -> usize {
        let first = if *start == 0 { self.start } else { self.ends[start - 1] as usize };
        self.ends[end - 1] as usize - first
    }
}

/// Where documents end among the pretokens of a text, and how many ids were written up to each end.
pub(super) struct DocumentEnds<'a> {
    /// The number of pretokens up to the end of each unfinished document, ascending.
    pub(super) left: &'a [usize],
    /// The number of ids in the output at the end of each finished document. Has capacity for all documents.
    pub(super) n_ids: &'a mut Vec<usize>,
}

impl DocumentEnds<'_> {
    /// Returns the number of pretokens up to the end of the current document.
    #[inline(always)]
    pub(super) fn next(&self) -> usize {
        self.left.first().copied().unwrap_or(usize::MAX)
    }

    /// Records the ends of all documents within the first `n_pretokens`, which have become `n_ids` ids.
    #[inline(always)]
    pub(super) fn record_ends(&mut self, n_pretokens: usize, n_ids: usize) {
        while self.next() <= n_pretokens {
            self.left = &self.left[1..];
            self.n_ids.push(n_ids);
        }
    }
}
