//! Special tokens: literals that become one id each. They are never split, and never part of a merge.
//!
//! One matcher finds them, leftmost-longest, both when a corpus is split into documents and when text is encoded, so
//! the two cannot disagree. Some have rules (`rules.rs`), which [`Finder`] applies.

mod matcher;
mod rules;

use hashbrown::HashSet;

use crate::error::{Error, Result};
use matcher::Matcher;
pub use matcher::SpecialMatch;
use rules::Rules;

/// A set of literals with their ids, matched from left to right, the longest first.
#[derive(Clone, Debug, Default)]
pub struct SpecialTokens {
    tokens: Vec<(String, u32)>,
    matcher: Option<Matcher>,
    /// The length in bytes of the longest literal.
    longest: usize,
    /// The largest id + 1.
    n_ids: usize,
    /// The rules of special tokens, if any has one.
    rules: Option<Box<Rules>>,
}

impl SpecialTokens {
    /// Builds the matcher, in time linear in the bytes of all literals. These must be distinct and not empty.
    pub fn new(tokens: Vec<(String, u32)>) -> Result<Self> {
        let mut seen = HashSet::new();
        seen.try_reserve(tokens.len()).map_err(Error::out_of_memory("special tokens"))?;
        for (token, _) in &tokens {
            if token.is_empty() {
                return Err(Error::Invalid(
                    "a special token is empty; it needs at least one character".into(),
                ));
            }
            if !seen.insert(token.as_str()) {
                return Err(Error::Invalid(format!("special token {token:?} is listed twice; list it once")));
            }
        }
        drop(seen);
        let matcher = if tokens.is_empty() { None } else { Some(Matcher::new(&tokens, false)?) };
        let longest = tokens.iter().map(|(token, _)| token.len()).max().unwrap_or(0);
        let n_ids = tokens.iter().map(|&(_, id)| id as usize + 1).max().unwrap_or(0);
        Ok(SpecialTokens { tokens, matcher, longest, n_ids, rules: None })
    }

    /// Creates special tokens with rules, each given as a literal and the name of a rule (see `rules.rs`).
    pub fn with_rules(tokens: Vec<(String, u32)>, rules: &[(String, String)]) -> Result<Self> {
        let mut specials = Self::new(tokens)?;
        if !rules.is_empty() {
            specials.rules = Some(Box::new(Rules::new(&specials.tokens, rules)?));
            if rules.iter().any(|(_, rule)| rule == "any_case") {
                specials.matcher = Some(Matcher::new(&specials.tokens, true)?);
            }
        }
        Ok(specials)
    }

    /// Whether some have rules, so that which literals are special tokens depends on the whole text.
    pub fn has_rules(&self) -> bool {
        self.rules.is_some()
    }

    /// Whether a token includes the space before it, by its rule `after_space`.
    pub fn includes_space(&self, index: usize) -> bool {
        self.rules.as_ref().is_some_and(|rules| rules.includes_space(index))
    }

    /// Creates an empty set.
    pub fn none() -> Self {
        SpecialTokens::default()
    }

    /// Returns the literals and their ids, in the order of [`SpecialTokens::new`].
    pub fn tokens(&self) -> &[(String, u32)] {
        &self.tokens
    }

    /// Whether there are no special tokens.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Returns the length in bytes of the longest literal; 0 if there are none.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Returns the largest id + 1; 0 if there are none.
    pub fn n_ids(&self) -> usize {
        self.n_ids
    }

    /// Returns the first literal in `text` at or after `from`, ignoring rules.
    pub fn find(&self, text: &[u8], from: usize) -> Option<SpecialMatch> {
        self.matcher.as_ref()?.find(text, from, text.len())
    }

    /// Fails if `text` has one of these, naming the first. `text` begins at `offset` of what the caller holds.
    pub(crate) fn refuse(&self, text: &str, offset: u64) -> Result<()> {
        let Some(found) = Finder::new(self, text).next() else { return Ok(()) };
        let offset = usize::try_from(offset).unwrap_or(usize::MAX).saturating_add(found.start);
        Err(Error::DisallowedSpecial { token: self.tokens[found.index].0.clone(), offset })
    }

    /// Whether a special token in `text` covers the offset `at`, ends there or starts there.
    pub(crate) fn touches(&self, text: &[u8], at: usize) -> bool {
        if self.longest == 0 {
            return false;
        }
        let first = at.saturating_sub(self.longest);
        let window = &text[first..(at + self.longest).min(text.len())];
        let at = at - first;
        let mut from = 0;
        // Special tokens can overlap, so try every offset where one starts.
        while let Some(found) = self.find(window, from) {
            if found.start > at {
                return false;
            }
            if found.end >= at {
                return true;
            }
            from = found.start + 1;
        }
        false
    }
}

/// Finds the special tokens of a text, one after another.
pub struct Finder<'a> {
    specials: &'a SpecialTokens,
    text: &'a str,
    /// The end of the last special token.
    done: usize,
    /// Where each pass continues its search.
    from: [usize; 2],
    /// The next special token of the first pass, once it is known.
    next: Option<Option<SpecialMatch>>,
    /// The end of the last special token of the first pass.
    segment: usize,
}

impl<'a> Finder<'a> {
    /// Starts at the beginning of a whole text.
    #[inline]
    pub fn new(specials: &'a SpecialTokens, text: &'a str) -> Self {
        Finder { specials, text, done: 0, from: [0, 0], next: None, segment: 0 }
    }

    #[cold]
    fn next_by_rules(&mut self, rules: &Rules) -> Option<SpecialMatch> {
        let text = self.text;
        let early = match self.next {
            Some(known) => known,
            None => rules.find(0, text, 0..text.len(), &mut self.from[0], self.segment),
        };
        self.next = Some(early);
        let end = early.map_or(text.len(), |found| found.start);
        if let Some(found) = rules.find(1, text, self.segment..end, &mut self.from[1], self.done) {
            return Some(found);
        }
        let found = early?;
        (self.next, self.segment, self.from[1]) = (None, found.end, found.end);
        Some(found)
    }
}

impl Iterator for Finder<'_> {
    type Item = SpecialMatch;

    #[inline]
    fn next(&mut self) -> Option<SpecialMatch> {
        let found = match self.specials.rules.as_deref() {
            None => self.specials.find(self.text.as_bytes(), self.done)?,
            Some(rules) => self.next_by_rules(rules)?,
        };
        self.done = found.end;
        Some(found)
    }
}

/// Longer literals count as overlapping, which keeps the check linear; published ones have some dozens of bytes.
const MAX_CHECKED_BYTES: usize = 256;

/// Returns the index of the first literal of `second` that contains a literal of `first`, or has a proper suffix that
/// is a prefix of one.
///
/// Without one, matching all of `first` before all of `second`, as HuggingFace's library does with tokens that it
/// normalizes, is the same as matching all at once. Each list must have distinct literals that are not empty.
pub fn first_overlap(first: &[String], second: &[String]) -> Result<Option<usize>> {
    if first.is_empty() || second.is_empty() {
        return Ok(None);
    }
    let inside = SpecialTokens::new(first.iter().map(|literal| (literal.clone(), 0)).collect())?;
    let checked = |literal: &'_ String| literal.len().min(MAX_CHECKED_BYTES);
    let mut prefixes: HashSet<&[u8]> = HashSet::new();
    prefixes.try_reserve(first.iter().map(checked).sum()).map_err(Error::out_of_memory("special tokens"))?;
    for literal in first {
        prefixes.extend((1..=checked(literal)).map(|end| &literal.as_bytes()[..end]));
    }
    let overlaps = |literal: &String| {
        let bytes = literal.as_bytes();
        bytes.len() > MAX_CHECKED_BYTES
            || (1..bytes.len()).any(|start| prefixes.contains(&bytes[start..]))
            || inside.find(bytes, 0).is_some()
    };
    Ok(second.iter().position(overlaps))
}

#[cfg(test)]
mod tests {
    use aho_corasick::AhoCorasickKind;

    use super::*;

    #[test]
    fn find_at_overlapping_literals_takes_the_longest() {
        let specials = SpecialTokens::new(vec![("<a>".into(), 300), ("<a><a>".into(), 301)]).unwrap();
        let found = specials.find(b"x<a><a><a", 0).unwrap();
        assert_eq!((found.start, found.end, found.index), (1, 7, 1));
        assert_eq!(specials.find(b"x<a><a><a", 7), None);
    }

    #[test]
    fn find_with_long_and_many_literals_uses_a_smaller_automaton() {
        let long = "x".repeat(5000);
        let specials = SpecialTokens::new(vec![(long.clone(), 1), (format!("{long}y"), 2)]).unwrap();
        assert_eq!((specials.longest(), specials.n_ids()), (5001, 3));
        let text = format!("a{long}{long}y");
        let first = specials.find(text.as_bytes(), 0).unwrap();
        assert_eq!((first.start, first.end, first.index), (1, 5001, 0));
        let second = specials.find(text.as_bytes(), 5001).unwrap();
        assert_eq!((second.start, second.end, second.index), (5001, 10_002, 1));
        let kind =
            |specials: &SpecialTokens| specials.matcher.as_ref().map(|matcher| matcher.automaton.kind());
        assert_eq!(kind(&specials), Some(AhoCorasickKind::ContiguousNFA));
        let many = (0..100_000).map(|id| (format!("<|{id}|>"), id)).collect();
        let found = SpecialTokens::new(many).unwrap().find(b"<|99999|<|99998|>", 0).unwrap();
        assert_eq!((found.start, found.index), (8, 99_998));
        let few = SpecialTokens::new(vec![("<|endoftext|>".into(), 1)]).unwrap();
        assert_eq!(kind(&few), Some(AhoCorasickKind::DFA));
    }

    #[test]
    fn first_overlap_finds_contained_literals_and_suffixes_that_are_prefixes() {
        let owned = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        let found = |first: &[&str], second: &[&str]| first_overlap(&owned(first), &owned(second)).unwrap();
        assert_eq!(found(&["ab"], &["x", "cabd"]), Some(1));
        assert_eq!(found(&["abc"], &["xab"]), Some(0));
        // A shared prefix, or a suffix of the other literal: the matches are the same in either order.
        assert_eq!(found(&["abc"], &["ab"]), None);
        assert_eq!(found(&["abc"], &["bc", "cx"]), None);
        assert_eq!(found(&[], &["a"]), None);
        assert_eq!(found(&["é"], &["aé", "a\u{c3}"]), Some(0));
    }

    #[test]
    fn new_with_empty_or_repeated_literals_fails() {
        assert!(SpecialTokens::new(vec![(String::new(), 1)]).is_err());
        assert!(SpecialTokens::new(vec![("a".into(), 1), ("a".into(), 2)]).is_err());
    }

    fn found(tokens: &[&str], rules: &[(&str, &str)], text: &str) -> Vec<(usize, usize, usize)> {
        let tokens = tokens.iter().zip(0..).map(|(token, id)| (token.to_string(), id)).collect();
        let rules =
            rules.iter().map(|&(token, rule)| (token.to_owned(), rule.to_owned())).collect::<Vec<_>>();
        let specials = SpecialTokens::with_rules(tokens, &rules).unwrap();
        Finder::new(&specials, text).map(|found| (found.start, found.end, found.index)).collect()
    }

    #[test]
    fn white_space_is_taken_along_but_not_twice() {
        assert_eq!(found(&["<m>"], &[("<m>", "lstrip")], "a \n<m> <m> b"), [(1, 6, 0), (6, 10, 0)]);
        let both = [("<m>", "lstrip"), ("<m>", "rstrip")];
        assert_eq!(found(&["<m>"], &both, "\u{3000}<m> <m>\tb"), [(0, 7, 0), (7, 11, 0)]);
        assert_eq!(found(&["<m>", " x"], &[("<m>", "rstrip")], "<m>  xy"), [(0, 5, 0), (5, 6, 1)]);
        assert_eq!(found(&["<m>", " "], &[("<m>", "rstrip")], "<m>  "), [(0, 5, 0), (5, 4, 1), (4, 5, 1)]);
    }

    #[test]
    fn single_words_have_no_word_character_beside_them() {
        let rules = [("ab", "single_word")];
        assert_eq!(found(&["ab"], &rules, "ab abc éab .ab_ ab.ab"), [(0, 2, 0), (17, 19, 0), (20, 22, 0)]);
        // A literal that stays text hides those that overlap it.
        assert_eq!(found(&["ab", "bc"], &rules, "abc"), []);
        assert_eq!(found(&["ab", "bc"], &[("ab", "ordinary")], "abcbc"), [(3, 5, 1)]);
    }

    #[test]
    fn normalized_tokens_are_looked_for_between_the_others() {
        let tokens = ["<s>", "a<", "b"];
        let rules = [("a<", "normalized"), ("b", "normalized"), ("b", "single_word"), ("a<", "lstrip")];
        assert_eq!(found(&tokens, &rules, "a<s>b a<b"), [(1, 4, 0), (4, 5, 2), (5, 8, 1), (8, 9, 2)]);
        assert_eq!(found(&tokens, &[("<s>", "normalized")], "a<s>"), [(0, 2, 1)]);
        assert_eq!(found(&tokens, &[("b", "normalized")], "<s>b<s>"), [(0, 3, 0), (3, 4, 2), (4, 7, 0)]);
    }

    #[test]
    fn spaces_before_tokens_are_included_or_the_token_stays_text() {
        let rules = [("<m>", "after_space"), ("b", "after_space")];
        let tokens = ["<m>", "b", "a"];
        assert_eq!(
            found(&tokens, &rules, "<m> <m>\u{2581}<m><m>b ab"),
            [(0, 3, 0), (3, 7, 0), (7, 13, 0), (18, 19, 2), (19, 20, 1)]
        );
        // Unlike other literals that stay text, it hides none.
        assert_eq!(
            found(&["x b", "b"], &[("x b", "after_space"), ("b", "after_space")], "xx b"),
            [(2, 4, 1)]
        );
    }

    #[test]
    fn unknown_rules_and_literals_are_errors() {
        for (literal, rule) in [("a", "strip"), ("b", "lstrip")] {
            let named = [(literal.to_owned(), rule.to_owned())];
            assert!(SpecialTokens::with_rules(vec![("a".into(), 1)], &named).is_err());
        }
    }
}
