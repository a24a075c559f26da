//! Reads HuggingFace's tokenizer.json for byte-level BPE, and for BPE over characters.
//!
//! Ids are those of `encode(text, add_special_tokens=False)`. The post_processor, truncation and padding are kept for writing
//! and change no ids. All added tokens become special tokens, even those not marked special. A tokenizer that cannot be
//! expressed exactly is refused, with the setting's name. Cost: one pass over the file, and two token lookups for each merge.

use super::added_tokens::{self, Beside, check_assigned};
use super::byte_vocabulary::Vocabulary;
use super::character_pieces::SYMBOL;
use super::node::{Node, Object, Value, find, missing, read_object, shown};
use super::pre_tokenizer::REMEDY;
use super::unicode_forms::add_forms;
use super::{character_pieces, pre_tokenizer};
use crate::error::{Error, Result, quoted};
use crate::model_file::json::{Json, Within};
use crate::model_file::{self, DecodeErrors, Model, in_file, text_of};
use crate::pretokens::normalizer::{UNKNOWN, UNKNOWN_EACH};
use crate::vocabulary::characters::CHARACTERS;
/// The keys of the file. Any but the last two can be its first key.
const KEYS: [&str; 9] = [
    "version",
    "truncation",
    "padding",
    "added_tokens",
    "normalizer",
    "pre_tokenizer",
    "model",
    "post_processor",
    "decoder",
];
/// The keys of the model. unk_token, fuse_unk and byte_fallback say what happens to bytes or characters without a token.
const MODEL_KEYS: [&str; 10] = [
    "type",
    "dropout",
    "unk_token",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "fuse_unk",
    "byte_fallback",
    "ignore_merges",
    "vocab",
    "merges",
];

/// The normalizer steps that a Metaspace is read as.
const METASPACE_STEPS: [&str; 3] = ["spaces", "first_prefix", "prefix_space"];

/// Returns whether a file begins like an object whose first key is one of a tokenizer.json's.
pub fn is_begin(head: &[u8]) -> bool {
    let inside = head.trim_ascii_start().strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    let Some(rest) = inside.and_then(|inside| inside.strip_prefix(b"\"")) else { return false };
    KEYS[..7].iter().any(|key| rest.strip_prefix(key.as_bytes()).is_some_and(|rest| rest.starts_with(b"\"")))
}

/// Reads a file; errors call it `name`.
///
/// `are_ordinary`: its special tokens stay text. `beside`: what other files in the folder say about its added tokens, as JSON;
/// see [`Beside`]. [`Error::MissingKey`] for a missing key, [`Error::Model`] for every other defect.
pub fn read(data: &[u8], name: &str, are_ordinary: bool, beside: Option<&[u8]>) -> Result<Model> {
    let read = File::read(data).and_then(|file| file.model(are_ordinary, beside)).map_err(in_file);
    let read = read.map_err(|error| match model_file::read(data, "") {
        Ok(_) => Error::Model(
            "this file is in pairloom's own format, not a tokenizer.json; load it with Tokenizer.load(path)"
                .into(),
        ),
        Err(_) => error,
    });
    read.within(|| name.to_owned())
}

struct File<'a> {
    /// All keys except the model.
    around: Object<'a>,
    /// The model without vocabulary and merges.
    settings: Node<'a>,
    vocabulary: Vocabulary,
}

impl<'a> File<'a> {
    fn read(data: &'a [u8]) -> Result<Self> {
        let text = text_of(data)?;
        let mut json = Json::new(text, 0);
        let mut model = None;
        let around = read_object(&mut json, &KEYS, |json, key| {
            if key == "model" {
                model = Some(read_model(json).within(|| key.to_owned())?);
            }
            Ok(key == "model")
        })?;
        json.expect_end()?;
        let (settings, vocabulary) = model.ok_or_else(|| missing("model"))?;
        Ok(File { around, settings, vocabulary })
    }

    fn model(self, are_ordinary: bool, beside: Option<&[u8]>) -> Result<Model> {
        let File { around, settings, mut vocabulary } = self;
        let ignore_merges = check_model(&settings).within(|| "model".into())?;
        let rules = Rules::read(&around, &settings, &mut vocabulary, ignore_merges)?;
        let (splits_words, drops_all) = (rules.splits_words, rules.drops_all);
        let Rules { patterns, unknown, mut normalizer, late, is_characters, are_words, word_end, .. } = rules;
        let beside = beside.map(text_of).transpose()?;
        let beside = beside.map(|text| Node::read(&mut Json::new(text, 0))).transpose()?;
        let beside = beside.as_ref().map(Beside::new).transpose()?;
        // A Metaspace runs after added tokens are found, unlike a normalizer with the same effect.
        let has = |key: &str, kind: &str| find(&around, key).is_some_and(|node| node.text.contains(kind));
        let is_metaspace = has("pre_tokenizer", "\"Metaspace\"") && !has("normalizer", "\"Replace\"");
        let mut forms = normalizer.clone();
        forms.retain(|step| !(is_metaspace && METASPACE_STEPS.contains(&step.as_str())));
        let mut added = find(&around, "added_tokens")
            .map(|node| added_tokens::read(node, &forms, are_ordinary, beside.as_ref()))
            .transpose()?
            .unwrap_or_default();
        check_assigned(&added.ids, &vocabulary)?;
        let is_other = |text: &str| drops_all && (text.starts_with(' ') || text.contains(SYMBOL));
        if let Some((text, _)) = added.ids.iter().find(|(text, _)| is_other(text)) {
            return Err(Error::Model(format!(
                "the decoder Metaspace decodes the spaces of added token {} otherwise than pairloom; {REMEDY}",
                quoted(text)
            )));
        }
        if !is_characters {
            for (text, id) in vocabulary.duplicate_foreign_entries(&added.ids) {
                added.rules.insert((text.clone(), "ordinary".to_owned()));
                added.plain.insert(text.clone());
                added.ids.push((text, id));
            }
        }
        let columns = match is_characters {
            true => vocabulary.character_columns(&added.ids, are_words),
            false => vocabulary.columns(&added.ids, ignore_merges),
        };
        let columns = match &word_end {
            Some(suffix) => columns.and_then(|columns| columns.with_word_ends(suffix).map_err(in_file)),
            None => columns,
        };
        let columns = columns.within(|| "model".into())?;
        columns.check_specials(&added.ids)?;
        let (columns, looks_up) =
            if ignore_merges { columns.into_canonical_form()? } else { (columns, false) };
        normalizer.splice(0..0, unknown);
        normalizer.extend(late);
        let object = |key: &str| {
            let node = find(&around, key);
            node.map(|node| node.as_object(&format!("'{key}'")).map(|_| node.text)).transpose()
        };
        let mut carried = Vec::new();
        for key in ["padding", "truncation"] {
            carried.extend(object(key)?.map(|text| format!("\"{key}\":{text}")));
        }
        if splits_words {
            carried.push("\"pre_tokenizer\":{\"split\":true}".to_owned());
        }
        // In the file's library, bytes without a token become other ids: they are not dropped.
        let replaces_bytes = settings.get("unk_token").is_some() || settings.flag("byte_fallback", false)?;
        if replaces_bytes && !is_characters && !columns.missing_bytes().is_empty() {
            carried.push("\"model\":{\"replaces_bytes\":true}".to_owned());
        }
        let carried = carried.join(",");
        let errors = if is_characters { DecodeErrors::ReplaceRuns } else { DecodeErrors::Replace };
        Ok(Model {
            plain_specials: added.plain.into_iter().collect(),
            post_processor: object("post_processor")?.map(str::to_owned),
            tokenizer_config: (!carried.is_empty()).then(|| format!("{{\"tokenizer.json\":{{{carried}}}}}")),
            normalizer,
            special_rules: added.rules.into_iter().collect(),
            ..Model::new(columns, looks_up, added.ids, patterns, errors)
        })
    }
}

/// How a file changes and splits text, and which symbols merging starts with.
#[derive(Default)]
struct Rules {
    /// The patterns that split text.
    patterns: Vec<String>,
    /// The step for characters without a token.
    unknown: Option<String>,
    /// The steps that run before "normalized" special tokens are found.
    normalizer: Vec<String>,
    /// The step that runs after they are found.
    late: Option<String>,
    /// Whether merging starts with characters instead of bytes.
    is_characters: bool,
    /// Whether white space is dropped.
    are_words: bool,
    /// Whether a Metaspace splits words. This changes no ids once merges across spaces are dropped.
    splits_words: bool,
    /// Whether decoding drops all U+2581 of the first token, not only the first.
    drops_all: bool,
    /// The suffix of tokens that end a word.
    word_end: Option<String>,
}

impl Rules {
    fn read(
        around: &Object<'_>,
        settings: &Node<'_>,
        vocabulary: &mut Vocabulary,
        ignore_merges: bool,
    ) -> Result<Self> {
        let (decoder, splits) = (find(around, "decoder"), find(around, "pre_tokenizer"));
        let normalizer = find(around, "normalizer");
        let is_byte_level = splits.is_some_and(|splits| splits.text.contains("\"ByteLevel\""));
        let has_fallback = settings.flag("byte_fallback", false)?;
        let patterns = vec![CHARACTERS.to_owned()];
        let mut rules = Rules { word_end: word_end(settings)?, patterns, ..Rules::default() };
        if !is_byte_level && !has_fallback {
            rules.unknown = unknown_step(settings, vocabulary).within(|| "model".into())?;
        }
        rules.is_characters = !is_byte_level && (has_fallback || rules.unknown.is_some());
        if ignore_merges && (rules.is_characters || rules.word_end.is_some()) {
            return Err(Error::Model(
                "ignore_merges is supported only with ByteLevel and without end_of_word_suffix".into(),
            ));
        }
        let add_forms = |rules: &mut Rules| {
            normalizer.map_or(Ok(()), |node| add_forms(node, &mut rules.normalizer, rules.are_words))
        };
        let reads_bytes = decoder.is_some_and(|decoder| decoder.text.contains("\"ByteFallback\""));
        if let Some(text) =
            vocabulary.byte_entry().filter(|_| rules.is_characters && !has_fallback && !reads_bytes)
        {
            return Err(Error::Model(format!(
                "token {text} is decoded as a byte here, but as text by a decoder without ByteFallback; remove the token, or \
                 {REMEDY}"
            )));
        }
        let is_of_words = rules.unknown.is_some() || rules.word_end.is_some();
        let words = splits.filter(|splits| is_of_words && !splits.text.contains("\"Metaspace\""));
        let words = words.map(|splits| pre_tokenizer::words(splits, is_byte_level)).transpose();
        let words = words.map_err(in_file).within(|| "pre_tokenizer".into())?.flatten();
        if rules.word_end.is_some() && !(is_byte_level && words.is_some()) {
            return Err(Error::Model(format!(
                "model: end_of_word_suffix is supported only with CLIP's pre-tokenizer; {REMEDY}"
            )));
        }
        if words.is_some() {
            (rules.are_words, rules.late) = (true, words);
            add_forms(&mut rules)?;
            match decoder {
                Some(decoder) if rules.is_characters => {
                    let decoder = shown(decoder.text);
                    return Err(Error::Model(format!(
                        "decoder {decoder} is not supported, because the pre_tokenizer drops white space; set it to null, or \
                         {REMEDY}"
                    )));
                }
                _ if rules.is_characters => {}
                _ => {
                    check_decoder(decoder)?;
                    rules.patterns = vec![pre_tokenizer::WORD.into()];
                }
            }
        } else if rules.is_characters {
            let rewriting = character_pieces::rewriting(normalizer, splits)?;
            rules.drops_all =
                character_pieces::check_decoder(decoder, rewriting.prefix.is_some(), has_fallback)?;
            rules.splits_words = rewriting.splits;
            if rewriting.splits {
                vocabulary.split_at_spaces();
            }
            if !has_fallback && vocabulary.id_of(SYMBOL)?.is_none()
                || rules.drops_all && vocabulary.has_inner_space()
            {
                return Err(Error::Model(format!(
                    "a model without byte_fallback needs a token {SYMBOL} and, with the decoder Metaspace, none that contains it after \
                     another character; {REMEDY}"
                )));
            }
            rules.normalizer = rewriting.steps;
        } else {
            check_decoder(decoder)?;
            let (patterns, has_prefix) =
                pre_tokenizer::read(splits).map_err(in_file).within(|| "pre_tokenizer".into())?;
            rules.patterns = patterns;
            add_forms(&mut rules)?;
            rules.late = has_prefix.then(|| "prefix_space".to_owned());
        }
        Ok(rules)
    }
}

/// Returns the suffix of tokens that end a word, if there is one.
fn word_end(settings: &Node<'_>) -> Result<Option<String>> {
    let Some(node) = settings.get("end_of_word_suffix") else { return Ok(None) };
    let suffix = node.as_string("end_of_word_suffix").within(|| "model".into())?;
    Ok((!suffix.is_empty()).then(|| suffix.to_owned()))
}

/// Reads the model: its settings, and its vocabulary with the merges.
fn read_model<'a>(json: &mut Json<'a>) -> Result<(Node<'a>, Vocabulary)> {
    let (mut vocabulary, mut merges) = (None, None);
    let settings = read_object(json, &MODEL_KEYS, |json, key| {
        match (key, &mut vocabulary) {
            ("type", _) => {
                check_type(&json.clone().string()?)?;
                return Ok(false);
            }
            ("vocab", _) => vocabulary = Some(Vocabulary::read(json)?),
            ("merges", Some(vocabulary)) => {
                merges = Some(None);
                vocabulary.read_merges(json)?;
            }
            ("merges", None) => {
                // Merges come first in the file: skip them, and read them once the vocabulary is known.
                merges = Some(Some(json.clone()));
                json.skip()?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let mut vocabulary = vocabulary.ok_or_else(|| missing("vocab"))?;
    if let Some(mut later) = merges.ok_or_else(|| missing("merges"))? {
        vocabulary.read_merges(&mut later)?;
    }
    Ok((Node { text: "", value: Value::Object(settings) }, vocabulary))
}

fn check_type(kind: &str) -> Result<()> {
    if kind == "BPE" {
        return Ok(());
    }
    let kind = quoted(kind);
    Err(Error::Model(format!(
        "the model type is {kind}; pairloom reads only BPE. Use the library tokenizers for it"
    )))
}

/// Returns the normalizer step for characters without a token, if the model has an unk_token.
fn unknown_step(settings: &Node<'_>, vocabulary: &Vocabulary) -> Result<Option<String>> {
    let Some(node) = settings.get("unk_token") else { return Ok(None) };
    let token = node.as_string("unk_token")?;
    let is_fused = settings.flag("fuse_unk", false)?;
    let kind = if is_fused { UNKNOWN } else { UNKNOWN_EACH };
    match vocabulary.id_of(token)? {
        Some(id) => Ok(Some(format!("{kind}{id}"))),
        None => Err(Error::Model(format!("unk_token {} is not in the vocabulary; add it", quoted(token)))),
    }
}

/// Refuses settings that cannot be expressed. Returns ignore_merges.
fn check_model(settings: &Node<'_>) -> Result<bool> {
    for key in ["dropout", "continuing_subword_prefix"] {
        if let Some(Node { text, .. }) = settings.get(key)
            && !matches!(*text, "\"\"" | "0" | "0.0" | "false")
        {
            return Err(Error::Model(format!("{key} is {}, which pairloom does not support", shown(text))));
        }
    }
    settings.flag("ignore_merges", false)
}

/// Refuses any decoder except a single ByteLevel.
fn check_decoder(decoder: Option<&Node<'_>>) -> Result<()> {
    let Some(decoder) = decoder else { return Ok(()) };
    let is_kind = |node: &Node<'_>, kind: &str| node.string("type").is_ok_and(|found| found == kind);
    let is_taken = match decoder.list("decoders") {
        Ok(steps) if is_kind(decoder, "Sequence") => matches!(steps, [step] if is_kind(step, "ByteLevel")),
        _ => is_kind(decoder, "ByteLevel"),
    };
    if is_taken {
        return Ok(());
    }
    let found = shown(decoder.text);
    Err(Error::Model(format!("decoder {found} is not supported; byte-level BPE needs ByteLevel")))
}
