//! Maps named patterns to their scanners.

use super::cl100k::Cl100k;
use super::deepseek::DeepSeek;
use super::gpt2::{self, Gpt2};
use super::o200k::O200k;
use super::scan::fill;
use crate::cpu::CpuTier;
use crate::error::Result;

/// [`super::Pretokenizer::fill`] for one named pattern, with the instructions of a tier that this processor has.
/// Returns no ends if the first or the second one is too far away.
pub(super) type Fill = fn(CpuTier, document: &str, from: usize, ends: &mut Vec<u32>) -> Result<()>;

/// Returns the scanner of a named pattern.
pub(super) fn scanner_for(name: &str) -> Option<Fill> {
    Some(match name {
        "gpt2" => fill::<Gpt2<{ gpt2::NO_SPLIT }>>,
        "starcoder" => fill::<Gpt2<{ gpt2::NUMBERS }>>,
        "digits" => fill::<Gpt2<{ gpt2::DIGITS }>>,
        "digit-runs" => fill::<Gpt2<{ gpt2::DIGIT_RUNS }>>,
        "cl100k" => fill::<Cl100k<3, false, true, true>>,
        "cl100k-runs" => fill::<Cl100k<0, false, true, true>>,
        "llama3" => fill::<Cl100k<3, false, false, true>>,
        "qwen2" => fill::<Cl100k<1, false, false, true>>,
        "qwen3.5" => fill::<Cl100k<1, true, false, true>>,
        "seed" => fill::<Cl100k<1, false, false, false>>,
        "nanochat" => fill::<Cl100k<2, false, false, true>>,
        "o200k" => fill::<O200k<3, true, true, false>>,
        "tekken" => fill::<O200k<1, false, true, false>>,
        "kimi" => fill::<O200k<3, true, false, true>>,
        "deepseek" => fill::<DeepSeek>,
        _ => return None,
    })
}
