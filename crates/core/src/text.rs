//! Text as callers hold it, to UTF-8.
//!
//! Enters: a `&str`, or characters of one, two or four bytes each, as Python keeps them. Leaves: UTF-8, in a
//! buffer that the caller uses again from text to text, so that it stays in the nearer caches. With AVX-512
//! sixteen characters at a time: each is spread over four bytes, and those that are none of its own are squeezed out.

use crate::error::{Error, Result};
use crate::prefetch::prefetch;

/// What can be read as UTF-8.
pub trait Text: Sync {
    /// The text, in `buffer` where it is not UTF-8 as it lies.
    ///
    /// Errors: [`Error::NotCharacters`]; [`Error::OutOfMemory`] where `buffer` has no room.
    fn utf8<'a>(&'a self, buffer: &'a mut String) -> Result<&'a str>;

    /// About how many bytes it has: right to a small factor.
    fn n_bytes(&self) -> usize;

    /// Starts loading the text's beginning.
    fn prefetch(&self);
}

impl Text for &str {
    #[inline]
    fn utf8<'a>(&'a self, _buffer: &'a mut String) -> Result<&'a str> {
        Ok(self)
    }

    fn n_bytes(&self) -> usize {
        self.len()
    }

    fn prefetch(&self) {
        prefetch_all(self.as_bytes());
    }
}

/// Characters of equal width, or UTF-8.
#[derive(Clone, Copy)]
pub struct Characters<'a>(Units<'a>);

#[derive(Clone, Copy)]
enum Units<'a> {
    Utf8(&'a str),
    One(&'a [u8]),
    Two(&'a [u16]),
    Four(&'a [u32]),
}

impl<'a> Characters<'a> {
    /// UTF-8 as it lies.
    #[inline]
    pub fn utf8(text: &'a str) -> Self {
        Characters(Units::Utf8(text))
    }

    /// The first 256 characters of Unicode, a byte each.
    pub fn latin1(characters: &'a [u8]) -> Self {
        Characters(Units::One(characters))
    }

    /// Characters of two bytes.
    pub fn ucs2(characters: &'a [u16]) -> Self {
        Characters(Units::Two(characters))
    }

    /// Characters of four bytes.
    pub fn ucs4(characters: &'a [u32]) -> Self {
        Characters(Units::Four(characters))
    }
}

impl Text for Characters<'_> {
    #[inline]
    fn utf8<'a>(&'a self, buffer: &'a mut String) -> Result<&'a str> {
        match self.0 {
            Units::Utf8(text) => return Ok(text),
            Units::One(units) => transcode(units, buffer)?,
            Units::Two(units) => transcode(units, buffer)?,
            Units::Four(units) => transcode(units, buffer)?,
        }
        Ok(buffer)
    }

    fn n_bytes(&self) -> usize {
        match self.0 {
            Units::Utf8(text) => text.len(),
            Units::One(units) => units.len(),
            Units::Two(units) => units.len() * 2,
            Units::Four(units) => units.len() * 4,
        }
    }

    fn prefetch(&self) {
        match self.0 {
            Units::Utf8(text) => prefetch_all(text.as_bytes()),
            Units::One(units) => prefetch_all(units),
            Units::Two(units) => prefetch_all(units),
            Units::Four(units) => prefetch_all(units),
        }
    }
}

/// Starts loading the first lines of `units`: what lies behind them the processor foresees, not where texts begin.
fn prefetch_all<U>(units: &[U]) {
    const MOST_BYTES: usize = 1 << 13;
    const LINE_BYTES: usize = 64;
    let n_units = units.len().min(MOST_BYTES / size_of::<U>());
    for unit in units[..n_units].iter().step_by(LINE_BYTES / size_of::<U>()) {
        prefetch(unit);
    }
}

/// Characters that are spread together.
#[cfg(target_arch = "x86_64")]
const LANES: usize = 16;
/// The most bytes that [`LANES`] characters may fill.
const STEP_BYTES: usize = 64;

/// A character's number in some width.
trait Unit: Copy + Into<u32> {
    /// Most bytes of UTF-8 that one can take.
    const MOST_BYTES: usize;

    /// The numbers of the first 16 of `units` whose bit in `there` is set, 0 for the others.
    ///
    /// # Safety
    /// The processor has AVX-512 with BW and VL; the units whose bits are set can be read.
    #[cfg(target_arch = "x86_64")]
    unsafe fn load(units: *const Self, there: u16) -> std::arch::x86_64::__m512i;
}

impl Unit for u8 {
    const MOST_BYTES: usize = 2;

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    unsafe fn load(units: *const Self, there: u16) -> std::arch::x86_64::__m512i {
        use std::arch::x86_64::{_mm_maskz_loadu_epi8, _mm512_cvtepu8_epi32};
        // SAFETY: a masked load touches only what the mask names, which the caller promises.
        _mm512_cvtepu8_epi32(unsafe { _mm_maskz_loadu_epi8(there, units.cast()) })
    }
}

impl Unit for u16 {
    const MOST_BYTES: usize = 3;

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    unsafe fn load(units: *const Self, there: u16) -> std::arch::x86_64::__m512i {
        use std::arch::x86_64::{_mm256_maskz_loadu_epi16, _mm512_cvtepu16_epi32};
        // SAFETY: a masked load touches only what the mask names, which the caller promises.
        _mm512_cvtepu16_epi32(unsafe { _mm256_maskz_loadu_epi16(there, units.cast()) })
    }
}

impl Unit for u32 {
    const MOST_BYTES: usize = 4;

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    unsafe fn load(units: *const Self, there: u16) -> std::arch::x86_64::__m512i {
        use std::arch::x86_64::_mm512_maskz_loadu_epi32;
        // SAFETY: a masked load touches only what the mask names, which the caller promises.
        unsafe { _mm512_maskz_loadu_epi32(there, units.cast()) }
    }
}

/// Replaces `text` by the UTF-8 of `units`.
fn transcode<U: Unit>(units: &[U], text: &mut String) -> Result<()> {
    text.clear();
    // SAFETY: What is written is the UTF-8 of characters, or it stays empty.
    let out = unsafe { text.as_mut_vec() };
    out.try_reserve(units.len() * U::MOST_BYTES + STEP_BYTES).map_err(Error::out_of_memory("a text"))?;
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vbmi2")
    {
        // SAFETY: The processor was asked, the room was reserved.
        return unsafe { transcode_avx512(units, out) };
    }
    transcode_portable(units, out)
}

/// A character at a time.
fn transcode_portable<U: Unit>(units: &[U], out: &mut Vec<u8>) -> Result<()> {
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
unsafe fn transcode_avx512<U: Unit>(units: &[U], out: &mut Vec<u8>) -> Result<()> {
    use std::arch::x86_64::{
        __m512i, _mm_storeu_si128, _mm512_and_si512 as and, _mm512_cmpeq_epi32_mask, _mm512_cmpge_epu32_mask,
        _mm512_cmpgt_epu32_mask, _mm512_cvtepi32_epi8, _mm512_mask_mov_epi32, _mm512_maskz_compress_epi8,
        _mm512_or_si512 as or, _mm512_set1_epi32 as all, _mm512_slli_epi32 as left,
        _mm512_srli_epi32 as right, _mm512_storeu_si512, _mm512_test_epi8_mask,
    };
    let begin = out.as_mut_ptr();
    let (mut n_written, mut bad) = (0, 0);
    for chunk in units.chunks(LANES) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn utf8(text: Characters<'_>) -> String {
        text.utf8(&mut String::new()).unwrap().to_owned()
    }

    #[test]
    fn every_character_in_every_width() {
        let all: Vec<char> = (0..=char::MAX as u32).filter_map(char::from_u32).collect();
        // Mixed, so that characters of all lengths meet at all places of a step.
        for stride in [1, 7919, 65_537] {
            let n = all.len();
            let mixed: Vec<char> = (0..n).map(|i| all[i * stride % n]).collect();
            let four: Vec<u32> = mixed.iter().map(|&c| c as u32).collect();
            assert_eq!(utf8(Characters::ucs4(&four)), mixed.iter().collect::<String>());
            let two: Vec<u16> = four.iter().filter_map(|&c| u16::try_from(c).ok()).collect();
            let expected: String = mixed.iter().filter(|&&c| (c as u32) < 1 << 16).collect();
            assert_eq!(utf8(Characters::ucs2(&two)), expected);
            let one: Vec<u8> = two.iter().filter_map(|&c| u8::try_from(c).ok()).collect();
            let expected: String = one.iter().map(|&c| char::from(c)).collect();
            assert_eq!(utf8(Characters::latin1(&one)), expected);
        }
    }

    #[test]
    fn every_length_and_the_portable_way() {
        let text = "a\0é߿ࠀ中￿x𐀀😀z".repeat(6);
        let characters: Vec<u32> = text.chars().map(u32::from).collect();
        for n in 0..characters.len() {
            let expected: String = text.chars().take(n).collect();
            assert_eq!(utf8(Characters::ucs4(&characters[..n])), expected);
            let mut portable = Vec::new();
            transcode_portable(&characters[..n], &mut portable).unwrap();
            assert_eq!(portable, expected.as_bytes());
        }
    }

    #[test]
    fn what_is_no_character_is_refused() {
        let refused = |text: Characters<'_>| {
            let mut buffer = "x".to_owned();
            let is_refused = matches!(text.utf8(&mut buffer), Err(Error::NotCharacters));
            is_refused && buffer.is_empty()
        };
        for unit in [0xd800, 0xdfff] {
            for n_before in [0, 1, 15, 16, 40] {
                let two = [vec![0x61; n_before], vec![unit, 0x61]].concat();
                let four: Vec<u32> = two.iter().copied().map(u32::from).collect();
                assert!(refused(Characters::ucs2(&two)));
                assert!(refused(Characters::ucs4(&four)));
                assert!(transcode_portable(&two, &mut Vec::new()).is_err());
            }
        }
        assert!(refused(Characters::ucs4(&[0x0011_0000])));
        assert!(refused(Characters::ucs4(&[u32::MAX])));
        assert!(!refused(Characters::ucs2(&[0xd7ff, 0xe000])));
    }
}
