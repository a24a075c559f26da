//! Times the merging engine: `cargo run --release --example train -- FILE [N_MERGES [REPEATS]]`.
//!
//! Counts the GPT-2 pretokens of a text file, then learns merges under both tie rules with 1, 2, 4, ... threads. Prints
//! a line for each: seconds, the least of the repeats, and a hash of the merges, which must not depend on threads.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use pairloom_core::monitor::Silent;
use pairloom_core::pretokens::{Pretokenizer, gpt2_pattern};
use pairloom_core::train::{MergeOptions, TieBreak, WeightedPretokens, train};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: train FILE [N_MERGES [REPEATS]]")?;
    let n_merges = args.next().map_or(Ok(31_744), |n| n.parse())?;
    let n_repeats = args.next().map_or(Ok(5), |n| n.parse())?;

    let text = String::from_utf8_lossy(&std::fs::read(path)?).into_owned();
    let counted = count(&text)?;
    let (mut bytes, mut ends, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    for (pretoken, count) in counted {
        bytes.extend_from_slice(pretoken.as_bytes());
        ends.push(bytes.len() as u64);
        counts.push(count);
    }
    println!("{} bytes of text, {} distinct pretokens of {} bytes", text.len(), ends.len(), bytes.len());

    let pretokens = WeightedPretokens { bytes: &bytes, ends: &ends, counts: &counts };
    let n_cores = std::thread::available_parallelism()?.get();
    for tie_break in [TieBreak::IdsLeast, TieBreak::BytesGreatest] {
        let mut threads = 1;
        while threads <= n_cores {
            let options = MergeOptions {
                n_merges,
                tie_break,
                byte_order: std::array::from_fn(|byte| byte as u8),
                min_frequency: 1,
                max_token_bytes: None,
                max_memory: None,
                threads,
                n_traced: 0,
            };
            let (mut least, mut hash, mut n_learned) = (Duration::MAX, 0u64, 0);
            for _ in 0..n_repeats {
                let start = Instant::now();
                let merges = train(pretokens, &options, &Silent)?.merges;
                least = least.min(start.elapsed());
                n_learned = merges.len();
                hash = merges.iter().flatten().copied().fold(0, |hash, symbol| {
                    (hash.rotate_left(5) ^ u64::from(symbol)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
                });
            }
            let seconds = least.as_secs_f64();
            println!(
                "{tie_break:?} threads={threads} merges={n_learned} seconds={seconds:.3} hash={hash:016x}"
            );
            threads *= 2;
        }
    }
    Ok(())
}

/// Returns the pretokens of a text with their counts.
fn count(text: &str) -> pairloom_core::Result<HashMap<&str, u64>> {
    let pretokenizer = Pretokenizer::new(gpt2_pattern())?;
    let mut counts = HashMap::new();
    let (mut from, mut ends) = (0, Vec::new());
    while from < text.len() {
        let filled = pretokenizer.fill(text, from, &mut ends)?;
        let mut begin = from;
        for &distance in &ends {
            let end = from + distance as usize;
            *counts.entry(&text[begin..end]).or_default() += 1;
            begin = end;
        }
        from = filled;
    }
    Ok(counts)
}
