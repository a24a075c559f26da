//! Several patterns that split in turn.
//!
//! Each pattern splits the segments that the one before left, its matches and the gaps between them alike, and sees
//! nothing outside of its segment. In a tokenizer.json this is a `Sequence` of `Split`s with the behavior `Isolated`.
//! Cost: each pattern runs once over the text.

use super::regex::{RegexScanner, room};
use super::scan::ENDS_PER_FILL;
use crate::error::Result;
use crate::memory::TryReserve;
use crate::monitor::OnProgress;

/// [`super::Pretokenizer::fill`] by patterns of which the first splits the document. A segment of the first pattern is
/// always finished, since a later call could not tell where it began: there may be more than `ENDS_PER_FILL` ends.
pub(super) fn fill(
    patterns: &[RegexScanner],
    text: &str,
    from: usize,
    ends: &mut Vec<usize>,
    on_progress: OnProgress<'_>,
) -> Result<()> {
    ends.clear();
    let Some((first, rest)) = patterns.split_first() else { return Ok(()) };
    let _room = room()?;
    let mut at = from;
    while at < text.len() && ends.len() < ENDS_PER_FILL {
        let (start, end) = first.find(text, at, on_progress)?.unwrap_or((text.len(), text.len()));
        split(rest, text, at, start, ends, on_progress)?;
        split(rest, text, start, end, ends, on_progress)?;
        at = end;
    }
    Ok(())
}

/// Appends the ends that `patterns` make in the segment of `text` from `start` to `end`.
fn split(
    patterns: &[RegexScanner],
    text: &str,
    start: usize,
    end: usize,
    ends: &mut Vec<usize>,
    on_progress: OnProgress<'_>,
) -> Result<()> {
    if start == end {
        return Ok(());
    }
    let (Some((first, rest)), Some(segment)) = (patterns.split_first(), text.get(start..end)) else {
        return ends.try_push(end, "pretoken ends");
    };
    let mut at = 0;
    while at < segment.len() {
        let (from, to) = first.find(segment, at, on_progress)?.unwrap_or((segment.len(), segment.len()));
        split(rest, text, start + at, start + from, ends, on_progress)?;
        split(rest, text, start + from, start + to, ends, on_progress)?;
        at = to;
    }
    Ok(())
}
