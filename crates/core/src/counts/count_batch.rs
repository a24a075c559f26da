//! The hot loop of counting: adds pretokens, given as offsets into a text, to the lines of a [`LocalTable`].
//!
//! Pretokens are counted in batches of 64, in two passes:
//!
//! ```text
//! load:   for each pretoken: make its key, hash it, prefetch its line of the table
//! count:  for each key: if the line has it, add 1; else replace the key of the line that was seen less
//! ```
//!
//! So the cache misses of a batch overlap, and a mispredicted branch in the second pass does not delay the loads of the
//! first. Replaced keys go to the thread's [`PartitionLog`]; pretokens too long to be a key are left to the caller.
//!
//! Tried (`cargo run --release --example count` on English, fifteen languages, C):
//! - One pass that counts, for each pretoken, the key loaded 64 pretokens earlier: 3 to 5 % slower, C 3 % faster.
//! - Adding hits without a branch, and misses in a third pass: 5 to 7 %, 1 to 5 % and 6 to 8 % slower on a Zen 4.
//! - Four keys at once with AVX-512: slower than one by one.
//! - No prefetch: 9 to 13 % slower on a Zen 4, 18 to 25 % on a Zen 3. Batches of 32: 10 to 40 % slower; of 128: C 10 %
//!   slower.
//! - Passing the arguments of these functions as one struct: English 6 %, C 12 % slower. Only for a separate argument
//!   does the compiler know that no store changes the text's address.

use super::local_table::{Line, LocalTable};
use super::partition_log::PartitionLog;
use crate::cpu::at_tier;
use crate::prefetch::prefetch;
use crate::pretokens::key::{HashKey, KeyHasher, LOAD_BYTES, MAX_BYTES, PaddedText, PretokenKey, hashes};

/// Maximum number of pretokens in a batch.
pub(super) const BATCH_SIZE: usize = 64;

/// The state of a batch between the two passes: its keys and their lines, and the long pretokens left to the caller.
pub(super) struct Batch {
    keys: [KeyAndLine; BATCH_SIZE],
    long: [(usize, usize); BATCH_SIZE],
    n_long: usize,
}

/// A key, and the byte offset of its line in the table.
#[derive(Clone, Copy)]
struct KeyAndLine {
    key: PretokenKey,
    line: u32,
}

impl Batch {
    pub(super) fn new() -> Self {
        Batch {
            keys: [KeyAndLine { key: PretokenKey::EMPTY, line: 0 }; BATCH_SIZE],
            long: [(0, 0); BATCH_SIZE],
            n_long: 0,
        }
    }

    /// Returns the start and end of each pretoken of more than [`MAX_BYTES`] bytes.
    pub(super) fn long(&self) -> &[(usize, usize)] {
        &self.long[..self.n_long]
    }

    /// Counts at most [`BATCH_SIZE`] pretokens of `text`, which end at `ends`; the first starts at `start`.
    #[inline(always)]
    pub(super) fn count(
        &mut self,
        hasher: KeyHasher,
        table: &mut LocalTable,
        log: &mut PartitionLog,
        text: &PaddedText<'_>,
        start: usize,
        ends: &[u32],
    ) {
        // SAFETY: A hasher's tier is one that the processor has.
        unsafe { count_at_tier(hasher.tier(), self, hasher, table, log, text, start, ends) };
    }

    /// Counts with hashes by `H`. The caller must have the instructions of `H`.
    #[inline(always)]
    fn count_with_isa<H: CountKey>(
        &mut self,
        hasher: KeyHasher,
        table: &mut LocalTable,
        log: &mut PartitionLog,
        text: &PaddedText<'_>,
        start: usize,
        ends: &[u32],
    ) {
        let n_keys = self.load::<H>(hasher, table, text, start, ends);
        let first = table.first_line();
        for KeyAndLine { key, line } in &self.keys[..n_keys] {
            // SAFETY: `load` masked the offset, so a line of the table starts there. The table is borrowed mutably, and
            // no other line is referenced. The caller has the instructions of `H`.
            unsafe {
                let line = &mut *first.byte_add(*line as usize);
                if !H::add(line, key) {
                    replace(hasher, line, key, log);
                }
            }
        }
    }

    /// The first pass: makes keys, hashes them by `H`, and prefetches their lines. Returns the number of keys. The
    /// caller must have the instructions of `H`.
    #[inline(always)]
    fn load<H: HashKey>(
        &mut self,
        hasher: KeyHasher,
        table: &mut LocalTable,
        text: &PaddedText<'_>,
        start: usize,
        ends: &[u32],
    ) -> usize {
        // Only the last batch of a text is near its end.
        match ends.last() {
            Some(&end) if text.is_inside(end as usize) => {
                self.load_at::<H, true>(hasher, table, text, start, ends)
            }
            _ => self.load_at::<H, false>(hasher, table, text, start, ends),
        }
    }

    /// Like [`load`](Self::load). `INSIDE` promises that enough text follows each pretoken ([`PaddedText::is_inside`]).
    #[inline(always)]
    fn load_at<H: HashKey, const INSIDE: bool>(
        &mut self,
        hasher: KeyHasher,
        table: &mut LocalTable,
        text: &PaddedText<'_>,
        mut start: usize,
        ends: &[u32],
    ) -> usize {
        let mask = table.offset_mask();
        let first = table.first_line();
        let ends = &ends[..ends.len().min(BATCH_SIZE)];
        let keys = self.keys.as_mut_ptr();
        let mut next = keys;
        self.n_long = 0;
        for &end in ends {
            let end = end as usize;
            // The negated length: a single addition turns it into the number of padding bytes.
            let minus_length = start.wrapping_sub(end);
            if minus_length >= MAX_BYTES.wrapping_neg() {
                let n_padding = LOAD_BYTES.wrapping_add(minus_length);
                // SAFETY: `keys` has BATCH_SIZE entries, and each of at most BATCH_SIZE pretokens takes one. The caller
                // has the instructions of `H`. The padding is at least one byte and at most LOAD_BYTES.
                unsafe {
                    let line =
                        text.load::<H, INSIDE>(hasher, start, n_padding, &mut (*next).key) as u32 & mask;
                    prefetch(first.wrapping_byte_add(line as usize));
                    (*next).line = line;
                    next = next.add(1);
                }
            } else {
                self.long[self.n_long] = (start, end);
                self.n_long += 1;
            }
            start = end;
        }
        // SAFETY: Both pointers are within `keys` or at its end.
        unsafe { next.offset_from_unsigned(keys) }
    }
}

at_tier! {
    /// [`Batch::count`] with the instructions of a tier.
    #[allow(clippy::too_many_arguments)]
    unsafe fn count_at_tier<H in hashes>(
        batch: &mut Batch,
        hasher: KeyHasher,
        table: &mut LocalTable,
        log: &mut PartitionLog,
        text: &PaddedText<'_>,
        start: usize,
        ends: &[u32],
    ) {
        batch.count_with_isa::<H>(hasher, table, log, text, start, ends);
    }
}

/// Puts the key into the line; a key that it replaces goes to the log.
#[cold]
#[inline(never)]
fn replace(hasher: KeyHasher, line: &mut Line, key: &PretokenKey, log: &mut PartitionLog) {
    line.replace(key, |replaced, count| log.add_key(replaced, hasher.hash(*replaced), count));
}

/// Finds a key in a line with the instructions of a tier.
trait CountKey: HashKey {
    /// Adds 1 to the count of the key if the line has it; returns whether it does.
    ///
    /// # Safety
    /// As for [`HashKey::hash`].
    #[inline(always)]
    unsafe fn add(line: &mut Line, key: &PretokenKey) -> bool {
        line.add(key)
    }
}

impl CountKey for hashes::Portable {}

#[cfg(target_arch = "x86_64")]
impl CountKey for hashes::Avx2 {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn add(line: &mut Line, key: &PretokenKey) -> bool {
        line.add_avx2(key)
    }
}

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
impl CountKey for hashes::Neon {}
