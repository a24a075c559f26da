//! Runs patterns that have no hand-written scanner with a regex engine.
//!
//! Pretokens are the matches, found one after the other, and the gaps between them; empty matches are skipped. Cost:
//! linear if the pattern can be an automaton, see [`super::dfa`]. Other patterns need `fancy_regex`, which backtracks
//! up to a limit and then refuses the text. It is tried only at characters that can begin a match.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use fancy_regex::{CompileError, Regex, RegexBuilder};

use super::dfa::{Dfa, MatchMemo};
use super::expressions::{Set, first_characters};
use super::threes::WholeNumbers;
use crate::error::{Error, Result};
use crate::memory::TryReserve;

/// The most bytes that the patterns of a pretokenizer can have together. Those of published tokenizers have up to 604.
/// Compiling takes quadratic time: 0.02 s for this many bytes, minutes for some hundred thousand.
pub const MAX_PATTERN_BYTES: usize = 1 << 14;

/// The most bytes that the automata of a pretokenizer can take together; building them takes about half a second. A
/// short pattern can need many: 150 lookaheads with counts up to {1,150} took 600 MB and 4 s.
pub(super) const MAX_AUTOMATA_BYTES: usize = 16 << 20;

/// A compiled pattern.
pub(super) struct RegexScanner {
    pattern: String,
    engine: Engine,
    /// Whether an empty match counts, unless it is where the search begins.
    finds_nothing: bool,
}

enum Engine {
    Automaton(Arc<Dfa>),
    Backtracking(Box<Backtracking>),
}

/// The number of copies of a backtracking pattern: threads that share one wait for each other's caches.
const N_COPIES: usize = 8;

/// A pattern for `fancy_regex`.
struct Backtracking {
    copies: [OnceLock<Regex>; N_COPIES],
    max_bytes: usize,
    /// The characters that can begin a match, if they are known.
    first: Option<Set>,
}

impl Backtracking {
    /// Returns the calling thread's copy.
    fn regex(&self, pattern: &str) -> Result<&Regex> {
        static N_THREADS: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static NUMBER: usize = N_THREADS.fetch_add(1, Relaxed);
        }
        let copy = &self.copies[NUMBER.with(|number| number % N_COPIES)];
        if copy.get().is_none() {
            // If only some characters can begin a match, each of them is tried by itself.
            let anchored = self.first.as_ref().map(|_| format!(r"\G(?:{pattern})"));
            let built = built(anchored.as_deref().unwrap_or(pattern), self.max_bytes);
            let _ = copy.set(built.map_err(|error| refusal(pattern, &error))?);
        }
        copy.get()
            .ok_or_else(|| Error::Invalid("two threads compiled a pattern at once; report this".to_owned()))
    }

    /// Returns the first offset from `from` on where a match can begin; the end of the text if there is none.
    fn begin(&self, text: &str, from: usize) -> usize {
        let Some(first) = &self.first else { return from };
        let begin = text.get(from..).and_then(|rest| rest.find(|character| first.has(character)));
        begin.map_or(text.len(), |n_bytes| from + n_bytes)
    }
}

impl Engine {
    fn backtracking(pattern: &str, max_bytes: usize) -> Result<Self> {
        let first = first_characters(pattern).map(Set::new);
        let found = Backtracking { copies: Default::default(), max_bytes, first };
        found.regex(pattern)?;
        Ok(Engine::Backtracking(Box::new(found)))
    }
}

/// [`Error::Pattern`] if the patterns together are longer than [`MAX_PATTERN_BYTES`].
pub fn check_length<S: AsRef<str>>(patterns: &[S]) -> Result<()> {
    let n_bytes: usize = patterns.iter().map(|pattern| pattern.as_ref().len()).sum();
    if n_bytes <= MAX_PATTERN_BYTES {
        return Ok(());
    }
    let pattern = patterns.first().map_or("", AsRef::as_ref).to_owned();
    let what = if patterns.len() > 1 { "this pattern and those after it have" } else { "this pattern has" };
    let message = format!("{what} {n_bytes} bytes; at most {MAX_PATTERN_BYTES} are allowed");
    Err(Error::Pattern { pattern, message })
}

/// Compiles the pattern with `fancy_regex`, which runs parts of it as automata and joins these by backtracking.
/// Together the automata take at most `max_bytes`.
fn built(pattern: &str, max_bytes: usize) -> fancy_regex::Result<Regex> {
    let bytes = pattern.as_bytes();
    let is_one_of = |at: usize, among: &[u8]| bytes.get(at).is_some_and(|byte| among.contains(byte));
    // Lookaround, atomic groups, possessive repetitions, references, `\K` and `\G` separate two parts.
    let n_joints = (0..bytes.len())
        .filter(|&at| match bytes[at] {
            b'(' => is_one_of(at + 1, b"?") && !is_one_of(at + 2, b":imsx-"),
            b'+' => at > 0 && is_one_of(at - 1, b"*+?}"),
            b'\\' => is_one_of(at + 1, b"0123456789kKgG"),
            _ => false,
        })
        .count();
    let n_alternatives = 1 + bytes.iter().filter(|&&byte| byte == b'|').count();
    let n_parts = if n_joints == 0 { 1 } else { 2 * n_joints + n_alternatives };
    RegexBuilder::new(pattern).delegate_size_limit(max_bytes / n_parts).build()
}

impl RegexScanner {
    /// Compiles `pattern`, to an automaton if possible. Its automata can take up to `max_bytes`.
    pub fn new(pattern: &str, max_bytes: usize) -> Result<Self> {
        let engine = match Dfa::new(pattern, max_bytes) {
            Some(found) => Engine::Automaton(Arc::new(found)),
            None => Engine::backtracking(pattern, max_bytes)?,
        };
        Ok(RegexScanner { pattern: pattern.to_owned(), engine, finds_nothing: false })
    }

    /// [`RegexScanner::new`] for a scanner that also finds empty matches.
    pub fn with_empty_matches(pattern: &str, max_bytes: usize) -> Result<Self> {
        let engine = match Dfa::new(pattern, max_bytes).filter(|dfa| !dfa.can_be_empty()) {
            Some(found) => Engine::Automaton(Arc::new(found)),
            None => Engine::backtracking(pattern, max_bytes)?,
        };
        Ok(RegexScanner { pattern: pattern.to_owned(), engine, finds_nothing: true })
    }

    /// Compiles `pattern` for the backtracking engine, which supports all syntax.
    pub fn backtracking(pattern: &str, max_bytes: usize) -> Result<Self> {
        let engine = Engine::backtracking(pattern, max_bytes)?;
        Ok(RegexScanner { pattern: pattern.to_owned(), engine, finds_nothing: false })
    }

    /// Returns the automaton that runs the pattern, if one does.
    pub fn automaton(&self) -> Option<&Arc<Dfa>> {
        match &self.engine {
            Engine::Automaton(dfa) => Some(dfa),
            Engine::Backtracking(_) => None,
        }
    }

    /// Returns the text of the pattern.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Returns a finder of the same matches, if the pattern groups the digits of whole numbers.
    pub fn whole_numbers(&self) -> Option<WholeNumbers> {
        WholeNumbers::new(&self.pattern)
    }

    /// Whether the start of a search affects which matches it finds, apart from excluding earlier ones.
    pub fn depends_on_the_last_match(&self) -> bool {
        self.pattern.contains(r"\G") || self.pattern.contains(r"\K")
    }

    /// Returns the start and end of the first match from `from` on, not counting empty ones unless the scanner finds
    /// these. `memo` must be of the same text.
    pub fn find(&self, text: &str, from: usize, memo: &mut MatchMemo) -> Result<Option<(usize, usize)>> {
        let backtracking = match &self.engine {
            Engine::Automaton(dfa) => return Ok(dfa.find(text, from, memo)),
            Engine::Backtracking(backtracking) => backtracking,
        };
        let mut at = backtracking.begin(text, from);
        if at == text.len() && backtracking.first.is_some() {
            return Ok(None);
        }
        let regex = backtracking.regex(&self.pattern)?;
        loop {
            let found = regex.find_from_pos(text, at).map_err(|error| refusal(&self.pattern, &error))?;
            // With `\K` in a lookahead the start can be after the end; in a lookbehind, before `at`.
            let found = found.map(|found| (found.start().clamp(at, found.end()), found.end()));
            let searched = match found {
                None if backtracking.first.is_none() => return Ok(None),
                Some((start, end)) if end > start || (self.finds_nothing && end > from) => {
                    return Ok(Some((start, end)));
                }
                found => found.map_or(at, |(_, end)| end),
            };
            match text.get(searched..).and_then(|rest| rest.chars().next()) {
                Some(character) => at = backtracking.begin(text, searched + character.len_utf8()),
                None => return Ok(None),
            }
        }
    }
}

pub(super) fn refusal(pattern: &str, error: &fancy_regex::Error) -> Error {
    let message = match error {
        fancy_regex::Error::CompileError(inner) if is_too_large(inner) => {
            "its automaton is too large; use smaller character classes in repetitions, or smaller counts than in {1,100}"
                .to_owned()
        }
        _ => error.to_string(),
    };
    Error::Pattern { pattern: pattern.to_owned(), message }
}

fn is_too_large(error: &CompileError) -> bool {
    matches!(error, CompileError::InnerError(inner) if inner.size_limit().is_some())
}

const MAX_COMPILED: usize = 8;

thread_local! {
    /// The patterns of the last calls of `matches`: compiling one takes longer than searching a short text.
    static COMPILED: RefCell<Vec<(String, Rc<RegexScanner>)>> = const { RefCell::new(Vec::new()) };
}

/// Returns the matches of a pattern in each text, without empty ones, as starts and ends in characters.
pub fn matches(pattern: &str, texts: &[String]) -> Result<Vec<Vec<(usize, usize)>>> {
    check_length(&[pattern])?;
    let scanner = COMPILED.with_borrow_mut(|compiled| {
        if let Some((_, scanner)) = compiled.iter().find(|(known, _)| known == pattern) {
            return Ok(Rc::clone(scanner));
        }
        let scanner = Rc::new(RegexScanner::new(pattern, MAX_AUTOMATA_BYTES)?);
        compiled.truncate(MAX_COMPILED - 1);
        compiled.insert(0, (pattern.to_owned(), Rc::clone(&scanner)));
        Ok::<_, Error>(scanner)
    })?;
    let of_text = |text: &String| {
        let (mut found, mut at, mut n_characters, mut memo) = (Vec::new(), 0, 0, MatchMemo::default());
        while let Some((start, end)) = scanner.find(text, at, &mut memo)? {
            let begin = n_characters + text[at..start].chars().count();
            n_characters = begin + text[start..end].chars().count();
            at = end;
            found.try_push((begin, n_characters), "the matches of a pattern")?;
        }
        Ok(found)
    };
    texts.iter().map(of_text).collect()
}
