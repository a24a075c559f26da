//! Maps named patterns to their scanners.

use super::cl100k::Cl100k;
use super::deepseek::DeepSeek;
use super::gpt2::{self, Gpt2};
use super::o200k::O200k;
use super::scan::{Rules, fill};
use crate::cpu::CpuTier;
use crate::error::Result;

/// [`super::Pretokenizer::fill`] for one named pattern, with the instructions of a tier that this processor has.
/// Returns no ends if the first or the second one is too far away.
pub(super) type Fill = fn(CpuTier, document: &str, from: usize, ends: &mut Vec<u32>) -> Result<()>;

/// A hand-written scanner.
#[derive(Clone, Copy)]
pub(super) struct Scanner {
    pub fill: Fill,
    /// Whether a pretoken can have a space after a letter ([`Rules::JOINS_WORDS`]).
    pub joins_words: bool,
}

fn of<R: Rules>() -> Scanner {
    Scanner { fill: fill::<R>, joins_words: R::JOINS_WORDS }
}

/// Returns the scanner of a named pattern.
pub(super) fn scanner_for(name: &str) -> Option<Scanner> {
    Some(match name {
        "gpt2" => of::<Gpt2<{ gpt2::NO_SPLIT }>>(),
        "starcoder" => of::<Gpt2<{ gpt2::NUMBERS }>>(),
        "digits" => of::<Gpt2<{ gpt2::DIGITS }>>(),
        "digit-runs" => of::<Gpt2<{ gpt2::DIGIT_RUNS }>>(),
        "cl100k" => of::<Cl100k<3, false, true, true>>(),
        "cl100k-runs" => of::<Cl100k<0, false, true, true>>(),
        "llama3" => of::<Cl100k<3, false, false, true>>(),
        "qwen2" => of::<Cl100k<1, false, false, true>>(),
        "qwen3.5" => of::<Cl100k<1, true, false, true>>(),
        "seed" => of::<Cl100k<1, false, false, false>>(),
        "exaone4" => of::<Cl100k<1, false, false, true, true>>(),
        "nanochat" => of::<Cl100k<2, false, false, true>>(),
        "o200k" => of::<O200k<3, true, true, false>>(),
        "tekken" => of::<O200k<1, false, true, false>>(),
        "kimi" => of::<O200k<3, true, false, true>>(),
        "deepseek" => of::<DeepSeek>(),
        _ => return None,
    })
}
