//! Recognises merges that produce a token which existed before training.

use hashbrown::HashMap;

use super::options::MergeOptions;
use crate::error::{Error, Result};

/// The tokens that existed before training.
pub(super) struct NamedTokens {
    /// From the symbols of a token's units to its own symbol.
    symbol_of: HashMap<Vec<usize>, usize>,
    /// The symbols of the units of each merged symbol that is short enough to be part of a named token.
    parts: HashMap<usize, Vec<usize>>,
    longest: usize,
}

impl NamedTokens {
    pub fn new(named: &[(Vec<u32>, u32)], options: &MergeOptions) -> Self {
        let own = |&symbol: &u32| options.to_internal_symbol(symbol);
        let symbol_of: HashMap<Vec<usize>, usize> =
            named.iter().map(|(parts, symbol)| (parts.iter().map(own).collect(), own(symbol))).collect();
        let longest = symbol_of.keys().map(Vec::len).max().unwrap_or(0);
        NamedTokens { symbol_of, parts: HashMap::new(), longest }
    }

    /// Returns the symbol of the merge of `a` and `b`, which is `merged_len` units long: that of an existing token, or
    /// else `next`.
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
            return Err(Error::Invalid(
                "two merges make the same special token; remove that special token".to_owned(),
            ));
        }
        Ok(symbol)
    }
}
