//! Counts texts and files.

use std::collections::HashMap;
use std::path::PathBuf;

use super::{CorpusSpecials, CountOptions, InputErrors, PretokenCounts};
use crate::error::{Error, Result};
use crate::monitor::{Monitor, Stage};

/// Counts what it is given, batch after batch; [`Counter::finish`] freezes the result.
pub struct Counter {
    options: CountOptions,
    counts: HashMap<Vec<u8>, u64>,
    n_bytes: u64,
    n_documents: u64,
    n_special_literals: u64,
    reported: bool,
}

impl Counter {
    /// A counter that has counted nothing.
    pub fn new(options: CountOptions) -> Result<Self> {
        Ok(Counter {
            options,
            counts: HashMap::new(),
            n_bytes: 0,
            n_documents: 0,
            n_special_literals: 0,
            reported: false,
        })
    }

    /// Counts texts, each a document of its own.
    pub fn count_texts(&mut self, texts: &[&str], monitor: &dyn Monitor) -> Result<()> {
        if !self.reported {
            self.reported = true;
            monitor.report(Stage::Count, 0, self.options.total_hint.unwrap_or(0))?;
        }
        for text in texts {
            self.count_text(text)?;
            self.n_bytes += text.len() as u64;
        }
        let total = self.options.total_hint.unwrap_or(0).max(self.n_bytes);
        monitor.report(Stage::Count, self.n_bytes, total)
    }

    /// Counts files of UTF-8, each a document of its own.
    pub fn count_files(&mut self, paths: &[PathBuf], monitor: &dyn Monitor) -> Result<()> {
        let mut total = self.n_bytes;
        for path in paths {
            total += std::fs::metadata(path).map_err(Error::io(path))?.len();
        }
        self.reported = true;
        monitor.report(Stage::Count, self.n_bytes, total)?;
        for path in paths {
            let bytes = std::fs::read(path).map_err(Error::io(path))?;
            match std::str::from_utf8(&bytes) {
                Ok(text) => self.count_text(text)?,
                Err(_) if self.options.input_errors == InputErrors::Replace => {
                    self.count_text(&String::from_utf8_lossy(&bytes))?;
                }
                Err(error) => {
                    let offset = error.valid_up_to() as u64;
                    return Err(Error::InvalidUtf8 { path: Some(path.clone()), offset, hint: "" });
                }
            }
            self.n_bytes += bytes.len() as u64;
            monitor.report(Stage::Count, self.n_bytes, total.max(self.n_bytes))?;
        }
        Ok(())
    }

    /// The counts of all that was given.
    pub fn finish(self) -> Result<PretokenCounts> {
        let mut frozen = PretokenCounts::default();
        for (pretoken, count) in &self.counts {
            frozen.push(pretoken, *count)?;
        }
        frozen.set_totals(self.n_bytes, self.n_documents, self.n_special_literals);
        Ok(frozen)
    }

    fn count_text(&mut self, text: &str) -> Result<()> {
        let mut from = 0;
        let mut search = 0;
        while let Some(found) = self.options.specials.find(text.as_bytes(), search) {
            self.n_special_literals += 1;
            search = found.end;
            if self.options.corpus_specials == CorpusSpecials::Split {
                self.count_document(&text[from..found.start])?;
                from = found.end;
            }
        }
        self.count_document(&text[from..])
    }

    fn count_document(&mut self, document: &str) -> Result<()> {
        self.n_documents += u64::from(!document.is_empty());
        let mut ends = Vec::new();
        let mut start = 0;
        while start < document.len() {
            self.options.pretokenizer.fill(document, start, &mut ends)?;
            for &end in &ends {
                *self.counts.entry(document.as_bytes()[start..end].to_vec()).or_default() += 1;
                start = end;
            }
        }
        Ok(())
    }
}
