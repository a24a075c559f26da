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
//! first. Keys that were replaced go to the thread's [`PartitionLog`]; the caller gets the pretokens that are too long
//! to be a key.
//!
//! Tried, by `cargo run --release --example count` (English, fifteen languages, C):
//! - One pass, in which each pretoken counts the key loaded 64 before it: 3 to 5 % slower, C 3 % faster.
//! - A third pass for misses, after hits were added without a branch: 5 to 7 %, 1 to 5 % and 6 to 8 % slower on a Zen
//!   4.
//! - Four keys at once with AVX-512: slower than one by one.
//! - No prefetch: 9 to 13 % slower on a Zen 4, 18 to 25 % on a Zen 3. Batches of 32: 10 to 40 % slower; of 128: C 10 %
//!   slower.
//! - One struct for the arguments of these functions: English 6 %, C 12 % slower. Only for an argument does the
//!   compiler know that no store changes the text's address.

use super::local_table::{Line, LocalTable};
use super::partition_log::PartitionLog;
use crate::cpu::at_tier;
use crate::prefetch::prefetch;
use crate::pretokens::key::{HashKey, KeyHasher, LOAD_BYTES, MAX_BYTES, PaddedText, PretokenKey, hashes};

/// Most pretokens in a batch.
pub(super) const BATCH_SIZE: usize = 64;

/// The keys of a batch and their lines between the two passes, and the pretokens that are left to the caller.
pub(super) struct Batch {
    keys: [KeyAndLine; BATCH_SIZE],
    long: [(usize, usize); BATCH_SIZE],
    n_long: usize,
}

/// A key, and the offset of its line.
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

    /// Start and end of each pretoken of more than [`MAX_BYTES`] bytes.
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
        // SAFETY: Hashers are made for the best tier of the processor.
        unsafe { count_at_tier(hasher.tier(), self, hasher, table, log, text, start, ends) };
    }

    /// Counts with hashes by `H`, whose instructions the caller has.
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
            // SAFETY: `load` masked the offset to be that of a line. The table is borrowed, and this is the only line
            // in use. The callers have the instructions of `H`.
            unsafe {
                let line = &mut *first.byte_add(*line as usize);
                if !H::add(line, key) {
                    replace(hasher, line, key, log);
                }
            }
        }
    }

    /// The first pass: makes keys, hashes them by `H`, whose instructions the caller has, and prefetches their lines.
    /// Returns the number of keys.
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
            // The negative length: one addition makes it the number of bytes of padding.
            let minus_length = start.wrapping_sub(end);
            if minus_length >= MAX_BYTES.wrapping_neg() {
                let n_padding = LOAD_BYTES.wrapping_add(minus_length);
                // SAFETY: There are at most BATCH_SIZE pretokens, and each takes one of as many keys. Both callers have
                // the instructions of `H`. The padding is at least one byte and at most LOAD_BYTES.
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
    /// [`Batch::count`].
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

/// Puts the key into the line; the key that it replaces goes to the log.
#[cold]
#[inline(never)]
fn replace(hasher: KeyHasher, line: &mut Line, key: &PretokenKey, log: &mut PartitionLog) {
    line.replace(key, |replaced, count| log.add_key(replaced, hasher.hash(*replaced), count));
}

/// How a key is found in a line.
trait CountKey: HashKey {
    /// Adds 1 to the count of the key if the line has it; returns whether it has.
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
