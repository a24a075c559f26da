//! Speed of counting pretokens: `cargo run --release --example count -- FILE...`
//!
//! Counts each file from scratch, with the GPT-2 pattern on one thread, and prints MB/s: the best of the passes that
//! fit in two seconds, in wall-clock time.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use pairloom_core::counts::{CorpusSpecials, CountOptions, Counter};
use pairloom_core::cpu::CpuTier;
use pairloom_core::monitor::Silent;
use pairloom_core::pretokens::{Pretokenizer, gpt2_pattern};
use pairloom_core::special::SpecialTokens;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = CountOptions {
        pretokenizer: Arc::new(Pretokenizer::new(gpt2_pattern())?),
        specials: Arc::new(SpecialTokens::new(Vec::new())?),
        corpus_specials: CorpusSpecials::Text,
        threads: 1,
        max_memory: None,
    };
    for path in std::env::args().skip(1).map(PathBuf::from) {
        let n_bytes = std::fs::metadata(&path)?.len();
        let (begun, mut best) = (Instant::now(), f64::MAX);
        while begun.elapsed().as_secs_f64() < 2.0 {
            let start = Instant::now();
            let mut counter = Counter::new(options.clone())?;
            counter.count_files(std::slice::from_ref(&path), &Silent)?;
            counter.finish()?;
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!("{:?} {} {:.0} MB/s", CpuTier::best(), path.display(), n_bytes as f64 / best / 1e6);
    }
    Ok(())
}
