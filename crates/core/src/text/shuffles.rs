//! Tables that pick the used bytes of four characters, each in a lane of four bytes, by the lengths of the characters.
//!
//! A character of n bytes uses the last n bytes of its lane. Tables of 4 KB replace an instruction that removes bytes.

/// Returns the index of four characters in [`PICKS`]. `low` and `high` have the two bits of each length minus 1.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn index(low: u32, high: u32) -> usize {
    (low | high << 4) as usize % 256
}

/// An aligned table with sixteen byte numbers per entry.
#[repr(C, align(16))]
pub(super) struct Picks(pub(super) [[u8; 16]; 256]);

/// For each index, the numbers of the used bytes in order.
pub(super) static PICKS: Picks = Picks(TABLES.0);

/// For each index, how many bytes are used.
pub(super) static N_PICKED: [u8; 256] = TABLES.1;

const TABLES: ([[u8; 16]; 256], [u8; 256]) = {
    let (mut picks, mut n_picked) = ([[0; 16]; 256], [0; 256]);
    let mut index = 0;
    while index < 256 {
        let mut n = 0;
        let mut character = 0;
        while character < 4 {
            let length = 1 + (index >> character & 1) + 2 * (index >> (4 + character) & 1);
            let mut byte = 4 - length;
            while byte < 4 {
                picks[index][n] = (4 * character + byte) as u8;
                n += 1;
                byte += 1;
            }
            character += 1;
        }
        n_picked[index] = n as u8;
        index += 1;
    }
    (picks, n_picked)
};
