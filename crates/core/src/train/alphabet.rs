//! Training over an alphabet, as HuggingFace's trainer does: it starts from the characters of the pretokens (in
//! byte-level BPE each stands for a byte), not from all 256 bytes.
//!
//! Symbols are the ids of HuggingFace's vocabulary, so its tie rule is "the smallest pair of symbols". Special tokens
//! come first and have symbols too. They take no part in merges. But a merge that produces the text of a special token
//! takes that token's symbol, and the vocabulary does not grow.

use hashbrown::HashMap;

use super::options::{Input, Items, MergeOptions, Trained, WeightedPretokens};
use super::symbol_array::SEPARATOR;
use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::monitor::Monitor;

/// A unit (a byte or a code point) and its value for each place in a pretoken. Places are numbered: 0 inside, plus 1 at
/// the start, plus 2 at the end.
pub type ByPlace<T> = (u32, [T; 4]);

/// The symbol of a unit that is left out.
pub const LEFT_OUT: u32 = u32::MAX;

/// The symbols before the first merge.
pub struct Alphabet<'a> {
    /// Whether units are bytes; otherwise characters.
    pub are_bytes: bool,
    /// The symbols of each unit. Units that are not listed are left out, so that their neighbours become adjacent.
    pub units: &'a [ByPlace<u32>],
    /// Number of symbols, including those of special tokens. The first merge creates symbol `n_symbols`, or 256 if that
    /// is greater.
    pub n_symbols: usize,
    /// Special tokens as (symbols of their units, own symbol). A merge that produces one of them takes its symbol.
    pub named: &'a [(Vec<u32>, u32)],
}

/// Calls `visit` with each unit of a pretoken and its place.
fn for_each_unit(pretoken: &[u8], are_bytes: bool, mut visit: impl FnMut(u32, usize)) -> Result<()> {
    let n = pretoken.len();
    let place = |start: usize, len: usize| usize::from(start == 0) + 2 * usize::from(start + len == n);
    if are_bytes {
        pretoken.iter().enumerate().for_each(|(at, &byte)| visit(u32::from(byte), place(at, 1)));
        return Ok(());
    }
    let text = std::str::from_utf8(pretoken).map_err(|_| {
        Error::Counts("a pretoken is not UTF-8; train on bytes instead of characters".to_owned())
    })?;
    text.char_indices().for_each(|(at, character)| visit(character as u32, place(at, character.len_utf8())));
    Ok(())
}

/// Counts how often each unit occurs at each place; sorted by unit.
pub fn count_units(pretokens: WeightedPretokens<'_>, are_bytes: bool) -> Result<Vec<ByPlace<u64>>> {
    let mut found: HashMap<u32, [u64; 4]> = HashMap::new();
    for (pretoken, count) in pretokens.iter() {
        for_each_unit(pretoken, are_bytes, |unit, place| {
            let n = &mut found.entry(unit).or_default()[place];
            *n = n.saturating_add(count);
        })?;
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_unstable();
    Ok(found)
}

/// Learns merges over the symbols of `alphabet`, like [`super::train`]. `options.byte_order` must be the identity, and
/// `options.max_token_bytes` limits the units of a token, not its bytes.
pub fn train_alphabet(
    pretokens: WeightedPretokens<'_>,
    alphabet: &Alphabet<'_>,
    options: &MergeOptions,
    monitor: &dyn Monitor,
) -> Result<Trained> {
    const WHAT: &str = "the pretokens as symbols";
    let symbols_of: HashMap<u32, [u32; 4]> = alphabet.units.iter().copied().collect();
    let used = alphabet.units.iter().flat_map(|(_, symbols)| symbols).filter(|&&symbol| symbol != LEFT_OUT);
    let named = alphabet.named.iter().flat_map(|(parts, symbol)| parts.iter().chain([symbol]));
    if let Some(symbol) = used.chain(named).find(|&&symbol| symbol as usize >= alphabet.n_symbols) {
        return Err(Error::Invalid(format!("symbol {symbol} is not below {}", alphabet.n_symbols)));
    }
    let mut symbols = Vec::with_reserved(pretokens.bytes.len(), WHAT)?;
    let mut ends = Vec::with_reserved(pretokens.ends.len(), WHAT)?;
    for (pretoken, _) in pretokens.iter() {
        for_each_unit(pretoken, alphabet.are_bytes, |unit, place| {
            let symbol = symbols_of.get(&unit).map_or(LEFT_OUT, |by_place| by_place[place]);
            if symbol != LEFT_OUT {
                symbols.push(symbol);
            }
        })?;
        ends.push(symbols.len() as u64);
    }
    // Each symbol counts as one unit, so any text of one byte will do.
    let base = vec![&b"?"[..]; alphabet.n_symbols.saturating_sub(SEPARATOR)];
    let input = Input {
        items: Items::Symbols(&symbols),
        ends: &ends,
        counts: pretokens.counts,
        base: &base,
        named: alphabet.named,
    };
    super::train_tuned(input, options, None, monitor)
}
