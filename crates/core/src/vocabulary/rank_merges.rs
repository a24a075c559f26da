//! Derives merges from ranks: for each token of a rank vocabulary, the one pair that makes it.
//!
//! In a rank vocabulary two adjacent tokens merge if their joined bytes are a token, the least rank first, leftmost
//! first (tiktoken's rule). Merging by the derived pairs instead, in the order of the tokens that they make, encodes
//! every text to the same ids.
//!
//! Why one pair is enough: take any section of a text whose two ends no merge has crossed so far. The merges within it
//! are those that would be made, in the same order, if the section were the whole text: whenever one of them is the
//! least and leftmost of the text, it is also the least and leftmost of the section, and nothing outside changes the
//! inside. Now let x and y be adjacent tokens that merge into t. Their section has the bytes of t, so encoding these
//! bytes alone passes through the state `[x, y]`. The only state that can follow a state of two tokens is `[t]`, so the
//! pair is the same wherever t is made.
//!
//! If merging the bytes of a token ends in three or more tokens, that token is never made by merging; an encoder that
//! looks up whole pretokens may still return it.
//!
//! The pairs found so far help to find those of later tokens (`KnownPairs`): nearly all tokens are short and joined
//! from tokens of lower ranks, and looking up pairs of ids is faster than looking up joined bytes. `Encoder` finds the
//! others.
//!
//! Cost: O(n log n) in the bytes of all tokens; 200,000 tokens take some 50 ms. The proofs of rust-gems' `bpe` crate
//! use the idea of an independent section, too.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hashbrown::HashMap;

use super::merge_table::MergeTable;
use crate::error::{Error, Result};
use crate::memory::TryReserve;

/// The pairs of a rank vocabulary, in which tokens are ranks.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Left, right and merged token, ascending by the merged token.
    pub rows: Vec<[u32; 3]>,
    /// Tokens of several bytes that merging never makes.
    pub unreachable: Vec<u32>,
    /// Tokens made from a byte that is not a token; they have no row.
    pub with_missing_byte: Vec<u32>,
}

/// Finds the pairs of tokens. The token of rank i is `bytes[ends[i - 1]..ends[i]]` (from 0 for the first).
pub fn pairs(bytes: &[u8], ends: &[u64]) -> Result<Pairs> {
    let n_tokens = ends.len();
    // If ranks are too large for its table, `Encoder` finds all pairs.
    let mut known = KnownPairs::new(bytes, ends).ok();
    let mut general = None;
    let mut found = Pairs { rows: Vec::with_reserved(n_tokens, "pairs")?, ..Pairs::default() };
    for merged in 0..n_tokens as u32 {
        let token = token_at(bytes, ends, merged as usize);
        if token.len() < 2 {
            continue;
        }
        let last_two = match known.as_mut().and_then(|known| known.last_two(token)) {
            Some(pair) => Some(pair),
            None => {
                let general = match &mut general {
                    Some(general) => general,
                    None => general.insert(Encoder::new(bytes, ends)?),
                };
                general.last_two(merged)?
            }
        };
        match last_two {
            Some([left, right]) if (left as usize) < n_tokens && (right as usize) < n_tokens => {
                found.rows.push([left, right, merged]);
                known.iter_mut().for_each(|known| known.insert(token, [left, right], merged));
            }
            Some(_) => found.with_missing_byte.push(merged),
            None => found.unreachable.push(merged),
        }
    }
    Ok(found)
}

/// Returns the token of a rank.
fn token_at<'a>(bytes: &'a [u8], ends: &[u64], rank: usize) -> &'a [u8] {
    let start = if rank == 0 { 0 } else { ends[rank - 1] };
    bytes.get(start as usize..ends[rank] as usize).unwrap_or_default()
}

/// The longest token that [`KnownPairs`] merges: it looks at all pairs before each merge.
const MAX_SHORT: usize = 128;

/// The pairs found so far: those of all tokens of lower rank than the current one.
///
/// If merging a token by them leaves two symbols, merging it by ranks leaves the same two: that takes the least rank
/// first, too, so it makes the same steps. If more are left, a token of higher rank may be part of the token;
/// [`Encoder`] handles that.
struct KnownPairs {
    table: MergeTable,
    /// The ranks of single bytes, or [`NO_TOKEN`].
    rank_of_byte: [u32; 256],
    /// The symbols of the current token.
    symbols: [u32; MAX_SHORT],
    /// The rank of the pair of each symbol and the next one.
    merged: [u32; MAX_SHORT],
}

impl KnownPairs {
    fn new(bytes: &[u8], ends: &[u64]) -> Result<Self> {
        let mut rank_of_byte = [NO_TOKEN; 256];
        for rank in 0..ends.len() {
            if let &[byte] = token_at(bytes, ends, rank) {
                rank_of_byte[usize::from(byte)] = rank as u32;
            }
        }
        let table = MergeTable::new(ends.len(), ends.len(), ends.len())?;
        Ok(KnownPairs { table, rank_of_byte, symbols: [0; MAX_SHORT], merged: [0; MAX_SHORT] })
    }

    /// Adds the pair of a token.
    fn insert(&mut self, token: &[u8], [left, right]: [u32; 2], merged: u32) {
        match *token {
            [first, second] => self.table.insert_bytes(first, second, merged),
            _ => self.table.insert(left, right, merged),
        }
    }

    /// Returns the last two symbols of a token, if pairs of lower ranks lead to them.
    fn last_two(&mut self, token: &[u8]) -> Option<[u32; 2]> {
        if token.len() > MAX_SHORT {
            return None;
        }
        let KnownPairs { table, rank_of_byte, symbols, merged } = self;
        let mut n = token.len();
        for (symbol, &byte) in symbols.iter_mut().zip(token) {
            *symbol = rank_of_byte[usize::from(byte)];
            if *symbol == NO_TOKEN {
                return None;
            }
        }
        for (at, pair) in token.windows(2).enumerate() {
            merged[at] = table.byte_rank(pair[0], pair[1]);
        }
        while n > 2 {
            // The least rank, leftmost first; `NO_TOKEN` is the greatest number.
            let (mut at, mut least) = (0, NO_TOKEN);
            for (index, &rank) in merged[..n - 1].iter().enumerate() {
                if rank < least {
                    (at, least) = (index, rank);
                }
            }
            if least == NO_TOKEN {
                return None;
            }
            symbols[at] = least;
            symbols.copy_within(at + 2..n, at + 1);
            merged.copy_within(at + 1..n - 1, at);
            n -= 1;
            if at + 1 < n {
                merged[at] = table.rank(least, symbols[at + 1]);
            }
            if at > 0 {
                merged[at - 1] = table.rank(symbols[at - 1], least);
            }
        }
        Some([symbols[0], symbols[1]])
    }
}

const NO_TOKEN: u32 = u32::MAX;
const NONE: usize = usize::MAX;

/// A token of the text being encoded, in a doubly linked list.
struct Symbol {
    token: u32,
    previous: usize,
    next: usize,
}

/// Encodes by ranks. A symbol is the rank of a token, or the number of tokens plus a byte that is not a token.
struct Encoder<'a> {
    tokens: Vec<&'a [u8]>,
    rank_of: HashMap<&'a [u8], u32>,
    symbol_of_byte: [u32; 256],
    /// The token made from two symbols, or [`NO_TOKEN`]: a cache of lookups by bytes.
    joined: HashMap<(u32, u32), u32>,
    joined_bytes: Vec<u8>,
    symbols: Vec<Symbol>,
    /// (merged token, index of the left symbol, left, right). An entry is stale once either symbol has changed.
    heap: BinaryHeap<Reverse<(u32, usize, u32, u32)>>,
}

static BYTES: [u8; 256] = {
    let mut bytes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        bytes[byte] = byte as u8;
        byte += 1;
    }
    bytes
};

impl<'a> Encoder<'a> {
    fn new(bytes: &'a [u8], ends: &[u64]) -> Result<Self> {
        let mut tokens: Vec<&[u8]> = Vec::with_reserved(ends.len(), "tokens")?;
        let mut rank_of = HashMap::new();
        rank_of.try_reserve(ends.len()).map_err(Error::out_of_memory("token map"))?;
        let starts = std::iter::once(0).chain(ends.iter().copied());
        for (start, &end) in starts.zip(ends) {
            let token = bytes.get(start as usize..end as usize).unwrap_or_default();
            rank_of.insert(token, tokens.len() as u32);
            tokens.push(token);
        }
        let mut symbol_of_byte = [NO_TOKEN; 256];
        for (byte, symbol) in symbol_of_byte.iter_mut().enumerate() {
            let token = &BYTES[byte..=byte];
            *symbol = rank_of.get(token).copied().unwrap_or((tokens.len() + byte) as u32);
        }
        Ok(Encoder {
            tokens,
            rank_of,
            symbol_of_byte,
            joined: HashMap::new(),
            joined_bytes: Vec::new(),
            symbols: Vec::new(),
            heap: BinaryHeap::new(),
        })
    }

    fn bytes(&self, symbol: u32) -> &'a [u8] {
        let symbol = symbol as usize;
        match self.tokens.get(symbol) {
            Some(token) => token,
            None => BYTES.get(symbol - self.tokens.len()..=symbol - self.tokens.len()).unwrap_or_default(),
        }
    }

    /// Encodes a token's bytes alone until two symbols are left; `None` if merging ends before that.
    fn last_two(&mut self, token: u32) -> Result<Option<[u32; 2]>> {
        let text = self.bytes(token);
        self.symbols.clear();
        self.heap.clear();
        self.symbols.grow(text.len(), "symbols")?;
        self.heap.try_reserve(2 * text.len()).map_err(Error::out_of_memory("heap"))?;
        let last = text.len() - 1;
        for (at, &byte) in text.iter().enumerate() {
            self.symbols.push(Symbol {
                token: self.symbol_of_byte[usize::from(byte)],
                previous: if at == 0 { NONE } else { at - 1 },
                next: if at == last { NONE } else { at + 1 },
            });
        }
        for at in 0..last {
            self.push_pair(at)?;
        }
        let mut n_left = text.len();
        while n_left > 2 {
            let Some(Reverse((merged, at, left, right))) = self.heap.pop() else {
                return Ok(None);
            };
            let next = self.symbols[at].next;
            if self.symbols[at].token != left || next == NONE || self.symbols[next].token != right {
                continue;
            }
            let after = self.symbols[next].next;
            self.symbols[at].token = merged;
            self.symbols[at].next = after;
            self.symbols[next].token = NO_TOKEN;
            if after != NONE {
                self.symbols[after].previous = at;
                self.push_pair(at)?;
            }
            let before = self.symbols[at].previous;
            if before != NONE {
                self.push_pair(before)?;
            }
            n_left -= 1;
        }
        let second = self.symbols[0].next;
        Ok(Some([self.symbols[0].token, self.symbols[second].token]))
    }

    /// Pushes the pair of the symbol at `at` and its right neighbour on the heap, if it merges.
    fn push_pair(&mut self, at: usize) -> Result<()> {
        let left = self.symbols[at].token;
        let right = self.symbols[self.symbols[at].next].token;
        let merged = match self.joined.get(&(left, right)) {
            Some(&merged) => merged,
            None => {
                self.joined_bytes.clear();
                for part in [self.bytes(left), self.bytes(right)] {
                    self.joined_bytes.try_extend(part, "token")?;
                }
                let merged = self.rank_of.get(self.joined_bytes.as_slice()).copied().unwrap_or(NO_TOKEN);
                self.joined.try_reserve(1).map_err(Error::out_of_memory("pair map"))?;
                self.joined.insert((left, right), merged);
                merged
            }
        };
        if merged != NO_TOKEN {
            self.heap.push(Reverse((merged, at, left, right)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs_of(tokens: &[&str]) -> Pairs {
        let bytes = tokens.concat().into_bytes();
        let mut end = 0;
        let ends: Vec<u64> = tokens
            .iter()
            .map(|token| {
                end += token.len() as u64;
                end
            })
            .collect();
        pairs(&bytes, &ends).unwrap()
    }

    /// tiktoken's rule by definition: scans all adjacent pairs before each merge.
    fn by_ranks(text: &str, tokens: &[&str]) -> Vec<u32> {
        let rank = |bytes: &str| tokens.iter().position(|token| *token == bytes);
        let mut parts: Vec<String> = text.chars().map(String::from).collect();
        while let Some((_, at)) =
            (1..parts.len()).filter_map(|p| Some((rank(&format!("{}{}", parts[p - 1], parts[p]))?, p))).min()
        {
            let right = parts.remove(at);
            parts[at - 1].push_str(&right);
        }
        parts.iter().map(|part| rank(part).unwrap() as u32).collect()
    }

    fn by_pairs(text: &str, tokens: &[&str], rows: &[[u32; 3]]) -> Vec<u32> {
        let mut ids: Vec<u32> = text
            .chars()
            .map(|c| tokens.iter().position(|token| *token == c.to_string()).unwrap() as u32)
            .collect();
        while let Some((_, at)) = (1..ids.len())
            .filter_map(|p| Some((rows.iter().position(|row| row[..2] == ids[p - 1..=p])?, p)))
            .min()
        {
            let row = rows.iter().find(|row| row[..2] == ids[at - 1..=at]).unwrap();
            ids[at - 1] = row[2];
            ids.remove(at);
        }
        ids
    }

    #[test]
    fn pairs_of_a_trained_vocabulary_are_its_merges() {
        let found = pairs_of(&["a", "b", "c", "ab", "bc", "abc", "aa", "aaa"]);
        assert_eq!(found.rows, [[0, 1, 3], [1, 2, 4], [3, 2, 5], [0, 0, 6], [6, 0, 7]]);
        assert_eq!((found.unreachable, found.with_missing_byte), (vec![], vec![]));
    }

    #[test]
    fn pairs_lists_tokens_without_a_pair() {
        // "bc" is merged before "ab", and nothing merges with "x".
        let found = pairs_of(&["a", "b", "c", "x", "bc", "abcx"]);
        assert_eq!(found.unreachable, [5]);
        // "abc" has a lower rank than its part "bc".
        let found = pairs_of(&["a", "b", "c", "abc", "bc"]);
        assert_eq!(found.rows, [[0, 4, 3], [1, 2, 4]]);
        // The byte z is not a token.
        let found = pairs_of(&["a", "az", "aza"]);
        assert_eq!((found.with_missing_byte, found.rows), (vec![1], vec![[1, 0, 2]]));
    }

    #[test]
    fn pairs_of_random_vocabularies_encode_as_ranks_do() {
        let mut state = 7u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for _ in 0..3000 {
            let letters = 2 + random(2);
            let word = |length: u64, random: &mut dyn FnMut(u64) -> u64| -> String {
                (0..length).map(|_| (b'a' + random(letters) as u8) as char).collect()
            };
            let mut words: Vec<String> =
                (0..letters).map(|l| ((b'a' + l as u8) as char).to_string()).collect();
            for _ in 0..random(9) {
                // Mostly two tokens joined, as by training; sometimes any string.
                let token = if random(8) == 0 {
                    word(2 + random(3), &mut random)
                } else {
                    let left = words[random(words.len() as u64) as usize].clone();
                    left + &words[random(words.len() as u64) as usize]
                };
                if !words.contains(&token) {
                    words.push(token);
                }
            }
            // Any order of ranks, including those that training cannot produce.
            for at in (letters as usize + 1..words.len()).rev() {
                if random(3) == 0 {
                    words.swap(at, letters as usize + random((at - letters as usize) as u64) as usize);
                }
            }
            let tokens: Vec<&str> = words.iter().map(String::as_str).collect();
            let found = pairs_of(&tokens);
            for _ in 0..10 {
                let text = word(1 + random(14), &mut random);
                assert_eq!(
                    by_pairs(&text, &tokens, &found.rows),
                    by_ranks(&text, &tokens),
                    "{text} {tokens:?}"
                );
            }
        }
    }
}
