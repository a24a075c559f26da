//! Plain text to documents: a whole file is one, or a separator stands between them.
//!
//! Enters: the bytes of one file as they are read, cut anywhere. Leaves: [`Documents`]. The separator is
//! removed; a document without text (a separator at the end, or two in a row) is none. Nothing else is
//! changed: a byte order mark and carriage returns stay.

use memchr::memmem::Finder;

use super::buffers::BufferPool;
use super::documents::{BLOCK, Documents, RecordErrors};
use super::utf8_reader::{HINT_BYTES, likely_cause};
use crate::error::{Error, Result};
use crate::memory::TryReserve;

/// How many bytes a character has after its first, at most.
const MOST_CONTINUED: usize = 3;

/// Reads the documents of one file of plain text.
pub struct PlainText {
    name: String,
    /// Boxed: a `Finder` is aligned to 32 bytes, and Python aligns the objects that hold a reader to 16.
    separator: Option<Box<Finder<'static>>>,
    record_errors: RecordErrors,
    /// Bytes that may begin a character or a separator that is not whole yet.
    held: Vec<u8>,
    /// The offset in the file of the first byte held, or of the next one.
    offset: u64,
    begin: Vec<u8>,
    has_text: bool,
    buffers: BufferPool<String>,
    /// What was read of a block before an error in it.
    salvaged: Documents,
}

impl PlainText {
    /// A reader of the file that messages call `name`; without a separator the file is one document.
    pub fn new(name: String, separator: Option<&str>, record_errors: RecordErrors) -> Result<Self> {
        if separator == Some("") {
            return Err(Error::Invalid("the separator is empty; give it at least one character".into()));
        }
        Ok(PlainText {
            name,
            separator: separator.map(|separator| Box::new(Finder::new(separator.as_bytes()).into_owned())),
            record_errors,
            held: Vec::new(),
            offset: 0,
            begin: Vec::new(),
            has_text: false,
            buffers: BufferPool::default(),
            salvaged: Documents::default(),
        })
    }

    /// Takes the next bytes of the file.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Documents> {
        if self.begin.len() < HINT_BYTES {
            self.begin.extend(bytes.iter().take(HINT_BYTES - self.begin.len()));
        }
        self.read(bytes, false)
    }

    /// The rest, once the file is at its end.
    pub fn finish(&mut self) -> Result<Documents> {
        let mut documents = self.read(b"", true)?;
        self.end(&mut documents)?;
        Ok(documents)
    }

    fn read(&mut self, block: &[u8], is_last: bool) -> Result<Documents> {
        let n_bytes = self.held.len() + block.len();
        let text = self.buffers.take(n_bytes).map_err(Error::out_of_memory(BLOCK))?;
        let mut documents = Documents { text, ends: Vec::new() };
        match self.read_into(&mut documents, block, is_last) {
            Ok(()) => Ok(documents),
            Err(error) => {
                self.salvaged = documents;
                Err(error)
            }
        }
    }

    fn read_into(&mut self, documents: &mut Documents, block: &[u8], is_last: bool) -> Result<()> {
        let mut joined = std::mem::take(&mut self.held);
        let mut bytes = block;
        if self.is_character(&joined) && bytes.len() > MOST_CONTINUED {
            // Only the character is put together, and not the whole block.
            let n_more = bytes.iter().take(MOST_CONTINUED).take_while(|&&byte| byte & 0xc0 == 0x80).count();
            joined.extend_from_slice(&bytes[..n_more]);
            self.append(documents, &joined, 0, true)?;
            self.offset += joined.len() as u64;
            bytes = &bytes[n_more..];
        } else if !joined.is_empty() {
            joined.try_extend(bytes, BLOCK)?;
            bytes = &joined;
        }
        let mut start = 0;
        let mut n_held = 0;
        if let Some(separator) = self.separator.take() {
            for found in separator.find_iter(bytes) {
                self.append(documents, &bytes[start..found], start, true)?;
                self.end(documents)?;
                start = found + separator.needle().len();
            }
            if !is_last {
                n_held = n_begun(&bytes[start..], separator.needle());
            }
            self.separator = Some(separator);
        }
        let n_used = start + self.append(documents, &bytes[start..bytes.len() - n_held], start, is_last)?;
        self.held.try_reserve(bytes.len() - n_used).map_err(Error::out_of_memory(BLOCK))?;
        self.held.extend_from_slice(&bytes[n_used..]);
        self.offset += n_used as u64;
        Ok(())
    }

    /// What was read of a block before an error in it: documents, and the beginning of the one with the error.
    pub fn salvage(&mut self) -> Documents {
        std::mem::take(&mut self.salvaged)
    }

    /// Whether what is held is the begin of a character and not that of a separator.
    fn is_character(&self, held: &[u8]) -> bool {
        let separator = self.separator.as_ref().and_then(|separator| separator.needle().first());
        held.len() <= MOST_CONTINUED
            && held.first().is_some_and(|first| *first >= 0xc0 && separator != Some(first))
    }

    /// Appends the text of `bytes`, all of it or (unless `is_whole`) what comes before a character that is cut
    /// off; says how many bytes that was. `at` is where in the block they stand.
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

    fn end(&mut self, documents: &mut Documents) -> Result<()> {
        if std::mem::take(&mut self.has_text) { documents.end() } else { Ok(()) }
    }
}

/// How many bytes at the end of `bytes` may begin a separator.
fn n_begun(bytes: &[u8], separator: &[u8]) -> usize {
    let most = bytes.len().min(separator.len() - 1);
    (1..=most).rev().find(|&n| separator.starts_with(&bytes[bytes.len() - n..])).unwrap_or(0)
}
