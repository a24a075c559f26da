//! A file as windows of valid text, read in blocks.
//!
//! Enters: a file and an offset. Leaves: text that begins where the caller's last one was used up. A file is
//! read, not mapped: pages of a mapping count as resident memory, and it ends the process when somebody else
//! truncates the file. Each byte is read once and checked once; memory is one block, unless nothing of a
//! block can be used up before more of it is there.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::error::{Error, Result};

/// Bytes that are read at a time: they stay in the second-level cache until they are encoded.
const BLOCK_BYTES: usize = 1 << 18;
/// Bytes of the first block, which may be all that is needed.
const FIRST_BYTES: usize = 1 << 14;

/// Where a file is read.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) path: &'a Path,
    pub(super) file: &'a File,
    /// Without a size (a pipe) the file can only be read from its begin to its end.
    pub(super) n_bytes: Option<u64>,
}

/// Text from some offset on.
pub(super) struct Blocks<'a> {
    source: Source<'a>,
    buffer: Vec<u8>,
    /// How much of `buffer` is valid text; after it come at most three bytes of a character cut off.
    n_valid: usize,
    /// The offset of the buffer's first byte.
    base: u64,
    is_last: bool,
    block_bytes: usize,
    /// Whether `base` may lie within a character that is not wanted.
    is_cut: bool,
}

impl<'a> Blocks<'a> {
    /// Text from `base` on; where that is a cut (`is_cut`), from the first character that begins after it.
    ///
    /// `buffer` is memory to use.
    pub(super) fn new(source: Source<'a>, base: u64, is_cut: bool, mut buffer: Vec<u8>) -> Self {
        buffer.clear();
        Blocks { source, buffer, n_valid: 0, base, is_last: false, block_bytes: FIRST_BYTES, is_cut }
    }

    /// The text that is there.
    pub(super) fn text(&self) -> &str {
        // SAFETY: `check` found the first n_valid bytes to be UTF-8.
        unsafe { std::str::from_utf8_unchecked(&self.buffer[..self.n_valid]) }
    }

    /// The offset of the text.
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// Whether the file ends where the text ends.
    pub(super) fn is_last(&self) -> bool {
        self.is_last
    }

    /// Gives up the memory.
    pub(super) fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }

    /// Drops the first `n_used` bytes of the text and reads on.
    ///
    /// If nothing was used up, at least as much again is read: what is long is not looked at often.
    pub(super) fn advance(&mut self, n_used: usize) -> Result<()> {
        let n_bytes = match n_used {
            0 => self.block_bytes.max(self.buffer.len()),
            _ => self.block_bytes,
        };
        self.block_bytes = (self.block_bytes * 4).min(BLOCK_BYTES).max(self.block_bytes);
        self.buffer.drain(..n_used);
        self.n_valid -= n_used;
        self.base += n_used as u64;
        self.read(n_bytes)?;
        if std::mem::take(&mut self.is_cut) {
            let n_cut_off = self.buffer.iter().take(3).take_while(|&&byte| byte & 0xc0 == 0x80).count();
            self.buffer.drain(..n_cut_off);
            self.base += n_cut_off as u64;
        }
        self.check()
    }

    /// Appends `n_bytes` of the file, or what there is.
    fn read(&mut self, n_bytes: usize) -> Result<()> {
        let Source { path, mut file, n_bytes: size } = self.source;
        let before = self.buffer.len();
        let at = self.base + before as u64;
        let wanted = match size {
            Some(size) => n_bytes.min(usize::try_from(size.saturating_sub(at)).unwrap_or(usize::MAX)),
            None => n_bytes,
        };
        self.buffer.try_reserve(wanted).map_err(Error::out_of_memory("a block of a file"))?;
        self.buffer.resize(before + wanted, 0);
        let mut n_read = 0;
        while n_read < wanted {
            let place = &mut self.buffer[before + n_read..];
            let read = match size {
                Some(_) => read_at(file, place, at + n_read as u64),
                None => file.read(place),
            };
            match read {
                Ok(0) if size.is_some() => {
                    let message =
                        "the file became shorter while it was read; leave it alone and encode it again";
                    let source = io::Error::new(io::ErrorKind::UnexpectedEof, message);
                    return Err(Error::Io { path: path.to_owned(), source });
                }
                Ok(0) => break,
                Ok(n) => n_read += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::Io { path: path.to_owned(), source: error }),
            }
        }
        self.buffer.truncate(before + n_read);
        self.is_last = match size {
            Some(size) => at + n_read as u64 >= size,
            None => n_read < wanted,
        };
        Ok(())
    }

    /// Finds how much of the buffer is valid text.
    fn check(&mut self) -> Result<()> {
        let n_more = match simdutf8::compat::from_utf8(&self.buffer[self.n_valid..]) {
            Ok(text) => text.len(),
            Err(error) if error.error_len().is_none() && !self.is_last => error.valid_up_to(),
            Err(error) => {
                let offset = self.base + (self.n_valid + error.valid_up_to()) as u64;
                return Err(self.invalid(offset));
            }
        };
        self.n_valid += n_more;
        Ok(())
    }

    fn invalid(&self, offset: u64) -> Error {
        let mut begin = [0; HINT_BYTES];
        let n = match self.source.n_bytes {
            Some(_) => read_at(self.source.file, &mut begin, 0).unwrap_or(0),
            None => 0,
        };
        let path = Some(self.source.path.to_owned());
        Error::InvalidUtf8 { path, offset, hint: hint(&begin[..n]) }
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

/// How many bytes of a file's begin are looked at.
const HINT_BYTES: usize = 64;

/// What a file that begins like this and is not UTF-8 likely is, and the remedy.
fn hint(begin: &[u8]) -> &'static str {
    match begin {
        [0x1f, 0x8b, ..] => "; the file looks compressed by gzip: decompress it first",
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "; the file looks like UTF-16: convert it to UTF-8 first",
        _ if begin.contains(&0) => "; the file looks like UTF-16 or binary data: convert it to UTF-8 first",
        _ => "; the file may be Latin-1 or Windows-1252: convert it to UTF-8 first",
    }
}
