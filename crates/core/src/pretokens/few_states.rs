//! Sixteen states of an automaton, read by byte shuffles.
//!
//! A shuffle looks up bytes in a register of sixteen. So with sixteen states a character is a register, which holds the next
//! state for each state before, and reading the character is one shuffle: a cycle, where a table in memory takes five. Patterns
//! may have more states, but text is hardly ever in one that a small text does not visit. What 64 characters of ASCII say about
//! the ends of pretokens is gathered as masks, as in `scan.rs`.
//!
//! Source: Sheng, an engine of Hyperscan (Wang et al., "Hyperscan", 2019).

use super::alphabet::Alphabet;
use super::byte_block::{Block, CHAIN_STOPS, Chain, N_CHAINED};
use super::entries::{ANEW, HERE, N_BITS, ONE_BACK, RARE, Read, leading_to};
use super::window::WINDOW_BYTES;

/// Visits the states that most texts are in: prose, numbers, code.
const SAMPLE: &str = "The cat's 12 hats, which (in 1995) cost $3.50 each; \"No,\" said Tom. 'It is -- well -- his.'\n\n\
    for (int i = 0; i < n; i++) {\n\t\tx[i] += foo_bar(i, 0x1F);\n    return -1;  // HTTP2\n    }\r\n\r\n";

/// In an entry, above the number of the next state: [`HERE`], [`ANEW`] and [`ONE_BACK`], so much higher.
const SHIFT: u32 = 4;

/// The first sixteen states of a table.
pub(super) struct FewStates {
    chain: Box<Chain>,
    stride: usize,
}

impl FewStates {
    /// Puts the states that a small text visits most first; the very first, before a text, stays.
    pub fn new(table: &mut [u32], alphabet: &Alphabet) -> Self {
        let stride = alphabet.n_classes + 1;
        let (mut visits, mut row) = (vec![0; table.len() / stride], 0);
        for class in SAMPLE.bytes().filter_map(|byte| alphabet.class_of_byte(byte)) {
            visits[row / stride] += 1;
            row = table[row + class] as usize >> N_BITS;
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
                *entry = leading_to(old, row_of[(old >> N_BITS) as usize / stride]);
            }
        }
        let mut chain = Box::new([[CHAIN_STOPS; N_CHAINED]; 256]);
        for (byte, next) in (0..=u8::MAX).zip(chain.iter_mut()) {
            let Some(class) = alphabet.class_of_byte(byte) else { continue };
            for (row, next) in table.chunks(stride).zip(next) {
                let (entry, number) = (row[class] as usize, (row[class] >> N_BITS) as usize / stride);
                if entry & RARE & !ONE_BACK == 0 && number < N_CHAINED {
                    *next = (number | (entry & (HERE | ANEW | ONE_BACK)) << SHIFT) as u8;
                }
            }
        }
        FewStates { chain, stride }
    }

    /// Reads on in `text` while it is ASCII, in these states, and says nothing else, and there is room for ends.
    ///
    /// # Safety
    /// The processor has the instructions of `B`.
    #[inline(always)]
    pub unsafe fn read<B: Block>(&self, text: &[u8], read: &mut Read, ends: &mut [u32]) {
        if read.row >= N_CHAINED * self.stride {
            return;
        }
        let (mut now, mut number) = (*read, (read.row / self.stride) as u8);
        let mut entries = [0; WINDOW_BYTES];
        while let Some(room) = ends.get_mut(now.n..).and_then(<[_]>::first_chunk_mut::<WINDOW_BYTES>) {
            let rest = text.get(now.at..).unwrap_or_default();
            let mut padded;
            let (window, n_left) = match rest.first_chunk() {
                Some(window) => (window, WINDOW_BYTES),
                None => {
                    padded = [0; WINDOW_BYTES];
                    padded[..rest.len()].copy_from_slice(rest);
                    (&padded, rest.len())
                }
            };
            // SAFETY: The caller vouches for the processor.
            let block = unsafe { B::chain(&self.chain, number, window, &mut entries) };
            // No closure: it would lose the caller's target features.
            let (here, anew) = (block.any_of((HERE << SHIFT) as u8), block.any_of((ANEW << SHIFT) as u8));
            let one_back = block.any_of((ONE_BACK << SHIFT) as u8);
            // The character before the window may have several bytes.
            let n_read = (block.any_of(CHAIN_STOPS) | one_back & 1).trailing_zeros().min(n_left as u32);
            if n_read == 0 {
                break;
            }
            let ends_until = |n: u32| {
                let within = u64::MAX >> (u64::BITS - n);
                here & within | (one_back & within) >> 1
            };
            let found = ends_until(n_read);
            // SAFETY: There is room for 64.
            unsafe { B::write_offsets(found, now.at as u32, room.as_mut_ptr()) };
            let anew = anew & u64::MAX >> (u64::BITS - n_read);
            if anew != 0 {
                now.n_sure = now.n + ends_until(u64::BITS - anew.leading_zeros()).count_ones() as usize;
            }
            now.n += found.count_ones() as usize;
            if n_read < WINDOW_BYTES as u32 {
                now.at += n_read as usize;
                number = entries[n_read as usize - 1];
                break;
            }
            // Not by `n_read`, for which the next window would wait.
            now.at += WINDOW_BYTES;
            number = entries[WINDOW_BYTES - 1];
        }
        now.row = usize::from(number) % N_CHAINED * self.stride;
        *read = now;
    }
}
