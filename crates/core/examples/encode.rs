//! Times encoding, counting and decoding with a GPT-2 vocabulary.
//!
//! `cargo run --release --example encode -- VOCAB_JSON MERGES_TXT TEXT... [--seconds S]`
//!
//! Each figure is the best of as many rounds as fit the time given. Cold: an encoder that has seen nothing.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pairloom_core::decoder::Decoder;
use pairloom_core::encoder::{Encoder, EncoderOptions, SpecialPolicy};
use pairloom_core::monitor::Silent;
use pairloom_core::pretokens::{GPT2_PATTERN, Pretokenizer};
use pairloom_core::special::SpecialTokens;
use pairloom_core::vocabulary::{Tokens, Vocabulary};

type Failure = Box<dyn std::error::Error>;

/// Which byte each character of GPT-2's alphabet stands for.
fn alphabet() -> HashMap<char, u8> {
    let own = |byte: u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    let mut shifted = 256u32;
    (0..=255u8)
        .filter_map(|byte| {
            let code = if own(byte) {
                u32::from(byte)
            } else {
                shifted += 1;
                shifted - 1
            };
            Some((char::from_u32(code)?, byte))
        })
        .collect()
}

/// Tokens and merges as GPT-2 files hold them, in columns.
fn load(vocab: &str, merges: &str) -> Result<(Tokens, Vec<[u32; 3]>), Failure> {
    let alphabet = alphabet();
    let vocab: HashMap<String, u32> = serde_json::from_str(&fs::read_to_string(vocab)?)?;
    let mut tokens = Tokens::default();
    let mut ordered: Vec<(&String, &u32)> = vocab.iter().collect();
    ordered.sort_by_key(|&(_, id)| id);
    for (token, &id) in ordered {
        let bytes: Option<Vec<u8>> = token.chars().map(|c| alphabet.get(&c).copied()).collect();
        if token != "<|endoftext|>" {
            tokens.push(id, &bytes.ok_or("a character outside the alphabet")?)?;
        }
    }
    let mut list = Vec::new();
    for line in fs::read_to_string(merges)?.lines().filter(|line| !line.starts_with("#version")) {
        let (left, right) = line.split_once(' ').ok_or("a merge without a space")?;
        list.push([vocab[left], vocab[right], vocab[&format!("{left}{right}")]]);
    }
    Ok((tokens, list))
}

/// The best time of `work` in rounds that together last about `seconds`.
fn best<T>(seconds: f64, mut work: impl FnMut() -> Result<T, Failure>) -> Result<Duration, Failure> {
    let begun = Instant::now();
    let mut least = Duration::MAX;
    while least == Duration::MAX || begun.elapsed().as_secs_f64() < seconds {
        let (start, start_running) = (Instant::now(), running());
        std::hint::black_box(work()?);
        let elapsed = start.elapsed();
        let spent = running().zip(start_running).map(|(end, start)| end - start);
        // The system counts in ticks: of what is short, the time that passes says more.
        let spent = spent.filter(|&spent| spent > Duration::from_millis(8));
        least = least.min(spent.unwrap_or(elapsed));
    }
    Ok(least)
}

/// How long this thread has been running, with `PAIRLOOM_CPU_TIME` set, where the system says so.
///
/// On a busy machine that tells more about one thread's work than the time that passes.
fn running() -> Option<Duration> {
    std::env::var_os("PAIRLOOM_CPU_TIME")?;
    let line = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    line.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

fn main() -> Result<(), Failure> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut seconds = 2.0;
    if let Some(at) = arguments.iter().position(|argument| argument == "--seconds") {
        seconds = arguments.get(at + 1).ok_or("--seconds without a number")?.parse()?;
        arguments.drain(at..at + 2);
    }
    let [vocab, merges, texts @ ..] = arguments.as_slice() else {
        return Err("usage: encode VOCAB_JSON MERGES_TXT TEXT...".into());
    };
    let (tokens, list) = load(vocab, merges)?;
    let time = best(seconds / 4.0, || {
        let (tokens, list) = (tokens.clone(), list.clone());
        Ok(Vocabulary::from_merges(tokens, list, false)?)
    })?;
    println!("vocabulary from columns       {:8.2} ms", time.as_secs_f64() * 1e3);
    let vocabulary = Arc::new(Vocabulary::from_merges(tokens, list, false)?);
    let pretokenizer = Arc::new(Pretokenizer::new(GPT2_PATTERN)?);
    let specials = SpecialTokens::new(vec![("<|endoftext|>".into(), 50256)])?;
    let encoder = || {
        let options = EncoderOptions::default();
        Encoder::new(Arc::clone(&vocabulary), Arc::clone(&pretokenizer), specials.clone(), options)
    };
    let warm = encoder()?;
    let time = best(seconds / 4.0, || Ok(Decoder::new(&vocabulary, &specials)?))?;
    println!("decoder                       {:8.2} ms", time.as_secs_f64() * 1e3);
    let long = "The quick brown fox jumps over the lazy dog. ".repeat(7);
    for text in ["Hello, world!", &long[..292]] {
        const ROUNDS: u32 = 10_000;
        let mut ids: Vec<u16> = Vec::new();
        let time = best(seconds / 4.0, || {
            for _ in 0..ROUNDS {
                ids.clear();
                warm.encode(std::hint::black_box(text), SpecialPolicy::All, &mut ids)?;
            }
            Ok(())
        })?;
        println!(
            "{:3} characters, {:2} ids        {:8.0} ns",
            text.len(),
            ids.len(),
            time.as_secs_f64() * 1e9 / f64::from(ROUNDS)
        );
    }
    for path in texts {
        let text = fs::read_to_string(path)?;
        let rate = |time: Duration| text.len() as f64 / time.as_secs_f64() / 1e6;
        println!("{path}: {:.1} MB", text.len() as f64 / 1e6);
        let mut ids: Vec<u16> = Vec::new();
        let time = best(seconds, || {
            ids.clear();
            Ok(encoder()?.encode(&text, SpecialPolicy::All, &mut ids)?)
        })?;
        println!("  encode, cold                {:8.0} MB/s", rate(time));
        let time = best(seconds, || {
            ids.clear();
            Ok(warm.encode(&text, SpecialPolicy::All, &mut ids)?)
        })?;
        println!("  encode, warm                {:8.0} MB/s", rate(time));
        let time = best(seconds, || Ok(warm.count(&text, SpecialPolicy::All, None)?))?;
        println!("  count, warm                 {:8.0} MB/s", rate(time));
        for threads in [1, 2] {
            let time =
                best(seconds, || Ok(encoder()?.encode_file::<u16>(Path::new(path), threads, &Silent)?))?;
            println!("  file, {threads} threads, cold       {:8.0} MB/s", rate(time));
        }
        let lines: Vec<&str> = text.split_inclusive("\n\n").collect();
        for threads in [1, 2] {
            let time = best(seconds, || {
                Ok(warm.encode_batch::<u16>(&lines, SpecialPolicy::All, threads, &Silent)?)
            })?;
            println!("  batch of {:6}, {threads} threads  {:8.0} MB/s", lines.len(), rate(time));
        }
        let decoder = Decoder::new(&vocabulary, &specials)?;
        let mut decoded = Vec::new();
        let time = best(seconds, || {
            decoded.clear();
            Ok(decoder.decode(&ids, &mut decoded)?)
        })?;
        if decoded != text.as_bytes() {
            return Err("decoding gave another text".into());
        }
        println!(
            "  decode                      {:8.0} MB/s, {:.2} bytes an id",
            rate(time),
            text.len() as f64 / ids.len() as f64
        );
    }
    Ok(())
}
