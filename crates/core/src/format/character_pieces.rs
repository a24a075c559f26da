//! Reads a tokenizer.json's settings for a SentencePiece-like tokenizer: BPE over characters with byte fallback, or with an
//! unknown token.
//!
//! Supported are the settings of Llama 2, Mistral, Gemma, Phi-3 and similar models: U+2581 for a space, by `Replace` or
//! `Metaspace`, and a space before the text, by `Prepend` or `Metaspace`. Others are refused by name. A Metaspace that splits
//! prevents merges across U+2581, so it is read as one that does not split, minus those merges.

use super::node::{Node, shown};
use super::unicode_forms::add_forms;
use crate::error::{Error, Result, quoted};
use crate::model_file::json::Within;

pub const SYMBOL: &str = "\u{2581}";
const REMEDY: &str = "which pairloom cannot read in a tokenizer that merges characters; use \
pairloom.dropin.tokenizers.Tokenizer for it";

/// How encoding changes a text before it merges.
#[derive(Default)]
pub struct Rewriting {
    /// The normalizer steps.
    pub steps: Vec<String>,
    /// The step that puts a space before the text.
    pub prefix: Option<&'static str>,
    /// Whether the text is split before each space.
    pub splits: bool,
    replaces: bool,
}

/// Reads how encoding changes a text before it merges.
pub fn rewriting(normalizer: Option<&Node<'_>>, pre_tokenizer: Option<&Node<'_>>) -> Result<Rewriting> {
    let mut found = Rewriting::default();
    if let Some(node) = normalizer {
        found.add_normalizer(node).within(|| "normalizer".into())?;
    }
    if let Some(node) = pre_tokenizer {
        found.add_pre_tokenizer(node).within(|| "pre_tokenizer".into())?;
    }
    if !found.replaces {
        return Err(Error::Model(format!(
            "neither Replace nor Metaspace turns spaces into {SYMBOL}, {REMEDY}"
        )));
    }
    found.steps.extend(["spaces"].into_iter().chain(found.prefix).map(str::to_owned));
    Ok(found)
}

impl Rewriting {
    fn add_normalizer(&mut self, node: &Node<'_>) -> Result<()> {
        match node.string("type")? {
            "Sequence" => node.list("normalizers")?.iter().try_for_each(|step| self.add_normalizer(step)),
            "Prepend" if node.string("prepend")? == SYMBOL => self.set_prefix("dummy_prefix"),
            "Replace" if is_replace(node, " ", SYMBOL) => {
                self.replaces = true;
                Ok(())
            }
            "Prepend" | "Replace" => refused(node),
            _ if !self.replaces && self.prefix.is_none() => add_forms(node, &mut self.steps, false),
            _ => refused(node),
        }
    }

    fn add_pre_tokenizer(&mut self, node: &Node<'_>) -> Result<()> {
        let is_false = |key| node.has(key) && node.bool(key).is_ok_and(|value| !value);
        match node.string("type")? {
            "Sequence" => {
                node.list("pretokenizers")?.iter().try_for_each(|step| self.add_pre_tokenizer(step))
            }
            // All spaces were replaced, so there is nothing to split at.
            "Split" if self.replaces && pattern_is(node, " ") => Ok(()),
            "Metaspace" if node.string("replacement")? == SYMBOL => {
                (self.replaces, self.splits) = (true, !is_false("split"));
                match if node.has("prepend_scheme") { node.string("prepend_scheme")? } else { "always" } {
                    "always" => self.set_prefix("prefix_space"),
                    "first" => self.set_prefix("first_prefix"),
                    "never" => Ok(()),
                    _ => refused(node),
                }
            }
            _ => refused(node),
        }
    }

    fn set_prefix(&mut self, step: &'static str) -> Result<()> {
        match self.prefix.replace(step) {
            None => Ok(()),
            Some(_) => Err(Error::Model(format!("two steps put {SYMBOL} before the text, {REMEDY}"))),
        }
    }
}

/// Refuses a decoder that does not undo the steps. Returns whether it drops all U+2581 of the first token, not only the first.
pub fn check_decoder(decoder: Option<&Node<'_>>, has_prefix: bool, has_fallback: bool) -> Result<bool> {
    let Some(decoder) = decoder else {
        return Err(Error::Model(format!("there is no decoder, {REMEDY}")));
    };
    let steps = match decoder.string("type")? {
        "Sequence" => decoder.list("decoders")?,
        _ => std::slice::from_ref(decoder),
    };
    if !has_fallback && decoder.string("type")? == "Metaspace" && decoder.string("replacement")? == SYMBOL {
        let is_never = decoder.string("prepend_scheme").is_ok_and(|scheme| scheme == "never");
        return if is_never == has_prefix { refused(decoder) } else { Ok(has_prefix) };
    }
    let mut kinds = Vec::new();
    for step in steps {
        let kind = step.string("type")?;
        let is_known = match kind {
            "Replace" => is_replace(step, SYMBOL, " "),
            "ByteFallback" | "Fuse" => true,
            "Strip" => {
                step.string("content")? == " " && text_is(step, "start", "1") && text_is(step, "stop", "0")
            }
            _ => false,
        };
        if !is_known {
            return refused(step);
        }
        kinds.push(kind);
    }
    if kinds != ["Replace", "ByteFallback", "Fuse", "Strip"][..if has_prefix { 4 } else { 3 }] {
        let decoder = shown(decoder.text);
        return Err(Error::Model(format!(
            "decoder {decoder} does not reverse the normalizer and the pre_tokenizer, {REMEDY}"
        )));
    }
    Ok(false)
}

fn is_replace(node: &Node<'_>, what: &str, with: &str) -> bool {
    pattern_is(node, what) && node.string("content").is_ok_and(|content| content == with)
}

fn pattern_is(node: &Node<'_>, text: &str) -> bool {
    node.get("pattern").is_some_and(|pattern| pattern.string("String").is_ok_and(|found| found == text))
}

fn text_is(node: &Node<'_>, key: &str, text: &str) -> bool {
    node.get(key).is_some_and(|value| value.text == text)
}

fn refused<T>(node: &Node<'_>) -> Result<T> {
    Err(Error::Model(format!("{} is {}, {REMEDY}", quoted(node.string("type")?), shown(node.text))))
}
