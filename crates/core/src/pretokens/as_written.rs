//! Spells a pattern so that the regex engines run it as it is written.
//!
//! `fancy_regex` 0.20 simplifies repetitions and `\K`, and some of what it runs instead matches otherwise: `a+b?a+` becomes
//! `a+(?:b{1}a+)?`, which finds "a"; `(a+)+\1` becomes `(a+)\1`; `(?:(?:a+?)+)*` becomes `(?:a+?)?`; and where a `\K` stands in a
//! group before another one, as in `(?:a\Kb)\K(?!c)`, the last one is forgotten. It also goes back into a lookahead that has
//! matched, which shows where that has captures or a `\K`: `(?=(a)??)a\1` finds "aa". And it ends the search at a `\G` that fails
//! behind what may be nothing: `a?\Gb`. `regex-syntax` 0.8, which both engines parse with, writes what all alternatives begin
//! with once: `(?:[ab]+a|[ab]+c)` becomes `[ab]+(?:a|c)`, which prefers a longer `[ab]+` to the first alternative.
//!
//! There are no options against these. So such a pattern is spelt in a way that those rules do not know: each repetition is put
//! in a group that is repeated once, each lookahead and lookbehind in an atomic group, the whole pattern in an alternative, and
//! alternatives get one more, which matches nothing. Where only alternatives are at fault, only they are respelt. Other
//! patterns stay as they are.

use std::borrow::Cow;

use fancy_regex::internal::optimize;
use fancy_regex::{Error, Expr, LookAround};

/// No character: an alternative that never matches, and that the automata know.
const NEVER: &str = r"[^\s\S]";

/// The pattern, spelt so that `fancy_regex` runs it as it is written. `None` if that spelling is not known.
pub(super) fn as_written(pattern: &str) -> Result<Option<String>, Error> {
    let tree = Expr::parse_tree(pattern)?;
    let mut simplified = tree.clone();
    optimize(&mut simplified);
    let is_safe = |part: &Expr| !has(part, is_continuation) && !has(part, look_has_effects);
    let parts = match &tree.expr {
        // Where it must come first, the search may end.
        Expr::Concat(parts) if is_continuation(&parts[0]) => &parts[1..],
        whole => std::slice::from_ref(whole),
    };
    let is_rewritten = simplified.expr != tree.expr || !parts.iter().all(is_safe);
    if !is_rewritten && !has(&tree.expr, is_factored) {
        return Ok(Some(pattern.to_owned()));
    }
    let (respelt, wanted) = match is_rewritten {
        true => {
            let nothing = Expr::LookAround(Box::new(Expr::Empty), LookAround::LookAheadNeg);
            (format!("(?:{})|(?!)", with_groups(pattern, true)), Expr::Alt(vec![tree.expr, nothing]))
        }
        // An automaton can run this, if it could run the pattern.
        false => (with_groups(&format!("(?:{pattern})"), false), tree.expr),
    };
    let Ok(tree_of_respelt) = Expr::parse_tree(&respelt) else { return Ok(None) };
    let mut simplified = tree_of_respelt.clone();
    optimize(&mut simplified);
    // That the pattern was read correctly is not assumed: without what was added, both are the same.
    let is_same = simplified.expr == tree_of_respelt.expr
        && without_groups(tree_of_respelt.expr) == without_groups(wanted);
    Ok(is_same.then_some(respelt))
}

/// A pattern without lookaround, spelt so that `regex-automata` runs it as it is written.
pub(super) fn with_separate_alternatives(pattern: &str) -> Cow<'_, str> {
    match Expr::parse_tree(pattern) {
        Ok(tree) if has(&tree.expr, is_factored) => with_groups(pattern, false).into(),
        _ => pattern.into(),
    }
}

fn has(expression: &Expr, is_found: fn(&Expr) -> bool) -> bool {
    is_found(expression) || expression.has_descendant(is_found)
}

/// Whether it is `\G`.
fn is_continuation(expression: &Expr) -> bool {
    matches!(expression, Expr::ContinueFromPreviousMatchEnd)
}

/// Whether it is a lookahead or lookbehind that leaves something behind when it has matched.
fn look_has_effects(expression: &Expr) -> bool {
    is_look(expression) && expression.has_descendant(|child| matches!(child, Expr::Group(_) | Expr::KeepOut))
}

fn is_look(expression: &Expr) -> bool {
    matches!(expression, Expr::LookAround(_, LookAround::LookAhead | LookAround::LookBehind))
}

/// Whether it is alternatives that may all begin with the same expression, and that matches in more than one way.
fn is_factored(expression: &Expr) -> bool {
    let Expr::Alt(alternatives) = expression else { return false };
    let is_variable = |part: &Expr| matches!(part, Expr::Repeat { .. } | Expr::Alt(_));
    alternatives.iter().all(|alternative| match in_groups(alternative) {
        Expr::Concat(parts) => parts.first().is_some_and(|part| has(first_part(part), is_variable)),
        _ => false,
    })
}

fn first_part(expression: &Expr) -> &Expr {
    match in_groups(expression) {
        Expr::Concat(parts) => parts.first().map_or(expression, first_part),
        other => other,
    }
}

fn in_groups(expression: &Expr) -> &Expr {
    match expression {
        Expr::Group(inner) => in_groups(inner),
        other => other,
    }
}

/// A group that is open.
struct Open {
    /// Where it begins in what is written.
    start: usize,
    closing: &'static str,
    has_alternatives: bool,
}

/// Adds [`NEVER`] to alternatives in groups; if `everywhere`, also to those in none, and puts `(?:` and `){1}` around
/// each repetition, and `(?>` and `)` around each lookahead and lookbehind.
fn with_groups(pattern: &str, everywhere: bool) -> String {
    let mut respelt = String::with_capacity(2 * pattern.len());
    let mut groups: Vec<Open> = Vec::new();
    let mut has_alternatives = false; // in no group
    let mut atom = None; // where the last one begins there
    let mut rest = pattern;
    while let Some(character) = rest.chars().next() {
        let mut end = character.len_utf8();
        let begin = respelt.len();
        match character {
            '(' => {
                let is_look = everywhere && (rest.starts_with("(?=") || rest.starts_with("(?<="));
                respelt.push_str(if is_look { "(?>" } else { "" });
                let closing = if is_look { "))" } else { ")" };
                groups.push(Open { start: begin, closing, has_alternatives: false });
                atom = None;
                if rest.starts_with("(?#") {
                    end = rest.find(')').unwrap_or(rest.len());
                } else if rest.starts_with("(?") {
                    end = 2;
                }
            }
            ')' => {
                let unopened = Open { start: begin, closing: ")", has_alternatives: false };
                let group = groups.pop().unwrap_or(unopened);
                atom = Some(group.start);
                push_never(&mut respelt, group.has_alternatives);
                respelt.push_str(group.closing);
                rest = &rest[1..];
                continue;
            }
            '|' => {
                *groups.last_mut().map_or(&mut has_alternatives, |group| &mut group.has_alternatives) = true;
                atom = None;
            }
            '*' | '+' | '?' | '{' if everywhere => {
                if let (Some(start), Some(length)) = (atom, quantifier_len(rest)) {
                    respelt.insert_str(start, "(?:");
                    respelt.push_str(&rest[..length]);
                    respelt.push_str("){1}");
                    rest = &rest[length..];
                    continue;
                }
                atom = Some(begin);
            }
            _ => {
                atom = Some(begin);
                end = match character {
                    '\\' => escape_len(rest),
                    '[' => class_len(rest),
                    _ => end,
                };
            }
        }
        respelt.push_str(&rest[..end]);
        rest = &rest[end..];
    }
    push_never(&mut respelt, everywhere && has_alternatives);
    respelt
}

fn push_never(respelt: &mut String, has_alternatives: bool) {
    if has_alternatives {
        respelt.push('|');
        respelt.push_str(NEVER);
    }
}

/// How long the quantifier is that `rest` begins with, with what makes it lazy or possessive.
fn quantifier_len(rest: &str) -> Option<usize> {
    let mut length = 1;
    if rest.starts_with('{') {
        length = rest.find('}')? + 1;
        let is_bound = |byte: u8| byte.is_ascii_digit() || matches!(byte, b',' | b' ');
        if length == 2 || !rest[1..length - 1].bytes().all(is_bound) {
            return None;
        }
    }
    length += usize::from(rest[length..].starts_with('?'));
    Some(length + usize::from(rest[length..].starts_with('+')))
}

/// How long the escape is that `rest` begins with.
fn escape_len(rest: &str) -> usize {
    let mut characters = rest.char_indices().skip(1);
    let Some((at, letter)) = characters.next() else { return rest.len() };
    let end = at + letter.len_utf8();
    let behind = &rest[end..];
    let closing = match behind.chars().next() {
        Some('{') if "pPxuUkgbN".contains(letter) => '}',
        Some('<') if "kg".contains(letter) => '>',
        Some('\'') if "kg".contains(letter) => '\'',
        _ => {
            let (n_digits, radix) = match letter {
                'x' => (2, 16),
                'u' => (4, 16),
                'U' => (8, 16),
                '0'..='9' => (usize::MAX, 10),
                'p' | 'P' => (1, 36), // `\pL`
                _ => (0, 10),
            };
            return end + behind.chars().take(n_digits).take_while(|digit| digit.is_digit(radix)).count();
        }
    };
    end + behind[1..].find(closing).map_or(behind.len(), |length| length + 2)
}

/// How long the class is that `rest` begins with, with the classes in it.
fn class_len(rest: &str) -> usize {
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(character) = rest[at..].chars().next() {
        at += character.len_utf8();
        match character {
            '\\' => at += rest[at..].chars().next().map_or(0, char::len_utf8),
            '[' => {
                depth += 1;
                // A bracket that closes nothing yet is a character of the class.
                at += usize::from(rest[at..].starts_with('^'));
                at += usize::from(rest[at..].starts_with(']'));
            }
            ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// The expression without what [`with_groups`] puts around its parts.
fn without_groups(mut expression: Expr) -> Expr {
    loop {
        expression = match expression {
            Expr::Repeat { child, lo: 1, hi: 1, .. } => *child,
            Expr::AtomicGroup(child) if is_look(&child) => *child,
            Expr::Alt(mut children) if children.last().is_some_and(is_never) => {
                children.pop();
                Expr::Alt(children)
            }
            other => {
                expression = other;
                break;
            }
        };
    }
    for child in expression.children_iter_mut() {
        *child = without_groups(std::mem::replace(child, Expr::Empty));
    }
    expression
}

fn is_never(expression: &Expr) -> bool {
    matches!(expression, Expr::Delegate { inner, .. } if inner == NEVER)
}
