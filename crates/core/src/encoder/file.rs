//! A whole file to ids, on all threads, in any language.
//!
//! Enters: a path. Leaves: the ids of the file's text. A file is cut at equal
//! distances, wherever that is. A thread that starts at a cut may start inside a pretoken or a special token,
//! and its first ids may be wrong; but for a pattern that looks at nothing before a pretoken, two scans that
//! once agree on where a pretoken ends agree for ever after. So each piece is encoded past its end to where
//! a pretoken ends, each notes where its own first pretokens end, and where a piece before it stopped at one
//! of those, everything from there on is right and what is before it is dropped. Where the two never meet
//! the text between is encoded again, in one go, up to where they do. Nothing depends on where the cuts are.
//!
//! Special tokens change nothing about that: no recognised token reaches across a place where both scans
//! stand, and from there on both look for the leftmost.

use std::fs::File;
use std::path::Path;

use super::file_blocks::{Blocks, Source};
use super::output::Ids;
use super::worker::{Marks, Window};
use super::{Encoder, Specials};
use crate::error::{Error, Result};
use crate::ids::Id;
use crate::monitor::{Monitor, OnProgress};
use crate::pages;
use crate::parallel::ordered_jobs::OrderedJobs;

/// Bytes between two cuts.
const PIECE_BYTES: u64 = 4 << 20;
/// Bytes that a piece is encoded past its end, at most, in search of the end of a pretoken.
const OVERHANG_BYTES: u64 = 1 << 20;
/// Ends of pretokens that a piece notes: the cut is most often forgotten after two or three.
const N_MARKS: usize = 256;

/// How a file is cut into pieces.
#[derive(Clone, Copy)]
pub(super) struct Cutting {
    /// Bytes between two cuts.
    pub(super) piece_bytes: u64,
    /// Whether the pattern allows any cut.
    pub(super) in_windows: bool,
}

/// A piece of a file, encoded.
struct Piece<I> {
    ids: Vec<I>,
    marks: Marks,
    /// Where the last pretoken ends; the piece has it and all before it, from any of its marks on.
    end: u64,
    buffer: Vec<u8>,
}

impl<I> Default for Piece<I> {
    fn default() -> Self {
        Piece { ids: Vec::new(), marks: Marks::default(), end: 0, buffer: Vec::new() }
    }
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
        let how = Cutting { piece_bytes: PIECE_BYTES, in_windows: self.pretokenizer.is_memoryless() };
        self.encode_pieces(path, specials, threads, how, monitor)
    }

    /// The same, cut into pieces as `how` says.
    pub(super) fn encode_pieces<I: Id>(
        &self,
        path: &Path,
        specials: Specials,
        threads: usize,
        how: Cutting,
        monitor: &dyn Monitor,
    ) -> Result<Vec<I>> {
        self.check_width::<I>()?;
        let Cutting { piece_bytes, in_windows } = how;
        let file = File::open(path).map_err(Error::io(path))?;
        let metadata = file.metadata().map_err(Error::io(path))?;
        // What is no regular file, or says that it is empty (as in /proc), is read to its end.
        let size = Some(metadata.len()).filter(|&n_bytes| metadata.is_file() && n_bytes > 0);
        let n_pieces = match size {
            Some(n_bytes) if in_windows && threads != 1 => n_bytes.div_ceil(piece_bytes),
            _ => 1,
        };
        let source = Source { path, file: &file, n_bytes: size };
        let scan = FileScan { encoder: self, source, in_windows, specials };
        let n_pieces = usize::try_from(n_pieces).map_err(Error::out_of_memory("the pieces of a file"))?;
        // Hardly any text has more than an id for two bytes.
        let n_ids = size.map_or(0, |n_bytes| usize::try_from(n_bytes / 2).unwrap_or(0));
        let job = |number: usize, piece: &mut Piece<I>, on_progress: OnProgress<'_>| {
            if n_pieces == 1 {
                pages::reserve(&mut piece.ids, n_ids);
            }
            let is_last = number + 1 == n_pieces;
            let begin = number as u64 * piece_bytes;
            let until = if is_last { u64::MAX } else { begin + piece_bytes };
            scan.encode_piece(begin, until, piece, on_progress)
        };
        let (mut all, mut end) = (Vec::new(), None);
        if n_pieces > 1 {
            pages::reserve(&mut all, n_ids);
        }
        let mut bridge = Piece::default();
        let join = |piece: &mut Piece<I>, on_progress: OnProgress<'_>| {
            end = Some(match end {
                None if n_pieces == 1 => {
                    std::mem::swap(&mut all, &mut piece.ids);
                    piece.end
                }
                None => {
                    append(&mut all, &piece.ids)?;
                    piece.end
                }
                Some(at) => scan.join(&mut all, at, piece, &mut bridge, on_progress)?,
            });
            Ok(())
        };
        OrderedJobs { n_jobs: n_pieces, threads, monitor, n_bytes: size.unwrap_or(0) }.run(job, join)?;
        all.shrink_to_fit();
        Ok(all)
    }
}

/// What all threads need to know.
struct FileScan<'a> {
    encoder: &'a Encoder,
    source: Source<'a>,
    in_windows: bool,
    specials: Specials,
}

/// From where on a file is encoded and how far.
#[derive(Clone, Copy)]
struct Stretch {
    begin: u64,
    /// The first end of a pretoken that is not before this one ends the stretch.
    until: u64,
    /// Where nothing ends in this many bytes after that, the stretch ends before it.
    overhang: u64,
    /// Ends of pretokens to note; where there are any, `begin` is a cut.
    n_marks: usize,
}

impl FileScan<'_> {
    /// Encodes a piece between two cuts.
    fn encode_piece<I: Id>(
        &self,
        begin: u64,
        until: u64,
        piece: &mut Piece<I>,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        let n_marks = if begin > 0 { N_MARKS } else { 0 };
        match self.encode(Stretch { begin, until, overhang: OVERHANG_BYTES, n_marks }, piece, on_progress) {
            // What begins within a pretoken may meet what the whole text does not hold. It is left to the
            // bridge, which meets it if it is there.
            Err(Error::MissingByte { .. } | Error::Pattern { .. }) if begin > 0 => {
                piece.marks.marks.clear();
                piece.end = until;
                Ok(())
            }
            done => done.map_err(|error| error.in_data(|| self.source.path.display().to_string())),
        }
    }

    fn encode<I: Id>(&self, group: Stretch, piece: &mut Piece<I>, on_progress: OnProgress<'_>) -> Result<()> {
        let Stretch { begin, until, overhang, n_marks } = group;
        let Piece { ids, marks, end, buffer } = piece;
        let mut blocks = Blocks::new(self.source, begin, n_marks > 0, std::mem::take(buffer));
        blocks.advance(0)?;
        ids.clear();
        marks.begin(blocks.base(), n_marks)?;
        self.encoder.with_worker(|worker| {
            loop {
                let window = Window {
                    text: blocks.text(),
                    is_last: blocks.is_last(),
                    until: usize::try_from(until.saturating_sub(blocks.base())).unwrap_or(usize::MAX),
                    in_windows: self.in_windows,
                    specials: self.specials,
                };
                let n_used = worker.encode_window(self.encoder, window, marks, &mut Ids(ids), on_progress)?;
                on_progress(n_used)?;
                *end = blocks.base() + n_used as u64;
                let seen = blocks.base() + blocks.text().len() as u64;
                if blocks.is_last() || *end >= until || seen > until.saturating_add(overhang) {
                    return Ok(());
                }
                blocks.advance(n_used)?;
                marks.base = blocks.base();
            }
        })?;
        *buffer = blocks.into_buffer();
        Ok(())
    }

    /// Appends to `all`, the ids of the text up to `at`, those of `piece`; gives how far that goes.
    fn join<I: Id>(
        &self,
        all: &mut Vec<I>,
        mut at: u64,
        piece: &Piece<I>,
        bridge: &mut Piece<I>,
        on_progress: OnProgress<'_>,
    ) -> Result<u64> {
        let marks = &piece.marks.marks;
        while at < piece.end {
            let next = marks.get(marks.partition_point(|&(mark, _)| mark < at));
            if let Some(&(mark, n_ids)) = next
                && mark == at
            {
                append(all, &piece.ids[n_ids..])?;
                return Ok(piece.end);
            }
            let until = next.map_or(piece.end, |&(mark, _)| mark);
            let group = Stretch { begin: at, until, overhang: u64::MAX, n_marks: 0 };
            // These bytes were done once before.
            self.encode(group, bridge, &mut |_| on_progress(0))?;
            append(all, &bridge.ids)?;
            if bridge.end <= at {
                // Only in a file that was cut short meanwhile.
                return Ok(piece.end);
            }
            at = bridge.end;
        }
        Ok(at)
    }
}

fn append<I: Id>(all: &mut Vec<I>, ids: &[I]) -> Result<()> {
    all.try_reserve(ids.len()).map_err(Error::out_of_memory("ids"))?;
    all.extend_from_slice(ids);
    Ok(())
}
