//! One thread's way from text to pretokens: special tokens, documents, and what is certain so far.

use super::cache::Cache;
use super::encode_loop::{PretokenEncoder, Pretokens};
use super::output::Output;
use super::shared::Shared;
use super::special_literals::Specials;
use crate::error::{Error, Result};
use crate::monitor::OnProgress;
use crate::pretokens::safe_cuts::N_UNSETTLED;
use crate::special::SpecialTokens;

/// A text of more bytes takes so long that `on_progress` is called within it.
const LONG: usize = 1 << 20;

/// Buffers that are reused from text to text.
pub(super) struct Worker {
    ends: Vec<usize>,
    pretoken_encoder: PretokenEncoder,
}

/// A text that may go on.
#[derive(Clone, Copy)]
pub(super) struct OpenText<'a> {
    /// What there is of it.
    pub(super) text: &'a str,
    /// Whether that is all.
    pub(super) is_last: bool,
    /// Where the text begins in the file or the stream, for errors.
    pub(super) offset: u64,
    /// Whether the pattern lets a document be encoded before all of it is there.
    pub(super) is_memoryless: bool,
    /// What literals of special tokens in it are.
    pub(super) specials: Specials,
}

impl Worker {
    /// A worker of `encoder`.
    pub(super) fn new(shared: &Shared) -> Result<Self> {
        Ok(Worker { ends: Vec::new(), pretoken_encoder: PretokenEncoder::new(shared.cache.handle()?) })
    }

    /// Uses the newest table of the cache.
    pub(super) fn refresh(&mut self, cache: &Cache) {
        self.pretoken_encoder.refresh(cache);
    }

    /// Encodes a whole text, recognising `specials`.
    #[inline]
    pub(super) fn encode<S: Output>(
        &mut self,
        shared: &Shared,
        text: &str,
        specials: Option<&SpecialTokens>,
        output: &mut S,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        let mut at = 0;
        if let Some(specials) = specials {
            while let Some(found) = specials.find(text.as_bytes(), at) {
                self.encode_document(shared, &text[at..found.start], output, on_progress)?;
                if output.is_full() {
                    return Ok(());
                }
                output.put(specials.tokens()[found.index].1)?;
                at = found.end;
            }
        }
        self.encode_document(shared, &text[at..], output, on_progress)
    }

    /// Encodes text without special tokens.
    #[inline]
    fn encode_document<S: Output>(
        &mut self,
        shared: &Shared,
        document: &str,
        output: &mut S,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        let mut from = 0;
        while from < document.len() && !output.is_full() {
            shared.pretokenizer.fill_with_progress(document, from, &mut self.ends, on_progress)?;
            let pretokens = Pretokens { shared, text: document.as_bytes(), start: from, ends: &self.ends };
            self.pretoken_encoder.encode(pretokens, output, on_progress)?;
            let end = self.ends.last().copied().unwrap_or(document.len());
            on_progress(end - from)?;
            from = end;
        }
        Ok(())
    }

    /// Encodes the beginning of a text as far as nothing that may follow can change it; gives its length.
    ///
    /// Held back are the last two pretokens, white space at the end, and what may begin a special token; with
    /// `is_memoryless` false, all that follows the last special token.
    pub(super) fn encode_open_text<S: Output>(
        &mut self,
        shared: &Shared,
        open: OpenText<'_>,
        output: &mut S,
        on_progress: OnProgress<'_>,
    ) -> Result<usize> {
        let OpenText { text, is_last, is_memoryless, .. } = open;
        let specials = match open.specials {
            Specials::Ordinary => None,
            Specials::Recognise | Specials::Error => Some(&shared.specials),
        };
        let longest = specials.map_or(0, SpecialTokens::longest);
        // A special token that starts before `visible` is seen in full, whichever is the longest there.
        let visible = match longest {
            1.. if !is_last => text.floor_char_boundary((text.len() + 1).saturating_sub(longest)),
            _ => text.len(),
        };
        let mut done = 0;
        loop {
            let found = specials
                .and_then(|specials| Some((specials, specials.find(text.as_bytes(), done)?)))
                .filter(|(_, found)| found.start < visible);
            let end = found.map_or(visible, |(_, found)| found.start);
            let is_whole = found.is_some() || is_last;
            if !is_whole && !is_memoryless {
                break;
            }
            if end > done {
                let document = OpenText { text: &text[done..end], is_last: is_whole, ..open };
                done += self.encode_open_document(shared, document, output, on_progress)?;
            }
            let Some((specials, found)) = found.filter(|_| done == end) else { break };
            if open.specials == Specials::Error {
                let token = specials.tokens()[found.index].0.clone();
                let offset = usize::try_from(open.offset).unwrap_or(usize::MAX).saturating_add(found.start);
                return Err(Error::DisallowedSpecial { token, offset });
            }
            output.put(specials.tokens()[found.index].1)?;
            done = found.end;
        }
        Ok(done)
    }

    /// The same for a document of the text, or what there is of it.
    fn encode_open_document<S: Output>(
        &mut self,
        shared: &Shared,
        open: OpenText<'_>,
        output: &mut S,
        on_progress: OnProgress<'_>,
    ) -> Result<usize> {
        let OpenText { text, is_last, .. } = open;
        let unspaced = if is_last { text.len() } else { text.trim_end().len() };
        let (mut encoded, mut scanned) = (0, 0);
        while scanned < text.len() {
            if text.len() > LONG {
                on_progress(0)?;
            }
            shared.pretokenizer.fill_with_progress(text, scanned, &mut self.ends, on_progress)?;
            let (n_ends, end) = (self.ends.len(), self.ends.last().copied().unwrap_or(text.len()));
            // Of what may change, some is scanned again: the last pretoken before the next ones, so that there
            // are always two, and all at the text's end.
            let n_held = match is_last {
                true => 0,
                false if end < text.len() => 1.min(n_ends.saturating_sub(1)),
                false => N_UNSETTLED,
            };
            let n_certain = n_ends.saturating_sub(n_held);
            let mut certain = &self.ends[..n_certain];
            if !is_last && end > unspaced {
                certain = &certain[..certain.partition_point(|&end| end <= unspaced)];
            }
            let is_short = certain.len() < n_certain;
            let pretokens = Pretokens { shared, text: text.as_bytes(), start: encoded, ends: certain };
            self.pretoken_encoder.encode(pretokens, output, on_progress)?;
            encoded = certain.last().copied().unwrap_or(encoded);
            if is_short || end == text.len() {
                break;
            }
            scanned = encoded;
        }
        Ok(encoded)
    }
}
