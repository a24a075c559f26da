//! Joins the ranges of a source where a pretoken spans a cut.
//!
//! Enters: the ranges of a source, each counted from its begin as if that were a boundary, and where each
//! stopped. Leaves: counts as of one chain of boundaries from the source's begin. Cost: nothing for a cut
//! that is a boundary; else the text up to where two chains meet, once for each of them.
//!
//! Call what has been counted the counted chains: range j's leads from its begin to where it stopped, and
//! where that is range j + 1's begin, on into range j + 1's. The true chain is that of the source's begin.
//!
//! Where range i stopped short of its end, the true chain (by induction it is the true chain that stopped
//! there) goes on from that boundary, and the counted chain to its right starts at range i + 1's begin.
//! Chain both: the one that is behind takes a step. A step of the true chain counts a pretoken; a step of
//! the counted one takes a pretoken back, which is exact since that pretoken was counted. When a counted
//! chain ends in a range that itself stopped short, the next one starts at the next range's begin. When
//! both are at the same offset they are the same chain from there on, since a chain depends only on the
//! text after its begin; what was counted of it stays. They meet at the source's end at the latest.
//!
//! Each of the two walks only ever goes forward in the source, so even where chains never meet (digits in
//! threes, cut out of step) or a single pretoken spans all cuts, the cost is linear.

use super::CountOptions;
use super::local_counts::LocalCounts;
use super::range::{DocumentPart, Plan, Unsettled};
use super::shared_table::{SharedTable, append};
use crate::corpus::utf8_reader::Utf8Reader;
use crate::error::{Error, Result};

/// A range that was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CountedRange {
    /// Which source it is a range of.
    pub(super) source: usize,
    /// Its first byte's offset.
    pub(super) begin: u64,
    /// The offset past its last byte.
    pub(super) end: u64,
    /// The boundary at which its chain stopped.
    pub(super) stopped: u64,
}

/// What walking needs.
pub(super) struct Stitcher<'s> {
    pub(super) options: &'s CountOptions,
    pub(super) plan: &'s Plan,
    pub(super) table: &'s SharedTable,
    pub(super) local: &'s mut LocalCounts,
    /// Called often; an error stops the walk.
    pub(super) on_progress: &'s mut dyn FnMut() -> Result<()>,
}

impl Stitcher<'_> {
    /// Joins the ranges of one source, in order. `open` gives a reader of the source.
    pub(super) fn join<'r>(
        &mut self,
        ranges: &[CountedRange],
        mut open: impl FnMut() -> Result<Utf8Reader<'r>>,
    ) -> Result<()> {
        let mut index = 0;
        while let Some(range) = ranges.get(index) {
            let past = index + 1;
            if range.stopped == range.end || past == ranges.len() {
                index = past;
                continue;
            }
            let mut truth = Chain::from(range.stopped, open()?, self.plan);
            let mut counted = Chain::from(ranges[past].begin, open()?, self.plan);
            index = self.walk(ranges, past, &mut truth, &mut counted)?;
        }
        Ok(())
    }

    /// Walks both chains until they meet; returns the range in which they do.
    fn walk(
        &mut self,
        ranges: &[CountedRange],
        mut index: usize,
        truth: &mut Chain<'_>,
        counted: &mut Chain<'_>,
    ) -> Result<usize> {
        loop {
            while let Some(next) = ranges.get(index + 1)
                && counted.at == ranges[index].stopped
            {
                // Where the range did not stop short this is where the walk already is.
                counted.jump(next.begin);
                index += 1;
            }
            if truth.at == counted.at {
                return Ok(index);
            }
            (self.on_progress)()?;
            if truth.at < counted.at {
                let pretoken = truth.step(self.options, self.plan)?;
                self.local.add(self.table, pretoken, 1)?;
            } else {
                let pretoken = counted.step(self.options, self.plan)?;
                self.local.add(self.table, pretoken, 1u64.wrapping_neg())?;
            }
        }
    }
}

/// One chain of boundaries, walked a pretoken at a time.
struct Chain<'r> {
    reader: Utf8Reader<'r>,
    /// The boundary that was reached.
    at: u64,
    /// Settled pretokens from some boundary on: their bytes, and for each where it ends in `bytes` and in
    /// the source.
    bytes: Vec<u8>,
    ends: Vec<(usize, u64)>,
    /// How many of them are behind `at`.
    n_walked: usize,
    /// Size of the next window.
    n_bytes: usize,
}

/// Size of a walk's first window: most chains meet within a few pretokens.
const FIRST_WINDOW: usize = 1 << 10;

impl<'r> Chain<'r> {
    fn from(at: u64, reader: Utf8Reader<'r>, plan: &Plan) -> Self {
        let n_bytes = FIRST_WINDOW.min(plan.block_bytes);
        Chain { reader, at, bytes: Vec::new(), ends: Vec::new(), n_walked: 0, n_bytes }
    }

    /// Goes on from `at` instead.
    fn jump(&mut self, at: u64) {
        if self.at != at {
            self.at = at;
            self.n_walked = self.ends.len();
        }
    }

    /// Steps over a pretoken and returns it, or over a literal that ends a document and returns nothing.
    fn step(&mut self, options: &CountOptions, plan: &Plan) -> Result<&[u8]> {
        if self.n_walked == self.ends.len() && !self.load(options, plan)? {
            return Ok(&[]);
        }
        let start = match self.n_walked.checked_sub(1) {
            Some(last) => self.ends[last].0,
            None => 0,
        };
        let (end, at) = self.ends[self.n_walked];
        self.at = at;
        self.n_walked += 1;
        Ok(&self.bytes[start..end])
    }

    /// Loads settled pretokens from `at` on, at least one; or steps over a literal and returns false.
    fn load(&mut self, options: &CountOptions, plan: &Plan) -> Result<bool> {
        self.bytes.clear();
        self.ends.clear();
        self.n_walked = 0;
        let budget = self.reader.budget();
        let mut ends = Vec::new();
        loop {
            let window = self.reader.window(self.at, self.n_bytes)?;
            if let Some(offset) = window.invalid {
                return Err(self.reader.invalid_utf8(offset));
            }
            let part = DocumentPart::find(&window, options, 0);
            let document = &window.text[..part.end];
            let mut unsettled = Unsettled::default();
            let mut from = 0;
            while from < document.len() {
                options.pretokenizer.fill(document, from, &mut ends)?;
                from = ends.last().copied().unwrap_or(document.len());
                if part.more {
                    unsettled.exchange(&mut ends);
                }
                self.ends.try_reserve(ends.len()).map_err(Error::out_of_memory("the ends of a walk"))?;
                self.ends.extend(ends.iter().map(|&end| (end, window.offset_of(end))));
            }
            if let Some(&(end, _)) = self.ends.last() {
                append(&mut self.bytes, &document.as_bytes()[..end], budget)?;
                self.n_bytes = self.n_bytes.saturating_mul(2).min(plan.block_bytes);
                return Ok(true);
            }
            if part.next > part.end {
                self.at = window.offset_of(part.next);
                return Ok(false);
            }
            if !window.more {
                return Err(Error::Counts("a file changed while it was counted; count it again".into()));
            }
            self.n_bytes = self.n_bytes.saturating_mul(2);
        }
    }
}
