//! Schema 1: tokens as lists of bytes; the merge of rank r makes id 256 + r; one special token with the last id.
//!
//! `vocab` also lists the special token.

use crate::error::{Error, Result};
use crate::memory::{TryReserve, filled};
use crate::model::Columns;
use crate::pretokens::gpt2_pattern;
use crate::vocabulary::Tokens;

use super::json::{Json, Within};
use super::{DecodeErrors, File, Model, in_file, read_id, read_specials};

const KEYS: [&str; 6] =
    ["mergeable_vocab_size", "merges", "pretokenizer_pattern", "schema_version", "special_tokens", "vocab"];
const SPECIAL: &str = "<|endoftext|>";

/// Reads a file of schema 1.
pub(super) fn read(file: &File<'_>) -> Result<Model> {
    file.check_keys(&KEYS, &[])?;
    let size = file.value("mergeable_vocab_size", |json| json.integer())?;
    let merges = file.value("merges", read_merges)?;
    let n_merges = merges.len();
    let n = 256 + n_merges;
    if size != n as u64 {
        return Err(Error::Model(format!(
            "mergeable_vocab_size is {size}, but 256 bytes and {n_merges} merges make {n}; save the tokenizer again"
        )));
    }
    let pattern = file.value("pretokenizer_pattern", |json| Ok(json.string()?.into_owned()))?;
    if pattern != gpt2_pattern() {
        return Err(Error::Model(
            "pretokenizer_pattern must be GPT-2's in schema 1; save the tokenizer as schema 2".into(),
        ));
    }
    let special_tokens = file.value("special_tokens", read_specials)?;
    let mut tokens = file.value("vocab", |json| read_vocab(json, n))?;
    for byte in 0..=255u8 {
        if tokens.token(usize::from(byte)) != [byte] {
            return Err(Error::Model(format!(
                "vocab['{byte}'] must be [{byte}]: ids 0 to 255 are the bytes"
            )));
        }
    }
    for (rank, &[left, right, merged_id]) in merges.iter().enumerate() {
        let (left, right) = (tokens.token(left as usize), tokens.token(right as usize));
        if tokens.token(merged_id as usize).strip_prefix(left) != Some(right) {
            return Err(Error::Model(format!(
                "vocab['{merged_id}'] is not the bytes of merges[{rank}]; one of them is damaged"
            )));
        }
    }
    if tokens.token(n) != SPECIAL.as_bytes() {
        return Err(Error::Model(format!(
            "vocab['{n}'] is not the bytes of the special token {SPECIAL:?}; save the tokenizer again"
        )));
    }
    tokens.truncate(n);
    match special_tokens.as_slice() {
        [(text, id)] if text == SPECIAL && *id as usize == n => {}
        _ => return Err(Error::Model(format!("special_tokens must be exactly {{\"{SPECIAL}\": {n}}}"))),
    }
    // Merges need no check: a repeated pair would make two tokens with the same bytes, but tokens are distinct.
    let columns = Columns { tokens, merges, ..Columns::default() };
    columns.check_tokens().map_err(in_file)?;
    let columns = columns.assume_checked();
    let training = Some(r#"{"profile":"bpetite"}"#.into());
    Ok(Model { training, ..Model::new(columns, false, special_tokens, vec![pattern], DecodeErrors::Strict) })
}

/// Reads `[[left, right], ...]` into rows of left, right and merged id.
fn read_merges(json: &mut Json<'_>) -> Result<Vec<[u32; 3]>> {
    let mut merges = Vec::new();
    json.list(|json, rank| {
        let mut row = [0, 0, u32::try_from(256 + rank).unwrap_or(u32::MAX)];
        let merged_id = row[2];
        let mut n_parts = 0;
        json.list(|json, side| {
            let part = read_id(json)?;
            if part >= merged_id {
                return Err(Error::Model(format!(
                    "uses id {part}, which does not exist yet; it can use only ids below {merged_id}"
                )));
            }
            if side < 2 {
                row[side] = part;
            }
            n_parts = side + 1;
            Ok(())
        })
        .within(|| format!("[{rank}]"))?;
        if n_parts != 2 {
            return Err(Error::Model(format!("[{rank}] must be [left id, right id], but has {n_parts} ids")));
        }
        merges.try_push(row, "merges")
    })?;
    Ok(merges)
}

/// Reads `{"id": [byte, ...], ...}` into tokens whose index is their id. The ids must be exactly 0..=n, where n is the special
/// token's id.
fn read_vocab(json: &mut Json<'_>, n: usize) -> Result<Tokens> {
    let mut tokens = Tokens::default();
    let mut is_listed = filled(n + 1, false, "vocabulary")?;
    json.object(|json, key| {
        let location = || format!("['{}']", key.chars().take(60).collect::<String>());
        let Some((id, is_twice)) = decimal(&key).and_then(|id| Some((id, is_listed.get_mut(id)?))) else {
            return Err(Error::Model(format!("{} is not an id; ids are 0 to {n}", location())));
        };
        if std::mem::replace(is_twice, true) {
            return Err(Error::Model(format!("{} appears twice; keep one of them", location())));
        }
        let start = tokens.bytes.len();
        json.list(|json, _| {
            let value = json.integer()?;
            match u8::try_from(value) {
                Ok(byte) => tokens.bytes.try_push(byte, "vocabulary"),
                Err(_) => Err(Error::Model(format!("{value} is not a byte; bytes are 0 to 255"))),
            }
        })
        .within(location)?;
        if tokens.bytes.len() == start {
            return Err(Error::Model(format!("{} is empty; a token needs at least one byte", location())));
        }
        tokens.end(id as u32)
    })?;
    if let Some(id) = is_listed.iter().position(|&is_listed| !is_listed) {
        return Err(Error::Model(format!("['{id}'] is missing; ids must run from 0 to {n} without a gap")));
    }
    tokens.sorted()
}

/// Parses a key as a decimal number: digits only, without leading zeros.
fn decimal(key: &str) -> Option<usize> {
    let plain = key.bytes().all(|byte| byte.is_ascii_digit()) && (key == "0" || !key.starts_with('0'));
    if plain { key.parse().ok() } else { None }
}
