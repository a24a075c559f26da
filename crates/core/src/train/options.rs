//! The options, input and result of training.

/// The tie rule: which of several equally frequent pairs is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieBreak {
    /// The pair with the smallest (left id, right id); byte `b` has the id [`MergeOptions::byte_order`]`[b]`.
    IdsLeast,
    /// The pair with the greatest (left bytes, right bytes), compared as tuples.
    BytesGreatest,
}

/// The options of training.
#[derive(Clone, Debug)]
pub struct MergeOptions {
    /// Maximum number of merges to learn.
    pub n_merges: usize,
    /// The tie rule.
    pub tie_break: TieBreak,
    /// `byte_order[b]` is the index of byte `b` among the single-byte ids; the array is a permutation.
    pub byte_order: [u8; 256],
    /// Pairs that occur less often are never merged; 0 means 1.
    pub min_frequency: u64,
    /// Maximum length of a merged token in bytes.
    pub max_token_bytes: Option<usize>,
    /// Limit on the memory of training in bytes, including the pretokens. Most of it is checked at the start, the table
    /// and the queue of pairs whenever they grow.
    pub max_memory: Option<u64>,
    /// Number of threads; 0 means one per processor.
    pub threads: usize,
    /// Number of pairs that [`Trained::trace`] records for each step.
    pub n_traced: usize,
}

impl MergeOptions {
    /// Returns options for `n_merges` merges: ties go to the smallest ids, ids follow the byte values, one thread, no
    /// other limits.
    pub fn new(n_merges: usize) -> Self {
        MergeOptions {
            n_merges,
            tie_break: TieBreak::IdsLeast,
            byte_order: std::array::from_fn(|byte| byte as u8),
            min_frequency: 1,
            max_token_bytes: None,
            max_memory: None,
            threads: 1,
            n_traced: 0,
        }
    }

    /// Converts a symbol numbered as in [`Merge`] to the numbering of the symbol array.
    #[inline]
    pub(super) fn to_internal_symbol(&self, symbol: u32) -> usize {
        match self.byte_order.get(symbol as usize) {
            Some(&index) => usize::from(index),
            // Merged symbols follow the separator.
            None => symbol as usize + 1,
        }
    }

    /// Returns the inverse of [`MergeOptions::byte_order`]: the byte of each symbol below 256.
    pub(super) fn byte_of_symbol(&self) -> [u8; 256] {
        let mut bytes = [0; 256];
        for (byte, &symbol) in (0..=255u8).zip(&self.byte_order) {
            bytes[usize::from(symbol)] = byte;
        }
        bytes
    }
}

/// A learned merge, left and right: symbols 0..=255 are byte values, symbol 256 + r is the result of merge r.
pub type Merge = [u32; 2];

/// Distinct pretokens with their counts, as columns: pretoken i is `bytes[ends[i - 1]..ends[i]]` (from 0 for the first)
/// and occurs `counts[i]` times.
#[derive(Clone, Copy, Debug)]
pub struct WeightedPretokens<'a> {
    /// The bytes of all pretokens, concatenated.
    pub bytes: &'a [u8],
    /// The end of each pretoken in `bytes`.
    pub ends: &'a [u64],
    /// The count of each pretoken.
    pub counts: &'a [u64],
}

impl<'a> WeightedPretokens<'a> {
    /// Iterates over the pretokens and their counts. The ends must ascend within `bytes`.
    pub fn iter(self) -> impl Iterator<Item = (&'a [u8], u64)> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let pretokens =
            starts.zip(self.ends).map(move |(start, &end)| &self.bytes[start as usize..end as usize]);
        pretokens.zip(self.counts.iter().copied())
    }
}

/// The elements of pretokens before the first merge.
#[derive(Clone, Copy)]
pub(super) enum Items<'a> {
    /// Bytes.
    Bytes(&'a [u8]),
    /// Symbols: bytes, and tokens that already exist.
    Symbols(&'a [u32]),
}

/// The pretokens to learn from, and the tokens of their symbols.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    /// The items of all pretokens, concatenated.
    pub items: Items<'a>,
    /// The end of each pretoken in `items`.
    pub ends: &'a [u64],
    /// The count of each pretoken.
    pub counts: &'a [u64],
    /// The tokens of the existing symbols from 256 on; merged symbols follow them.
    pub base: &'a [&'a [u8]],
    /// Existing tokens as (their parts, their symbol). A merge that produces one of them takes its symbol, and does not
    /// count towards `n_merges`.
    pub named: &'a [(Vec<u32>, u32)],
}

impl<'a> From<WeightedPretokens<'a>> for Input<'a> {
    fn from(pretokens: WeightedPretokens<'a>) -> Self {
        let WeightedPretokens { bytes, ends, counts } = pretokens;
        Input { items: Items::Bytes(bytes), ends, counts, base: &[], named: &[] }
    }
}

impl Input<'_> {
    /// Returns the number of items.
    pub fn n_items(&self) -> u64 {
        match self.items {
            Items::Bytes(bytes) => bytes.len() as u64,
            Items::Symbols(symbols) => symbols.len() as u64,
        }
    }

    /// Returns the size of the columns in bytes.
    pub fn n_bytes(&self) -> u64 {
        let items = match self.items {
            Items::Bytes(bytes) => size_of_val(bytes),
            Items::Symbols(symbols) => size_of_val(symbols),
        };
        (items + size_of_val(self.ends) + size_of_val(self.counts)) as u64
    }
}

/// The result of training.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trained {
    /// The merges in rank order.
    pub merges: Vec<Merge>,
    /// Why training learned fewer than `n_merges` merges; `None` if it learned them all.
    pub shortage: Option<Shortage>,
    /// For each merge, the [`MergeOptions::n_traced`] best pairs just before it with their counts, the merged pair
    /// first. If there are fewer pairs, the rest have a count of 0.
    pub trace: Vec<(Merge, u64)>,
}

/// Why the remaining pairs cannot be merged. If neither flag is set, no pair is left: every pretoken is one token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shortage {
    /// Some pair is short enough but occurs less often than [`MergeOptions::min_frequency`].
    pub has_rare: bool,
    /// Some pair would make a token longer than [`MergeOptions::max_token_bytes`].
    pub has_long: bool,
}

/// Settings that change the cost of training, never its result. Tests vary them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tuning {
    /// Pairs with a lower count are left out at first.
    pub threshold: u64,
    /// Position lists of at least this length are shared between threads.
    pub min_shared_positions: usize,
    /// Whether new position lists may reuse the slots of merged pairs.
    pub reuses_slots: bool,
    /// The minimum width in bytes of a symbol and of a position.
    pub widths: (u64, u64),
}
