//! Scanning speed: `cargo run --release --example scan -- FILE [PATTERN NAME]...`
//!
//! Prints MB/s per named pattern and instruction level, the best of 15 passes over the file.

use std::time::Instant;

use pairloom_core::pretokens::{Level, Pretokenizer, named_patterns, names};

const N_PASSES: usize = 15;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: scan FILE [PATTERN NAME]...")?;
    let text = std::fs::read_to_string(&path)?;
    let wanted: Vec<String> = arguments.collect();
    for name in names().filter(|name| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name)) {
        let patterns = named_patterns(name).unwrap_or_default();
        for level in Level::available() {
            let pretokenizer = Pretokenizer::at_level(patterns, level)?;
            let (mut best, mut n_pretokens) = (f64::MAX, 0);
            for _ in 0..N_PASSES {
                let start = Instant::now();
                n_pretokens = count(&pretokenizer, &text)?;
                best = best.min(start.elapsed().as_secs_f64());
            }
            let level = format!("{level:?}");
            println!(
                "{name:12} {level:9} {:8.0} MB/s  {n_pretokens} pretokens",
                text.len() as f64 / best / 1e6
            );
        }
    }
    Ok(())
}

fn count(pretokenizer: &Pretokenizer, text: &str) -> pairloom_core::Result<usize> {
    let (mut ends, mut from, mut n_pretokens) = (Vec::new(), 0, 0);
    while from < text.len() {
        pretokenizer.fill(text, from, &mut ends)?;
        n_pretokens += ends.len();
        from = ends.last().copied().unwrap_or(text.len());
    }
    Ok(n_pretokens)
}
