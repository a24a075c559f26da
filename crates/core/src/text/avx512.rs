//! Code points -> UTF-8 with AVX-512, 32 characters at a time.
//!
//! One instruction spreads each character over the four bytes of a lane, its last byte highest; the compress
//! instruction removes the bytes that are not used. Its form with a register is used: the one that writes to memory
//! takes hundreds of cycles on Zen 4.
//!
//! Tried, by `cargo run --release --example transcode`: sixteen characters at a time, with blends and shifts per
//! length: half as fast, slower than AVX2. From UTF-8, 64 bytes at a time: slower than AVX2, so that direction uses
//! `avx2.rs`.

use std::arch::x86_64::*;

use super::units::{AHEAD_BYTES, Unit};
use crate::prefetch::prefetch;

/// Number of characters in a block.
const BLOCK: usize = 32;

/// Number of characters that are spread at once.
const LANES: usize = 16;

/// Writes the UTF-8 of `units` to `out`; returns its length, or `None` for surrogates and numbers above U+10FFFF.
///
/// # Safety
/// The processor has AVX-512 with BW, VL, VBMI and VBMI2, and POPCNT. `U::MAX_BYTES` bytes for each unit, and 64 more,
/// can be written at `out`.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt,bmi2")]
pub(super) unsafe fn to_utf8<U: Unit>(units: &[U], out: *mut u8) -> Option<usize> {
    let (mut n_written, mut invalid) = (0, 0);
    let mut chunks = units.chunks_exact(BLOCK);
    // SAFETY: Each chunk has 32 units, and the loads of the rest are masked. Each unit so far took at most
    // `U::MAX_BYTES`, so the longest UTF-8 of the rest and 64 bytes more can be written.
    unsafe {
        for chunk in &mut chunks {
            prefetch(chunk.as_ptr().wrapping_byte_add(AHEAD_BYTES));
            let (is_ascii, bytes) = narrow_32(chunk.as_ptr());
            if is_ascii {
                _mm256_storeu_si256(out.add(n_written).cast(), bytes);
                n_written += BLOCK;
                continue;
            }
            for half in [0, LANES] {
                let characters = load_16(chunk.as_ptr().add(half), u16::MAX);
                n_written += spread::<U>(characters, u64::MAX, out.add(n_written), &mut invalid);
            }
        }
        for rest in chunks.remainder().chunks(LANES) {
            let characters = load_16(rest.as_ptr(), u16::MAX >> (LANES - rest.len()));
            let lanes = u64::MAX >> (64 - 4 * rest.len());
            n_written += spread::<U>(characters, lanes, out.add(n_written), &mut invalid);
        }
    }
    (invalid == 0).then_some(n_written)
}

/// Writes the UTF-8 of up to 16 code points, whose bytes are in the mask `lanes`; returns its length.
///
/// # Safety
/// The processor has AVX-512 as above; 64 bytes can be written.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
unsafe fn spread<U: Unit>(character: __m512i, lanes: u64, out: *mut u8, invalid: &mut u16) -> usize {
    let all = |number: u32| _mm512_set1_epi32(number as i32);
    let from = |least: u32| _mm512_cmpge_epu32_mask(character, all(least));
    // Byte 0 of a lane gets bits 18 to 25 of its character, byte 1 bits 12 to 19, byte 2 bits 6 to 13, byte 3 bits 0 to
    // 7.
    let shifts = _mm512_set1_epi64(0x2026_2c32_0006_0c12);
    let split = _mm512_multishift_epi64_epi8(shifts, character);
    // The high bits of a continuation byte are 10, those of the first byte of two 110, of three 1110, of four 11110.
    // Bytes before the first get no mark, so their highest bit is 0.
    let two = from(0x80);
    let mut marks = all(0x80c0_0000);
    if U::MAX_BYTES > 2 {
        marks = _mm512_mask_mov_epi32(marks, from(0x800), all(0x8080_e000));
        let high = _mm512_and_si512(character, all(0xffff_f800));
        *invalid |= _mm512_cmpeq_epi32_mask(high, all(0xd800));
    }
    if U::MAX_BYTES > 3 {
        marks = _mm512_mask_mov_epi32(marks, from(0x1_0000), all(0x8080_80f0));
        *invalid |= from(char::MAX as u32 + 1);
    }
    // Six bits of each byte and the marks; ASCII is unchanged.
    let bytes = _mm512_mask_blend_epi32(
        two,
        split,
        _mm512_ternarylogic_epi32::<{ AND_OR }>(split, all(0x3f3f_3f3f), marks),
    );
    let kept = (_mm512_movepi8_mask(bytes) | 0x8888_8888_8888_8888) & lanes;
    // SAFETY: The caller vouches for 64 bytes.
    unsafe { _mm512_storeu_si512(out.cast(), _mm512_maskz_compress_epi8(kept, bytes)) };
    kept.count_ones() as usize
}

/// `a & b | c`, as a truth table.
const AND_OR: i32 = 0xea;

/// Loads 32 units as bytes; returns whether all are ASCII, and the bytes, which are meaningless otherwise.
///
/// # Safety
/// The processor has AVX-512 as above; 32 units can be read.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn narrow_32<U: Unit>(units: *const U) -> (bool, __m256i) {
    // SAFETY: 32 units have as many bytes as are loaded.
    let load = |at: usize| unsafe { _mm512_loadu_si512(units.cast::<__m512i>().add(at)) };
    match size_of::<U>() {
        1 => {
            // SAFETY: as above.
            let bytes = unsafe { _mm256_loadu_si256(units.cast()) };
            (_mm256_movepi8_mask(bytes) == 0, bytes)
        }
        2 => {
            let units = load(0);
            (_mm512_test_epi16_mask(units, _mm512_set1_epi16(!0x7f)) == 0, _mm512_cvtepi16_epi8(units))
        }
        _ => {
            let (a, b) = (load(0), load(1));
            let is_ascii = _mm512_test_epi32_mask(_mm512_or_si512(a, b), _mm512_set1_epi32(!0x7f)) == 0;
            (is_ascii, _mm256_set_m128i(_mm512_cvtepi32_epi8(b), _mm512_cvtepi32_epi8(a)))
        }
    }
}

/// Loads up to 16 code points, those in the mask `lanes`; 0 for the others.
///
/// # Safety
/// The processor has AVX-512 as above; those units can be read.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn load_16<U: Unit>(units: *const U, lanes: u16) -> __m512i {
    // SAFETY: A masked load reads only the units in the mask.
    unsafe {
        match size_of::<U>() {
            1 => _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(lanes, units.cast())),
            2 => _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, units.cast())),
            _ => _mm512_maskz_loadu_epi32(lanes, units.cast()),
        }
    }
}
