//! Tells whether the regex engines run a pattern as it is written.
//!
//! `fancy_regex` 0.20 simplifies repetitions, and some results match differently: `a+b?a+` becomes `a+(?:b{1}a+)?`,
//! which finds "a"; `(?:(?:a+?)+)*` becomes `(?:a+?)?`. Its parser, `regex-syntax` 0.8, merges what all alternatives
//! begin with: `(?:[ab]+a|[ab]+c)` becomes `[ab]+(?:a|c)`, which prefers a longer `[ab]+` to the first alternative. No
//! option turns this off. A caller's pattern runs like this if no automaton runs it ([`super::dfa`]); another
//! library's pattern is refused.

use fancy_regex::Expr;
use fancy_regex::internal::{AnalyzeContext, analyze, optimize};

use super::dfa::Dfa;
use super::regex::{MAX_AUTOMATA_BYTES, check_length, refusal};
use crate::error::{Error, Result, quoted};

/// Whether pairloom's engines run the pattern as it is written; [`crate::Error::Pattern`] if it does not parse.
pub fn is_run_as_written(pattern: &str) -> Result<bool> {
    Ok(is_run_as_written_by_fancy_regex(pattern)?
        || Dfa::new(pattern, MAX_AUTOMATA_BYTES).is_some_and(|dfa| !dfa.can_be_empty()))
}

/// Whether `fancy_regex`, which tiktoken uses, runs the pattern as it is written.
fn is_run_as_written_by_fancy_regex(pattern: &str) -> Result<bool> {
    check_length(&[pattern])?;
    // The engine turns a trailing lookahead into a capture, which changes no match. The added `(?!)` prevents that.
    let tree = Expr::parse_tree(&format!("(?:{pattern})(?!)")).map_err(|error| refusal(pattern, &error))?;
    let mut simplified = tree.clone();
    optimize(&mut simplified);
    Ok(simplified.expr == tree.expr && !has(pattern, begin_alike)?)
}

/// Refuses a pattern that tiktoken's engine does not run as it is written; [`Error::Model`].
pub fn check_run_as_written(pattern: &str) -> Result<()> {
    if is_run_as_written_by_fancy_regex(pattern)? {
        return Ok(());
    }
    Err(Error::Model(format!(
        "tiktoken's regex engine simplifies the pattern {}, so it could split differently from pairloom: it has a repetition \
         of a repetition, two equal repetitions with an optional part between them, or alternatives that all start with a \
         repetition; rewrite it without these",
        quoted(pattern)
    )))
}

/// Whether a pattern can match nothing, or has `\K`, which leaves what precedes it out of the match.
pub fn can_match_nothing(pattern: &str) -> Result<bool> {
    check_length(&[pattern])?;
    let tree = Expr::parse_tree(pattern).map_err(|error| refusal(pattern, &error))?;
    let found = analyze(&tree, AnalyzeContext::default()).map_err(|error| refusal(pattern, &error))?;
    Ok(found.min_size == 0 || has(pattern, |part| matches!(part, Expr::KeepOut))?)
}

fn has(pattern: &str, is_found: fn(&Expr) -> bool) -> Result<bool> {
    let expression = Expr::parse_tree(pattern).map_err(|error| refusal(pattern, &error))?.expr;
    Ok(is_found(&expression) || expression.has_descendant(is_found))
}

/// Whether an expression has alternatives that all begin with a part that can match in several ways, perhaps the same.
fn begin_alike(expression: &Expr) -> bool {
    let Expr::Alt(alternatives) = expression else { return false };
    let is_variable = |part: &Expr| matches!(part, Expr::Repeat { .. } | Expr::Alt(_));
    alternatives.iter().all(|alternative| match in_groups(alternative) {
        Expr::Concat(parts) => parts
            .first()
            .map(first_part)
            .is_some_and(|part| is_variable(part) || part.has_descendant(is_variable)),
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
