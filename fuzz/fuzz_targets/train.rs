#![no_main]
//! The trainer learns the same merges as the naive trainer from any pretokens.

use libfuzzer_sys::fuzz_target;
use pairloom_core::monitor::Silent;
use pairloom_core::train::{MergeOptions, TieBreak, WeightedPretokens, naive, train};

fuzz_target!(|input: (Vec<(Vec<u8>, u8)>, bool, u8, u8, u8)| {
    let (words, is_least, min_frequency, longest, threads) = input;
    let (mut bytes, mut ends, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    for (word, count) in words {
        bytes.extend_from_slice(&word);
        ends.push(bytes.len() as u64);
        counts.push(u64::from(count));
    }
    let options = MergeOptions {
        n_merges: 200,
        tie_break: if is_least { TieBreak::IdsLeast } else { TieBreak::BytesGreatest },
        byte_order: std::array::from_fn(|byte| byte as u8 ^ threads),
        min_frequency: u64::from(min_frequency),
        max_token_bytes: (longest > 0).then_some(usize::from(longest)),
        max_memory: None,
        threads: 1 + usize::from(threads % 3),
        n_traced: 0,
    };
    let pretokens = WeightedPretokens { bytes: &bytes, ends: &ends, counts: &counts };
    let learned = train(pretokens, &options, &Silent).expect("valid input").merges;
    assert_eq!(learned, naive::train(pretokens, &options, &Silent).expect("valid input"));
});
