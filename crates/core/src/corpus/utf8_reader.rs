//! Reads a file or a text in windows of valid UTF-8, from any offset.
//!
//! A file is read once, in blocks that stay in the second-level cache while they are validated; bytes shared by two
//! windows are kept, not read again. Peak memory is one block, unless a single pretoken is longer. Files are not
//! memory-mapped: reads would become page faults, the mapping would count as resident memory, and SIGBUS would end the
//! process if another process truncated the file.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

use super::not_text::not_text;
use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::pretokens::Pretokenizer;
use crate::pretokens::safe_cuts::{REACH_BYTES, SafeCuts, last_safe_cut};
use crate::special::SpecialTokens;

/// Where bytes come from.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    /// A text in memory.
    Text(&'a str),
    /// A file and its size. Without a size (for a pipe, or a file that reports 0) it is read to its end.
    File(&'a Path, Option<u64>),
    /// A file that is already open: a pipe can be opened only once.
    Open(&'a Path, &'a File, Option<u64>),
}

impl<'a> Source<'a> {
    /// Returns the size in bytes, if known.
    pub(crate) fn n_bytes(&self) -> Option<u64> {
        match self {
            Source::Text(text) => Some(text.len() as u64),
            Source::File(_, n_bytes) | Source::Open(_, _, n_bytes) => *n_bytes,
        }
    }

    /// Returns the path of a file.
    fn path(&self) -> Option<&'a Path> {
        match self {
            Source::Text(_) => None,
            Source::File(path, _) | Source::Open(path, ..) => Some(path),
        }
    }
}

/// Valid text that starts at the requested offset.
#[derive(Clone, Copy)]
pub(crate) struct Window<'r> {
    /// The text.
    pub(crate) text: &'r str,
    /// Whether the source continues after the text.
    pub(crate) more: bool,
}

/// Reads windows of one source.
pub(crate) struct Utf8Reader<'a> {
    source: Source<'a>,
    file: Option<File>,
    /// Whether the caller can have malformed bytes replaced; selects the remedy in error messages.
    can_replace: bool,
    budget: &'a Budget,
    /// The buffer of raw bytes; the next reader reuses its memory.
    raw: Vec<u8>,
    /// The offset in the source of the first byte in `raw`, and the number of bytes held there.
    at: u64,
    n_raw: usize,
    /// Whether the source ends with the last byte in `raw`.
    ended: bool,
}

/// How far before the wanted offset the first search for a cut goes.
const FIRST_REACH_BYTES: usize = 1 << 8;

const BLOCK: &str = "a block of a file";

impl<'a> Utf8Reader<'a> {
    /// Opens `source`; `raw` is the memory of an earlier reader.
    pub(crate) fn open(source: Source<'a>, budget: &'a Budget, raw: Vec<u8>) -> Result<Self> {
        let file = match source {
            Source::Text(_) => None,
            Source::File(path, _) => Some(File::open(path).map_err(Error::io(path))?),
            // A second descriptor of the same open file: a pipe continues where it is.
            Source::Open(path, file, _) => Some(file.try_clone().map_err(Error::io(path))?),
        };
        let can_replace = !matches!(source, Source::Open(..));
        Ok(Utf8Reader { source, file, can_replace, budget, raw, at: 0, n_raw: 0, ended: false })
    }

    /// Returns whether the source is a text in memory, whose windows are slices and cost nothing.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.source, Source::Text(_))
    }

    /// Returns the error for invalid bytes at `offset`.
    pub(crate) fn invalid_utf8(&mut self, offset: u64) -> Error {
        let path = self.source.path().map(Path::to_owned);
        // Read the first bytes again, which tell the kind of file. A pipe cannot be read again.
        if path.is_some() && self.source.n_bytes().is_some() && self.read(0, HINT_BYTES).is_err() {
            self.n_raw = 0;
        }
        let begin = if self.at == 0 { &self.raw[..self.n_raw.min(HINT_BYTES)] } else { &[] };
        Error::InvalidUtf8 { path, offset, hint: likely_cause(begin, self.can_replace) }
    }

    /// Ends the reader and returns its memory.
    pub(crate) fn close(self) -> Vec<u8> {
        self.raw
    }

    /// Returns the raw bytes from `at` on: `n_bytes`, or fewer at the end of the source.
    pub(crate) fn bytes(&mut self, at: u64, n_bytes: usize) -> Result<&[u8]> {
        if let Source::Text(text) = self.source {
            let start = usize::try_from(at).unwrap_or(usize::MAX).min(text.len());
            return Ok(&text.as_bytes()[start..start.saturating_add(n_bytes).min(text.len())]);
        }
        self.read(at, n_bytes)?;
        Ok(&self.raw[..self.n_raw.min(n_bytes)])
    }

    /// Returns the last safe cut ([`crate::pretokens::safe_cuts`]) at `target` or at most `reach` bytes before it.
    pub(crate) fn safe_cut(
        &mut self,
        target: u64,
        reach: u64,
        pretokenizer: &Pretokenizer,
        specials: &SpecialTokens,
    ) -> Result<Option<u64>> {
        let longest = specials.longest();
        // The first, short search nearly always finds a cut.
        for reach in [FIRST_REACH_BYTES, REACH_BYTES].map(|most| reach.min(most as u64).min(target)) {
            // On both sides, also read one more character and the length of the longest special token: a cut depends on
            // them.
            let begin = target - (reach + longest as u64 + 4).min(target);
            let index = (target - begin) as usize;
            let bytes = self.bytes(begin, index + longest + 4)?;
            let first = (index + 1).saturating_sub(reach as usize).max(1);
            let range = first..(index + 1).min(bytes.len());
            if let Some(at) = last_safe_cut(pretokenizer, bytes, range, specials) {
                return Ok(Some(begin + at as u64));
            }
        }
        Ok(None)
    }

    /// Returns the text from `at`, which must be the start of a character: about `n_bytes`, or fewer at the end.
    pub(crate) fn window(&mut self, at: u64, n_bytes: usize) -> Result<Window<'_>> {
        if let Source::Text(text) = self.source {
            let start = usize::try_from(at).unwrap_or(usize::MAX).min(text.len());
            let end = text.floor_char_boundary(start.saturating_add(n_bytes));
            let more = end < text.len();
            return Ok(Window { text: &text[start..end], more });
        }
        self.read(at, n_bytes)?;
        let n_raw = self.n_raw.min(n_bytes);
        if at == 0
            && let Some(path) = self.source.path()
            && let Some(kind) = not_text(&self.raw[..self.n_raw])
        {
            return Err(Error::Record { location: path.display().to_string(), message: kind.into() });
        }
        let ended = self.ended && n_raw == self.n_raw;
        // An incomplete character at the end belongs to the next window.
        let n_whole = if ended { n_raw } else { n_raw - incomplete_len(&self.raw[..n_raw]) };
        if simdutf8::basic::from_utf8(&self.raw[..n_whole]).is_err() {
            let n_valid =
                std::str::from_utf8(&self.raw[..n_whole]).map_or_else(|error| error.valid_up_to(), str::len);
            return Err(self.invalid_utf8(at + n_valid as u64));
        }
        // SAFETY: these bytes were just checked to be UTF-8.
        let text = unsafe { std::str::from_utf8_unchecked(&self.raw[..n_whole]) };
        Ok(Window { text, more: !ended })
    }

    /// Calls `take` for the text from `start` to `end`, each a cut or an end of the source, in blocks of about
    /// `block_bytes` that end at a cut. Passes the offset, the text, and whether the source continues after it.
    pub(crate) fn each_block(
        &mut self,
        Range { start, end }: Range<u64>,
        block_bytes: usize,
        cuts: &SafeCuts,
        mut take: impl FnMut(u64, &str, bool) -> Result<()>,
    ) -> Result<()> {
        let end = end.min(self.source.n_bytes().unwrap_or(u64::MAX));
        let (mut at, mut n_bytes) = (start, block_bytes);
        loop {
            let left = usize::try_from(end - at).unwrap_or(usize::MAX);
            // Let the last block be up to a quarter larger, to avoid a tiny one after it.
            let is_last = left <= n_bytes.saturating_add(n_bytes / 4);
            let Window { text, more } = self.window(at, if is_last { left } else { n_bytes })?;
            let is_open = more && at + (text.len() as u64) < end;
            let n_final = if is_open { cuts.last(text)?.map_or(0, |cut| cut.at) } else { text.len() };
            take(at, &text[..n_final], more)?;
            if !is_open {
                return Ok(());
            }
            at += n_final as u64;
            // Nothing was final: read twice as much, so that a long pretoken is scanned in linear time overall.
            n_bytes = if n_final == 0 { n_bytes.saturating_mul(2) } else { block_bytes };
        }
    }

    /// Fills the buffer with `n_bytes` raw bytes from `at` on, or fewer at the end of the source.
    fn read(&mut self, at: u64, n_bytes: usize) -> Result<()> {
        let (Some(path), Some(file)) = (self.source.path(), &self.file) else { return Ok(()) };
        let (size, mut file) = (self.source.n_bytes(), file);
        let held = self.at..=self.at + self.n_raw as u64;
        if held.contains(&at) {
            let n_before = (at - self.at) as usize;
            self.raw.copy_within(n_before..self.n_raw, 0);
            self.n_raw -= n_before;
        } else {
            self.n_raw = 0;
            self.ended = false;
        }
        self.at = at;
        let wanted = match size {
            Some(size) => n_bytes.min(usize::try_from(size.saturating_sub(at)).unwrap_or(usize::MAX)),
            None => n_bytes,
        };
        let raw = &mut self.raw;
        if raw.len() < wanted {
            let n_zeros = wanted - raw.len();
            grow(raw, n_zeros, self.budget, BLOCK)?;
            raw.resize(raw.len() + n_zeros, 0);
        }
        while self.n_raw < wanted && !self.ended {
            let room = &mut raw[self.n_raw..wanted];
            let read = match size {
                Some(_) => read_at(file, room, at + self.n_raw as u64),
                None => file.read(room),
            };
            match read {
                Ok(0) if size.is_some() => {
                    let message = "the file was truncated while it was read; start again, and do not change it meanwhile";
                    let source = io::Error::new(io::ErrorKind::UnexpectedEof, message);
                    return Err(Error::Io { path: path.to_owned(), source });
                }
                Ok(0) => self.ended = true,
                Ok(n_read) => self.n_raw += n_read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::Io { path: path.to_owned(), source: error }),
            }
        }
        if let Some(size) = size {
            self.ended = at + self.n_raw as u64 >= size;
        }
        Ok(())
    }
}

#[cfg(unix)]
fn read_at(file: &File, room: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, room, at)
}

#[cfg(windows)]
fn read_at(file: &File, room: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, room, at)
}

#[cfg(not(any(unix, windows)))]
fn read_at(_: &File, _: &mut [u8], _: u64) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Reserves capacity for `n_more` items, charged to `budget`.
fn grow<T>(buffer: &mut Vec<T>, n_more: usize, budget: &Budget, what: &'static str) -> Result<()> {
    if buffer.capacity() - buffer.len() >= n_more {
        return Ok(());
    }
    let before = buffer.capacity();
    let wanted = buffer.len().saturating_add(n_more);
    budget.take(wanted.saturating_mul(size_of::<T>()), what)?;
    buffer.try_reserve_exact(n_more).map_err(Error::out_of_memory(what))?;
    budget.release(before * size_of::<T>());
    Ok(())
}

/// Returns the length of an incomplete character at the end; 0 if the last character is complete or invalid.
fn incomplete_len(bytes: &[u8]) -> usize {
    // An incomplete character has at most three bytes.
    let end = &bytes[bytes.len().saturating_sub(3)..];
    let start = end.iter().rposition(|byte| byte & 0xc0 != 0x80).unwrap_or(end.len());
    match std::str::from_utf8(&end[start..]) {
        Err(error) if error.error_len().is_none() => end.len() - start,
        _ => 0,
    }
}

/// The number of bytes at the start of a file that [`likely_cause`] needs.
pub(super) const HINT_BYTES: usize = 64;

/// Returns a hint for a file that is not UTF-8: its likely encoding, judged by its first bytes, and the remedy.
/// `can_replace` is whether the caller has the option `input_errors`.
pub(super) fn likely_cause(begin: &[u8], can_replace: bool) -> &'static str {
    match begin {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "; the file looks like UTF-16: convert it to UTF-8 first",
        _ if begin.contains(&0) => {
            "; the file looks like UTF-16 or binary data: convert it to UTF-8, or leave it out"
        }
        _ if can_replace => {
            "; the file may be Latin-1 or Windows-1252: convert it to UTF-8, or replace malformed bytes with \
             input_errors=\"replace\""
        }
        _ => "; the file may be Latin-1 or Windows-1252: convert it to UTF-8 first",
    }
}
