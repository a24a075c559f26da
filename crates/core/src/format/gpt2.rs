//! Reads GPT-2's two files: vocab.json (token -> id) and merges.txt (one pair a line), in the GPT-2 byte alphabet.

use super::byte_vocabulary::{Vocabulary, split};
use crate::error::{Error, Result, quoted};
use crate::model_file::json::{Json, Within};
use crate::model_file::text_of;

/// A line is not searched for spaces after this many bytes.
const MAX_SEARCHED: usize = 4096;

/// The entries and merges of the two files; errors call them by these names.
pub fn read(vocab: &[u8], vocab_name: &str, merges: &[u8], merges_name: &str) -> Result<Vocabulary> {
    let mut vocabulary = read_vocabulary(vocab).within(|| vocab_name.to_owned())?;
    read_lines(merges, &mut vocabulary).within(|| merges_name.to_owned())?;
    Ok(vocabulary)
}

fn read_vocabulary(data: &[u8]) -> Result<Vocabulary> {
    let mut json = Json::new(text_of(data)?, 0);
    let found = Vocabulary::read(&mut json)?;
    json.expect_end()?;
    Ok(found)
}

fn read_lines(data: &[u8], vocabulary: &mut Vocabulary) -> Result<()> {
    let text = text_of(data)?;
    if text.starts_with('\u{feff}') {
        return Err(Error::Model("begins with a byte order mark (BOM); save it as UTF-8 without one".into()));
    }
    let lines = text.split('\n').enumerate().skip(usize::from(text.starts_with("#version")));
    let lines = lines.map(|(index, line)| (index + 1, line.strip_suffix('\r').unwrap_or(line)));
    let lines = lines.filter(|(_, line)| !line.is_empty());
    for (number, line) in lines.clone() {
        let place = || format!("line {number}");
        let usual = split(line).filter(|(left, right)| !left.is_empty() && !right.is_empty());
        let (left, right) = match usual {
            Some(pair) => pair,
            None => cut(line, vocabulary).within(place)?,
        };
        vocabulary.add_merge(left, right).within(place)?;
    }
    vocabulary
        .check_distinct(|rank| format!("line {}", lines.clone().nth(rank).map_or(0, |(number, _)| number)))
}

/// Splits a line with several spaces: at the only space where both parts and the whole are entries of the vocabulary.
fn cut<'a>(line: &'a str, vocabulary: &Vocabulary) -> Result<(&'a str, &'a str)> {
    let mut cuts = Vec::new();
    for (at, _) in line.match_indices(' ').take_while(|&(at, _)| at < MAX_SEARCHED) {
        let (left, right) = (&line[..at], &line[at + 1..]);
        let mut is_known = true;
        for text in [left, right, &format!("{left}{right}")] {
            is_known = is_known && vocabulary.id_of(text)?.is_some();
        }
        if is_known {
            cuts.push((left, right));
        }
    }
    match cuts.as_slice() {
        [pair] => Ok(*pair),
        _ => {
            let line = quoted(line);
            Err(Error::Model(format!(
                "is {line}, not two tokens of the vocabulary with a space between them"
            )))
        }
    }
}
