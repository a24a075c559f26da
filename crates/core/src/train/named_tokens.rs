//! Tokens that exist before training, and which merges make them.

use hashbrown::HashMap;

use super::options::MergeOptions;
use crate::error::{Error, Result};

/// Finds the merges that make a token that exists already.
pub(super) struct NamedTokens {
    /// The symbols of a token to its own symbol.
    symbol_of: HashMap<Vec<usize>, usize>,
    /// The symbols of units that each merged symbol stands for, where it may be a part of a named token.
    parts: HashMap<usize, Vec<usize>>,
    longest: usize,
}

impl NamedTokens {
    pub fn new(named: &[(Vec<u32>, u32)], options: &MergeOptions) -> Self {
        let own = |&symbol: &u32| options.own_symbol(symbol);
        let symbol_of: HashMap<Vec<usize>, usize> =
            named.iter().map(|(parts, symbol)| (parts.iter().map(own).collect(), own(symbol))).collect();
        let longest = symbol_of.keys().map(Vec::len).max().unwrap_or(0);
        NamedTokens { symbol_of, parts: HashMap::new(), longest }
    }

    /// The symbol of the token that the merge of `a` and `b` makes, `merged_len` units long; `next` if it is a new one.
    pub fn symbol(&mut self, a: usize, b: usize, merged_len: usize, next: usize) -> Result<usize> {
        if merged_len > self.longest {
            return Ok(next);
        }
        let mut units = Vec::new();
        for part in [a, b] {
            match self.parts.get(&part) {
                Some(parts) => units.extend_from_slice(parts),
                None => units.push(part),
            }
        }
        let symbol = self.symbol_of.get(&units).copied().unwrap_or(next);
        if self.parts.insert(symbol, units).is_some() {
            return Err(Error::Invalid("two merges make the same special token; leave it out".to_owned()));
        }
        Ok(symbol)
    }
}
