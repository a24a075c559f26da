//! Reads a `.tiktoken` file. Each line has a token in base64, white space and the token's rank; lines can be in any order.
//! Cost: one pass, and a set of all tokens to find duplicates.

use super::ranks::{columns, number_of, push_coded};
use crate::error::{Error, Result, quoted};
use crate::model::CheckedColumns;
use crate::model_file::json::Within;
use crate::vocabulary::Tokens;

/// Reads the tokens, whose ids are ranks, and the largest rank + 1. That rank can belong to an empty token, which no text
/// produces: Whisper's file has one, written `=`.
pub fn read(data: &[u8]) -> Result<(CheckedColumns, u32)> {
    let (mut found, mut n_ranks) = (Tokens::default(), 0);
    for (index, line) in data.split(|&byte| byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        if !line.is_empty() {
            let rank = read_line(line, &mut found).within(|| format!("line {}", index + 1))?;
            n_ranks = n_ranks.max(rank + 1);
        }
    }
    if found.ids.is_empty() {
        return Err(Error::Model("contains no tokens; the file is empty".into()));
    }
    Ok((columns(found, u32::MAX, 0)?, n_ranks))
}

/// Reads a line into `found`; returns its rank.
fn read_line(line: &[u8], found: &mut Tokens) -> Result<u32> {
    let Some((coded, rank)) = cut(line) else {
        let line = quoted(&String::from_utf8_lossy(line));
        return Err(Error::Model(format!("{line} must be a token in base64, a space and a rank")));
    };
    let rank = number_of(rank).within(|| "rank".into())?;
    if coded != b"=" {
        push_coded(found, rank, coded)?;
    }
    Ok(rank)
}

/// Splits a line into its two parts.
fn cut(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (coded, rest) = line.split_at(line.iter().position(u8::is_ascii_whitespace)?);
    let rank = rest.trim_ascii_start();
    (!rank.iter().any(u8::is_ascii_whitespace)).then_some((coded, rank))
}

/// Returns whether the first line is a line of a `.tiktoken` file.
pub fn is_begin(head: &[u8]) -> bool {
    let Some(end) = head.iter().position(|&byte| byte == b'\n') else { return false };
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    cut(head[..end].trim_ascii_end())
        .is_some_and(|(coded, rank)| coded.iter().all(is_base64) && number_of(rank).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_takes_any_order_and_any_ends_of_lines() {
        for file in ["YQ== 0\nYg== 1\nYWI= 7\n", "\n YWI=  7\r\nYQ== 0\r\n\r\nYg==\t1"] {
            let (read, n_ranks) = read(file.as_bytes()).unwrap();
            assert_eq!(n_ranks, 8);
            let Tokens { ids, bytes, ends } = &read.tokens;
            assert_eq!((&**ids, &**bytes, &**ends), (&[0, 1, 7][..], &b"abab"[..], &[1, 2, 4][..]));
            assert!(read.ranks && read.merges.is_empty());
        }
    }

    #[test]
    fn read_names_what_is_wrong() {
        let files = [
            ("", "contains no tokens"),
            ("YQ==", "line 1: \"YQ==\" must be a token"),
            ("YQ== 0 1", "line 1: \"YQ== 0 1\" must be a token"),
            ("YQ== 0\nYg== 0\n", "two tokens have rank 0"),
            ("YQ== 0\nYQ== 1\n", "ids 0 and 1 have the same bytes"),
            ("YQ= 0\n", "line 1: this base64 has 3 characters"),
            ("YR== 0\n", "line 1: this base64 is not in its canonical form"),
            ("\n==== 0\n", "line 2: not base64 at character 0"),
            ("YQ== +1\n", "line 1: rank: \"+1\" is not an integer"),
            ("YQ== 16777216\n", "line 1: rank: \"16777216\" is not an integer"),
        ];
        for (file, expected) in files {
            let message = read(file.as_bytes()).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
