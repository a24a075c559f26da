//! The definition of BPE training: count all pairs, take the best one, replace it everywhere, repeat.
//!
//! Slow and simple: the trainer is tested against it.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::options::{Merge, MergeOptions, TieBreak, WeightedPretokens};
use crate::error::Result;
use crate::monitor::{Monitor, Stage};

/// Learns merges by the definition. Time: the number of merges times the total length of the pretokens.
pub fn train(
    pretokens: WeightedPretokens<'_>,
    options: &MergeOptions,
    monitor: &dyn Monitor,
) -> Result<Vec<Merge>> {
    let total = options.n_merges as u64;
    monitor.report(Stage::Merge, 0, total)?;
    let symbols = |pretoken: &[u8]| pretoken.iter().map(|&b| u32::from(b)).collect();
    let mut words: Vec<(Vec<u32>, u64)> =
        pretokens.iter().map(|(pretoken, count)| (symbols(pretoken), count)).collect();
    let mut tokens: Vec<Vec<u8>> = (0..=255u8).map(|b| vec![b]).collect();
    let mut merges = Vec::new();
    while merges.len() < options.n_merges {
        let mut pairs: HashMap<Merge, u64> = HashMap::new();
        for (word, count) in &words {
            for pair in word.windows(2) {
                *pairs.entry([pair[0], pair[1]]).or_default() += count;
            }
        }
        let id_of = |symbol: u32| match symbol {
            0..=255 => u32::from(options.byte_order[symbol as usize]),
            _ => symbol,
        };
        let allowed = pairs.into_iter().filter(|&([left, right], count)| {
            let n_bytes = tokens[left as usize].len() + tokens[right as usize].len();
            count > 0
                && count >= options.min_frequency
                && options.max_token_bytes.is_none_or(|limit| n_bytes <= limit)
        });
        let best = match options.tie_break {
            TieBreak::IdsLeast => allowed.max_by_key(|&(pair, count)| (count, Reverse(pair.map(id_of)))),
            TieBreak::BytesGreatest => {
                allowed.max_by_key(|&(pair, count)| (count, pair.map(|symbol| &tokens[symbol as usize])))
            }
        };
        let Some((pair, _)) = best else { break };
        let merged = tokens.len() as u32;
        tokens.push(pair.map(|symbol| tokens[symbol as usize].as_slice()).concat());
        for (word, _) in &mut words {
            replace(word, pair, merged);
        }
        merges.push(pair);
        monitor.report(Stage::Merge, merges.len() as u64, total)?;
    }
    Ok(merges)
}

/// Replaces non-overlapping occurrences of `pair` by `merged`, left to right.
pub(super) fn replace(word: &mut Vec<u32>, pair: Merge, merged: u32) {
    let (mut read, mut write) = (0, 0);
    while read < word.len() {
        if read + 1 < word.len() && [word[read], word[read + 1]] == pair {
            word[write] = merged;
            read += 2;
        } else {
            word[write] = word[read];
            read += 1;
        }
        write += 1;
    }
    word.truncate(write);
}
