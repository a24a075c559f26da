//! Makes a model of tokens with ranks, which are ids: the content of a .tiktoken file, a tekken.json and tiktoken's objects.

use hashbrown::{HashMap, HashSet};

use super::specials::Specials;
use crate::error::{Error, Result, quoted};
use crate::memory::TryReserve;
use crate::model::CheckedColumns;
use crate::model_file::{DecodeErrors, LARGEST_ID, Model, PatternText, base64, in_file};
use crate::vocabulary::rank_merges;

/// The name of what is allocated, for [`Error::OutOfMemory`].
const WHAT: &str = "the tokens of a file";

/// Tokens and ranks, in the order of a file.
#[derive(Default)]
pub(super) struct RankList {
    bytes: Vec<u8>,
    /// Rank, start and end in `bytes`.
    tokens: Vec<(u32, usize, usize)>,
}

impl RankList {
    /// Adds a token in base64.
    pub fn push(&mut self, rank: u32, coded: &[u8]) -> Result<()> {
        let start = self.bytes.len();
        base64::append(coded, &mut self.bytes)?;
        if self.bytes.len() == start {
            return Err(Error::Model("a token is empty; remove it".into()));
        }
        self.tokens.try_push((rank, start, self.bytes.len()), WHAT)
    }

    pub fn n_tokens(&self) -> usize {
        self.tokens.len()
    }

    /// Returns the columns of the tokens with ranks below `n_ranks`; an id is the rank + `first`.
    pub fn columns(mut self, n_ranks: u32, first: u32) -> Result<CheckedColumns> {
        self.tokens.retain(|&(rank, ..)| rank < n_ranks);
        self.tokens.sort_by_key(|&(rank, ..)| rank);
        if let Some(twice) = self.tokens.windows(2).find(|two| two[0].0 == two[1].0) {
            let rank = twice[0].0;
            return Err(Error::Model(format!("two tokens have rank {rank}; give each token its own rank")));
        }
        let n_tokens = self.n_tokens();
        let (mut ids, mut ends) = (Vec::with_reserved(n_tokens, WHAT)?, Vec::with_reserved(n_tokens, WHAT)?);
        let mut bytes = Vec::with_reserved(self.bytes.len(), WHAT)?;
        for (rank, start, end) in self.tokens {
            ids.push(rank + first);
            bytes.extend_from_slice(&self.bytes[start..end]);
            ends.push(bytes.len() as u64);
        }
        CheckedColumns::new(ids, bytes, ends, Vec::new(), true, Vec::new()).map_err(in_file)
    }
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
    specials: &Specials,
    pattern: PatternText,
) -> Result<Model> {
    let given = columns.borrowed(&[]);
    let mut id_of = HashMap::new();
    if let Specials::Next(literals) = specials {
        let wanted: HashSet<&[u8]> = literals.iter().map(String::as_bytes).collect();
        id_of.extend(
            given.tokens().filter(|(_, token)| wanted.contains(token)).map(|(id, token)| (token, id)),
        );
    }
    let next = n_ranks.max(given.ids.last().map_or(0, |&id| id + 1));
    let specials = specials.ids(next, |literal| Ok(id_of.get(literal.as_bytes()).copied()))?;
    drop(id_of);
    let is_named = |(literal, id): &&(String, u32)| given.token_of(*id) == Some(literal.as_bytes());
    let mut alone: HashSet<u32> = specials.iter().filter(is_named).map(|&(_, id)| id).collect();
    if !alone.is_empty() {
        let unreachable = rank_merges::pairs(given.bytes, given.ends)?.unreachable;
        let unreachable: HashSet<u32> = unreachable.iter().map(|&index| given.ids[index as usize]).collect();
        alone.retain(|id| unreachable.contains(id));
    }
    let columns = columns.without(&alone)?;
    columns.borrowed(&specials).check_specials().map_err(in_file)?;
    let (columns, ignore_merges) = columns.into_canonical_form().map_err(in_file)?;
    Ok(Model::new(columns, ignore_merges, specials, pattern, DecodeErrors::Replace))
}
