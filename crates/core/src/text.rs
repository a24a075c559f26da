//! Text as callers hold it, to UTF-8 and back.
//!
//! Enters: a `&str`, or characters of one, two or four bytes each, as Python keeps them. Leaves: UTF-8, in a
//! buffer that the caller uses again from text to text, so that it stays in the nearer caches. With AVX-512
//! sixteen characters at a time: each is spread over four bytes, and those that are none of its own are squeezed out.
//! On the way back the bytes of each place in a character are squeezed together, and the four made one.

use std::mem::MaybeUninit;

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
pub trait Unit: Copy + Into<u32> + Default + private::Sealed {
    /// Most bytes of UTF-8 that one can take.
    const MOST_BYTES: usize;

    /// The numbers of the first 16 of `units` whose bit in `there` is set, 0 for the others.
    ///
    /// # Safety
    /// The processor has AVX-512 with BW and VL; the units whose bits are set can be read.
    #[cfg(target_arch = "x86_64")]
    #[doc(hidden)]
    unsafe fn load(units: *const Self, there: u16) -> std::arch::x86_64::__m512i;

    /// The number, which fits.
    #[doc(hidden)]
    fn of(number: u32) -> Self;

    /// Writes 16 numbers, which fit.
    ///
    /// # Safety
    /// The processor has AVX-512; 16 units can be written.
    #[cfg(target_arch = "x86_64")]
    #[doc(hidden)]
    unsafe fn store(numbers: std::arch::x86_64::__m512i, units: *mut Self);
}

mod private {
    /// Only integers of this module's choice are units.
    pub trait Sealed {}

    impl Sealed for u8 {}
    impl Sealed for u16 {}
    impl Sealed for u32 {}
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

    #[inline(always)]
    fn of(number: u32) -> Self {
        number as Self
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    unsafe fn store(numbers: std::arch::x86_64::__m512i, units: *mut Self) {
        use std::arch::x86_64::{_mm_storeu_si128, _mm512_cvtepi32_epi8};
        // SAFETY: the caller promises the room.
        unsafe { _mm_storeu_si128(units.cast(), _mm512_cvtepi32_epi8(numbers)) };
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

    #[inline(always)]
    fn of(number: u32) -> Self {
        number as Self
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    unsafe fn store(numbers: std::arch::x86_64::__m512i, units: *mut Self) {
        use std::arch::x86_64::{_mm256_storeu_si256, _mm512_cvtepi32_epi16};
        // SAFETY: the caller promises the room.
        unsafe { _mm256_storeu_si256(units.cast(), _mm512_cvtepi32_epi16(numbers)) };
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

    #[inline(always)]
    fn of(number: u32) -> Self {
        number as Self
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    unsafe fn store(numbers: std::arch::x86_64::__m512i, units: *mut Self) {
        use std::arch::x86_64::_mm512_storeu_si512;
        // SAFETY: the caller promises the room.
        unsafe { _mm512_storeu_si512(units.cast(), numbers) };
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

/// `bytes` as text, if they are UTF-8.
pub fn valid(bytes: &[u8]) -> Option<&str> {
    simdutf8::basic::from_utf8(bytes).ok()
}

/// How many characters a text has, and the largest number that one of its length in bytes may have: 0x7f, 0xff,
/// 0xffff or 0x10ffff.
pub fn extent(text: &str) -> (usize, u32) {
    let (n_characters, most) = text.as_bytes().chunks(STEP_BYTES).fold((0, 0), |(n, most), chunk| {
        // A sum of at most 64 fits a byte: so many lanes are added at once.
        let n_starts: u8 = chunk.iter().map(|&byte| u8::from(byte as i8 >= -0x40)).sum();
        (n + usize::from(n_starts), chunk.iter().fold(most, |most: u8, &byte| most.max(byte)))
    });
    let largest = match most {
        0..=0x7f => 0x7f,
        // U+00FF is c3 bf.
        0x80..=0xc3 => 0xff,
        0xc4..=0xef => 0xffff,
        0xf0.. => 0x0010_ffff,
    };
    (n_characters, largest)
}

/// Writes the numbers of the characters of `text` to `units`, as many as [`extent`] says, in a width that they fit.
pub fn spell_out<U: Unit>(text: &str, units: &mut [MaybeUninit<U>]) {
    #[cfg(target_arch = "x86_64")]
    let (n_read, n_written) = if is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("popcnt")
    {
        // SAFETY: The processor was asked.
        unsafe { spell_out_avx512(text.as_bytes(), units) }
    } else {
        (0, 0)
    };
    #[cfg(not(target_arch = "x86_64"))]
    let (n_read, n_written) = (0, 0);
    for (unit, character) in units[n_written..].iter_mut().zip(text[n_read..].chars()) {
        unit.write(U::of(character.into()));
    }
}

/// The same for as many whole steps as there are; gives how many bytes were read and how many units written.
///
/// # Safety
/// The processor has AVX-512 with BW and VBMI2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt,bmi1,bmi2")]
unsafe fn spell_out_avx512<U: Unit>(bytes: &[u8], units: &mut [MaybeUninit<U>]) -> (usize, usize) {
    use std::arch::x86_64::{
        __m512i, _mm512_and_si512 as and, _mm512_castsi512_si128, _mm512_cmpge_epi8_mask,
        _mm512_cmpge_epu32_mask, _mm512_cvtepu8_epi32, _mm512_loadu_si512, _mm512_mask_mov_epi32,
        _mm512_maskz_compress_epi8, _mm512_movepi8_mask, _mm512_or_si512 as or, _mm512_set1_epi8,
        _mm512_set1_epi32 as all, _mm512_shuffle_i32x4, _mm512_slli_epi32 as left,
    };
    /// Sixteen bytes as numbers, and the next sixteen to the front.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn take(bytes: &mut __m512i) -> __m512i {
        let first = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(*bytes));
        *bytes = _mm512_shuffle_i32x4::<0b00_11_10_01>(*bytes, *bytes);
        first
    }
    let (mut n_read, mut n_written) = (0, 0);
    while n_read + STEP_BYTES + 3 <= bytes.len() && n_written + STEP_BYTES <= units.len() {
        // SAFETY: a step and three bytes more can be read.
        let [mut first, mut second, mut third, mut fourth] =
            [0, 1, 2, 3].map(|at| unsafe { _mm512_loadu_si512(bytes.as_ptr().add(n_read + at).cast()) });
        let is_ascii = _mm512_movepi8_mask(first) == 0;
        // All but those that go on with a character: signed, these are the least.
        let starts = _mm512_cmpge_epi8_mask(first, _mm512_set1_epi8(-0x40));
        let n_starts = starts.count_ones() as usize;
        if !is_ascii {
            [first, second, third, fourth] =
                [first, second, third, fourth].map(|bytes| _mm512_maskz_compress_epi8(starts, bytes));
        }
        let six = all(0x3f);
        for at in (0..n_starts).step_by(16) {
            let lead = take(&mut first);
            let mut number = lead;
            if !is_ascii {
                let [b, c, d] =
                    [take(&mut second), take(&mut third), take(&mut fourth)].map(|byte| and(byte, six));
                let two = or(left::<6>(and(lead, all(0x1f))), b);
                let three = or(or(left::<12>(and(lead, all(0xf))), left::<6>(b)), c);
                let four = or(or(left::<18>(and(lead, all(7))), left::<12>(b)), or(left::<6>(c), d));
                for (from, spelled) in [(0xc0, two), (0xe0, three), (0xf0, four)] {
                    let reached = _mm512_cmpge_epu32_mask(lead, all(from));
                    number = _mm512_mask_mov_epi32(number, reached, spelled);
                }
            }
            // SAFETY: `at` is at most 48, and 64 units from `n_written` on can be written.
            unsafe { U::store(number, units.as_mut_ptr().add(n_written + at).cast()) };
        }
        n_read += STEP_BYTES;
        n_written += n_starts;
    }
    // The last character may go on behind the last step.
    while n_read < bytes.len() && bytes[n_read] & 0xc0 == 0x80 {
        n_read += 1;
    }
    (n_read, n_written)
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

    fn spelled_out<U: Unit>(text: &str) -> Vec<u32> {
        let (n_characters, largest) = extent(text);
        assert!(text.chars().all(|character| u32::from(character) <= largest));
        let mut units = vec![MaybeUninit::new(U::default()); n_characters];
        spell_out(text, &mut units);
        // SAFETY: They were initialised when they were made.
        units.into_iter().map(|unit| unsafe { unit.assume_init() }.into()).collect()
    }

    #[test]
    fn every_character_back_in_every_width() {
        for stride in [1, 7919, 65_537] {
            let all: Vec<char> = (0..=char::MAX as u32).filter_map(char::from_u32).collect();
            let n = all.len();
            let mixed: Vec<char> = (0..n).map(|i| all[i * stride % n]).collect();
            for (most, what) in [(0x7f, 1), (0xff, 1), (0xffff, 2), (0x0010_ffff, 4)] {
                let text: String = mixed.iter().filter(|&&character| character as u32 <= most).collect();
                let expected: Vec<u32> = text.chars().map(u32::from).collect();
                assert_eq!(extent(&text), (expected.len(), most));
                let found = match what {
                    1 => spelled_out::<u8>(&text),
                    2 => spelled_out::<u16>(&text),
                    _ => spelled_out::<u32>(&text),
                };
                assert!(found == expected, "{most:x}");
            }
        }
    }

    #[test]
    fn every_length_back() {
        let text = "abcdefghij é߿ࠀ中￿x klmnopqrstuvwxyz 𐀀😀z 0123456789".repeat(6);
        for (at, _) in text.char_indices().chain([(text.len(), ' ')]) {
            let expected: Vec<u32> = text[..at].chars().map(u32::from).collect();
            assert_eq!(spelled_out::<u32>(&text[..at]), expected);
            let expected: Vec<u32> = text[at..].chars().map(u32::from).collect();
            assert_eq!(spelled_out::<u32>(&text[at..]), expected);
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
