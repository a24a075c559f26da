//! Bindings of `pairloom_core::encoder::SpecialPolicy` and `Specials`: which special tokens a call recognises.

use std::sync::Arc;

use pairloom_core::encoder::{self, Specials};
use pairloom_core::special::SpecialTokens;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::exception;

/// The special tokens that a call recognises, and those that make it raise.
#[pyclass(frozen, module = "pairloom._core")]
pub struct SpecialPolicy {
    allowed: Arc<SpecialTokens>,
    disallowed: Arc<SpecialTokens>,
}

impl SpecialPolicy {
    /// Returns the special tokens that are recognised, and those that raise.
    pub(crate) fn shared(&self) -> (Arc<SpecialTokens>, Arc<SpecialTokens>) {
        (Arc::clone(&self.allowed), Arc::clone(&self.disallowed))
    }
}

#[pymethods]
impl SpecialPolicy {
    #[new]
    #[pyo3(signature = (*, allowed, disallowed, rules = Vec::new()))]
    fn new(
        py: Python<'_>,
        allowed: Vec<(String, u32)>,
        disallowed: Vec<String>,
        mut rules: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let disallowed = disallowed.into_iter().map(|token| (token, 0)).collect();
        let allowed = with_rules_of(allowed, &rules).map_err(|error| exception(py, error))?;
        // A disallowed literal is an error even if it would otherwise stay text.
        rules.retain(|(_, rule)| rule != "ordinary");
        let disallowed = with_rules_of(disallowed, &rules).map_err(|error| exception(py, error))?;
        Ok(SpecialPolicy { allowed: Arc::new(allowed), disallowed: Arc::new(disallowed) })
    }
}

/// Makes special tokens with the rules that apply to them.
fn with_rules_of(
    tokens: Vec<(String, u32)>,
    rules: &[(String, String)],
) -> pairloom_core::Result<SpecialTokens> {
    let is_theirs = |rule: &&(String, String)| tokens.iter().any(|(token, _)| *token == rule.0);
    let theirs: Vec<_> = rules.iter().filter(is_theirs).cloned().collect();
    SpecialTokens::with_rules(tokens, &theirs)
}

pub(crate) fn policy(given: Option<&SpecialPolicy>) -> encoder::SpecialPolicy<'_> {
    match given {
        None => encoder::SpecialPolicy::All,
        Some(given) => {
            encoder::SpecialPolicy::Some { allowed: &given.allowed, disallowed: &given.disallowed }
        }
    }
}

/// Returns the handling of special tokens in data by its name.
pub(crate) fn specials_named(name: &str) -> PyResult<Specials> {
    match name {
        "recognise" => Ok(Specials::Recognise),
        "ordinary" => Ok(Specials::Ordinary),
        "error" => Ok(Specials::Error),
        other => Err(PyValueError::new_err(format!(
            "specials must be \"recognise\", \"ordinary\" or \"error\", not {other:?}"
        ))),
    }
}
