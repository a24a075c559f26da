//! Continues training from the merges of a vocabulary: the merges that training would learn next if it had learned those
//! of the vocabulary, in their order, on these pretokens.
//!
//! Applying merges in order is encoding, so the encoder turns each distinct pretoken into ids first, and training starts
//! from symbols that are those tokens. With another pattern than the vocabulary's, pretokens may be whole lines; then
//! there are as many symbols as the corpus has tokens.

use super::options::{Input, Items, Merge, MergeOptions, Trained};
use crate::error::{Error, Result};
use crate::memory::{TryReserve, filled};
use crate::monitor::Monitor;
use crate::vocabulary::{NONE, Vocabulary};

/// The merges of a vocabulary as symbols.
pub struct Base {
    merges: Vec<Merge>,
    /// [`NONE`] for an id that no merging makes.
    symbol_of_id: Vec<u32>,
    /// See [`MergeOptions::byte_order`].
    pub byte_order: [u8; 256],
}

/// Distinct pretokens as ids, with their counts: pretoken i has `ids[ends[i - 1]..ends[i]]` and occurs `counts[i]` times.
pub struct WeightedIds<'a> {
    /// The ids of all pretokens.
    pub ids: Vec<u32>,
    /// The end of each pretoken in `ids`.
    pub ends: Vec<u64>,
    /// The count of each pretoken.
    pub counts: &'a [u64],
    /// Bytes of memory that the pretokens take besides.
    pub held_bytes: u64,
}

impl Base {
    /// The merges of `vocabulary`, which must have a token for each byte, and one merge for each id that merging makes.
    ///
    /// Ties between ids are decided as if merges had ids in rank order, after those of the bytes.
    pub fn of(vocabulary: &Vocabulary) -> Result<Self> {
        const WHAT: &str = "the merges of a vocabulary";
        let mut symbol_of_id = filled(vocabulary.n_ids(), NONE, WHAT)?;
        let mut bytes: Vec<u8> = (0..=255).collect();
        for byte in 0..=255u8 {
            let id = vocabulary.id_of_byte(byte).ok_or(Error::MissingByte { byte })?;
            symbol_of_id[id as usize] = u32::from(byte);
        }
        bytes.sort_unstable_by_key(|&byte| vocabulary.id_of_byte(byte));
        let mut byte_order = [0; 256];
        for (index, &byte) in (0..=255u8).zip(&bytes) {
            byte_order[usize::from(byte)] = index;
        }
        let given = vocabulary.merges()?;
        let mut merges = Vec::with_room(given.len(), WHAT)?;
        for (symbol, &[left, right, merged_id]) in (256..).zip(given) {
            let parts = [left, right].map(|id| symbol_of_id.get(id as usize).copied().unwrap_or(NONE));
            let [left_symbol, right_symbol] = parts;
            if parts.contains(&NONE) || symbol_of_id.get(merged_id as usize) != Some(&NONE) {
                return Err(Error::Invalid(format!(
                    "merge ({left}, {right}) -> {merged_id} uses a token that no merge before it makes, or makes one again; \
                     such merges cannot be continued"
                )));
            }
            symbol_of_id[merged_id as usize] = symbol;
            merges.push((left_symbol, right_symbol));
        }
        Ok(Base { merges, symbol_of_id, byte_order })
    }

    /// The number of merges.
    pub fn n_merges(&self) -> usize {
        self.merges.len()
    }
}

/// Learns the merges that follow those of `base`, as [`super::train`] does; `options.byte_order` must be that of `base`.
///
/// [`Error::Invalid`] for an id that merging does not make.
pub fn extend(
    base: &Base,
    pretokens: WeightedIds<'_>,
    options: &MergeOptions,
    monitor: &dyn Monitor,
) -> Result<Trained> {
    let WeightedIds { mut ids, ends, counts, held_bytes } = pretokens;
    for id in &mut ids {
        match base.symbol_of_id.get(*id as usize) {
            Some(&symbol) if symbol != NONE => *id = symbol,
            _ => return Err(Error::Invalid(format!("id {id} is made by no merge"))),
        }
    }
    let max_memory = match options.max_memory {
        Some(limit) if limit < held_bytes => {
            let remedy = "train on fewer texts";
            return Err(Error::MemoryLimit { limit, what: "learning merges", remedy });
        }
        limit => limit.map(|limit| limit - held_bytes),
    };
    let options = &MergeOptions { max_memory, ..options.clone() };
    let input = Input { items: Items::Symbols(&ids), ends: &ends, counts, base: &base.merges };
    super::train_tuned(input, options, None, monitor)
}
