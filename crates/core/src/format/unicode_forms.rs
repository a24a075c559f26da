//! Reads the Unicode forms and lowercasing in a tokenizer.json's normalizer.

use super::node::Node;
use crate::error::{Error, Result, quoted};
use crate::model_file::json::Within;

const FORMS: [(&str, &str); 5] =
    [("NFC", "nfc"), ("NFD", "nfd"), ("NFKC", "nfkc"), ("NFKD", "nfkd"), ("Lowercase", "lowercase")];
const MAX_NORMALIZERS: usize = 4;

/// Adds the Unicode forms of a normalizer, single or in a sequence. Refuses others by name. `drops_spaces`: the text's white
/// space is dropped later, so a step that only changes white space is ignored.
pub(super) fn add_forms(node: &Node<'_>, forms: &mut Vec<String>, drops_spaces: bool) -> Result<()> {
    let kind = node.string("type").within(|| "normalizer".into())?;
    if kind == "Sequence" {
        let steps = node.list("normalizers").within(|| "normalizer".into())?;
        return steps.iter().try_for_each(|step| add_forms(step, forms, drops_spaces));
    }
    let pattern = node.get("pattern").and_then(|pattern| pattern.string("Regex").ok());
    if drops_spaces && kind == "Replace" && pattern == Some(r"\s+") && node.string("content")? == " " {
        return Ok(());
    }
    let Some((_, form)) = FORMS.iter().find(|(name, _)| *name == kind) else {
        let (kind, known) = (quoted(kind), FORMS.map(|(name, _)| name).join(", "));
        return Err(Error::Model(format!(
            "normalizer {kind} is not supported (only {known}): apply it to your texts yourself and set normalizer to null"
        )));
    };
    forms.push((*form).to_owned());
    if forms.len() > MAX_NORMALIZERS {
        return Err(Error::Model(format!(
            "normalizer has more than {MAX_NORMALIZERS} steps; pairloom reads no more"
        )));
    }
    Ok(())
}
