//! Speed of characters to UTF-8 and back: `cargo run --release --example transcode -- FILE... [--document-chars N]`
//!
//! Prints MB of UTF-8 a second for each width of characters: the best of the passes that fit in half a second, on the
//! tier that `PAIRLOOM_DISABLE_CPU_FEATURES` leaves. Characters that do not fit a width are replaced.

use std::hint::black_box;
use std::mem::MaybeUninit;
use std::time::Instant;

use pairloom_core::cpu::CpuTier;
use pairloom_core::text::{Characters, Text, Unit, from_utf8};

/// The most bytes of a file to use.
const MAX_BYTES: usize = 16 << 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut n_characters = 100_000;
    if let Some(at) = arguments.iter().position(|argument| argument == "--document-chars") {
        n_characters = arguments.drain(at..).nth(1).ok_or("--document-chars needs a number")?.parse()?;
    }
    println!("{:?}, documents of {n_characters} characters, MB/s", CpuTier::best());
    for path in &arguments {
        let text = std::fs::read_to_string(path)?;
        let text: Vec<u32> = text[..text.floor_char_boundary(MAX_BYTES)].chars().map(u32::from).collect();
        let documents = |most: u32, other: u32| {
            let replace = move |&unit: &u32| if unit <= most { unit } else { other };
            text.chunks(n_characters).map(move |text| text.iter().map(replace).collect::<Vec<u32>>())
        };
        let one: Vec<Vec<u8>> = documents(0xff, 0xe9).map(narrowed).collect();
        let two: Vec<Vec<u16>> = documents(0xffff, 0x4e2d).map(narrowed).collect();
        let four: Vec<Vec<u32>> = documents(u32::MAX, 0).collect();
        println!("{path}");
        report("1 byte", &one, |units| Characters::Latin1(units))?;
        report("2 bytes", &two, |units| Characters::Ucs2(units))?;
        report("4 bytes", &four, |units| Characters::Ucs4(units))?;
    }
    Ok(())
}

fn narrowed<U: TryFrom<u32>>(units: Vec<u32>) -> Vec<U> {
    units.into_iter().filter_map(|unit| U::try_from(unit).ok()).collect()
}

fn report<U: Unit>(
    label: &str,
    documents: &[Vec<U>],
    characters: impl Fn(&[U]) -> Characters<'_>,
) -> pairloom_core::Result<()> {
    let mut texts = Vec::new();
    for units in documents {
        texts.push(characters(units).utf8(&mut String::new())?.to_owned());
    }
    let n_bytes: usize = texts.iter().map(String::len).sum();
    let rate = |seconds: f64| n_bytes as f64 / seconds / 1e6;
    let mut buffer = String::new();
    let to = best(|| {
        for units in documents {
            let _ = black_box(characters(units).utf8(&mut buffer).map(str::len));
        }
    });
    let mut units = vec![MaybeUninit::new(U::default()); documents.iter().map(Vec::len).max().unwrap_or(0)];
    let from = best(|| {
        for (text, document) in texts.iter().zip(documents) {
            from_utf8::<U>(text, black_box(&mut units[..document.len()]));
        }
    });
    println!("  {label:8} to UTF-8 {:6.0}  from UTF-8 {:6.0}", rate(to), rate(from));
    Ok(())
}

fn best(mut pass: impl FnMut()) -> f64 {
    let (begun, mut best) = (Instant::now(), f64::MAX);
    while begun.elapsed().as_secs_f64() < 0.5 {
        let start = Instant::now();
        pass();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}
