//! Any pattern, by a general engine with lookaround.
//!
//! Enters: a document. Leaves: the ends of its pretokens: the matches, found one after the other, and the
//! text between them, each gap a pretoken of its own. Empty matches make no pretokens.
//! Cost: linear for patterns that are automata, see [`super::alternatives`]. Others backtrack, up to a limit
//! behind which a text is refused instead of taking for ever.

use fancy_regex::Regex;

use super::ENDS_PER_FILL;
use super::alternatives::Alternatives;
use crate::error::{Error, Result};

/// A pattern run by a general regex engine.
pub(super) struct RegexScanner {
    pattern: String,
    engine: Engine,
}

enum Engine {
    Automaton(Alternatives),
    Backtracking(Box<Regex>),
}

impl RegexScanner {
    /// Compiles `pattern`, as an automaton if it can be one.
    pub fn new(pattern: &str) -> Result<Self> {
        match Alternatives::new(pattern) {
            Some(found) => Ok(RegexScanner { pattern: pattern.to_owned(), engine: Engine::Automaton(found) }),
            None => Self::backtracking(pattern),
        }
    }

    /// Compiles `pattern` for the engine that reads all of its syntax.
    pub fn backtracking(pattern: &str) -> Result<Self> {
        let regex = Regex::new(pattern).map_err(|error| refusal(pattern, &error))?;
        Ok(RegexScanner { pattern: pattern.to_owned(), engine: Engine::Backtracking(Box::new(regex)) })
    }

    /// The first match from `from` on that is not empty: its start and end.
    pub fn find(&self, text: &str, mut from: usize) -> Result<Option<(usize, usize)>> {
        let regex = match &self.engine {
            Engine::Automaton(alternatives) => return Ok(alternatives.find(text, from)),
            Engine::Backtracking(regex) => regex,
        };
        loop {
            match regex.find_from_pos(text, from).map_err(|error| refusal(&self.pattern, &error))? {
                None => return Ok(None),
                Some(found) if found.end() > found.start() => return Ok(Some((found.start(), found.end()))),
                Some(found) => match text.get(found.end()..).and_then(|rest| rest.chars().next()) {
                    Some(character) => from = found.end() + character.len_utf8(),
                    None => return Ok(None),
                },
            }
        }
    }

    /// [`super::Pretokenizer::fill`] by matches.
    pub fn fill(&self, text: &str, from: usize, ends: &mut Vec<usize>) -> Result<()> {
        ends.clear();
        ends.try_reserve(ENDS_PER_FILL).map_err(Error::out_of_memory("pretoken ends"))?;
        let mut at = from;
        while at < text.len() && ends.len() + 2 <= ENDS_PER_FILL {
            let (start, end) = self.find(text, at)?.unwrap_or((text.len(), text.len()));
            if start > at {
                ends.push(start);
            }
            if end > start {
                ends.push(end);
            }
            at = end;
        }
        Ok(())
    }
}

fn refusal(pattern: &str, error: &fancy_regex::Error) -> Error {
    Error::Pattern { pattern: pattern.to_owned(), message: error.to_string() }
}
