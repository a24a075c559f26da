//! Detects a tokenizer file's format, and reads other libraries' files into a [`Model`].

pub mod added_tokens;
pub mod byte_vocabulary;
mod character_pieces;
mod gguf;
pub mod gpt2;
mod node;
pub mod oniguruma;
pub mod pre_tokenizer;
pub mod ranks;
mod sentencepiece;
mod specials;
mod tekken;
mod tiktoken;
pub mod tokenizer_json;
mod unicode_forms;

use crate::error::{Error, Result};
use crate::model_file::json::Within;
use crate::model_file::{self, Model, in_file};
use crate::pretokens::{names, patterns_of};

pub use specials::Special;

/// The formats of single files. ([`gpt2`] reads GPT-2's two files.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// pairloom's own format.
    Native,
    /// A tokenizer.json.
    HuggingFace,
    /// Lines of tokens and ranks.
    Tiktoken,
    /// A tekken.json.
    Tekken,
    /// A SentencePiece `.model`.
    SentencePiece,
    /// A GGUF file, or at least its beginning.
    Gguf,
}

const FORMATS: [(&str, Format); 6] = [
    ("pairloom", Format::Native),
    ("huggingface", Format::HuggingFace),
    ("tiktoken", Format::Tiktoken),
    ("tekken", Format::Tekken),
    ("sentencepiece", Format::SentencePiece),
    ("gguf", Format::Gguf),
];

/// The first bytes of files that are not a tokenizer as they are, and what to do about it.
const FOREIGN: [(&[u8], &str); 14] = [
    (
        b"\xef\xbb\xbf",
        "a byte order mark (BOM), which the file's own library rejects too; save it as UTF-8 without a BOM",
    ),
    (b"\xff\xfe", "a UTF-16 byte order mark; save it as UTF-8"),
    (b"\xfe\xff", "a UTF-16 byte order mark; save it as UTF-8"),
    (
        b"\x1f\x8b",
        "the gzip signature; decompress it first (gunzip). CLIP's bpe_simple_vocab_16e6.txt.gz cannot be read: load \
         tokenizer.json, or vocab.json and merges.txt, from a CLIP model for transformers",
    ),
    (b"\x28\xb5\x2f\xfd", "the Zstandard signature; decompress it first (unzstd)"),
    (b"PK\x03\x04", "the zip signature; unpack it first (unzip)"),
    (b"\x80\x02", PICKLE),
    (b"\x80\x03", PICKLE),
    (b"\x80\x04", PICKLE),
    (b"\x80\x05", PICKLE),
    (b"(dp", PICKLE),
    (b"(lp", PICKLE),
    (b"}q", PICKLE),
    (b"]q", PICKLE),
];
/// The first bytes of text files that are not a tokenizer; checked only if the caller names no format.
const OTHER_TEXTS: [(&[u8], &str); 11] = [
    (b"<!DOCTYPE", PAGE),
    (b"<!doctype", PAGE),
    (b"<html", PAGE),
    (b"version https://git-lfs", "a Git LFS pointer, not the file itself; fetch the file with git lfs pull"),
    (
        b"#version:",
        "the header of GPT-2's merges.txt; load its folder, or use Tokenizer.from_files(vocab_json, merges_txt)",
    ),
    (
        b"\"bpe_simple_vocab",
        "the header of OpenCLIP's merges; load tokenizer.json, or vocab.json and merges.txt, from a CLIP model for \
         transformers",
    ),
    (b"[PAD]\n", WORD_PIECE),
    (b"[PAD]\r\n", WORD_PIECE),
    (b"[UNK]\n", WORD_PIECE),
    (
        b"<unk>\t",
        "a line of sentencepiece's human-readable .vocab; load the .model file from the same folder",
    ),
    (
        b"1 '\\x00' 1\n",
        "a line of RWKV's vocabulary, which matches the longest token instead of merging (not BPE); use the tokenizer of rwkv",
    ),
];
const PAGE: &str = "HTML: it is a web page about the file, not the file itself; download the raw file";
const WORD_PIECE: &str =
    "a line of a WordPiece vocab.txt (BERT), which is not BPE; use the library tokenizers";
const PICKLE: &str = "the signature of a Python pickle. pairloom never opens one, because a pickle can run arbitrary code. If \
you trust it, load it yourself: Tokenizer(pickle.load(vocab_file), pickle.load(merges_file), special_tokens)";

impl Format {
    /// Returns the format of a name such as "pairloom" or "huggingface".
    pub fn named(name: &str) -> Option<Self> {
        FORMATS.iter().find(|(known, _)| *known == name).map(|&(_, format)| format)
    }

    /// Returns the format's name.
    pub fn name(self) -> &'static str {
        FORMATS.iter().find(|&&(_, format)| format == self).map_or("", |(name, _)| name)
    }

    /// Detects the format from a file's beginning; a few thousand bytes are enough. [`Error::Model`] if there is none.
    pub fn of(head: &[u8]) -> Result<Self> {
        check_begin(head, &FOREIGN)?;
        check_begin(head, &OTHER_TEXTS)?;
        if head.is_empty() {
            return Err(Error::Model("the file is empty".into()));
        }
        Ok(if gguf::is_begin(head) {
            Format::Gguf
        } else if sentencepiece::is_begin(head) {
            Format::SentencePiece
        } else if tekken::is_begin(head) {
            Format::Tekken
        } else if tokenizer_json::is_begin(head) {
            Format::HuggingFace
        } else if tiktoken::is_begin(head) {
            Format::Tiktoken
        } else if head.trim_ascii_start().starts_with(b"{") {
            Format::Native
        } else {
            let (begin, known) = (head[..head.len().min(16)].escape_ascii(), FORMATS.map(|(name, _)| name));
            let known = known.join(", ");
            return Err(Error::Model(format!(
                "the format of this tokenizer file cannot be detected (it starts with \"{begin}\"); name its format with \
                 format=, one of {known}, gpt2"
            )));
        })
    }
}

/// Refuses a file whose first bytes show that no format can read it.
fn check_begin(head: &[u8], kinds: &[(&[u8], &str)]) -> Result<()> {
    let Some((_, what)) = kinds.iter().find(|(begin, _)| head.starts_with(begin)) else { return Ok(()) };
    Err(Error::Model(format!("this is not a tokenizer file that pairloom can read: it starts with {what}")))
}

/// What the caller has to say about a file because the file itself does not.
#[derive(Default)]
pub struct CallerSettings<'a> {
    /// The patterns that split text: for a .tiktoken file, GPT-2's files, and a GGUF file with an unknown pre-tokenizer.
    pub patterns: Option<Vec<String>>,
    /// The special tokens: for a .tiktoken file and GPT-2's files.
    pub specials: Vec<Special>,
    /// What other files in the folder say about a tokenizer.json's added tokens, as JSON; see [`added_tokens::Beside`].
    pub beside: Option<&'a [u8]>,
    /// Whether a tokenizer.json's special tokens stay text.
    pub are_ordinary: bool,
}

/// Reads a file of any format; errors call it `name`. `pattern`, a name or a regex, is for files that store no pattern.
pub fn read_any(data: &[u8], name: &str, pattern: Option<&str>) -> Result<Model> {
    let patterns = pattern.map(patterns_of).transpose()?;
    let format = Format::of(data).within(|| name.to_owned())?;
    read(data, name, format, CallerSettings { patterns, ..CallerSettings::default() })
}

/// Reads a file; errors call it `name`.
///
/// Errors: [`Error::MissingKey`] for a missing key; [`Error::Invalid`] if `settings` lacks a pattern that the format
/// needs, or has one although the file stores its own; [`Error::Model`] for every other defect.
pub fn read(data: &[u8], name: &str, format: Format, settings: CallerSettings<'_>) -> Result<Model> {
    check_begin(data, &FOREIGN).within(|| name.to_owned())?;
    if settings.patterns.is_some() && !matches!(format, Format::Tiktoken | Format::Gguf) {
        return Err(Error::Invalid(format!(
            "{name}: a file of format '{}' contains its own pattern; leave out pattern=",
            format.name()
        )));
    }
    match format {
        Format::Native => model_file::read(data, name),
        Format::HuggingFace => tokenizer_json::read(data, name, settings.are_ordinary, settings.beside),
        Format::Tekken => tekken::read(data).within(|| name.to_owned()),
        Format::SentencePiece => sentencepiece::read(data).map_err(in_file).within(|| name.to_owned()),
        Format::Gguf => gguf::read(data, settings.patterns).map_err(in_file).within(|| name.to_owned()),
        Format::Tiktoken => {
            let Some(patterns) = settings.patterns else {
                let known: Vec<String> = names().map(|name| format!("'{name}'")).collect();
                return Err(Error::Invalid(format!(
                    "{name}: a .tiktoken file contains neither the pattern that splits text nor the special tokens; load it \
                     with pattern=, a regular expression or one of {}, and with special_tokens=",
                    known.join(", ")
                )));
            };
            tiktoken::read(data)
                .and_then(|(columns, n_ranks)| ranks::model(columns, n_ranks, &settings.specials, patterns))
                .within(|| name.to_owned())
        }
    }
}
