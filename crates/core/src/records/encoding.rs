//! Blocks of documents to ids, with an end-of-text id after each document where one is wanted.

use std::sync::Arc;

use super::buffers::{Buffer, Buffers, Content};
use super::cuts::Cuts;
use super::documents::Documents;
use super::parts::Parts;
use crate::encoder::{Encoder, SpecialPolicy};
use crate::error::{Error, Result};
use crate::ids::Id;
use crate::monitor::Monitor;

/// Encodes documents block after block; special tokens are recognised.
pub struct BlockEncoder<I> {
    encoder: Arc<Encoder>,
    parts: Parts,
    end_id: Option<u32>,
    threads: usize,
    buffers: Buffers<Vec<I>>,
}

/// The ids of a block.
pub struct Encoded<I: Id> {
    /// All ids, one document after the other.
    pub ids: Buffer<Vec<I>>,
    /// Where documents end in `ids`; ids after the last end are of a document that goes on.
    pub ends: Vec<i64>,
}

impl<I: Id> BlockEncoder<I> {
    /// At the beginning of a corpus; `end_id` is put after each document.
    pub fn new(encoder: Arc<Encoder>, end_id: Option<u32>, threads: usize) -> Self {
        let specials = Arc::new(encoder.specials().clone());
        let cuts = Cuts::new(Arc::clone(encoder.pretokenizer()), specials, true);
        BlockEncoder { encoder, parts: Parts::new(cuts), end_id, threads, buffers: Buffers::default() }
    }

    /// The ids of the next block, but for those of text that may not be cut off yet.
    pub fn push(&mut self, documents: &Documents, monitor: &dyn Monitor) -> Result<Encoded<I>> {
        let BlockEncoder { encoder, parts, end_id, threads, buffers } = self;
        let end_id = end_id.map(I::from_u32);
        parts.with(documents, |texts| {
            // Hardly any block has more than three ids for four bytes; room that is not touched takes no memory.
            let ids = buffers.take(documents.text().len() / 4 * 3).map_err(Error::out_of_memory("ids"))?;
            let mut encoded = Encoded { ids, ends: Vec::new() };
            encoded.ends.try_reserve_exact(documents.len()).map_err(Error::out_of_memory("offsets"))?;
            let mut is_end = texts.is_end.iter();
            encoder.encode_each::<I>(
                &texts.texts,
                SpecialPolicy::All,
                *threads,
                monitor,
                |ids, counts| {
                    let Encoded { ids: all, ends } = &mut encoded;
                    all.make_room(ids.len() + counts.len()).map_err(Error::out_of_memory("ids"))?;
                    let mut rest = ids;
                    for (&n_ids, is_end) in counts.iter().zip(&mut is_end) {
                        let (ids, after) = rest.split_at(n_ids);
                        all.extend_from_slice(ids);
                        if *is_end {
                            all.extend(end_id);
                            ends.push(all.len() as i64);
                        }
                        rest = after;
                    }
                    Ok(())
                },
            )?;
            Ok(encoded)
        })
    }
}
