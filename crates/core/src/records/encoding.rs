//! Blocks of documents to ids, with an end-of-text id after each document where one is wanted.

use std::sync::Arc;

use super::cuts::Cuts;
use super::documents::Documents;
use super::parts::Parts;
use crate::encoder::{Encoder, SpecialPolicy};
use crate::error::{Error, Result};
use crate::ids::Id;
use crate::monitor::Monitor;

/// Encodes documents block after block; special tokens are recognised.
pub struct BlockEncoder {
    encoder: Arc<Encoder>,
    parts: Parts,
    end_id: Option<u32>,
    threads: usize,
}

/// The ids of a block.
pub struct Encoded<I> {
    /// All ids, one document after the other.
    pub ids: Vec<I>,
    /// Where documents end in `ids`; ids after the last end are of a document that goes on.
    pub ends: Vec<i64>,
}

impl BlockEncoder {
    /// At the beginning of a corpus; `end_id` is put after each document.
    pub fn new(encoder: Arc<Encoder>, end_id: Option<u32>, threads: usize) -> Self {
        let specials = Arc::new(encoder.specials().clone());
        let cuts = Cuts::new(Arc::clone(encoder.pretokenizer()), specials, true);
        BlockEncoder { encoder, parts: Parts::new(cuts), end_id, threads }
    }

    /// The ids of the next block, but for those of text that may not be cut off yet.
    pub fn push<I: Id>(&mut self, documents: &Documents, monitor: &dyn Monitor) -> Result<Encoded<I>> {
        let BlockEncoder { encoder, parts, end_id, threads } = self;
        parts.with(documents, |texts| {
            let policy = SpecialPolicy::All;
            let (ids, offsets) = encoder.encode_batch::<I>(&texts.texts, policy, *threads, monitor)?;
            let mut ends = Vec::new();
            ends.try_reserve_exact(documents.len()).map_err(Error::out_of_memory("offsets"))?;
            let text_ends = offsets.iter().skip(1).zip(&texts.is_end);
            ends.extend(text_ends.filter(|&(_, &is_end)| is_end).map(|(&end, _)| end));
            match *end_id {
                None => Ok(Encoded { ids, ends }),
                Some(end_id) => with_end_ids(&ids, ends, end_id),
            }
        })
    }
}

/// The same with `end_id` after each document.
fn with_end_ids<I: Id>(ids: &[I], mut ends: Vec<i64>, end_id: u32) -> Result<Encoded<I>> {
    let mut all = Vec::new();
    all.try_reserve_exact(ids.len() + ends.len()).map_err(Error::out_of_memory("ids"))?;
    let mut start = 0;
    for end in &mut ends {
        all.extend_from_slice(&ids[start..*end as usize]);
        all.push(I::from_u32(end_id));
        start = *end as usize;
        *end = all.len() as i64;
    }
    all.extend_from_slice(&ids[start..]);
    Ok(Encoded { ids: all, ends })
}
