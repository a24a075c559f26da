//! Where a large source is divided into parts.
//!
//! Cut `number` is searched near the offset `number * part_bytes`. It depends only on the source, so the jobs on both
//! sides of it find the same one. If there is none, the part before goes on.

use super::part::Plan;
use super::{CorpusSpecials, CountOptions};
use crate::corpus::utf8_reader::Utf8Reader;
use crate::error::Result;

/// The offset of cut `number`, which is at least 1.
pub(super) fn cut(
    options: &CountOptions,
    plan: &Plan,
    reader: &mut Utf8Reader<'_>,
    number: u64,
) -> Result<Option<u64>> {
    let nominal = number * plan.part_bytes;
    if options.pretokenizer.has_cuts() {
        reader.safe_cut(nominal, plan.part_bytes, &options.pretokenizer, &options.specials)
    } else if options.corpus_specials == CorpusSpecials::Split {
        after_literal(options, plan, reader, nominal)
    } else {
        Ok(None)
    }
}

/// For patterns without safe cuts: the end of the first literal that starts after `nominal` and ends before the
/// next nominal offset. A literal ends a document.
fn after_literal(
    options: &CountOptions,
    plan: &Plan,
    reader: &mut Utf8Reader<'_>,
    nominal: u64,
) -> Result<Option<u64>> {
    let longest = options.specials.longest();
    let past = nominal + plan.part_bytes;
    // Searching from an offset that no literal touches finds the same literals as searching from the start of the
    // source.
    let n_before = (longest as u64).min(nominal);
    let n_after = plan.part_bytes.min(plan.block_bytes as u64) as usize;
    let bytes = reader.bytes(nominal - n_before, n_before as usize + n_after + longest)?;
    let first = n_before as usize;
    let free = (first..bytes.len().min(first + n_after)).find(|&at| !options.specials.touches(bytes, at));
    let Some(free) = free else { return Ok(None) };
    let mut at = nominal + (free - first) as u64;
    while at < past {
        let bytes = reader.bytes(at, plan.block_bytes + longest)?;
        let is_end = bytes.len() < plan.block_bytes + longest;
        if let Some(found) = options.specials.find(bytes, 0)
            && (found.start < plan.block_bytes || is_end)
        {
            let end = at + found.end as u64;
            return Ok((end < past).then_some(end));
        }
        if is_end {
            return Ok(None);
        }
        at += plan.block_bytes as u64;
    }
    Ok(None)
}
