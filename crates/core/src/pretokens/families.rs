//! The hand-written scanners, as one choice.

use super::cl100k::Cl100k;
use super::deepseek::DeepSeek;
use super::gpt2::Gpt2;
use super::o200k::O200k;
use super::scan;
use crate::cpu::CpuTier;
use crate::error::Result;

/// A scanner written by hand, and the choices within its family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// See [`super::gpt2`].
    Gpt2,
    /// The same, with each number a pretoken of its own before anything else is looked at.
    Gpt2Digits,
    /// See [`super::cl100k`]; at the text's end, all white space is one pretoken.
    Cl100k,
    /// The same, with white space at the text's end cut like any other.
    Llama3,
    /// The same as Llama 3, with numbers one by one.
    Qwen2,
    /// The same as Qwen 2, with marks in words.
    Qwen35,
    /// The same as Llama 3, with numbers two by two.
    Nanochat,
    /// See [`super::o200k`].
    O200k,
    /// The same without contractions, with numbers one by one.
    Tekken,
    /// The same as o200k, with Han apart and without slashes.
    Kimi,
    /// See [`super::deepseek`].
    DeepSeek,
}

impl Family {
    /// The scanner of a named pattern.
    pub fn of(name: &str) -> Option<Family> {
        Some(match name {
            "gpt2" => Family::Gpt2,
            "starcoder" => Family::Gpt2Digits,
            "cl100k" => Family::Cl100k,
            "llama3" => Family::Llama3,
            "qwen2" => Family::Qwen2,
            "qwen3.5" => Family::Qwen35,
            "nanochat" => Family::Nanochat,
            "o200k" => Family::O200k,
            "tekken" => Family::Tekken,
            "kimi" => Family::Kimi,
            "deepseek" => Family::DeepSeek,
            _ => return None,
        })
    }

    /// [`super::Pretokenizer::fill`] by the instructions of `tier`, which this processor must have.
    pub fn fill(self, tier: CpuTier, document: &str, from: usize, ends: &mut Vec<usize>) -> Result<()> {
        match self {
            Family::Gpt2 => scan::fill(Gpt2::<false>, tier, document, from, ends),
            Family::Gpt2Digits => scan::fill(Gpt2::<true>, tier, document, from, ends),
            Family::Cl100k => scan::fill(Cl100k::<3, false, true>, tier, document, from, ends),
            Family::Llama3 => scan::fill(Cl100k::<3, false, false>, tier, document, from, ends),
            Family::Qwen2 => scan::fill(Cl100k::<1, false, false>, tier, document, from, ends),
            Family::Qwen35 => scan::fill(Cl100k::<1, true, false>, tier, document, from, ends),
            Family::Nanochat => scan::fill(Cl100k::<2, false, false>, tier, document, from, ends),
            Family::O200k => scan::fill(O200k::<3, true, true, false>, tier, document, from, ends),
            Family::Tekken => scan::fill(O200k::<1, false, true, false>, tier, document, from, ends),
            Family::Kimi => scan::fill(O200k::<3, true, false, true>, tier, document, from, ends),
            Family::DeepSeek => scan::fill(DeepSeek, tier, document, from, ends),
        }
    }
}
