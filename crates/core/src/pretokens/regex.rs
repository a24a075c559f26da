//! Any pattern, by a general engine with lookaround.

use fancy_regex::Regex;

use super::ENDS_PER_FILL;
use crate::error::{Error, Result};

/// A pattern run by a backtracking regex engine.
pub struct RegexScanner {
    regex: Regex,
}

impl RegexScanner {
    /// Compiles `pattern`.
    pub fn new(pattern: &str) -> Result<Self> {
        let regex = Regex::new(pattern)
            .map_err(|error| Error::Pattern { pattern: pattern.to_owned(), message: error.to_string() })?;
        Ok(RegexScanner { regex })
    }

    /// The pattern's text.
    pub fn pattern(&self) -> &str {
        self.regex.as_str()
    }

    /// See [`super::Pretokenizer::is_memoryless`].
    pub fn is_memoryless(&self) -> bool {
        false
    }

    /// See [`super::Pretokenizer::fill`].
    pub fn fill(&self, document: &str, from: usize, ends: &mut Vec<usize>) -> Result<()> {
        ends.clear();
        let mut at = from;
        while at < document.len() && ends.len() + 2 <= ENDS_PER_FILL {
            let found = self.regex.find_from_pos(document, at).map_err(|error| Error::Pattern {
                pattern: self.pattern().to_owned(),
                message: error.to_string(),
            })?;
            match found {
                Some(found) if found.end() > at => {
                    if found.start() > at {
                        ends.push(found.start());
                    }
                    ends.push(found.end());
                    at = found.end();
                }
                _ => {
                    ends.push(document.len());
                    at = document.len();
                }
            }
        }
        Ok(())
    }
}
