//! The options, the input and the result of training.

/// The tie rule: which of several equally frequent pairs is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieBreak {
    /// The least (left id, right id), where the id of byte `b` is [`MergeOptions::byte_order`]`[b]`.
    IdsLeast,
    /// The greatest (left bytes, right bytes), compared as a tuple.
    BytesGreatest,
}

/// The options of training.
#[derive(Clone, Debug)]
pub struct MergeOptions {
    /// Most merges to learn.
    pub n_merges: usize,
    /// The tie rule.
    pub tie_break: TieBreak,
    /// `byte_order[b]` is the index of byte `b` among the ids of single bytes: a permutation.
    pub byte_order: [u8; 256],
    /// Pairs that occur less often are never merged; 0 means 1.
    pub min_frequency: u64,
    /// Most bytes of a merged token.
    pub max_token_bytes: Option<usize>,
    /// Most bytes of memory that training may take, including the pretokens; checked before it starts.
    pub max_memory: Option<u64>,
    /// Number of threads; 0: one for each processor.
    pub threads: usize,
    /// How many pairs of each step [`Trained::trace`] has.
    pub n_traced: usize,
}

impl MergeOptions {
    /// This many merges, ties to the least ids, ids in the order of the bytes; one thread, and no other limit.
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

    /// The symbol in the symbol array for a symbol as in [`Merge`].
    #[inline]
    pub(super) fn own_symbol(&self, symbol: u32) -> usize {
        match self.byte_order.get(symbol as usize) {
            Some(&index) => usize::from(index),
            // Merged symbols follow the separator.
            None => symbol as usize + 1,
        }
    }

    /// The inverse of [`MergeOptions::byte_order`]: the byte of each symbol below 256.
    pub(super) fn byte_of_symbol(&self) -> [u8; 256] {
        let mut bytes = [0; 256];
        for (byte, &symbol) in (0..=255u8).zip(&self.byte_order) {
            bytes[usize::from(symbol)] = byte;
        }
        bytes
    }
}

/// A learned merge (left, right): symbols 0..=255 are byte values, symbol 256 + r is the result of merge r.
pub type Merge = (u32, u32);

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

/// What pretokens consist of before the first merge.
#[derive(Clone, Copy)]
pub(super) enum Items<'a> {
    /// Bytes.
    Bytes(&'a [u8]),
    /// Symbols: bytes, and tokens that exist already.
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
    /// The tokens of the symbols from 256 on; new ones follow.
    pub base: &'a [&'a [u8]],
    /// Tokens, as symbols, whose symbol a merge takes that makes them; it does not count towards `n_merges`.
    pub named: &'a [(Vec<u32>, u32)],
}

impl<'a> From<WeightedPretokens<'a>> for Input<'a> {
    fn from(pretokens: WeightedPretokens<'a>) -> Self {
        let WeightedPretokens { bytes, ends, counts } = pretokens;
        Input { items: Items::Bytes(bytes), ends, counts, base: &[], named: &[] }
    }
}

impl Input<'_> {
    /// The number of items.
    pub fn n_items(&self) -> u64 {
        match self.items {
            Items::Bytes(bytes) => bytes.len() as u64,
            Items::Symbols(symbols) => symbols.len() as u64,
        }
    }

    /// Bytes of memory of the columns.
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
    /// Why there are fewer than `n_merges` merges; `None` if there are not.
    pub shortage: Option<Shortage>,
    /// For each merge the best [`MergeOptions::n_traced`] pairs before it with their counts, the merged one first; a
    /// count is 0 where there are no more.
    pub trace: Vec<(Merge, u64)>,
}

/// Why the remaining pairs may not be merged. With neither reason there is no pair left: every pretoken is one token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shortage {
    /// Some pair, though short enough, occurs less often than [`MergeOptions::min_frequency`].
    pub has_rare: bool,
    /// Some pair would make a token longer than [`MergeOptions::max_token_bytes`].
    pub has_long: bool,
}

/// Settings that change the cost of training, never its result. Tests vary them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tuning {
    /// Pairs that occur less often are left out at first.
    pub threshold: u64,
    /// Position lists of at least this length are shared between threads.
    pub share_from: usize,
    /// Whether new position lists may use the slots of merged pairs.
    pub reuses_slots: bool,
    /// The least width in bytes of a symbol and of a position.
    pub widths: (u64, u64),
}
