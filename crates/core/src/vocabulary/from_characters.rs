//! Builds a vocabulary in which merging starts with characters ([`super::characters`]).

use super::characters::{Characters, Unknown, fallback_byte};
use super::{MAX_RANKS, MergeTable, MergedIds, NONE, Tokens, Vocabulary, WHAT};
use crate::error::{Error, Result};
use crate::memory::{TryReserve, filled};

impl Vocabulary {
    /// Creates a vocabulary in which merging starts with characters. `priorities` has one for each token, or `u32::MAX`
    /// for a token that is found only as a whole; then there are no `merges`, since any two neighbours whose joined
    /// bytes are a token merge. `unknown` is what characters without a token become, if their bytes have none either.
    ///
    /// [`Error::Model`] if the space or a fallback byte has no token, or if a piece has a character without one.
    pub fn from_characters(
        tokens: &Tokens,
        merges: Vec<[u32; 3]>,
        priorities: Option<&[u32]>,
        unknown: Option<Unknown>,
    ) -> Result<Self> {
        let (mut spelled, mut fallback) = (Tokens::default(), Vec::new());
        for (id, token) in tokens.iter() {
            match fallback_byte(token) {
                Some(byte) => {
                    fallback.try_push(id, WHAT)?;
                    spelled.push(id, &[byte])?;
                }
                None => spelled.push(id, token)?,
            }
        }
        let mut vocabulary = Self::without_merges(spelled, &fallback)?;
        let is_missing = |&byte: &u8| vocabulary.id_of_byte(byte).is_none();
        if unknown.is_none()
            && let Some(byte) = (0..=255).find(is_missing)
        {
            return Err(Error::Model(format!(
                "the vocabulary has no token <0x{byte:02X}> for byte {byte}, so encoding could lose text; byte fallback needs \
                 all 256 of them"
            )));
        }
        if unknown.is_none() && vocabulary.id_of_character(' ').is_none() {
            return Err(Error::Model(
                "the vocabulary has no token \u{2581}, so spaces would become other ids than in the file's library: add one".into(),
            ));
        }
        let Some(priorities) = priorities else {
            // Such a merge would also join characters without a token with their neighbors, across the ends of units.
            let stands_for_others = |&&id: &&u32| {
                fallback.binary_search(&id).is_ok() || unknown.is_some_and(|unknown| unknown.id == id)
            };
            if let Some(id) = merges.iter().flat_map(|merge| &merge[..2]).find(stands_for_others) {
                return Err(Error::Model(format!(
                    "a merge joins id {id}, which stands for characters without a token; use pairloom.dropin.tokenizers"
                )));
            }
            let mut vocabulary = Self::with_merges(vocabulary, merges, false)?;
            let (last_equal, whole, ascii) = (Vec::new(), Vec::new(), vocabulary.ascii_ids());
            vocabulary.characters = Some(Characters { last_equal, ascii, whole, fallback, unknown });
            return Ok(vocabulary);
        };
        // Columns of a model are in the order of the ids.
        let numbered = |id: u32| tokens.ids.binary_search(&id).map_or(NONE, |index| priorities[index]);
        let mut pairs = pairs(&vocabulary)?;
        pairs.retain(|&[_, _, merged]| numbered(merged) != NONE);
        pairs.sort_by_key(|&[_, _, merged]| numbered(merged));
        if pairs.len() > MAX_RANKS {
            return Err(Error::Model(format!(
                "{} pairs are too many; at most {MAX_RANKS} are allowed",
                pairs.len()
            )));
        }
        let mut last_equal = Vec::with_reserved(pairs.len(), WHAT)?;
        for equal in pairs.chunk_by(|one, other| numbered(one[2]) == numbered(other[2])) {
            let last = (last_equal.len() + equal.len() - 1) as u32;
            last_equal.extend(equal.iter().map(|_| last));
        }
        let mut whole = Vec::new();
        for (&id, &priority) in tokens.ids.iter().zip(priorities) {
            let Some(piece) = vocabulary.token(id).filter(|_| fallback.binary_search(&id).is_err()) else {
                continue;
            };
            if priority == NONE {
                whole.try_push(id, WHAT)?;
                continue;
            }
            let Ok(text) = std::str::from_utf8(piece) else {
                return Err(Error::Model(format!("token {id} is not UTF-8; pieces must be text")));
            };
            let is_missing = |&character: &char| vocabulary.id_of_character(character).is_none();
            if let Some(character) = text.chars().find(is_missing) {
                return Err(Error::Model(format!(
                    "token {id}, {text:?}, contains the character {character:?}, which is not a token itself; pairloom does \
                     not support such a vocabulary"
                )));
            }
        }
        vocabulary.merge_table = MergeTable::new(vocabulary.n_ids, pairs.len(), pairs.len())?;
        vocabulary.merged_ids = MergedIds::by_rank(&pairs)?;
        for (rank, pair) in (0..).zip(&pairs) {
            vocabulary.merge_table.insert(pair[0], pair[1], rank);
        }
        vocabulary.merges = pairs;
        let ascii = vocabulary.ascii_ids();
        vocabulary.characters = Some(Characters { last_equal, ascii, whole, fallback, unknown });
        Ok(vocabulary)
    }

    /// Returns what the vocabulary has in addition if merging starts with characters.
    #[inline]
    pub(crate) fn characters(&self) -> Option<&Characters> {
        self.characters.as_ref()
    }

    /// Returns the id of each character of ASCII, if it has one.
    fn ascii_ids(&self) -> [Option<u32>; 128] {
        std::array::from_fn(|byte| self.id_of(&[byte as u8]))
    }

    /// Returns the id of a character that has a token.
    pub(crate) fn id_of_character(&self, character: char) -> Option<u32> {
        self.id_of(character.encode_utf8(&mut [0; 4]).as_bytes())
    }
}

/// Returns every pair of tokens whose joined bytes are a token: left id, right id, merged id.
///
/// Tokens are cut only where both parts have the length of some token. Tokens of `n` bytes in total have at most
/// `sqrt(2 n)` different lengths, so even one huge token takes little time.
pub(super) fn pairs(vocabulary: &Vocabulary) -> Result<Vec<[u32; 3]>> {
    let longest = vocabulary.tokens().map(|(_, token)| token.len()).max().unwrap_or(0);
    let mut is_length = filled(longest + 1, false, WHAT)?;
    vocabulary.tokens().for_each(|(_, token)| is_length[token.len()] = true);
    let n_lengths = is_length.iter().filter(|&&is_length| is_length).count();
    let mut lengths = Vec::with_reserved(n_lengths, WHAT)?;
    lengths.extend((1..=longest).filter(|&length| is_length[length]));
    let mut found = Vec::new();
    for (id, token) in vocabulary.tokens() {
        for &cut in lengths.iter().take_while(|&&cut| cut < token.len()) {
            if !is_length[token.len() - cut] {
                continue;
            }
            let (left, right) = token.split_at(cut);
            // At a third of the cuts the left part is not a token, so the right part need not be hashed.
            if let Some(left) = vocabulary.id_of(left)
                && let Some(right) = vocabulary.id_of(right)
            {
                found.try_push([left, right, id], WHAT)?;
            }
        }
    }
    Ok(found)
}
