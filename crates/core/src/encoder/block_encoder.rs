//! Encodes the documents of a corpus, block by block.
//!
//! A long document can be divided among blocks and texts ([`Splitter`]). Between two blocks the encoder keeps the text
//! that is not final yet, and whether the next text starts a document.

use std::sync::Arc;

use crate::corpus::Documents;
use crate::corpus::split::{Splitter, Texts};
use crate::corpus::{Buffer, BufferPool, Content};
use crate::encoder::{Encoder, LiteralCounts, SpecialPolicy, Specials};
use crate::error::{Error, Result};
use crate::ids::Id;
use crate::memory::TryReserve;
use crate::monitor::Monitor;

/// Ids to put around documents, and what literals of special tokens in them become.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlockOptions {
    /// An id to put before each document.
    pub begin_id: Option<u32>,
    /// An id to put after each document.
    pub end_id: Option<u32>,
    /// What literals of special tokens become.
    pub specials: Specials,
    /// Number of threads; 0: one for each processor.
    pub threads: usize,
}

/// Encodes blocks of documents.
pub struct BlockEncoder<I> {
    encoder: Arc<Encoder>,
    splitter: Splitter,
    options: BlockOptions,
    buffers: BufferPool<Vec<I>>,
    /// Whether the next text starts a document.
    at_document_start: bool,
    /// Bytes of the open document that are encoded already.
    n_open_bytes: usize,
    /// Whether a call failed: the text that it should have encoded or kept is lost.
    has_failed: bool,
}

/// The ids of a block.
pub struct Encoded<I: Id> {
    /// All ids, one document after the other.
    pub ids: Buffer<Vec<I>>,
    /// The end of each document in `ids`. Ids after the last end belong to a document that continues in the next block.
    pub ends: Vec<i64>,
    /// Literals that were encoded as text: (document, special token, count), in the order of the documents. The number
    /// of a document is how many documents end before it in the block.
    pub literals: Vec<[i64; 3]>,
}

impl<I: Id> BlockEncoder<I> {
    /// Creates an encoder for the start of a corpus. [`Error::Invalid`] if `encoder` lacks the `begin_id` or `end_id`.
    pub fn new(encoder: Arc<Encoder>, options: BlockOptions) -> Result<Self> {
        for (name, id) in [("begin_id", options.begin_id), ("end_id", options.end_id)] {
            if let Some(id) = id
                && !encoder.has_id(id)
            {
                return Err(Error::Invalid(format!(
                    "{name} is {id}, which is not an id of this tokenizer; its ids are below {}",
                    encoder.n_ids()
                )));
            }
        }
        let splitter = Splitter::new(encoder.safe_cuts(options.specials));
        Ok(BlockEncoder {
            encoder,
            splitter,
            options,
            buffers: BufferPool::default(),
            at_document_start: true,
            n_open_bytes: 0,
            has_failed: false,
        })
    }

    /// Encodes the next block, except for text at its end that is not final yet. `source` is for error messages.
    /// After an error all calls fail.
    pub fn push(
        &mut self,
        documents: &Documents,
        source: BlockSource<'_>,
        monitor: &dyn Monitor,
    ) -> Result<Encoded<I>> {
        if std::mem::replace(&mut self.has_failed, true) {
            return Err(Error::Invalid(
                "an earlier call failed, so text is missing; make a new encoder, and start again".into(),
            ));
        }
        let encoded = self.encode(documents, source, monitor)?;
        self.has_failed = false;
        Ok(encoded)
    }

    fn encode(
        &mut self,
        documents: &Documents,
        source: BlockSource<'_>,
        monitor: &dyn Monitor,
    ) -> Result<Encoded<I>> {
        let BlockEncoder { encoder, splitter, options, buffers, at_document_start, n_open_bytes, .. } = self;
        let BlockOptions { begin_id, end_id, specials, threads } = *options;
        let (begin_id, end_id) = (begin_id.map(I::from_u32), end_id.map(I::from_u32));
        splitter.with_texts(documents, |texts| {
            // Hardly any block has more than three ids for four bytes. Pages that are not touched take no memory.
            let ids = buffers.take(documents.text().len() / 4 * 3).map_err(Error::out_of_memory("ids"))?;
            let ends = Vec::with_reserved(documents.len(), "offsets")?;
            let mut encoded = Encoded { ids, ends, literals: Vec::new() };
            let counts = LiteralCounts::new(encoder.specials(), specials == Specials::Error);
            let policy = match specials {
                Specials::Recognise => SpecialPolicy::All,
                Specials::Ordinary | Specials::Error => SpecialPolicy::Counted(&counts),
            };
            let mut is_end = texts.is_end.iter();
            let done = encoder.encode_each::<I>(&texts.texts, policy, threads, monitor, |ids, counts| {
                let Encoded { ids: all, ends, .. } = &mut encoded;
                all.make_room(ids.len() + 2 * counts.len()).map_err(Error::out_of_memory("ids"))?;
                let mut rest = ids;
                for (&n_ids, &is_end) in counts.iter().zip(&mut is_end) {
                    let (ids, after) = rest.split_at(n_ids);
                    if *at_document_start {
                        all.extend(begin_id);
                    }
                    all.extend_from_slice(ids);
                    *at_document_start = is_end;
                    if is_end {
                        all.extend(end_id);
                        ends.push(all.len() as i64);
                    }
                    rest = after;
                }
                Ok(())
            });
            // The texts are pieces of documents, so their indices mean nothing to the caller.
            let done = done.map_err(Error::without_text);
            let found = counts.into_sorted();
            if let Err(Error::DisallowedSpecial { token, offset }) = done {
                // The error is about the first text with a literal.
                let text = found.first().map_or(0, |count| count.text);
                let document = source.first_document
                    + texts.is_end[..text].iter().filter(|&&is_end| is_end).count() as u64;
                let offset = bytes_open_after(texts, text, *n_open_bytes) + offset;
                let location = format!("{}: document {document}", source.name);
                return Err(Error::LiteralInData { location, token, offset });
            }
            done?;
            encoded.literals = Vec::with_reserved(found.len(), "special tokens")?;
            let (mut document, mut text) = (0, 0);
            for count in found {
                document += texts.is_end[text..count.text].iter().filter(|&&is_end| is_end).count();
                text = count.text;
                encoded.literals.push([document as i64, count.token as i64, count.n as i64]);
            }
            *n_open_bytes = bytes_open_after(texts, texts.texts.len(), *n_open_bytes);
            Ok(encoded)
        })
    }
}

/// Where a block comes from.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlockSource<'a> {
    /// The name of the file.
    pub name: &'a str,
    /// Number of documents of the file before this block.
    pub first_document: u64,
}

/// Returns how many bytes of its document come before text `n` of a block; `before` bytes of the open document were in
/// earlier blocks.
fn bytes_open_after(texts: &Texts<'_>, n: usize, before: usize) -> usize {
    let last_end = texts.is_end[..n].iter().rposition(|&is_end| is_end);
    let open = texts.texts[last_end.map_or(0, |at| at + 1)..n].iter().map(|text| text.len()).sum::<usize>();
    if last_end.is_none() { before + open } else { open }
}
