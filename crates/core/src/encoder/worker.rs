//! Encodes one text on one thread: special tokens, documents, and how much of an unfinished text is final.

use super::cache::Cache;
use super::encode_loop::{DocumentEnds, PretokenEncoder, Pretokens};
use super::output::Output;
use super::shared::Shared;
use super::special_literals::Specials;
use crate::corpus::utf8_reader::Buffers;
use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::monitor::OnProgress;
use crate::prefetch::Ahead;
use crate::pretokens::Place;
use crate::pretokens::key::PretokenKey;
use crate::pretokens::safe_cuts::n_settled;
use crate::special::{Finder, SpecialTokens};
use crate::text::Text;

/// Documents longer than this call `on_progress` before each scan.
const LONG_BYTES: usize = 1 << 20;

/// The most bytes of the next text that are prefetched; they must stay in the second-level cache until it is encoded.
const AHEAD_BYTES: usize = 1 << 16;

/// The buffers of a thread, reused for each text.
pub(super) struct Worker {
    ends: Vec<u32>,
    pretoken_encoder: PretokenEncoder,
    /// The ends of the pretokens of short documents, and how many of them there are up to the end of each document.
    joined_ends: Vec<u32>,
    n_pretokens: Vec<usize>,
    /// The buffers for blocks of a file.
    pub(super) file_buffers: Buffers,
}

/// A text of which more may follow.
#[derive(Clone, Copy)]
pub(super) struct OpenText<'a> {
    /// The part of the text so far.
    pub(super) text: &'a str,
    /// Whether the text ends there.
    pub(super) is_last: bool,
    /// The offset of `text` in the file or the stream, for errors.
    pub(super) offset: u64,
    /// Whether a document may be encoded before its end is known.
    pub(super) is_memoryless: bool,
    /// What literals of special tokens become.
    pub(super) specials: Specials,
    /// Where the document begins with which `text` begins.
    pub(super) place: Place,
}

/// Where a document begins that is at offset `at` of a text which begins at `start`.
pub(super) fn place(at: usize, start: Place) -> Place {
    if at == 0 { start } else { Place::AfterSpecial }
}

impl Worker {
    /// A worker of the encoder whose data is `shared`.
    pub(super) fn new(shared: &Shared) -> Result<Self> {
        let pretoken_encoder = PretokenEncoder::new(shared.cache.handle()?);
        Ok(Worker {
            ends: Vec::new(),
            pretoken_encoder,
            joined_ends: Vec::new(),
            n_pretokens: Vec::new(),
            file_buffers: Buffers::default(),
        })
    }

    /// Switches to the newest table of the cache.
    pub(super) fn refresh(&mut self, cache: &Cache) {
        self.pretoken_encoder.refresh(cache);
    }

    /// Prefetches the start of the text that will be encoded next, while another is encoded.
    pub(super) fn look_ahead(&mut self, next: Option<&impl Text>) {
        self.pretoken_encoder
            .look_ahead(next.map_or_else(Ahead::default, |text| Ahead::new(text.stored(), AHEAD_BYTES)));
    }

    /// Encodes a whole text, or a part between safe cuts that begins at `start`; the literals of `specials` become ids.
    #[inline]
    pub(super) fn encode<S: Output>(
        &mut self,
        shared: &Shared,
        text: &str,
        start: Place,
        specials: Option<&SpecialTokens>,
        output: &mut S,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        let mut at = 0;
        if let Some(specials) = specials {
            if specials.has_rules() {
                return self.encode_by_rules(shared, text, start, specials, output, on_progress);
            }
            while let Some(found) = specials.find(text.as_bytes(), at) {
                self.encode_document(shared, &text[at..found.start], place(at, start), output, on_progress)?;
                if output.is_full() {
                    return Ok(());
                }
                output.put(specials.tokens()[found.index].1)?;
                at = found.end;
            }
        }
        self.encode_document(shared, &text[at..], place(at, start), output, on_progress)
    }

    /// Encodes short documents, joined in `text`, which begins at `start`, and ending at `ends`, less than 4 GiB in all.
    /// Appends to `n_ids` the number of ids in `output` after each.
    ///
    /// Their pretokens are looked up together, so that no document waits for the loads of its few pretokens. The
    /// pretokenizer must look ahead only and leave them as they are, and `text` must hold no literals of special tokens that become ids.
    pub(super) fn encode_joined<S: Output>(
        &mut self,
        shared: &Shared,
        text: &str,
        start: usize,
        ends: &[usize],
        output: &mut S,
        n_ids: &mut Vec<usize>,
    ) -> Result<()> {
        debug_assert!(shared.pretokenizer.looks_ahead_only());
        self.joined_ends.clear();
        self.n_pretokens.clear();
        self.n_pretokens.grow(ends.len(), "short texts")?;
        n_ids.grow(ends.len(), "short texts")?;
        let mut from = 0;
        for end in ends.iter().map(|end| end - start) {
            while from < end {
                let filled = shared.pretokenizer.fill(&text[..end], from, &mut self.ends)?;
                self.joined_ends.grow(self.ends.len(), "pretoken ends")?;
                self.joined_ends.extend(self.ends.iter().map(|&distance| from as u32 + distance));
                from = filled;
            }
            self.n_pretokens.push(self.joined_ends.len());
        }
        let pretokens = Pretokens::from_text(shared, text, &self.joined_ends);
        let documents = DocumentEnds { left: &self.n_pretokens, n_ids };
        self.pretoken_encoder.encode_documents(pretokens, documents, output, &mut |_| Ok(()))
    }

    /// Encodes the pretokens of `bytes`, which end at `ends` and may hold arbitrary bytes.
    pub(super) fn encode_pretokens<S: Output>(
        &mut self,
        shared: &Shared,
        bytes: &[u8],
        ends: &[u32],
        output: &mut S,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        let mut start = 0;
        for run in ends.chunk_by(|&one, &next| is_batched(bytes, one) == is_batched(bytes, next)) {
            if is_batched(bytes, run[0]) {
                // SAFETY: All pretokens of a run are alike, and none of this one ends in 0xff.
                let pretokens = unsafe { Pretokens::from_bytes(shared, bytes, start, run) };
                self.pretoken_encoder.encode(pretokens, output, on_progress)?;
            } else {
                for &end in run {
                    let end = end as usize;
                    self.pretoken_encoder.encode_bytes(shared, &bytes[start..end], output, on_progress)?;
                    start = end;
                }
            }
            start = run[run.len() - 1] as usize;
        }
        Ok(())
    }

    /// Like [`encode`](Self::encode), where some of the special tokens have rules.
    #[cold]
    #[inline(never)]
    fn encode_by_rules<S: Output>(
        &mut self,
        shared: &Shared,
        text: &str,
        start: Place,
        specials: &SpecialTokens,
        output: &mut S,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        let mut at = 0;
        for found in Finder::new(specials, text) {
            self.encode_document(shared, &text[at..found.start], place(at, start), output, on_progress)?;
            if output.is_full() {
                return Ok(());
            }
            output.put(specials.tokens()[found.index].1)?;
            at = found.end;
        }
        self.encode_document(shared, &text[at..], place(at, start), output, on_progress)
    }

    /// Encodes text without special tokens.
    #[inline]
    fn encode_document<S: Output>(
        &mut self,
        shared: &Shared,
        document: &str,
        place: Place,
        output: &mut S,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        let document = &*shared.pretokenizer.normalized(document, place)?;
        let mut from = 0;
        while from < document.len() && !output.is_full() {
            let end = shared.pretokenizer.fill_with_progress(document, from, &mut self.ends, on_progress)?;
            let pretokens = Pretokens::from_text(shared, &document[from..], &self.ends);
            self.pretoken_encoder.encode(pretokens, output, on_progress)?;
            on_progress(end - from)?;
            from = end;
        }
        Ok(())
    }

    /// Encodes the part of a text that what follows cannot change; returns its length in bytes.
    ///
    /// Held back are the last pretokens ([`n_settled`]), trailing white space, and bytes that may start a special
    /// token; unless `is_memoryless`, everything after the last special token.
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
            Specials::Recognise | Specials::Error => Some(&*shared.specials),
        };
        let longest = specials.map_or(0, SpecialTokens::longest);
        // Every special token that starts before `visible` ends within `text`, so the longest one is found.
        let visible = match longest {
            1.. if !is_last => text.floor_char_boundary((text.len() + 1).saturating_sub(longest)),
            _ => text.len(),
        };
        if !is_last && specials.is_some_and(SpecialTokens::has_rules) {
            return Ok(0);
        }
        let mut finder = specials.map(|specials| Finder::new(specials, text));
        let mut done = 0;
        loop {
            let found = specials
                .and_then(|specials| Some((specials, finder.as_mut()?.next()?)))
                // The last may start at the end, where the one before it took its white space along.
                .filter(|(_, found)| is_last || found.start < visible);
            let end = found.map_or(visible, |(_, found)| found.start);
            let is_whole = found.is_some() || is_last;
            if !is_whole && !is_memoryless {
                break;
            }
            if end > done {
                let place = if done == 0 { open.place } else { Place::AfterSpecial };
                let document = OpenText { text: &text[done..end], is_last: is_whole, place, ..open };
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

    /// Encodes the part of a document that what follows cannot change; returns its length in bytes.
    fn encode_open_document<S: Output>(
        &mut self,
        shared: &Shared,
        open: OpenText<'_>,
        output: &mut S,
        on_progress: OnProgress<'_>,
    ) -> Result<usize> {
        let OpenText { text, is_last, .. } = open;
        if shared.pretokenizer.has_normalizer() {
            // A pretokenizer with a normalizer is not memoryless, so the document is whole. The reader reports its
            // bytes.
            self.encode_document(shared, text, open.place, output, &mut |_| on_progress(0))?;
            return Ok(text.len());
        }
        // Never stop after white space: it is split differently before a word and at the end of a document.
        let unspaced = if is_last { text.len() } else { text.trim_end().len() };
        let mut encoded = 0;
        while encoded < text.len() {
            if text.len() > LONG_BYTES {
                on_progress(0)?;
            }
            let end = shared.pretokenizer.fill_with_progress(text, encoded, &mut self.ends, on_progress)?;
            let n_ends = self.ends.len();
            let n_certain = if is_last { n_ends } else { n_settled(n_ends, end == text.len()) };
            let mut certain = &self.ends[..n_certain];
            if !is_last && end > unspaced {
                let is_before = |&distance: &u32| encoded + distance as usize <= unspaced;
                certain = &certain[..certain.partition_point(is_before)];
            }
            let is_short = certain.len() < n_certain;
            let pretokens = Pretokens::from_text(shared, &text[encoded..], certain);
            self.pretoken_encoder.encode(pretokens, output, on_progress)?;
            encoded += certain.last().map_or(0, |&distance| distance as usize);
            if is_short || end == text.len() {
                break;
            }
        }
        Ok(encoded)
    }
}

/// Whether the pretoken that ends at `end` can be looked up by its key in a batch.
fn is_batched(bytes: &[u8], end: u32) -> bool {
    end.checked_sub(1).is_none_or(|last| PretokenKey::can_end_in(bytes[last as usize]))
}
