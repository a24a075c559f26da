//! Encodes a whole file on all threads.
//!
//! The file is divided at equal distances, wherever those fall; each part is one job ([`crate::parallel`]). A job that
//! begins in the middle of a pretoken or of a special token may give wrong ids at first. It is repaired as follows:
//!
//! ```text
//! file      |......................|......................|
//! part 0    ^-------------------------->e                      encoded from 0 to the first boundary e past its end
//! part 1                           ^..b.b.b------------------->  notes its first boundaries b with the ids before each
//! joining   part 0's ids, then part 1's ids from the boundary b == e on
//! ```
//!
//! Why that is exact: for a pattern that looks at nothing before a pretoken
//! ([`Pretokenizer::is_memoryless`](crate::pretokens::Pretokenizer::is_memoryless)) the boundaries after a boundary are
//! a function of the text after it. So two scans that share one boundary share all later ones. Where part 0 ends at
//! none of part 1's boundaries, the text between is encoded again until the two meet. Special tokens change nothing:
//! none reaches across a boundary of both scans, and from there on both look for the leftmost one.
//!
//! Other patterns are encoded as one part. Cost: each byte is read, checked and encoded once, but for the overlap of two
//! parts. Memory: the ids, and a block of text for each thread.

use std::fs::File;
use std::path::Path;

use super::output::Ids;
use super::worker::{Boundaries, OpenText};
use super::{Encoder, Specials, encode_jobs};
use crate::budget::Budget;
use crate::corpus::InputErrors;
use crate::corpus::utf8_reader::{Buffers, Source, Utf8Reader};
use crate::error::{Error, Result};
use crate::ids::Id;
use crate::memory::TryReserve;
use crate::monitor::{Monitor, OnProgress};
use crate::pages;

/// Bytes of a part.
const PART_BYTES: u64 = 4 << 20;
/// Bytes that a part is encoded past its end, at most, in search of a boundary.
const MAX_OVERLAP_BYTES: u64 = 1 << 20;
/// Boundaries that a part notes. Two scans nearly always meet at the second or third.
const N_BOUNDARIES: usize = 256;
/// Bytes of the first block of a part: it may be all that is needed.
const FIRST_BLOCK_BYTES: usize = 1 << 14;
/// Bytes of later blocks: they stay in the second-level cache until they are encoded.
const BLOCK_BYTES: usize = 1 << 18;

/// How a file is divided.
#[derive(Clone, Copy)]
pub(super) struct Division {
    /// Bytes of a part.
    pub(super) part_bytes: u64,
    /// Whether the pattern allows parts at all.
    pub(super) is_memoryless: bool,
}

/// A part of a file, encoded.
#[derive(Default)]
struct FilePart<I> {
    ids: Vec<I>,
    boundaries: Boundaries,
    /// Where the last pretoken ends: the ids are those from any of the boundaries up to here.
    end: u64,
    buffers: Buffers,
}

impl Encoder {
    /// The ids of a file, which is UTF-8. `threads` of 0 are all there are.
    pub fn encode_file<I: Id>(
        &self,
        path: &Path,
        specials: Specials,
        threads: usize,
        monitor: &dyn Monitor,
    ) -> Result<Vec<I>> {
        let division = Division { part_bytes: PART_BYTES, is_memoryless: self.pretokenizer.is_memoryless() };
        self.encode_parts(path, specials, threads, division, monitor)
    }

    /// The same, divided as `division` says.
    pub(super) fn encode_parts<I: Id>(
        &self,
        path: &Path,
        specials: Specials,
        threads: usize,
        Division { part_bytes, is_memoryless }: Division,
        monitor: &dyn Monitor,
    ) -> Result<Vec<I>> {
        self.check_width::<I>()?;
        let file = File::open(path).map_err(Error::io(path))?;
        let metadata = file.metadata().map_err(Error::io(path))?;
        // A pipe, and a file that says it is empty (as in /proc), is read to its end.
        let size = Some(metadata.len()).filter(|&n_bytes| metadata.is_file() && n_bytes > 0);
        let n_parts = match size {
            Some(n_bytes) if is_memoryless && threads != 1 => n_bytes.div_ceil(part_bytes),
            _ => 1,
        };
        let n_parts = usize::try_from(n_parts).map_err(Error::out_of_memory("the parts of a file"))?;
        let budget = Budget::new(None);
        let source = Source::Open(path, &file, size);
        let scan = FileScan { encoder: self, path, source, budget: &budget, is_memoryless, specials };
        // Hardly any text has more than an id for two bytes.
        let n_ids = size.map_or(0, |n_bytes| usize::try_from(n_bytes / 2).unwrap_or(0));
        let job = |number: usize, part: &mut FilePart<I>, on_progress: OnProgress<'_>| {
            if n_parts == 1 {
                pages::reserve(&mut part.ids, n_ids);
            }
            let begin = number as u64 * part_bytes;
            let until = if number + 1 == n_parts { u64::MAX } else { begin + part_bytes };
            scan.encode_part(begin, until, part, on_progress)
        };
        let (mut all, mut end) = (Vec::new(), None);
        if n_parts > 1 {
            pages::reserve(&mut all, n_ids);
        }
        let mut between = FilePart::default();
        let collect = |part: &mut FilePart<I>, on_progress: OnProgress<'_>| {
            end = Some(match end {
                None if n_parts == 1 => {
                    std::mem::swap(&mut all, &mut part.ids);
                    part.end
                }
                None => {
                    all.try_extend(&part.ids, "ids")?;
                    part.end
                }
                Some(at) => scan.join(&mut all, at, part, &mut between, on_progress)?,
            });
            Ok(())
        };
        encode_jobs(n_parts, threads, size.unwrap_or(0), monitor, job, collect)?;
        all.shrink_to_fit();
        Ok(all)
    }
}

/// What all threads need to know.
struct FileScan<'a> {
    encoder: &'a Encoder,
    path: &'a Path,
    source: Source<'a>,
    budget: &'a Budget,
    is_memoryless: bool,
    specials: Specials,
}

/// From where a file is encoded and how far.
#[derive(Clone, Copy)]
struct PartRange {
    begin: u64,
    /// The part ends at the first boundary that is not before this offset.
    until: u64,
    /// If there is no boundary in this many bytes after `until`, the part ends before it.
    max_overlap: u64,
    /// Boundaries to note. If there are any, `begin` may be within a character.
    n_boundaries: usize,
}

impl FileScan<'_> {
    /// Encodes the part of a file from `begin` on.
    fn encode_part<I: Id>(
        &self,
        begin: u64,
        until: u64,
        part: &mut FilePart<I>,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        let n_boundaries = if begin > 0 { N_BOUNDARIES } else { 0 };
        let range = PartRange { begin, until, max_overlap: MAX_OVERLAP_BYTES, n_boundaries };
        match self.encode(range, part, on_progress) {
            // A scan that begins within a pretoken may meet an error that the whole text does not have. `join` encodes
            // this text again from a boundary, and meets the error if it is real.
            Err(Error::MissingByte { .. } | Error::Pattern { .. }) if begin > 0 => {
                part.boundaries.ends.clear();
                part.end = until;
                Ok(())
            }
            done => done.map_err(|error| error.in_data(|| self.path.display().to_string())),
        }
    }

    fn encode<I: Id>(
        &self,
        range: PartRange,
        part: &mut FilePart<I>,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        let PartRange { begin, until, max_overlap, n_boundaries } = range;
        let FilePart { ids, boundaries, end, buffers } = part;
        let mut reader =
            Utf8Reader::open(self.source, InputErrors::Strict, self.budget, std::mem::take(buffers))?;
        let mut at = begin;
        if n_boundaries > 0 {
            // The first character that begins here or after.
            let first = reader.bytes(begin, 3)?;
            at += first.iter().take_while(|&&byte| byte & 0xc0 == 0x80).count() as u64;
        }
        ids.clear();
        boundaries.begin(at, n_boundaries)?;
        self.encoder.with_worker(|worker| {
            let mut n_bytes = FIRST_BLOCK_BYTES;
            loop {
                let window = reader.window(at, n_bytes)?;
                if let Some(offset) = window.invalid {
                    return Err(reader.invalid_utf8(offset));
                }
                let is_last = !window.more;
                let text = OpenText {
                    text: window.text,
                    is_last,
                    until: usize::try_from(until.saturating_sub(at)).unwrap_or(usize::MAX),
                    is_memoryless: self.is_memoryless,
                    specials: self.specials,
                };
                let n_used =
                    worker.encode_open_text(self.encoder, text, boundaries, &mut Ids(ids), on_progress)?;
                on_progress(n_used)?;
                let seen = at + window.text.len() as u64;
                at += n_used as u64;
                *end = at;
                if is_last || at >= until || seen > until.saturating_add(max_overlap) {
                    return Ok(());
                }
                boundaries.base = at;
                // If nothing was certain, look at twice as much: a long pretoken is scanned a few times, not often.
                n_bytes = if n_used == 0 { n_bytes.saturating_mul(2) } else { BLOCK_BYTES.min(n_bytes * 4) };
            }
        })?;
        *buffers = reader.close();
        Ok(())
    }

    /// Appends the ids of `part` to `all`, the ids of the text up to `at`. Returns how far `all` goes then.
    fn join<I: Id>(
        &self,
        all: &mut Vec<I>,
        mut at: u64,
        part: &FilePart<I>,
        between: &mut FilePart<I>,
        on_progress: OnProgress<'_>,
    ) -> Result<u64> {
        let boundaries = &part.boundaries.ends;
        while at < part.end {
            let next = boundaries.get(boundaries.partition_point(|&(boundary, _)| boundary < at));
            if let Some(&(boundary, n_ids)) = next
                && boundary == at
            {
                all.try_extend(&part.ids[n_ids..], "ids")?;
                return Ok(part.end);
            }
            // The two scans have not met yet: go on from `at` to the next boundary of the part.
            let until = next.map_or(part.end, |&(boundary, _)| boundary);
            let range = PartRange { begin: at, until, max_overlap: u64::MAX, n_boundaries: 0 };
            // These bytes were reported before.
            self.encode(range, between, &mut |_| on_progress(0))?;
            all.try_extend(&between.ids, "ids")?;
            at = between.end;
        }
        Ok(at)
    }
}
