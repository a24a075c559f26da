//! Reads the added tokens of a tokenizer.json, or of the files beside it: pairloom's special tokens, with their rules.

use std::collections::BTreeSet;

use hashbrown::{HashMap, HashSet};

use super::byte_vocabulary::Vocabulary;
use super::node::{Node, Value, check_known, shown};
use crate::error::{Error, Result, quoted};
use crate::model_file::json::{Json, Within};
use crate::model_file::{LARGEST_ID, text_of};
use crate::special::first_overlap;

const KEYS: [&str; 7] = ["id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"];
/// The settings of an added token that change how it is found in a text.
const FLAGS: [&str; 3] = ["lstrip", "rstrip", "single_word"];
/// The most tokens that are read; published files have up to a few thousand.
const MAX_TOKENS: usize = 1 << 17;

/// Special tokens in the form that [`Model`](crate::model_file::Model) stores.
#[derive(Default)]
pub struct AddedTokens {
    /// Literals with their ids.
    pub ids: Vec<(String, u32)>,
    /// The literals that are not marked special.
    pub plain: BTreeSet<String>,
    /// Literals with the names of their rules.
    pub rules: BTreeSet<(String, String)>,
}

/// What the other files in a tokenizer's folder say about added tokens.
pub struct Beside<'n> {
    /// The tokens that a file lists, which then decides on their flags; `None` if no file lists any.
    listed: Option<HashMap<&'n str, &'n Node<'n>>>,
    /// The literals that have a role (`bos_token` and so on), which makes them special.
    roles: HashSet<&'n str>,
}

impl<'n> Beside<'n> {
    /// Reads a list of two values: an object of tokens under any keys, or null; and a list of the literals that have a role.
    pub fn new(node: &'n Node<'n>) -> Result<Self> {
        let [listed, roles] = node.as_list("the settings of added tokens")? else {
            return Err(Error::Model("the settings of added tokens must be a list of two values".into()));
        };
        let content = |node: &'n Node<'n>| match &node.get("content")?.value {
            Value::String(text) => Some((text.as_ref(), node)),
            _ => None,
        };
        let listed = match &listed.value {
            Value::Null => None,
            Value::Object(entries) => Some(entries.iter().filter_map(|(_, node)| content(node)).collect()),
            // Adding the listed tokens to the model will refuse this.
            _ => Some(HashMap::new()),
        };
        let roles = roles.as_list("the roles")?.iter().map(|role| role.as_string("a role"));
        Ok(Beside { listed, roles: roles.collect::<Result<_>>()? })
    }

    /// Returns the node with the rules for `entry`'s token; `None` if a file lists added tokens, but not this one.
    fn said(&self, literal: &str, entry: &'n Node<'n>) -> Option<&'n Node<'n>> {
        self.listed.as_ref().map_or(Some(entry), |listed| listed.get(literal).copied())
    }
}

/// Reads added tokens from a JSON list; errors call it `name`. `forms` as in [`read`].
pub fn read_list(data: &[u8], name: &str, forms: &[String]) -> Result<AddedTokens> {
    let read = text_of(data).and_then(|text| read(&Node::read(&mut Json::new(text, 0))?, forms, false, None));
    read.within(|| name.to_owned())
}

/// Reads `added_tokens`. `forms`: the Unicode forms of the file's normalizer. `are_ordinary`: special tokens stay text.
/// Refuses tokens that would be found only in the normalized text.
pub fn read<'n>(
    entries: &'n Node<'n>,
    forms: &[String],
    are_ordinary: bool,
    beside: Option<&Beside<'n>>,
) -> Result<AddedTokens> {
    let entries = entries.as_list("added_tokens")?;
    if entries.len() > MAX_TOKENS {
        let n = entries.len();
        return Err(Error::Model(format!("contains {n} added tokens; at most {MAX_TOKENS} are allowed")));
    }
    let mut found = AddedTokens::default();
    let (mut literals, mut ids) = (HashSet::new(), HashSet::new());
    // The tokens to find in the original text, and those to find in the normalized text.
    let mut passes = [Vec::new(), Vec::new()];
    for (index, node) in entries.iter().enumerate() {
        let entry = Entry::read(node, forms, beside).and_then(|entry| {
            if !literals.insert(entry.literal) || !ids.insert(entry.id) || entry.literal.is_empty() {
                let (literal, id) = (quoted(entry.literal), entry.id);
                return Err(Error::Model(format!("{literal} with id {id} is empty or a duplicate")));
            }
            Ok(entry)
        });
        let Entry { literal, id, is_special, is_normalized, mut rules } = entry.within(|| place(index))?;
        if is_special && are_ordinary {
            rules.push("ordinary");
        }
        if !is_special {
            found.plain.insert(literal.to_owned());
        }
        found.rules.extend(rules.iter().map(|&rule| (literal.to_owned(), rule.to_owned())));
        found.ids.push((literal.to_owned(), id));
        passes[usize::from(is_normalized)].push((literal, rules));
    }
    passes.iter().try_for_each(|tokens| check_meeting(tokens))?;
    check_cases(&passes[1])?;
    let [exact, normalized] = passes
        .map(|tokens| -> Vec<String> { tokens.into_iter().map(|(literal, _)| literal.to_owned()).collect() });
    // Which pass finds a token matters only if tokens overlap, or if their rules look at neighbouring characters.
    if !exact.is_empty() && (!found.rules.is_empty() || first_overlap(&exact, &normalized)?.is_some()) {
        found.rules.extend(normalized.into_iter().map(|literal| (literal, "normalized".into())));
    }
    Ok(found)
}

fn place(index: usize) -> String {
    format!("added_tokens[{index}]")
}

struct Entry<'n> {
    literal: &'n str,
    id: u32,
    is_special: bool,
    is_normalized: bool,
    rules: Vec<&'static str>,
}

impl<'n> Entry<'n> {
    fn read(node: &'n Node<'n>, forms: &[String], beside: Option<&Beside<'n>>) -> Result<Self> {
        for (key, _) in node.as_object("the entry")? {
            check_known(key, &KEYS)?;
        }
        let literal = node.string("content")?;
        let id = node.take("id")?.text;
        let Some(id) = id.parse().ok().filter(|&id| id <= LARGEST_ID) else {
            return Err(Error::Model(format!(
                "'id' must be an integer from 0 to {LARGEST_ID}, not {}",
                shown(id)
            )));
        };
        let again =
            beside.and_then(|beside| Some((beside.said(literal, node)?, beside.roles.contains(literal))));
        let (said, has_role) = again.unwrap_or((node, false));
        let is_special = if again.is_some() { said.flag("special", false)? } else { node.bool("special")? };
        let is_normalized = said.flag("normalized", !is_special)?;
        let mut rules = Vec::new();
        for rule in FLAGS {
            if said.flag(rule, false)? {
                rules.push(rule);
            }
        }
        if is_normalized && rules.is_empty() && forms == ["spaces", "dummy_prefix"] && has_no_space(literal) {
            // The library normalizes the literal too, so it finds the literal with U+2581 before it.
            rules.push("after_space");
        } else if is_normalized && rules.is_empty() && is_in_any_case(literal, forms) {
            rules.push("any_case");
        } else if is_normalized && rules.is_empty() && forms == ["nfc"] && is_nfc_inert(literal) {
            if !is_unchanged(literal, forms) {
                rules.push("nfc");
            }
        } else if is_normalized && !forms.is_empty() && (!rules.is_empty() || !is_unchanged(literal, forms)) {
            return Err(Error::Model(format!(
                "{} has normalized=true, so its owner searches for it after the normalizer ({}); pairloom searches before it. \
                 Set normalized to false if that is intended",
                quoted(literal),
                forms.join(", ")
            )));
        }
        let is_special = is_special || has_role || node.flag("special", false)?;
        Ok(Entry { literal, id, is_special, is_normalized, rules })
    }
}

/// Returns whether NFC never produces one of the literal's characters. (In ASCII, it produces only these three.)
fn is_nfc_inert(literal: &str) -> bool {
    literal.chars().all(|c| c.is_ascii() && !"K;`".contains(c))
}

/// Returns whether the literal has neither a space nor U+2581, the spelling of a space in files.
fn has_no_space(literal: &str) -> bool {
    !literal.contains([' ', '\u{2581}'])
}

/// Returns whether, in any text, the forms neither create nor destroy an occurrence of the literal.
fn is_unchanged(literal: &str, forms: &[String]) -> bool {
    if forms == ["spaces"] {
        return has_no_space(literal);
    }
    // NFC combines letters and "<=>" with marks that follow.
    let is_joined = literal.ends_with(|c: char| c.is_ascii_alphabetic() || "<=>".contains(c));
    is_nfc_inert(literal)
        && !is_joined
        && forms.iter().all(|form| match form.as_str() {
            "nfc" | "nfd" => true,
            "spaces" => has_no_space(literal),
            _ => false,
        })
}

/// Returns whether the lowercased text contains the literal exactly where the text contains it in any ASCII case, provided that
/// no mark changes its end (the rule checks that).
pub(super) fn is_in_any_case(literal: &str, forms: &[String]) -> bool {
    // Lowercasing makes "k" from U+212A, too; "i" also from U+0130, but with a mark after it.
    let is_inert = literal.chars().all(|c| c.is_ascii() && !"Kk;`".contains(c));
    let has = |form: &str| forms.iter().any(|other| other == form);
    is_inert
        && literal.ends_with(|c: char| c.is_ascii_punctuation())
        && has("lowercase")
        && has("nfc") | !literal.ends_with(['<', '=', '>'])
        && forms.iter().all(|form| form == "lowercase" || form == "nfc")
}

/// Refuses a set of tokens, all found in one pass, if one can absorb the white space that another begins with.
fn check_meeting(tokens: &[(&str, Vec<&str>)]) -> Result<()> {
    let with = |rule: &'static str| {
        tokens.iter().filter(move |(_, rules)| rules.contains(&rule) && !rules.contains(&"ordinary"))
    };
    let found = with("lstrip").find(|(literal, _)| literal.starts_with(char::is_whitespace));
    let (Some((literal, _)), Some(_)) = (found, with("rstrip").next()) else { return Ok(()) };
    Err(Error::Model(format!(
        "added token {} starts with white space, and another one with rstrip=true absorbs it; where the two meet, the library \
         tokenizers loses its position. Set rstrip or lstrip to false",
        quoted(literal)
    )))
}

/// Refuses tokens with equal normalized text, since only one of them would be found.
fn check_cases(tokens: &[(&str, Vec<&str>)]) -> Result<()> {
    let mut lowered = HashMap::new();
    for (literal, _) in tokens.iter().filter(|(_, rules)| rules.contains(&"any_case")) {
        if let Some(other) = lowered.insert(literal.to_ascii_lowercase(), literal) {
            return Err(Error::Model(format!(
                "added tokens {} and {} become the same text after normalization, so only one of them can be found; remove \
                 the other",
                quoted(other),
                quoted(literal)
            )));
        }
    }
    Ok(())
}

/// Refuses added tokens to which HuggingFace's library would give another id than the file says. It ignores the file's ids:
/// a token takes the id of the same string in the vocabulary, else the number of entries there plus such tokens before it.
pub fn check_assigned(tokens: &[(String, u32)], vocabulary: &Vocabulary) -> Result<()> {
    let mut next = vocabulary.n_entries() as u32;
    for (literal, id) in tokens {
        let listed = vocabulary.id_of(literal)?;
        let assigned = listed.unwrap_or(next);
        if assigned != *id {
            return Err(Error::Model(format!(
                "added token {} has id {id}, but the library tokenizers would assign it {assigned}; add it to the vocabulary \
                 with its id",
                quoted(literal)
            )));
        }
        if listed.is_none() && vocabulary.has_id(*id) {
            return Err(Error::Model(format!(
                "added token {} has id {id}, and so has a token of the vocabulary; number the vocabulary without gaps",
                quoted(literal)
            )));
        }
        next += u32::from(listed.is_none());
    }
    Ok(())
}
