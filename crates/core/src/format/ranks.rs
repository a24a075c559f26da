//! Makes a model of tokens with ranks, which are ids: the content of a .tiktoken file, a tekken.json and tiktoken's objects.

use hashbrown::{HashMap, HashSet};

use super::specials::{Special, with_ids};
use crate::error::{Error, Result, quoted};
use crate::model::{CheckedColumns, Columns};
use crate::model_file::{DecodeErrors, LARGEST_ID, Model, base64, in_file};
use crate::vocabulary::{Tokens, rank_merges};

/// Adds a token in base64 to those of a file, whose ids are ranks.
pub(super) fn push_coded(tokens: &mut Tokens, rank: u32, coded: &[u8]) -> Result<()> {
    let start = tokens.bytes.len();
    base64::append(coded, &mut tokens.bytes)?;
    if tokens.bytes.len() == start {
        return Err(Error::Model("a token is empty; remove it".into()));
    }
    tokens.end(rank)
}

/// Returns the columns of the tokens with ranks below `n_ranks`; an id is the rank + `first`.
pub(super) fn columns(tokens: Tokens, n_ranks: u32, first: u32) -> Result<CheckedColumns> {
    let mut tokens = tokens.sorted()?;
    tokens.truncate(tokens.ids.partition_point(|&rank| rank < n_ranks));
    if let Some(twice) = tokens.ids.windows(2).find(|two| two[0] == two[1]) {
        let rank = twice[0];
        return Err(Error::Model(format!("two tokens have rank {rank}; give each token its own rank")));
    }
    tokens.ids.iter_mut().for_each(|id| *id += first);
    Columns { tokens, ranks: true, ..Columns::default() }.checked().map_err(in_file)
}

/// Parses a rank or another number.
pub(super) fn number_of(digits: &[u8]) -> Result<u32> {
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(digits).unwrap_or_default();
    match text.parse() {
        Ok(rank) if is_number && rank <= LARGEST_ID => Ok(rank),
        _ => {
            let digits = quoted(&String::from_utf8_lossy(digits));
            Err(Error::Model(format!("{digits} is not an integer from 0 to {LARGEST_ID}")))
        }
    }
}

/// Makes the model of tokens whose ids are ranks. A token that is named as special, and that merging cannot make, becomes
/// only a special token. The next new special token gets the id `n_ranks` or a larger one.
pub fn model(
    columns: CheckedColumns,
    n_ranks: u32,
    specials: &[Special],
    patterns: Vec<String>,
) -> Result<Model> {
    let given = &columns.tokens;
    let without_id = specials.iter().filter(|(_, id)| id.is_none());
    let wanted: HashSet<&[u8]> = without_id.map(|(literal, _)| literal.as_bytes()).collect();
    let found = given.iter().filter(|(_, token)| wanted.contains(token));
    let id_of: HashMap<&[u8], u32> = found.map(|(id, token)| (token, id)).collect();
    let next = n_ranks.max(given.ids.last().map_or(0, |&id| id + 1));
    let specials = with_ids(specials, next, |literal| Ok(id_of.get(literal.as_bytes()).copied()))?;
    drop(id_of);
    let is_named = |(literal, id): &&(String, u32)| columns.token_of(*id) == Some(literal.as_bytes());
    let mut alone: HashSet<u32> = specials.iter().filter(is_named).map(|&(_, id)| id).collect();
    if !alone.is_empty() {
        let unreachable = rank_merges::pairs(&given.bytes, &given.ends)?.unreachable;
        let unreachable: HashSet<u32> = unreachable.iter().map(|&index| given.ids[index as usize]).collect();
        alone.retain(|id| unreachable.contains(id));
    }
    let columns = columns.without(&alone)?;
    columns.check_specials(&specials).map_err(in_file)?;
    let (columns, ignore_merges) = columns.into_canonical_form().map_err(in_file)?;
    Ok(Model::new(columns, ignore_merges, specials, patterns, DecodeErrors::Replace))
}
