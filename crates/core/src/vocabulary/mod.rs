//! The ordinary tokens of a tokenizer and how they merge.
//!
//! Enters: tokens with their ids, and either merges in rank order or nothing more (then the ids are the
//! ranks, as in `.tiktoken` files). Leaves: an immutable [`Vocabulary`] that answers, in constant time,
//! which bytes an id stands for, which id some bytes have, and whether two neighbours merge, at which rank,
//! into what. Cost: linear in the bytes of the tokens. Ids may have gaps; a token may be out of reach of all
//! merges; two ids may have the same bytes, and then the smaller one is the one that bytes are looked up as.

mod byte_adjacency;
mod from_ranks;
mod merge_table;
pub mod rank_merges;

use std::hash::BuildHasher;
use std::sync::OnceLock;

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};

use crate::error::{Error, Result};
use crate::memory::TryReserve;
use byte_adjacency::ByteAdjacency;
use merge_table::MergeTable;
pub(crate) use merge_table::NONE;

/// Ids are below this; the encoder's cache packs an id in three bytes.
pub const MAX_IDS: usize = 1 << 24;

/// Tables by id go up to this, or to [`IDS_PER_TOKEN`] ids for each token if that is more; the few tokens of larger ids
/// are kept in a map. So a table takes no more than a small multiple of what the tokens take, whatever their ids.
const LEAST_DENSE_IDS: usize = 1 << 16;
const IDS_PER_TOKEN: usize = 4;

/// Ranks are below this; the merging of short pretokens packs a rank and a place in one word.
pub const MAX_RANKS: usize = 1 << 26;

/// How many of `n_ids` ids a table by id has, where there are so many tokens; the others belong in a map.
pub(crate) fn n_dense(n_ids: usize, n_tokens: usize) -> usize {
    n_ids.min(n_tokens.saturating_mul(IDS_PER_TOKEN).max(LEAST_DENSE_IDS))
}

/// Tokens as columns: token i has id `ids[i]` and bytes `bytes[ends[i - 1]..ends[i]]` (from 0 for the first).
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    ids: Vec<u32>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Tokens {
    /// No tokens, with room for `n_tokens` of `n_bytes` in all.
    pub fn with_capacity(n_tokens: usize, n_bytes: usize) -> Result<Self> {
        let mut tokens = Tokens::default();
        tokens.ids.try_reserve(n_tokens).map_err(Error::out_of_memory("a vocabulary"))?;
        tokens.ends.try_reserve(n_tokens).map_err(Error::out_of_memory("a vocabulary"))?;
        tokens.bytes.try_reserve(n_bytes).map_err(Error::out_of_memory("a vocabulary"))?;
        Ok(tokens)
    }

    /// Appends a token.
    pub fn push(&mut self, id: u32, bytes: &[u8]) -> Result<()> {
        self.ids.try_reserve(1).map_err(Error::out_of_memory("a vocabulary"))?;
        self.ends.try_reserve(1).map_err(Error::out_of_memory("a vocabulary"))?;
        self.bytes.try_reserve(bytes.len()).map_err(Error::out_of_memory("a vocabulary"))?;
        self.ids.push(id);
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len());
        Ok(())
    }

    /// Tokens from columns that already have this shape; an error when they do not fit together.
    pub fn from_columns(ids: &[u32], bytes: &[u8], ends: &[u64]) -> Result<Self> {
        let mut tokens = Tokens::with_capacity(ids.len(), bytes.len())?;
        let mut start = 0;
        for (&id, &end) in ids.iter().zip(ends) {
            let token = usize::try_from(end).ok().and_then(|end| bytes.get(start..end));
            let Some(token) = token else {
                return Err(Error::Model(format!("the bytes of token {id} are not where its end says")));
            };
            tokens.push(id, token)?;
            start += token.len();
        }
        Ok(tokens)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

/// Where a token's bytes lie.
#[derive(Clone, Copy, Debug)]
struct Slot {
    start: u32,
    /// [`NONE`] for an id without a token.
    len: u32,
}

/// Where the tokens lie, by id.
#[derive(Debug, Default)]
struct Slots {
    near: Vec<Slot>,
    /// Those of ids beyond `near`.
    far: HashMap<u32, Slot>,
    /// The largest id + 1.
    n_ids: usize,
}

impl Slots {
    /// Without tokens, for ids below `n_ids` of so many tokens.
    fn new(n_ids: usize, n_tokens: usize) -> Result<Self> {
        let mut slots = Slots { n_ids, ..Slots::default() };
        let n_near = n_dense(n_ids, n_tokens);
        slots.near.try_resize(n_near, Slot { start: 0, len: NONE }, "a vocabulary")?;
        Ok(slots)
    }

    /// The slot of a token.
    #[inline]
    fn get(&self, id: u32) -> Option<Slot> {
        match self.near.get(id as usize) {
            Some(&slot) => (slot.len != NONE).then_some(slot),
            None => self.far.get(&id).copied(),
        }
    }

    /// Sets the slot of a token; whether it had none.
    fn set(&mut self, id: u32, slot: Slot) -> Result<bool> {
        if let Some(near) = self.near.get_mut(id as usize) {
            return Ok(std::mem::replace(near, slot).len == NONE);
        }
        self.far.try_reserve(1).map_err(Error::out_of_memory("a vocabulary"))?;
        Ok(self.far.insert(id, slot).is_none())
    }

    /// The ids of all tokens, ascending.
    fn ids(&self) -> impl Iterator<Item = u32> {
        let mut far: Vec<u32> = self.far.keys().copied().collect();
        far.sort_unstable();
        let near = (0u32..).zip(&self.near).filter(|(_, slot)| slot.len != NONE);
        near.map(|(id, _)| id).chain(far)
    }
}

/// Where the merges come from.
#[derive(Debug)]
enum Rule {
    /// A list in rank order.
    Merges { list: Vec<[u32; 3]>, ignore_merges: bool },
    /// Every pair whose joined bytes are a token, with that token's id as its rank. The list of one pair a
    /// token is derived when it is asked for.
    Ranks { list: OnceLock<Vec<[u32; 3]>> },
}

/// Tokens, their ids and their merges. Immutable: share one between threads.
#[derive(Debug)]
pub struct Vocabulary {
    bytes: Vec<u8>,
    slots: Slots,
    n_tokens: usize,
    /// Ids by the hash of their bytes.
    ids: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// The id of each single byte, or [`NONE`].
    byte_ids: Box<[u32; 256]>,
    pairs: MergeTable,
    /// What each rank makes.
    merged_id: MergedIds,
    reach: ByteAdjacency,
    rule: Rule,
}

/// The ids that merges make, by rank.
#[derive(Debug)]
enum MergedIds {
    /// Consecutive ids from this one on, as training gives them.
    From(u32),
    /// Any.
    Listed(Vec<u32>),
}

impl Vocabulary {
    /// Tokens that merge as `merges` says: left id, right id and the id they make, in rank order.
    ///
    /// Where a pair is listed twice the first counts. With `ignore_merges` a pretoken that is a token is that
    /// token, whatever the merges say (`ignore_merges` in HuggingFace files).
    pub fn from_merges(tokens: Tokens, merges: Vec<[u32; 3]>, ignore_merges: bool) -> Result<Self> {
        let mut vocabulary = Self::without_merges(tokens)?;
        if merges.len() > MAX_RANKS {
            return Err(Error::Model(format!("{} merges are too many; most is {MAX_RANKS}", merges.len())));
        }
        vocabulary.pairs = MergeTable::new(vocabulary.slots.n_ids, merges.len(), merges.len())?;
        vocabulary.merged_id = MergedIds::by_rank(&merges)?;
        for (rank, &merge) in merges.iter().enumerate() {
            vocabulary.check_merge(rank, merge)?;
            vocabulary.add_pair(merge[0], merge[1], rank as u32);
        }
        vocabulary.rule = Rule::Merges { list: merges, ignore_merges };
        Ok(vocabulary)
    }

    fn check_merge(&self, rank: usize, [left, right, merged_id]: [u32; 3]) -> Result<()> {
        let (Some(left_bytes), Some(right_bytes), Some(made_bytes)) =
            (self.token(left), self.token(right), self.token(merged_id))
        else {
            return Err(Error::Model(format!(
                "merge {rank} ({left}, {right}) -> {merged_id} names an id without a token; add the token or \
                 drop the merge"
            )));
        };
        if made_bytes.strip_prefix(left_bytes) != Some(right_bytes) {
            return Err(Error::Model(format!(
                "merge {rank} ({left}, {right}) makes token {merged_id}, whose bytes are not the two joined"
            )));
        }
        Ok(())
    }

    /// Tokens whose ids are their ranks: two neighbours merge, at every place, when their joined bytes are
    /// a token, the smallest id first; a pretoken that is a token is that token. No two tokens are equal.
    pub fn from_ranks(tokens: Tokens) -> Result<Self> {
        let mut vocabulary = Self::without_merges(tokens)?;
        if vocabulary.ids.len() != vocabulary.n_tokens {
            return Err(Error::Model("two ids have the same bytes; ranks need each token once".into()));
        }
        vocabulary.rule = Rule::Ranks { list: OnceLock::new() };
        let pairs = from_ranks::pairs(&vocabulary)?;
        vocabulary.pairs = MergeTable::new(vocabulary.slots.n_ids, vocabulary.slots.n_ids, pairs.len())?;
        for [left, right, merged_id] in pairs {
            vocabulary.add_pair(left, right, merged_id);
        }
        Ok(vocabulary)
    }

    fn without_merges(tokens: Tokens) -> Result<Self> {
        const WHAT: &str = "a vocabulary";
        let n_ids = tokens.ids.iter().max().map_or(0, |&largest| largest as usize + 1);
        if n_ids > MAX_IDS {
            return Err(Error::Model(format!(
                "token id {} is too large; ids end at {}",
                n_ids - 1,
                MAX_IDS - 1
            )));
        }
        if u32::try_from(tokens.bytes.len()).is_err() {
            return Err(Error::Model("the tokens hold more than 4 GiB of bytes".into()));
        }
        let mut slots = Slots::new(n_ids, tokens.len())?;
        let mut start = 0;
        for (&id, &end) in tokens.ids.iter().zip(&tokens.ends) {
            if !slots.set(id, Slot { start: start as u32, len: (end - start) as u32 })? {
                return Err(Error::Model(format!("token id {id} is given twice; ids are distinct")));
            }
            start = end;
        }
        let hasher = DefaultHashBuilder::default();
        let mut ids = HashTable::new();
        ids.try_reserve(tokens.ids.len(), |_| 0).map_err(Error::out_of_memory(WHAT))?;
        let mut vocabulary = Vocabulary {
            n_tokens: tokens.ids.len(),
            bytes: tokens.bytes,
            slots,
            ids,
            hasher,
            byte_ids: Box::new([NONE; 256]),
            pairs: MergeTable::new(0, 0, 0)?,
            merged_id: MergedIds::From(0),
            reach: ByteAdjacency::default(),
            rule: Rule::Merges { list: Vec::new(), ignore_merges: false },
        };
        vocabulary.index_bytes();
        Ok(vocabulary)
    }

    /// Fills `ids` and `byte_ids`; there is room.
    fn index_bytes(&mut self) {
        let Vocabulary { bytes, slots, ids, hasher, byte_ids, reach, .. } = self;
        let token = |id: u32| slots.get(id).map_or(&[][..], |slot| slot_bytes(bytes, slot));
        for id in slots.ids() {
            let own = token(id);
            let hash = hasher.hash_one(own);
            if ids.find(hash, |&other| token(other) == own).is_none() {
                ids.insert_unique(hash, id, |&other| hasher.hash_one(token(other)));
                reach.add(own);
                if let &[byte] = own {
                    byte_ids[usize::from(byte)] = id;
                }
            }
        }
    }

    fn add_pair(&mut self, left: u32, right: u32, rank: u32) {
        self.pairs.insert(left, right, rank);
        if let (Some(&[l]), Some(&[r])) = (self.token(left), self.token(right))
            && self.byte_ids[usize::from(l)] == left
            && self.byte_ids[usize::from(r)] == right
        {
            self.pairs.insert_bytes(l, r, rank);
        }
    }

    /// The bytes of `id`.
    pub fn token(&self, id: u32) -> Option<&[u8]> {
        self.slots.get(id).map(|slot| slot_bytes(&self.bytes, slot))
    }

    /// The id of a token with exactly these bytes.
    pub fn id_of(&self, bytes: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(bytes);
        self.ids.find(hash, |&id| self.token(id) == Some(bytes)).copied()
    }

    /// The id of a single byte.
    #[inline]
    pub fn id_of_byte(&self, byte: u8) -> Option<u32> {
        Some(self.byte_ids[usize::from(byte)]).filter(|&id| id != NONE)
    }

    /// The largest id + 1.
    pub fn n_ids(&self) -> usize {
        self.slots.n_ids
    }

    /// How many tokens there are.
    pub fn n_tokens(&self) -> usize {
        self.n_tokens
    }

    /// All tokens in the order of their ids.
    pub fn tokens(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.slots.ids().filter_map(|id| Some((id, self.token(id)?)))
    }

    /// The merges in rank order: left id, right id, the id they make.
    ///
    /// From ranks: one pair for each token that merges can reach, the one that makes it of its own bytes.
    pub fn merges(&self) -> Result<&[[u32; 3]]> {
        let derived = match &self.rule {
            Rule::Merges { list, .. } => return Ok(list),
            Rule::Ranks { list } => list,
        };
        match derived.get() {
            Some(list) => Ok(list),
            None => {
                let list = from_ranks::canonical_merges(self)?;
                Ok(derived.get_or_init(|| list))
            }
        }
    }

    /// Whether pairs merge by the rank of their joined bytes.
    pub fn is_from_ranks(&self) -> bool {
        matches!(self.rule, Rule::Ranks { .. })
    }

    /// Whether a pretoken that is a token is that token, whatever the merges say.
    #[inline]
    pub fn ignores_merges(&self) -> bool {
        match self.rule {
            Rule::Merges { ignore_merges, .. } => ignore_merges,
            Rule::Ranks { .. } => true,
        }
    }

    /// The rank at which two neighbours merge, and the id that they make.
    pub fn pair(&self, left: u32, right: u32) -> Option<(u32, u32)> {
        if left as usize >= self.slots.n_ids || right as usize >= self.slots.n_ids {
            return None;
        }
        let rank = self.pair_rank(left, right);
        (rank != NONE).then(|| (rank, self.merged_id(rank)))
    }

    /// The rank at which two neighbours merge, or [`NONE`].
    #[inline(always)]
    pub(crate) fn pair_rank(&self, left: u32, right: u32) -> u32 {
        self.pairs.rank(left, right)
    }

    /// The rank at which two neighbouring bytes merge, or [`NONE`].
    #[inline]
    pub(crate) fn byte_pair_rank(&self, left: u8, right: u8) -> u32 {
        self.pairs.byte_rank(left, right)
    }

    /// SafeCuts a pretoken into parts that no merge ever joins.
    #[inline]
    pub(crate) fn parts<'a>(&'a self, pretoken: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        self.reach.parts(pretoken)
    }

    /// All ranks are below this.
    pub(crate) fn n_ranks(&self) -> usize {
        match &self.merged_id {
            MergedIds::From(first) => self.slots.n_ids.saturating_sub(*first as usize),
            MergedIds::Listed(ids) => ids.len(),
        }
    }

    /// The id that the merge of this rank makes.
    #[inline]
    pub(crate) fn merged_id(&self, rank: u32) -> u32 {
        match &self.merged_id {
            MergedIds::From(first) => first + rank,
            MergedIds::Listed(ids) => ids[rank as usize],
        }
    }
}

impl MergedIds {
    fn by_rank(merges: &[[u32; 3]]) -> Result<Self> {
        let first = merges.first().map_or(0, |merge| merge[2]);
        if (first..).zip(merges).all(|(id, merge)| merge[2] == id) {
            return Ok(MergedIds::From(first));
        }
        let mut ids = Vec::with_room(merges.len(), "a vocabulary")?;
        ids.extend(merges.iter().map(|merge| merge[2]));
        Ok(MergedIds::Listed(ids))
    }
}

#[inline]
fn slot_bytes(bytes: &[u8], slot: Slot) -> &[u8] {
    &bytes[slot.start as usize..][..slot.len as usize]
}

#[cfg(test)]
mod tests;
