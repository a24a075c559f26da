//! Code points -> UTF-8 and back with AVX2, eight characters or bytes at a time.
//!
//! AVX2 has no instruction that removes unused lanes, so tables hold shuffles that move the used ones to the front:
//! [`PICKS`] for bytes, by the lengths of four characters; [`STARTS`] for code points, by where characters start.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::portable;
use super::shuffles::{N_PICKED, PICKS, index};
use super::units::{AHEAD_BYTES, Unit};
use crate::prefetch::prefetch;
use crate::pretokens::byte_block::set_bits;

/// The number of characters in a block, and of bytes in a block of UTF-8.
const BLOCK: usize = 16;

/// Writes the UTF-8 of `units` to `out`; returns its length, or `None` for surrogates and numbers above U+10FFFF.
///
/// # Safety
/// The processor must have AVX2 and POPCNT. At `out`, `U::MAX_BYTES` bytes per unit and 64 more must be writable.
#[target_feature(enable = "avx2,popcnt")]
pub(super) unsafe fn to_utf8<U: Unit>(units: &[U], out: *mut u8) -> Option<usize> {
    let mut n_written = 0;
    let mut invalid = _mm256_setzero_si256();
    let mut chunks = units.chunks_exact(BLOCK);
    // SAFETY: Each chunk has 16 units, each half of it 8. The units so far took at most `U::MAX_BYTES` each, so the
    // longest UTF-8 of the rest and 64 more bytes can be written.
    unsafe {
        for chunk in &mut chunks {
            prefetch(chunk.as_ptr().wrapping_byte_add(AHEAD_BYTES));
            let (is_ascii, bytes) = narrow_16(chunk.as_ptr());
            if is_ascii {
                _mm_storeu_si128(out.add(n_written).cast(), bytes);
                n_written += BLOCK;
                continue;
            }
            for half in [0, BLOCK / 2] {
                let characters = load_8(chunk.as_ptr().add(half));
                n_written += half_to_utf8::<U>(characters, out.add(n_written), &mut invalid);
            }
        }
        let mut rest = chunks.remainder();
        if rest.len() >= BLOCK / 2 {
            n_written += half_to_utf8::<U>(load_8(rest.as_ptr()), out.add(n_written), &mut invalid);
            rest = &rest[BLOCK / 2..];
        }
        n_written += portable::to_utf8(rest, out.add(n_written))?;
    }
    (_mm256_testz_si256(invalid, invalid) != 0).then_some(n_written)
}

/// Writes the UTF-8 of 8 code points; returns its length.
///
/// # Safety
/// The processor must have AVX2 and POPCNT; 32 bytes must be writable at `out`.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
unsafe fn half_to_utf8<U: Unit>(character: __m256i, out: *mut u8, invalid: &mut __m256i) -> usize {
    let all = |number: u32| _mm256_set1_epi32(number as i32);
    let from = |least: u32| _mm256_cmpgt_epi32(character, all(least - 1));
    let bits = |lanes: __m256i| _mm256_movemask_ps(_mm256_castsi256_ps(lanes)) as u32;
    let (two, three, four) = (from(0x80), from(0x800), from(0x1_0000));
    if U::MAX_BYTES > 2 {
        let surrogate = _mm256_cmpeq_epi32(_mm256_srli_epi32::<11>(character), all(0xd800 >> 11));
        *invalid = _mm256_or_si256(*invalid, surrogate);
    }
    if U::MAX_BYTES > 3 {
        let is_small = _mm256_cmpeq_epi32(_mm256_min_epu32(character, all(char::MAX as u32)), character);
        *invalid = _mm256_or_si256(*invalid, _mm256_andnot_si256(is_small, all(1)));
    }
    // Put six bits into each byte, the lowest ones last: a character of n bytes has the last n bytes of its lane.
    let mut split = _mm256_or_si256(
        _mm256_and_si256(_mm256_slli_epi32::<24>(character), all(0x3f00_0000)),
        _mm256_and_si256(_mm256_slli_epi32::<10>(character), all(0x003f_0000)),
    );
    // The high bits are 10 in a continuation byte, and 110, 1110 and 11110 in the first byte of two, three and four.
    let mut marks = _mm256_or_si256(all(0x8080_80f0), _mm256_andnot_si256(three, all(0x0040_0000)));
    if U::MAX_BYTES > 2 {
        split = _mm256_or_si256(split, _mm256_and_si256(_mm256_srli_epi32::<4>(character), all(0x0000_3f00)));
        marks = _mm256_or_si256(marks, _mm256_andnot_si256(four, all(0x0000_6000)));
    }
    if U::MAX_BYTES > 3 {
        split = _mm256_or_si256(split, _mm256_srli_epi32::<18>(character));
    }
    let ascii = _mm256_slli_epi32::<24>(character);
    let bytes = _mm256_blendv_epi8(ascii, _mm256_or_si256(split, marks), two);
    // The length of each character minus one, in binary: the low bits of all lengths, and their high bits.
    let (mut low, high) = (_mm256_xor_si256(two, three), bits(three));
    if U::MAX_BYTES > 3 {
        low = _mm256_xor_si256(low, four);
    }
    let low = bits(low);
    let (first, second) = (index(low & 15, high & 15), index(low >> 4, high >> 4));
    let n_first = usize::from(N_PICKED[first]);
    // SAFETY: The 16 bytes of each store begin at most 16 bytes after `out`; an entry of PICKS has 16 bytes.
    unsafe {
        let pick = |index: usize| _mm_load_si128(PICKS.0[index].as_ptr().cast());
        _mm_storeu_si128(out.cast(), _mm_shuffle_epi8(_mm256_castsi256_si128(bytes), pick(first)));
        let last = _mm_shuffle_epi8(_mm256_extracti128_si256::<1>(bytes), pick(second));
        _mm_storeu_si128(out.add(n_first).cast(), last);
    }
    n_first + usize::from(N_PICKED[second])
}

/// For each set of lanes, as bits, their numbers in order.
static STARTS: [[u8; 8]; 256] = set_bits();

/// Converts UTF-8 while whole vectors can be read and written; returns how many bytes were read and units written.
///
/// # Safety
/// The processor must have AVX2 and POPCNT; `bytes` must be UTF-8 whose code points fit in a unit.
#[target_feature(enable = "avx2,popcnt")]
pub(super) unsafe fn from_utf8<U: Unit>(bytes: &[u8], units: &mut [MaybeUninit<U>]) -> (usize, usize) {
    let (mut n_read, mut n_written) = (0, 0);
    // The second half of a block reads sixteen bytes, eight of them after the block.
    while n_read + BLOCK + 8 <= bytes.len() && n_written + BLOCK <= units.len() {
        // SAFETY: The condition leaves 24 bytes to read and 16 units to write. The first half writes at most 8.
        unsafe {
            let start = bytes.as_ptr().add(n_read);
            let out: *mut U = units.as_mut_ptr().add(n_written).cast();
            let block = _mm_loadu_si128(start.cast());
            if _mm_movemask_epi8(block) == 0 {
                widen_16(block, out);
                n_written += BLOCK;
            } else {
                // Lead bytes: all but continuation bytes (10xxxxxx), which are the smallest as signed numbers.
                let starts = _mm_movemask_epi8(_mm_cmpgt_epi8(block, _mm_set1_epi8(-0x41))) as usize;
                let n_first = half_from_utf8(block, starts & 0xff, out);
                let last = _mm_loadu_si128(start.add(8).cast());
                n_written += n_first + half_from_utf8(last, starts >> 8, out.add(n_first));
            }
        }
        n_read += BLOCK;
    }
    // The last character can extend beyond the last block.
    while n_read < bytes.len() && bytes[n_read] & 0xc0 == 0x80 {
        n_read += 1;
    }
    (n_read, n_written)
}

/// Converts the characters that start in the first eight of `bytes`, at the bits of `starts`; returns their number.
///
/// # Safety
/// The processor must have AVX2 and POPCNT; 8 units must be writable at `out`.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
unsafe fn half_from_utf8<U: Unit>(bytes: __m128i, starts: usize, out: *mut U) -> usize {
    // Each lane gets four bytes. Its own is the first and highest.
    let lanes = _mm256_shuffle_epi8(
        _mm256_broadcastsi128_si256(bytes),
        _mm256_setr_epi8(
            3, 2, 1, 0, 4, 3, 2, 1, 5, 4, 3, 2, 6, 5, 4, 3, //
            7, 6, 5, 4, 8, 7, 6, 5, 9, 8, 7, 6, 10, 9, 8, 7,
        ),
    );
    // Join the low six bits of each byte, but seven bits of the first byte.
    let low = _mm256_and_si256(lanes, _mm256_set1_epi32(0x7f3f_3f3f));
    let pairs = _mm256_maddubs_epi16(low, _mm256_set1_epi16(0x4001));
    let joined = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x1000_0001));
    // Choose by bits 4 to 6 of the first byte, whose high bits are 110x, 1110 or 1111.
    let kind = _mm256_srli_epi32::<28>(lanes);
    let of_kind = |two, three, four| {
        _mm256_permutevar8x32_epi32(_mm256_setr_epi32(0, 0, 0, 0, two, two, three, four), kind)
    };
    let longer =
        _mm256_and_si256(_mm256_srlv_epi32(joined, of_kind(12, 6, 0)), of_kind(0x7ff, 0xffff, 0x1f_ffff));
    let ascii = _mm256_castsi256_ps(_mm256_srli_epi32::<24>(lanes));
    let number = _mm256_blendv_ps(ascii, _mm256_castsi256_ps(longer), _mm256_castsi256_ps(lanes));
    // SAFETY: An entry of STARTS has 8 bytes; the caller vouches for room for 8 units.
    unsafe {
        let order = _mm256_cvtepu8_epi32(_mm_loadl_epi64(STARTS[starts].as_ptr().cast()));
        store_8(_mm256_permutevar8x32_epi32(_mm256_castps_si256(number), order), out);
    }
    starts.count_ones() as usize
}

/// Loads 16 units as bytes; returns whether all are ASCII, and the bytes, which are meaningless if not.
///
/// # Safety
/// The processor must have AVX2; 16 units must be readable.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn narrow_16<U: Unit>(units: *const U) -> (bool, __m128i) {
    // SAFETY: 16 units have as many bytes as are loaded.
    let load = |at: usize| unsafe { _mm256_loadu_si256(units.cast::<__m256i>().add(at)) };
    let none_of = |units, bits| _mm256_testz_si256(units, bits) != 0;
    let halves = |units| (_mm256_castsi256_si128(units), _mm256_extracti128_si256::<1>(units));
    match size_of::<U>() {
        1 => {
            // SAFETY: as above.
            let bytes = unsafe { _mm_loadu_si128(units.cast()) };
            (_mm_movemask_epi8(bytes) == 0, bytes)
        }
        2 => {
            let units = load(0);
            let (first, last) = halves(units);
            (none_of(units, _mm256_set1_epi16(!0x7f)), _mm_packus_epi16(first, last))
        }
        _ => {
            let (a, b) = (load(0), load(1));
            let is_ascii = none_of(_mm256_or_si256(a, b), _mm256_set1_epi32(!0x7f));
            let [a, b] = [a, b].map(halves);
            (is_ascii, _mm_packus_epi16(_mm_packs_epi32(a.0, a.1), _mm_packs_epi32(b.0, b.1)))
        }
    }
}

/// Loads 8 code points.
///
/// # Safety
/// The processor must have AVX2; 8 units must be readable.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load_8<U: Unit>(units: *const U) -> __m256i {
    // SAFETY: 8 units have as many bytes as are loaded.
    unsafe {
        match size_of::<U>() {
            1 => _mm256_cvtepu8_epi32(_mm_loadl_epi64(units.cast())),
            2 => _mm256_cvtepu16_epi32(_mm_loadu_si128(units.cast())),
            _ => _mm256_loadu_si256(units.cast()),
        }
    }
}

/// Stores 16 bytes as units.
///
/// # Safety
/// The processor must have AVX2; 16 units must be writable.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn widen_16<U: Unit>(bytes: __m128i, units: *mut U) {
    // SAFETY: 16 units have as many bytes as are stored.
    unsafe {
        match size_of::<U>() {
            1 => _mm_storeu_si128(units.cast(), bytes),
            2 => _mm256_storeu_si256(units.cast(), _mm256_cvtepu8_epi16(bytes)),
            _ => {
                _mm256_storeu_si256(units.cast(), _mm256_cvtepu8_epi32(bytes));
                let last = _mm256_cvtepu8_epi32(_mm_unpackhi_epi64(bytes, bytes));
                _mm256_storeu_si256(units.cast::<__m256i>().add(1), last);
            }
        }
    }
}

/// Stores 8 code points, which must fit. Unused lanes are stored as arbitrary values.
///
/// # Safety
/// The processor must have AVX2; 8 units must be writable.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn store_8<U: Unit>(numbers: __m256i, units: *mut U) {
    let (first, last) = (_mm256_castsi256_si128(numbers), _mm256_extracti128_si256::<1>(numbers));
    let words = _mm_packus_epi32(first, last);
    // SAFETY: 8 units have as many bytes as are stored.
    unsafe {
        match size_of::<U>() {
            1 => _mm_storel_epi64(units.cast(), _mm_packus_epi16(words, words)),
            2 => _mm_storeu_si128(units.cast(), words),
            _ => _mm256_storeu_si256(units.cast(), numbers),
        }
    }
}
