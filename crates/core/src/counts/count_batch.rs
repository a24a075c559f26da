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
use crate::prefetch::prefetch;
#[cfg(target_arch = "x86_64")]
use crate::pretokens::key::Aes;
use crate::pretokens::key::{Folded, HashKey, KeyHasher, LOAD_BYTES, MAX_BYTES, PaddedText, PretokenKey};
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
use crate::{cpu::CpuTier, pretokens::key::ArmAes};

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
        #[cfg(target_arch = "x86_64")]
        if hasher.tier().has_avx2() {
            // SAFETY: The tier has these instructions.
            return unsafe { self.count_avx2(hasher, table, log, text, start, ends) };
        }
        #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
        if hasher.tier() == CpuTier::Neon {
            // SAFETY: The tier has these instructions.
            return unsafe { self.count_neon(hasher, table, log, text, start, ends) };
        }
        self.count_portable(hasher, table, log, text, start, ends);
    }

    /// [`count_with_isa`](Self::count_with_isa) for every processor. Not inlined: in its caller there would not be enough
    /// registers.
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
        self.count_with_isa::<Folded>(hasher, table, log, text, start, ends);
    }

    /// [`count_with_isa`](Self::count_with_isa), compiled for the NEON tier.
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
        self.count_with_isa::<ArmAes>(hasher, table, log, text, start, ends);
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
                    H::miss(hasher, line, key, log);
                }
            }
        }
    }

    /// [`count_with_isa`](Self::count_with_isa), compiled for the AVX2 tier.
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
        self.count_with_isa::<Aes>(hasher, table, log, text, start, ends);
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

/// How a key is counted.
trait CountKey: HashKey {
    /// Adds 1 to the count of the key if the line has it; returns whether it has.
    ///
    /// # Safety
    /// As for [`HashKey::hash`].
    #[inline(always)]
    unsafe fn add(line: &mut Line, key: &PretokenKey) -> bool {
        line.add(key)
    }

    /// Puts the key into the line; the key that it replaces goes to the log. A function of its own, outside of the
    /// loop.
    ///
    /// # Safety
    /// As for [`HashKey::hash`].
    unsafe fn miss(hasher: KeyHasher, line: &mut Line, key: &PretokenKey, log: &mut PartitionLog);

    /// [`miss`](Self::miss), to be inlined into functions that have the instructions.
    ///
    /// # Safety
    /// As for [`HashKey::hash`].
    #[inline(always)]
    unsafe fn replace(hasher: KeyHasher, line: &mut Line, key: &PretokenKey, log: &mut PartitionLog) {
        line.replace(key, |replaced, count| {
            // SAFETY: The caller promises the same.
            log.add_key(replaced, unsafe { Self::hash(hasher, replaced) }, count);
        });
    }
}

impl CountKey for Folded {
    #[cold]
    #[inline(never)]
    unsafe fn miss(hasher: KeyHasher, line: &mut Line, key: &PretokenKey, log: &mut PartitionLog) {
        // SAFETY: Every processor can multiply.
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
        // SAFETY: This function has AES.
        unsafe { Aes::replace(hasher, line, key, log) };
    }
}

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
impl CountKey for ArmAes {
    #[cold]
    #[inline(never)]
    #[target_feature(enable = "neon,aes")]
    unsafe fn miss(hasher: KeyHasher, line: &mut Line, key: &PretokenKey, log: &mut PartitionLog) {
        // SAFETY: This function has AES.
        unsafe { ArmAes::replace(hasher, line, key, log) };
    }
}
