//! One thread's state while it encodes: the ends of pretokens ahead, its cache and buffers.

use super::sink::Sink;
use super::spans::Merger;
use super::{Encoder, EncoderOptions};
use crate::error::{Error, Result};
use crate::special::SpecialTokens;

/// Buffers that are reused from text to text.
pub(super) struct Worker {
    ends: Vec<usize>,
    ahead: Vec<usize>,
    merger: Merger,
}

impl Worker {
    pub(super) fn new(options: EncoderOptions) -> Result<Self> {
        Ok(Worker { ends: Vec::new(), ahead: Vec::new(), merger: Merger::new(options.cache_bytes)? })
    }

    /// Encodes a whole text, recognising `specials`.
    pub(super) fn encode<S: Sink>(
        &mut self,
        encoder: &Encoder,
        text: &str,
        specials: Option<&SpecialTokens>,
        sink: &mut S,
    ) -> Result<()> {
        let mut at = 0;
        if let Some(specials) = specials {
            while let Some(found) = specials.find(text.as_bytes(), at) {
                self.encode_document(encoder, &text[at..found.start], sink)?;
                if sink.is_full() {
                    return Ok(());
                }
                sink.put(specials.tokens()[found.index].1)?;
                at = found.end;
            }
        }
        self.encode_document(encoder, &text[at..], sink)
    }

    /// Encodes the beginning of a text as far as nothing that may follow can change it; gives its length.
    ///
    /// Held back are the last two pretokens, white space at the end, and what may begin a special token; with
    /// `in_windows` false, all that follows the last special token.
    pub(super) fn encode_certain<S: Sink>(
        &mut self,
        encoder: &Encoder,
        text: &str,
        in_windows: bool,
        sink: &mut S,
    ) -> Result<usize> {
        let specials = &encoder.specials;
        // A special token that starts before `open` is seen in full, whichever is the longest there.
        let open = match specials.longest() {
            0 => text.len(),
            longest => floor_char_boundary(text, (text.len() + 1).saturating_sub(longest)),
        };
        let mut done = 0;
        while let Some(found) = specials.find(text.as_bytes(), done).filter(|found| found.start < open) {
            self.encode_document(encoder, &text[done..found.start], sink)?;
            sink.put(specials.tokens()[found.index].1)?;
            done = found.end;
        }
        if !in_windows || done >= open {
            return Ok(done);
        }
        let document = &text[done..open];
        let unspaced = document.trim_end().len();
        let (mut encoded, mut scanned) = (0, 0);
        self.ahead.clear();
        while scanned < document.len() {
            encoder.pretokenizer.fill(document, scanned, &mut self.ends)?;
            scanned = self.ends.last().copied().unwrap_or(document.len());
            self.ahead.try_reserve(self.ends.len()).map_err(Error::out_of_memory("the ends of pretokens"))?;
            self.ahead.extend_from_slice(&self.ends);
            let before_spaces = self.ahead.partition_point(|&end| end <= unspaced);
            let n_certain = self.ahead.len().saturating_sub(2).min(before_spaces);
            let (certain, _) = self.ahead.split_at(n_certain);
            self.merger.encode(&encoder.vocabulary, document.as_bytes(), encoded, certain, sink)?;
            encoded = certain.last().copied().unwrap_or(encoded);
            self.ahead.drain(..n_certain);
        }
        Ok(done + encoded)
    }

    /// Encodes text without special tokens.
    fn encode_document<S: Sink>(&mut self, encoder: &Encoder, document: &str, sink: &mut S) -> Result<()> {
        let mut from = 0;
        while from < document.len() && !sink.is_full() {
            encoder.pretokenizer.fill(document, from, &mut self.ends)?;
            self.merger.encode(&encoder.vocabulary, document.as_bytes(), from, &self.ends, sink)?;
            from = self.ends.last().copied().unwrap_or(document.len());
        }
        Ok(())
    }
}

/// The last place at or before `at` where a character begins.
fn floor_char_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
