//! Reads GPT-2's two files: vocab.json (token -> id) and merges.txt (one pair a line), in the GPT-2 byte alphabet. CLIP's files
//! are recognised by their tokens that end in `</w>`, and read like CLIP's tokenizer.json.

use super::added_tokens::is_in_any_case;
use super::byte_vocabulary::{Vocabulary, split};
use super::pre_tokenizer::{CLIP, WORD, word_step};
use super::specials::with_ids;
use super::{CallerSettings, FOREIGN, check_begin};
use crate::error::{Error, Result, quoted};
use crate::model_file::json::{Json, Within};
use crate::model_file::{DecodeErrors, Model, in_file, text_of};
use crate::pretokens::{byte_letter, gpt2_pattern};

/// The suffix of CLIP's tokens that end a word.
const WORD_END: &str = "</w>";

/// How many bytes of a line are searched for the space between two tokens.
const MAX_SEARCHED: usize = 4096;

/// Reads the two files; errors call them by these names. The pattern is GPT-2's unless `settings` has another.
pub fn read(
    vocab: &[u8],
    vocab_name: &str,
    merges: &[u8],
    merges_name: &str,
    settings: CallerSettings<'_>,
) -> Result<Model> {
    let read = || {
        check_begin(vocab, &FOREIGN)?;
        let mut json = Json::new(text_of(vocab)?, 0);
        let found = Vocabulary::read(&mut json)?;
        json.expect_end()?;
        Ok(found)
    };
    let mut vocabulary = read().within(|| vocab_name.to_owned())?;
    check_begin(merges, &FOREIGN)
        .and_then(|()| read_lines(merges, &mut vocabulary))
        .within(|| merges_name.to_owned())?;
    let in_alphabet =
        |text: &str| text.bytes().map(byte_letter).filter_map(char::from_u32).collect::<String>();
    let specials = with_ids(&settings.specials, vocabulary.n_ids() as u32, |literal| {
        Ok(vocabulary.id_of(literal)?.or(vocabulary.id_of(&in_alphabet(literal))?))
    })?;
    let columns = vocabulary.columns(&specials, false).within(|| vocab_name.to_owned())?;
    if settings.patterns.is_none() && vocabulary.id_of("!</w>")?.is_some() {
        let columns = columns.with_word_ends(WORD_END).map_err(in_file).within(|| vocab_name.to_owned())?;
        let normalizer = vec!["nfc".into(), "lowercase".into(), word_step(&[CLIP[0].to_owned()])];
        // CLIP's own tokenizer also looks for special tokens in the lowercased text.
        let is_found = |(literal, _): &&(String, u32)| is_in_any_case(literal, &normalizer[..2]);
        let rules = specials
            .iter()
            .filter(is_found)
            .map(|(literal, _)| (literal.clone(), "any_case".to_owned()))
            .collect();
        let model = Model::new(columns, false, specials, vec![WORD.into()], DecodeErrors::Replace);
        return Ok(Model { normalizer, special_rules: rules, ..model });
    }
    columns.check_specials(&specials).map_err(in_file).within(|| vocab_name.to_owned())?;
    let patterns = settings.patterns.unwrap_or_else(|| vec![gpt2_pattern().into()]);
    Ok(Model::new(columns, false, specials, patterns, DecodeErrors::Replace))
}

fn read_lines(data: &[u8], vocabulary: &mut Vocabulary) -> Result<()> {
    let text = text_of(data)?;
    let lines = text.split('\n').enumerate().skip(usize::from(text.starts_with("#version")));
    let lines = lines.map(|(index, line)| (index + 1, line.strip_suffix('\r').unwrap_or(line)));
    let lines = lines.filter(|(_, line)| !line.is_empty());
    for (number, line) in lines.clone() {
        let place = || format!("line {number}");
        let usual = split(line).filter(|(left, right)| !left.is_empty() && !right.is_empty());
        let (left, right) = match usual {
            Some(pair) => pair,
            None => split_merge_line(line, vocabulary).within(place)?,
        };
        vocabulary.add_merge(left, right).within(place)?;
    }
    vocabulary
        .check_distinct(|rank| format!("line {}", lines.clone().nth(rank).map_or(0, |(number, _)| number)))
}

/// Splits a line with several spaces at the one space where both parts and their concatenation are in the vocabulary.
fn split_merge_line<'a>(line: &'a str, vocabulary: &Vocabulary) -> Result<(&'a str, &'a str)> {
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
                "is {line}, but must be two tokens of the vocabulary separated by a space"
            )))
        }
    }
}
