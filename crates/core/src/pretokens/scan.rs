//! The main loop of the hand-written scanners, shared by all families of patterns.
//!
//! [`super::window`] turns 64 bytes into bit masks; [`Rules`] turn the masks into starts of pretokens.

use super::byte_block;
use super::byte_block::Block;
use super::runs::Text;
use super::window::{LOOKAHEAD_BYTES, WINDOW_BYTES, Window};
use crate::cpu::{CpuTier, at_tier};
use crate::error::Result;
use crate::memory::TryReserve;
use crate::prefetch::prefetch;

/// The most ends that one call of `Pretokenizer::fill` returns. Only several patterns without a hand-written scanner
/// can return more.
pub const ENDS_PER_FILL: usize = 4096;
/// How far from its start a call looks for pretokens. Ends are four-byte distances.
const MAX_BYTES: usize = u32::MAX as usize - WINDOW_BYTES;
/// How far ahead of a window text is prefetched. Scanning advances some kilobytes at a time, with random accesses in
/// between, so the hardware does not prefetch by itself.
const AHEAD_BYTES: usize = 2048;
/// How many bits of a window are independent of later bytes: a character has up to four bytes. For ASCII see
/// [`Reach`].
const RELIABLE_BITS: u32 = 60;

// The loop below finds the ends of pretokens 64 bytes at a time. Classifying bytes into bit masks comes from simdjson
// (Langdale and Lemire, "Parsing Gigabytes of JSON per Second", 2019). In pseudo-code:
//
//     at = 0                                       // the text is cut where a pretoken starts
//     while at < text.len():
//         window = masks of text[at..at + 64]      // one mask per class; bit i is byte at + i
//         starts = rules(window)                   // bit i: a pretoken starts at byte at + i
//         starts &= bits that the window decides   // the last bytes depend on text after the window
//         starts &= !known                         // at itself is known to be a start
//         if rules are local:
//             output(at + i) for each bit i of starts
//             at = at + bits that are decided - bytes to look back, or the start of the character there
//         elif starts == 0:
//             at = end of the last pretoken, found character by character
//             output(at)
//         else:
//             output(at + i) for each bit i of starts
//             at = at + the highest bit of starts
//
// Why it is correct:
// 1. Each window starts where a pretoken starts. For every pattern that has a scanner that is all the context it needs
//    (see `Pretokenizer::is_memoryless`), so no state is carried from one window to the next, and no rule looks to the
//    left of its window. Bit 0 of a mask shifted left is 0, which means "nothing before". With local rules a window can
//    instead start at any character: its first `Reach::before` bytes are context, whose starts were output before.
// 2. Only starts that the window decides are output. Rules look ahead to the next character, up to four bytes, so the
//    last bits are dropped; a rule that needs more (a run of white space that continues after the window) returns the
//    first bit that is undecided. The next window starts at the last start, so dropped bits are looked at again.
// 3. Each round advances: by most of a window, or because the highest bit of `starts` is at least 1, or by a pretoken
//    that continues after the decided bytes. The character loop runs only if a window has no start, and the round ends
//    there, so no byte is read more than twice.
//
// What was chosen for speed:
// 1. Windows overlap by a part of a pretoken (about a tenth of the work), and loads are unaligned. In exchange, no rule
//    needs a second case for the edge between two windows.
// 2. The loop is generic over the instruction set (`Block`), and everything in it is `#[inline(always)]`, so that it is
//    compiled once for each `#[target_feature]` function below. A function that is not inlined into those would be
//    compiled without their instructions.
// 3. The rules are compiled again for windows of only ASCII (`const ASCII`), without the masks of other characters, and
//    again for windows whose characters have at most two bytes, as in most European languages.
// 4. With local rules the distance to the next window does not depend on the starts, so the next window need not wait
//    for them. It is fixed if the character there is ASCII. ASCII windows of these rules have a loop of their own, in
//    which the compiler keeps more in registers.
// 5. Ends are written without checking the capacity: `fill` reserves room for all of them. They are four-byte distances
//    instead of eight-byte offsets: C is scanned 16 to 39 % faster.
//
// Tried, measured with `cargo run --release --example scan -- FILE gpt2`:
// - Computing the distance to the next window with any `bool`: C 15 % slower with AVX2, 38 % with AVX-512. A `bool` is
//   written to the low byte of a register, which waits for the register's old value.
// - Starting each window at the start of a character, or choosing between the two fixed distances by branches: 4 to
//   10 % slower.
// - Setting more than four characters beyond ASCII one by one (`Window::add_few`): no faster. Ends from tables of four
//   bits: C 20 % slower.
// - 512 to 8,192 ends per call: within the noise, or 1 to 4 % slower.
//
// The character loop (`Rules::next_end`) also handles pretokens longer than a window. It skips long runs with windows
// of its own (see `runs`), so a megabyte of one letter takes linear time and is still fast.

/// The starts of pretokens in a window.
pub(super) struct Starts {
    /// Bytes at which a pretoken starts; bit 0 is ignored.
    pub starts: u64,
    /// The first byte that the window cannot decide; 64 if it decides all.
    pub unknown_from: u32,
    /// How far around a character the rules looked.
    pub reach: Reach,
}

/// How many bytes around an ASCII character decide whether a pretoken starts there.
#[derive(Clone, Copy)]
pub(super) struct Reach {
    ahead: u32,
    /// Used only if [`Rules::ARE_LOCAL`].
    before: u32,
}

impl Reach {
    /// One character on each side: the window has no apostrophe.
    pub const NEIGHBORS: Reach = Reach { ahead: 1, before: 1 };
    /// Contractions: an apostrophe and the two letters after it, or the characters before the apostrophe of "'ll".
    pub const CONTRACTIONS: Reach = Reach { ahead: 2, before: 4 };
}

impl Starts {
    /// Returns the starts that the window decides, among at most `n_reliable` bits. The end of the text counts as one.
    #[inline(always)]
    fn decided(self, n_reliable: u32, valid: u64, is_last: bool) -> u64 {
        // The bit after those of `valid`; 0 if the text does not end in this window.
        let end_of_text = valid.wrapping_add(1);
        let n_decided = self.unknown_from.min(if is_last { 64 } else { n_reliable });
        let decided = u64::MAX.checked_shr(64 - n_decided).unwrap_or(0);
        (self.starts & valid | end_of_text) & decided
    }
}

/// The rules of a family of patterns, twice: on masks, and character by character. Both find the same pretokens.
pub(super) trait Rules: Copy + Default {
    /// Whether a window can start at any character, because only [`Reach::before`] bytes before a character matter.
    const ARE_LOCAL: bool = false;

    /// Whether a pretoken can have a space after a letter or a number.
    const JOINS_WORDS: bool = false;

    /// The classes that the rules use for characters beyond ASCII, apart from letters, numbers and white space.
    const CLASSES: u8 = 0;

    /// Returns the starts in a window. It starts where a pretoken starts, or with [`Reach::before`] bytes whose starts
    /// the caller knows. The rules can look ahead four bytes; the caller drops the bits that this makes unreliable.
    ///
    /// `ASCII` promises that the window has only ASCII; `is_last` that the text ends with `window.valid`.
    fn starts<B: Block, const ASCII: bool>(self, window: &Window<B>, is_last: bool) -> Starts;

    /// Returns the end of the pretoken that starts at `at`, found character by character.
    fn next_end(self, text: Text<'_>, at: usize) -> usize;
}

/// [`super::Pretokenizer::fill`] with the instructions of `tier`. Only `Pretokenizer::at_tier` hands this function
/// out, after checking the tier.
pub(super) fn fill<R: Rules>(tier: CpuTier, text: &str, from: usize, ends: &mut Vec<u32>) -> Result<()> {
    fill_within::<R>(tier, text, from, MAX_BYTES, ends)
}

/// [`fill`] with a limit of `max_bytes`, at most [`MAX_BYTES`].
fn fill_within<R: Rules>(
    tier: CpuTier,
    text: &str,
    from: usize,
    max_bytes: usize,
    ends: &mut Vec<u32>,
) -> Result<()> {
    // Text before `from` does not matter: see point 1 above.
    let (rules, text) = (R::default(), Text { text: &text[from..], tier });
    ends.clear();
    ends.grow(ENDS_PER_FILL + WINDOW_BYTES, "pretoken ends")?;
    // SAFETY: `Pretokenizer::at_tier` checked that the processor has the tier.
    unsafe { fill_at_tier(tier, rules, text, max_bytes, ends) };
    Ok(())
}

at_tier! {
    /// [`fill_within`], after it reserved the room.
    unsafe fn fill_at_tier<B in byte_block, R: Rules>(
        rules: R,
        text: Text<'_>,
        max_bytes: usize,
        ends: &mut Vec<u32>,
    ) {
        // SAFETY: The processor has the instructions, and there is room.
        unsafe { fill_with_isa::<B, R>(rules, text, max_bytes, ends) }
    }
}

/// Writes the ends of the pretokens of `text`, until there are enough or the next is more than `max_bytes` from the
/// start; writes none if the first or the second one is. `max_bytes` is at most [`MAX_BYTES`].
///
/// # Safety
/// The processor must have the instructions of `B`, and `ends` room for `ENDS_PER_FILL + WINDOW_BYTES`.
#[inline(always)]
unsafe fn fill_with_isa<B: Block, R: Rules>(rules: R, text: Text<'_>, max_bytes: usize, ends: &mut Vec<u32>) {
    let bytes = text.as_bytes();
    let stop = bytes.len().min(max_bytes);
    let out = ends.as_mut_ptr();
    let mut n_ends = 0;
    let mut at = 0;
    // The bits of the window at `at` that are already decided.
    let mut known = 1;
    // A window that starts before this offset needs no padding.
    let inside = stop.min((bytes.len() + 1).saturating_sub(WINDOW_BYTES + LOOKAHEAD_BYTES));
    // A window adds at most 63 ends, so at most ENDS_PER_FILL are output.
    while at < stop && n_ends + WINDOW_BYTES <= ENDS_PER_FILL {
        if R::ARE_LOCAL {
            while at < inside && n_ends + WINDOW_BYTES <= ENDS_PER_FILL {
                // SAFETY: 67 bytes are readable there.
                let window = unsafe { Window::<B>::load(bytes.as_ptr().add(at), u64::MAX) };
                if !window.block.is_ascii() {
                    break;
                }
                prefetch(bytes.as_ptr().wrapping_add(at + AHEAD_BYTES));
                let window = decide_ascii(rules, &window, u64::MAX, false);
                // SAFETY: As for the same call below.
                n_ends += unsafe { B::write_offsets(window.starts & !known, at as u32, out.add(n_ends)) };
                at += window.next as usize;
                known = window.known;
            }
            if at >= stop || n_ends + WINDOW_BYTES > ENDS_PER_FILL {
                break;
            }
        }
        let n_left = bytes.len() - at;
        prefetch(bytes.as_ptr().wrapping_add(at + AHEAD_BYTES));
        let is_inside = n_left >= WINDOW_BYTES + LOOKAHEAD_BYTES;
        let window = if is_inside {
            // SAFETY: This many bytes are readable, and `at` is the first byte of a character.
            unsafe { decide::<B, R>(rules, bytes.as_ptr().add(at), u64::MAX, false) }
        } else {
            // Near the end of the text, use a copy that is padded with zeros.
            let mut padded = [0u8; WINDOW_BYTES + LOOKAHEAD_BYTES + 1];
            padded[..n_left].copy_from_slice(&bytes[at..]);
            let is_last = n_left < WINDOW_BYTES;
            let valid = if is_last { (1 << n_left) - 1 } else { u64::MAX };
            // SAFETY: 68 bytes are readable, UTF-8 followed by zeros.
            unsafe { decide::<B, R>(rules, padded.as_ptr(), valid, is_last) }
        };
        let starts = window.starts & !known;
        if R::ARE_LOCAL && is_inside {
            // SAFETY: `write_offsets` can write 64 entries from n_ends on; n_ends <= ENDS_PER_FILL - 64, so they are
            // within the room that was reserved.
            n_ends += unsafe { B::write_offsets(starts, at as u32, out.add(n_ends)) };
            at += window.next as usize;
            known = window.known;
            continue;
        }
        known = 1;
        if starts == 0 {
            // SAFETY: Entries 0..n_ends were written.
            let last = if n_ends == 0 { 0 } else { unsafe { *out.add(n_ends - 1) as usize } };
            at = rules.next_end(text, last);
            if at > stop {
                break;
            }
            // SAFETY: n_ends is below the room that was reserved.
            unsafe { out.add(n_ends).write(at as u32) };
            n_ends += 1;
        } else {
            // SAFETY: as above.
            n_ends += unsafe { B::write_offsets(starts, at as u32, out.add(n_ends)) };
            at += 63 - starts.leading_zeros() as usize;
        }
    }
    // SAFETY: Entries 0..n_ends were written.
    unsafe { ends.set_len(n_ends) };
    // Return none: a caller that drops the last end would loop forever.
    if ends.len() == 1 && (ends[0] as usize) < bytes.len() {
        ends.clear();
    }
}

/// What a window decides.
struct Decided {
    /// Starts of pretokens; the end of the text counts as one.
    starts: u64,
    /// Where the next window can start if the rules are local; independent of the starts.
    next: u32,
    /// The bits of the next window that this one decides.
    known: u64,
}

/// Returns the starts that the window at `bytes` decides.
///
/// # Safety
/// As for [`Window::load`], with 67 readable bytes.
#[inline(always)]
unsafe fn decide<B: Block, R: Rules>(rules: R, bytes: *const u8, valid: u64, is_last: bool) -> Decided {
    // SAFETY: The caller promises the same.
    let mut window = unsafe { Window::<B>::load(bytes, valid) };
    if window.block.is_ascii() {
        return decide_ascii(rules, &window, valid, is_last);
    }
    let starts = if window.has_no_longer_than_two() {
        // SAFETY: The caller promises the same.
        unsafe { window.add_non_ascii::<true>(R::CLASSES, bytes) };
        rules.starts::<B, false>(&window, is_last)
    } else {
        // SAFETY: The caller promises the same.
        unsafe { window.add_non_ascii::<false>(R::CLASSES, bytes) };
        rules.starts::<B, false>(&window, is_last)
    };
    let n_reliable = RELIABLE_BITS.min(starts.unknown_from);
    let mut next = n_reliable.saturating_sub(starts.reach.before);
    if window.high >> next & 1 == 1 {
        // Go back to the first byte of the character there.
        let boundaries = !window.continuation() & ((2 << next) - 1);
        next = 63 - boundaries.leading_zeros();
    }
    Decided {
        starts: starts.decided(RELIABLE_BITS, valid, is_last),
        next,
        known: (1 << (n_reliable - next)) - 1,
    }
}

/// [`decide`] for a window of ASCII.
#[inline(always)]
fn decide_ascii<B: Block, R: Rules>(rules: R, window: &Window<B>, valid: u64, is_last: bool) -> Decided {
    let starts = rules.starts::<B, true>(window, is_last);
    let Reach { ahead, before } = starts.reach;
    let starts = starts.decided(64 - ahead, valid, is_last);
    Decided { starts, next: 64 - ahead - before, known: (1 << before) - 1 }
}

#[cfg(test)]
mod tests {
    use super::super::gpt2::{Gpt2, NO_SPLIT};
    use super::*;

    /// Returns all ends, or those until a call returns none.
    fn ends_within(tier: CpuTier, text: &str, max_bytes: usize) -> Vec<usize> {
        let (mut all, mut from, mut ends) = (Vec::new(), 0, Vec::new());
        while from < text.len() {
            fill_within::<Gpt2<NO_SPLIT>>(tier, text, from, max_bytes, &mut ends).unwrap();
            assert!(ends.is_sorted());
            let Some(&last) = ends.last() else { break };
            all.extend(ends.iter().map(|&distance| from + distance as usize));
            from += last as usize;
        }
        all
    }

    #[test]
    fn ends_too_far_away_are_left_to_the_next_call_or_not_given() {
        const LIMIT: usize = 1000;
        let words = "It's a few words, and then \n\n some more; ".repeat(60);
        for (letter, between) in [("x", " "), ("x", ""), ("é", " "), (" ", "1"), ("中", "!"), ("'", " ")] {
            for n_bytes in [3, 700, 860, 990, 999, 1000, 1002, 1060, 1070, 1200, 5000] {
                let long = letter.repeat(n_bytes / letter.len());
                let text = format!("{words}{between}{long}{between}{words}");
                for tier in CpuTier::available() {
                    let all = ends_within(tier, &text, MAX_BYTES);
                    let some = ends_within(tier, &text, LIMIT);
                    assert!(all.starts_with(&some), "{tier:?} {letter:?} {n_bytes}");
                    if let Some(next) = all.get(some.len()) {
                        // One of the next two pretokens is too long.
                        let last = some.last().copied().unwrap_or(0);
                        let second = all.get(some.len() + 1).unwrap_or(next);
                        assert!(second - last > LIMIT, "{tier:?} {letter:?} {n_bytes}");
                    }
                    // Between these lengths it depends on where a window ends, and on the pretoken before.
                    assert!(some.len() == all.len() || n_bytes >= LIMIT - WINDOW_BYTES);
                    assert!(some.len() < all.len() || n_bytes <= LIMIT + WINDOW_BYTES);
                }
            }
        }
    }
}
