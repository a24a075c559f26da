//! Counts in few bytes, to send them to another process.
//!
//! The pretokens are concatenated, and each has two numbers, its length and its count, as LEB128: seven bits per byte,
//! lowest first, the highest bit set if more follow. Most numbers take one byte, so packed counts take about half the
//! memory of their columns.

use super::pretoken_counts::PretokenCounts;
use crate::error::{Error, Result};
use crate::memory::TryReserve;

const NUMBERS: &str = "the numbers of packed counts";

impl PretokenCounts {
    /// The length and the count of each pretoken, packed. The pretokens themselves are the bytes of the columns.
    pub fn packed_numbers(&self) -> Result<Vec<u8>> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        let lengths = self.ends.iter().zip(starts).map(|(&end, start)| end - start);
        let pairs = lengths.zip(self.counts.iter().copied());
        let n_bytes = pairs.clone().map(|(length, count)| n_bytes_of(length) + n_bytes_of(count)).sum();
        let mut packed = Vec::with_room(n_bytes, NUMBERS)?;
        for (length, count) in pairs {
            push(&mut packed, length);
            push(&mut packed, count);
        }
        Ok(packed)
    }

    /// Counts from the bytes of the columns and the result of [`PretokenCounts::packed_numbers`]. `totals`: bytes,
    /// documents, special literals. [`Error::Counts`] if they contradict each other. Does not check that no pretoken
    /// occurs twice.
    pub fn from_packed(bytes: Vec<u8>, numbers: &[u8], totals: [u64; 3]) -> Result<Self> {
        let n_pretokens = numbers.iter().filter(|&&byte| byte < 0x80).count() / 2;
        let mut ends = Vec::with_room(n_pretokens, NUMBERS)?;
        let mut counts = Vec::with_room(n_pretokens, NUMBERS)?;
        let (mut rest, mut end) = (numbers, 0u64);
        while !rest.is_empty() {
            let (length, count) =
                take(&mut rest).zip(take(&mut rest)).ok_or_else(|| damaged("a number is cut short"))?;
            if length == 0 || count == 0 {
                return Err(damaged("a pretoken is empty, or a count is 0"));
            }
            end = end.checked_add(length).ok_or_else(|| damaged("a pretoken is too long"))?;
            ends.push(end);
            counts.push(count);
        }
        PretokenCounts::from_distinct_columns(bytes, ends, counts, totals)
    }
}

fn damaged(what: &str) -> Error {
    Error::Counts(format!("counts: {what}; the packed counts are damaged"))
}

fn n_bytes_of(number: u64) -> usize {
    ((70 - (number | 1).leading_zeros()) / 7) as usize
}

fn push(packed: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        packed.push(number as u8 | 0x80);
        number >>= 7;
    }
    packed.push(number as u8);
}

/// Takes a number from the front; `None` if it is cut short or has more than 64 bits.
fn take(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            return None;
        }
        number |= bits << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_counts_come_back_whatever_their_numbers() {
        let numbers = [1, 2, 127, 128, 16_383, 16_384, u64::from(u32::MAX), 1 << 62];
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for (index, length) in [1, 3, 127, 128, 16_384, 70_000, 2, 5].into_iter().enumerate() {
            bytes.resize(bytes.len() + length, index as u8);
            ends.push(bytes.len() as u64);
        }
        let counts = PretokenCounts::from_distinct_columns(bytes, ends, numbers.to_vec(), [7, 8, 9]).unwrap();
        let packed = counts.packed_numbers().unwrap();
        let back = PretokenCounts::from_packed(counts.bytes.clone(), &packed, [7, 8, 9]).unwrap();
        assert_eq!((&back.bytes, &back.ends, &back.counts), (&counts.bytes, &counts.ends, &counts.counts));
        assert_eq!((back.n_bytes, back.n_documents, back.n_special_literals), (7, 8, 9));
        let empty = PretokenCounts::default();
        assert!(empty.packed_numbers().unwrap().is_empty());
        assert!(PretokenCounts::from_packed(Vec::new(), &[], [0; 3]).unwrap().is_empty());
    }

    #[test]
    fn damaged_numbers_are_errors() {
        let mut most = vec![1];
        push(&mut most, u64::MAX);
        assert_eq!(most.len(), 1 + n_bytes_of(u64::MAX));
        assert!(PretokenCounts::from_packed(vec![b'a'], &most, [0; 3]).is_ok());
        let mut too_many_bits = vec![1];
        too_many_bits.extend([0xff; 9]);
        too_many_bits.push(2);
        for numbers in [
            &[1][..],
            &[1, 0],
            &[0, 1],
            &[2, 1],
            &[1, 1, 1, 1],
            &[1, 0x80],
            &[1, 1, 0x80],
            &[1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1],
            &too_many_bits,
            &[],
        ] {
            let error = PretokenCounts::from_packed(vec![b'a'], numbers, [0; 3]).unwrap_err();
            assert!(matches!(error, Error::Counts(_)), "{numbers:?}: {error}");
        }
    }
}
