//! Reads HuggingFace's tokenizer.json: vocabulary and merges by the core, here the settings around them.
//!
//! The reader in Python (`src/pairloom/formats/huggingface.py`) takes more files. Here the pre-tokenizer is ByteLevel, alone or
//! after splits by digits and by regexes whose matches are pretokens. Anything else is refused by name, also each key that is
//! not known.

use pairloom_core::format::oniguruma;
use pairloom_core::model_file::tokenizer_json;
use pairloom_core::pretokens::{Pretokenizer, gpt2_pattern, normalizer};
use pairloom_core::special::{SpecialTokens, first_overlap};
use pairloom_core::{Error, Result};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::tokenizer::Tokenizer;

/// A text as one pretoken.
const WHOLE: &str = r"[\s\S]+";
/// The digits of HuggingFace's step `Digits`, whose tables are of another version of Unicode.
const DIGIT: &str = "[\\p{N}\u{11de0}-\u{11de9}\u{16ff4}-\u{16ff6}]";
const MAX_NORMALIZERS: usize = 4;

/// A file as the core leaves it: without its vocabulary and merges.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "version", default)]
    _version: IgnoredAny,
    #[serde(rename = "truncation", default)]
    _truncation: IgnoredAny,
    #[serde(rename = "padding", default)]
    _padding: IgnoredAny,
    #[serde(default)]
    added_tokens: Option<Vec<AddedToken>>,
    normalizer: Option<Normalizer>,
    pre_tokenizer: Option<PreTokenizer>,
    #[serde(rename = "post_processor", default)]
    _post_processor: IgnoredAny,
    decoder: Option<Step>,
    model: Model,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AddedToken {
    id: u32,
    content: String,
    #[serde(default)]
    single_word: bool,
    #[serde(default)]
    lstrip: bool,
    #[serde(default)]
    rstrip: bool,
    normalized: Option<bool>,
    special: bool,
}

#[derive(Deserialize)]
#[serde(tag = "type", deny_unknown_fields)]
#[allow(clippy::upper_case_acronyms)]
enum Normalizer {
    NFC,
    NFD,
    NFKC,
    NFKD,
    Sequence { normalizers: Vec<Normalizer> },
}

#[derive(Deserialize)]
#[serde(tag = "type", deny_unknown_fields)]
enum PreTokenizer {
    ByteLevel {
        #[serde(default = "yes")]
        add_prefix_space: bool,
        #[serde(rename = "trim_offsets", default)]
        _trim_offsets: IgnoredAny,
        #[serde(default = "yes")]
        use_regex: bool,
    },
    Split {
        pattern: SplitPattern,
        behavior: String,
        invert: bool,
    },
    Digits {
        individual_digits: bool,
    },
    Sequence {
        pretokenizers: Vec<PreTokenizer>,
    },
}

#[derive(Deserialize)]
enum SplitPattern {
    Regex(String),
    String(String),
}

/// A step of which only the type counts.
#[derive(Deserialize)]
struct Step {
    r#type: String,
    decoders: Option<Vec<Step>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Model {
    r#type: Option<String>,
    dropout: Option<f64>,
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
    #[serde(default)]
    ignore_merges: bool,
    // What becomes of a byte that is no token: byte-level files have them all.
    #[serde(rename = "unk_token", default)]
    _unk_token: IgnoredAny,
    #[serde(rename = "fuse_unk", default)]
    _fuse_unk: IgnoredAny,
    #[serde(rename = "byte_fallback", default)]
    _byte_fallback: IgnoredAny,
    #[serde(rename = "vocab")]
    _vocab: IgnoredAny,
    #[serde(rename = "merges")]
    _merges: IgnoredAny,
}

/// The keys that tell whose file it is.
#[derive(Deserialize)]
struct Keys {
    model: Option<IgnoredAny>,
    schema_version: Option<IgnoredAny>,
}

const fn yes() -> bool {
    true
}

/// The tokenizer of a file; `None` if it is no tokenizer.json but pairloom's own or none at all.
pub fn read(data: &[u8]) -> Result<Option<Tokenizer>> {
    if let Some((vocabulary, rest)) = tokenizer_json::read(data)? {
        return build(&vocabulary, &rest).map(Some);
    }
    match serde_json::from_slice::<Keys>(data) {
        Ok(Keys { model: Some(_), schema_version: None }) => Err(refused(
            "its vocabulary or its merges are not those of byte-level BPE, or they are damaged: pairloom inspect names what \
             is wrong",
        )),
        _ => Ok(None),
    }
}

fn build(vocabulary: &tokenizer_json::Vocabulary, rest: &str) -> Result<Tokenizer> {
    let file: File = serde_json::from_str(rest).map_err(|error| {
        // Its lines and columns are not those of the whole file.
        let message = error.to_string();
        refused(message.split(" at line ").next().unwrap_or_default())
    })?;
    check_settings(&file)?;
    let mut steps = Vec::new();
    if let Some(node) = &file.normalizer {
        add_normalizers(node, &mut steps);
    }
    if steps.len() > MAX_NORMALIZERS {
        return Err(refused(&format!(
            "its normalizer has {} steps; at most {MAX_NORMALIZERS} are allowed",
            steps.len()
        )));
    }
    let added = file.added_tokens.unwrap_or_default();
    let (tokens, rules) = special_tokens(added, !steps.is_empty())?;
    check_assigned(&tokens, vocabulary)?;
    let mut splits = Splits::default();
    if let Some(node) = &file.pre_tokenizer {
        splits.add(node)?;
    }
    if splits.prefix {
        steps.push("prefix_space".into());
    }
    let pretokenizer = splits.pretokenizer()?.with_normalizer(normalizer::steps_named(&steps)?);
    let columns = vocabulary.columns(&tokens)?.ok_or_else(|| {
        refused("a special token has the id of another token, or a token is not written in the GPT-2 byte alphabet")
    })?;
    let specials = SpecialTokens::with_rules(tokens, &rules)?;
    Tokenizer::new(&columns, file.model.ignore_merges, specials, pretokenizer)
}

fn refused(why: &str) -> Error {
    Error::Model(format!(
        "this page cannot read the tokenizer.json exactly: {why}. pairloom view reads more files than this page"
    ))
}

/// Refuses what changes the text or the ids outside of the vocabulary, and models that are no byte-level BPE.
fn check_settings(file: &File) -> Result<()> {
    let model = &file.model;
    if model.r#type.as_deref().is_some_and(|kind| kind != "BPE") {
        return Err(refused("its model is not BPE"));
    }
    let is_text = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.is_empty());
    for (is_set, what) in [
        (model.dropout.is_some_and(|share| share != 0.0), "dropout"),
        (is_text(&model.continuing_subword_prefix), "continuing_subword_prefix"),
        (is_text(&model.end_of_word_suffix), "end_of_word_suffix"),
    ] {
        if is_set {
            return Err(refused(&format!("{what} is set")));
        }
    }
    let Some(decoder) = &file.decoder else { return Ok(()) };
    let steps = match &decoder.decoders {
        Some(steps) if decoder.r#type == "Sequence" => steps.as_slice(),
        _ => std::slice::from_ref(decoder),
    };
    match steps {
        [step] if step.r#type == "ByteLevel" => Ok(()),
        _ => Err(refused("its decoder is not ByteLevel")),
    }
}

fn add_normalizers(node: &Normalizer, steps: &mut Vec<String>) {
    let name = match node {
        Normalizer::NFC => "nfc",
        Normalizer::NFD => "nfd",
        Normalizer::NFKC => "nfkc",
        Normalizer::NFKD => "nfkd",
        Normalizer::Sequence { normalizers } => {
            return normalizers.iter().for_each(|node| add_normalizers(node, steps));
        }
    };
    steps.push(name.into());
}

/// How the steps of a pre-tokenizer split.
#[derive(Default)]
struct Splits {
    patterns: Vec<String>,
    /// Whether a space is put before the text.
    prefix: bool,
    has_byte_level: bool,
}

impl Splits {
    fn add(&mut self, node: &PreTokenizer) -> Result<()> {
        if self.has_byte_level && !matches!(node, PreTokenizer::Sequence { .. }) {
            return Err(refused("a step of its pre-tokenizer comes after ByteLevel"));
        }
        match node {
            PreTokenizer::Sequence { pretokenizers } => {
                pretokenizers.iter().try_for_each(|step| self.add(step))
            }
            PreTokenizer::ByteLevel { add_prefix_space, use_regex, .. } => {
                if *add_prefix_space && !self.patterns.is_empty() {
                    return Err(refused(
                        "ByteLevel puts a space before every piece that another step has split off",
                    ));
                }
                (self.prefix, self.has_byte_level) = (*add_prefix_space, true);
                if *use_regex {
                    self.patterns.push(gpt2_pattern().into());
                }
                Ok(())
            }
            PreTokenizer::Digits { individual_digits } => {
                self.patterns.push(if *individual_digits { DIGIT.into() } else { format!("{DIGIT}+") });
                Ok(())
            }
            PreTokenizer::Split { pattern: SplitPattern::Regex(regex), behavior, invert } => {
                let (regex, can_be_empty) =
                    oniguruma::read(regex).map_err(|error| refused(&error.to_string()))?;
                // Nothing is lost where what is removed is always empty.
                let is_isolated = match (behavior.as_str(), invert) {
                    ("Isolated", _) => true,
                    ("Removed", true) => Pretokenizer::new(&regex)?.is_total(),
                    _ => false,
                };
                if !is_isolated {
                    return Err(refused(&format!(
                        "a Split of its pre-tokenizer has the behavior {behavior:?}"
                    )));
                }
                self.patterns.push(if can_be_empty { format!("(?#isolated){regex}") } else { regex });
                Ok(())
            }
            PreTokenizer::Split { pattern: SplitPattern::String(text), .. } => {
                let shown: String = text.chars().take(60).collect();
                Err(refused(&format!("its pre-tokenizer splits by the text {shown:?}")))
            }
        }
    }

    fn pretokenizer(mut self) -> Result<Pretokenizer> {
        if !self.has_byte_level {
            return Err(refused("its pre-tokenizer has no ByteLevel"));
        }
        if self.patterns.is_empty() {
            self.patterns.push(WHOLE.into());
        }
        Pretokenizer::sequence(&self.patterns)
    }
}

/// Literals with their ids, and rules of literals: see `pairloom_core::special`.
type Specials = (Vec<(String, u32)>, Vec<(String, String)>);

/// The added tokens with their rules; `is_normalized` says whether the file changes texts before they are split.
fn special_tokens(added: Vec<AddedToken>, changes_text: bool) -> Result<Specials> {
    let (mut tokens, mut rules) = (Vec::new(), Vec::<(String, String)>::new());
    let (mut normalized, mut exact) = (Vec::new(), Vec::new());
    for token in added {
        let flags = [(token.lstrip, "lstrip"), (token.rstrip, "rstrip"), (token.single_word, "single_word")];
        rules.extend(
            flags
                .iter()
                .filter(|(is_set, _)| *is_set)
                .map(|(_, flag)| (token.content.clone(), (*flag).into())),
        );
        let is_normalized = token.normalized.unwrap_or(!token.special);
        if is_normalized && changes_text {
            let literal = &token.content;
            return Err(refused(&format!(
                "added token {literal:?} is looked for in the text as its normalizer leaves it"
            )));
        }
        if is_normalized { &mut normalized } else { &mut exact }.push(token.content.clone());
        tokens.push((token.content, token.id));
    }
    let has = |rule: &str| rules.iter().any(|(_, known)| known == rule);
    let begins_white = |literal: &str| literal.starts_with(char::is_whitespace);
    if has("rstrip") && rules.iter().any(|(literal, rule)| rule == "lstrip" && begins_white(literal)) {
        return Err(refused(
            "an added token that begins with white space takes more of it along, as another does",
        ));
    }
    // Which pass finds a token matters only where tokens overlap, or where they ask what is next to them.
    if !exact.is_empty() && (!rules.is_empty() || first_overlap(&exact, &normalized)?.is_some()) {
        rules.extend(normalized.into_iter().map(|literal| (literal, "normalized".into())));
    }
    rules.sort();
    Ok((tokens, rules))
}

/// Refuses added tokens to which HuggingFace's library gives other ids than the file: that of the equal string in the
/// vocabulary, else the next one.
fn check_assigned(tokens: &[(String, u32)], vocabulary: &tokenizer_json::Vocabulary) -> Result<()> {
    let known = vocabulary.ids_of(tokens.iter().map(|(literal, _)| literal.as_str()))?;
    let mut next = vocabulary.n_entries() as u32;
    for (literal, id) in tokens {
        let assigned = known.get(literal.as_str()).copied().unwrap_or(next);
        if assigned != *id {
            return Err(refused(&format!(
                "added token {literal:?} has id {id}, but tokenizers would give it {assigned}"
            )));
        }
        next = next.max(assigned + 1);
    }
    Ok(())
}
