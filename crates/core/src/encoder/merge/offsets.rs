//! A list of offsets that takes a byte for each, if neighbours are near: the distance of each from the one before, in
//! variable length (LEB128, with the sign in the lowest bit, "zigzag").

use super::spans::WHAT;
use crate::error::Result;
use crate::memory::TryReserve;

/// Offsets in the order in which they were appended.
#[derive(Default)]
pub(super) struct Offsets {
    bytes: Vec<u8>,
    last: u32,
    /// Whether an offset is less than the one before.
    descends: bool,
}

impl Offsets {
    /// Appends an offset.
    #[inline]
    pub(super) fn push(&mut self, offset: u32) -> Result<()> {
        let distance = i64::from(offset) - i64::from(self.last);
        self.descends |= distance < 0;
        self.last = offset;
        let mut rest = ((distance << 1) ^ (distance >> 63)) as u64;
        // A distance of 33 bits takes five bytes.
        self.bytes.grow(5, WHAT)?;
        while rest >= 0x80 {
            self.bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.bytes.push(rest as u8);
        Ok(())
    }

    /// The offsets, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let mut bytes = self.bytes.iter();
        let mut last = 0;
        std::iter::from_fn(move || {
            let (mut coded, mut shift) = (0, 0);
            loop {
                let byte = *bytes.next()?;
                coded |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    break;
                }
            }
            let distance = (coded >> 1) as i64 ^ -((coded & 1) as i64);
            last = (i64::from(last) + distance) as u32;
            Some(last)
        })
    }

    /// The same offsets in ascending order.
    pub(super) fn sorted(self) -> Result<Self> {
        if !self.descends {
            return Ok(self);
        }
        let mut offsets = Vec::new();
        for offset in self.iter() {
            offsets.try_push(offset, WHAT)?;
        }
        drop(self);
        offsets.sort_unstable();
        let mut sorted = Offsets::default();
        for offset in offsets {
            sorted.push(offset)?;
        }
        Ok(sorted)
    }
}

#[cfg(test)]
mod tests {
    use super::Offsets;

    #[test]
    fn offsets_come_back_in_order_and_sorted() {
        let mut state = 3_u64;
        let mut random = |n: u64| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 33) % n
        };
        for round in 0..200 {
            let n = random(300);
            let mut offsets: Vec<u32> = (0..n).map(|_| random(1 << 31) as u32).collect();
            match round % 4 {
                0 => offsets.sort_unstable(),
                1 => offsets.iter_mut().for_each(|offset| *offset %= 200),
                2 => offsets.extend([0, u32::MAX, 0, u32::MAX - 1, 1 << 7, 1 << 14]),
                _ => offsets = (0..offsets.len() as u32).collect(),
            }
            let mut list = Offsets::default();
            offsets.iter().for_each(|&offset| list.push(offset).unwrap());
            assert!(list.iter().eq(offsets.iter().copied()));
            if round % 4 == 3 {
                assert_eq!(list.bytes.len(), offsets.len());
            }
            offsets.sort_unstable();
            assert!(list.sorted().unwrap().iter().eq(offsets));
        }
    }
}
