//! 64 bytes of a document as bit masks: bit i speaks of byte i.
//!
//! Enters: 64 bytes that start at a pretoken's start. Leaves: one mask per class of character, where a
//! character of several bytes has its class on each of them. Cost: a few vector operations for ASCII, and
//! what [`Block::classes`] costs for everything else.
//! Source of the method: simdjson's classification by masks; the classes by table are this library's own.

use super::byte_block::Block;
use super::unicode;

/// The bytes of a window.
pub(super) const N_BYTES: usize = 64;

/// How far beyond a window the decoding of its last character may read.
pub(super) const N_BEYOND: usize = 3;

/// The masks of one window. `ASCII` promises that no byte is above 0x7f: then `upper`, `lower` and `letter`
/// are all that is needed and steps of one byte are steps of one character.
#[derive(Clone, Copy)]
pub(super) struct Window<B> {
    /// The bytes themselves, for questions that few windows ask.
    pub block: B,
    /// Bytes that belong to the text: all but in the last window.
    pub valid: u64,
    /// Letters of every kind.
    pub letter: u64,
    /// Lower-case letters. Only where wanted, like the next four.
    pub lower: u64,
    /// Upper-case and title-case letters.
    pub upper: u64,
    /// Combining marks.
    pub mark: u64,
    /// Characters of the script Han.
    pub han: u64,
    /// Punctuation and symbols.
    pub symbol: u64,
    /// Numbers of every kind.
    pub number: u64,
    /// White space of every kind.
    pub space: u64,
    /// Bytes above 0x7f.
    pub high: u64,
    /// First bytes of characters of two, three and four bytes.
    pub leads: [u64; 3],
}

impl<B: Block> Window<B> {
    /// The masks of the 64 bytes at `bytes`, of which those in `valid` belong to the text.
    ///
    /// # Safety
    /// 64 bytes must be readable, 67 if any is above 0x7f; they must start at a character's first byte,
    /// be UTF-8 as far as `valid`, and 0 behind that.
    #[inline(always)]
    pub unsafe fn load(bytes: *const u8, valid: u64) -> Self {
        // SAFETY: the caller vouches for 64 bytes.
        let block = unsafe { B::load(bytes) };
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

    /// Adds the characters beyond ASCII. `WANTED` holds the class bits that are wanted beside letter, number
    /// and space.
    ///
    /// # Safety
    /// As for [`Window::load`], with the same `bytes`.
    #[inline(always)]
    pub unsafe fn widen<const WANTED: u8>(&mut self, bytes: *const u8) {
        let (two, three, four) =
            (self.block.at_least(0xc0), self.block.at_least(0xe0), self.block.at_least(0xf0));
        self.leads = [two & !three, three & !four, four];
        // SAFETY: the caller's promise is the same.
        let classes = unsafe { self.block.classes(bytes, self.leads) };
        let second = self.high & !two;
        let third = second & second << 1;
        let inner = [second, third, third & second << 2];
        self.letter |= spread::<B>(classes, unicode::LETTER, inner);
        self.number |= spread::<B>(classes, unicode::NUMBER, inner);
        self.space |= spread::<B>(classes, unicode::SPACE, inner);
        self.lower |= spread::<B>(classes, unicode::LOWER & WANTED, inner);
        self.upper |= spread::<B>(classes, unicode::UPPER & WANTED, inner);
        self.mark |= spread::<B>(classes, unicode::MARK & WANTED, inner);
        self.han |= spread::<B>(classes, unicode::HAN & WANTED, inner);
        self.symbol |= spread::<B>(classes, unicode::SYMBOL & WANTED, inner);
    }

    /// What is neither letter nor number nor white space.
    #[inline(always)]
    pub fn other(&self) -> u64 {
        self.valid & !(self.letter | self.number | self.space)
    }

    /// Bytes of characters that are not their first.
    #[inline(always)]
    pub fn inner(&self) -> u64 {
        let [two, three, four] = self.leads;
        self.high & !(two | three | four)
    }

    /// Characters (their first bytes) whose next character is in `mask`.
    #[inline(always)]
    pub fn before<const ASCII: bool>(&self, mask: u64) -> u64 {
        if ASCII {
            return mask >> 1;
        }
        let [two, three, four] = self.leads;
        mask >> 1 & !self.high | mask >> 2 & two | mask >> 3 & three | mask >> 4 & four
    }

    /// First bytes of the characters that follow those in `mask`, a mask of first bytes.
    #[inline(always)]
    pub fn after<const ASCII: bool>(&self, mask: u64) -> u64 {
        if ASCII {
            return mask << 1;
        }
        let [two, three, four] = self.leads;
        (mask & !self.high) << 1 | (mask & two) << 2 | (mask & three) << 3 | (mask & four) << 4
    }
}

/// Characters whose class byte has any of the bits `class`, on all of their bytes; `inner` are their second,
/// third and fourth ones.
// A function and not a closure: what is not inlined into the caller loses its instructions.
#[inline(always)]
fn spread<B: Block>(classes: B, class: u8, inner: [u64; 3]) -> u64 {
    if class == 0 {
        return 0;
    }
    let mask = classes.any_of(class);
    mask | mask << 1 & inner[0] | mask << 2 & inner[1] | mask << 3 & inner[2]
}

/// The first byte of each run in `mask`.
#[inline(always)]
pub(super) fn firsts(mask: u64) -> u64 {
    mask & !(mask << 1)
}
