//! Which pairs stand in the field, how often, and where.
//!
//! Enters: the field as it is. Leaves: every pair that occurs often enough, with its list of ascending
//! positions. Cost: a few passes over the tokens. All pairs are counted, often far more than are kept;
//! those of a symbol that is itself too rare are not even looked up.

use super::cells::Cell;
use super::crew::{Foreman, Task};
use super::field::{Field, SEPARATOR};
use super::ledger::{Ledger, deal};
use super::pairs::{Pairs, key_of, pair_of};
use super::sweep::{Lane, Pairing, WIDTH};
use crate::error::{Error, Result};

/// A census of single bytes, by a square table instead of a hash. The ledger, which is empty, learns
/// all pairs and says where the lists of those that it keeps start in the arena.
pub(super) fn of_bytes<S: Cell, P: Cell>(
    ledger: &mut Ledger<'_, P>,
    foreman: &mut Foreman<'_, '_, S, P>,
    is_long: bool,
    pause: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    foreman.divide_field(is_long)?;
    foreman.run(Task::Count, Pairing::default(), pause)?;
    {
        let mut lanes = foreman.lanes()?;
        for index in 0..WIDTH * WIDTH {
            let seen = lanes.iter().map(|lane| lane.square[index]);
            let (weight, n) = seen.fold((0, 0), |(weight, n), seen| (weight + seen.weight, n + seen.n));
            let start = if n > 0 { ledger.admit(index / WIDTH, index % WIDTH, weight, n)? } else { 0 };
            deal(start, lanes.iter_mut().map(|lane| &mut lane.square[index].n));
        }
    }
    foreman.run(Task::List, Pairing::default(), pause)?;
    foreman.lanes()?.iter_mut().for_each(|lane| lane.square = Vec::new());
    Ok(())
}

/// Counts the pairs of bytes in the lane's part of the field.
pub(super) fn count_bytes<S: Cell, P: Cell>(
    field: &Field<S, P>,
    lane: &mut Lane,
    pause: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    for (start, end, count) in field.weights.runs_in(lane.slots.clone()) {
        let mut left = field.symbols[start].get();
        for cell in &field.symbols[start + 1..=end] {
            let right = cell.get();
            let tally = &mut lane.square[left * WIDTH + right];
            tally.weight += count;
            tally.n += 1;
            left = right;
        }
        pause()?;
    }
    Ok(())
}

/// Writes the positions of the pairs of bytes that have lists.
pub(super) fn list_bytes<S: Cell, P: Cell>(
    field: &Field<S, P>,
    lane: &mut Lane,
    pause: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let arena = &field.arena[..];
    for (start, end, _) in field.weights.runs_in(lane.slots.clone()) {
        let mut left = field.symbols[start].get();
        for (p, cell) in field.symbols[start + 1..=end].iter().enumerate() {
            let right = cell.get();
            // A pair without a list writes to slot 0 and stays there.
            let next = &mut lane.square[left * WIDTH + right].n;
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
pub(super) fn for_each_pair<S: Cell, P: Cell>(
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
