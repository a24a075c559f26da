//! The priority queue of pairs, and the tie rule: which pair is merged next.
//!
//! A 4-ary max-heap, ordered by count and then by [`TieBreak`]. An entry keeps the count that its pair had when it was
//! pushed. Counts only fall, so this is an upper bound: [`PairIndex::best`](super::pair_index::PairIndex::best) looks
//! up the current count when a pair reaches the top, and lowers the entry if needed.
//!
//! An entry's rank combines the count and the tie-breaker in one integer, so that a single comparison covers both
//! (which saves 3 % of training on English). For [`TieBreak::BytesGreatest`] the tie-breaker is the first eight bytes
//! of the left token; whole tokens are compared only if these are equal too.

use super::options::{MergeOptions, TieBreak};
use super::pair_table::pair_of;
use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::memory::TryReserve;

/// What the next symbol stands for.
#[derive(Clone, Copy)]
pub(super) enum NextSymbol<'t> {
    /// The tokens of two symbols, joined.
    Merge(usize, usize),
    /// An existing token.
    Token(&'t [u8]),
}

/// The bytes of each token, by symbol. Only kept for [`TieBreak::BytesGreatest`].
struct TokenBytes {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl TokenBytes {
    /// Creates the tokens of the 256 bytes and the separator.
    fn new(options: &MergeOptions) -> TokenBytes {
        // The separator is not a token; its byte is never compared.
        let mut bytes = options.byte_of_symbol().to_vec();
        bytes.push(0);
        TokenBytes { bytes, ends: (1..=257).collect() }
    }

    fn get(&self, symbol: usize) -> &[u8] {
        let start = if symbol == 0 { 0 } else { self.ends[symbol - 1] };
        &self.bytes[start..self.ends[symbol]]
    }

    fn add(&mut self, next: NextSymbol<'_>) -> Result<()> {
        let what = "the bytes of the tokens";
        match next {
            NextSymbol::Token(token) => self.bytes.try_extend(token, what)?,
            NextSymbol::Merge(left, right) => {
                for symbol in [left, right] {
                    let (end, n_bytes) = (self.ends[symbol], self.get(symbol).len());
                    self.bytes.grow(n_bytes, what)?;
                    self.bytes.extend_from_within(end - n_bytes..end);
                }
            }
        }
        self.ends.try_push(self.bytes.len(), what)
    }

    /// Returns the first eight bytes as a big-endian integer, padded with zeros. It orders tokens like their bytes do,
    /// except that different tokens can have equal prefixes.
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
    /// The greater rank wins. High half: the count. Low half: the complement of the key ([`TieBreak::IdsLeast`]) or the
    /// first bytes of the left token ([`TieBreak::BytesGreatest`]).
    rank: u128,
    key: u64,
}

fn rank_of(count: u64, tie: u64) -> u128 {
    u128::from(count) << 64 | u128::from(tie)
}

/// The heap. The best pair is at index 0.
pub(super) struct PairQueue<'a> {
    budget: &'a Budget,
    heap: Vec<Entry>,
    tokens: Option<TokenBytes>,
}

impl<'a> PairQueue<'a> {
    /// Creates an empty queue with the tie rule of `options`.
    pub fn new(options: &MergeOptions, budget: &'a Budget) -> Self {
        let tokens = match options.tie_break {
            TieBreak::IdsLeast => None,
            TieBreak::BytesGreatest => Some(TokenBytes::new(options)),
        };
        PairQueue { budget, heap: Vec::new(), tokens }
    }

    /// Removes all pairs.
    pub fn clear(&mut self) {
        self.heap.clear();
    }

    /// Adds the next symbol.
    pub fn add_symbol(&mut self, next: NextSymbol<'_>) -> Result<()> {
        self.tokens.as_mut().map_or(Ok(()), |tokens| tokens.add(next))
    }

    /// Adds a pair with its count.
    pub fn push(&mut self, key: u64, count: u64) -> Result<()> {
        let tie = self.tokens.as_ref().map_or(!key, |tokens| tokens.prefix(pair_of(key).0));
        let entry = Entry { rank: rank_of(count, tie), key };
        let mut at = self.heap.len();
        if at == self.heap.capacity() {
            self.grow()?;
        }
        self.heap.push(entry);
        // Sift up.
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

    /// Doubles the heap's capacity.
    #[cold]
    fn grow(&mut self) -> Result<()> {
        let what = "the queue of pairs";
        let n_before = self.heap.capacity();
        let n_more = n_before.max(1 << 10);
        self.budget.take((n_before + n_more) * size_of::<Entry>(), what)?;
        self.heap.try_reserve_exact(n_more).map_err(Error::out_of_memory(what))?;
        self.budget.release_freed(n_before * size_of::<Entry>());
        Ok(())
    }

    /// Returns the pair on top, and the count with which it was pushed or to which it was last lowered.
    pub fn top(&self) -> Option<(u64, u64)> {
        self.heap.first().map(|entry| (entry.key, (entry.rank >> 64) as u64))
    }

    /// Removes the pair on top.
    pub fn pop(&mut self) {
        if let Some(last) = self.heap.pop()
            && !self.heap.is_empty()
        {
            self.sift_down(last);
        }
    }

    /// Lowers the count of the pair on top.
    pub fn lower_top(&mut self, count: u64) {
        if let Some(&top) = self.heap.first() {
            self.sift_down(Entry { rank: rank_of(count, top.rank as u64), ..top });
        }
    }

    /// Replaces the top by `entry`, and moves it down until no child beats it.
    fn sift_down(&mut self, entry: Entry) {
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

    /// Returns whether `a` is merged before `b`.
    #[inline]
    fn beats(&self, a: &Entry, b: &Entry) -> bool {
        a.rank > b.rank || (a.rank == b.rank && self.beats_by_bytes(a, b))
    }

    #[cold]
    fn beats_by_bytes(&self, a: &Entry, b: &Entry) -> bool {
        let Some(tokens) = &self.tokens else { return false };
        let ((a_left, a_right), (b_left, b_right)) = (pair_of(a.key), pair_of(b.key));
        // Different pairs can have equal bytes. Then the key decides, so that the order is total.
        let of_a = (tokens.get(a_left), tokens.get(a_right), b.key);
        of_a > (tokens.get(b_left), tokens.get(b_right), a.key)
    }
}
