//! Any pattern, by a general engine with lookaround.
//!
//! Enters: a document. Leaves: the ends of its pretokens: the matches, found one after the other, and the text
//! between them, each gap a pretoken of its own. Empty matches make no pretokens. Cost: a match is found in linear
//! time where the pattern is an automaton, see [`super::linear_regex`]. Others backtrack, up to a limit behind which
//! a text is refused instead of taking for ever. All matches together may take quadratic time, where an alternative
//! reads far ahead at each of them and fails there, as `a+b` in `a+b|a` on a long run of a.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use fancy_regex::{Input, Regex};

use super::ENDS_PER_FILL;
use super::linear_regex::LinearRegex;
use crate::error::{Error, Result};
use crate::memory::{Room, TryReserve};
use crate::monitor::OnProgress;

/// What compiling or running a pattern may allocate without asking: automata, their caches of up to 16 MiB each, and
/// the stack of a search that backtracks.
const ROOM_BYTES: usize = 64 << 20;

/// About how many bytes of text are looked at between two calls of a pulse.
const BYTES_PER_TICK: usize = 1 << 24;

/// Most steps of a search, or matches, between two calls of a pulse.
const MOST_STEPS: usize = 1 << 12;

/// A pattern run by a general regex engine.
pub(super) struct RegexScanner {
    pattern: String,
    engine: Engine,
}

enum Engine {
    Automaton(LinearRegex),
    Backtracking(Box<Regex>),
}

impl Engine {
    fn backtracking(pattern: &str) -> Result<Self> {
        let regex = Regex::new(pattern).map_err(|error| refusal(pattern, &error))?;
        Ok(Engine::Backtracking(Box::new(regex)))
    }
}

/// Room for what the engines allocate on their own; held while they run.
pub(super) fn room() -> Result<Room> {
    Room::hold(ROOM_BYTES, "the tables of a pattern")
}

impl RegexScanner {
    /// Compiles `pattern`, as an automaton if it can be one.
    pub fn new(pattern: &str) -> Result<Self> {
        let _room = room()?;
        let engine = match LinearRegex::new(pattern) {
            Some(found) => Engine::Automaton(found),
            None => Engine::backtracking(pattern)?,
        };
        Ok(RegexScanner { pattern: pattern.to_owned(), engine })
    }

    /// Compiles `pattern` for the engine that reads all of its syntax.
    pub fn backtracking(pattern: &str) -> Result<Self> {
        let _room = room()?;
        Ok(RegexScanner { pattern: pattern.to_owned(), engine: Engine::backtracking(pattern)? })
    }

    /// The first match from `from` on that is not empty: its start and end. The caller holds [`room`].
    pub fn find(
        &self,
        text: &str,
        mut from: usize,
        on_progress: OnProgress<'_>,
    ) -> Result<Option<(usize, usize)>> {
        let regex = match &self.engine {
            Engine::Automaton(alternatives) => return Ok(alternatives.find(text, from)),
            Engine::Backtracking(regex) => regex,
        };
        let watched = Watched::new(text, from, on_progress);
        loop {
            match watched.find(regex, from, &self.pattern)? {
                None => return Ok(None),
                Some((start, end)) if end > start => return Ok(Some((start, end))),
                Some((_, end)) => match text.get(end..).and_then(|rest| rest.chars().next()) {
                    Some(character) => from = end + character.len_utf8(),
                    None => return Ok(None),
                },
            }
        }
    }

    /// [`super::Pretokenizer::fill_with_progress`] by matches.
    pub fn fill(
        &self,
        text: &str,
        from: usize,
        ends: &mut Vec<usize>,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        ends.clear();
        ends.grow(ENDS_PER_FILL, "pretoken ends")?;
        let _room = room()?;
        let (mut at, mut n_matches) = (from, 0);
        while at < text.len() && ends.len() + 2 <= ENDS_PER_FILL {
            let (start, end) = self.find(text, at, on_progress)?.unwrap_or((text.len(), text.len()));
            if start > at {
                ends.push(start);
            }
            if end > start {
                ends.push(end);
            }
            n_matches += 1;
            if n_matches >= steps_per_pulse(text.len() - at) {
                n_matches = 0;
                on_progress(0)?;
            }
            at = end;
        }
        Ok(())
    }
}

/// How many steps or matches there may be between two calls of a pulse, where each may read `n_bytes`.
fn steps_per_pulse(n_bytes: usize) -> usize {
    (BYTES_PER_TICK / n_bytes.max(1)).clamp(1, MOST_STEPS)
}

/// A text that looks now and then, as it is read, whether the search in it is still wanted.
///
/// A backtracking search cannot be asked to stop, but each of its steps asks the text for its bytes. There a pulse is
/// called; where that fails the search is left by unwinding, as a panic would, but without the message of one.
struct Watched<'a, 'p> {
    text: &'a str,
    steps_per_pulse: usize,
    n_steps: Cell<usize>,
    on_progress: RefCell<OnProgress<'p>>,
    failure: Cell<Option<Error>>,
}

/// What a search that is not wanted any more unwinds with.
struct NotWanted;

impl<'a, 'p> Watched<'a, 'p> {
    fn new(text: &'a str, from: usize, on_progress: OnProgress<'p>) -> Self {
        Watched {
            text,
            steps_per_pulse: steps_per_pulse(text.len() - from),
            n_steps: Cell::new(0),
            on_progress: RefCell::new(on_progress),
            failure: Cell::new(None),
        }
    }

    /// The first match from `from` on, empty or not.
    fn find(&self, regex: &Regex, from: usize, pattern: &str) -> Result<Option<(usize, usize)>> {
        // What a search leaves behind when it is left half way is scratch memory, which the next one clears.
        match catch_unwind(AssertUnwindSafe(|| regex.find_from_pos(self, from))) {
            Ok(found) => found.map_err(|error| refusal(pattern, &error)),
            Err(payload) => match self.failure.take() {
                Some(error) => Err(error),
                None => resume_unwind(payload),
            },
        }
    }

    #[cold]
    fn look(&self) {
        self.n_steps.set(0);
        if let Ok(mut on_progress) = self.on_progress.try_borrow_mut()
            && let Err(error) = on_progress(0)
        {
            self.failure.set(Some(error));
            resume_unwind(Box::new(NotWanted));
        }
    }
}

impl Input for Watched<'_, '_> {
    type Match<'t>
        = (usize, usize)
    where
        Self: 't;

    fn len(&self) -> usize {
        self.text.len()
    }

    #[inline]
    fn as_bytes(&self) -> &[u8] {
        let n_steps = self.n_steps.get() + 1;
        self.n_steps.set(n_steps);
        if n_steps >= self.steps_per_pulse {
            self.look();
        }
        self.text.as_bytes()
    }

    fn is_char_boundary(&self, at: usize) -> bool {
        self.text.is_char_boundary(at)
    }

    fn is_ascii(&self) -> bool {
        self.text.is_ascii()
    }

    fn prev_codepoint_ix(&self, at: usize) -> usize {
        Input::prev_codepoint_ix(self.text, at)
    }

    fn make_match(&self, start: usize, end: usize) -> (usize, usize) {
        (start, end)
    }

    fn advance_position(&self, at: usize) -> usize {
        Input::advance_position(self.text, at)
    }
}

fn refusal(pattern: &str, error: &fancy_regex::Error) -> Error {
    Error::Pattern { pattern: pattern.to_owned(), message: error.to_string() }
}
