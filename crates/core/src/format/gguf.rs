//! Reads the tokenizer of a GGUF file (llama.cpp's format) from the metadata at its beginning, not the weights.
//!
//! It reads three kinds: "gpt2", byte-level BPE with merges, whose pre-tokenizer the file names; "llama", SentencePiece pieces
//! with scores; "gemma4", characters with merges. The file names no Unicode normalizer, and neither llama.cpp nor pairloom
//! applies one.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use hashbrown::HashMap;
use serde_json::json;

use super::byte_vocabulary::{self, Vocabulary};
use super::node::Node;
use super::pre_tokenizer;
use super::sentencepiece::{self, Kind, Normalization, Piece};
use crate::error::{Error, Result, quoted};
use crate::memory::TryReserve;
use crate::model_file::json::{Json, Within};
use crate::model_file::{DecodeErrors, Model};
use crate::pretokens::named_patterns;
use crate::vocabulary::characters::{CHARACTERS, SPACE_SYMBOL};

const WHAT: &str = "the metadata of a GGUF file";
const PREFIX: &str = "tokenizer.ggml.";
/// llama.cpp's names of a pre-tokenizer; the name of a pattern, or the pre_tokenizer of a tokenizer.json; "ignore_merges" if
/// a pretoken that is itself a token stays whole; "adds_bos" if a text gets the token BOS.
type NamedPreTokenizer = (Vec<String>, serde_json::Value, Vec<String>);

static PRE_TOKENIZERS: LazyLock<Vec<NamedPreTokenizer>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("gguf_pre_tokenizers.json")).expect("a table of the expected shape")
});
/// The special tokens of Phi-3 that do not absorb the white space after them; the file does not say so.
const PHI3_WITHOUT_RSTRIP: [&str; 3] = ["<unk>", "<s>", "<|endoftext|>"];

/// Returns whether a file begins like GGUF.
pub fn is_begin(head: &[u8]) -> bool {
    head.starts_with(b"GGUF")
}

/// Reads the model from the beginning of a file. `patterns` are for a file whose pre-tokenizer is unknown.
pub fn read(data: &[u8], patterns: Option<Vec<String>>) -> Result<Model> {
    read_metadata(data)?.model(patterns)
}

/// A metadata value. Integers are widened to 64 bits; all values of a list have one type.
enum Item<'a> {
    Number(u64),
    Single(f32),
    Text(&'a str),
    Texts(Vec<&'a str>),
    Numbers(Vec<u64>),
    Singles(Vec<f32>),
    Other,
}

struct Metadata<'a>(HashMap<&'a str, Item<'a>>);

/// What the name of a pre-tokenizer stands for.
struct PreTokenizer {
    patterns: Vec<String>,
    ignores_merges: bool,
    adds_bos: bool,
}

fn read_metadata(data: &[u8]) -> Result<Metadata<'_>> {
    let mut reader = Reader { data, at: 0 };
    let magic = reader.bytes(4)?;
    let version = reader.number(4)?;
    if magic != b"GGUF" {
        return Err(Error::Model(
            "the file does not start with \"GGUF\"; leave out format= to have the format detected".into(),
        ));
    }
    if !(2..=3).contains(&version) {
        return Err(Error::Model(format!(
            "GGUF version {version} is not supported, only little-endian files of version 2 or 3; convert the model again"
        )));
    }
    reader.number(8)?;
    let mut found = HashMap::new();
    for _ in 0..reader.number(8)? {
        let key = reader.text()?;
        let kind = reader.number(4)?;
        let item = reader.item(kind, key.starts_with(PREFIX))?;
        if let Some(key) = key.strip_prefix(PREFIX).or((key == "general.name").then_some(key)) {
            found.try_reserve(1).map_err(Error::out_of_memory(WHAT))?;
            found.insert(key, item);
        }
    }
    Ok(Metadata(found))
}

impl<'a> Metadata<'a> {
    fn texts(&self, key: &str) -> Result<&[&'a str]> {
        match self.0.get(key) {
            Some(Item::Texts(texts)) => Ok(texts),
            _ => Err(Error::Model(format!(
                "{PREFIX}{key} is missing or is not a list of strings; the file contains no such tokenizer"
            ))),
        }
    }

    fn text(&self, key: &str) -> Option<&'a str> {
        match self.0.get(key) {
            Some(&Item::Text(text)) => Some(text),
            _ => None,
        }
    }

    fn number(&self, key: &str) -> Option<u64> {
        match self.0.get(key) {
            Some(&Item::Number(value)) => Some(value),
            _ => None,
        }
    }

    fn flag(&self, key: &str) -> Option<bool> {
        Some(self.number(key)? != 0)
    }

    /// Returns the kind of each token: all normal if the file does not say.
    fn kinds(&self, n: usize) -> Result<Vec<Kind>> {
        match self.0.get("token_type") {
            None => Ok(vec![Kind::Normal; n]),
            Some(Item::Numbers(numbers)) if numbers.len() == n => {
                numbers.iter().map(|&number| Kind::numbered(number)).collect()
            }
            _ => Err(Error::Model(format!(
                "{PREFIX}token_type does not contain one number for each of the {n} tokens; the file \
                is damaged"
            ))),
        }
    }

    fn model(&self, patterns: Option<Vec<String>>) -> Result<Model> {
        let texts = self.texts("tokens")?;
        let kinds = self.kinds(texts.len())?;
        let kind = self.text("model").unwrap_or_default();
        if patterns.is_some() && kind != "gpt2" {
            let kind = quoted(kind);
            return Err(Error::Model(format!(
                "a tokenizer of model {kind} does not split text by a pattern; leave out pattern="
            )));
        }
        let settings = self.pre_tokenizer()?;
        let model = match kind {
            "gpt2" => self.merged(texts, &kinds, Some((patterns, settings.as_ref()))),
            "gemma4" => self.merged(texts, &kinds, None),
            "llama" => self.scored(texts, &kinds),
            _ => Err(Error::Model(format!(
                "{PREFIX}model is {}; pairloom reads only gpt2, llama and gemma4",
                quoted(kind)
            ))),
        };
        let adds_bos = kind == "llama" || settings.is_some_and(|settings| settings.adds_bos);
        Ok(Model { post_processor: self.post_processor(texts, kind, adds_bos), ..model? })
    }

    /// Returns what llama.cpp adds around a text, as a tokenizer.json's post_processor. It has defaults, also for an id that is
    /// missing or too large, and always adds Gemma 4's BOS.
    fn post_processor(&self, texts: &[&str], kind: &str, adds_bos: bool) -> Option<String> {
        let token = |role: &str, is_added: bool, llama_id: u64| {
            let id = self.number(&format!("{role}_token_id")).filter(|&id| id < texts.len() as u64);
            let id = id.or(match kind {
                "llama" => Some(llama_id),
                "gpt2" => Some(11),
                _ => None,
            })?;
            let is_added = self.flag(&format!("add_{role}_token")).unwrap_or(is_added);
            let is_added = is_added || kind == "gemma4" && role == "bos";
            Some((*texts.get(id as usize)?, id)).filter(|_| is_added)
        };
        let (bos, eos) = (token("bos", adds_bos, 1), token("eos", false, 2));
        let special = |(text, _)| json!({"SpecialToken": {"id": text, "type_id": 0}});
        let around = |name: &str, type_id: u8| -> Vec<_> {
            let text = json!({"Sequence": {"id": name, "type_id": type_id}});
            [bos.map(special), Some(text), eos.map(special)].into_iter().flatten().collect()
        };
        let entry =
            |(text, id): (&str, _)| (text.to_owned(), json!({"id": text, "ids": [id], "tokens": [text]}));
        let tokens: serde_json::Map<_, _> = [bos, eos].into_iter().flatten().map(entry).collect();
        let pair = [around("A", 0), around("B", 1)].concat();
        let template = json!({"type": "TemplateProcessing", "single": around("A", 0), "pair": pair, "special_tokens": tokens});
        (!tokens.is_empty()).then(|| template.to_string())
    }

    /// Reads pieces that merge by scores.
    fn scored(&self, texts: &[&str], kinds: &[Kind]) -> Result<Model> {
        let Some(Item::Singles(scores)) = self.0.get("scores") else {
            return Err(Error::Model(format!(
                "{PREFIX}scores is not a list of numbers; the file is damaged"
            )));
        };
        if scores.len() != texts.len() {
            return Err(Error::Model(format!(
                "the file has {} scores for {} tokens; it is damaged",
                scores.len(),
                texts.len()
            )));
        }
        let mut pieces = Vec::with_reserved(texts.len(), WHAT)?;
        for ((text, &score), &kind) in texts.iter().zip(scores).zip(kinds) {
            // llama.cpp merges unused pieces like any other, and finds user-defined ones before it normalizes the text.
            let merges = kind == Kind::Unused || kind == Kind::UserDefined && text.contains(SPACE_SYMBOL);
            let kind = if merges { Kind::Normal } else { kind };
            pieces.push(Piece { text: (*text).to_owned(), score, kind });
        }
        let charsmap = match self.0.get("precompiled_charsmap") {
            Some(Item::Numbers(bytes)) => bytes.iter().map(|&byte| byte as u8).collect(),
            _ => Vec::new(),
        };
        let normalization = Normalization {
            charsmap,
            has_prefix: self.flag("add_space_prefix").unwrap_or(true),
            collapses_spaces: self.flag("remove_extra_whitespaces").unwrap_or(false),
        };
        let mut model = sentencepiece::model(pieces, &normalization, false, None)?;
        if self.text("general.name").is_some_and(|name| name.to_lowercase().replace('-', "").contains("phi3"))
        {
            let takers = model.special_tokens.iter().map(|(literal, _)| literal);
            let takers = takers.filter(|literal| !PHI3_WITHOUT_RSTRIP.contains(&literal.as_str()));
            model.special_rules = takers.map(|literal| (literal.clone(), "rstrip".to_owned())).collect();
        }
        Ok(model)
    }

    /// Returns what the name of the pre-tokenizer stands for, if it is known.
    fn pre_tokenizer(&self) -> Result<Option<PreTokenizer>> {
        let is_own = |name: &String| self.text("pre") == Some(name);
        let Some((_, meaning, flags)) = PRE_TOKENIZERS.iter().find(|(names, ..)| names.iter().any(is_own))
        else {
            return Ok(None);
        };
        let patterns = match meaning.as_str().and_then(named_patterns) {
            Some(texts) => texts.to_vec(),
            None => pre_tokenizer::read(Some(&Node::read(&mut Json::new(&meaning.to_string(), 0))?))?.0,
        };
        let has = |flag| flags.iter().any(|known| known == flag);
        Ok(Some(PreTokenizer { patterns, ignores_merges: has("ignore_merges"), adds_bos: has("adds_bos") }))
    }

    fn unknown_pre_tokenizer(&self) -> Error {
        let problem = match self.text("pre") {
            Some(name) => format!(" names the unknown pre-tokenizer {}", quoted(name)),
            None => ", the name of the pre-tokenizer, is missing".to_owned(),
        };
        let known: Vec<_> = PRE_TOKENIZERS.iter().flat_map(|(names, ..)| names).map(String::as_str).collect();
        Error::Model(format!(
            "{PREFIX}pre{problem}: load it with pattern=, the name or the regular expression of the pattern that splits its \
             text. Known pre-tokenizers: {}",
            known.join(", ")
        ))
    }

    /// Reads tokens with merges. `split`: `None` if characters merge; otherwise the caller's patterns and what the name of the
    /// pre-tokenizer stands for.
    fn merged(
        &self,
        texts: &[&str],
        kinds: &[Kind],
        split: Option<(Option<Vec<String>>, Option<&PreTokenizer>)>,
    ) -> Result<Model> {
        let mut vocabulary = Vocabulary::from_texts(texts)?;
        for (rank, merge) in self.texts("merges")?.iter().enumerate() {
            let pair =
                byte_vocabulary::split(merge).ok_or_else(|| Error::Model("is not a pair of tokens".into()));
            let added = pair.and_then(|(left, right)| vocabulary.add_merge(left, right));
            added.within(|| format!("merges[{rank}]"))?;
        }
        vocabulary.check_distinct(|rank| format!("merges[{rank}]"))?;
        let (mut specials, mut plain): (Vec<(String, u32)>, BTreeSet<String>) = (Vec::new(), BTreeSet::new());
        for ((id, text), kind) in (0..).zip(texts).zip(kinds) {
            match kind {
                Kind::Unknown | Kind::Control => specials.try_push(((*text).to_owned(), id), WHAT)?,
                Kind::UserDefined => {
                    specials.try_push(((*text).to_owned(), id), WHAT)?;
                    plain.insert((*text).to_owned());
                }
                Kind::Normal | Kind::Unused | Kind::Byte => {}
            }
        }
        let is_characters = split.is_none();
        let mut rules = Vec::new();
        let (patterns, columns, ignore_merges) = match split {
            None => (vec![CHARACTERS.to_owned()], vocabulary.character_columns(&specials, false)?, false),
            Some((given, settings)) => {
                let own = || settings.map(|settings| settings.patterns.clone());
                let Some(patterns) = given.or_else(own) else { return Err(self.unknown_pre_tokenizer()) };
                let ignores = settings.is_some_and(|settings| settings.ignores_merges);
                for (text, id) in vocabulary.duplicate_foreign_entries(&specials) {
                    rules.push((text.clone(), "ordinary".to_owned()));
                    specials.try_push((text, id), WHAT)?;
                }
                let columns = vocabulary.columns(&specials, ignores)?;
                let (columns, looks_up) =
                    if ignores { columns.into_canonical_form()? } else { (columns, false) };
                (patterns, columns, looks_up)
            }
        };
        columns.check_specials(&specials)?;
        let mut normalizer = Vec::new();
        if is_characters {
            normalizer.push("spaces".to_owned());
            if self.flag("add_space_prefix").unwrap_or(true) {
                normalizer.push("dummy_prefix".to_owned());
            }
        }
        let errors = if is_characters { DecodeErrors::ReplaceBytes } else { DecodeErrors::Replace };
        let model = Model::new(columns, ignore_merges, specials, patterns, errors);
        Ok(Model { plain_specials: plain.into_iter().collect(), normalizer, special_rules: rules, ..model })
    }
}

struct Reader<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn bytes(&mut self, n: u64) -> Result<&'a [u8]> {
        let end = usize::try_from(n).ok().and_then(|n| self.at.checked_add(n));
        let Some(bytes) = end.and_then(|end| self.data.get(self.at..end)) else {
            return Err(Error::Model(format!(
                "the file ends after {} bytes, in the middle of a metadata value; it is truncated or not a GGUF file",
                self.data.len()
            )));
        };
        self.at += bytes.len();
        Ok(bytes)
    }

    /// Reads a little-endian number of `n_bytes`.
    fn number(&mut self, n_bytes: u64) -> Result<u64> {
        let bytes = self.bytes(n_bytes)?;
        Ok(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    fn text(&mut self) -> Result<&'a str> {
        let n = self.number(8)?;
        let bytes = self.bytes(n)?;
        std::str::from_utf8(bytes).map_err(|_| {
            Error::Model(
                "a string in the metadata is not UTF-8; the file is \
        damaged"
                    .into(),
            )
        })
    }

    /// Reads a value. Lists are skipped, and left empty, unless `wanted`.
    fn item(&mut self, kind: u64, wanted: bool) -> Result<Item<'a>> {
        Ok(match kind {
            6 => Item::Single(f32::from_bits(self.number(4)? as u32)),
            8 => Item::Text(self.text()?),
            9 => {
                let (kind, n) = (self.number(4)?, self.number(8)?);
                if kind == 9 {
                    return Err(Error::Model(
                        "the metadata contains a list of lists, which pairloom does not read".into(),
                    ));
                }
                let (mut texts, mut numbers, mut singles) = (Vec::new(), Vec::new(), Vec::new());
                for _ in 0..n {
                    match self.item(kind, false)? {
                        Item::Text(text) if wanted => texts.try_push(text, WHAT)?,
                        Item::Number(number) if wanted => numbers.try_push(number, WHAT)?,
                        Item::Single(single) if wanted => singles.try_push(single, WHAT)?,
                        _ => {}
                    }
                }
                match kind {
                    8 => Item::Texts(texts),
                    6 => Item::Singles(singles),
                    _ => Item::Numbers(numbers),
                }
            }
            12 => {
                self.bytes(8)?;
                Item::Other
            }
            0..=11 => Item::Number(self.number([1, 1, 2, 2, 4, 4, 0, 1, 0, 0, 8, 8][kind as usize])?),
            _ => {
                return Err(Error::Model(format!(
                    "the metadata contains a value of unknown type {kind}; the file is damaged"
                )));
            }
        })
    }
}
