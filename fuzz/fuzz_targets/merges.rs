//! The merge engine learns what the definition learns.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use pairloom_core::merges::{self, MergeOptions, TieBreak, WeightedPretokens};
use pairloom_core::monitor::Silent;

#[derive(Arbitrary, Debug)]
struct Input {
    pretokens: Vec<(Vec<u8>, u16)>,
    greatest: bool,
    alphabet: u8,
    min_frequency: u8,
    max_token_bytes: Option<u8>,
    n_merges: u8,
    threads: u8,
}

fuzz_target!(|input: Input| {
    let (mut bytes, mut ends, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    for (pretoken, count) in &input.pretokens {
        // A small alphabet makes runs and ties.
        bytes.extend(pretoken.iter().map(|byte| byte % (input.alphabet % 4 + 1) + b'a'));
        ends.push(bytes.len() as u64);
        counts.push(u64::from(*count));
    }
    let mut byte_order: [u8; 256] = std::array::from_fn(|byte| byte as u8);
    byte_order.rotate_left(usize::from(input.alphabet));
    let options = MergeOptions {
        n_merges: usize::from(input.n_merges),
        tie_break: if input.greatest { TieBreak::BytesGreatest } else { TieBreak::IdsLeast },
        byte_order,
        min_frequency: u64::from(input.min_frequency).max(1),
        max_token_bytes: input.max_token_bytes.map(|most| usize::from(most).max(1)),
        threads: usize::from(input.threads % 4) + 1,
    };
    let pretokens = WeightedPretokens { bytes: &bytes, ends: &ends, counts: &counts };
    let learned = merges::learn(pretokens, &options, &Silent).unwrap();
    assert_eq!(learned, merges::naive::learn(pretokens, &options, &Silent).unwrap());
});
