//! The vocabulary: tokens, their ids, and how they merge.
//!
//! It is built from tokens with ids and a list of merges in rank order, or from tokens alone if the ids are the ranks,
//! as in `.tiktoken` files. An immutable [`Vocabulary`] answers in constant time which bytes an id has, which id some
//! bytes have, and whether two adjacent tokens merge, at which rank and into which token (`merge_table.rs`). Building
//! takes linear time in the bytes of the tokens. Ids can have gaps, and some tokens may be unreachable by merges. If
//! several ids have the same bytes, looking these up finds the smallest id.

mod byte_adjacency;
pub mod characters;
mod from_characters;
mod merge_table;
pub mod rank_merges;

use std::hash::BuildHasher;
use std::ops::Range;

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};

use crate::error::{Error, Result};
use crate::memory::{TryReserve, copied, filled};
use byte_adjacency::ByteAdjacency;
use characters::Characters;
use merge_table::MergeTable;
pub(crate) use merge_table::NONE;

/// All ids are below this: the encoder's cache stores an id in three bytes.
pub const MAX_IDS: usize = 1 << 24;

/// Tables indexed by id have up to this many entries, or [`IDS_PER_TOKEN`] for each token if that is more; larger ids
/// are in a hash map. So a table takes no more than a small multiple of the memory of the tokens, whatever their ids.
const MIN_DENSE_IDS: usize = 1 << 16;
const IDS_PER_TOKEN: usize = 4;

/// All ranks are below this: merging short pretokens packs a rank and an offset in one word.
pub const MAX_RANKS: usize = 1 << 26;

/// Returns the size of a table indexed by id, for `n_tokens` tokens with ids below `n_ids`; larger ids belong in a map.
pub(crate) fn n_dense(n_ids: usize, n_tokens: usize) -> usize {
    n_ids.min(n_tokens.saturating_mul(IDS_PER_TOKEN).max(MIN_DENSE_IDS))
}

/// Named in the message of [`Error::OutOfMemory`].
const WHAT: &str = "a vocabulary";

/// Tokens as columns: token i has id `ids[i]` and bytes `bytes[ends[i - 1]..ends[i]]` (from 0 for the first).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// The id of each token.
    pub ids: Vec<u32>,
    /// The bytes of all tokens, one after the other.
    pub bytes: Vec<u8>,
    /// The end of each token in `bytes`.
    pub ends: Vec<u64>,
}

impl Tokens {
    /// Creates an empty list with room for `n` tokens of `n_bytes` bytes in all.
    pub fn with_room(n: usize, n_bytes: usize) -> Result<Self> {
        Ok(Tokens {
            ids: Vec::with_reserved(n, WHAT)?,
            bytes: Vec::with_reserved(n_bytes, WHAT)?,
            ends: Vec::with_reserved(n, WHAT)?,
        })
    }

    /// Appends a token.
    pub fn push(&mut self, id: u32, bytes: &[u8]) -> Result<()> {
        self.bytes.try_extend(bytes, WHAT)?;
        self.end(id)
    }

    /// Appends the token that joins the tokens at two indices.
    pub(crate) fn push_joined(&mut self, id: u32, parts: [usize; 2]) -> Result<()> {
        for part in parts {
            let span = self.span(part);
            self.bytes.grow(span.len(), WHAT)?;
            self.bytes.extend_from_within(span);
        }
        self.end(id)
    }

    /// Ends the token whose bytes were appended to `bytes`.
    pub(crate) fn end(&mut self, id: u32) -> Result<()> {
        self.ids.try_push(id, WHAT)?;
        self.ends.try_push(self.bytes.len() as u64, WHAT)
    }

    /// Removes the tokens from index `n` on.
    pub(crate) fn truncate(&mut self, n: usize) {
        self.ids.truncate(n);
        self.ends.truncate(n);
        self.bytes.truncate(self.ends.last().map_or(0, |&end| end as usize));
    }

    fn span(&self, index: usize) -> Range<usize> {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        start as usize..self.ends[index] as usize
    }

    /// Returns the bytes of the token at `index`.
    pub fn token(&self, index: usize) -> &[u8] {
        &self.bytes[self.span(index)]
    }

    /// Iterates over the ids and bytes.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u32, &[u8])> {
        self.ids.iter().enumerate().map(|(index, &id)| (id, self.token(index)))
    }

    /// Sorts by id; tokens of equal id keep their order.
    pub(crate) fn sorted(self) -> Result<Self> {
        if self.ids.is_sorted() {
            return Ok(self);
        }
        let mut order: Vec<usize> = Vec::with_reserved(self.ids.len(), WHAT)?;
        order.extend(0..self.ids.len());
        order.sort_unstable_by_key(|&index| (self.ids[index], index));
        let mut sorted = Tokens::with_room(self.ids.len(), self.bytes.len())?;
        order.into_iter().try_for_each(|index| sorted.push(self.ids[index], self.token(index)))?;
        Ok(sorted)
    }

    /// Returns a copy, or [`Error::OutOfMemory`].
    pub fn try_clone(&self) -> Result<Self> {
        let (ids, ends) = (copied(&self.ids, WHAT)?, copied(&self.ends, WHAT)?);
        Ok(Tokens { ids, bytes: copied(&self.bytes, WHAT)?, ends })
    }
}

/// Where the bytes of a token are in [`Vocabulary::bytes`].
#[derive(Clone, Copy, Debug, PartialEq)]
struct Span {
    start: u32,
    len: u32,
}

/// The span of an id without a token.
const NO_SPAN: Span = Span { start: 0, len: NONE };

/// A value for each token, by id.
#[derive(Debug)]
pub(crate) struct ById<T> {
    dense: Vec<T>,
    /// The element of `dense` that stands for no value.
    none: T,
    /// The values of ids beyond `dense`.
    sparse: HashMap<u32, T>,
}

impl<T: Copy + PartialEq> ById<T> {
    /// Creates a table without values, for `n_tokens` tokens with ids below `n_ids`.
    pub(crate) fn new(n_ids: usize, n_tokens: usize, none: T) -> Result<Self> {
        Ok(ById { dense: filled(n_dense(n_ids, n_tokens), none, WHAT)?, none, sparse: HashMap::new() })
    }

    #[inline]
    pub(crate) fn get(&self, id: u32) -> Option<T> {
        match self.dense.get(id as usize) {
            Some(&value) => (value != self.none).then_some(value),
            None => self.sparse.get(&id).copied(),
        }
    }

    /// Sets the value of a token; returns whether the id had none before.
    #[inline]
    pub(crate) fn set(&mut self, id: u32, value: T) -> Result<bool> {
        if let Some(dense) = self.dense.get_mut(id as usize) {
            return Ok(std::mem::replace(dense, value) == self.none);
        }
        self.sparse.try_reserve(1).map_err(Error::out_of_memory(WHAT))?;
        Ok(self.sparse.insert(id, value).is_none())
    }

    /// Returns the ids of all tokens, ascending.
    fn ids(&self) -> impl Iterator<Item = u32> {
        let mut sparse: Vec<u32> = self.sparse.keys().copied().collect();
        sparse.sort_unstable();
        let dense = (0u32..).zip(&self.dense).filter(|(_, value)| **value != self.none);
        dense.map(|(id, _)| id).chain(sparse)
    }
}

/// Tokens, their ids and their merges. Immutable, so threads can share one.
#[derive(Debug)]
pub struct Vocabulary {
    bytes: Vec<u8>,
    spans: ById<Span>,
    /// The largest id + 1.
    n_ids: usize,
    n_tokens: usize,
    /// Ids by the hash of their bytes.
    ids: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// The id of each single byte, or [`NONE`].
    byte_ids: Box<[u32; 256]>,
    merge_table: MergeTable,
    /// The id of the token that the merge of each rank makes.
    merged_ids: MergedIds,
    adjacency: ByteAdjacency,
    /// Left id, right id and merged id of each merge, in rank order.
    merges: Vec<[u32; 3]>,
    /// Whether a pretoken that is a token is encoded as that token without merging.
    ignores_merges: bool,
    /// Set if merging starts with characters; `byte_ids` are then the tokens of fallback bytes.
    characters: Option<Characters>,
}

/// The ids that merges make, by rank.
#[derive(Debug)]
enum MergedIds {
    /// Consecutive ids that start at this one, as training assigns them.
    From(u32),
    /// Any ids.
    Listed(Vec<u32>),
}

impl Vocabulary {
    /// Creates a vocabulary whose tokens merge by a list of left id, right id and merged id, in rank order.
    ///
    /// Merges must be of tokens and make their joined bytes, as in [`CheckedColumns`](crate::model::CheckedColumns); if a pair is
    /// listed twice, the first one counts. With `ignore_merges`, as in HuggingFace's files, a pretoken that is a token
    /// is encoded as that token without merging.
    pub fn from_merges(tokens: Tokens, merges: Vec<[u32; 3]>, ignore_merges: bool) -> Result<Self> {
        Self::with_merges(Self::without_merges(tokens, &[])?, merges, ignore_merges)
    }

    fn with_merges(mut vocabulary: Self, merges: Vec<[u32; 3]>, ignore_merges: bool) -> Result<Self> {
        if merges.len() > MAX_RANKS {
            return Err(Error::Model(format!(
                "{} merges are too many; at most {MAX_RANKS} are allowed",
                merges.len()
            )));
        }
        vocabulary.merge_table = MergeTable::new(vocabulary.n_ids, merges.len(), merges.len())?;
        vocabulary.merged_ids = MergedIds::by_rank(&merges)?;
        for (rank, &merge) in merges.iter().enumerate() {
            vocabulary.add_pair(merge[0], merge[1], rank as u32);
        }
        (vocabulary.merges, vocabulary.ignores_merges) = (merges, ignore_merges);
        Ok(vocabulary)
    }

    /// Creates a vocabulary whose ids are ranks: two adjacent tokens merge if their joined bytes are a token, the
    /// smallest id first. A pretoken that is a token is encoded as that token. All tokens must be distinct.
    ///
    /// Its merges are one pair for each token that merging can make, which encodes every text alike ([`rank_merges`]).
    pub fn from_ranks(tokens: Tokens) -> Result<Self> {
        let vocabulary = Self::without_merges(tokens, &[])?;
        if vocabulary.ids.len() != vocabulary.n_tokens {
            return Err(Error::Model(
                "two ids have the same bytes; with ranks, each token must be unique".into(),
            ));
        }
        let mut ranked = Tokens::with_room(vocabulary.n_tokens, vocabulary.bytes.len())?;
        vocabulary.tokens().try_for_each(|(id, token)| ranked.push(id, token))?;
        // A token that contains a byte without a token cannot be made from bytes.
        let has_bytes = |token: &[u8]| token.iter().all(|&byte| vocabulary.id_of_byte(byte).is_some());
        let mut merges = rank_merges::pairs(&ranked.bytes, &ranked.ends)?.rows;
        merges.iter_mut().for_each(|merge| *merge = merge.map(|token| ranked.ids[token as usize]));
        merges.retain(|merge| vocabulary.token(merge[2]).is_some_and(has_bytes));
        Self::with_merges(vocabulary, merges, true)
    }

    /// Creates a vocabulary without merges; tokens of `fallback` are not found by their bytes.
    fn without_merges(tokens: Tokens, fallback: &[u32]) -> Result<Self> {
        let n_ids = tokens.ids.iter().max().map_or(0, |&largest| largest as usize + 1);
        if n_ids > MAX_IDS {
            return Err(Error::Model(format!(
                "token id {} is too large; the largest id is {}",
                n_ids - 1,
                MAX_IDS - 1
            )));
        }
        if u32::try_from(tokens.bytes.len()).is_err() {
            return Err(Error::Model("the tokens have more than 4 GiB of bytes in all".into()));
        }
        let mut spans = ById::new(n_ids, tokens.ids.len(), NO_SPAN)?;
        let mut start = 0;
        for (&id, &end) in tokens.ids.iter().zip(&tokens.ends) {
            if !spans.set(id, Span { start, len: end as u32 - start })? {
                return Err(Error::Model(format!("two tokens have id {id}; give each token its own id")));
            }
            start = end as u32;
        }
        let hasher = DefaultHashBuilder::default();
        let mut ids = HashTable::new();
        ids.try_reserve(tokens.ids.len(), |_| 0).map_err(Error::out_of_memory(WHAT))?;
        let mut vocabulary = Vocabulary {
            n_tokens: tokens.ids.len(),
            bytes: tokens.bytes,
            spans,
            n_ids,
            ids,
            hasher,
            byte_ids: Box::new([NONE; 256]),
            merge_table: MergeTable::new(0, 0, 0)?,
            merged_ids: MergedIds::From(0),
            adjacency: ByteAdjacency::default(),
            merges: Vec::new(),
            ignores_merges: false,
            characters: None,
        };
        vocabulary.index_bytes(fallback);
        Ok(vocabulary)
    }

    /// Fills `ids`, which has enough capacity, `byte_ids` and `adjacency`.
    fn index_bytes(&mut self, fallback: &[u32]) {
        let Vocabulary { bytes, spans, ids, hasher, byte_ids, adjacency, .. } = self;
        let token = |id: u32| spans.get(id).map_or(&[][..], |span| span_bytes(bytes, span));
        for id in spans.ids() {
            let own = token(id);
            if let (true, &[byte]) = (fallback.binary_search(&id).is_ok(), own) {
                byte_ids[usize::from(byte)] = id;
                continue;
            }
            let hash = hasher.hash_one(own);
            if ids.find(hash, |&other| token(other) == own).is_none() {
                ids.insert_unique(hash, id, |&other| hasher.hash_one(token(other)));
                adjacency.add(own);
                if let (true, &[byte]) = (fallback.is_empty(), own) {
                    byte_ids[usize::from(byte)] = id;
                }
            }
        }
    }

    fn add_pair(&mut self, left: u32, right: u32, rank: u32) {
        self.merge_table.insert(left, right, rank);
        if let (Some(&[l]), Some(&[r])) = (self.token(left), self.token(right))
            && self.byte_ids[usize::from(l)] == left
            && self.byte_ids[usize::from(r)] == right
        {
            self.merge_table.insert_bytes(l, r, rank);
        }
    }

    /// Returns the vocabulary of single bytes and of the tokens that `merges`, some of this vocabulary's, make of them.
    pub(crate) fn restricted_to(&self, merges: &[[u32; 3]]) -> Result<Self> {
        let is_byte =
            |id: u32, token: &[u8]| matches!(token, &[byte] if self.byte_ids[usize::from(byte)] == id);
        let mut made = Vec::with_reserved(merges.len(), WHAT)?;
        made.extend(merges.iter().map(|merge| merge[2]));
        made.sort_unstable();
        let is_made = |id: u32| {
            made.binary_search(&id).is_ok() || self.token(id).is_some_and(|token| is_byte(id, token))
        };
        let mut tokens = Tokens::default();
        for (id, token) in self.tokens().filter(|&(id, _)| is_made(id)) {
            tokens.push(id, token)?;
        }
        // Leave out a merge if a part of it is a token that none of these merges makes.
        let mut kept = Vec::with_reserved(merges.len(), WHAT)?;
        kept.extend(merges.iter().filter(|merge| is_made(merge[0]) && is_made(merge[1])));
        Self::from_merges(tokens, kept, false)
    }

    /// Returns the bytes of `id`.
    pub fn token(&self, id: u32) -> Option<&[u8]> {
        self.spans.get(id).map(|span| span_bytes(&self.bytes, span))
    }

    /// Returns the id of the token with exactly these bytes.
    pub fn id_of(&self, bytes: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(bytes);
        self.ids.find(hash, |&id| self.token(id) == Some(bytes)).copied()
    }

    /// Returns the id of a single byte.
    #[inline]
    pub fn id_of_byte(&self, byte: u8) -> Option<u32> {
        Some(self.byte_ids[usize::from(byte)]).filter(|&id| id != NONE)
    }

    /// Returns the largest id + 1.
    pub fn n_ids(&self) -> usize {
        self.n_ids
    }

    /// Returns the number of tokens.
    pub fn n_tokens(&self) -> usize {
        self.n_tokens
    }

    /// Returns all tokens in the order of their ids.
    pub fn tokens(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.spans.ids().filter_map(|id| Some((id, self.token(id)?)))
    }

    /// Returns the merges in rank order: left id, right id, merged id.
    pub fn merges(&self) -> &[[u32; 3]] {
        &self.merges
    }

    /// Returns whether a pretoken that is a token is encoded as that token without merging.
    #[inline]
    pub fn ignores_merges(&self) -> bool {
        self.ignores_merges
    }

    /// Returns the rank and the merged id of a pair, if it merges.
    pub fn pair(&self, left: u32, right: u32) -> Option<(u32, u32)> {
        if left as usize >= self.n_ids || right as usize >= self.n_ids {
            return None;
        }
        let rank = self.pair_rank(left, right);
        (rank != NONE).then(|| (rank, self.merged_id(rank)))
    }

    /// Returns the rank of a pair, or [`NONE`]. Both ids must be below [`Vocabulary::n_ids`].
    #[inline(always)]
    pub(crate) fn pair_rank(&self, left: u32, right: u32) -> u32 {
        self.merge_table.rank(left, right)
    }

    /// Prefetches what [`Self::pair_rank`] reads.
    #[inline(always)]
    pub(crate) fn prefetch_pair(&self, left: u32, right: u32) {
        self.merge_table.prefetch(left, right);
    }

    /// Returns an id of no token, for both sides of a pretoken: its [`Self::pair_rank`] with any token is [`NONE`].
    #[inline]
    pub(crate) fn edge_id(&self) -> u32 {
        self.merge_table.edge_id()
    }

    /// Returns the rank of a pair of bytes, or [`NONE`].
    #[inline]
    pub(crate) fn byte_pair_rank(&self, left: u8, right: u8) -> u32 {
        self.merge_table.byte_rank(left, right)
    }

    /// Splits a pretoken into parts that no merge ever joins.
    #[inline]
    pub(crate) fn parts<'a>(&'a self, pretoken: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        self.adjacency.parts(pretoken)
    }

    /// Writes the ends of these parts, as [`ByteAdjacency::ends`].
    pub(crate) fn part_ends(&self, pretoken: &[u8], start: u32, ends: &mut [u32]) -> usize {
        self.adjacency.ends(pretoken, start, ends)
    }

    /// Returns a number that all ranks are below.
    pub(crate) fn n_ranks(&self) -> usize {
        match &self.merged_ids {
            MergedIds::From(first) => self.n_ids.saturating_sub(*first as usize),
            MergedIds::Listed(ids) => ids.len(),
        }
    }

    /// Returns the merged id of a rank.
    #[inline]
    pub(crate) fn merged_id(&self, rank: u32) -> u32 {
        match &self.merged_ids {
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
        let mut ids = Vec::with_reserved(merges.len(), WHAT)?;
        ids.extend(merges.iter().map(|merge| merge[2]));
        Ok(MergedIds::Listed(ids))
    }
}

#[inline]
fn span_bytes(bytes: &[u8], span: Span) -> &[u8] {
    &bytes[span.start as usize..][..span.len as usize]
}

#[cfg(test)]
mod tests;
