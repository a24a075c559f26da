//! The engine: exactly the merges of [`super::naive`], in a fraction of the time.
//!
//! Enters: a [`Field`]. Leaves: merges. Cost: every merged occurrence is touched twice, an occurrence
//! that died in a list is skipped once, and the field is passed over a few times.
//!
//! What makes it exact:
//! - A pair can gain occurrences only in the step that makes the younger of its two symbols. Its list
//!   is therefore born whole, and its count only falls from then on.
//! - Only pairs of at least `threshold` are kept. A pair below it cannot rise, so as long as the best
//!   kept pair is not below it either, the best kept pair is the best of all. When none is left, the
//!   threshold is lowered, and a census of the field finds every pair that is now above it.
//!
//! The arena never overflows. After a census it holds at most one slot a token of the field. A step
//! adds at most two for each token that it removes, and so at most as many as there are tokens. With
//! two slots a token there is thus always room for one step after a census, and when there is no room
//! for the next, another census, which drops what died, makes it.

use super::cells::Cell;
use super::census;
use super::crew::{Foreman, Task};
use super::field::{Field, SEPARATOR};
use super::ledger::Ledger;
use super::pairs::pair_of;
use super::pulse::Pulse;
use super::sweep::Pairing;
use super::{Learned, MergeOptions, Shortage, Tuning};
use crate::error::{Error, Result};

/// By how much the threshold falls when there is nothing to tell by.
const FALL: u64 = 8;

/// The state between two steps.
pub(super) struct Engine<'s, 'f, 'p, S, P> {
    field: &'f Field<S, P>,
    ledger: Ledger<'f, P>,
    foreman: Foreman<'s, 'f, S, P>,
    pulse: Pulse<'p>,
    /// By symbol below 256: its byte.
    bytes: [u8; 256],
    /// Symbols in use, the separator among them.
    n_symbols: usize,
    /// Tokens in the field.
    n_tokens: usize,
    n_merges: usize,
    /// The counts under which the merges were chosen.
    counts: Vec<u64>,
    first_threshold: u64,
    min_frequency: u64,
    share_from: usize,
    is_thrifty: bool,
}

impl<'s, 'f, 'p, S: Cell, P: Cell> Engine<'s, 'f, 'p, S, P> {
    /// An engine that has not begun.
    pub fn new(
        field: &'f Field<S, P>,
        foreman: Foreman<'s, 'f, S, P>,
        options: &MergeOptions,
        tuning: Tuning,
        pulse: Pulse<'p>,
    ) -> Result<Self> {
        let mut bytes = [0; 256];
        for (byte, &symbol) in (0..=255u8).zip(&options.byte_order) {
            bytes[usize::from(symbol)] = byte;
        }
        let min_frequency = options.min_frequency.max(1);
        Ok(Engine {
            field,
            ledger: Ledger::new(options, &field.lengths)?,
            foreman,
            pulse,
            bytes,
            n_symbols: SEPARATOR + 1,
            n_tokens: field.n_tokens,
            n_merges: options.n_merges,
            counts: Vec::new(),
            first_threshold: tuning.threshold.max(min_frequency),
            min_frequency,
            share_from: tuning.share_from,
            is_thrifty: tuning.is_thrifty,
        })
    }

    /// Learns until there are `n_merges` merges or no pair is left.
    pub fn run(mut self) -> Result<Learned> {
        self.ledger.threshold = self.first_threshold;
        self.take_census()?;
        while self.pulse.merges.len() < self.n_merges {
            if let Some((key, count)) = self.ledger.best() {
                self.counts.try_reserve(1).map_err(Error::out_of_memory("the counts of the merges"))?;
                self.counts.push(count);
                self.step(key)?;
            } else if self.ledger.most_refused >= self.min_frequency {
                self.ledger.threshold = self.next_threshold();
                self.take_census()?;
            } else {
                break;
            }
        }
        let is_short = self.pulse.merges.len() < self.n_merges;
        let shortage = if is_short { Some(self.shortage()?) } else { None };
        self.pulse.report()?;
        Ok(Learned { merges: self.pulse.merges, shortage })
    }

    /// Which pairs are left, now that none may be merged.
    fn shortage(&mut self) -> Result<Shortage> {
        let Engine { field, ledger, pulse, .. } = self;
        let mut shortage = Shortage::default();
        census::for_each_pair(field, &mut || pulse.beat(), |_, left, right, _| {
            let is_long = !ledger.may_join(left, right);
            shortage.has_long |= is_long;
            shortage.has_rare |= !is_long;
            Ok(())
        })?;
        Ok(shortage)
    }

    /// A threshold that should last for the merges that are left.
    ///
    /// Counts fall about as a power of the rank, ever more steeply; the last halving says how steeply.
    fn next_threshold(&self) -> u64 {
        let (least, most) = (self.min_frequency, self.ledger.most_refused);
        let (Some(&earlier), Some(&last)) = (self.counts.get(self.counts.len() / 2), self.counts.last())
        else {
            return (most / FALL).max(least);
        };
        let n_doublings = (self.n_merges as f64 / self.pulse.merges.len() as f64).log2();
        let fall = (earlier as f64 / last as f64).powf(1.25 * n_doublings);
        ((self.ledger.threshold as f64 / fall.clamp(1.5, 64.0)) as u64).clamp(least, most)
    }

    /// Finds the pairs worth keeping, and their lists, anew.
    fn take_census(&mut self) -> Result<()> {
        let Engine { field, ledger, foreman, pulse, .. } = self;
        ledger.reset()?;
        let pause = &mut || pulse.beat();
        if self.n_symbols == SEPARATOR + 1 {
            census::of_bytes(ledger, foreman, field.symbols.len() / 64 >= self.share_from, pause)
        } else {
            census::of_tokens(field, self.n_symbols, ledger, pause)
        }
    }

    /// Merges a pair.
    fn step(&mut self, key: u64) -> Result<()> {
        let n_births = self.n_tokens.min(2 * self.ledger.list(key).len);
        if self.ledger.arena_next + n_births > self.field.arena.len() {
            self.take_census()?;
        }
        let list = self.ledger.list(key);
        let (a, b) = pair_of(key);
        let lengths = &self.field.lengths;
        let a_len = lengths[a].get();
        let made_len = a_len + lengths[b].get();
        let pairing = Pairing { a, b, made: self.n_symbols, a_len, made_len };
        lengths[pairing.made].set(made_len);
        self.n_symbols += 1;
        self.ledger.begin(key, pairing)?;
        self.pulse.merges.push((self.public(a), self.public(b)));

        let pause = &mut || self.pulse.beat();
        let foreman = &mut self.foreman;
        foreman.divide(list.start..list.start + list.len, pairing, list.len >= self.share_from)?;
        foreman.run(Task::Sweep, pairing, pause)?;
        let is_gathered = {
            let mut lanes = foreman.lanes()?;
            self.n_tokens -= lanes.iter().map(|lane| lane.slots.len()).sum::<usize>();
            self.ledger.settle(pairing, &mut lanes)?
        };
        if is_gathered {
            foreman.run(Task::Gather, pairing, pause)?;
        }
        foreman.lanes()?.iter_mut().for_each(|lane| lane.clear());
        if self.is_thrifty {
            self.ledger.end(list);
        }
        pause()
    }

    /// A symbol as callers number it: bytes by value, then merges.
    fn public(&self, symbol: usize) -> u32 {
        match self.bytes.get(symbol) {
            Some(&byte) => u32::from(byte),
            None => symbol as u32 - 1,
        }
    }
}
