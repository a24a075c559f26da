//! 64 bytes of a document as bit masks, in which bit i is for byte i.
//!
//! There is one mask for each class of characters; all bytes of a longer character have its class. Cost: a few vector
//! operations for ASCII; [`Block::classes`] looks up all other characters. The masks are simdjson's method (see
//! [`super::scan`]); the classes come from this library's Unicode tables.

use super::byte_block::{Block, classes};
use super::unicode;

/// The number of bytes in a window.
pub(super) const WINDOW_BYTES: usize = 64;

/// How many bytes after a window the decoding of its last character can read.
pub(super) const LOOKAHEAD_BYTES: usize = 3;

/// The masks of one window.
///
/// With `const ASCII: bool` set, functions rely on each byte being an ASCII character. Such windows need no
/// [`Window::add_non_ascii`].
#[derive(Clone, Copy)]
pub(super) struct Window<B> {
    /// The bytes themselves, for masks that few rules need.
    pub block: B,
    /// The bytes that belong to the text: all of them, except in the last window.
    pub valid: u64,
    /// Letters: `\p{L}`.
    pub letter: u64,
    /// Lower-case letters. This mask and the next four include characters beyond ASCII only on request.
    pub lower: u64,
    /// Upper-case and title-case letters.
    pub upper: u64,
    /// Combining marks.
    pub mark: u64,
    /// Characters of the Han script.
    pub han: u64,
    /// Punctuation and symbols.
    pub symbol: u64,
    /// Numbers: `\p{N}`.
    pub number: u64,
    /// White space: `\s`.
    pub space: u64,
    /// Bytes above 0x7f.
    pub high: u64,
    /// First bytes of characters of two, three and four bytes.
    pub leads: [u64; 3],
}

impl<B: Block> Window<B> {
    /// Computes the masks of the 64 bytes at `bytes`, of which those in `valid` belong to the text.
    ///
    /// # Safety
    /// 64 bytes must be readable, 67 if any is above 0x7f. They must start at the first byte of a character, and be
    /// UTF-8 in `valid` and 0 after it.
    #[inline(always)]
    pub unsafe fn load(bytes: *const u8, valid: u64) -> Self {
        // SAFETY: 64 bytes are readable by contract.
        let block = unsafe { B::load(bytes) };
        // Setting 0x20 maps upper case to lower case, and no other byte to a letter.
        let folded = block.or(0x20);
        let letter = folded.within(b'a', b'z');
        let lower = block.within(b'a', b'z');
        let number = block.within(b'0', b'9');
        Window {
            block,
            valid,
            letter,
            lower,
            upper: letter & !lower,
            mark: 0,
            han: 0,
            symbol: block.within(b'!', b'~') & !(letter | number),
            number,
            space: block.within(b'\t', b'\r') | block.equal(b' '),
            high: block.high(),
            leads: [0; 3],
        }
    }

    /// Whether all characters have one byte or two.
    #[inline(always)]
    pub fn has_no_longer_than_two(&self) -> bool {
        self.block.at_least(0xe0) == 0
    }

    /// Adds the characters beyond ASCII: letters, numbers, white space and the classes in `wanted`. `TWO` promises
    /// that none is longer than two bytes.
    ///
    /// # Safety
    /// As for [`Window::load`], with the same `bytes`.
    #[inline(always)]
    pub unsafe fn add_non_ascii<const TWO: bool>(&mut self, wanted: u8, bytes: *const u8) {
        let two = self.block.at_least(0xc0);
        if !B::HAS_BLOCK_CLASSES && has_at_most_four(two) {
            // SAFETY: The caller promises the same.
            return unsafe { self.add_few::<TWO>(wanted, bytes, two) };
        }
        let (three, four) = if TWO { (0, 0) } else { (self.block.at_least(0xe0), self.block.at_least(0xf0)) };
        self.leads = [two & !three, three & !four, four];
        // First bytes that show a letter. If no other class of letters is wanted, they need no lookup.
        let letters =
            if B::HAS_BLOCK_CLASSES || wanted & (unicode::LOWER | unicode::UPPER | unicode::HAN) != 0 {
                0
            } else {
                letter_leads::<B, TWO>(self.block)
            };
        // `high & !two` are the continuation bytes, 0x80..=0xbf. A second byte is any of them; a third byte follows
        // one continuation byte, a fourth one follows two. `second` includes third and fourth bytes, too, which is
        // harmless: it only filters bits that `spread` shifts there from a lead.
        let second = self.high & !two;
        let third = second & second << 1;
        let continuation = [second, third, third & second << 2];
        let left = self.leads.map(|leads| leads & !letters);
        if left == [0; 3] {
            self.letter |= spread::<TWO>(letters, continuation);
            return;
        }
        // SAFETY: The caller promises the same.
        let classes = unsafe { self.block.classes(bytes, left) };
        self.letter |= spread::<TWO>(letters | classes.any_of(unicode::LETTER), continuation);
        // Few windows have numbers or white space beyond ASCII.
        if B::HAS_BLOCK_CLASSES || classes.has_any_of(unicode::NUMBER | unicode::SPACE) {
            self.number |= spread::<TWO>(with_class::<B>(classes, unicode::NUMBER), continuation);
            self.space |= spread::<TWO>(with_class::<B>(classes, unicode::SPACE), continuation);
        }
        self.lower |= spread::<TWO>(with_class::<B>(classes, unicode::LOWER & wanted), continuation);
        self.upper |= spread::<TWO>(with_class::<B>(classes, unicode::UPPER & wanted), continuation);
        self.mark |= spread::<TWO>(with_class::<B>(classes, unicode::MARK & wanted), continuation);
        self.han |= spread::<TWO>(with_class::<B>(classes, unicode::HAN & wanted), continuation);
        self.symbol |= spread::<TWO>(with_class::<B>(classes, unicode::SYMBOL & wanted), continuation);
    }

    /// [`add_non_ascii`](Self::add_non_ascii) one by one for the characters that start at `leads`: faster than masks
    /// of all bytes if there are few.
    ///
    /// # Safety
    /// As for [`Window::load`], with the same `bytes`.
    #[inline(always)]
    unsafe fn add_few<const TWO: bool>(&mut self, wanted: u8, bytes: *const u8, leads: u64) {
        self.leads = [leads, 0, 0];
        let mut left = leads;
        // Not `for_each`, whose closure would keep the masks in memory (7 to 11 % slower).
        while left != 0 {
            let lead = left & left.wrapping_neg();
            left ^= lead;
            // SAFETY: The lead is one of 64 bytes, after which three bytes are readable.
            let (class, n_bytes) =
                unsafe { classes::class_of_character::<TWO>(bytes.add(lead.trailing_zeros() as usize)) };
            // All bytes of the character.
            let mut all = lead | lead << 1;
            if !TWO {
                let (three, four) = (lead * u64::from(n_bytes > 2), lead * u64::from(n_bytes > 3));
                all |= three << 2 | four << 3;
                self.leads[0] ^= three;
                self.leads[1] ^= three ^ four;
                self.leads[2] ^= four;
            }
            let of = |bit: u8| if class & bit != 0 { all } else { 0 };
            self.letter |= of(unicode::LETTER);
            self.number |= of(unicode::NUMBER);
            self.space |= of(unicode::SPACE);
            self.lower |= of(unicode::LOWER & wanted);
            self.upper |= of(unicode::UPPER & wanted);
            self.mark |= of(unicode::MARK & wanted);
            self.han |= of(unicode::HAN & wanted);
            self.symbol |= of(unicode::SYMBOL & wanted);
        }
    }

    /// Returns the continuation bytes.
    #[inline(always)]
    pub fn continuation(&self) -> u64 {
        let [two, three, four] = self.leads;
        self.high & !(two | three | four)
    }

    /// Returns the first bytes of the characters whose next character is in `mask`.
    #[inline(always)]
    pub fn before<const ASCII: bool>(&self, mask: u64) -> u64 {
        if ASCII {
            return mask >> 1;
        }
        let [two, three, four] = self.leads;
        mask >> 1 & !self.high | mask >> 2 & two | mask >> 3 & three | mask >> 4 & four
    }

    /// Returns the first bytes of the characters that follow those in `mask`, a mask of first bytes.
    #[inline(always)]
    pub fn after<const ASCII: bool>(&self, mask: u64) -> u64 {
        if ASCII {
            return mask << 1;
        }
        let [two, three, four] = self.leads;
        (mask & !self.high) << 1 | (mask & two) << 2 | (mask & three) << 3 | (mask & four) << 4
    }
}

/// Whether `mask` has at most four bits.
#[inline(always)]
fn has_at_most_four(mut mask: u64) -> bool {
    for _ in 0..4 {
        mask &= mask.wrapping_sub(1);
    }
    mask == 0
}

/// Returns the first bytes of the characters that have any bit of `class`; compiles to nothing if `class` is 0.
// A function, since closures cannot be `#[inline(always)]`: compiled outside its caller, one would lose the caller's
// target features.
#[inline(always)]
fn with_class<B: Block>(classes: B, class: u8) -> u64 {
    if class == 0 { 0 } else { classes.any_of(class) }
}

/// Returns all bytes of the characters whose first bytes are `mask`. `continuation` has the second, third and fourth
/// bytes of characters.
#[inline(always)]
fn spread<const TWO: bool>(mask: u64, continuation: [u64; 3]) -> u64 {
    if TWO {
        return mask | mask << 1;
    }
    mask | mask << 1 & continuation[0] | mask << 2 & continuation[1] | mask << 3 & continuation[2]
}

/// Returns the first bytes that show, alone or with the second byte, that the character is a letter. This finds most
/// characters of Latin, Cyrillic, Han and Hangul text.
///
/// ```text
/// C3 .. CA        U+00C0 to U+02BF but U+00D7 and U+00F7
/// D0, D1          U+0400 to U+047F
/// E4 .. E9        U+4000 to U+9FFF but U+4DC0 to U+4DFF
/// EB, EC          U+B000 to U+CFFF
/// ```
#[inline(always)]
fn letter_leads<B: Block, const TWO: bool>(block: B) -> u64 {
    let (letters, maybe) = if TWO {
        (block.within_any([(0xc3, 0xca), (0xd0, 0xd1)]), block.within_any([(0xc3, 0xc3)]))
    } else {
        (
            block.within_any([(0xc3, 0xca), (0xd0, 0xd1), (0xe4, 0xe9), (0xeb, 0xec)]),
            block.within_any([(0xc3, 0xc3), (0xe4, 0xe4)]),
        )
    };
    if maybe == 0 {
        return letters;
    }
    // Exclude U+00D7 and U+00F7, U+45C0 to U+45FF (which are letters), and U+4DC0 to U+4DFF. Also exclude a lead in
    // the last byte: its second byte is outside the window.
    letters & !(maybe & (block.within_any([(0x97, 0x97), (0xb7, 0xb7)]) >> 1 | 1 << 63))
}

/// Returns the bytes that are in `mask` while the byte before is not, or vice versa.
#[inline(always)]
pub(super) fn changes(mask: u64) -> u64 {
    mask ^ mask << 1
}

/// Returns the first byte of each run in `mask`.
#[inline(always)]
pub(super) fn run_starts(mask: u64) -> u64 {
    mask & !(mask << 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pretokens::byte_block::Portable;

    #[test]
    fn letter_leads_are_of_letters_only_in_any_place() {
        let mut n_found = 0;
        for character in (0x80..0x10000).filter_map(char::from_u32) {
            let mut bytes = [b' '; WINDOW_BYTES + LOOKAHEAD_BYTES];
            for at in [0, 1, 40, 62, 63] {
                let n_bytes = character.encode_utf8(&mut bytes[at..]).len();
                // SAFETY: There are 64 bytes, and every processor has these instructions.
                let block = unsafe { Portable::load(bytes.as_ptr()) };
                let found = if n_bytes == 2 {
                    letter_leads::<_, true>(block)
                } else {
                    letter_leads::<_, false>(block)
                };
                assert!(found == 0 || found == 1 << at);
                let class = unicode::class_of_code(u32::from(character));
                assert!(found == 0 || class & unicode::LETTER != 0, "{character:?} at {at}");
                n_found += usize::from(found != 0);
                bytes[at..].fill(b' ');
            }
        }
        // Most letters of these scripts must be found, or this would not pay.
        assert!(n_found > 5 * 30_000, "{n_found}");
    }
}
