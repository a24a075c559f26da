//! The entries of the table of [`super::one_pass`], and how far it was read.

/// Bits of an entry: a pretoken ends before the character, all patterns start anew there, a pretoken ends before the last
/// character, before the last two, at the mark; the mark is before the last two from now on; the loop stops. The row of
/// the next state is above them.
pub(super) const HERE: usize = 1;
pub(super) const ANEW: usize = 2;
pub(super) const ONE_BACK: usize = 4;
pub(super) const TWO_BACK: usize = 8;
pub(super) const AT_MARK: usize = 16;
pub(super) const MARK: usize = 32;
pub(super) const STOP: usize = 64;
pub(super) const N_BITS: u32 = 8;
/// In no entry: there is no room for more ends.
pub(super) const FULL: usize = 128;
/// What few entries say.
pub(super) const RARE: usize = STOP | ONE_BACK | TWO_BACK | AT_MARK | MARK | FULL;

/// The entry, with another row.
pub(super) fn leading_to(entry: u32, row: usize) -> u32 {
    (row as u32) << N_BITS | entry & ((1 << N_BITS) - 1)
}

/// How far the table was read.
#[derive(Clone, Copy, Default)]
pub(super) struct Read {
    pub row: usize,
    pub at: usize,
    /// The ends so far, and those up to the last one at which all patterns start anew.
    pub n: usize,
    pub n_sure: usize,
    /// Where a pretoken may have ended.
    pub mark: usize,
}

impl Read {
    /// Does what an entry says that is decided at once, but rarely.
    pub fn take_rare(&mut self, entry: usize, text: &str, room: &mut [u32]) {
        let before = |at: usize| text.floor_char_boundary(at.saturating_sub(1));
        let (one_back, two_back) = (before(self.at), before(before(self.at)));
        let found = [(AT_MARK, self.mark), (TWO_BACK, two_back), (ONE_BACK, one_back), (HERE, self.at)];
        for (_, end) in found.into_iter().filter(|(bit, _)| entry & bit != 0) {
            room[self.n] = end as u32;
            self.n += 1;
        }
        if entry & MARK != 0 {
            self.mark = two_back;
        }
        if entry & ANEW != 0 {
            self.n_sure = self.n;
        }
    }
}
