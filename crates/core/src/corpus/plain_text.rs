//! Reads plain text as documents: the whole file is one document, or a separator divides it.
//!
//! The caller pushes the file as it reads it, in blocks cut anywhere. The separator is removed, or kept at the end of
//! its document. Empty documents (a separator at the end of the file, or two removed ones in a row) are dropped.
//! Nothing else changes: a byte order mark and carriage returns stay.

use memchr::memmem::Finder;

use super::buffers::BufferPool;
use super::documents::{BLOCK, Documents, RecordErrors};
use super::utf8_reader::{HINT_BYTES, likely_cause};
use crate::error::{Error, Result};
use crate::memory::TryReserve;

/// Maximum number of continuation bytes of a character.
const MAX_CONTINUATION: usize = 3;

/// Reads the documents of one file of plain text.
pub struct PlainText {
    name: String,
    /// Boxed: a `Finder` is aligned to 32 bytes, but Python aligns the objects that hold a reader to 16.
    separator: Option<Box<Finder<'static>>>,
    keeps_separator: bool,
    record_errors: RecordErrors,
    /// The end of the last block, if it may be an incomplete character or separator.
    pending: Vec<u8>,
    /// The offset in the file of the first byte of `pending`, or of the next block.
    offset: u64,
    /// The first bytes of the file, for the hint in error messages.
    begin: Vec<u8>,
    /// Whether the open document has text.
    has_text: bool,
    buffers: BufferPool<String>,
}

impl PlainText {
    /// Creates a reader for a file that errors call `name`. Without a separator the whole file is one document.
    pub fn new(
        name: String,
        separator: Option<&str>,
        keeps_separator: bool,
        record_errors: RecordErrors,
    ) -> Result<Self> {
        if separator == Some("") {
            return Err(Error::Invalid("the separator is empty; give it at least one character".into()));
        }
        Ok(PlainText {
            name,
            separator: separator.map(|separator| Box::new(Finder::new(separator.as_bytes()).into_owned())),
            keeps_separator,
            record_errors,
            pending: Vec::new(),
            offset: 0,
            begin: Vec::new(),
            has_text: false,
            buffers: BufferPool::default(),
        })
    }

    /// Reads the next bytes of the file.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Documents> {
        if self.begin.len() < HINT_BYTES {
            self.begin.extend(bytes.iter().take(HINT_BYTES - self.begin.len()));
        }
        self.read(bytes, false)
    }

    /// Ends the file; returns the remaining documents.
    pub fn finish(&mut self) -> Result<Documents> {
        let mut documents = self.read(b"", true)?;
        self.end(&mut documents)?;
        Ok(documents)
    }

    fn read(&mut self, block: &[u8], is_last: bool) -> Result<Documents> {
        let n_bytes = self.pending.len() + block.len();
        let text = self.buffers.take(n_bytes).map_err(Error::out_of_memory(BLOCK))?;
        let mut documents = Documents { text, ends: Vec::new() };
        self.read_into(&mut documents, block, is_last)?;
        Ok(documents)
    }

    fn read_into(&mut self, documents: &mut Documents, block: &[u8], is_last: bool) -> Result<()> {
        let mut joined = std::mem::take(&mut self.pending);
        let mut bytes = block;
        if self.is_character(&joined) && bytes.len() > MAX_CONTINUATION {
            // Complete the pending character alone, so that the block need not be copied.
            let n_more = bytes.iter().take(MAX_CONTINUATION).take_while(|&&byte| byte & 0xc0 == 0x80).count();
            joined.extend_from_slice(&bytes[..n_more]);
            self.append(documents, &joined, 0, true)?;
            self.offset += joined.len() as u64;
            bytes = &bytes[n_more..];
        } else if !joined.is_empty() {
            joined.try_extend(bytes, BLOCK)?;
            bytes = &joined;
        }
        let mut start = 0;
        let mut n_pending = 0;
        if let Some(separator) = self.separator.take() {
            for found in separator.find_iter(bytes) {
                let after = found + separator.needle().len();
                let end = if self.keeps_separator { after } else { found };
                self.append(documents, &bytes[start..end], start, true)?;
                self.end(documents)?;
                start = after;
            }
            if !is_last {
                n_pending = partial_separator_len(&bytes[start..], separator.needle());
            }
            self.separator = Some(separator);
        }
        let n_used =
            start + self.append(documents, &bytes[start..bytes.len() - n_pending], start, is_last)?;
        self.pending.try_extend(&bytes[n_used..], BLOCK)?;
        self.offset += n_used as u64;
        Ok(())
    }

    /// Returns whether `pending` is the start of a character and cannot contain the start of a separator.
    fn is_character(&self, pending: &[u8]) -> bool {
        let separator = self.separator.as_ref().and_then(|separator| separator.needle().first());
        // After a malformed character, a separator can have started.
        pending.len() <= MAX_CONTINUATION
            && pending.iter().skip(1).all(|byte| byte & 0xc0 == 0x80)
            && pending.first().is_some_and(|first| *first >= 0xc0 && separator != Some(first))
    }

    /// Appends `bytes` as text and returns the number of bytes used. Leaves an incomplete character at the end unused,
    /// unless `is_whole`. `at` is the offset of `bytes` in the block.
    fn append(
        &mut self,
        documents: &mut Documents,
        bytes: &[u8],
        at: usize,
        is_whole: bool,
    ) -> Result<usize> {
        let mut start = 0;
        loop {
            let (n_valid, n_malformed) = match simdutf8::compat::from_utf8(&bytes[start..]) {
                Ok(text) => {
                    documents.append(text)?;
                    self.has_text |= !bytes.is_empty();
                    return Ok(bytes.len());
                }
                Err(error) => (error.valid_up_to(), error.error_len()),
            };
            let cut_off = n_malformed.is_none() && !is_whole;
            if !cut_off && !self.record_errors.replaces {
                let offset = self.offset + (at + start + n_valid) as u64;
                let path = Some(self.name.clone().into());
                return Err(Error::InvalidUtf8 { path, offset, hint: likely_cause(&self.begin, true) });
            }
            documents.append(std::str::from_utf8(&bytes[start..start + n_valid]).unwrap_or_default())?;
            self.has_text |= start + n_valid > 0;
            if cut_off {
                return Ok(start + n_valid);
            }
            documents.append("\u{fffd}")?;
            self.has_text = true;
            start += n_valid + n_malformed.unwrap_or(bytes.len() - start - n_valid);
        }
    }

    /// Ends the open document, unless it is empty.
    fn end(&mut self, documents: &mut Documents) -> Result<()> {
        if std::mem::take(&mut self.has_text) { documents.end() } else { Ok(()) }
    }
}

/// Returns the length of the longest suffix of `bytes` that may be the start of a separator.
fn partial_separator_len(bytes: &[u8], separator: &[u8]) -> usize {
    let longest = bytes.len().min(separator.len() - 1);
    (1..=longest).rev().find(|&n| separator.starts_with(&bytes[bytes.len() - n..])).unwrap_or(0)
}
