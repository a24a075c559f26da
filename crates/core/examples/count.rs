//! Counts files and says how fast: `count [--threads N] [--pattern TEXT] [--split LITERAL] FILE...`
//!
//! Prints the distinct pretokens, their occurrences, seconds, megabytes a second and peak memory.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use pairloom_core::Result;
use pairloom_core::corpus::InputErrors;
use pairloom_core::counts::{CorpusSpecials, CountOptions, Counter};
use pairloom_core::monitor::Silent;
use pairloom_core::pretokens::{Pretokenizer, gpt2_pattern};
use pairloom_core::special::SpecialTokens;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut threads = 0;
    let mut pattern = gpt2_pattern().to_owned();
    let mut literals = Vec::new();
    let mut paths = Vec::new();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().unwrap_or_default();
        match argument.as_str() {
            "--threads" => threads = value().parse().unwrap_or(0),
            "--pattern" => pattern = value(),
            "--split" => literals.push((value(), literals.len() as u32)),
            _ => paths.push(PathBuf::from(argument)),
        }
    }
    match count(threads, &pattern, literals, &paths) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn count(threads: usize, pattern: &str, literals: Vec<(String, u32)>, paths: &[PathBuf]) -> Result<()> {
    let corpus_specials = if literals.is_empty() { CorpusSpecials::Text } else { CorpusSpecials::Split };
    let options = CountOptions {
        pretokenizer: Arc::new(Pretokenizer::new(pattern)?),
        specials: Arc::new(SpecialTokens::new(literals)?),
        corpus_specials,
        input_errors: InputErrors::Strict,
        threads,
        max_memory: None,
        total_hint: None,
    };
    let started = Instant::now();
    let mut counter = Counter::new(options)?;
    counter.count_files(paths, &Silent)?;
    let counted = started.elapsed().as_secs_f64();
    let counts = counter.finish()?;
    let finished = started.elapsed().as_secs_f64();
    let occurrences: u64 = counts.iter().map(|(_, count)| count).sum();
    let megabytes = counts.n_bytes() as f64 / 1e6;
    println!(
        "{} distinct, {occurrences} in all; {finished:.3} s ({:.3} s of it freezing), {:.0} MB/s; peak {}",
        counts.len(),
        finished - counted,
        megabytes / finished,
        peak_memory()
    );
    Ok(())
}

/// Peak resident memory as the system reports it, where it does.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or("unknown".to_owned(), |line| line.trim().to_owned())
}
