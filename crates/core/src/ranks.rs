//! Merges out of ranks: the one pair by which each token of a rank vocabulary comes about.
//!
//! Enters: tokens in the order of their ranks, where any two neighbours merge whose joined bytes are a token, least
//! rank first, leftmost first (tiktoken's rule). Leaves: for each token that merging can make, its pair; such a list of
//! pairs encodes every text as the ranks do, or the tokens that stand in the way of that are named.
//!
//! Why one pair is enough. Call a token proper if encoding its bytes with the tokens of lower rank leaves two, its
//! pair. Take a vocabulary whose tokens are all proper, and any text.
//! 1. Stages. Merging makes tokens in ascending rank: suppose t = xy merges at a point where x, of higher rank than t,
//!    was just made. No merge has crossed the ends of these bytes, so they were encoded as if they stood alone; alone,
//!    with the ranks below t, they become t's pair, and the next stage makes t of them before x is ever made.
//! 2. Neighbours x and y that join to t have, alone, no other encoding than [x, y] (two tokens can only become one), so
//!    (x, y) is t's pair. Where the pair is two equal tokens, a run of them is paired off from the left in either case.
//!
//! So no other split of t ever stands side by side. A token that is not proper is harmless if encoding its bytes with
//! the whole vocabulary leaves three or more: then no two neighbours ever join to it. If it leaves two, it is made of
//! parts that come later than itself; lists of pairs cannot say so, and it is reported as late.
//!
//! Cost: O(n log n) in the bytes of all tokens. Method: the statement is the one that rust-gems' `bpe` crate proves for
//! its own encoders (a sequence of tokens is an encoding if each two neighbours are); this is its form for stages.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hashbrown::HashMap;

use crate::error::{Error, Result};

/// What a rank vocabulary is as a list of pairs. Tokens go by their place in rank order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Left, right and made token of each proper token, ascending in the made one.
    pub rows: Vec<[u32; 3]>,
    /// Tokens of several bytes that no merging makes.
    pub unreachable: Vec<u32>,
    /// Tokens made of parts that come later than they do, or of a byte that is no token itself.
    pub late: Vec<u32>,
}

/// Finds the pairs of the tokens that lie in `bytes` one after the other, each up to its place in `ends`.
pub fn pairs(bytes: &[u8], ends: &[u64]) -> Result<Pairs> {
    let mut symbol_of_byte = [NO_TOKEN; 256];
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let mut tokens: Vec<&[u8]> = Vec::new();
    tokens.try_reserve_exact(ends.len()).map_err(Error::out_of_memory("tokens"))?;
    for (start, &end) in starts.zip(ends) {
        let token = bytes.get(start as usize..end as usize).unwrap_or_default();
        if let &[byte] = token {
            symbol_of_byte[usize::from(byte)] = tokens.len() as u32;
        }
        tokens.push(token);
    }
    let mut encoder =
        Encoder { symbol_of_byte, made_by: HashMap::new(), symbols: Vec::new(), heap: BinaryHeap::new() };
    encoder.made_by.try_reserve(tokens.len()).map_err(Error::out_of_memory("pair map"))?;
    let mut found = Pairs::default();
    found.rows.try_reserve_exact(tokens.len()).map_err(Error::out_of_memory("pairs"))?;
    let mut improper = Vec::new();
    for (place, token) in (0u32..).zip(&tokens) {
        if token.len() < 2 {
            continue;
        }
        match encoder.encode(token)? {
            Some([left, right]) if left != NO_TOKEN && right != NO_TOKEN => {
                encoder.made_by.insert((left, right), place);
                found.rows.push([left, right, place]);
            }
            _ => improper.push(place),
        }
    }
    for place in improper {
        let token = tokens.get(place as usize).copied().unwrap_or_default();
        // A byte without a token could be part of pairs that no list of ids can name.
        let complete = token.iter().all(|&byte| encoder.symbol_of_byte[usize::from(byte)] != NO_TOKEN);
        match encoder.encode(token)? {
            None if complete => found.unreachable.push(place),
            _ => found.late.push(place),
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

/// Encodes with the pairs known so far; a pair's rank is the token that it makes.
struct Encoder {
    symbol_of_byte: [u32; 256],
    made_by: HashMap<(u32, u32), u32>,
    symbols: Vec<Symbol>,
    /// (made token, place of the left part, the two parts): stale once a part has changed.
    heap: BinaryHeap<Reverse<(u32, usize, u32, u32)>>,
}

impl Encoder {
    /// The two tokens that are left of `text`, or None when more are.
    fn encode(&mut self, text: &[u8]) -> Result<Option<[u32; 2]>> {
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
            self.offer(place);
        }
        let mut n_left = text.len();
        while let Some(Reverse((made, place, left, right))) = self.heap.pop() {
            let next = self.symbols[place].next;
            if self.symbols[place].token != left || next == NONE || self.symbols[next].token != right {
                continue;
            }
            let after = self.symbols[next].next;
            self.symbols[place].token = made;
            self.symbols[place].next = after;
            self.symbols[next].token = NO_TOKEN;
            if after != NONE {
                self.symbols[after].previous = place;
                self.offer(place);
            }
            let before = self.symbols[place].previous;
            if before != NONE {
                self.offer(before);
            }
            n_left -= 1;
        }
        let second = self.symbols[0].next;
        Ok((n_left == 2).then(|| [self.symbols[0].token, self.symbols[second].token]))
    }

    /// Puts the pair that begins at `place` on the heap if it merges.
    fn offer(&mut self, place: usize) {
        let left = self.symbols[place].token;
        let right = self.symbols[self.symbols[place].next].token;
        if let Some(&made) = self.made_by.get(&(left, right)) {
            self.heap.push(Reverse((made, place, left, right)));
        }
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
        assert_eq!((found.unreachable, found.late), (vec![], vec![]));
    }

    #[test]
    fn unreachable_and_late_tokens_are_told_apart() {
        // "bc" takes the b away from "ab", and nothing joins "x" to anything.
        let found = of(&["a", "b", "c", "x", "bc", "abcx"]);
        assert_eq!(found.unreachable, [5]);
        // "abc" comes before "bc", of which alone it can be made.
        let found = of(&["a", "b", "c", "abc", "bc"]);
        assert_eq!(found.late, [3]);
        assert_eq!(found.rows, [[1, 2, 4]]);
    }

    #[test]
    fn pairs_encode_as_ranks_do_wherever_none_is_late() {
        let mut state = 7u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        let mut n_compared = 0;
        for _ in 0..3000 {
            let letters = 2 + random(2);
            let word = |length: u64, random: &mut dyn FnMut(u64) -> u64| -> String {
                (0..length).map(|_| (b'a' + random(letters) as u8) as char).collect()
            };
            let mut words: Vec<String> =
                (0..letters).map(|l| ((b'a' + l as u8) as char).to_string()).collect();
            for _ in 0..random(9) {
                // Mostly joins of what is there, as training makes them; now and then any string.
                let made = if random(8) == 0 {
                    word(2 + random(3), &mut random)
                } else {
                    let left = words[random(words.len() as u64) as usize].clone();
                    left + &words[random(words.len() as u64) as usize]
                };
                if !words.contains(&made) {
                    words.push(made);
                }
            }
            let tokens: Vec<&str> = words.iter().map(String::as_str).collect();
            let found = of(&tokens);
            if !found.late.is_empty() {
                continue;
            }
            n_compared += 1;
            for _ in 0..10 {
                let text = word(1 + random(14), &mut random);
                assert_eq!(
                    by_pairs(&text, &tokens, &found.rows),
                    by_ranks(&text, &tokens),
                    "{text} {tokens:?}"
                );
            }
        }
        assert!(n_compared > 1000, "{n_compared}");
    }
}
