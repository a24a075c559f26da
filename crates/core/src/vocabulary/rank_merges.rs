//! Merges out of ranks: the one pair by which each token of a rank vocabulary comes about.
//!
//! Enters: tokens in the order of their ranks, where any two neighbours merge whose joined bytes are a token, least
//! rank first, leftmost first (tiktoken's rule). Leaves: for each token that merging can make, its one pair. Merging by
//! these pairs, in the order of the tokens that they make, encodes every text as the ranks do.
//!
//! Why one pair is enough. Take any stretch of a text whose two ends no merge has crossed so far. The merges inside it
//! are those that would be made, in the same order, if the stretch stood alone: whenever one of them is the least and
//! leftmost of the whole text, it is so of the stretch, and nothing outside changes what is inside. Now let x and y be
//! neighbours that join to the token t. Their stretch is t's bytes, so these, standing alone, come by the state `[x, y]`.
//! A state of two tokens has no other after it but `[t]`: so it is the same pair wherever t is made.
//!
//! A token whose bytes, alone, get stuck at three or more is never made at all; a tokenizer that looks whole pretokens up
//! may still give it.
//!
//! Cost: O(n log n) in the bytes of all tokens. The stretch that behaves as if alone is the idea by which rust-gems'
//! `bpe` crate proves its encoders.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hashbrown::HashMap;

use crate::error::{Error, Result};
use crate::memory::TryReserve;

/// What a rank vocabulary is as a list of pairs. Tokens go by their place in rank order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Left, right and made token, ascending in the made one.
    pub rows: Vec<[u32; 3]>,
    /// Tokens of several bytes that no merging makes.
    pub unreachable: Vec<u32>,
    /// Tokens made of a byte that is no token itself, for which there is no row.
    pub nameless: Vec<u32>,
}

/// Finds the pairs of the tokens that lie in `bytes` one after the other, each up to its place in `ends`.
pub fn pairs(bytes: &[u8], ends: &[u64]) -> Result<Pairs> {
    let mut encoder = Encoder::new(bytes, ends)?;
    let n_tokens = encoder.tokens.len();
    let mut found = Pairs::default();
    found.rows.try_reserve_exact(n_tokens).map_err(Error::out_of_memory("pairs"))?;
    for place in 0..n_tokens {
        if encoder.bytes(place as u32).len() < 2 {
            continue;
        }
        let merged_id = place as u32;
        match encoder.last_two(place as u32)? {
            Some([left, right]) if (left as usize) < n_tokens && (right as usize) < n_tokens => {
                found.rows.push([left, right, merged_id]);
            }
            Some(_) => found.nameless.push(merged_id),
            None => found.unreachable.push(merged_id),
        }
    }
    Ok(found)
}

const NO_TOKEN: u32 = u32::MAX;
const NONE: usize = usize::MAX;

/// A token of the text being encoded, linked to its neighbours.
struct Symbol {
    token: u32,
    previous: usize,
    next: usize,
}

/// Encodes by ranks, which are places in `tokens`; after them come the 256 bytes, for those that are no token.
struct Encoder<'a> {
    tokens: Vec<&'a [u8]>,
    place_of: HashMap<&'a [u8], u32>,
    symbol_of_byte: [u32; 256],
    /// What two symbols join to, once looked up by bytes.
    joined: HashMap<(u32, u32), u32>,
    joined_bytes: Vec<u8>,
    symbols: Vec<Symbol>,
    /// (made token, place of the left part, the two parts): stale once a part has changed.
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
        let mut tokens: Vec<&[u8]> = Vec::new();
        let mut place_of = HashMap::new();
        tokens.try_reserve_exact(ends.len()).map_err(Error::out_of_memory("tokens"))?;
        place_of.try_reserve(ends.len()).map_err(Error::out_of_memory("token map"))?;
        let starts = std::iter::once(0).chain(ends.iter().copied());
        for (start, &end) in starts.zip(ends) {
            let token = bytes.get(start as usize..end as usize).unwrap_or_default();
            place_of.insert(token, tokens.len() as u32);
            tokens.push(token);
        }
        let mut symbol_of_byte = [NO_TOKEN; 256];
        for (byte, symbol) in symbol_of_byte.iter_mut().enumerate() {
            let token = &BYTES[byte..=byte];
            *symbol = place_of.get(token).copied().unwrap_or((tokens.len() + byte) as u32);
        }
        Ok(Encoder {
            tokens,
            place_of,
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

    /// The last two symbols before a token's bytes, standing alone, become that token; None when more than two are
    /// left.
    fn last_two(&mut self, token: u32) -> Result<Option<[u32; 2]>> {
        let text = self.bytes(token);
        self.symbols.clear();
        self.heap.clear();
        self.symbols.try_reserve(text.len()).map_err(Error::out_of_memory("symbols"))?;
        self.heap.try_reserve(2 * text.len()).map_err(Error::out_of_memory("heap"))?;
        let last = text.len() - 1;
        for (place, &byte) in text.iter().enumerate() {
            self.symbols.push(Symbol {
                token: self.symbol_of_byte[usize::from(byte)],
                previous: if place == 0 { NONE } else { place - 1 },
                next: if place == last { NONE } else { place + 1 },
            });
        }
        for place in 0..last {
            self.offer(place)?;
        }
        let mut n_left = text.len();
        while n_left > 2 {
            let Some(Reverse((merged_id, place, left, right))) = self.heap.pop() else {
                return Ok(None);
            };
            let next = self.symbols[place].next;
            if self.symbols[place].token != left || next == NONE || self.symbols[next].token != right {
                continue;
            }
            let after = self.symbols[next].next;
            self.symbols[place].token = merged_id;
            self.symbols[place].next = after;
            self.symbols[next].token = NO_TOKEN;
            if after != NONE {
                self.symbols[after].previous = place;
                self.offer(place)?;
            }
            let before = self.symbols[place].previous;
            if before != NONE {
                self.offer(before)?;
            }
            n_left -= 1;
        }
        let second = self.symbols[0].next;
        Ok(Some([self.symbols[0].token, self.symbols[second].token]))
    }

    /// Puts the pair that begins at `place` on the heap if it merges.
    fn offer(&mut self, place: usize) -> Result<()> {
        let left = self.symbols[place].token;
        let right = self.symbols[self.symbols[place].next].token;
        let merged_id = match self.joined.get(&(left, right)) {
            Some(&merged_id) => merged_id,
            None => {
                self.joined_bytes.clear();
                for part in [self.bytes(left), self.bytes(right)] {
                    self.joined_bytes.try_extend(part, "token")?;
                }
                let merged_id = self.place_of.get(self.joined_bytes.as_slice()).copied().unwrap_or(NO_TOKEN);
                self.joined.try_reserve(1).map_err(Error::out_of_memory("pair map"))?;
                self.joined.insert((left, right), merged_id);
                merged_id
            }
        };
        if merged_id != NO_TOKEN {
            self.heap.push(Reverse((merged_id, place, left, right)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tokens: &[&str]) -> Pairs {
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

    /// tiktoken's rule, by looking at all neighbours again and again.
    fn by_ranks(text: &str, tokens: &[&str]) -> Vec<u32> {
        let rank = |bytes: &str| tokens.iter().position(|token| *token == bytes);
        let mut parts: Vec<String> = text.chars().map(String::from).collect();
        while let Some((_, place)) =
            (1..parts.len()).filter_map(|p| Some((rank(&format!("{}{}", parts[p - 1], parts[p]))?, p))).min()
        {
            let right = parts.remove(place);
            parts[place - 1].push_str(&right);
        }
        parts.iter().map(|part| rank(part).unwrap() as u32).collect()
    }

    fn by_pairs(text: &str, tokens: &[&str], rows: &[[u32; 3]]) -> Vec<u32> {
        let mut ids: Vec<u32> = text
            .chars()
            .map(|c| tokens.iter().position(|token| *token == c.to_string()).unwrap() as u32)
            .collect();
        while let Some((_, place)) = (1..ids.len())
            .filter_map(|p| Some((rows.iter().position(|row| row[..2] == ids[p - 1..=p])?, p)))
            .min()
        {
            let row = rows.iter().find(|row| row[..2] == ids[place - 1..=place]).unwrap();
            ids[place - 1] = row[2];
            ids.remove(place);
        }
        ids
    }

    #[test]
    fn each_token_has_the_pair_that_training_gave_it() {
        let found = of(&["a", "b", "c", "ab", "bc", "abc", "aa", "aaa"]);
        assert_eq!(found.rows, [[0, 1, 3], [1, 2, 4], [3, 2, 5], [0, 0, 6], [6, 0, 7]]);
        assert_eq!((found.unreachable, found.nameless), (vec![], vec![]));
    }

    #[test]
    fn tokens_without_a_pair_are_told() {
        // "bc" takes the b away from "ab", and nothing joins "x" to anything.
        let found = of(&["a", "b", "c", "x", "bc", "abcx"]);
        assert_eq!(found.unreachable, [5]);
        // "abc" comes before "bc", of which it is made.
        let found = of(&["a", "b", "c", "abc", "bc"]);
        assert_eq!(found.rows, [[0, 4, 3], [1, 2, 4]]);
        // The byte z is no token.
        let found = of(&["a", "az", "aza"]);
        assert_eq!((found.nameless, found.rows), (vec![1], vec![[1, 0, 2]]));
    }

    #[test]
    fn pairs_encode_as_ranks_do() {
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
                // Mostly joins of what is there, as training makes them; now and then any string.
                let merged_id = if random(8) == 0 {
                    word(2 + random(3), &mut random)
                } else {
                    let left = words[random(words.len() as u64) as usize].clone();
                    left + &words[random(words.len() as u64) as usize]
                };
                if !words.contains(&merged_id) {
                    words.push(merged_id);
                }
            }
            // Any order of ranks, whether or not training could have given it.
            for place in (letters as usize + 1..words.len()).rev() {
                if random(3) == 0 {
                    words.swap(place, letters as usize + random((place - letters as usize) as u64) as usize);
                }
            }
            let tokens: Vec<&str> = words.iter().map(String::as_str).collect();
            let found = of(&tokens);
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
