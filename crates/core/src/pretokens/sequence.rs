//! Patterns that split in turn: several, or one that neither a scanner nor a table runs.
//!
//! Each pattern splits the segments that the previous one left, matches and gaps alike, and sees nothing outside its
//! segment. In a tokenizer.json this is a `Sequence`; `steps.rs` says how each one splits. Cost: each pattern runs
//! once over the text.

use super::one_pass::OnePass;
use super::scan::ENDS_PER_FILL;
use super::steps::{Joining, Search, Step, letters_of, next, to_bytes};
use super::threes::Threes;
use crate::error::Result;
use crate::memory::TryReserve;
use crate::monitor::OnProgress;

/// In segments of up to this many bytes, searching the patterns one by one is faster than setting up a table.
const SHORT_BYTES: usize = 64;

/// [`super::Pretokenizer::fill`] for steps in turn. A single step returns the ends within `max_bytes`; several return
/// all ends that they found, or none if the last one is further away. A segment of the first step is always finished,
/// since a later call could not tell where it began: there can be more than `ENDS_PER_FILL` ends.
pub(super) fn fill(
    steps: &[Step],
    text: &str,
    from: usize,
    max_bytes: u32,
    ends: &mut Vec<u32>,
    on_progress: OnProgress<'_>,
) -> Result<()> {
    if let [Step::OnePass(one_pass)] = steps {
        return one_pass.fill(text, from, max_bytes, ends);
    }
    ends.clear();
    let mut offsets = Vec::new();
    find(steps, text, from, &mut offsets, on_progress)?;
    if steps.len() == 1 {
        offsets.retain(|&end| end - from <= max_bytes as usize);
    }
    if offsets.last().is_some_and(|&end| end - from <= max_bytes as usize) {
        ends.grow(offsets.len(), "pretoken ends")?;
        ends.extend(offsets.iter().map(|&end| (end - from) as u32));
    }
    Ok(())
}

/// Appends the ends as offsets in the text.
fn find(
    steps: &[Step],
    text: &str,
    from: usize,
    ends: &mut Vec<usize>,
    on_progress: OnProgress<'_>,
) -> Result<()> {
    let (scanner, joining, rest) = match steps.split_first() {
        Some((Step::Split(scanner, joining), rest)) => (scanner, joining, rest),
        Some((Step::OnePass(one_pass), rest)) => {
            let (mut start, mut some) = (from, Vec::new());
            while start < text.len() && ends.len() < ENDS_PER_FILL {
                start = split_in_one_pass(one_pass, rest, text, start, &mut some, ends, on_progress)?;
            }
            return Ok(());
        }
        Some((Step::Threes(threes), rest)) => {
            return split_in_threes(threes, rest, text, from, ENDS_PER_FILL, ends, on_progress);
        }
        _ => return split(steps, text, from, text.len(), ends, on_progress),
    };
    // If true, go on to the end: a later call could not tell where the match at `from` ended, or might find another.
    let is_whole = *joining == Joining::Next && scanner.depends_on_the_last_match();
    let (mut at, mut search) = (from, Search { searched: from, ..Search::default() });
    while at < text.len() && (is_whole || ends.len() < ENDS_PER_FILL) {
        let (start, end) = next(scanner, *joining, text, at, &mut search, on_progress)?;
        split(rest, text, at, start, ends, on_progress)?;
        split(rest, text, start, end, ends, on_progress)?;
        at = end;
    }
    Ok(())
}

/// Appends the ends that `steps` find in the segment of `text` from `start` to `end`.
fn split(
    steps: &[Step],
    text: &str,
    start: usize,
    end: usize,
    ends: &mut Vec<usize>,
    on_progress: OnProgress<'_>,
) -> Result<()> {
    if start == end {
        return Ok(());
    }
    let (Some((first, rest)), Some(segment)) = (steps.split_first(), text.get(start..end)) else {
        return ends.try_push(end, "pretoken ends");
    };
    let (scanner, joining) = match first {
        Step::Split(scanner, joining) => (scanner, joining),
        Step::OnePass(one_pass) if rest.is_empty() && segment.len() <= SHORT_BYTES => {
            ends.grow(segment.len(), "pretoken ends")?;
            one_pass.split(text, start, end, ends);
            return Ok(());
        }
        Step::OnePass(one_pass) => {
            let (text, mut at, mut some) = (&text[..end], start, Vec::new());
            while at < end {
                at = split_in_one_pass(one_pass, rest, text, at, &mut some, ends, on_progress)?;
            }
            return Ok(());
        }
        Step::Threes(threes) => {
            return split_in_threes(threes, rest, &text[..end], start, usize::MAX, ends, on_progress);
        }
        Step::Letters(letters) => {
            ends.grow(segment.len(), "pretoken ends")?;
            letters.split(&text.as_bytes()[..end], start, ends);
            return Ok(());
        }
        Step::ByteLevel => {
            let (letters, n_ends) = (letters_of(segment)?, ends.len());
            split(rest, &letters, 0, letters.len(), ends, on_progress)?;
            to_bytes(&letters, start, &mut ends[n_ends..]);
            return Ok(());
        }
    };
    let (mut at, mut search) = (0, Search::default());
    while at < segment.len() {
        let (from, to) = next(scanner, *joining, segment, at, &mut search, on_progress)?;
        split(rest, text, start + at, start + from, ends, on_progress)?;
        split(rest, text, start + from, start + to, ends, on_progress)?;
        at = to;
    }
    Ok(())
}

/// Cuts digits in threes, and appends the ends that `rest` finds between the cuts from `from` on, up to `most`.
fn split_in_threes(
    threes: &Threes,
    rest: &[Step],
    text: &str,
    from: usize,
    most: usize,
    ends: &mut Vec<usize>,
    on_progress: OnProgress<'_>,
) -> Result<()> {
    let (mut at, mut searched, mut cuts) = (from, from, Vec::new());
    while ends.len() < most {
        cuts.clear();
        let Some(end) = threes.next_run(text, searched, &mut cuts)? else {
            return split(rest, text, at, text.len(), ends, on_progress);
        };
        for &cut in &cuts {
            split(rest, text, at, cut, ends, on_progress)?;
            at = cut;
        }
        searched = end;
    }
    Ok(())
}

/// Appends the ends that `rest` finds in the next pretokens of a pass from `from` on; returns the end of the last one.
fn split_in_one_pass(
    one_pass: &OnePass,
    rest: &[Step],
    text: &str,
    from: usize,
    some: &mut Vec<u32>,
    ends: &mut Vec<usize>,
    on_progress: OnProgress<'_>,
) -> Result<usize> {
    one_pass.fill(text, from, u32::MAX, some)?;
    let mut at = from;
    let until = from + some.last().map_or(0, |&distance| distance as usize);
    let mut left = some.as_slice();
    while !left.is_empty() {
        let split_at = next_split(rest, text, at, until);
        let n_whole = left.iter().take_while(|&&distance| from + distance as usize <= split_at).count();
        let (whole, more) = left.split_at(n_whole);
        ends.grow(n_whole, "pretoken ends")?;
        ends.extend(whole.iter().map(|&distance| from + distance as usize));
        at = whole.last().map_or(at, |&distance| from + distance as usize);
        left = more;
        if let Some((&distance, more)) = left.split_first() {
            let end = from + distance as usize;
            match end - at {
                1 => ends.try_push(end, "pretoken ends")?,
                _ => split(rest, text, at, end, ends, on_progress)?,
            }
            (at, left) = (end, more);
        }
    }
    // A first pretoken of more than 4 GiB is passed on as one, for the caller to refuse.
    if at == from {
        ends.try_push(text.len(), "pretoken ends")?;
        at = text.len();
    }
    Ok(at)
}

/// Returns an offset from `at` to `until` before which `steps` split nothing.
fn next_split(steps: &[Step], text: &str, at: usize, until: usize) -> usize {
    let rest = text.as_bytes().get(at..until).unwrap_or_default();
    let next = match steps {
        [] => None,
        [Step::Letters(letters)] => letters.next_begin(rest),
        [Step::Threes(threes)] => threes.next_begin(rest),
        _ => Some(0),
    };
    next.map_or(until, |n| at + n)
}
