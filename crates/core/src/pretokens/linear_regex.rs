//! Patterns without lookaround except `\s+(?!\S)`, run by automata in time linear in the text.
//!
//! Most patterns of tokenizers are a list of alternatives, one of them `\s+(?!\S)`. Without that lookahead they are
//! regular, and `regex-automata` searches them with a lazy DFA instead of backtracking. So `\s+` is searched in its
//! place, and the lookahead is applied to the match: a run of white space gives its last character back; if it has no
//! other, the alternatives after it are tried at the same offset.
//!
//! Only syntax that `regex-automata` and `fancy_regex` read alike is accepted; any other pattern backtracks. The tests
//! compare both engines.

use regex_automata::meta::Regex;
use regex_automata::{Anchored, Input};

/// The only lookahead that is supported.
const SPACES: &str = r"\s+(?!\S)";

/// A list of alternatives, compiled.
pub(super) struct LinearRegex {
    /// All alternatives, with `\s+` for [`SPACES`].
    all: Regex,
    /// The index of [`SPACES`] among them.
    spaces: Option<usize>,
    /// The alternatives after it.
    after_spaces: Option<Regex>,
}

impl LinearRegex {
    /// `None` if the pattern has any other syntax, or an automaton of more than `max_bytes`.
    pub fn new(pattern: &str, max_bytes: usize) -> Option<Self> {
        let alternatives = split(pattern)?;
        let spaces = alternatives.iter().position(|&alternative| alternative == SPACES);
        let mut plain = alternatives.clone();
        let mut after_spaces = None;
        if let Some(nth) = spaces {
            plain[nth] = r"\s+";
            if nth + 1 < plain.len() {
                after_spaces = Some(compile(&plain[nth + 1..], max_bytes)?);
            }
        }
        Some(LinearRegex { all: compile(&plain, max_bytes)?, spaces, after_spaces })
    }

    /// Whether it matches nothing somewhere.
    pub fn can_be_empty(&self) -> bool {
        self.all.is_match("")
    }

    /// Whether it matches every character alone, so that its matches leave no gaps in any text.
    pub fn is_total(&self) -> bool {
        ('\0'..=char::MAX).all(|character| {
            let mut buffer = [0; 4];
            let text = &*character.encode_utf8(&mut buffer);
            let found = self.all.search_half(&Input::new(text).anchored(Anchored::Yes));
            found.is_some_and(|found| match Some(found.pattern().as_usize()) == self.spaces {
                // What `\s+(?!\S)` matches depends on what stands behind it.
                true => self.find_after_spaces(text, 0) == text.len(),
                false => found.offset() == text.len(),
            })
        })
    }

    /// The first match from `from` on that is not empty: its start and end.
    pub fn find(&self, text: &str, mut from: usize) -> Option<(usize, usize)> {
        loop {
            // Most matches start where the last one ended. An anchored search there needs no reverse search for the
            // start of the match.
            let here = Input::new(text).range(from..).anchored(Anchored::Yes);
            let (pattern, start, mut end) = match self.all.search_half(&here) {
                Some(found) => (found.pattern(), from, found.offset()),
                None => {
                    let found = self.all.search(&Input::new(text).range(from..))?;
                    (found.pattern(), found.start(), found.end())
                }
            };
            if Some(pattern.as_usize()) == self.spaces && end < text.len() {
                let last = text.get(start..end)?.char_indices().next_back()?.0;
                end = if last > 0 { start + last } else { self.find_after_spaces(text, start) };
            }
            if end > start {
                return Some((start, end));
            }
            from = start + text.get(start..)?.chars().next()?.len_utf8();
        }
    }

    /// The end of a match at `start` of the alternatives after [`SPACES`]; `start` if there is none.
    fn find_after_spaces(&self, text: &str, start: usize) -> usize {
        let input = Input::new(text).range(start..).anchored(Anchored::Yes);
        let found = self.after_spaces.as_ref().and_then(|regex| regex.search_half(&input));
        found.map_or(start, |found| found.offset())
    }
}

/// An automaton for `patterns`; the first one that matches wins.
fn compile(patterns: &[&str], max_bytes: usize) -> Option<Regex> {
    // The lazy DFA of o200k's pattern overflows the default cache of 2 MB again and again, and then runs at 1 MB/s:
    // letters by case, in many scripts.
    let config = Regex::config().hybrid_cache_capacity(16 << 20).nfa_size_limit(Some(max_bytes));
    Regex::builder().configure(config).build_many(patterns).ok()
}

/// The alternatives of a pattern, if all of them, except [`SPACES`], use only syntax that both engines read alike:
/// characters, classes, the groups `(`, `(?:` and `(?i:`, and quantifiers, greedy or lazy.
fn split(pattern: &str) -> Option<Vec<&str>> {
    let bytes = pattern.as_bytes();
    let (mut alternatives, mut start, mut at, mut n_open) = (Vec::new(), 0, 0, 0usize);
    while let Some(&byte) = bytes.get(at) {
        let rest = pattern.get(at..)?;
        at += match byte {
            b'\\' => escape_len(rest)?,
            b'[' => class_len(rest)?,
            b'(' if n_open == 0 && start + 3 == at && is_spaces(pattern.get(start..)?) => "(?!\\S)".len(),
            b'(' => {
                n_open += 1;
                let is_group = rest.starts_with("(?:") || rest.starts_with("(?i:");
                if is_group || !rest.starts_with("(?") && !rest.starts_with("(*") { 1 } else { return None }
            }
            b'?' if bytes.get(at.checked_sub(1)?) == Some(&b'(') => rest.find(':')?,
            b')' => {
                n_open = n_open.checked_sub(1)?;
                1
            }
            b'|' if n_open == 0 => {
                alternatives.push(pattern.get(start..at)?);
                start = at + 1;
                1
            }
            b'{' => quantifier_len(rest)?,
            b'?' | b'*' | b'+' if rest.as_bytes().get(1) == Some(&b'+') => return None,
            b'^' | b'$' | b']' | b'}' => return None,
            _ => rest.chars().next()?.len_utf8(),
        };
    }
    alternatives.push(pattern.get(start..)?);
    let is_whole = n_open == 0 && alternatives.iter().all(|alternative| !alternative.is_empty());
    is_whole.then_some(alternatives)
}

/// Whether the first alternative of `rest` is [`SPACES`].
fn is_spaces(rest: &str) -> bool {
    rest.strip_prefix(SPACES).is_some_and(|after| after.is_empty() || after.starts_with('|'))
}

fn escape_len(rest: &str) -> Option<usize> {
    match *rest.as_bytes().get(1)? {
        b'p' | b'P' if rest.as_bytes().get(2) == Some(&b'{') => Some(rest.find('}')? + 1),
        b'r' | b'n' | b't' | b's' | b'S' | b'd' | b'D' | b'w' | b'W' => Some(2),
        // `\<` and `\>` are word boundaries.
        byte if byte.is_ascii_punctuation() && byte != b'<' && byte != b'>' => Some(2),
        _ => None,
    }
}

fn class_len(rest: &str) -> Option<usize> {
    let bytes = rest.as_bytes();
    let (mut at, mut n_open) = (0, 0usize);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => {
                at += escape_len(rest.get(at..)?)?;
                continue;
            }
            b'[' => {
                n_open += 1;
                // Engines differ on `[]`, and `[:` starts the name of a class.
                if matches!(bytes.get(at + 1), Some(b']' | b':')) || rest.get(at..)?.starts_with("[^]") {
                    return None;
                }
            }
            b']' => n_open -= 1,
            // Not every engine has differences and symmetric differences of classes.
            b'-' | b'~' if bytes.get(at + 1) == Some(&byte) => return None,
            _ => {}
        }
        at += 1;
        if n_open == 0 {
            return Some(at);
        }
    }
    None
}

fn quantifier_len(rest: &str) -> Option<usize> {
    let end = rest.find('}')?;
    let inside = rest.get(1..end)?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_quantifier = match inside.split_once(',') {
        Some((least, most)) => is_number(least) && (most.is_empty() || is_number(most)),
        None => is_number(inside),
    };
    (is_quantifier && rest.as_bytes().get(end + 1) != Some(&b'+')).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_rejects_syntax_that_engines_read_differently() {
        for pattern in
            [r"a|b", r" ?\p{L}+|\s+(?!\S)|\s+", r"[^\r\n\p{L}]?(?i:'s|'t)?|\(x\)", r"a{1,3}?|[a-z&&[^b]]+"]
        {
            assert!(split(pattern).is_some(), "{pattern}");
        }
        for pattern in [
            "",
            "a||b",
            "(a",
            "a)",
            r"a++|b",
            r"a{1,2}+",
            r"a?+",
            r"a*+",
            r"\s+(?!\S)x",
            r"x\s+(?!\S)",
            r"(?:\s+(?!\S))",
            r"(?=a)b",
            r"(?<=a)b",
            r"(?<!a)b",
            r"(?>a)",
            r"(?i)a|b",
            r"(?P<n>a)",
            r"(a)\1",
            r"\bfoo",
            r"^a",
            r"a$",
            r"\Ga",
            r"a\K",
            r"[]a]",
            r"[^]a]",
            r"[[:alpha:]]",
            r"[a-z--b]",
            r"a{",
            r"a{x}",
            r"\<a",
            r"\x41",
            r"(*FAIL)",
            "[a",
            r"a\",
        ] {
            assert!(split(pattern).is_none(), "{pattern}");
        }
        assert_eq!(split(r"(a|b)|[|]|\||\s+(?!\S)").unwrap(), [r"(a|b)", r"[|]", r"\|", r"\s+(?!\S)"]);
    }
}
