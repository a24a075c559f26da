//! Reads SentencePiece's `.model` files of type BPE: a Protocol Buffers message of pieces, scores and settings.
//!
//! Ids are those of `SentencePieceProcessor.encode(text)`. Control and unknown pieces become special tokens; as in
//! SentencePiece, their literals in a text stay text. Fields are those of sentencepiece_model.proto; unknown ones are skipped.

use crate::error::{Error, Result, quoted};
use crate::memory::TryReserve;
use crate::model::{Columns, NO_PRIORITY};
use crate::model_file::base64;
use crate::model_file::{DecodeErrors, Model};
use crate::pretokens::normalizer::{CHARSMAP, UNKNOWN};
use crate::vocabulary::Tokens;
use crate::vocabulary::characters::{CHARACTERS, SPACE_SYMBOL, fallback_byte};

const WHAT: &str = "the pieces of a vocabulary";

/// The type of a piece, with its number in both file formats.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Made by merging.
    Normal = 1,
    /// Stands for characters without a piece.
    Unknown = 2,
    /// Never made from text.
    Control = 3,
    /// Found as a whole before merging.
    UserDefined = 4,
    /// Made by merging, then split again.
    Unused = 5,
    /// A byte, for characters without a piece.
    Byte = 6,
}

impl Kind {
    /// Returns the kind for a number in a file.
    pub(super) fn numbered(number: u64) -> Result<Self> {
        use Kind::{Byte, Control, Normal, Unknown, Unused, UserDefined};
        let kinds = [Normal, Unknown, Control, UserDefined, Unused, Byte];
        let found = kinds.into_iter().find(|&kind| kind as u64 == number);
        found.ok_or_else(|| Error::Model(format!("a piece has unknown type {number}")))
    }
}

/// A piece of a vocabulary; its id is its index.
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) score: f32,
    pub(super) kind: Kind,
}

/// How text changes before it is matched with pieces.
pub(super) struct Normalization {
    /// A table that maps strings to strings; can be empty.
    pub(super) charsmap: Vec<u8>,
    /// Whether a space is put before each text.
    pub(super) has_prefix: bool,
    /// Whether spaces at the ends are removed, and runs of spaces become one.
    pub(super) collapses_spaces: bool,
}

/// Returns whether a file can be a `.model` file: it begins with a piece, which has a text and then a score or type, or with
/// the settings of training and normalization and then a piece (Gemma 4).
pub fn is_begin(mut head: &[u8]) -> bool {
    while let Some((0x12 | 0x1a, mut rest)) = head.split_first() {
        let n_bytes = varint(&mut rest).and_then(|n| usize::try_from(n).ok());
        let Some(after) = n_bytes.and_then(|n| rest.get(n..)) else { return false };
        head = after;
    }
    let &[0x0a, n_piece, 0x0a, n_text, ref rest @ ..] = head else { return false };
    let is_text_all = n_piece == n_text.wrapping_add(2);
    n_text < 0x80 && (is_text_all || matches!(rest.get(usize::from(n_text)), Some(0x15 | 0x18)))
}

/// Reads a file. [`Error::Model`] if it is damaged or cannot be expressed.
pub fn read(data: &[u8]) -> Result<Model> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut kind = 1;
    let mut has_fallback = false;
    let mut is_suffix = false;
    let mut escapes = true;
    let mut rewrites_decoded = false;
    let mut normalization = Normalization { charsmap: Vec::new(), has_prefix: true, collapses_spaces: true };
    fields(data, |number, field| {
        match (number, field) {
            (1, Field::Bytes(piece)) => pieces.try_push(read_piece(piece)?, WHAT)?,
            (2, Field::Bytes(trainer)) => fields(trainer, |number, field| {
                match (number, field) {
                    (3, Field::Number(value)) => kind = value,
                    (24, Field::Number(value)) => is_suffix = value != 0,
                    (35, Field::Number(value)) => has_fallback = value != 0,
                    _ => {}
                }
                Ok(())
            })?,
            (3, Field::Bytes(normalizer)) => fields(normalizer, |number, field| {
                match (number, field) {
                    (2, Field::Bytes(table)) => normalization.charsmap.try_extend(table, WHAT)?,
                    (3, Field::Number(value)) => normalization.has_prefix = value != 0,
                    (4, Field::Number(value)) => normalization.collapses_spaces = value != 0,
                    (5, Field::Number(value)) => escapes = value != 0,
                    _ => {}
                }
                Ok(())
            })?,
            (5, Field::Bytes(denormalizer)) => fields(denormalizer, |number, field| {
                rewrites_decoded |= matches!((number, field), (2, Field::Bytes([_, ..])));
                Ok(())
            })?,
            _ => {}
        }
        Ok(())
    })?;
    let refused = match kind {
        2 if is_suffix => "with treat_whitespace_as_suffix",
        2 if !escapes => "with escape_whitespaces=false",
        2 if rewrites_decoded => "with denormalization rules",
        2 => {
            let unknown = (0..).zip(&pieces).find(|(_, piece)| piece.kind == Kind::Unknown).map(|(id, _)| id);
            return model(pieces, &normalization, true, unknown.filter(|_| !has_fallback));
        }
        1 => "of type unigram (not BPE)",
        3 => "of type word",
        4 => "of type char",
        _ => "of an unknown type",
    };
    Err(Error::Model(format!(
        "pairloom cannot read a SentencePiece model {refused}; use the package sentencepiece"
    )))
}

fn read_piece(data: &[u8]) -> Result<Piece> {
    let mut piece = Piece { text: String::new(), score: 0.0, kind: Kind::Normal };
    fields(data, |number, field| {
        match (number, field) {
            (1, Field::Bytes(text)) => {
                let text = std::str::from_utf8(text);
                piece.text = text
                    .map_err(|_| Error::Model("a piece is not UTF-8; the file is damaged".into()))?
                    .to_owned();
            }
            (2, Field::Single(bits)) => piece.score = f32::from_bits(bits),
            (3, Field::Number(number)) => piece.kind = Kind::numbered(number)?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(piece)
}

/// Makes the model of pieces that merge by their scores. `are_ordinary`: control pieces in a text stay text; otherwise,
/// user-defined pieces become special tokens, too. `unknown`: the id for characters without a piece, if there is no byte
/// fallback.
pub(super) fn model(
    pieces: Vec<Piece>,
    normalization: &Normalization,
    are_ordinary: bool,
    unknown: Option<u32>,
) -> Result<Model> {
    let mut scores: Vec<f32> = Vec::with_reserved(pieces.len(), WHAT)?;
    scores.extend(pieces.iter().filter(|piece| piece.kind == Kind::Normal).map(|piece| piece.score));
    scores.sort_by(|one, other| other.total_cmp(one));
    // Not `dedup`: 0 and -0 are equal, but SentencePiece merges pieces of score 0 first.
    scores.dedup_by(|one, other| one.total_cmp(other).is_eq());
    let (mut tokens, mut priorities) = (Tokens::default(), Vec::new());
    let (mut specials, mut plain_specials): (Vec<(String, u32)>, Vec<String>) = (Vec::new(), Vec::new());
    for (id, piece) in (0..).zip(pieces) {
        let Piece { text, score, kind } = piece;
        let priority = match kind {
            Kind::Normal => scores.partition_point(|other| other.total_cmp(&score).is_gt()) as u32,
            Kind::UserDefined | Kind::Byte => NO_PRIORITY,
            Kind::Unknown | Kind::Control => {
                specials.try_push((text, id), WHAT)?;
                continue;
            }
            Kind::Unused => {
                return Err(Error::Model(format!(
                    "piece {id}, {}, is marked unused (set_vocabulary), which pairloom does not support; use the original file",
                    quoted(&text)
                )));
            }
        };
        if (kind == Kind::Byte) != fallback_byte(text.as_bytes()).is_some() {
            let text = quoted(&text);
            return Err(Error::Model(format!(
                "piece {id}, {text}: only pieces such as <0x41> can have type BYTE, and they must \
            have it; correct its type"
            )));
        }
        if kind == Kind::UserDefined && !normalization.charsmap.is_empty() && text.contains(SPACE_SYMBOL) {
            let text = quoted(&text);
            return Err(Error::Model(format!(
                "the user-defined piece {id}, {text}, contains a space, which the charsmap may change; pairloom does not \
                 support that"
            )));
        }
        if kind == Kind::UserDefined && !are_ordinary {
            plain_specials.push(text.clone());
            specials.try_push((text.clone(), id), WHAT)?;
        }
        if are_ordinary && text.contains(' ') {
            let text = quoted(&text);
            return Err(Error::Model(format!(
                "piece {id}, {text}, contains a space, but every space becomes {SPACE_SYMBOL} before merging, so no text can \
                 produce it: write {SPACE_SYMBOL}, or remove the piece"
            )));
        }
        tokens.push(id, text.replace(SPACE_SYMBOL, " ").as_bytes())?;
        priorities.try_push(priority, WHAT)?;
    }
    let columns = Columns { tokens, priorities, ..Columns::default() }.checked()?;
    columns.check_specials(&specials)?;
    let mut normalizer: Vec<String> = Vec::new();
    if !normalization.charsmap.is_empty() {
        normalizer.push(format!("{CHARSMAP}{}", base64::encode(&normalization.charsmap)));
    }
    let steps = [
        (normalization.collapses_spaces, "collapse_spaces"),
        (true, "spaces"),
        (normalization.has_prefix, "dummy_prefix"),
    ];
    normalizer.extend(steps.into_iter().filter(|step| step.0).map(|(_, step)| step.to_owned()));
    if !normalization.collapses_spaces {
        // A text that the charsmap makes empty gets the prefix, too.
        normalizer.rotate_right(usize::from(normalization.has_prefix));
    }
    normalizer.extend(unknown.map(|id| format!("{UNKNOWN}{id}")));
    let special_rules = match are_ordinary {
        true => specials.iter().map(|(literal, _)| (literal.clone(), "ordinary".to_owned())).collect(),
        false => Vec::new(),
    };
    let patterns = vec![CHARACTERS.to_owned()];
    let model = Model::new(columns, false, specials, patterns, DecodeErrors::ReplaceBytes);
    plain_specials.sort_unstable();
    Ok(Model { normalizer, special_rules, plain_specials, ..model })
}

/// The value of a field in a message.
enum Field<'a> {
    Number(u64),
    /// 32 bits, such as those of an f32.
    Single(u32),
    Bytes(&'a [u8]),
}

/// Calls `take` with the number and value of each field in a message.
fn fields<'a>(mut data: &'a [u8], mut take: impl FnMut(u64, Field<'a>) -> Result<()>) -> Result<()> {
    let damaged = || {
        Error::Model(
            "the file ends in the middle of a value: it is damaged or is not a SentencePiece model".into(),
        )
    };
    while !data.is_empty() {
        let tag = varint(&mut data).ok_or_else(damaged)?;
        let field = match tag & 7 {
            0 => Field::Number(varint(&mut data).ok_or_else(damaged)?),
            1 => {
                data.split_off(..8).ok_or_else(damaged)?;
                continue;
            }
            2 => {
                let n = varint(&mut data).and_then(|n| usize::try_from(n).ok()).ok_or_else(damaged)?;
                Field::Bytes(data.split_off(..n).ok_or_else(damaged)?)
            }
            5 => {
                let value = data.split_off(..4).and_then(|value| value.try_into().ok());
                Field::Single(u32::from_le_bytes(value.ok_or_else(damaged)?))
            }
            _ => return Err(damaged()),
        };
        take(tag >> 3, field)?;
    }
    Ok(())
}

/// Reads the next number, seven bits a byte.
fn varint(data: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *data.split_off_first()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}
