//! Where a source is cut, so that all threads can count it.
//!
//! Enters: a source and a nominal offset. Leaves: an offset near it, or none. Cost: one small read. A cut
//! is a function of the source alone, so that the workers on both of its sides find the same one.
//!
//! Always true of a cut: it is no continuation byte's offset, so text is whole and malformed parts are
//! the same on both sides; and no special literal spans it or starts there, so that searching for
//! literals from the cut on finds what a search from the source's begin finds. (A match ends at the cut
//! or before; from its end on both searches are the same.)
//!
//! Mostly true of a cut: it is a pretoken's boundary. A space after anything but white space is one under
//! every named pattern. Where there is none nearby, any character outside a run of digits or white space
//! will do: `seams` joins what was cut in two.
//!
//! A pattern that is not memoryless allows no cut inside a document. Where special literals end
//! documents, such a source is cut after a literal.

use super::range::Plan;
use super::{CorpusSpecials, CountOptions};
use crate::corpus::utf8_reader::Utf8Reader;
use crate::error::Result;
use crate::special::SpecialTokens;

/// How far from its nominal offset a cut may be.
const REACH: u64 = 1024;

/// The cut that belongs to the nominal cut `index`, from 1 on.
pub(super) fn cut(
    options: &CountOptions,
    plan: &Plan,
    reader: &mut Utf8Reader<'_>,
    index: u64,
) -> Result<Option<u64>> {
    let longest = options.specials.longest();
    let nominal = index * plan.range_bytes;
    let n_before = (longest as u64).max(1).min(nominal);
    let reach = REACH.min(plan.range_bytes);
    let bytes = reader.bytes(nominal - n_before, (n_before + reach) as usize + longest)?;
    let first = n_before as usize;
    let past = (first + reach as usize).min(bytes.len());
    let candidates = || {
        (first..past).filter(|&at| is_character_start(bytes[at]) && !literal_at(&options.specials, bytes, at))
    };
    let after_text = |at: usize| bytes[at - 1] > b' ';
    if !options.pretokenizer.is_memoryless() {
        return match candidates().next() {
            Some(at) if options.corpus_specials == CorpusSpecials::Split => {
                let from = nominal + (at - first) as u64;
                after_literal(options, plan, reader, from, nominal + plan.range_bytes)
            }
            _ => Ok(None),
        };
    }
    let run = |byte: u8| byte.is_ascii_digit() || byte <= b' ';
    let found = candidates()
        .find(|&at| bytes[at] == b' ' && after_text(at))
        .or_else(|| candidates().find(|&at| bytes[at] == b'\n' && after_text(at)))
        .or_else(|| candidates().find(|&at| !(run(bytes[at - 1]) && run(bytes[at]))));
    Ok(found.map(|at| nominal + (at - first) as u64))
}

/// The end of the first literal from `from`, a cut's offset, on that ends before `past`.
fn after_literal(
    options: &CountOptions,
    plan: &Plan,
    reader: &mut Utf8Reader<'_>,
    from: u64,
    past: u64,
) -> Result<Option<u64>> {
    let longest = options.specials.longest();
    let mut at = from;
    while at < past {
        let bytes = reader.bytes(at, plan.block_bytes + longest)?;
        if let Some(found) = options.specials.find(bytes, 0)
            && (found.start < plan.block_bytes || bytes.len() < plan.block_bytes + longest)
        {
            let end = at + found.end as u64;
            return Ok((end < past).then_some(end));
        }
        if bytes.len() < plan.block_bytes + longest {
            return Ok(None);
        }
        at += plan.block_bytes as u64;
    }
    Ok(None)
}

fn is_character_start(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

/// Whether a special literal spans `at` or starts there.
fn literal_at(specials: &SpecialTokens, bytes: &[u8], at: usize) -> bool {
    specials.tokens().iter().any(|(literal, _)| {
        let around = &bytes[(at + 1).saturating_sub(literal.len())..(at + literal.len()).min(bytes.len())];
        memchr::memmem::find(around, literal.as_bytes()).is_some()
    })
}
