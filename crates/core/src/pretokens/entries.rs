//! The entries of the table of [`super::one_pass`], and how far a text was read with it.

/// The bits of an entry, in order: a pretoken ends before the character; all patterns start anew there; a pretoken
/// ends before the previous character; before the last two; at the mark; the mark moves to before the last two; the
/// loop stops. The row of the next state is in the bits above them.
pub(super) const HERE: usize = 1;
pub(super) const RESTART: usize = 2;
pub(super) const ONE_BACK: usize = 4;
pub(super) const TWO_BACK: usize = 8;
pub(super) const AT_MARK: usize = 16;
pub(super) const MARK: usize = 32;
pub(super) const STOP: usize = 64;
pub(super) const N_BITS: u32 = 8;
/// Never in an entry: there is no room for more ends.
pub(super) const FULL: usize = 128;
/// The bits that few entries have.
pub(super) const RARE: usize = STOP | ONE_BACK | TWO_BACK | AT_MARK | MARK | FULL;

/// Returns the entry with another row.
pub(super) fn with_row(entry: u32, row: usize) -> u32 {
    (row as u32) << N_BITS | entry & ((1 << N_BITS) - 1)
}

/// How far a text was read with the table.
#[derive(Clone, Copy, Default)]
pub(super) struct Read {
    pub row: usize,
    pub at: usize,
    /// The number of ends so far, and of those up to the last one at which all patterns start anew.
    pub n: usize,
    pub n_sure: usize,
    /// Where a pretoken ended, if later characters show that it did.
    pub mark: usize,
}

impl Read {
    /// Does what the rare bits of an entry ask for.
    pub fn apply_rare_bits(&mut self, entry: usize, text: &str, room: &mut [u32]) {
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
        if entry & RESTART != 0 {
            self.n_sure = self.n;
        }
    }
}
