//! Reads sixteen states of an automaton by byte shuffles.
//!
//! A shuffle looks up bytes in a register of sixteen. So with sixteen states a character is a register, which holds
//! the next state for each state, and reading the character is one shuffle: one cycle, where a table in memory takes
//! five. Patterns can have more states, but text hardly ever leaves those that a small sample visits. What 64 bytes
//! say about the ends of pretokens is gathered as masks, as in `scan.rs`. The first byte of a longer character has the
//! register of its class; its later bytes have one that changes nothing.
//!
//! Source: Sheng, an engine of Hyperscan (Wang et al., "Hyperscan", 2019).

use super::alphabet::Alphabet;
use super::byte_block::{Block, CHAIN_STOPS, Chain, N_CHAINED};
use super::entries::{HERE, N_BITS, ONE_BACK, RARE, RESTART, Read, with_row};
use super::window::WINDOW_BYTES;

/// Visits the states that most texts are in: prose, numbers, code, other scripts.
const SAMPLE: &str = "The cat's 12 hats, which (in 1995) cost $3.50 each; \"No,\" said Tom. 'It is -- well -- his.'\n\n\
    In the USA I MAY; I'll.  See <a href=\"b\">this</a>\nor that.\n- 1\n- two\n\n# Title\n\nYes:\n  * x = 5\n\
    for (int i = 0; i < n; i++) {\n\t\tx[i] += foo_bar(i, 0x1F);\n    return -1;  // HTTP2\n    }\r\n\r\n\
    \tif (a && !b)\n\t\treturn;\n\n\t/* x */\n\tint  *p = &q[0];\n}\n\
    int f(void)\n{\n\tif (a && !b)\n\t\treturn 10;\n\n        x = y + 1;\n\t/* 2 */\n\n}\n\
    “Où?” – Это моя, да? 你好，世界。नमस्ते। 안녕\n";

/// An entry of a chain has the next state in its low bits, and [`HERE`], [`RESTART`] and [`ONE_BACK`] shifted up by
/// this.
const SHIFT: u32 = 4;

/// In a chain: the row of the first class of longer characters, and the row of their later bytes.
const LONGER: u8 = 0x80;
const CONTINUES: u8 = 0xff;

/// The first sixteen states of a table.
pub(super) struct ShuffleStates {
    chain: Box<Chain>,
    stride: usize,
}

impl ShuffleStates {
    /// Reorders the table: the first state, before a text, stays; then come those that a small text visits most.
    pub fn new(table: &mut [u32], stride: usize, alphabet: &Alphabet) -> Self {
        let (mut visits, mut row) = (vec![0; table.len() / stride], 0);
        for letter in SAMPLE.chars() {
            visits[row / stride] += 1;
            row = table[row + alphabet.class_of(u32::from(letter))] as usize >> N_BITS;
        }
        let mut order: Vec<usize> = (0..visits.len()).collect();
        order.sort_by_key(|&state| (state > 0, std::cmp::Reverse(visits[state])));
        let mut row_of = vec![0; order.len()];
        for (at, &state) in order.iter().enumerate() {
            row_of[state] = at * stride;
        }
        let before = table.to_vec();
        for (row, &state) in table.chunks_mut(stride).zip(&order) {
            for (entry, &old) in row.iter_mut().zip(&before[state * stride..]) {
                *entry = with_row(old, row_of[(old >> N_BITS) as usize / stride]);
            }
        }
        let mut chain = Box::new([[CHAIN_STOPS; N_CHAINED]; 256]);
        chain[usize::from(CONTINUES)] = std::array::from_fn(|number| number as u8);
        let of_classes = (LONGER..CONTINUES - 1).map(|row| (row, usize::from(row - LONGER)));
        let of_bytes = (0..LONGER).filter_map(|byte| Some((byte, alphabet.class_of_byte(byte)?)));
        for (row, class) in of_bytes.chain(of_classes.take(alphabet.n_classes)) {
            let next = &mut chain[usize::from(row)];
            for (row, next) in table.chunks(stride).zip(next) {
                let (entry, number) = (row[class] as usize, (row[class] >> N_BITS) as usize / stride);
                if entry & RARE & !ONE_BACK == 0 && number < N_CHAINED {
                    *next = (number | (entry & (HERE | RESTART | ONE_BACK)) << SHIFT) as u8;
                }
            }
        }
        ShuffleStates { chain, stride }
    }

    /// Reads on in `text` up to `stop`, while the states are these, entries have no rarer bits, and there is room.
    ///
    /// # Safety
    /// The processor must have the instructions of `B`.
    #[inline(always)]
    pub unsafe fn read<B: Block>(
        &self,
        text: &[u8],
        stop: usize,
        alphabet: &Alphabet,
        read: &mut Read,
        ends: &mut [u32],
    ) {
        if read.row >= N_CHAINED * self.stride {
            return;
        }
        let (mut now, mut number) = (*read, (read.row / self.stride) as u8);
        let mut entries = [0; WINDOW_BYTES];
        while let Some(room) = ends.get_mut(now.n..).and_then(<[_]>::first_chunk_mut::<WINDOW_BYTES>) {
            let rest = text[..stop].get(now.at..).unwrap_or_default();
            let mut rows;
            let (mut window, mut n_left) = match rest.first_chunk() {
                Some(window) => (window, WINDOW_BYTES),
                None => {
                    rows = [0; WINDOW_BYTES];
                    rows[..rest.len()].copy_from_slice(rest);
                    (&rows, rest.len())
                }
            };
            // SAFETY: `window` has 64 bytes; the caller vouches for the processor.
            let (block, mut continues) = (unsafe { B::load(window.as_ptr()) }, 0);
            if !block.is_ascii() {
                rows = *window;
                (n_left, continues) =
                    rows_of_longer(&mut rows[..n_left], block.high(), text, now.at, alphabet);
                window = &rows;
            }
            // SAFETY: The caller vouches for the processor.
            let block = unsafe { B::chain(&self.chain, number, window, &mut entries) };
            // No closures: they would lose the caller's target features.
            let (here, anew) = (block.any_of((HERE << SHIFT) as u8), block.any_of((RESTART << SHIFT) as u8));
            let one_back = block.any_of((ONE_BACK << SHIFT) as u8);
            // Stop if a pretoken ends before the last character of the previous window: it can have several bytes.
            let n_read = (block.any_of(CHAIN_STOPS) | one_back & 1).trailing_zeros().min(n_left as u32);
            if n_read == 0 {
                break;
            }
            let within = u64::MAX >> (u64::BITS - n_read);
            let mut before = (one_back & within) >> 1;
            while before & continues != 0 {
                before = before & !continues | (before & continues) >> 1;
            }
            let found = here & within | before;
            // SAFETY: `room` has 64 entries.
            unsafe { B::write_offsets(found, now.at as u32, room.as_mut_ptr()) };
            if anew & within != 0 {
                let sure = u64::MAX >> (anew & within).leading_zeros();
                now.n_sure = now.n + (found & sure).count_ones() as usize;
            }
            now.n += found.count_ones() as usize;
            if n_read < WINDOW_BYTES as u32 {
                now.at += n_read as usize;
                number = entries[n_read as usize - 1];
                break;
            }
            // Constants, not `n_read`: the next window would wait for it.
            now.at += WINDOW_BYTES;
            number = entries[WINDOW_BYTES - 1];
        }
        now.row = usize::from(number) % N_CHAINED * self.stride;
        *read = now;
    }
}

/// Replaces each longer character, at the bits of `longer`, by the row of its class. `rows` starts at `from` in
/// `text`. Returns how many bytes are whole characters, and which bytes are later bytes of one.
#[inline(always)]
fn rows_of_longer(
    rows: &mut [u8],
    mut longer: u64,
    text: &[u8],
    from: usize,
    alphabet: &Alphabet,
) -> (usize, u64) {
    let mut continues = 0;
    while longer != 0 {
        let at = longer.trailing_zeros() as usize;
        let (class, n_bytes) = alphabet.class_at(text, from + at);
        let Some(row) = rows.get_mut(at..at + n_bytes) else { return (at, continues) };
        row.fill(CONTINUES);
        row[0] = LONGER + class.min(usize::from(CONTINUES - LONGER) - 1) as u8;
        let all = !(u64::MAX << n_bytes) << at;
        longer &= !all;
        continues |= all & all << 1;
    }
    (rows.len(), continues)
}
