//! Several patterns that split one after the other.
//!
//! Enters: a document. Leaves: the ends of its pretokens: each pattern splits every piece that the one
//! before left, its matches and the gaps between them alike, and sees nothing beyond that piece. This is
//! what a tokenizer.json means by a sequence of isolated splits.
//! Cost: that of its patterns, each run once over the text.

use super::ENDS_PER_FILL;
use super::regex::{RegexScanner, room};
use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::monitor::OnProgress;

/// Patterns, the first of which splits the document.
pub(super) struct Sequence {
    steps: Vec<RegexScanner>,
}

impl Sequence {
    /// The steps in order, of which there must be one at least.
    pub fn new(steps: Vec<RegexScanner>) -> Result<Self> {
        if steps.is_empty() {
            return Err(Error::Invalid("a sequence of patterns needs one pattern at least".to_owned()));
        }
        Ok(Sequence { steps })
    }

    /// [`super::Pretokenizer::fill`], but that a piece of the first pattern is never left half done: a
    /// later call could not know where it began. So there can be more than `ENDS_PER_FILL` ends.
    pub fn fill(
        &self,
        text: &str,
        from: usize,
        ends: &mut Vec<usize>,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        ends.clear();
        let Some((first, rest)) = self.steps.split_first() else { return Ok(()) };
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
}

/// Appends the ends that `steps` make in the piece of `text` from `start` to `end`.
fn split(
    steps: &[RegexScanner],
    text: &str,
    start: usize,
    end: usize,
    ends: &mut Vec<usize>,
    on_progress: OnProgress<'_>,
) -> Result<()> {
    if start == end {
        return Ok(());
    }
    let (Some((first, rest)), Some(piece)) = (steps.split_first(), text.get(start..end)) else {
        return ends.try_push(end, "pretoken ends");
    };
    let mut at = 0;
    while at < piece.len() {
        let (from, to) = first.find(piece, at, on_progress)?.unwrap_or((piece.len(), piece.len()));
        split(rest, text, start + at, start + from, ends, on_progress)?;
        split(rest, text, start + from, start + to, ends, on_progress)?;
        at = to;
    }
    Ok(())
}
