//! Code points -> UTF-8.
//!
//! With AVX-512 (VBMI2) sixteen characters at a time: each is expanded to four bytes, and the unused ones are removed by
//! one compress instruction.

use super::units::{STEP_BYTES, Unit};
#[cfg(target_arch = "x86_64")]
use crate::cpu::CpuTier;
use crate::error::{Error, Result};
use crate::memory::TryReserve;
#[cfg(target_arch = "x86_64")]
use crate::prefetch::prefetch;

/// Characters converted at a time.
#[cfg(target_arch = "x86_64")]
const LANES: usize = 16;

/// The prefetch distance: hardware prefetchers stop at page boundaries and do not foresee where a text begins.
pub(super) const AHEAD_BYTES: usize = 1 << 10;

/// Replaces `text` by the UTF-8 of `units`.
pub(super) fn to_utf8<U: Unit>(units: &[U], text: &mut String) -> Result<()> {
    text.clear();
    // SAFETY: only the UTF-8 of characters is appended to the empty string; on error it is empty again.
    let out = unsafe { text.as_mut_vec() };
    out.grow(units.len() * U::MAX_BYTES + STEP_BYTES, "a text")?;
    #[cfg(target_arch = "x86_64")]
    if CpuTier::best().has_avx512() {
        // SAFETY: the AVX-512 tier has all features that the function is compiled for; `out` is empty and has the capacity.
        return unsafe { to_utf8_avx512(units, out) };
    }
    to_utf8_portable(units, out)
}

/// Converts one character at a time.
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

/// Converts sixteen characters at a time.
///
/// # Safety
/// The processor has the features of [`CpuTier::Avx512`]. `out` is empty and has capacity for `U::MAX_BYTES` for each
/// unit and a step more.
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
    // Surrogates and numbers above U+10FFFF are collected in `invalid` and reported at the end.
    let (mut n_written, mut invalid) = (0, 0);
    for chunk in units.chunks(LANES) {
        prefetch(chunk.as_ptr().wrapping_byte_add(AHEAD_BYTES));
        let mask = (u32::MAX >> (32 - chunk.len())) as u16;
        // SAFETY: the mask selects the units of the chunk.
        let character: __m512i = unsafe { U::load(chunk.as_ptr(), mask) };
        let is_multibyte = _mm512_cmpge_epu32_mask(character, all(0x80));
        if is_multibyte == 0 {
            // SAFETY: as below.
            unsafe { _mm_storeu_si128(begin.add(n_written).cast(), _mm512_cvtepi32_epi8(character)) };
            n_written += chunk.len();
            continue;
        }
        if U::MAX_BYTES > 2 {
            invalid |= _mm512_cmpeq_epi32_mask(right::<11>(character), all(0xd800 >> 11));
        }
        if U::MAX_BYTES > 3 {
            invalid |= _mm512_cmpgt_epu32_mask(character, all(char::MAX as i32));
        }
        let low_six = all(0x3f);
        // Six bits in each byte: the lowest six bits of the code point in the highest byte, the next below it, and so on.
        let split = or(
            or(right::<18>(character), left::<8>(and(right::<12>(character), low_six))),
            or(left::<16>(and(right::<6>(character), low_six)), left::<24>(and(character, low_six))),
        );
        let mut bytes = _mm512_mask_mov_epi32(character, is_multibyte, or(right::<16>(split), all(0x80c0)));
        let steps = [
            // Shifted so that the lead byte is lowest, with the marker bits of each byte.
            (0x800, or(right::<8>(split), all(0x0080_80e0))),
            (0x1_0000, or(split, all(0x8080_80f0_u32 as i32))),
        ];
        for (from, encoded) in steps {
            bytes = _mm512_mask_mov_epi32(bytes, _mm512_cmpge_epu32_mask(character, all(from)), encoded);
        }
        // Used bytes are not zero, except the lowest byte of U+0000.
        let lanes = u64::MAX >> (64 - 4 * chunk.len());
        let kept = (_mm512_test_epi8_mask(bytes, bytes) | 0x1111_1111_1111_1111) & lanes;
        // SAFETY: at most `U::MAX_BYTES` for each earlier unit were written, so the capacity leaves a step.
        unsafe { _mm512_storeu_si512(begin.add(n_written).cast(), _mm512_maskz_compress_epi8(kept, bytes)) };
        n_written += kept.count_ones() as usize;
    }
    if invalid != 0 {
        return Err(Error::NotCharacters);
    }
    // SAFETY: the first `n_written` bytes were written, within the capacity.
    unsafe { out.set_len(n_written) };
    Ok(())
}
