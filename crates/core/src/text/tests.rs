use std::mem::MaybeUninit;

use super::from_utf8::from_utf8_with_isa;
use super::to_utf8::to_utf8_with_isa;
use super::*;
use crate::cpu::CpuTier;
use crate::error::Error;

/// Returns the UTF-8 of `units`, after checking that all tiers agree; `None` if some are not characters.
fn utf8<U: Unit>(units: &[U]) -> Option<String> {
    let mut all = CpuTier::available().map(|tier| {
        let mut text = "x".to_owned();
        match to_utf8_with_isa(tier, units, &mut text) {
            Ok(()) => (tier, Some(text)),
            Err(error) => {
                assert!(matches!(error, Error::NotCharacters) && text.is_empty());
                (tier, None)
            }
        }
    });
    let (_, first) = all.next().unwrap();
    for (tier, text) in all {
        assert!(text == first, "{tier:?}");
    }
    first
}

/// Returns each character below `limit` once, in an order that puts all lengths at all positions of a vector.
fn characters(limit: u32, stride: u64) -> Vec<char> {
    let all: Vec<char> = (0..limit).filter_map(char::from_u32).collect();
    (0..all.len()).map(|index| all[(index as u64 * stride % all.len() as u64) as usize]).collect()
}

#[test]
fn utf8_of_every_character_in_every_width_is_exact() {
    for stride in [1, 7919, 65_537] {
        let mixed = characters(0x11_0000, stride);
        let four: Vec<u32> = mixed.iter().map(|&c| c as u32).collect();
        assert!(utf8(&four) == Some(mixed.iter().collect()));
        let two: Vec<u16> = four.iter().filter_map(|&c| u16::try_from(c).ok()).collect();
        let expected: String = mixed.iter().filter(|&&c| (c as u32) < 1 << 16).collect();
        assert!(utf8(&two) == Some(expected));
        let one: Vec<u8> = two.iter().filter_map(|&c| u8::try_from(c).ok()).collect();
        assert_eq!(utf8(&one), Some(one.iter().map(|&c| char::from(c)).collect()));
    }
}

/// Pseudo-random numbers, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (((self.0 >> 32) * u64::from(limit)) >> 32) as u32
    }

    /// Returns a character of at most `n_bytes` bytes: half the time the first or last one of its length.
    fn character(&mut self, n_bytes: u32) -> char {
        const EDGES: [[u32; 2]; 4] = [[0, 0x7f], [0x80, 0x7ff], [0x800, 0xffff], [0x1_0000, 0x10_ffff]];
        let [least, most] = EDGES[self.below(n_bytes) as usize];
        let code = match self.below(4) {
            0 => least,
            1 => most,
            _ => least + self.below(most - least + 1),
        };
        char::from_u32(code).unwrap_or(if self.below(2) == 0 { '\u{d7ff}' } else { '\u{e000}' })
    }
}

fn check_both_ways<U: Unit + TryFrom<u32>>(text: &str) {
    let units: Vec<U> = text.chars().filter_map(|c| U::try_from(c as u32).ok()).collect();
    assert_eq!(utf8(&units).as_deref(), Some(text));
    let expected: Vec<u32> = units.into_iter().map(Into::into).collect();
    assert_eq!(converted::<U>(text), expected);
}

/// Tests every length from 0 to 200 and every alignment, with characters of one to four lengths.
#[test]
fn random_texts_of_every_length_and_alignment_convert_both_ways() {
    let mut numbers = Numbers(1);
    for n_bytes in 1..=4 {
        for n in 0..200 {
            // Has long runs of characters of one length as well as mixed ones.
            let mut text = String::new();
            let run = 1 + numbers.below(40);
            let mut kind = n_bytes;
            for index in 0..n {
                if index % run == 0 {
                    kind = 1 + numbers.below(n_bytes);
                }
                text.push(numbers.character(kind));
            }
            for (at, _) in text.char_indices().take(1 + n as usize % 16).chain([(text.len(), ' ')]) {
                let text = &text[at..];
                check_both_ways::<u32>(text);
                if n_bytes < 4 {
                    check_both_ways::<u16>(text);
                }
                if text.chars().all(|character| character as u32 <= 0xff) {
                    check_both_ways::<u8>(text);
                }
            }
        }
    }
}

#[test]
fn buffer_in_huge_pages_serves_texts_of_all_sizes() {
    let mut buffer = String::from("what was there before");
    // The second text is the first to get a buffer in huge pages; the last text gets a larger one.
    for n in [5, 2_500_000, 3, 2_200_000, 3_000_000] {
        let text: String = "a é 中 🎉".chars().cycle().take(n).collect();
        let units: Vec<u32> = text.chars().map(u32::from).collect();
        for tier in CpuTier::available() {
            assert!(to_utf8_with_isa(tier, &units, &mut buffer).is_ok());
            assert!(buffer == text, "{tier:?}, {n} characters");
            assert!(to_utf8_with_isa(tier, &[0xd800u32], &mut buffer).is_err());
            assert!(buffer.is_empty());
        }
    }
}

/// Units end where readable memory ends, and are written up to the end of writable memory.
#[cfg(target_os = "linux")]
#[test]
fn conversion_stays_within_its_memory() {
    const PAGE: usize = 1 << 16;
    let mut map = memmap2::MmapMut::map_anon(2 * PAGE).unwrap();
    // SAFETY: The second half is part of the mapping, and nothing refers to it.
    assert_eq!(unsafe { libc::mprotect(map.as_mut_ptr().add(PAGE).cast(), PAGE, libc::PROT_NONE) }, 0);
    let end = map.as_mut_ptr().wrapping_add(PAGE);
    let mut numbers = Numbers(2);
    for n in 0..200 {
        let text: String = (0..n).map(|_| numbers.character(3)).collect();
        let units: Vec<u16> = text.chars().map(|c| c as u16).collect();
        // SAFETY: The bytes end where the first half ends, which is readable, writable and aligned.
        unsafe {
            let start = end.cast::<u16>().sub(units.len());
            start.copy_from_nonoverlapping(units.as_ptr(), units.len());
            assert_eq!(utf8(std::slice::from_raw_parts(start, units.len())).as_deref(), Some(&*text));
            let start = end.sub(text.len());
            start.copy_from_nonoverlapping(text.as_ptr(), text.len());
            let at_end = std::str::from_utf8(std::slice::from_raw_parts(start, text.len())).unwrap();
            assert_eq!(converted::<u16>(at_end).len(), units.len());
            for tier in CpuTier::available() {
                let out = end.cast::<MaybeUninit<u16>>().sub(units.len());
                from_utf8_with_isa(tier, &text, std::slice::from_raw_parts_mut(out, units.len()));
                assert_eq!(std::slice::from_raw_parts(out.cast::<u16>(), units.len()), units);
            }
        }
    }
}

fn converted<U: Unit>(text: &str) -> Vec<u32> {
    let (n_characters, largest) = measure(text);
    assert!(text.chars().all(|character| u32::from(character) <= largest));
    let mut all = CpuTier::available().map(|tier| {
        let mut units = vec![MaybeUninit::new(U::default()); n_characters];
        from_utf8_with_isa(tier, text, &mut units);
        // SAFETY: `vec!` initialised all of them.
        (tier, units.into_iter().map(|unit| unsafe { unit.assume_init() }.into()).collect())
    });
    let (_, first): (_, Vec<u32>) = all.next().unwrap();
    for (tier, units) in all {
        assert!(units == first, "{tier:?}");
    }
    first
}

#[test]
fn from_utf8_of_every_character_in_every_width_is_exact() {
    for stride in [1, 7919, 65_537] {
        let mixed = characters(0x11_0000, stride);
        for (largest, width) in [(0x7f, 1), (0xff, 1), (0xffff, 2), (0x0010_ffff, 4)] {
            let text: String = mixed.iter().filter(|&&character| character as u32 <= largest).collect();
            let expected: Vec<u32> = text.chars().map(u32::from).collect();
            assert_eq!(measure(&text), (expected.len(), largest));
            let found = match width {
                1 => converted::<u8>(&text),
                2 => converted::<u16>(&text),
                _ => converted::<u32>(&text),
            };
            assert!(found == expected, "{largest:x}");
        }
    }
}

/// A surrogate or a number above U+10FFFF is refused at any position, whatever is around it.
#[test]
fn utf8_of_surrogates_and_large_numbers_fails() {
    let mut buffer = "x".to_owned();
    let refused = Characters::Ucs2(&[0xd800]);
    assert!(matches!(refused.utf8(&mut buffer), Err(Error::NotCharacters)) && buffer.is_empty());
    for around in ['a', 'é', '中'] {
        for n in 1..70 {
            let characters: Vec<u16> = vec![around as u16; n];
            for at in 0..n {
                let with = |number: u32| {
                    let mut four: Vec<u32> = characters.iter().copied().map(u32::from).collect();
                    four[at] = number;
                    let two: Option<Vec<u16>> = four.iter().map(|&unit| u16::try_from(unit).ok()).collect();
                    two.map_or(utf8(&four).is_none(), |two| {
                        assert_eq!(utf8(&two), utf8(&four));
                        utf8(&two).is_none()
                    })
                };
                assert!(
                    [0xd800, 0xdbff, 0xdc00, 0xdfff, 0x0011_0000, 1 << 31, u32::MAX].into_iter().all(with)
                );
                assert!(!with(0xd7ff) && !with(0xe000) && !with(0x0010_ffff));
            }
        }
    }
}
