//! Code points -> UTF-8 and back with NEON, four characters or bytes at a time, with the method of `avx2.rs`.

use std::arch::aarch64::*;
use std::mem::MaybeUninit;

use super::portable;
use super::shuffles::{N_PICKED, PICKS};
use super::units::{AHEAD_BYTES, Unit};
use crate::prefetch::prefetch;

/// The number of characters in a block, and of bytes in a block of UTF-8.
const BLOCK: usize = 16;

/// Writes the UTF-8 of `units` to `out`; returns its length, or `None` for surrogates and numbers above U+10FFFF.
///
/// # Safety
/// `U::MAX_BYTES` bytes for each unit, and 64 more, must be writable at `out`.
pub(super) unsafe fn to_utf8<U: Unit>(units: &[U], out: *mut u8) -> Option<usize> {
    let mut n_written = 0;
    let mut chunks = units.chunks_exact(BLOCK);
    // SAFETY: Each chunk has 16 units, each quarter of it 4. The units so far took at most `U::MAX_BYTES` each, so the
    // longest UTF-8 of the rest and 64 more bytes can be written. Every aarch64 processor has NEON.
    unsafe {
        let mut invalid = vdupq_n_u32(0);
        for chunk in &mut chunks {
            prefetch(chunk.as_ptr().wrapping_byte_add(AHEAD_BYTES));
            if chunk.iter().fold(0, |all, &unit| all | unit.into()) < 0x80 {
                for (index, &unit) in chunk.iter().enumerate() {
                    out.add(n_written + index).write(unit.into() as u8);
                }
                n_written += BLOCK;
                continue;
            }
            for quarter in (0..BLOCK).step_by(4) {
                let characters = load_4(chunk.as_ptr().add(quarter));
                n_written += quarter_to_utf8::<U>(characters, out.add(n_written), &mut invalid);
            }
        }
        n_written += portable::to_utf8(chunks.remainder(), out.add(n_written))?;
        (vmaxvq_u32(invalid) == 0).then_some(n_written)
    }
}

/// Writes the UTF-8 of 4 code points; returns its length. Sets bits in `invalid` for numbers that are not characters.
///
/// # Safety
/// 16 bytes must be writable at `out`.
#[inline(always)]
unsafe fn quarter_to_utf8<U: Unit>(character: uint32x4_t, out: *mut u8, invalid: &mut uint32x4_t) -> usize {
    // SAFETY: Every aarch64 processor has NEON; the caller vouches for 16 bytes; an entry of PICKS has 16.
    unsafe {
        let all = |number: u32| vdupq_n_u32(number);
        let from = |least: u32| vcgeq_u32(character, all(least));
        let (two, three, four) = (from(0x80), from(0x800), from(0x1_0000));
        if U::MAX_BYTES > 2 {
            let surrogate = vceqq_u32(vshrq_n_u32::<11>(character), all(0xd800 >> 11));
            *invalid = vorrq_u32(*invalid, vorrq_u32(surrogate, from(char::MAX as u32 + 1)));
        }
        // Put six bits into each byte, the lowest ones last: a character of n bytes has the last n bytes of its lane.
        let first_two =
            vorrq_u32(vshrq_n_u32::<18>(character), vandq_u32(vshrq_n_u32::<4>(character), all(0x0000_3f00)));
        let last_two = vorrq_u32(
            vandq_u32(vshlq_n_u32::<10>(character), all(0x003f_0000)),
            vandq_u32(vshlq_n_u32::<24>(character), all(0x3f00_0000)),
        );
        // The high bits are 10 in a continuation byte; 110, 1110 and 11110 in the first byte of two, three and four.
        let marks = vorrq_u32(
            all(0x8080_80f0),
            vorrq_u32(vbicq_u32(all(0x0040_0000), three), vbicq_u32(all(0x0000_6000), four)),
        );
        let longer = vorrq_u32(vorrq_u32(first_two, last_two), marks);
        let bytes = vbslq_u32(two, longer, vshlq_n_u32::<24>(character));
        // The length of each character minus one, in binary: the low bits of all lengths, and their high bits.
        let (low, high) = ([1u32, 2, 4, 8], [16u32, 32, 64, 128]);
        let low = vandq_u32(veorq_u32(two, veorq_u32(three, four)), vld1q_u32(low.as_ptr()));
        let high = vandq_u32(three, vld1q_u32(high.as_ptr()));
        let index = vaddvq_u32(vorrq_u32(low, high)) as usize % 256;
        vst1q_u8(out, vqtbl1q_u8(vreinterpretq_u8_u32(bytes), vld1q_u8(PICKS.0[index].as_ptr())));
        usize::from(N_PICKED[index])
    }
}

/// For each set of lanes, as bits, the numbers of their bytes in order.
static STARTS: [[u8; 16]; 16] = {
    let mut all = [[0; 16]; 16];
    let mut mask = 0;
    while mask < 16 {
        let (mut lane, mut n_bytes) = (0, 0);
        while lane < 4 {
            let mut byte = 4 * lane;
            while mask >> lane & 1 == 1 && byte < 4 * lane + 4 {
                all[mask][n_bytes] = byte as u8;
                n_bytes += 1;
                byte += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    all
};

/// Converts UTF-8 while whole vectors can be read and written; returns how many bytes were read and units written.
///
/// # Safety
/// `bytes` must be UTF-8 whose code points fit in a unit.
pub(super) unsafe fn from_utf8<U: Unit>(bytes: &[u8], units: &mut [MaybeUninit<U>]) -> (usize, usize) {
    let (mut n_read, mut n_written) = (0, 0);
    // The last quarter of a block reads sixteen bytes, twelve of them after the block.
    while n_read + BLOCK + 12 <= bytes.len() && n_written + BLOCK <= units.len() {
        // SAFETY: The condition leaves 28 bytes to read and 16 units to write, of which each quarter writes at most 4.
        unsafe {
            let start = bytes.as_ptr().add(n_read);
            let block = vld1q_u8(start);
            if vmaxvq_u8(block) < 0x80 {
                for (unit, &byte) in units[n_written..n_written + BLOCK].iter_mut().zip(&bytes[n_read..]) {
                    unit.write(U::from_code_point(byte.into()));
                }
                n_written += BLOCK;
            } else {
                // Lead bytes: all but continuation bytes (10xxxxxx), which are the smallest as signed numbers.
                let is_start = vcgtq_s8(vreinterpretq_s8_u8(block), vdupq_n_s8(-0x41));
                let places = vreinterpretq_u8_u64(vdupq_n_u64(0x8040_2010_0804_0201));
                let starts = vandq_u8(is_start, places);
                let halves = [vaddv_u8(vget_low_u8(starts)), vaddv_u8(vget_high_u8(starts))];
                for quarter in 0..4 {
                    let starts = usize::from(halves[quarter / 2] >> (4 * (quarter % 2)) & 15);
                    let out = units.as_mut_ptr().add(n_written).cast();
                    n_written += quarter_from_utf8::<U>(vld1q_u8(start.add(4 * quarter)), starts, out);
                }
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

/// Converts the characters that start in the first four of `bytes`, at the bits of `starts`; returns their number.
///
/// # Safety
/// 4 units must be writable at `out`.
#[inline(always)]
unsafe fn quarter_from_utf8<U: Unit>(bytes: uint8x16_t, starts: usize, out: *mut U) -> usize {
    // SAFETY: Every aarch64 processor has NEON; an entry of STARTS has 16 bytes; the caller vouches for 4 units.
    unsafe {
        let all = |number: u32| vdupq_n_u32(number);
        // Each lane gets four bytes. Its own is the first and highest.
        let order = [3, 2, 1, 0, 4, 3, 2, 1, 5, 4, 3, 2, 6, 5, 4, 3u8];
        let lanes = vreinterpretq_u32_u8(vqtbl1q_u8(bytes, vld1q_u8(order.as_ptr())));
        // Join the low six bits of each byte, but seven bits of the first byte.
        let joined = vorrq_u32(
            vorrq_u32(
                vandq_u32(vshrq_n_u32::<6>(lanes), all(0x7f << 18)),
                vandq_u32(vshrq_n_u32::<4>(lanes), all(0x3f << 12)),
            ),
            vorrq_u32(vandq_u32(vshrq_n_u32::<2>(lanes), all(0x3f << 6)), vandq_u32(lanes, all(0x3f))),
        );
        let from = |least: u32| vcgeq_u32(lanes, all(least << 24));
        let two = vandq_u32(vshrq_n_u32::<12>(joined), all(0x7ff));
        let three = vandq_u32(vshrq_n_u32::<6>(joined), all(0xffff));
        let mut number = vbslq_u32(from(0x80), two, vshrq_n_u32::<24>(lanes));
        number = vbslq_u32(from(0xe0), three, number);
        number = vbslq_u32(from(0xf0), vandq_u32(joined, all(0x1f_ffff)), number);
        let number = vqtbl1q_u8(vreinterpretq_u8_u32(number), vld1q_u8(STARTS[starts].as_ptr()));
        let number = vreinterpretq_u32_u8(number);
        let words = vmovn_u32(number);
        match size_of::<U>() {
            1 => {
                let bytes = vmovn_u16(vcombine_u16(words, words));
                out.cast::<u32>().write_unaligned(vget_lane_u32::<0>(vreinterpret_u32_u8(bytes)));
            }
            2 => vst1_u16(out.cast(), words),
            _ => vst1q_u32(out.cast(), number),
        }
    }
    starts.count_ones() as usize
}

/// Loads 4 code points.
///
/// # Safety
/// 4 units must be readable.
#[inline(always)]
unsafe fn load_4<U: Unit>(units: *const U) -> uint32x4_t {
    // SAFETY: 4 units have as many bytes as are loaded; every aarch64 processor has NEON.
    unsafe {
        match size_of::<U>() {
            1 => {
                let bytes = vcreate_u8(u64::from(units.cast::<u32>().read_unaligned()));
                vmovl_u16(vget_low_u16(vmovl_u8(bytes)))
            }
            2 => vmovl_u16(vld1_u16(units.cast())),
            _ => vld1q_u32(units.cast()),
        }
    }
}
