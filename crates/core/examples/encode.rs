//! Times encoding, counting and decoding with a GPT-2 vocabulary.
//!
//! `cargo run --release --example encode -- VOCAB_JSON MERGES_TXT TEXT... [--seconds S] [--only LABEL] [--cache-mb N]
//! [--document-bytes N]`
//!
//! Each figure is the best of as many rounds as fit in the given time. Cold: with an encoder that has seen nothing.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pairloom_core::decoder::Decoder;
use pairloom_core::encoder::{Encoder, EncoderOptions, SpecialPolicy, Specials};
use pairloom_core::monitor::Silent;
use pairloom_core::pretokens::{Pretokenizer, gpt2_pattern};
use pairloom_core::special::SpecialTokens;
use pairloom_core::text::{Characters, Text};
use pairloom_core::vocabulary::{Tokens, Vocabulary};

type Failure = Box<dyn std::error::Error>;

/// Returns which byte each character of GPT-2's alphabet stands for.
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

/// Reads tokens and merges from GPT-2's files into columns.
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

/// Which figures are taken, and for how long.
struct Bench {
    seconds: f64,
    only: Option<String>,
}

impl Bench {
    /// Prints what `show` returns for the best time of `work`, over rounds that together last about `seconds`.
    fn measure<T>(
        &self,
        label: &str,
        show: impl Fn(f64) -> String,
        mut work: impl FnMut() -> Result<T, Failure>,
    ) -> Result<(), Failure> {
        if self.only.as_ref().is_some_and(|only| !label.contains(only)) {
            return Ok(());
        }
        let begun = Instant::now();
        let mut least = Duration::MAX;
        while least == Duration::MAX || begun.elapsed().as_secs_f64() < self.seconds {
            let (start, start_running) = (Instant::now(), running());
            std::hint::black_box(work()?);
            let elapsed = start.elapsed();
            let spent = running().zip(start_running).map(|(end, start)| end - start);
            // The system counts running time in ticks, so for short work the wall-clock time is more precise.
            let spent = spent.filter(|&spent| spent > Duration::from_millis(8));
            least = least.min(spent.unwrap_or(elapsed));
        }
        println!("{label:30} {}", show(least.as_secs_f64()));
        Ok(())
    }
}

/// Returns how long this thread has been running, if `PAIRLOOM_CPU_TIME` is set and the system reports it.
///
/// On a busy machine that says more about one thread's work than the wall-clock time.
fn running() -> Option<Duration> {
    std::env::var_os("PAIRLOOM_CPU_TIME")?;
    let line = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    line.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

/// Returns the characters of `text` that fit in two bytes.
fn two_bytes_each(text: &str) -> Vec<u16> {
    text.chars().filter_map(|character| u16::try_from(u32::from(character)).ok()).collect()
}

/// Times counting and encoding a batch of documents that have `n_bytes` in total, in UTF-8.
fn batches(
    bench: &Bench,
    encoder: &Encoder,
    stored: &str,
    texts: &[impl Text],
    n_bytes: usize,
) -> Result<(), Failure> {
    let rate = |time: f64| format!("{:8.0} MB/s", n_bytes as f64 / time / 1e6);
    for threads in [1, 2] {
        bench.measure(&format!("count of {}, {stored}threads {threads}", texts.len()), rate, || {
            Ok(encoder.count_batch(texts, SpecialPolicy::All, threads, &Silent)?)
        })?;
        bench.measure(&format!("batch of {}, {stored}threads {threads}", texts.len()), rate, || {
            Ok(encoder.encode_batch::<u16>(texts, SpecialPolicy::All, threads, &Silent)?)
        })?;
    }
    Ok(())
}

/// Takes `--name value` out of the arguments.
fn option(arguments: &mut Vec<String>, name: &str) -> Option<String> {
    let at = arguments.iter().position(|argument| argument == name)?;
    arguments.remove(at);
    (at < arguments.len()).then(|| arguments.remove(at))
}

fn main() -> Result<(), Failure> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let seconds = option(&mut arguments, "--seconds").map_or(Ok(2.0), |seconds| seconds.parse())?;
    let cache_bytes = match option(&mut arguments, "--cache-mb") {
        Some(n) => n.parse::<usize>()? << 20,
        None => EncoderOptions::default().cache_bytes,
    };
    let document_bytes = option(&mut arguments, "--document-bytes").map_or(Ok(4096), |n| n.parse())?;
    let bench = Bench { seconds, only: option(&mut arguments, "--only") };
    let [vocab, merges, texts @ ..] = arguments.as_slice() else {
        return Err(
            "usage: encode VOCAB_JSON MERGES_TXT TEXT... [--seconds S] [--only LABEL] [--cache-mb N] [--document-bytes N]".into(),
        );
    };
    let (tokens, list) = load(vocab, merges)?;
    let ms = |time: f64| format!("{:8.2} ms", time * 1e3);
    bench.measure("vocabulary from columns", ms, || {
        let (tokens, list) = (tokens.clone(), list.clone());
        Ok(Vocabulary::from_merges(tokens, list, false)?)
    })?;
    let vocabulary = Arc::new(Vocabulary::from_merges(tokens, list, false)?);
    let pretokenizer = Arc::new(Pretokenizer::new(gpt2_pattern())?);
    let specials = SpecialTokens::new(vec![("<|endoftext|>".into(), 50256)])?;
    let encoder = || {
        let options = EncoderOptions { cache_bytes, ..EncoderOptions::default() };
        Encoder::new(Arc::clone(&vocabulary), Arc::clone(&pretokenizer), specials.clone(), options)
    };
    let warm = encoder()?;
    bench.measure("decoder", ms, || Ok(Decoder::new(&vocabulary, &specials)?))?;
    let long = "The quick brown fox jumps over the lazy dog. ".repeat(7);
    for text in ["Hello, world!", &long[..292]] {
        const ROUNDS: u32 = 10_000;
        let mut ids: Vec<u16> = Vec::new();
        let ns = |time: f64| format!("{:8.0} ns", time * 1e9 / f64::from(ROUNDS));
        bench.measure(&format!("{:3} characters", text.len()), ns, || {
            for _ in 0..ROUNDS {
                ids.clear();
                warm.encode(std::hint::black_box(text), SpecialPolicy::All, &mut ids)?;
            }
            Ok(())
        })?;
    }
    for path in texts {
        let text = fs::read_to_string(path)?;
        println!("{path}: {:.1} MB", text.len() as f64 / 1e6);
        let rate = |time: f64| format!("{:8.0} MB/s", text.len() as f64 / time / 1e6);
        let mut ids: Vec<u16> = Vec::new();
        bench.measure("encode, cold", rate, || {
            ids.clear();
            Ok(encoder()?.encode(&text, SpecialPolicy::All, &mut ids)?)
        })?;
        warm.encode(&text, SpecialPolicy::All, &mut Vec::<u16>::new())?;
        bench.measure("encode, warm", rate, || {
            ids.clear();
            Ok(warm.encode(&text, SpecialPolicy::All, &mut ids)?)
        })?;
        bench.measure("count, warm", rate, || {
            Ok(warm.count(&Characters::Utf8(&text), SpecialPolicy::All, 1, &Silent)?)
        })?;
        for threads in [1, 2] {
            bench.measure(&format!("file, cold, threads {threads}"), rate, || {
                Ok(encoder()?.encode_file::<u16>(Path::new(path), Specials::Recognise, threads, &Silent)?)
            })?;
            bench.measure(&format!("file, warm, threads {threads}"), rate, || {
                Ok(warm.encode_file::<u16>(Path::new(path), Specials::Recognise, threads, &Silent)?)
            })?;
        }
        let mut blocks: Vec<&str> = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let mut floor = (at + document_bytes).min(text.len());
            while !text.is_char_boundary(floor) {
                floor += 1;
            }
            let end = text[floor..].find('\n').map_or(text.len(), |n| floor + n + 1);
            blocks.push(&text[at..end]);
            at = end;
        }
        // As CPython stores them: two bytes for each character.
        let units: Vec<Vec<u16>> = blocks.iter().map(|block| two_bytes_each(block)).collect();
        let wide: Vec<Characters> = units.iter().map(|units| Characters::Ucs2(units)).collect();
        batches(&bench, &warm, "UCS-2, ", &wide, text.len())?;
        batches(&bench, &warm, "", &blocks, text.len())?;
        ids.clear();
        warm.encode(&text, SpecialPolicy::All, &mut ids)?;
        let decoder = Decoder::new(&vocabulary, &specials)?;
        let mut decoded = Vec::new();
        bench.measure("decode", rate, || {
            decoded.clear();
            Ok(decoder.append(&ids, &mut decoded)?)
        })?;
        decoded.clear();
        decoder.append(&ids, &mut decoded)?;
        if decoded != text.as_bytes() {
            return Err("decoding gave another text".into());
        }
        println!("{:.2} bytes an id", text.len() as f64 / ids.len() as f64);
    }
    Ok(())
}
