//! Which pairs stand in the field, how often, and where.
//!
//! Enters: the field as it is. Leaves: every pair that occurs often enough, with its list of ascending
//! positions. Cost: a few passes over the tokens. All pairs are counted, often far more than are kept;
//! those of a symbol that is itself too rare are not even looked up.

use super::cells::Cell;
use super::field::{Field, SEPARATOR};
use super::ledger::Ledger;
use super::pairs::{Pairs, key_of, pair_of};
use super::sweep::Tally;
use crate::error::{Error, Result};

/// A census of single bytes, by a square table instead of a hash. The ledger, which is empty, learns
/// all pairs and says where the lists of those that it keeps start in the arena.
pub(super) fn of_bytes<S: Cell, P: Cell>(
    field: &Field<S, P>,
    ledger: &mut Ledger<'_, P>,
    pause: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    const WIDTH: usize = SEPARATOR + 1;
    let (symbols, arena) = (&field.symbols[..], &field.arena[..]);
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
    for (index, tally) in tallies.iter_mut().enumerate() {
        let (left, right) = (index / WIDTH, index % WIDTH);
        let n = std::mem::take(&mut tally.n);
        if n > 0 && left != SEPARATOR && right != SEPARATOR {
            tally.n = ledger.admit(left, right, tally.weight, n)?;
        }
    }
    for (start, end, _) in field.weights.runs() {
        let mut left = symbols[start].get();
        for (p, cell) in symbols[start + 1..end].iter().enumerate() {
            let right = cell.get();
            // A pair without a list writes to slot 0 and stays there.
            let next = &mut tallies[left * WIDTH + right].n;
            arena[*next].set(start + p);
            *next += usize::from(*next != 0);
            left = right;
        }
        pause()?;
    }
    Ok(())
}

/// A census of tokens, with symbols below `n_symbols`.
pub(super) fn of_tokens<S: Cell, P: Cell>(
    field: &Field<S, P>,
    n_symbols: usize,
    ledger: &mut Ledger<'_, P>,
    pause: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let mut frequencies: Vec<u64> = Vec::new();
    frequencies.try_reserve_exact(n_symbols).map_err(Error::out_of_memory("the counts of the tokens"))?;
    frequencies.resize(n_symbols, 0);
    for_each_pair(field, pause, |_, left, right, count| {
        frequencies[left] += count;
        frequencies[right] += count;
        Ok(())
    })?;
    let threshold = ledger.threshold;
    // Inner tokens were counted twice, so this errs towards looking up too many pairs.
    let may_reach = |left: usize, right: usize| frequencies[left].min(frequencies[right]) >= threshold;
    let mut pairs = Pairs::new()?;
    for_each_pair(field, pause, |_, left, right, count| {
        if may_reach(left, right) {
            return pairs.add(key_of(left, right), count);
        }
        ledger.refuse(threshold - 1);
        Ok(())
    })?;
    ledger.expect(pairs.n_from(threshold))?;
    pairs.open_lists(|key, count, n| {
        let (left, right) = pair_of(key);
        ledger.admit(left, right, count, n)
    })?;
    for_each_pair(field, pause, |p, left, right, _| {
        if may_reach(left, right)
            && let Some(list) = pairs.list_mut(key_of(left, right))
        {
            field.arena[list.start + list.len].set(p);
            list.len += 1;
        }
        Ok(())
    })
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
