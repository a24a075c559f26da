//! Reads a `.tiktoken` file as tiktoken's own tools write it: one token a line, in base64, a space and its rank, ascending.
//!
//! Any other file is left to the reader in Python, which names what is wrong with it. Cost: one pass, and a set of all
//! tokens to find equal ones.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{LARGEST_ID, not_taken, taken};
use crate::error::Result;
use crate::memory::TryReserve;
use crate::model::CheckedColumns;

/// What is allocated, in the message of [`Error::OutOfMemory`](crate::Error::OutOfMemory).
const WHAT: &str = "the tokens of a file";

/// The tokens of the file, their ids being ranks; `None` for a file in another form, or with a defect.
pub fn read(data: &[u8]) -> Result<Option<CheckedColumns>> {
    taken(read_lines(data))
}

fn read_lines(data: &[u8]) -> Result<CheckedColumns> {
    let n_lines = memchr::memchr_iter(b'\n', data).count();
    let (mut ids, mut ends) = (Vec::with_room(n_lines, WHAT)?, Vec::with_room(n_lines, WHAT)?);
    let mut bytes = Vec::with_room(data.len() / 4 * 3 + 3, WHAT)?;
    let mut rest = data;
    while !rest.is_empty() {
        let Some(space) = memchr::memchr(b' ', rest) else { return not_taken() };
        let (coded, after) = rest.split_at(space);
        let start = bytes.len();
        // Within the capacity: three bytes for four characters of the file.
        bytes.resize(start + coded.len() / 4 * 3, 0);
        match STANDARD.decode_slice(coded, &mut bytes[start..]) {
            Ok(n_bytes) if n_bytes > 0 => bytes.truncate(start + n_bytes),
            _ => return not_taken(),
        }
        let mut rank = 0u32;
        let mut n_digits = 0;
        for byte in after[1..].iter().take_while(|byte| byte.is_ascii_digit()) {
            rank = rank.saturating_mul(10).saturating_add(u32::from(byte - b'0'));
            n_digits += 1;
        }
        let is_ascending = ids.last().is_none_or(|&last| last < rank);
        if n_digits == 0 || rank > LARGEST_ID || !is_ascending || after.get(1 + n_digits) != Some(&b'\n') {
            return not_taken();
        }
        ids.push(rank);
        ends.push(bytes.len() as u64);
        rest = &after[n_digits + 2..];
    }
    if ids.is_empty() {
        return not_taken();
    }
    CheckedColumns::new(ids, bytes, ends, Vec::new(), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_takes_a_file_as_it_is_written() {
        let read = read(b"YQ== 0\nYg== 1\nYWI= 7\n").unwrap().unwrap();
        let columns = read.borrowed(&[]);
        assert_eq!(
            (columns.ids, columns.bytes, columns.ends),
            (&[0, 1, 7][..], &b"abab"[..], &[1, 2, 4][..])
        );
        assert!(columns.ranks && columns.merges.is_empty());
    }

    #[test]
    fn read_leaves_other_files() {
        let files: [&[u8]; 12] = [
            b"",
            b"YQ== 0",
            b"YQ== 0\r\n",
            b"YQ==  0\n",
            b"YQ== \n",
            b"YQ== 1\nYg== 0\n",
            b"YQ== 0\nYQ== 1\n",
            b"YQ= 0\n",
            b"YR== 0\n",
            b" 0\n",
            b"YQ== 16777216\n",
            b"YQ== 99999999999\n",
        ];
        for file in files {
            assert!(read(file).unwrap().is_none(), "{}", String::from_utf8_lossy(file));
        }
    }
}
