//! Encodes one text on one thread: its special tokens, and the documents between them.

use super::cache::Cache;
use super::encode_loop::PretokenEncoder;
use super::output::Output;
use super::pretokens_of_text::{DocumentEnds, Pretokens};
use super::shared::EncoderData;
use super::special_literals::Specials;
use crate::error::Result;
use crate::memory::TryReserve;
use crate::monitor::OnProgress;
use crate::prefetch::Ahead;
use crate::pretokens::Place;
use crate::pretokens::key::PretokenKey;
use crate::special::{Finder, SpecialTokens};
use crate::text::Text;

/// The most bytes of the next text to prefetch; they must stay in the second-level cache until that text is encoded.
const AHEAD_BYTES: usize = 1 << 16;

/// The buffers of a thread, reused for each text.
pub(super) struct Worker {
    ends: Vec<u32>,
    pub(super) pretoken_encoder: PretokenEncoder,
    /// For short documents that are joined: the ends of all their pretokens, and the number of pretokens up to the end
    /// of each.
    joined_ends: Vec<u32>,
    n_pretokens: Vec<usize>,
    /// A buffer for blocks of a file.
    pub(super) file_bytes: Vec<u8>,
}

/// A part of a file or a stream between safe cuts.
pub(super) struct DataPart<'a> {
    pub(super) text: &'a str,
    /// The offset of `text` in the file or the stream, for errors.
    pub(super) offset: u64,
    /// The place where the first document of `text` begins.
    pub(super) place: Place,
    /// What literals of special tokens become.
    pub(super) specials: Specials,
}

/// Returns the place of a document at offset `at` of a text that itself begins at the place `start`.
pub(super) fn place(at: usize, start: Place) -> Place {
    if at == 0 { start } else { Place::AfterSpecial }
}

impl Worker {
    /// Creates a worker for the encoder whose data is `shared`.
    pub(super) fn new(shared: &EncoderData) -> Result<Self> {
        let pretoken_encoder = PretokenEncoder::new(shared.cache.handle()?);
        Ok(Worker {
            ends: Vec::new(),
            pretoken_encoder,
            joined_ends: Vec::new(),
            n_pretokens: Vec::new(),
            file_bytes: Vec::new(),
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

    /// Encodes a whole text, or a part between safe cuts that begins at the place `start`. Literals of `specials`
    /// become ids.
    #[inline]
    pub(super) fn encode<S: Output>(
        &mut self,
        shared: &EncoderData,
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

    /// Encodes short documents, less than 4 GiB in total, that are joined in `text`. They end at `ends`, and `text`
    /// itself begins at offset `start`. Appends to `n_ids` the number of ids in `output` after each document.
    ///
    /// All their pretokens are looked up together, so that no document waits for the loads of its own few pretokens.
    /// The pretokenizer must look ahead only and leave the documents unchanged, and `text` must hold no literals that
    /// become ids.
    pub(super) fn encode_joined<S: Output>(
        &mut self,
        shared: &EncoderData,
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
        let pretokens = Pretokens::from_text(text, &self.joined_ends);
        let documents = DocumentEnds { left: &self.n_pretokens, n_ids };
        self.pretoken_encoder.encode_documents(shared, pretokens, documents, output, &mut |_| Ok(()))
    }

    /// Encodes the pretokens of `bytes`, which end at `ends` and can hold arbitrary bytes.
    pub(super) fn encode_pretokens<S: Output>(
        &mut self,
        shared: &EncoderData,
        bytes: &[u8],
        ends: &[u32],
        output: &mut S,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        let mut start = 0;
        for run in ends.chunk_by(|&one, &next| is_batched(bytes, one) == is_batched(bytes, next)) {
            if is_batched(bytes, run[0]) {
                // SAFETY: `is_batched` is true for the first pretoken of this run, so for all of them: none ends in
                // 0xff.
                let pretokens = unsafe { Pretokens::from_bytes(bytes, start, run) };
                self.pretoken_encoder.encode(shared, pretokens, output, on_progress)?;
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

    /// Like [`encode`](Self::encode), if some of the special tokens have rules.
    #[cold]
    #[inline(never)]
    fn encode_by_rules<S: Output>(
        &mut self,
        shared: &EncoderData,
        text: &str,
        start: Place,
        specials: &SpecialTokens,
        output: &mut S,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        let (mut at, mut place) = (0, start);
        for found in Finder::new(specials, text) {
            let (literal, id) = &specials.tokens()[found.index];
            let includes_space = specials.includes_space(found.index);
            // The token takes in the space at the start of the document, so the space put before that stands alone.
            let is_alone = includes_space && at == found.start && found.end - at > literal.len();
            let (document, at_place) = match is_alone && place != Place::Within {
                true => (" ", Place::Within),
                false => (&text[at..found.start], place),
            };
            self.encode_document(shared, document, at_place, output, on_progress)?;
            if output.is_full() {
                return Ok(());
            }
            output.put(*id)?;
            at = found.end;
            place = if includes_space { Place::Within } else { Place::AfterSpecial };
        }
        self.encode_document(shared, &text[at..], place, output, on_progress)
    }

    /// Encodes text without special tokens.
    #[inline]
    fn encode_document<S: Output>(
        &mut self,
        shared: &EncoderData,
        document: &str,
        place: Place,
        output: &mut S,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        let document = &*shared.pretokenizer.normalized(document, place)?;
        let mut from = 0;
        while from < document.len() && !output.is_full() {
            let end = shared.pretokenizer.fill_with_progress(document, from, &mut self.ends, on_progress)?;
            let pretokens = Pretokens::from_text(&document[from..], &self.ends);
            self.pretoken_encoder.encode(shared, pretokens, output, on_progress)?;
            on_progress(end - from)?;
            from = end;
        }
        Ok(())
    }

    /// Encodes a part of a file or a stream.
    pub(super) fn encode_data<S: Output>(
        &mut self,
        shared: &EncoderData,
        DataPart { text, offset, place, specials }: DataPart<'_>,
        output: &mut S,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        let all = &*shared.specials;
        if specials == Specials::Error {
            all.refuse(text, offset)?;
        }
        let recognised = (specials == Specials::Recognise && !all.is_empty()).then_some(all);
        self.encode(shared, text, place, recognised, output, on_progress)
    }
}

/// Returns whether the pretoken that ends at `end` can be looked up by its key in a batch.
fn is_batched(bytes: &[u8], end: u32) -> bool {
    end.checked_sub(1).is_none_or(|last| PretokenKey::can_end_in(bytes[last as usize]))
}
