//! Encodes a whole file on all threads.
//!
//! The file is divided near multiples of [`PART_BYTES`], at safe cuts ([`crate::pretokens::safe_cuts`]): a cut is a
//! function of the file alone, so the jobs on both of its sides find the same one. Where there is none, the part before
//! it goes on. Each part is one job ([`crate::parallel`]); the ids of the parts are joined in order. Patterns that are
//! not memoryless allow no cuts: the file is one part.
//!
//! Cost: each byte is read, checked and encoded once. Memory: the ids, and a block of text for each thread.

use std::fs::File;
use std::path::Path;

use super::output::Ids;
use super::worker::OpenText;
use super::{Encoder, Specials, encode_jobs};
use crate::budget::Budget;
use crate::corpus::InputErrors;
use crate::corpus::utf8_reader::{Buffers, Source, Utf8Reader};
use crate::error::{Error, Result};
use crate::ids::Id;
use crate::memory::{ResultIds, TryReserve};
use crate::monitor::{Monitor, OnProgress};
use crate::pretokens::safe_cuts::part_at;

/// Bytes of a part of a file.
const PART_BYTES: u64 = 4 << 20;
/// Bytes of the first block of a part: the file may be small.
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

/// The ids of a part of a file, and memory to read it.
#[derive(Default)]
struct FilePart<I> {
    ids: Vec<I>,
    buffers: Buffers,
}

impl Encoder {
    /// The ids of a UTF-8 file. `threads` 0: one for each processor.
    pub fn encode_file<I: Id>(
        &self,
        path: &Path,
        specials: Specials,
        threads: usize,
        monitor: &dyn Monitor,
    ) -> Result<ResultIds<I>> {
        let is_memoryless = self.shared.pretokenizer.is_memoryless() && !self.shared.specials.has_rules();
        let division = Division { part_bytes: PART_BYTES, is_memoryless };
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
    ) -> Result<ResultIds<I>> {
        self.check_width::<I>()?;
        let file = File::open(path).map_err(Error::io(path))?;
        let metadata = file.metadata().map_err(Error::io(path))?;
        // Pipes have no size, and files in /proc have size 0: they are read to their end as one part.
        let size = Some(metadata.len()).filter(|&n_bytes| metadata.is_file() && n_bytes > 0);
        let n_parts = match size {
            Some(n_bytes) if is_memoryless && threads != 1 => n_bytes.div_ceil(part_bytes),
            _ => 1,
        };
        let n_parts = usize::try_from(n_parts).map_err(Error::out_of_memory("the parts of a file"))?;
        let budget = Budget::new(None);
        let source = Source::Open(path, &file, size);
        let scan = FileScan {
            encoder: self,
            source,
            budget: &budget,
            part_bytes,
            n_parts: n_parts as u64,
            is_memoryless,
            specials,
        };
        // Hardly any text has more than an id for two bytes.
        let n_ids = size.map_or(0, |n_bytes| usize::try_from(n_bytes / 2).unwrap_or(0));
        let job = |number: usize, part: &mut FilePart<I>, on_progress: OnProgress<'_>| {
            if n_parts == 1 {
                part.ids = ResultIds::room(n_ids);
            }
            let done = scan.encode_part(number as u64, part, on_progress);
            done.map_err(|error| error.in_data(|| path.display().to_string()))
        };
        let mut all = if n_parts > 1 { ResultIds::room(n_ids) } else { Vec::new() };
        let collect = |part: &mut FilePart<I>, _: OnProgress<'_>| {
            if n_parts == 1 {
                std::mem::swap(&mut all, &mut part.ids);
                return Ok(());
            }
            all.try_extend(&part.ids, "ids")
        };
        encode_jobs(n_parts, threads, size.unwrap_or(0), monitor, job, collect)?;
        Ok(all.into())
    }
}

/// What the jobs share.
struct FileScan<'a> {
    encoder: &'a Encoder,
    source: Source<'a>,
    budget: &'a Budget,
    part_bytes: u64,
    n_parts: u64,
    is_memoryless: bool,
    specials: Specials,
}

impl FileScan<'_> {
    /// Encodes part `number`, to the next cut. Empty if there is no cut where it begins: the part before it goes on.
    fn encode_part<I: Id>(
        &self,
        number: u64,
        part: &mut FilePart<I>,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        part.ids.clear();
        let buffers = std::mem::take(&mut part.buffers);
        let mut reader = Utf8Reader::open(self.source, InputErrors::Strict, self.budget, buffers)?;
        if let Some((begin, end)) = part_at(number, |number| self.cut(&mut reader, number))? {
            self.encode(&mut reader, begin, end, &mut part.ids, on_progress)?;
        }
        part.buffers = reader.close();
        Ok(())
    }

    /// Cut `number`: 0 is the start of the file, `n_parts` its end.
    fn cut(&self, reader: &mut Utf8Reader<'_>, number: u64) -> Result<Option<u64>> {
        match number {
            0 => Ok(Some(0)),
            _ if number == self.n_parts => Ok(Some(u64::MAX)),
            _ => reader.safe_cut(number * self.part_bytes, self.part_bytes, &self.encoder.shared.specials),
        }
    }

    /// Appends the ids of the text from `begin` to `end`.
    fn encode<I: Id>(
        &self,
        reader: &mut Utf8Reader<'_>,
        begin: u64,
        end: u64,
        ids: &mut Vec<I>,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        let (mut at, mut n_bytes) = (begin, FIRST_BLOCK_BYTES);
        self.encoder.with_worker(|worker| {
            loop {
                let left = usize::try_from(end - at).unwrap_or(usize::MAX);
                let window = reader.window(at, n_bytes.min(left))?;
                if let Some(offset) = window.invalid {
                    return Err(reader.invalid_utf8(offset));
                }
                let is_last = !window.more || at + window.text.len() as u64 >= end;
                let text = OpenText {
                    text: window.text,
                    offset: at,
                    is_last,
                    is_memoryless: self.is_memoryless,
                    specials: self.specials,
                };
                let n_used =
                    worker.encode_open_text(&self.encoder.shared, text, &mut Ids(ids), on_progress)?;
                on_progress(n_used)?;
                if is_last {
                    return Ok(());
                }
                at += n_used as u64;
                // Nothing was final: read twice as much, so that a long pretoken is scanned in linear time overall.
                n_bytes = if n_used == 0 { n_bytes.saturating_mul(2) } else { BLOCK_BYTES.min(n_bytes * 4) };
            }
        })
    }
}
