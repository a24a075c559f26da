//! Which pairs stand in the field, how often, and where.
//!
//! Enters: the field as it is. Leaves: every pair that occurs often enough, with its list of ascending
//! positions. Cost: a few passes over the tokens. All pairs are counted, often far more than are kept;
//! those of a symbol that is itself too rare are not even looked up.

use super::cells::Cell;
use super::field::{Field, SEPARATOR};
use super::pairs::{List, Pairs, key_of, pair_of};
use super::sweep::Tally;
use crate::error::{Error, Result};

/// The slots of the arena from `first` on hold no list yet.
struct Lists {
    next: usize,
}

impl Lists {
    fn allot(&mut self, len: usize) -> List {
        let list = List { start: self.next, len };
        self.next += len;
        list
    }
}

/// A census of single bytes, by a square table instead of a hash: `keep(left, right, count)` says which
/// pairs get a list. Leaves them in `pairs`, and returns the first unused slot of the arena.
pub(super) fn of_bytes<S: Cell, P: Cell>(
    field: &Field<S, P>,
    pairs: &mut Pairs,
    mut keep: impl FnMut(usize, usize, u64) -> Result<bool>,
    pause: &mut dyn FnMut() -> Result<()>,
) -> Result<usize> {
    const WIDTH: usize = SEPARATOR + 1;
    let symbols = &field.symbols[..];
    let mut tallies: Vec<Tally> = Vec::new();
    tallies.try_reserve_exact(WIDTH * WIDTH).map_err(Error::out_of_memory("the table of byte pairs"))?;
    tallies.resize(WIDTH * WIDTH, Tally::default());
    for (start, end, count) in field.weights.runs() {
        let mut left = symbols[start].get();
        for cell in &symbols[start + 1..end] {
            let right = cell.get();
            let tally = &mut tallies[left * WIDTH + right];
            tally.weight += count;
            tally.n += 1;
            left = right;
        }
        pause()?;
    }
    let mut lists = Lists { next: 1 };
    for (index, tally) in tallies.iter_mut().enumerate() {
        let (left, right) = (index / WIDTH, index % WIDTH);
        let n = std::mem::take(&mut tally.n);
        if n > 0 && left != SEPARATOR && right != SEPARATOR && keep(left, right, tally.weight)? {
            let list = lists.allot(n);
            tally.n = list.start;
            pairs.put(key_of(left, right), tally.weight, list, 0)?;
        }
    }
    for (start, end, _) in field.weights.runs() {
        let mut left = symbols[start].get();
        for (p, cell) in symbols[start + 1..end].iter().enumerate() {
            let right = cell.get();
            // A pair without a list writes to slot 0 and stays there.
            let next = &mut tallies[left * WIDTH + right].n;
            field.arena[*next].set(start + p);
            *next += usize::from(*next != 0);
            left = right;
        }
        pause()?;
    }
    Ok(lists.next)
}

/// A census of tokens: `keep(left, right, count)` says which pairs of at least `threshold` get a list.
/// Leaves only them in `pairs`, and returns the first unused slot of the arena.
pub(super) fn of_tokens<S: Cell, P: Cell>(
    field: &Field<S, P>,
    n_symbols: usize,
    threshold: u64,
    pairs: &mut Pairs,
    mut keep: impl FnMut(usize, usize, u64) -> Result<bool>,
    pause: &mut dyn FnMut() -> Result<()>,
) -> Result<usize> {
    let mut frequencies: Vec<u64> = Vec::new();
    frequencies.try_reserve_exact(n_symbols).map_err(Error::out_of_memory("the counts of the tokens"))?;
    frequencies.resize(n_symbols, 0);
    for_each_pair(field, pause, |_, left, right, count| {
        frequencies[left] += count;
        frequencies[right] += count;
        Ok(())
    })?;
    // Each token was counted once or twice, so this errs towards looking up too much.
    let is_frequent = |symbol: usize| frequencies[symbol] >= threshold;
    let mut all = Pairs::new()?;
    for_each_pair(field, pause, |_, left, right, count| {
        if is_frequent(left) && is_frequent(right) { all.add(key_of(left, right), count) } else { Ok(()) }
    })?;
    pairs.clear(0)?;
    let mut lists = Lists { next: 1 };
    for (key, count, n) in all.iter() {
        let (left, right) = pair_of(key);
        if count >= threshold && keep(left, right, count)? {
            let List { start, .. } = lists.allot(n);
            pairs.put(key, count, List { start, len: 0 }, 0)?;
        }
    }
    drop(all);
    for_each_pair(field, pause, |p, left, right, _| {
        if is_frequent(left) && is_frequent(right) {
            if let Some(list) = pairs.list_mut(key_of(left, right)) {
                field.arena[list.start + list.len].set(p);
                list.len += 1;
            }
        }
        Ok(())
    })?;
    Ok(lists.next)
}

/// Visits all pairs of adjacent tokens as (position, left, right, count).
fn for_each_pair<S: Cell, P: Cell>(
    field: &Field<S, P>,
    pause: &mut dyn FnMut() -> Result<()>,
    mut visit: impl FnMut(usize, usize, usize, u64) -> Result<()>,
) -> Result<()> {
    for (start, end, count) in field.weights.runs() {
        let (mut p, mut left) = (start, field.symbols[start].get());
        loop {
            let next = p + field.lengths[left].get();
            if next >= end {
                break;
            }
            let right = field.symbols[next].get();
            if left != SEPARATOR && right != SEPARATOR {
                visit(p, left, right, count)?;
            }
            (p, left) = (next, right);
        }
        pause()?;
    }
    Ok(())
}
