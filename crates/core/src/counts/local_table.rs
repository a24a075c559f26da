//! A thread's table of short pretokens, small enough for the processor's second-level cache.
//!
//! A two-way set-associative cache of counts. A line has 64 bytes: two keys, their counts, and for each key its count
//! at the last miss in the line. A miss evicts the key that was seen less often since then, so that a key that was
//! frequent only long ago is evicted too. Only misses update these saved counts. Invariant: for each key, its count in
//! the table plus its evicted counts is the number of times it was added.
//!
//! Tried (`cargo run --release --example count` on English, fifteen languages, C):
//! - Three keys per line with 32-bit counts: a quarter fewer misses, but 0.8 ns more per pretoken.
//! - Comparing a preferred key of each line first: 8 to 15 % slower; the branch is mispredicted.
//! - Lines of four keys of eight bytes beside lines of two: 17 % slower, 1 % faster, 22 % slower with AVX2. Pretokens
//!   of one or two bytes in a separate array: 4 % slower, 6 % faster, 8 % slower.
//! - Lines for pretokens of 16 to 31 bytes: between 2 % slower and 4 % faster, for 100 lines of code.
//! - A table of 1 MB: 0 to 12 % slower. Of 4 MB: languages 3 % faster, for twice the memory.

use crate::budget::Budget;
use crate::error::Result;
use crate::memory::{Zero, Zeros};
use crate::pretokens::key::PretokenKey;

/// Two keys and their counts. `counts` has, in this order: the count of key 0, the counts of keys 0 and 1 at the last
/// miss, the count of key 1. So the count of key `k` is at index `3 * k`.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
pub(super) struct Line {
    keys: [PretokenKey; 2],
    counts: [u64; 4],
}

// SAFETY: Zeroed memory is two empty keys and counts of 0, which is the default.
unsafe impl Zero for Line {}

/// A set-associative table of short keys.
pub(super) struct LocalTable {
    lines: Zeros<Line>,
}

impl LocalTable {
    /// Creates a table of `n_bytes` bytes, a power of two.
    pub(super) fn new(n_bytes: usize, budget: &Budget) -> Result<Self> {
        const WHAT: &str = "the counting table of a thread";
        let n_lines = (n_bytes / size_of::<Line>()).next_power_of_two();
        budget.take(n_lines * size_of::<Line>(), WHAT)?;
        Ok(LocalTable { lines: Zeros::new(n_lines, WHAT)? })
    }

    /// Returns the size of the table in bytes.
    pub(super) fn n_bytes(&self) -> usize {
        size_of_val(&*self.lines)
    }

    /// Returns the mask that turns a hash into the byte offset of a line.
    #[inline(always)]
    pub(super) fn offset_mask(&self) -> u32 {
        ((self.lines.len() - 1) * size_of::<Line>()) as u32
    }

    /// Returns a pointer to the first line.
    #[inline(always)]
    pub(super) fn first_line(&mut self) -> *mut Line {
        self.lines.as_mut_ptr()
    }

    /// Empties the table and passes each key and its count to `sink`.
    pub(super) fn drain(&mut self, mut sink: impl FnMut(PretokenKey, u64) -> Result<()>) -> Result<()> {
        for line in &mut *self.lines {
            for way in [0, 1] {
                if line.keys[way] != PretokenKey::EMPTY {
                    sink(line.keys[way], line.counts[3 * way])?;
                }
            }
            if line.keys[0] != PretokenKey::EMPTY {
                *line = Line::default();
            }
        }
        Ok(())
    }
}

impl Line {
    /// Adds 1 to the count of `key` if the line has it; returns whether it does.
    #[inline(always)]
    pub(super) fn add(&mut self, key: &PretokenKey) -> bool {
        let halves = self.equal_halves(key);
        self.add_where(halves)
    }

    /// [`add`](Self::add) with AVX2.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn add_avx2(&mut self, key: &PretokenKey) -> bool {
        use std::arch::x86_64::*;
        // SAFETY: A PretokenKey has 16 bytes and is aligned to 16. `keys` has 32 bytes at the start of a line, which is
        // aligned to 64.
        let halves = unsafe {
            let key = _mm256_broadcastsi128_si256(_mm_load_si128(std::ptr::from_ref(key).cast()));
            let held = _mm256_load_si256(self.keys.as_ptr().cast());
            _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(key, held))) as usize
        };
        self.add_where(halves)
    }

    /// Returns a mask of the halves of the line's keys that equal those of `key`: bits 0 and 1 for key 0, bits 2 and 3
    /// for key 1.
    ///
    /// A mask, because from two `bool`s the compiler would make a branch for each key, and which key matches is
    /// unpredictable (12 to 22 % slower).
    #[inline(always)]
    fn equal_halves(&self, key: &PretokenKey) -> usize {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::*;
            // SAFETY: Every x86-64 processor has SSE2. A PretokenKey has 16 bytes and is aligned to 16.
            unsafe {
                let key = _mm_load_si128(std::ptr::from_ref(key).cast());
                let [first, second] = self.keys.each_ref().map(|held| {
                    _mm_castsi128_ps(_mm_cmpeq_epi32(key, _mm_load_si128(std::ptr::from_ref(held).cast())))
                });
                // `low` has quarters 0 and 1 of each key, `high` quarters 2 and 3. So here a "half" is quarters 0 and
                // 2, or quarters 1 and 3.
                let (low, high) = (_mm_movelh_ps(first, second), _mm_movehl_ps(second, first));
                _mm_movemask_ps(_mm_and_ps(low, high)) as usize
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let [first, second] = self.keys.map(|held| usize::from(held.equals(*key)));
            3 * first | 12 * second
        }
    }

    /// Adds 1 to the count of the key whose `halves` are both equal; returns whether there is such a key.
    #[inline(always)]
    fn add_where(&mut self, halves: usize) -> bool {
        // Keeps the lower bit of a key if both its bits are set: 1 or 4.
        let matched = halves & halves >> 1 & 0b101;
        if matched == 0 {
            return false;
        }
        // SAFETY: The two keys of a line differ, so only one matches: `matched` is 1 or 4, the index 0 or 3.
        unsafe { *self.counts.get_unchecked_mut(matched - 1) += 1 };
        true
    }

    /// Replaces the key that was seen less often since the last miss by `key`, which must not be in the line. Passes
    /// the replaced key, if there was one, and its count to `sink`.
    ///
    /// The choice of the key is unpredictable, so it takes no branch. The sink reads the key in place: a copy written
    /// in halves and read as a whole would wait for the stores.
    #[inline(always)]
    pub(super) fn replace(&mut self, key: &PretokenKey, sink: impl FnOnce(&PretokenKey, u64)) {
        let [count_0, before_0, before_1, count_1] = self.counts;
        let (seen_0, seen_1) = (count_0.wrapping_sub(before_0), count_1.wrapping_sub(before_1));
        // A line is filled from its first key on: if the first is empty, both are.
        let [holds_first, holds_second] = self.keys.each_ref().map(|held| !held.equals(PretokenKey::EMPTY));
        let out = usize::from(holds_first & (!holds_second | (seen_1 <= seen_0)));
        if (holds_first & (out == 0)) | (holds_second & (out == 1)) {
            sink(&self.keys[out], self.counts[3 * out]);
        }
        self.keys[out] = *key;
        self.counts[3 * out] = 1;
        self.counts[1 + out] = 0;
        self.counts[2 - out] = self.counts[3 * (1 - out)];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a different key for each number below 30; some pairs of keys differ in one byte.
    fn key(number: usize) -> PretokenKey {
        let byte = 1u128 << (8 * (number % 15));
        let bits = byte * (1 + number as u128 / 15 * 2);
        PretokenKey { lo: bits as u64, hi: (bits >> 64) as u64 }
    }

    #[test]
    fn line_counts_each_key_once_and_alike_on_all_tiers() {
        let mut lines = [Line::default(); 2];
        let (mut added, mut given) = ([0u64; 30], [0u64; 30]);
        let mut number = 7u64;
        for _ in 0..20_000 {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Mostly one of three keys, so that the line often has it.
            let index = ((number >> 33) % if number >> 60 == 0 { 30 } else { 3 }) as usize;
            let add = |line: &mut Line, add: fn(&mut Line, &PretokenKey) -> bool| {
                let mut out = None;
                if !add(line, &key(index)) {
                    line.replace(&key(index), |replaced, count| out = Some((*replaced, count)));
                }
                out
            };
            let out = add(&mut lines[0], Line::add);
            #[cfg(target_arch = "x86_64")]
            if crate::cpu::CpuTier::available().any(|tier| tier.has_avx2()) {
                // SAFETY: The processor has AVX2.
                assert_eq!(add(&mut lines[1], |line, key| unsafe { line.add_avx2(key) }), out);
                assert_eq!((lines[1].keys, lines[1].counts), (lines[0].keys, lines[0].counts));
            }
            added[index] += 1;
            if let Some((replaced, count)) = out {
                given[(0..30).find(|&index| key(index) == replaced).unwrap()] += count;
            }
        }
        for (index, given) in given.iter_mut().enumerate() {
            for way in [0, 1] {
                if lines[0].keys[way] == key(index) {
                    *given += lines[0].counts[3 * way];
                }
            }
        }
        assert_eq!(given, added);
    }
}
