//! Stretches of a corpus as valid text, wherever they are asked for.
//!
//! Enters: a text or a file, an offset and a size. Leaves: a [`Window`], the valid text that begins at
//! that offset. Cost: a file is read once, in blocks that stay in the second-level cache, and checked
//! there; what two windows share is kept, not read again. Peak memory is one block, unless a single
//! pretoken is longer. A mapped file would be read by page faults, would count as resident, and would
//! end the process when another one truncates it.
//!
//! Offsets are those of the raw bytes, whatever a malformed part was replaced by.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::pretokens::safe_cuts::{REACH_BYTES, last_safe_cut};
use crate::special::SpecialTokens;

/// What happens to bytes of a file that are not UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputErrors {
    /// An error that names file, offset and likely cause.
    Strict,
    /// U+FFFD for each maximal malformed part.
    Replace,
}

/// Where bytes come from.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    /// A text in memory.
    Text(&'a str),
    /// A file, its size where it has one: a pipe, or a file that says it is empty, is read to its end.
    File(&'a Path, Option<u64>),
    /// The same, already open: a pipe can be opened only once.
    Open(&'a Path, &'a File, Option<u64>),
}

impl<'a> Source<'a> {
    /// How many bytes there are, if that is known.
    pub(crate) fn n_bytes(&self) -> Option<u64> {
        match self {
            Source::Text(text) => Some(text.len() as u64),
            Source::File(_, n_bytes) | Source::Open(_, _, n_bytes) => *n_bytes,
        }
    }

    /// The file's path.
    fn path(&self) -> Option<&'a Path> {
        match self {
            Source::Text(_) => None,
            Source::File(path, _) | Source::Open(path, ..) => Some(path),
        }
    }
}

/// An open file, the reader's own or the caller's.
enum OpenFile<'a> {
    Own(File),
    Borrowed(&'a File),
}

impl OpenFile<'_> {
    fn get(&self) -> &File {
        match self {
            OpenFile::Own(file) => file,
            OpenFile::Borrowed(file) => file,
        }
    }
}

/// Valid text that begins at the offset that was asked for.
#[derive(Clone, Copy)]
pub(crate) struct Window<'r> {
    /// The text.
    pub(crate) text: &'r str,
    /// Whether the source goes on after the text.
    pub(crate) more: bool,
    /// Where the source is not UTF-8, if that is what ended the text.
    pub(crate) invalid: Option<u64>,
    at: u64,
    replaced: &'r [Replaced],
}

/// Where a malformed part and what replaced it end, in bytes from the window's begin.
#[derive(Clone, Copy)]
struct Replaced {
    raw_end: usize,
    text_end: usize,
}

impl Window<'_> {
    /// The offset in the source of byte `index` of the text.
    pub(crate) fn offset_of(&self, index: usize) -> u64 {
        let before = self.replaced.partition_point(|replaced| replaced.text_end <= index);
        let (raw, text) = match before.checked_sub(1) {
            Some(last) => (self.replaced[last].raw_end, self.replaced[last].text_end),
            None => (0, 0),
        };
        self.at + (raw + (index - text)) as u64
    }

    /// The index in the text of the character at `offset` of the source; `usize::MAX` where that is past
    /// the text.
    pub(crate) fn index_of(&self, offset: u64) -> usize {
        let raw = usize::try_from(offset.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let before = self.replaced.partition_point(|replaced| replaced.raw_end <= raw);
        let index = match before.checked_sub(1) {
            Some(last) => self.replaced[last].text_end.saturating_add(raw - self.replaced[last].raw_end),
            None => raw,
        };
        if index > self.text.len() { usize::MAX } else { index }
    }
}

/// Reads windows of one source.
pub(crate) struct Utf8Reader<'a> {
    source: Source<'a>,
    file: Option<OpenFile<'a>>,
    input_errors: InputErrors,
    /// Whether the caller can choose [`InputErrors::Replace`], for the remedy in an error.
    can_replace: bool,
    budget: &'a Budget,
    buffers: Buffers,
    /// The offset of the first byte in `buffers.raw`, and how many bytes are there.
    at: u64,
    n_raw: usize,
    /// Whether the source ends with the last byte in `buffers.raw`.
    ended: bool,
}

/// The memory of a reader, to be used again for the next source.
#[derive(Default)]
pub(crate) struct Buffers {
    /// Bytes as read.
    raw: Vec<u8>,
    /// Text in which malformed parts are replaced, with zeros after it; in use only where there are any.
    decoded: Vec<u8>,
    replaced: Vec<Replaced>,
}

/// How far before the wished offset a cut is looked for at first.
const FIRST_REACH_BYTES: usize = 1 << 8;

const BLOCK: &str = "a block of a file";

impl<'a> Utf8Reader<'a> {
    /// Opens `source`.
    pub(crate) fn open(
        source: Source<'a>,
        input_errors: InputErrors,
        budget: &'a Budget,
        buffers: Buffers,
    ) -> Result<Self> {
        let file = match source {
            Source::Text(_) => None,
            Source::File(path, _) => Some(OpenFile::Own(File::open(path).map_err(Error::io(path))?)),
            Source::Open(_, file, _) => Some(OpenFile::Borrowed(file)),
        };
        let can_replace = !matches!(source, Source::Open(..));
        Ok(Utf8Reader {
            source,
            file,
            input_errors,
            can_replace,
            budget,
            buffers,
            at: 0,
            n_raw: 0,
            ended: false,
        })
    }

    /// Whether windows are slices of a text in memory, and so cost nothing, whatever their size.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.source, Source::Text(_))
    }

    /// The error for malformed bytes at `offset`.
    pub(crate) fn invalid_utf8(&mut self, offset: u64) -> Error {
        let path = self.source.path().map(Path::to_owned);
        // The begin tells what the file is, where it can be read again.
        if path.is_some() && self.source.n_bytes().is_some() && self.read(0, HINT_BYTES).is_err() {
            self.n_raw = 0;
        }
        let begin = if self.at == 0 { &self.buffers.raw[..self.n_raw.min(HINT_BYTES)] } else { &[] };
        Error::InvalidUtf8 { path, offset, hint: likely_cause(begin, self.can_replace) }
    }

    /// Ends the reader and hands its memory on.
    pub(crate) fn close(self) -> Buffers {
        self.buffers
    }

    /// The raw bytes from `at` on: `n_bytes`, or what there is.
    pub(crate) fn bytes(&mut self, at: u64, n_bytes: usize) -> Result<&[u8]> {
        if let Source::Text(text) = self.source {
            let start = usize::try_from(at).unwrap_or(usize::MAX).min(text.len());
            return Ok(&text.as_bytes()[start..start.saturating_add(n_bytes).min(text.len())]);
        }
        self.read(at, n_bytes)?;
        Ok(&self.buffers.raw[..self.n_raw.min(n_bytes)])
    }

    /// The last safe cut ([`crate::pretokens::safe_cuts`]) at most `reach` bytes before `wished`, or at it.
    pub(crate) fn safe_cut(
        &mut self,
        wished: u64,
        reach: u64,
        specials: &SpecialTokens,
    ) -> Result<Option<u64>> {
        let longest = specials.longest();
        // Nearly always there is a cut nearby.
        for reach in [FIRST_REACH_BYTES, REACH_BYTES].map(|most| reach.min(most as u64).min(wished)) {
            // One character more, and as many bytes as a special token may have, on both sides.
            let begin = wished - (reach + longest as u64 + 4).min(wished);
            let index = (wished - begin) as usize;
            let bytes = self.bytes(begin, index + longest + 4)?;
            let first = (index + 1).saturating_sub(reach as usize).max(1);
            if let Some(at) = last_safe_cut(bytes, first..(index + 1).min(bytes.len()), specials) {
                return Ok(Some(begin + at as u64));
            }
        }
        Ok(None)
    }

    /// The text from `at`, a character's first byte, on: about `n_bytes`, or what there is.
    pub(crate) fn window(&mut self, at: u64, n_bytes: usize) -> Result<Window<'_>> {
        if let Source::Text(text) = self.source {
            let start = usize::try_from(at).unwrap_or(usize::MAX).min(text.len());
            let end = text.floor_char_boundary(start.saturating_add(n_bytes));
            let more = end < text.len();
            return Ok(Window { text: &text[start..end], more, invalid: None, at, replaced: &[] });
        }
        self.read(at, n_bytes)?;
        let n_raw = self.n_raw.min(n_bytes);
        let ended = self.ended && n_raw == self.n_raw;
        // A character that the window's end cuts is left to the next window.
        let n_whole = if ended { n_raw } else { n_raw - n_unfinished(&self.buffers.raw[..n_raw]) };
        let mut n_valid = n_whole;
        if simdutf8::basic::from_utf8(&self.buffers.raw[..n_whole]).is_err() {
            if self.input_errors == InputErrors::Replace {
                let n_text = self.replace(n_whole)?;
                let Buffers { decoded, replaced, .. } = &self.buffers;
                // SAFETY: `replace` wrote that many bytes, all of them out of valid strings.
                let text = unsafe { std::str::from_utf8_unchecked(&decoded[..n_text]) };
                return Ok(Window { text, more: !ended, invalid: None, at, replaced });
            }
            if let Err(error) = std::str::from_utf8(&self.buffers.raw[..n_whole]) {
                n_valid = error.valid_up_to();
            }
        }
        // SAFETY: one of the two checks above found that many bytes to be valid.
        let text = unsafe { std::str::from_utf8_unchecked(&self.buffers.raw[..n_valid]) };
        let invalid = (n_valid < n_whole).then_some(at + n_valid as u64);
        Ok(Window { text, more: !ended || invalid.is_some(), invalid, at, replaced: &[] })
    }

    /// Decodes the first `n_raw` raw bytes with U+FFFD for each maximal malformed part; returns how many
    /// bytes of text that gave.
    fn replace(&mut self, n_raw: usize) -> Result<usize> {
        const WHAT: &str = "a block of replaced text";
        let Buffers { raw, decoded, replaced } = &mut self.buffers;
        let chunks = || raw[..n_raw].utf8_chunks();
        let n_replaced = chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
        decoded.clear();
        replaced.clear();
        let n_bytes = n_raw + 3 * n_replaced;
        grow(decoded, n_bytes, self.budget, WHAT)?;
        grow(replaced, n_replaced, self.budget, WHAT)?;
        let mut raw_end = 0;
        for chunk in chunks() {
            decoded.extend_from_slice(chunk.valid().as_bytes());
            raw_end += chunk.valid().len();
            if !chunk.invalid().is_empty() {
                decoded.extend_from_slice(char::REPLACEMENT_CHARACTER.to_string().as_bytes());
                raw_end += chunk.invalid().len();
                replaced.push(Replaced { raw_end, text_end: decoded.len() });
            }
        }
        let n_text = decoded.len();
        Ok(n_text)
    }

    /// Makes the buffer hold the `n_bytes` raw bytes from `at` on, or what there is.
    fn read(&mut self, at: u64, n_bytes: usize) -> Result<()> {
        let (Some(path), Some(file)) = (self.source.path(), &self.file) else { return Ok(()) };
        let (size, mut file) = (self.source.n_bytes(), file.get());
        let held = self.at..=self.at + self.n_raw as u64;
        if held.contains(&at) {
            let n_before = (at - self.at) as usize;
            self.buffers.raw.copy_within(n_before..self.n_raw, 0);
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
        let raw = &mut self.buffers.raw;
        if raw.len() < wanted {
            let n_zeros = wanted - raw.len();
            grow(raw, n_zeros, self.budget, BLOCK)?;
            raw.resize(raw.len() + n_zeros, 0);
        }
        while self.n_raw < wanted && !self.ended {
            let place = &mut raw[self.n_raw..wanted];
            let read = match size {
                Some(_) => read_at(file, place, at + self.n_raw as u64),
                None => file.read(place),
            };
            match read {
                Ok(0) if size.is_some() => {
                    let message = "the file became shorter while it was read; leave it alone and start again";
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
fn read_at(file: &File, place: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, place, at)
}

#[cfg(windows)]
fn read_at(file: &File, place: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, place, at)
}

/// Makes room for `n_more` members, on the books of `budget`.
fn grow<T>(buffer: &mut Vec<T>, n_more: usize, budget: &Budget, what: &'static str) -> Result<()> {
    if buffer.capacity() - buffer.len() >= n_more {
        return Ok(());
    }
    let before = buffer.capacity();
    let wanted = buffer.len().saturating_add(n_more);
    budget.take(wanted.saturating_mul(size_of::<T>()), what)?;
    buffer.try_reserve_exact(n_more).map_err(Error::out_of_memory(what))?;
    budget.give(before * size_of::<T>());
    Ok(())
}

/// How many bytes at the end begin a character that is cut off; 0 where the end is malformed otherwise.
fn n_unfinished(bytes: &[u8]) -> usize {
    for n_back in 1..=bytes.len().min(3) {
        let byte = bytes[bytes.len() - n_back];
        let n_needed = match byte {
            0x80..=0xbf => continue,
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => return 0,
        };
        return if n_needed > n_back { n_back } else { 0 };
    }
    0
}

/// How many bytes of a file's begin [`likely_cause`] looks at.
pub(super) const HINT_BYTES: usize = 64;

/// What a file that begins like this and is not UTF-8 likely is, and the remedy; `can_replace` says whether the caller
/// has the option `input_errors`.
pub(super) fn likely_cause(begin: &[u8], can_replace: bool) -> &'static str {
    match begin {
        [0x1f, 0x8b, ..] => {
            "; the file looks compressed by gzip: decompress it, or give it the suffix .gz in a corpus"
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            "; the file looks compressed by zstd: decompress it, or give it the suffix .zst in a corpus"
        }
        [b'P', b'A', b'R', b'1', ..] => {
            "; the file looks like Parquet: read it as a corpus, with the suffix .parquet"
        }
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
