//! Encodes a whole file on all threads.
//!
//! The file is divided near multiples of [`PART_BYTES`], and into smaller parts at its end, at safe cuts
//! ([`crate::pretokens::safe_cuts`]). A cut depends only on the file and on the target offset, so the jobs on both
//! sides find the same one. Without a safe cut, the part before continues. Each part is one job ([`crate::parallel`]),
//! and the ids of the parts are joined in order. A small file is one part, and so is a file under a pattern that needs
//! backtracking, which allows no cuts. A part is read in blocks; each block is encoded up to its last safe cut.
//!
//! Cost: each byte is read, checked and encoded once. Memory: the ids, and a block of text for each thread.
//!
//! Tried: parts of 512 KiB or 1 MiB, and blocks of 64, 128 or 512 KiB: no difference beyond noise, or up to 8 % slower
//! on C.

use std::fs::File;
use std::path::Path;

use super::output::Ids;
use super::shared::EncoderData;
use super::worker::{DataPart, Worker};
use super::{Encoder, Specials, encode_jobs};
use crate::budget::Budget;
use crate::corpus::utf8_reader::{Source, Utf8Reader};
use crate::error::{Error, Result};
use crate::ids::Id;
use crate::memory::{ResultIds, TryReserve};
use crate::monitor::{Monitor, OnProgress};
use crate::parallel;
use crate::pretokens::Place;
use crate::pretokens::safe_cuts::{SafeCuts, part_at};

/// Bytes of a part of a file.
const PART_BYTES: u64 = 2 << 20;
/// Parts at the end of a file are smaller by this factor, so that no thread works on a large one while the others idle.
const SMALL_PART_DIVISOR: u64 = 8;
/// Bytes of a block: few enough to stay in the second-level cache until they are encoded.
const BLOCK_BYTES: usize = 1 << 18;

/// How a file is divided.
#[derive(Clone, Copy)]
pub(super) struct Division {
    /// Bytes of a part.
    pub(super) part_bytes: u64,
    /// Whether the pattern allows dividing a file at all.
    pub(super) can_cut: bool,
    /// Whether a part can be read in blocks.
    pub(super) has_blocks: bool,
}

/// The offsets where the parts of a file should start.
#[derive(Clone, Copy)]
struct Parts {
    /// Bytes of a large part, and of a small part at the end.
    n_bytes: [u64; 2],
    /// The number of large parts.
    n_large: u64,
    /// The number of all parts.
    n: u64,
}

impl Parts {
    /// Divides `n_bytes` for this many threads: when one of them takes the last large part, small ones are left for the
    /// others.
    fn divide(n_bytes: u64, part_bytes: u64, threads: u64) -> Self {
        let small_bytes = part_bytes.div_ceil(SMALL_PART_DIVISOR);
        // Starting a thread would take longer than the work it would do.
        if n_bytes < 2 * small_bytes {
            return Parts::whole();
        }
        let n_large = (n_bytes / part_bytes).saturating_sub(threads);
        let n_small = (n_bytes - n_large * part_bytes).div_ceil(small_bytes);
        Parts { n_bytes: [part_bytes, small_bytes], n_large, n: n_large + n_small }
    }

    /// Returns the whole file as one part.
    fn whole() -> Self {
        Parts { n_bytes: [0; 2], n_large: 0, n: 1 }
    }

    /// Returns the target start of part `number`, and the length of the part before it.
    fn start(&self, number: u64) -> (u64, u64) {
        let [large, small] = self.n_bytes;
        let n_large = number.min(self.n_large);
        (n_large * large + (number - n_large) * small, if number > self.n_large { small } else { large })
    }
}

impl Encoder {
    /// Returns the ids of a UTF-8 file. `threads` 0: one for each processor.
    pub fn encode_file<I: Id>(
        &self,
        path: &Path,
        specials: Specials,
        threads: usize,
        monitor: &dyn Monitor,
    ) -> Result<ResultIds<I>> {
        let (pretokenizer, has_rules) = (&self.shared.pretokenizer, self.shared.specials.has_rules());
        let can_cut = pretokenizer.has_cuts_within() && !has_rules;
        let has_blocks = pretokenizer.has_cuts() && !has_rules;
        let division = Division { part_bytes: PART_BYTES, can_cut, has_blocks };
        self.encode_parts(path, specials, threads, division, monitor)
    }

    /// Like [`encode_file`](Self::encode_file), with a given division.
    pub(super) fn encode_parts<I: Id>(
        &self,
        path: &Path,
        specials: Specials,
        threads: usize,
        Division { part_bytes, can_cut, has_blocks }: Division,
        monitor: &dyn Monitor,
    ) -> Result<ResultIds<I>> {
        self.check_width::<I>()?;
        let file = File::open(path).map_err(Error::io(path))?;
        let metadata = file.metadata().map_err(Error::io(path))?;
        // Pipes have no size, and files in /proc have size 0: they are read to their end as one part.
        let size = Some(metadata.len()).filter(|&n_bytes| metadata.is_file() && n_bytes > 0);
        let threads = parallel::thread_count(threads);
        let parts = match size {
            // Without blocks, even one thread divides the file: it holds a part in memory, not the whole.
            Some(n_bytes) if can_cut && (threads > 1 || !has_blocks) => {
                Parts::divide(n_bytes, part_bytes, threads as u64)
            }
            _ => Parts::whole(),
        };
        let n_parts = usize::try_from(parts.n).map_err(Error::out_of_memory("the parts of a file"))?;
        let budget = Budget::new(None);
        let source = Source::Open(path, &file, size);
        let cuts = self.safe_cuts(specials);
        let scan = FileScan { encoder: self, cuts, source, budget: &budget, parts, has_blocks, specials };
        // Hardly any text has more than one id for two bytes.
        let n_ids = size.map_or(0, |n_bytes| usize::try_from(n_bytes / 2).unwrap_or(0));
        let n_part_ids = usize::try_from(part_bytes / 3).unwrap_or(0);
        let job = |number: usize, ids: &mut Vec<I>, on_progress: OnProgress<'_>| {
            *ids =
                if n_parts == 1 { ResultIds::with_capacity(n_ids) } else { ResultIds::for_part(n_part_ids) };
            let done = self.with_worker(|worker| scan.encode_part(worker, number as u64, ids, on_progress));
            done.map_err(|error| error.in_data(|| path.display().to_string()))
        };
        let mut all = if n_parts > 1 { ResultIds::with_capacity(n_ids) } else { Vec::new() };
        let collect = |ids: &mut Vec<I>, _: OnProgress<'_>| {
            if n_parts == 1 {
                std::mem::swap(&mut all, ids);
                return Ok(());
            }
            all.try_extend(ids, "ids")?;
            ResultIds::keep_part(std::mem::take(ids));
            Ok(())
        };
        encode_jobs(n_parts, threads, size.unwrap_or(0), monitor, job, collect)?;
        Ok(all.into())
    }
}

/// What all jobs of a file share.
struct FileScan<'a> {
    encoder: &'a Encoder,
    cuts: SafeCuts,
    source: Source<'a>,
    budget: &'a Budget,
    parts: Parts,
    has_blocks: bool,
    specials: Specials,
}

impl FileScan<'_> {
    /// Encodes part `number` up to the next cut. If there is no cut where it should start, it is empty: the part before
    /// continues.
    fn encode_part<I: Id>(
        &self,
        worker: &mut Worker,
        number: u64,
        ids: &mut Vec<I>,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        let mut reader = Utf8Reader::open(self.source, self.budget, std::mem::take(&mut worker.file_bytes))?;
        let EncoderData { pretokenizer, specials, .. } = &self.encoder.shared;
        let cut = |number| {
            let (target, reach) = self.parts.start(number);
            reader.safe_cut(target, reach, pretokenizer, specials)
        };
        if let Some(part) = part_at(number, self.parts.n, cut)? {
            let block_bytes = if self.has_blocks { BLOCK_BYTES } else { 2 * PART_BYTES as usize };
            let start = part.start;
            reader.each_block(part, block_bytes, &self.cuts, |at, text, _| {
                let place = match at {
                    0 => Place::Start,
                    // No special token is at a cut.
                    _ if at == start => Place::Within,
                    _ => Place::AfterSpecial,
                };
                let part = DataPart { text, offset: at, place, specials: self.specials };
                worker.encode_data(&self.encoder.shared, part, &mut Ids(ids), on_progress)
            })?;
        }
        worker.file_bytes = reader.close();
        if worker.file_bytes.capacity() > 2 * BLOCK_BYTES {
            worker.file_bytes = Vec::new();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_less_than_two_small_parts_is_one() {
        for (n_bytes, n) in [(0, 1), (15, 1), (31, 1), (32, 2), (33, 3)] {
            assert_eq!(Parts::divide(n_bytes, 16 * SMALL_PART_DIVISOR, 2).n, n, "{n_bytes}");
        }
    }

    #[test]
    fn parts_of_a_file_are_small_at_its_end_and_leave_nothing_out() {
        for (n_bytes, part_bytes, threads) in [
            (1, 8, 2),
            (8, 8, 2),
            (17, 8, 2),
            (100, 8, 2),
            (101, 8, 7),
            (1000, 7, 3),
            (5, 1, 2),
            (1 << 40, 1 << 21, 16),
        ] {
            let parts = Parts::divide(n_bytes, part_bytes, threads);
            let small = part_bytes.div_ceil(SMALL_PART_DIVISOR);
            let (last, _) = parts.start(parts.n - 1);
            assert!(last < n_bytes && n_bytes <= last + small, "{n_bytes} of {part_bytes}");
            for number in 1..parts.n.min(10_000) {
                let ((before, _), (start, reach)) = (parts.start(number - 1), parts.start(number));
                assert_eq!(start - before, reach);
                // When only small parts are left, each thread can still be encoding a large one.
                let is_large = n_bytes - before >= (threads + 1) * part_bytes;
                assert_eq!(
                    reach,
                    if is_large { part_bytes } else { small },
                    "{n_bytes} of {part_bytes}: {number}"
                );
            }
        }
    }
}
