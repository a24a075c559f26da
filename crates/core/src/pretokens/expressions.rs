//! What automata ask about the parts of a parsed pattern: the set of one character, empty matches, first characters.

use fancy_regex::{Assertion, Expr, LookAround};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

/// Returns the characters that a lookahead accepts, and whether it accepts the end of the text.
pub fn lookahead_set(expression: &Expr) -> Option<(ClassUnicode, bool)> {
    match expression {
        Expr::Assertion(Assertion::EndText) => Some((ClassUnicode::empty(), true)),
        Expr::Group(inner) => lookahead_set(inner),
        Expr::Alt(parts) => {
            parts.iter().try_fold((ClassUnicode::empty(), false), |(mut set, at_end), part| {
                let (more, also_at_end) = lookahead_set(part)?;
                set.union(&more);
                Some((set, at_end || also_at_end))
            })
        }
        other => Some((set_of(other)?, false)),
    }
}

/// Returns the characters that an expression for one character matches.
pub fn set_of(expression: &Expr) -> Option<ClassUnicode> {
    match expression {
        Expr::Group(inner) => set_of(inner),
        Expr::Literal { val, casei } => {
            let mut characters = val.chars();
            let first = characters.next()?;
            characters.next().is_none().then(|| set_of_character(first, *casei))?
        }
        Expr::Delegate { inner, casei } => set_of_class(inner, *casei),
        Expr::Any { newline, crlf: false } => {
            set_of_class(if *newline { r"[\s\S]" } else { r"[^\n]" }, false)
        }
        _ => None,
    }
}

pub fn set_of_character(character: char, ignores_case: bool) -> Option<ClassUnicode> {
    if ignores_case {
        return set_of_class(&regex_syntax::escape(character.encode_utf8(&mut [0; 4])), true);
    }
    Some(ClassUnicode::new([ClassUnicodeRange::new(character, character)]))
}

pub fn set_of_class(class: &str, ignores_case: bool) -> Option<ClassUnicode> {
    match ParserBuilder::new().case_insensitive(ignores_case).build().parse(class).ok()?.into_kind() {
        HirKind::Class(Class::Unicode(set)) => Some(set),
        HirKind::Class(Class::Bytes(set)) if set.ranges().is_empty() => Some(ClassUnicode::empty()),
        HirKind::Literal(text) => {
            let mut characters = std::str::from_utf8(&text.0).ok()?.chars();
            let first = characters.next()?;
            characters.next().is_none().then(|| set_of_character(first, false))?
        }
        _ => None,
    }
}

/// A set for fast lookups of one character after another.
pub struct Set {
    set: ClassUnicode,
    /// Its ASCII characters, as bits.
    ascii: u128,
}

impl Set {
    pub fn new(set: ClassUnicode) -> Self {
        let ranges = set.ranges().iter();
        let ascii = ranges.flat_map(|range| (range.start()..=range.end()).take_while(char::is_ascii));
        let ascii = ascii.fold(0, |bits, character| bits | 1 << u32::from(character));
        Set { set, ascii }
    }

    #[inline]
    pub fn has(&self, character: char) -> bool {
        if character.is_ascii() {
            return self.ascii >> u32::from(character) & 1 != 0;
        }
        let after = self.set.ranges().partition_point(|range| range.end() < character);
        self.set.ranges().get(after).is_some_and(|range| range.start() <= character)
    }
}

pub fn is_subset(set: &ClassUnicode, of: &ClassUnicode) -> bool {
    let mut others = set.clone();
    others.difference(of);
    others.ranges().is_empty()
}

/// Whether all matches of a pattern are one character.
pub fn is_one_character(pattern: &str) -> bool {
    Expr::parse_tree(pattern).is_ok_and(|tree| set_of(&tree.expr).is_some())
}

/// Whether an expression can match nothing.
pub fn can_be_empty(expression: &Expr) -> bool {
    match expression {
        Expr::Group(inner) => can_be_empty(inner),
        Expr::AtomicGroup(inner) => can_be_empty(inner),
        Expr::Concat(parts) => parts.iter().all(can_be_empty),
        Expr::Alt(parts) => parts.iter().any(can_be_empty),
        Expr::Repeat { child, lo, .. } => *lo == 0 || can_be_empty(child),
        Expr::Literal { val, .. } => val.is_empty(),
        other => set_of(other).is_none(),
    }
}

/// Returns the characters that can begin a match of any pattern; `None` if unknown, or if it can match nothing.
pub fn first_characters(pattern: &str) -> Option<ClassUnicode> {
    // After a flag such as (?x), a `#` begins a comment, which would swallow what is put after the pattern.
    if pattern.contains('#') {
        return None;
    }
    let expression = Expr::parse_tree(pattern).ok()?.expr;
    if expression.has_descendant(|part| matches!(part, Expr::KeepOut | Expr::ContinueFromPreviousMatchEnd)) {
        return None;
    }
    let (set, is_open) = first(&expression)?;
    (!is_open).then_some(set)
}

/// Returns the first characters of an expression, and whether what follows it can come first.
fn first(expression: &Expr) -> Option<(ClassUnicode, bool)> {
    let in_turn = |parts: &[Expr]| {
        let mut set = ClassUnicode::empty();
        for part in parts {
            let (more, is_open) = first(part)?;
            set.union(&more);
            if !is_open {
                return Some((set, false));
            }
        }
        Some((set, true))
    };
    match expression {
        Expr::Group(inner) => first(inner),
        Expr::AtomicGroup(inner) => first(inner),
        Expr::Concat(parts) => in_turn(parts),
        Expr::Alt(parts) => {
            parts.iter().try_fold((ClassUnicode::empty(), false), |(mut set, is_open), part| {
                let (more, also_open) = first(part)?;
                set.union(&more);
                Some((set, is_open || also_open))
            })
        }
        Expr::Literal { val, casei } => match val.chars().next() {
            Some(character) => Some((set_of_character(character, *casei)?, false)),
            None => Some((ClassUnicode::empty(), true)),
        },
        Expr::Repeat { child, lo, .. } => first(child).map(|(set, is_open)| (set, is_open || *lo == 0)),
        // A lookahead must match, so its first character is the first one.
        Expr::LookAround(inner, LookAround::LookAhead) => first(inner),
        Expr::LookAround(..) | Expr::Assertion(_) | Expr::Empty => Some((ClassUnicode::empty(), true)),
        other => Some((set_of(other)?, false)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_characters_are_known_unless_a_match_may_have_none() {
        let has = |pattern: &str, character: char| {
            first_characters(pattern).map(|set| {
                set.ranges().iter().any(|range| (range.start()..=range.end()).contains(&character))
            })
        };
        for pattern in [
            r"\d{1,3}(?=(?:\d{3})*\b)",
            r"(?=(\d{3})+(?!\d))",
            r"(?<=x)(?:a|\d)b",
            r"a*\d(?!xx)",
            "(?i:K)1|5",
        ] {
            assert_eq!((has(pattern, '5'), has(pattern, 'x')), (Some(true), Some(false)), "{pattern}");
        }
        for pattern in ["a*(?!xx)", r"\Ga", r"(a)?\1", "(?<=a)"] {
            assert_eq!(has(pattern, 'a'), None, "{pattern}");
        }
    }
}
