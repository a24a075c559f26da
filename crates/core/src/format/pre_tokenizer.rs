//! Reads the pre_tokenizer of a tokenizer.json as one pattern, or as several that split one after the other.
//!
//! Supported are ByteLevel, with Split, Digits and Punctuation before and after it if they keep all text; and, without
//! ByteLevel and for CLIP, steps that drop white space. Other steps, behaviors that remove other text, and a space put before
//! pieces inside the text are refused by name.

use super::node::{Node, shown};
use super::oniguruma;
use crate::error::{Error, Result, quoted};
use crate::pretokens::normalizer::WORDS;
use crate::pretokens::{BYTE_LEVEL, Pretokenizer, gpt2_pattern};

/// The class that `Digits` splits by; HuggingFace's tables have another Unicode version. This one and the next were measured
/// over all code points with tokenizers 0.23.
pub const DIGIT: &str = "[\\p{N}\u{11de0}-\u{11de9}\u{16ff4}-\u{16ff6}]";
/// The class that `Punctuation` splits by: punctuation of an older Unicode, and all ASCII except letters, digits and space.
pub const PUNCTUATION: &str = "[\\p{P}$+<=>^`|~\u{166d}\u{111c9}&&[^\u{61d}\u{9fd}\u{a76}\u{c77}-\u{c84}\u{1b4e}-\u{1b4f}\u{1b7d}-\u{1b7f}\
    \u{2e43}-\u{2e5d}\u{10d6e}\u{10ead}\u{10f55}-\u{10f59}\u{10f86}-\u{10f89}\u{113d4}-\u{113d8}\u{1144b}-\
    \u{1145d}\u{11660}-\u{1166c}\u{116b9}\u{1183b}\u{11944}-\u{11946}\u{119e2}\u{11a3f}-\u{11a46}\u{11a9a}-\
    \u{11aa2}\u{11b00}-\u{11b09}\u{11be1}\u{11c41}-\u{11c45}\u{11c70}-\u{11c71}\u{11ef7}-\u{11ef8}\u{11f43}-\
    \u{11f4f}\u{11fff}\u{12ff1}-\u{12ff2}\u{16d6d}-\u{16d6f}\u{16e97}-\u{16e9a}\u{16fe2}\u{1e5ff}\u{1e95e}-\
    \u{1e95f}]]";
/// Takes the whole text as one pretoken.
const WHOLE: &str = r"[\s\S]+";
/// For each behavior of a Split, the comment that makes a pattern do the same, and the comment for an inverted Split, which
/// joins what does not match to what does.
const BEHAVIORS: [(&str, &str, &str); 4] = [
    ("Isolated", "(?#isolated)", "(?#isolated)"),
    ("Contiguous", "(?#contiguous)", "(?#contiguous)"),
    ("MergedWithPrevious", "(?#merged_with_previous)", "(?#merged_with_next)"),
    ("MergedWithNext", "(?#merged_with_next)", "(?#merged_with_previous)"),
];
/// Splits a text of words that each end in a space.
pub const WORD: &str = "[^ ]+ ";
/// CLIP's patterns, as transformers 4 and 5 write them: they match everything except white space.
pub const CLIP: [&str; 2] = [
    r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
    r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
];
/// The remedy for files that are refused here.
pub const REMEDY: &str = "use pairloom.dropin.tokenizers.Tokenizer for it";
/// Published pre-tokenizers have up to 7 steps.
const MAX_STEPS: usize = 32;

/// Returns the normalizer step that reduces a text to its words, if the pre_tokenizer drops white space. `is_byte_level`:
/// whether it must end with ByteLevel.
pub fn words(node: &Node<'_>, is_byte_level: bool) -> Result<Option<String>> {
    let mut splits = Splits::default();
    splits.add(node)?;
    let Splits { mut patterns, drops_spaces, .. } = splits;
    let ends_in_bytes = patterns.pop_if(|last| last == BYTE_LEVEL).is_some();
    let is_taken =
        drops_spaces && ends_in_bytes == is_byte_level && !patterns.iter().any(|text| text == BYTE_LEVEL);
    Ok(is_taken.then(|| word_step(&patterns)))
}

/// Returns the normalizer step that reduces a text to the words that these patterns cut.
pub fn word_step(patterns: &[String]) -> String {
    format!("{WORDS}{}", serde_json::json!(patterns))
}

/// Reads a pre_tokenizer's patterns, and whether it puts a space before the text (add_prefix_space).
pub fn read(node: Option<&Node<'_>>) -> Result<(Vec<String>, bool)> {
    let mut splits = Splits::default();
    if let Some(node) = node {
        splits.add(node)?;
    }
    let Splits { mut patterns, has_prefix, .. } = splits;
    if !patterns.iter().any(|pattern| pattern == BYTE_LEVEL) {
        return refused(format!(
            "there is no ByteLevel, and the model has neither unk_token nor byte_fallback, so encoding could lose text; \
             {REMEDY}"
        ));
    }
    if splits.drops_spaces {
        return refused(format!("a step drops white space before ByteLevel; {REMEDY}"));
    }
    patterns.pop_if(|last| last == BYTE_LEVEL);
    if patterns.is_empty() {
        patterns.push(WHOLE.into());
    }
    Ok((patterns, has_prefix))
}

fn refused<T>(message: impl Into<String>) -> Result<T> {
    Err(Error::Model(message.into()))
}

#[derive(Default)]
struct Splits {
    patterns: Vec<String>,
    has_prefix: bool,
    /// Whether pieces of white space are dropped.
    drops_spaces: bool,
    n_steps: usize,
}

impl Splits {
    fn add(&mut self, node: &Node<'_>) -> Result<()> {
        let kind = node.string("type")?;
        if kind == "Sequence" {
            return node.list("pretokenizers")?.iter().try_for_each(|step| self.add(step));
        }
        self.n_steps += 1;
        if self.n_steps > MAX_STEPS {
            return refused(format!("it has more than {MAX_STEPS} steps; pairloom reads no more"));
        }
        match kind {
            "ByteLevel" => self.add_byte_level(node)?,
            "Split" if is_clip(node) => self.drop_spaces(&[node.take("pattern")?.string("Regex")?]),
            "Whitespace" => self.drop_spaces(&[r"\w+|[^\w\s]+"]),
            "WhitespaceSplit" => self.drop_spaces(&[r"\s+"]),
            "BertPreTokenizer" => self.drop_spaces(&[r"\s+", PUNCTUATION]),
            "Split" => self.patterns.push(split(node)?),
            "Digits" => {
                let many = if node.bool("individual_digits")? { "" } else { "+" };
                self.patterns.push(format!("{DIGIT}{many}"));
            }
            "Punctuation" => {
                let behavior = if node.has("behavior") { node.string("behavior")? } else { "Isolated" };
                self.patterns.push(match BEHAVIORS.iter().find(|(known, ..)| *known == behavior) {
                    Some(("Isolated", ..)) => PUNCTUATION.into(),
                    Some((_, comment, _)) => format!("{comment}{PUNCTUATION}"),
                    None => return removal(&format!("Punctuation with behavior {}", quoted(behavior))),
                });
            }
            _ => {
                let kind = quoted(kind);
                return refused(format!(
                    "the step {kind} is not supported. pairloom reads ByteLevel, Split, Digits and Punctuation; if the model \
                     has an unk_token, also Whitespace, WhitespaceSplit, BertPreTokenizer and Metaspace"
                ));
            }
        }
        Ok(())
    }

    fn drop_spaces(&mut self, patterns: &[&str]) {
        self.patterns.extend(patterns.iter().map(|&pattern| pattern.to_owned()));
        self.drops_spaces = true;
    }

    fn add_byte_level(&mut self, node: &Node<'_>) -> Result<()> {
        if self.patterns.iter().any(|pattern| pattern == BYTE_LEVEL) {
            return refused("a second ByteLevel would encode the output of the first one again; remove it");
        }
        self.has_prefix = node.flag("add_prefix_space", true)?;
        if self.has_prefix && !self.patterns.is_empty() {
            return refused(
                "ByteLevel with add_prefix_space after another step puts a space before every piece, which pairloom does not \
                 support; set add_prefix_space to false",
            );
        }
        if node.flag("use_regex", true)? {
            self.patterns.push(gpt2_pattern().into());
        }
        self.patterns.push(BYTE_LEVEL.into());
        Ok(())
    }
}

fn is_clip(node: &Node<'_>) -> bool {
    let regex = node.get("pattern").and_then(|pattern| pattern.string("Regex").ok());
    regex.is_some_and(|regex| CLIP.contains(&regex))
        && node.string("behavior").is_ok_and(|behavior| behavior == "Removed")
        && node.bool("invert").is_ok_and(|invert| invert)
}

fn removal<T>(what: &str) -> Result<T> {
    refused(format!("{what} drops parts of the text, so ids could not be decoded back to it; {REMEDY}"))
}

fn split(node: &Node<'_>) -> Result<String> {
    let pattern = node.take("pattern")?;
    let (mut behavior, invert) = (node.string("behavior")?, node.bool("invert")?);
    let (text, can_be_empty) = match pattern.as_object("'pattern'")?.as_slice() {
        [(kind, text)] if kind == "String" => {
            let text = text.as_string("'String'")?;
            (escaped(text), text.is_empty())
        }
        [(kind, regex)] if kind == "Regex" => oniguruma::read(regex.as_string("'Regex'")?)?,
        _ => {
            let found = shown(pattern.text);
            return refused(format!("the pattern of a Split must be a String or a Regex, not {found}"));
        }
    };
    if behavior == "Removed" {
        // Published files use this to remove what does not match, with patterns that match everything.
        if !(invert && pattern.has("Regex") && Pretokenizer::new(&text)?.is_total()) {
            return removal(&format!("a Split with behavior 'Removed' and invert {invert}"));
        }
        behavior = "Isolated";
    }
    let Some((_, comment, inverted)) = BEHAVIORS.iter().find(|(known, ..)| *known == behavior) else {
        return refused(format!("{} is not a behavior of Split", quoted(behavior)));
    };
    let comment = if invert { inverted } else { comment };
    let comment = if behavior == "Isolated" && !can_be_empty { "" } else { comment };
    // A bare word would be read as the name of a pattern.
    let is_word = text.len() > 1
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
    Ok(if is_word { format!("{comment}(?:{text})") } else { format!("{comment}{text}") })
}

/// Returns the regular expression that matches the text literally.
fn escaped(text: &str) -> String {
    let is_special = |c: char| "()[]{}?*+|^$\\.".contains(c);
    text.chars().flat_map(|c| is_special(c).then_some('\\').into_iter().chain([c])).collect()
}
