//! Reads Mistral's tekken.json: ranks in base64 under `vocab`, the pattern under `config`.
//!
//! Special tokens come first, so an ordinary token's id is its rank plus the number of special tokens. Only the first
//! `default_vocab_size` ids are used. A file without a list of special tokens (up to version v7) has those that mistral-common
//! defines; ids that are not listed are `<SPECIAL_n>`.

use std::mem::replace;

use super::node::{Node, duplicate_key_error, missing};
use super::ranks::{self, number_of};
use super::specials::Special;
use crate::error::{Error, Result, quoted};
use crate::model_file::json::{Json, Within};
use crate::model_file::{Model, read_id, text_of};
use crate::pretokens::check_run_as_written;
use crate::vocabulary::Tokens;

/// The first special tokens that mistral-common uses for a file that lists none.
const DEFAULT_SPECIALS: [&str; 20] = [
    "<unk>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CALLS]",
    "[IMG]",
    "<pad>",
    "[IMG_BREAK]",
    "[IMG_END]",
    "[PREFIX]",
    "[MIDDLE]",
    "[SUFFIX]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[TOOL_CONTENT]",
];
const MAX_SPECIALS: u32 = 100_000;

/// Returns whether a file begins like an object with tekken's `config`, `vocab` or `special_tokens` first, or has its type.
pub fn is_begin(head: &[u8]) -> bool {
    let mut compact = head[..head.len().min(200)].to_vec();
    compact.retain(|byte| !byte.is_ascii_whitespace());
    let begins: [&[u8]; 3] = [b"{\"config\":{", b"{\"vocab\":[{", b"{\"special_tokens\":[{"];
    begins.iter().any(|begin| compact.starts_with(begin))
        || memchr::memmem::find(&compact, b"\"type\":\"Tekken\"").is_some()
}

/// Reads the file.
pub fn read(data: &[u8]) -> Result<Model> {
    let mut json = Json::new(text_of(data)?, 0);
    let (mut vocab, mut config, mut listed) = (None, None, None);
    json.object(|json, key| {
        let is_first = match &*key {
            "vocab" => vocab.replace(read_vocab(json)?).is_none(),
            "config" => config.replace(Node::read(json)?).is_none(),
            "special_tokens" => listed.replace(Node::read(json)?).is_none(),
            _ => json.skip().is_ok(),
        };
        if is_first { Ok(()) } else { Err(duplicate_key_error(&key)) }
    })?;
    json.expect_end()?;
    let (vocab, config) = (vocab.ok_or_else(|| missing("vocab"))?, config.ok_or_else(|| missing("config"))?);
    let read_config = || {
        let pattern = config.string("pattern")?;
        check_run_as_written(pattern)?; // mistral-common runs it with tiktoken
        let number = |key| number_of(config.take(key)?.text.as_bytes()).within(|| format!("'{key}'"));
        Ok((pattern.to_owned(), number("default_vocab_size")?, number("default_num_special_tokens")?))
    };
    let (pattern, n_ids, n_specials) = read_config().within(|| "config".into())?;
    let n_ranks = n_ids.checked_sub(n_specials).filter(|&n| n as usize <= vocab.ids.len());
    let Some(n_ranks) = n_ranks.filter(|_| n_specials <= MAX_SPECIALS) else {
        return Err(Error::Model(format!(
            "config asks for {n_ids} ids, {n_specials} of them for special tokens, which does not fit the {} tokens of vocab; \
             the file is damaged",
            vocab.ids.len()
        )));
    };
    let columns = ranks::columns(vocab, n_ranks, n_specials).within(|| "vocab".into())?;
    let n_missing = n_ranks as usize - columns.tokens.ids.len();
    if n_missing > 0 {
        return Err(Error::Model(format!(
            "vocab lacks {n_missing} of the ranks below {n_ranks}; the file is damaged"
        )));
    }
    let listed = listed.filter(|node| node.text != "null");
    let version = config.take("version").and_then(|node| node.as_string("'version'")).unwrap_or_default();
    if listed.is_none() && version.trim_start_matches('v').parse::<u32>().is_ok_and(|number| number > 7) {
        return Err(Error::Model(format!(
            "special_tokens is missing, but a file of version {version} must list them"
        )));
    }
    ranks::model(columns, n_ids, &specials(listed.as_ref(), n_specials)?, vec![pattern])
}

fn read_vocab(json: &mut Json<'_>) -> Result<Tokens> {
    let mut found = Tokens::default();
    json.list(|json, index| {
        let mut read = || {
            let (mut rank, mut coded) = (None, None);
            json.object(|json, key| {
                match &*key {
                    "rank" => rank = Some(read_id(json).within(|| "'rank'".into())?),
                    "token_bytes" => coded = Some(json.string()?),
                    _ => json.skip()?,
                }
                Ok(())
            })?;
            let coded = coded.ok_or_else(|| missing("token_bytes"))?;
            ranks::push_coded(&mut found, rank.ok_or_else(|| missing("rank"))?, coded.as_bytes())
        };
        read().within(|| format!("vocab[{index}]"))
    })?;
    Ok(found)
}

/// Returns all `n` special tokens.
fn specials(listed: Option<&Node<'_>>, n: u32) -> Result<Vec<Special>> {
    let mut specials: Vec<Special> = (0..n).map(|id| (format!("<SPECIAL_{id}>"), Some(id))).collect();
    let Some(listed) = listed else {
        specials.iter_mut().zip(DEFAULT_SPECIALS).for_each(|((literal, _), name)| name.clone_into(literal));
        return Ok(specials);
    };
    let mut is_listed = vec![false; n as usize];
    for (index, entry) in listed.as_list("special_tokens")?.iter().enumerate() {
        let read = || {
            let rank = number_of(entry.take("rank")?.text.as_bytes()).within(|| "'rank'".into())?;
            Ok((rank, entry.string("token_str")?))
        };
        let (rank, literal) = read().within(|| format!("special_tokens[{index}]"))?;
        match specials.get_mut(rank as usize) {
            Some((name, _)) if !literal.is_empty() => {
                if replace(&mut is_listed[rank as usize], true) {
                    return Err(Error::Model(format!(
                        "special_tokens[{index}]: {} and {} have the same rank, {rank}",
                        quoted(name),
                        quoted(literal)
                    )));
                }
                literal.clone_into(name);
            }
            _ => {
                return Err(Error::Model(format!(
                    "special_tokens[{index}]: {} must have a text and a rank below {n}, not rank {rank}",
                    quoted(literal)
                )));
            }
        }
    }
    Ok(specials)
}
