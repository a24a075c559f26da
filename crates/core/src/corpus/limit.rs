//! Size limits for a corpus: bytes per document, and bytes of all documents together.

use super::documents::Documents;
use crate::error::Result;

/// Truncates each document to `doc_cap` bytes, and all of them together to `max_bytes`, at character boundaries.
#[derive(Clone, Debug)]
pub struct ByteLimit {
    doc_cap: usize,
    max_bytes: u64,
    /// Bytes kept so far.
    n_bytes: u64,
    /// Bytes of the open document so far; `doc_cap` once it was truncated.
    n_open: usize,
    /// Whether any text of the open document was kept.
    has_open_text: bool,
}

impl ByteLimit {
    /// Creates limits with nothing used yet; `None` means no limit.
    pub fn new(doc_cap: Option<usize>, max_bytes: Option<u64>) -> Self {
        ByteLimit {
            doc_cap: doc_cap.unwrap_or(usize::MAX),
            max_bytes: max_bytes.unwrap_or(u64::MAX),
            n_bytes: 0,
            n_open: 0,
            has_open_text: false,
        }
    }

    /// Counts `n_bytes` as used: the size of documents that are skipped because they were read earlier.
    pub fn use_up(&mut self, n_bytes: u64) {
        self.n_bytes = self.n_bytes.saturating_add(n_bytes);
    }

    /// Returns whether `max_bytes` is reached.
    pub fn is_full(&self) -> bool {
        self.n_bytes >= self.max_bytes
    }

    /// Returns the part of the documents within the limits; the document that reaches `max_bytes` ends there.
    pub fn apply(&mut self, documents: Documents) -> Result<Documents> {
        if self.doc_cap == usize::MAX
            && self.max_bytes.saturating_sub(self.n_bytes) > documents.text.len() as u64
        {
            self.n_bytes += documents.text.len() as u64;
            self.has_open_text =
                !documents.open_text().is_empty() || (self.has_open_text && documents.ends.is_empty());
            return Ok(documents);
        }
        let mut kept = Documents::default();
        for document in documents.iter() {
            if self.is_full() {
                return Ok(kept);
            }
            self.keep(document, &mut kept)?;
            if self.is_full() && kept.open_text().is_empty() && !self.has_open_text {
                // Not even its first character fits, so the document is not in the corpus.
                return Ok(kept);
            }
            kept.end()?;
            self.n_open = 0;
            self.has_open_text = false;
        }
        let open = documents.open_text();
        if !self.is_full() && !open.is_empty() {
            self.keep(open, &mut kept)?;
            self.has_open_text |= !kept.open_text().is_empty();
            if self.is_full() && self.has_open_text {
                kept.end()?;
            }
        }
        Ok(kept)
    }

    /// Appends as much of `text` to `kept` as the limits allow.
    fn keep(&mut self, text: &str, kept: &mut Documents) -> Result<()> {
        let left = usize::try_from(self.max_bytes - self.n_bytes).unwrap_or(usize::MAX);
        let open_left = self.doc_cap.saturating_sub(self.n_open);
        let capped = text.floor_char_boundary(open_left);
        let cut = text.floor_char_boundary(capped.min(left));
        kept.append(&text[..cut])?;
        self.n_bytes += cut as u64;
        if cut < capped {
            // A character did not fit. The corpus ends here: a later document must not fill the gap with a shorter
            // character.
            self.n_bytes = self.max_bytes;
        }
        self.n_open = if cut < text.len() { self.doc_cap } else { self.n_open + cut };
        Ok(())
    }
}
