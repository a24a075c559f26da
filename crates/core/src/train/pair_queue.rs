//! Which pair is merged next.
//!
//! A 4-ary heap of pairs under the counts they had when they entered. Counts only fall, so what a pair
//! entered with is an upper bound: the engine looks the true count up when a pair reaches the top, and
//! puts the pair back when it fell. Ties cost nothing until two counts are equal: then eight bytes
//! decide, and only when those are equal too are whole tokens compared.

use super::pair_table::pair_of;
use super::{MergeOptions, TieBreak};
use crate::error::{Error, Result};

/// The bytes of every token, kept only for the tie rule that compares them.
pub(super) struct TokenBytes {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl TokenBytes {
    /// The tokens of the 256 bytes and the separator.
    pub fn new(options: &MergeOptions) -> TokenBytes {
        let mut bytes = vec![0; 257];
        for (byte, &symbol) in (0..=255u8).zip(&options.byte_order) {
            bytes[usize::from(symbol)] = byte;
        }
        TokenBytes { bytes, ends: (1..=257).collect() }
    }

    fn get(&self, symbol: usize) -> &[u8] {
        let start = if symbol == 0 { 0 } else { self.ends[symbol - 1] };
        &self.bytes[start..self.ends[symbol]]
    }

    /// Adds the token that joins `left` and `right`.
    pub fn join(&mut self, left: usize, right: usize) -> Result<()> {
        let what = "the bytes of the tokens";
        let n_bytes = self.get(left).len() + self.get(right).len();
        self.bytes.try_reserve(n_bytes).map_err(Error::out_of_memory(what))?;
        self.ends.try_reserve(1).map_err(Error::out_of_memory(what))?;
        for symbol in [left, right] {
            let end = self.ends[symbol];
            self.bytes.extend_from_within(end - self.get(symbol).len()..end);
        }
        self.ends.push(self.bytes.len());
        Ok(())
    }

    /// The first eight bytes as an integer that orders as they do, zeros standing for what is not there.
    fn prefix(&self, symbol: usize) -> u64 {
        let bytes = self.get(symbol);
        let mut prefix = [0; 8];
        let n = bytes.len().min(8);
        prefix[..n].copy_from_slice(&bytes[..n]);
        u64::from_be_bytes(prefix)
    }
}

#[derive(Clone, Copy)]
struct Entry {
    /// Greater wins: the count above, below it the complement of the pair or the first bytes of the left
    /// token.
    rank: u128,
    key: u64,
}

fn rank_of(count: u64, tie: u64) -> u128 {
    u128::from(count) << 64 | u128::from(tie)
}

/// The heap; the winner is on top.
pub(super) struct PairQueue {
    heap: Vec<Entry>,
    tokens: Option<TokenBytes>,
}

impl PairQueue {
    /// An empty queue under the tie rule of `options`.
    pub fn new(options: &MergeOptions) -> PairQueue {
        let tokens = match options.tie_break {
            TieBreak::IdsLeast => None,
            TieBreak::BytesGreatest => Some(TokenBytes::new(options)),
        };
        PairQueue { heap: Vec::new(), tokens }
    }

    /// Forgets all pairs.
    pub fn clear(&mut self) {
        self.heap.clear();
    }

    /// Learns that `left` and `right` made the next symbol.
    pub fn join(&mut self, left: usize, right: usize) -> Result<()> {
        self.tokens.as_mut().map_or(Ok(()), |tokens| tokens.join(left, right))
    }

    /// Adds a pair with its count.
    pub fn push(&mut self, key: u64, count: u64) -> Result<()> {
        let tie = self.tokens.as_ref().map_or(!key, |tokens| tokens.prefix(pair_of(key).0));
        self.heap.try_reserve(1).map_err(Error::out_of_memory("the queue of pairs"))?;
        let entry = Entry { rank: rank_of(count, tie), key };
        let mut at = self.heap.len();
        self.heap.push(entry);
        while at > 0 {
            let parent = (at - 1) / 4;
            if !self.beats(&entry, &self.heap[parent]) {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = entry;
        Ok(())
    }

    /// The pair on top, with the count it entered under.
    pub fn top(&self) -> Option<(u64, u64)> {
        self.heap.first().map(|entry| (entry.key, (entry.rank >> 64) as u64))
    }

    /// Removes the pair on top.
    pub fn pop(&mut self) {
        if let Some(last) = self.heap.pop()
            && !self.heap.is_empty()
        {
            self.sink(last);
        }
    }

    /// Lowers the count of the pair on top.
    pub fn lower(&mut self, count: u64) {
        if let Some(&top) = self.heap.first() {
            self.sink(Entry { rank: rank_of(count, top.rank as u64), ..top });
        }
    }

    /// Puts `entry` in the place of the top, and lets it sink to where it belongs.
    fn sink(&mut self, entry: Entry) {
        let mut at = 0;
        loop {
            let first = 4 * at + 1;
            let children = first.min(self.heap.len())..(first + 4).min(self.heap.len());
            let Some(best) =
                children.reduce(
                    |best, child| {
                        if self.beats(&self.heap[child], &self.heap[best]) { child } else { best }
                    },
                )
            else {
                break;
            };
            if !self.beats(&self.heap[best], &entry) {
                break;
            }
            self.heap[at] = self.heap[best];
            at = best;
        }
        self.heap[at] = entry;
    }

    #[inline]
    fn beats(&self, a: &Entry, b: &Entry) -> bool {
        a.rank > b.rank || (a.rank == b.rank && self.beats_by_bytes(a, b))
    }

    #[cold]
    fn beats_by_bytes(&self, a: &Entry, b: &Entry) -> bool {
        let Some(tokens) = &self.tokens else { return false };
        let ((a_left, a_right), (b_left, b_right)) = (pair_of(a.key), pair_of(b.key));
        let of_a = (tokens.get(a_left), tokens.get(a_right), b.key);
        of_a > (tokens.get(b_left), tokens.get(b_right), a.key)
    }
}
