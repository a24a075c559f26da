//! Continues training from a vocabulary: learns the merges that would come next if training on these pretokens had
//! first learned the vocabulary's merges, in their order.
//!
//! Applying merges in order is encoding. So the encoder first turns each distinct pretoken into ids, and training
//! starts with these tokens as its symbols. If the pattern is not the vocabulary's, pretokens can be whole lines; the
//! symbol array then has an entry for each token of the corpus.

use super::options::{Input, Items, Merge, MergeOptions, Trained};
use crate::error::{Error, Result};
use crate::memory::{TryReserve, filled};
use crate::monitor::Monitor;
use crate::vocabulary::{NONE, Vocabulary};

/// The tokens of a vocabulary as symbols: the 256 bytes, then the other tokens by ascending id. This order decides
/// ties, however the vocabulary numbers its ids.
pub struct Base<'a> {
    /// The bytes of the symbols from 256 on.
    tokens: Vec<&'a [u8]>,
    /// The symbol of each id; [`NONE`] for an id without a token.
    symbol_of_id: Vec<u32>,
    id_of_symbol: Vec<u32>,
    /// See [`MergeOptions::byte_order`].
    pub byte_order: [u8; 256],
}

/// Distinct pretokens as ids, and their counts: pretoken i has `ids[ends[i - 1]..ends[i]]` and occurs `counts[i]`
/// times.
pub struct WeightedIds<'a> {
    /// The ids of all pretokens.
    pub ids: Vec<u32>,
    /// The end of each pretoken in `ids`.
    pub ends: Vec<u64>,
    /// The count of each pretoken.
    pub counts: &'a [u64],
    /// Bytes of other memory that the pretokens hold; they count towards `max_memory`.
    pub held_bytes: u64,
}

impl<'a> Base<'a> {
    /// Builds the symbols of `vocabulary`. A byte without a token has a symbol too, which no pretoken holds.
    pub fn of(vocabulary: &'a Vocabulary) -> Result<Self> {
        const WHAT: &str = "the tokens of a vocabulary";
        let mut symbol_of_id = filled(vocabulary.n_ids(), NONE, WHAT)?;
        let mut id_of_symbol = Vec::with_reserved(vocabulary.n_tokens(), WHAT)?;
        let mut tokens = Vec::with_reserved(vocabulary.n_tokens(), WHAT)?;
        for byte in 0..=255u8 {
            id_of_symbol.push(vocabulary.id_of_byte(byte).unwrap_or(NONE));
        }
        for (id, token) in vocabulary.tokens().filter(|(_, token)| token.len() > 1) {
            id_of_symbol.push(id);
            tokens.push(token);
        }
        for (symbol, &id) in (0..).zip(&id_of_symbol).filter(|&(_, &id)| id != NONE) {
            symbol_of_id[id as usize] = symbol;
        }
        let mut bytes: Vec<u8> = (0..=255).collect();
        bytes.sort_unstable_by_key(|&byte| vocabulary.id_of_byte(byte));
        let mut byte_order = [0; 256];
        for (index, &byte) in (0..=255u8).zip(&bytes) {
            byte_order[usize::from(byte)] = index;
        }
        Ok(Base { tokens, symbol_of_id, id_of_symbol, byte_order })
    }

    /// Returns the ids of the two parts of each learned merge. The merges themselves get consecutive ids, starting just
    /// above the vocabulary's.
    pub fn id_pairs(&self, learned: &[Merge]) -> Result<Vec<Merge>> {
        let id = |symbol: u32| match self.id_of_symbol.get(symbol as usize) {
            Some(&id) => id,
            None => (self.symbol_of_id.len() + symbol as usize - self.id_of_symbol.len()) as u32,
        };
        let mut pairs = Vec::with_reserved(learned.len(), "merges")?;
        pairs.extend(learned.iter().map(|merge| merge.map(id)));
        Ok(pairs)
    }
}

/// Learns the merges that follow those of `base`, like [`super::train`]. `options.byte_order` must be that of `base`.
/// Errors: those of [`super::train`], and [`Error::Invalid`] for an id without a token.
pub fn extend(
    base: &Base<'_>,
    pretokens: WeightedIds<'_>,
    options: &MergeOptions,
    monitor: &dyn Monitor,
) -> Result<Trained> {
    let WeightedIds { mut ids, ends, counts, held_bytes } = pretokens;
    for id in &mut ids {
        match base.symbol_of_id.get(*id as usize) {
            Some(&symbol) if symbol != NONE => *id = symbol,
            _ => return Err(Error::Invalid(format!("no token has id {id}"))),
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
    let input = Input { items: Items::Symbols(&ids), ends: &ends, counts, base: &base.tokens, named: &[] };
    super::train_tuned(input, options, None, monitor)
}
