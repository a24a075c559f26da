//! Scanning speed: `cargo run --release --example scan -- FILE [PATTERN NAME]...`
//!
//! Prints MB/s for each named pattern and instruction tier: the best of the passes over the file that fit in half a
//! second, and of at least three. The last line of a pattern is the backtracking regex engine, over the file's first
//! megabyte.

use std::time::Instant;

use pairloom_core::cpu::CpuTier;
use pairloom_core::pretokens::{Pretokenizer, named_patterns, names};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: scan FILE [PATTERN NAME]...")?;
    let text = std::fs::read_to_string(&path)?;
    let wanted: Vec<String> = arguments.collect();
    for name in names().filter(|name| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name)) {
        let patterns = named_patterns(name).unwrap_or_default();
        for tier in CpuTier::available() {
            report(name, &format!("{tier:?}"), &Pretokenizer::at_tier(patterns, tier)?, &text)?;
        }
        let n_start = text.floor_char_boundary(1 << 20);
        report(name, "regex", &Pretokenizer::by_regex(patterns)?, &text[..n_start])?;
    }
    Ok(())
}

fn report(name: &str, engine: &str, pretokenizer: &Pretokenizer, text: &str) -> pairloom_core::Result<()> {
    let (begin, mut best, mut n_passes, mut n_pretokens) = (Instant::now(), f64::MAX, 0, 0);
    while n_passes < 3 || begin.elapsed().as_secs_f64() < 0.5 {
        let start = Instant::now();
        n_pretokens = count(pretokenizer, text)?;
        best = best.min(start.elapsed().as_secs_f64());
        n_passes += 1;
    }
    println!("{name:12} {engine:9} {:8.0} MB/s  {n_pretokens} pretokens", text.len() as f64 / best / 1e6);
    Ok(())
}

fn count(pretokenizer: &Pretokenizer, text: &str) -> pairloom_core::Result<usize> {
    let (mut ends, mut from, mut n_pretokens) = (Vec::new(), 0, 0);
    while from < text.len() {
        from = pretokenizer.fill(text, from, &mut ends)?;
        n_pretokens += ends.len();
    }
    Ok(n_pretokens)
}
