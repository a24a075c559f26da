//! The hot loop of counting: pretokens, as offsets into a text, to lines of a [`LocalTable`].
//!
//! Pretokens are counted in batches of 64, in two passes:
//!
//! ```text
//! load:   for each pretoken: make its key, hash it, prefetch its line of the table
//! count:  for each key: if the line holds it, add 1; else replace the key of the line that was seen less
//! ```
//!
//! So the cache misses of a batch overlap, and a mispredicted branch of the second pass does not delay the loads of the
//! first. Keys that were replaced go to the thread's [`PartitionLog`]; the caller gets the pretokens that are too long to be
//! a key. Tried: one pass took 0.9 ns more for each pretoken; four keys at once by AVX-512 took longer than one by one
//! (docs/decisions).

use super::local_table::{Line, LocalTable};
use super::partition_log::PartitionLog;
use crate::prefetch::prefetch;
#[cfg(target_arch = "x86_64")]
use crate::pretokens::key::Aes;
use crate::pretokens::key::{Folded, HashKey, KeyHasher, LOAD_BYTES, MAX_BYTES, PaddedText, PretokenKey};
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
use crate::{cpu::CpuTier, pretokens::key::ArmAes};

/// The most pretokens in a batch.
pub(super) const BATCH_SIZE: usize = 64;

/// The keys of a batch and their lines between the two passes, and what the caller gets.
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

    /// Where the pretokens of more than [`MAX_BYTES`] bytes begin and end.
    pub(super) fn long(&self) -> &[(usize, usize)] {
        &self.long[..self.n_long]
    }

    /// Counts the pretokens of `text` from `start` on that end at `ends`, at most [`BATCH_SIZE`].
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
        #[cfg(target_arch = "x86_64")]
        if hasher.tier().has_avx2() {
            // SAFETY: the tier has these instructions.
            return unsafe { self.count_avx2(hasher, table, log, text, start, ends) };
        }
        #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
        if hasher.tier() == CpuTier::Neon {
            // SAFETY: the tier has these instructions.
            return unsafe { self.count_neon(hasher, table, log, text, start, ends) };
        }
        self.count_portable(hasher, table, log, text, start, ends);
    }

    /// The same, for every processor. In its caller there would not be registers enough for it.
    #[inline(never)]
    fn count_portable(
        &mut self,
        hasher: KeyHasher,
        table: &mut LocalTable,
        log: &mut PartitionLog,
        text: &PaddedText<'_>,
        start: usize,
        ends: &[u32],
    ) {
        self.count_by::<Folded>(hasher, table, log, text, start, ends);
    }

    /// The same, compiled for the NEON tier.
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    #[target_feature(enable = "neon,aes")]
    fn count_neon(
        &mut self,
        hasher: KeyHasher,
        table: &mut LocalTable,
        log: &mut PartitionLog,
        text: &PaddedText<'_>,
        start: usize,
        ends: &[u32],
    ) {
        self.count_by::<ArmAes>(hasher, table, log, text, start, ends);
    }

    /// The same with hashes by `H`, whose instructions the caller has.
    #[inline(always)]
    fn count_by<H: CountKey>(
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
            // SAFETY: `load` masked it to be the offset of a line. The table is borrowed, and no other line is. The callers
            // have the instructions of `H`.
            unsafe {
                let line = &mut *first.byte_add(*line as usize);
                if !H::add(line, key) {
                    H::miss(hasher, line, key, log);
                }
            }
        }
    }

    /// The same by AVX2 and AES.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,aes,bmi1,bmi2,lzcnt,popcnt")]
    fn count_avx2(
        &mut self,
        hasher: KeyHasher,
        table: &mut LocalTable,
        log: &mut PartitionLog,
        text: &PaddedText<'_>,
        start: usize,
        ends: &[u32],
    ) {
        self.count_by::<Aes>(hasher, table, log, text, start, ends);
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

    /// The same. `INSIDE` promises that the text goes on behind each pretoken ([`PaddedText::is_inside`]).
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
            // The pretoken's length, negative: so it needs one addition to find its padding.
            let minus_length = start.wrapping_sub(end);
            if minus_length >= MAX_BYTES.wrapping_neg() {
                let n_padding = LOAD_BYTES.wrapping_add(minus_length);
                // SAFETY: there are at most BATCH_SIZE pretokens, and each takes one of as many keys. Both callers have the
                // instructions of `H`; the padding is at least one byte and at most LOAD_BYTES.
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
        // SAFETY: both are within `keys`, or at its end.
        unsafe { next.offset_from_unsigned(keys) }
    }
}

/// What happens to a key.
trait CountKey: HashKey {
    /// Adds 1 to the count of the key, if the line holds it.
    ///
    /// # Safety
    /// As for [`HashKey::hash`].
    #[inline(always)]
    unsafe fn add(line: &mut Line, key: &PretokenKey) -> bool {
        line.add(key)
    }

    /// Puts the key in the line; the key that it replaces goes to the log. Out of the way of the loop.
    ///
    /// # Safety
    /// As for [`HashKey::hash`].
    unsafe fn miss(hasher: KeyHasher, line: &mut Line, key: &PretokenKey, log: &mut PartitionLog);

    /// The same, to be compiled into functions that have the instructions.
    ///
    /// # Safety
    /// As for [`HashKey::hash`].
    #[inline(always)]
    unsafe fn replace(hasher: KeyHasher, line: &mut Line, key: &PretokenKey, log: &mut PartitionLog) {
        line.replace(key, |replaced, count| {
            // SAFETY: the caller's promise is the same.
            log.add_key(replaced, unsafe { Self::hash(hasher, replaced) }, count);
        });
    }
}

impl CountKey for Folded {
    #[cold]
    #[inline(never)]
    unsafe fn miss(hasher: KeyHasher, line: &mut Line, key: &PretokenKey, log: &mut PartitionLog) {
        // SAFETY: every processor can multiply.
        unsafe { Folded::replace(hasher, line, key, log) };
    }
}

#[cfg(target_arch = "x86_64")]
impl CountKey for Aes {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn add(line: &mut Line, key: &PretokenKey) -> bool {
        line.add_avx2(key)
    }

    #[cold]
    #[inline(never)]
    #[target_feature(enable = "avx2,aes,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn miss(hasher: KeyHasher, line: &mut Line, key: &PretokenKey, log: &mut PartitionLog) {
        // SAFETY: this function has AES.
        unsafe { Aes::replace(hasher, line, key, log) };
    }
}

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
impl CountKey for ArmAes {
    #[cold]
    #[inline(never)]
    #[target_feature(enable = "neon,aes")]
    unsafe fn miss(hasher: KeyHasher, line: &mut Line, key: &PretokenKey, log: &mut PartitionLog) {
        // SAFETY: this function has AES.
        unsafe { ArmAes::replace(hasher, line, key, log) };
    }
}
