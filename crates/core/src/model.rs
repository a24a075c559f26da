//! Validation of a tokenizer's columns (ids, bytes, ends, merges): the invariants of every model.
//!
//! Models come from files, from training, from callers and from other libraries. Readers of file formats check what they
//! can while they read, and name the location in the file. Cost: linear in the bytes of the tokens, a few milliseconds for
//! 100,000 tokens.

use std::cell::LazyCell;
use std::ops::Deref;

use hashbrown::HashSet;

use crate::error::{Error, Result};
use crate::memory::{TryReserve, copied};
use crate::pretokens::{Pretokenizer, normalizer};
use crate::vocabulary::characters::{CHARACTERS, Unknown, fallback_byte};
use crate::vocabulary::{MAX_IDS, Tokens, Vocabulary, rank_merges};

/// The tokens and merges of a model.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// The tokens.
    pub tokens: Tokens,
    /// Left id, right id and merged id of each merge.
    pub merges: Vec<[u32; 3]>,
    /// Whether ids are ranks; if so, there are no merges.
    pub ranks: bool,
    /// The priority of each token in merging, from SentencePiece's scores ([`Vocabulary::from_characters`]);
    /// [`NO_PRIORITY`] for a token that no merge makes. Empty if `merges` or `ranks` define what merges.
    pub priorities: Vec<u32>,
}

/// The priority of a token that no merge makes.
pub const NO_PRIORITY: u32 = u32::MAX;

/// Columns that satisfy the invariants of a model ([`Columns::checked`]).
#[derive(Debug, PartialEq, Eq)]
pub struct CheckedColumns(Columns);

impl Deref for CheckedColumns {
    type Target = Columns;

    fn deref(&self) -> &Columns {
        &self.0
    }
}

impl CheckedColumns {
    /// Creates columns from trained merges: pairs of symbols, of which 0..=255 are byte values and 256 + r is the
    /// result of merge r. Bytes get ids from `first_byte` on, in `byte_order`; results get higher ones, from
    /// `first_merge` on.
    pub fn from_pairs(
        pairs: &[[u32; 2]],
        byte_order: &[u8; 256],
        first_byte: u32,
        first_merge: u32,
    ) -> Result<Self> {
        let n_tokens = byte_order.len() + pairs.len();
        let mut tokens = Tokens::with_room(n_tokens, 8 * n_tokens)?;
        let mut merges: Vec<[u32; 3]> = Vec::with_reserved(pairs.len(), WHAT)?;
        // The index of each byte value's token: these are in `byte_order`.
        let mut index_of_byte = [0; 256];
        for (index, &byte) in byte_order.iter().enumerate() {
            index_of_byte[usize::from(byte)] = index;
            tokens.push(first_byte + index as u32, &[byte])?;
        }
        for (merged, pair) in (first_merge..).zip(pairs) {
            let parts =
                pair.map(|symbol| index_of_byte.get(symbol as usize).copied().unwrap_or(symbol as usize));
            let [Some(&left), Some(&right)] = parts.map(|index| tokens.ids.get(index)) else {
                return Err(Error::Invalid(format!(
                    "merge {} uses symbol {}, which is made later",
                    merges.len(),
                    parts[0].max(parts[1])
                )));
            };
            tokens.push_joined(merged, parts)?;
            merges.push([left, right, merged]);
        }
        Columns { tokens, merges, ..Columns::default() }.checked()
    }

    /// Adds priorities as files hold them: the largest id stands for [`NO_PRIORITY`].
    pub(crate) fn with_priorities(self, mut priorities: Vec<u32>) -> Result<Self> {
        priorities
            .iter_mut()
            .filter(|priority| **priority >= MAX_IDS as u32 - 1)
            .for_each(|most| *most = NO_PRIORITY);
        Columns { priorities, ..self.0 }.checked()
    }

    /// Builds the vocabulary; with `ignore_merges` a pretoken that is a token is encoded as that token without merging.
    pub fn vocabulary(&self, ignore_merges: bool) -> Result<Vocabulary> {
        let tokens = self.tokens.try_clone()?;
        if self.ranks {
            return Vocabulary::from_ranks(tokens);
        }
        Vocabulary::from_merges(tokens, copied(&self.merges, WHAT)?, ignore_merges)
    }

    /// Returns a copy, or [`Error::OutOfMemory`].
    pub fn try_clone(&self) -> Result<Self> {
        Ok(CheckedColumns(Columns {
            tokens: self.tokens.try_clone()?,
            merges: copied(&self.merges, WHAT)?,
            ranks: self.ranks,
            priorities: copied(&self.priorities, WHAT)?,
        }))
    }

    /// Returns the canonical columns ([`Self::canonical_form`]) or else these, and whether whole pretokens are looked
    /// up.
    pub fn into_canonical_form(self) -> Result<(Self, bool)> {
        Ok(match self.canonical_form()? {
            Some(columns) => {
                let is_by_ranks = columns.ranks;
                (columns, is_by_ranks)
            }
            None => (self, true),
        })
    }

    /// Replaces `suffix`, which marks tokens that end a word, by a space. That space merges with the last byte of the
    /// word before anything else.
    pub(crate) fn with_word_ends(self, suffix: &str) -> Result<Self> {
        let mut tokens = Tokens::with_room(self.tokens.ids.len(), self.tokens.bytes.len())?;
        let mut of_bytes = [[None; 256]; 2];
        for (id, token) in self.tokens.iter() {
            let last = token.strip_suffix(suffix.as_bytes());
            tokens.bytes.extend_from_slice(last.unwrap_or(token));
            tokens.bytes.extend(last.map(|_| b' '));
            tokens.end(id)?;
            if let &[byte] = last.unwrap_or(token) {
                of_bytes[usize::from(last.is_some())][usize::from(byte)] = Some(id);
            }
        }
        let mut merges = Vec::with_reserved(self.merges.len() + 256, WHAT)?;
        for (byte, pair) in (0..=u8::MAX).zip(of_bytes[0].iter().zip(&of_bytes[1])) {
            let ((Some(inner), Some(last)), Some(space)) = (pair, of_bytes[0][usize::from(b' ')]) else {
                return Err(Error::Invalid(format!(
                    "byte 0x{byte:02x} lacks a token, or a token that ends with {suffix}; with this word suffix, each byte \
                     needs both"
                )));
            };
            merges.push([*inner, space, *last]);
        }
        merges.extend_from_slice(&self.merges);
        Columns { tokens, merges, ..Columns::default() }.checked()
    }

    /// Returns the columns without the tokens of these ids, which no merge may use.
    pub(crate) fn without(self, removed: &HashSet<u32>) -> Result<Self> {
        if removed.is_empty() {
            return Ok(self);
        }
        let mut tokens = Tokens::with_room(self.tokens.ids.len(), self.tokens.bytes.len())?;
        for (id, token) in self.tokens.iter().filter(|(id, _)| !removed.contains(id)) {
            tokens.push(id, token)?;
        }
        Ok(CheckedColumns(Columns { tokens, ..self.0 }))
    }

    /// Builds the vocabulary, and what splits text for it: patterns that split in turn, or [`CHARACTERS`] alone.
    pub fn engine<S: AsRef<str>>(
        &self,
        ignore_merges: bool,
        patterns: &[S],
        normalizer: Vec<normalizer::Step>,
    ) -> Result<(Vocabulary, Pretokenizer)> {
        let (vocabulary, pretokenizer) = if matches!(patterns, [only] if only.as_ref() == CHARACTERS) {
            let priorities = (!self.priorities.is_empty()).then_some(&*self.priorities);
            let drops_spaces = normalizer.iter().any(|step| matches!(step, normalizer::Step::Words(_)));
            let unknown = normalizer.iter().find_map(|step| match *step {
                normalizer::Step::Unknown { id, is_fused } => Some(Unknown { id, is_fused, drops_spaces }),
                _ => None,
            });
            let merges = copied(&self.merges, WHAT)?;
            let vocabulary = Vocabulary::from_characters(&self.tokens, merges, priorities, unknown)?;
            let pretokenizer = Pretokenizer::of_characters(&vocabulary)?;
            (vocabulary, pretokenizer)
        } else if self.priorities.is_empty() {
            (self.vocabulary(ignore_merges)?, Pretokenizer::sequence(patterns)?)
        } else {
            return Err(Error::Invalid(format!(
                "tokens with priorities need the pattern {CHARACTERS:?}, because they merge characters"
            )));
        };
        Ok((vocabulary, pretokenizer.with_normalizer(normalizer)))
    }

    /// Returns the canonical columns among all that encode every text as these do when whole pretokens are looked up
    /// first; `None` if these are the only ones, since their pairs are not those of their ranks.
    ///
    /// They are pairs if merging can make every token of several bytes, so that no lookup is needed, else ranks.
    pub fn canonical_form(&self) -> Result<Option<CheckedColumns>> {
        let found = rank_merges::pairs(&self.tokens.bytes, &self.tokens.ends)?;
        let mut needed = found.rows;
        for token in needed.as_flattened_mut() {
            *token = self.tokens.ids[*token as usize];
        }
        if !self.ranks {
            // The pairs must be in the order of the ids that they make, and include each token's one pair. Further
            // pairs of the same token, which other tools write, never occur side by side.
            let ascend = self.merges.windows(2).all(|two| two[0][2] <= two[1][2]);
            if !ascend || !found.with_missing_byte.is_empty() || !self.has_merges(&needed)? {
                return Ok(None);
            }
        }
        let ranks = !found.unreachable.is_empty() || !found.with_missing_byte.is_empty();
        if ranks {
            needed = Vec::new();
        }
        let (tokens, priorities) = (self.tokens.try_clone()?, Vec::new());
        Ok(Some(CheckedColumns(Columns { tokens, merges: needed, ranks, priorities })))
    }

    /// Returns whether all of `needed` are among the merges.
    fn has_merges(&self, needed: &[[u32; 3]]) -> Result<bool> {
        if self.merges == needed {
            return Ok(true);
        }
        let mut given: HashSet<&[u32; 3]> = HashSet::new();
        given.try_reserve(self.merges.len()).map_err(Error::out_of_memory(WHAT))?;
        given.extend(&self.merges);
        Ok(needed.iter().all(|merge| given.contains(merge)))
    }
}

/// What is allocated, in the message of [`Error::OutOfMemory`].
const WHAT: &str = "the columns of a model";

impl Columns {
    /// Returns the byte values that are not tokens, ascending. Empty if each has a fallback token such as `<0x41>`.
    pub fn missing_bytes(&self) -> Vec<u8> {
        let (mut is_token, mut has_fallback) = ([false; 256], [false; 256]);
        for (_, token) in self.tokens.iter() {
            if let &[byte] = token {
                is_token[usize::from(byte)] = true;
            } else if let Some(byte) = fallback_byte(token) {
                has_fallback[usize::from(byte)] = true;
            }
        }
        if has_fallback == [true; 256] {
            return Vec::new();
        }
        (0..=255).filter(|&byte| !is_token[usize::from(byte)]).collect()
    }

    /// Fails with [`Error::Invalid`] unless all of this holds: ids ascend; tokens are distinct and not empty; both
    /// parts and the result of a merge are tokens, and the result's bytes are those of the parts joined; no pair is
    /// listed twice.
    pub fn checked(self) -> Result<CheckedColumns> {
        self.check_tokens()?;
        self.check_merges()?;
        Ok(CheckedColumns(self))
    }

    /// Wraps columns that a reader has checked while it read them.
    pub(crate) fn assume_checked(self) -> CheckedColumns {
        debug_assert!(self.check_tokens().and_then(|()| self.check_merges()).is_ok());
        CheckedColumns(self)
    }

    /// Checks the tokens.
    pub(crate) fn check_tokens(&self) -> Result<()> {
        let Tokens { ids, bytes, ends } = &self.tokens;
        if ids.len() != ends.len() {
            return Err(Error::Invalid(format!(
                "there are {} token ids but {} token ends; each token needs one id and one end",
                ids.len(),
                ends.len()
            )));
        }
        if let Some(pair) = ids.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(Error::Invalid(format!(
                "token id {} comes after {}; ids must ascend",
                pair[1], pair[0]
            )));
        }
        if let Some(&largest) = ids.last()
            && largest as usize >= MAX_IDS
        {
            return Err(Error::Invalid(format!(
                "token id {largest} is too large; the largest id is {}",
                MAX_IDS - 1
            )));
        }
        let mut start = 0;
        for (&id, &end) in ids.iter().zip(ends) {
            if end <= start || end > bytes.len() as u64 {
                return Err(Error::Invalid(format!(
                    "token {id} goes from byte {start} to {end} of {}; a token needs at least one byte",
                    bytes.len()
                )));
            }
            start = end;
        }
        if start != bytes.len() as u64 {
            return Err(Error::Invalid(format!(
                "the tokens end at byte {start}, but there are {} bytes",
                bytes.len()
            )));
        }
        if !self.priorities.is_empty() && (self.priorities.len() != ids.len() || self.ranks) {
            return Err(Error::Invalid(format!(
                "there are {} priorities for {} tokens; give each token one priority, and use no other rule",
                self.priorities.len(),
                ids.len()
            )));
        }
        let mut seen = HashSet::new();
        seen.try_reserve(ids.len()).map_err(Error::out_of_memory("the check of a vocabulary"))?;
        for (index, id) in ids.iter().enumerate() {
            if !seen.insert(self.tokens.token(index)) {
                let token = self.tokens.token(index);
                let first = (0..index).find(|&other| self.tokens.token(other) == token).unwrap_or_default();
                return Err(Error::Invalid(format!(
                    "ids {} and {id} have the same bytes {:?}; each token must be unique",
                    ids[first],
                    String::from_utf8_lossy(&token[..token.len().min(60)])
                )));
            }
        }
        Ok(())
    }

    /// Checks the merges of tokens that are checked.
    pub(crate) fn check_merges(&self) -> Result<()> {
        if !self.priorities.is_empty() && !self.merges.is_empty() {
            return Err(Error::Invalid(
                "tokens with priorities cannot have merges; remove the merges".into(),
            ));
        }
        if self.ranks && !self.merges.is_empty() {
            return Err(Error::Invalid(format!(
                "a tokenizer with ranks cannot have merges, but there are {}; remove them",
                self.merges.len()
            )));
        }
        let mut seen = HashSet::new();
        seen.try_reserve(self.merges.len()).map_err(Error::out_of_memory("the check of merges"))?;
        for (rank, &[left, right, merged_id]) in self.merges.iter().enumerate() {
            let known = |id| {
                self.token_of(id).ok_or_else(|| {
                    Error::Invalid(format!(
                        "merge {rank} ({left}, {right}) -> {merged_id} uses id {id}, which is not a token; add the token or \
                         remove the merge"
                    ))
                })
            };
            if known(merged_id)?.strip_prefix(known(left)?) != Some(known(right)?) {
                return Err(Error::Invalid(format!(
                    "merge {rank} ({left}, {right}) makes token {merged_id}, whose bytes are not those of the two parts joined"
                )));
            }
            if !seen.insert((left, right)) {
                return Err(Error::Invalid(format!(
                    "merge {rank} repeats the pair ({left}, {right}) of an earlier merge; keep only the first"
                )));
            }
        }
        Ok(())
    }

    /// Fails with [`Error::Invalid`] unless special tokens are not empty, and distinct in text and in id, and one with
    /// the id of a token has its bytes (U+2581 for a space, if merging begins with characters).
    pub fn check_specials(&self, specials: &[(String, u32)]) -> Result<()> {
        const WHAT: &str = "the check of special tokens";
        // If merging begins with characters, U+2581 of a file is a space in tokens.
        let has_fallback = LazyCell::new(|| {
            self.tokens.iter().filter_map(|(_, token)| fallback_byte(token)).collect::<HashSet<u8>>().len()
                == 256
        });
        let (mut texts, mut ids) = (HashSet::new(), HashSet::new());
        texts.try_reserve(specials.len()).map_err(Error::out_of_memory(WHAT))?;
        ids.try_reserve(specials.len()).map_err(Error::out_of_memory(WHAT))?;
        for (text, id) in specials {
            let shown: String = text.chars().take(60).collect();
            if text.is_empty() {
                return Err(Error::Invalid(
                    "a special token is empty; it needs at least one character".into(),
                ));
            }
            if *id as usize >= MAX_IDS {
                return Err(Error::Invalid(format!(
                    "special token {shown:?} has id {id}; the largest is {}",
                    MAX_IDS - 1
                )));
            }
            if !texts.insert(text.as_str()) {
                return Err(Error::Invalid(format!("special token {shown:?} is listed twice; list it once")));
            }
            if !ids.insert(*id) {
                return Err(Error::Invalid(format!(
                    "special token {shown:?} has id {id}, like another one; give each its own id"
                )));
            }
            let is_other = |token: &[u8]| {
                token != text.as_bytes()
                    && !(*has_fallback && token == text.replace('\u{2581}', " ").as_bytes())
            };
            if self.token_of(*id).is_some_and(is_other) {
                return Err(Error::Invalid(format!(
                    "special token {shown:?} has id {id}, which belongs to a token with other bytes; give it another id"
                )));
            }
        }
        Ok(())
    }

    /// Returns the bytes of the token with this id, in columns that are checked.
    pub fn token_of(&self, id: u32) -> Option<&[u8]> {
        // Trained ids have no gaps: then the index follows from the first id.
        let ids = &self.tokens.ids;
        let guess = id.wrapping_sub(*ids.first()?) as usize;
        let index = match ids.get(guess) {
            Some(&found) if found == id => guess,
            _ => ids.binary_search(&id).ok()?,
        };
        Some(self.tokens.token(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        ids: &[u32],
        tokens: &[&str],
        merges: &[[u32; 3]],
        specials: &[(&str, u32)],
    ) -> std::result::Result<(), String> {
        let mut columns = Columns { merges: merges.to_vec(), ..Columns::default() };
        for (id, token) in ids.iter().zip(tokens) {
            columns.tokens.push(*id, token.as_bytes()).unwrap();
        }
        let specials: Vec<(String, u32)> =
            specials.iter().map(|&(text, id)| (text.to_string(), id)).collect();
        let checked = columns.checked().and_then(|columns| columns.check_specials(&specials));
        checked.map_err(|error| error.to_string())
    }

    #[test]
    fn columns_of_pairs_hold_their_joined_bytes_and_no_later_symbols() {
        let mut byte_order: [u8; 256] = std::array::from_fn(|index| index as u8);
        byte_order.swap(0, 97);
        let (a, b) = (97, 98);
        let columns = CheckedColumns::from_pairs(&[[a, b], [256, a]], &byte_order, 1, 300).unwrap();
        assert_eq!(columns.merges, [[1, 99, 300], [300, 1, 301]]);
        assert_eq!(
            [1, 98, 300, 301].map(|id| columns.token_of(id)),
            [&b"a"[..], b"\0", b"ab", b"aba"].map(Some)
        );
        assert!(CheckedColumns::from_pairs(&[[a, b], [257, a]], &byte_order, 1, 300).is_err());
    }

    #[test]
    fn check_of_valid_columns_with_and_without_gaps_passes() {
        assert_eq!(check(&[], &[], &[], &[]), Ok(()));
        assert_eq!(check(&[5, 6, 7], &["a", "b", "ab"], &[[5, 6, 7]], &[("ab", 7), ("<s>", 0)]), Ok(()));
        assert_eq!(check(&[1, 60, 900], &["a", "b", "ab"], &[[1, 60, 900]], &[]), Ok(()));
    }

    #[test]
    fn check_of_invalid_columns_names_the_defect() {
        /// Ids, tokens, merges, special tokens and part of the message.
        type Case<'a> = (&'a [u32], &'a [&'a str], &'a [[u32; 3]], &'a [(&'a str, u32)], &'a str);
        let cases: [Case<'_>; 10] = [
            (&[2, 1], &["a", "b"], &[], &[], "id 1 comes after 2"),
            (&[1, 1], &["a", "b"], &[], &[], "id 1 comes after 1"),
            (&[1, 2], &["a", ""], &[], &[], "at least one byte"),
            (&[1, 2], &["a", "a"], &[], &[], "ids 1 and 2 have the same bytes"),
            (&[1, 2], &["a", "b"], &[[1, 2, 3]], &[], "uses id 3"),
            (&[1, 2, 3], &["a", "b", "ba"], &[[1, 2, 3]], &[], "not those of the two parts joined"),
            (&[1, 3], &["a", "aa"], &[[1, 1, 3], [1, 1, 3]], &[], "repeats the pair"),
            (&[97], &["a"], &[], &[("<s>", 97)], "with other bytes"),
            (&[97], &["a"], &[], &[("<s>", 5), ("<t>", 5)], "like another one"),
            (&[1, 1 << 24], &["a", "b"], &[], &[], "16777216 is too large"),
        ];
        for (ids, tokens, merges, specials, expected) in cases {
            let message = check(ids, tokens, merges, specials).expect_err(expected);
            assert!(message.contains(expected), "{message}");
        }
        assert!(check(&[97], &["a"], &[], &[("", 5)]).is_err());
        assert!(check(&[97], &["a"], &[], &[("x", 1 << 24)]).is_err());
        let tokens = |bytes: &[u8]| Tokens { ids: vec![1], bytes: bytes.to_vec(), ends: vec![1] };
        let merges = vec![[1, 1, 1]];
        assert!(
            Columns { tokens: tokens(b"a"), merges, ranks: true, ..Columns::default() }.checked().is_err()
        );
        assert!(Columns { tokens: tokens(b"ab"), ..Columns::default() }.checked().is_err());
        let uneven = Tokens { ids: vec![1], bytes: b"ab".to_vec(), ends: vec![1, 2] };
        let message = Columns { tokens: uneven, ..Columns::default() }.checked().unwrap_err().to_string();
        assert!(message.contains("1 token ids but 2 token ends"));
    }
}
