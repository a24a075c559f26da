//! Characters to UTF-8.
//!
//! With AVX-512 sixteen characters at a time: each is spread over four bytes, and those that are none of its own are
//! squeezed out.

use super::units::{STEP_BYTES, Unit};
#[cfg(target_arch = "x86_64")]
use crate::cpu::CpuTier;
use crate::error::{Error, Result};
#[cfg(target_arch = "x86_64")]
use crate::prefetch::prefetch;

/// Characters that are spread together.
#[cfg(target_arch = "x86_64")]
const LANES: usize = 16;

/// So far ahead characters are asked for: where a text begins, and at page after page, processors foresee nothing.
pub(super) const AHEAD_BYTES: usize = 1 << 10;

/// Replaces `text` by the UTF-8 of `units`.
pub(super) fn to_utf8<U: Unit>(units: &[U], text: &mut String) -> Result<()> {
    text.clear();
    // SAFETY: What is written is the UTF-8 of characters, or it stays empty.
    let out = unsafe { text.as_mut_vec() };
    out.try_reserve(units.len() * U::MOST_BYTES + STEP_BYTES).map_err(Error::out_of_memory("a text"))?;
    #[cfg(target_arch = "x86_64")]
    if CpuTier::best().has_avx512() {
        // SAFETY: The processor was asked, the room was reserved.
        return unsafe { to_utf8_avx512(units, out) };
    }
    to_utf8_portable(units, out)
}

/// A character at a time.
pub(super) fn to_utf8_portable<U: Unit>(units: &[U], out: &mut Vec<u8>) -> Result<()> {
    let mut buffer = [0; 4];
    for &unit in units {
        let Some(character) = char::from_u32(unit.into()) else {
            out.clear();
            return Err(Error::NotCharacters);
        };
        out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
    }
    Ok(())
}

/// Sixteen characters at a time.
///
/// # Safety
/// The processor has AVX-512 with BW, VL and VBMI2; `out` is empty and has room for the most bytes that `units` can
/// take, and a step.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt,bmi2")]
unsafe fn to_utf8_avx512<U: Unit>(units: &[U], out: &mut Vec<u8>) -> Result<()> {
    use std::arch::x86_64::{
        __m512i, _mm_storeu_si128, _mm512_and_si512 as and, _mm512_cmpeq_epi32_mask, _mm512_cmpge_epu32_mask,
        _mm512_cmpgt_epu32_mask, _mm512_cvtepi32_epi8, _mm512_mask_mov_epi32, _mm512_maskz_compress_epi8,
        _mm512_or_si512 as or, _mm512_set1_epi32 as all, _mm512_slli_epi32 as left,
        _mm512_srli_epi32 as right, _mm512_storeu_si512, _mm512_test_epi8_mask,
    };
    let begin = out.as_mut_ptr();
    let (mut n_written, mut bad) = (0, 0);
    for chunk in units.chunks(LANES) {
        prefetch(chunk.as_ptr().wrapping_byte_add(AHEAD_BYTES));
        let there = (u32::MAX >> (32 - chunk.len())) as u16;
        // SAFETY: the units of the chunk can be read.
        let character: __m512i = unsafe { U::load(chunk.as_ptr(), there) };
        let wide = _mm512_cmpge_epu32_mask(character, all(0x80));
        if wide == 0 {
            // SAFETY: as below.
            unsafe { _mm_storeu_si128(begin.add(n_written).cast(), _mm512_cvtepi32_epi8(character)) };
            n_written += chunk.len();
            continue;
        }
        if U::MOST_BYTES > 2 {
            bad |= _mm512_cmpeq_epi32_mask(right::<11>(character), all(0xd800 >> 11));
        }
        if U::MOST_BYTES > 3 {
            bad |= _mm512_cmpgt_epu32_mask(character, all(char::MAX as i32));
        }
        let six = all(0x3f);
        // The last byte's six bits in the highest byte, those before in the bytes below it.
        let spread = or(
            or(right::<18>(character), left::<8>(and(right::<12>(character), six))),
            or(left::<16>(and(right::<6>(character), six)), left::<24>(and(character, six))),
        );
        let mut bytes = _mm512_mask_mov_epi32(character, wide, or(right::<16>(spread), all(0x80c0)));
        let steps = [
            (0x800, or(right::<8>(spread), all(0x0080_80e0))),
            (0x1_0000, or(spread, all(0x8080_80f0_u32 as i32))),
        ];
        for (from, spelled) in steps {
            bytes = _mm512_mask_mov_epi32(bytes, _mm512_cmpge_epu32_mask(character, all(from)), spelled);
        }
        // Only U+0000 has a byte of zero that belongs to it: the lowest.
        let lanes = u64::MAX >> (64 - 4 * chunk.len());
        let kept = (_mm512_test_epi8_mask(bytes, bytes) | 0x1111_1111_1111_1111) & lanes;
        // SAFETY: So far at most the most bytes of the characters before this chunk were written, so that a
        // step more fits the room that the caller promises.
        unsafe { _mm512_storeu_si512(begin.add(n_written).cast(), _mm512_maskz_compress_epi8(kept, bytes)) };
        n_written += kept.count_ones() as usize;
    }
    if bad != 0 {
        return Err(Error::NotCharacters);
    }
    // SAFETY: That many bytes were written, the UTF-8 of characters.
    unsafe { out.set_len(n_written) };
    Ok(())
}
