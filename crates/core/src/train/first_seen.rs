//! Training with minbpe's tie rule: among equally frequent pairs, the one that occurs first in the corpus, as merged so
//! far, wins.
//!
//! The fast trainer cannot implement that rule: it sorts pretokens by count, which loses their order. So this is the
//! plain incremental algorithm on one thread, with a list of positions per pair and a heap. The pretokens must be in
//! the order of their first occurrence in the corpus, so that a lower position is an earlier occurrence.
//!
//! A pair gains occurrences only in the step that creates the newer of its tokens. After that its count only falls and
//! its first position only rises, so a heap entry is an upper bound, corrected when it reaches the top.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hashbrown::HashMap;

use super::options::{Merge, MergeOptions, Shortage, Trained, WeightedPretokens};
use super::progress::ProgressReporter;
use crate::error::{Error, Result};
use crate::memory::{TryReserve, filled};
use crate::monitor::Monitor;

/// Named in the message of [`Error::OutOfMemory`].
const WHAT: &str = "learning merges";

/// Marks a missing symbol or position.
const NONE: u32 = u32::MAX;

/// The occurrences of a pair.
#[derive(Default)]
struct Occurrences {
    count: u64,
    /// Ascending positions; some can be stale.
    positions: Vec<u32>,
    /// All positions before this index are stale.
    first: usize,
}

/// The pretokens as doubly linked lists of symbols.
struct Symbols {
    symbols: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
    /// The pretoken of each position.
    pretoken: Vec<u32>,
    /// The length of each symbol in bytes.
    n_bytes: Vec<usize>,
}

impl Symbols {
    fn new(pretokens: WeightedPretokens<'_>) -> Result<Self> {
        let n = pretokens.bytes.len();
        if u32::try_from(n).is_err() {
            return Err(Error::Invalid(
                "tie_break \"first_seen\" supports at most 4 GiB of distinct pretokens".to_owned(),
            ));
        }
        let mut found = Symbols {
            symbols: Vec::with_reserved(n, WHAT)?,
            next: Vec::with_reserved(n, WHAT)?,
            previous: Vec::with_reserved(n, WHAT)?,
            pretoken: Vec::with_reserved(n, WHAT)?,
            n_bytes: filled(256, 1, WHAT)?,
        };
        found.symbols.extend(pretokens.bytes.iter().map(|&byte| u32::from(byte)));
        let mut start = 0;
        for (index, &end) in (0u32..).zip(pretokens.ends) {
            for at in start as u32..end as u32 {
                found.previous.push(if u64::from(at) == start { NONE } else { at - 1 });
                found.next.push(if u64::from(at) + 1 == end { NONE } else { at + 1 });
                found.pretoken.push(index);
            }
            start = end;
        }
        Ok(found)
    }

    /// Returns the pair that starts at a position, if there is one.
    fn pair_at(&self, at: u32) -> Option<Merge> {
        let (left, next) = (self.symbols[at as usize], self.next[at as usize]);
        (left != NONE && next != NONE).then(|| [left, self.symbols[next as usize]])
    }
}

/// Learns merges like [`super::train`], but decides ties by the first occurrence. Of the options it uses only
/// `n_merges`, `min_frequency` and `max_token_bytes`.
pub fn train_first_seen(
    pretokens: WeightedPretokens<'_>,
    options: &MergeOptions,
    monitor: &dyn Monitor,
) -> Result<Trained> {
    let mut progress = ProgressReporter::start(options, monitor)?;
    let mut symbols = Symbols::new(pretokens)?;
    let weight_of = |symbols: &Symbols, at: u32| pretokens.counts[symbols.pretoken[at as usize] as usize];
    let mut pairs: HashMap<Merge, Occurrences> = HashMap::new();
    for at in 0..symbols.symbols.len() as u32 {
        if let Some(pair) = symbols.pair_at(at) {
            add_occurrence(&mut pairs, pair, at, weight_of(&symbols, at))?;
        }
    }
    let is_long = |symbols: &Symbols, [left, right]: Merge| {
        let n_bytes = symbols.n_bytes[left as usize] + symbols.n_bytes[right as usize];
        options.max_token_bytes.is_some_and(|limit| n_bytes > limit)
    };
    let min_frequency = options.min_frequency.max(1);
    // (count, first position, pair): the greatest count first, then the lowest position. No two pairs start at the same
    // position, so the pair never decides.
    let mut heap = BinaryHeap::new();
    for (&pair, found) in &pairs {
        if !is_long(&symbols, pair) {
            heap.try_reserve(1).map_err(Error::out_of_memory(WHAT))?;
            heap.push((found.count, Reverse(found.positions[0]), pair));
        }
    }
    while progress.merges.len() < options.n_merges {
        let Some((count, Reverse(first), pair)) = heap.pop() else { break };
        let Some(found) = pairs.get_mut(&pair) else { continue };
        while found.positions.get(found.first).is_some_and(|&at| symbols.pair_at(at) != Some(pair)) {
            found.first += 1;
        }
        let Some(&now) = found.positions.get(found.first) else {
            pairs.remove(&pair);
            continue;
        };
        if (found.count, now) != (count, first) {
            heap.push((found.count, Reverse(now), pair));
            continue;
        }
        if count < min_frequency {
            heap.push((count, Reverse(first), pair));
            break;
        }
        let merged = 256 + progress.merges.len() as u32;
        let occurrences = pairs.remove(&pair).unwrap_or_default();
        progress.merges.try_push(pair, WHAT)?;
        let n_bytes = pair.map(|symbol| symbols.n_bytes[symbol as usize]).iter().sum();
        symbols.n_bytes.try_push(n_bytes, WHAT)?;
        let mut new_pairs = Vec::new();
        for &at in &occurrences.positions[occurrences.first..] {
            if symbols.pair_at(at) != Some(pair) {
                continue;
            }
            let weight = weight_of(&symbols, at);
            let right = symbols.next[at as usize];
            let (before, after) = (symbols.previous[at as usize], symbols.next[right as usize]);
            symbols.symbols[at as usize] = merged;
            symbols.symbols[right as usize] = NONE;
            symbols.next[at as usize] = after;
            if before != NONE {
                let left = symbols.symbols[before as usize];
                remove_occurrence(&mut pairs, [left, pair[0]], weight);
                add_occurrence(&mut pairs, [left, merged], before, weight)?;
                new_pairs.try_push([left, merged], WHAT)?;
            }
            if after != NONE {
                symbols.previous[after as usize] = at;
                let following = symbols.symbols[after as usize];
                remove_occurrence(&mut pairs, [pair[1], following], weight);
                add_occurrence(&mut pairs, [merged, following], at, weight)?;
                new_pairs.try_push([merged, following], WHAT)?;
            }
            progress.tick()?;
        }
        new_pairs.sort_unstable();
        new_pairs.dedup();
        for pair in new_pairs {
            if let Some(found) = pairs.get(&pair).filter(|found| found.count > 0)
                && !is_long(&symbols, pair)
            {
                heap.try_reserve(1).map_err(Error::out_of_memory(WHAT))?;
                heap.push((found.count, Reverse(found.positions[found.first]), pair));
            }
        }
    }
    let mut shortage = None;
    if progress.merges.len() < options.n_merges {
        let left = || pairs.iter().filter(|(_, found)| found.count > 0);
        shortage = Some(Shortage {
            has_rare: left().any(|(&pair, _)| !is_long(&symbols, pair)),
            has_long: left().any(|(&pair, _)| is_long(&symbols, pair)),
        });
    }
    progress.report()?;
    Ok(Trained { merges: progress.merges, shortage, trace: Vec::new() })
}

/// Adds an occurrence of a pair; it must come after all its earlier ones.
fn add_occurrence(pairs: &mut HashMap<Merge, Occurrences>, pair: Merge, at: u32, weight: u64) -> Result<()> {
    pairs.try_reserve(1).map_err(Error::out_of_memory(WHAT))?;
    let found = pairs.entry(pair).or_default();
    found.count += weight;
    found.positions.try_push(at, WHAT)
}

/// Removes an occurrence of a pair. Does nothing for the pair that is being merged, which is no longer in the table.
fn remove_occurrence(pairs: &mut HashMap<Merge, Occurrences>, pair: Merge, weight: u64) {
    if let Some(found) = pairs.get_mut(&pair) {
        found.count -= weight;
    }
}
