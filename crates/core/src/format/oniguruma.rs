//! Translates regular expressions between pairloom's engines and Oniguruma, with which HuggingFace's library runs those of a
//! tokenizer.json.
//!
//! Supported is what published tokenizers use and both engines run alike: characters, classes, alternatives, groups,
//! repetitions (greedy, lazy, possessive), lookaheads, anchors, and `(?i:...)` over ASCII. One pass copies the pattern and
//! respells only the atoms of `ATOM_SPELLINGS`, `\w`, `\W` and `\h` in a class, and `{m,n}+`, which is a repetition of
//! a repetition in Oniguruma and possessive here. Anything else is refused with its position. So are these, which
//! Oniguruma runs in its own way:
//! - a repetition of what can match nothing: Oniguruma stops after one more round;
//! - `.*` in a pattern with assertions: Oniguruma may try it only at the start of each line;
//! - two letters under `(?i:` that together equal one letter, such as "ss" and "ß";
//! - a negated class in a negated class, and U+0000 in a negated class inside a class: bugs of Oniguruma.

use std::mem;
use std::sync::LazyLock;

use crate::error::{Error, Result, quoted};
use crate::pretokens::{check_length, is_run_as_written, word_boundary};

/// How deeply groups and classes may be nested.
const MAX_DEPTH: usize = 50;

/// What `\w` matches in a class in Oniguruma. Outside of classes, Oniguruma's `\w` also matches [`LATIN_1`]. In pairloom's
/// engines `\w` also matches [`JOINERS`], in classes and outside. Measured over all of Unicode 16.0.
const WORD: &str = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}";
const LATIN_1: &str = "²³¹¼-¾";
const JOINERS: &str = "\u{200c}\u{200d}";

/// Properties whose characters differ in Oniguruma. All other properties that both engines know are the same.
const OTHER_PROPERTIES: [&str; 3] = ["graph", "print", "word"];

/// Pairs of ASCII letters that together equal one letter if case is ignored.
const PAIRS: [&str; 5] = ["ss", "ff", "fi", "fl", "st"];

/// Galactica's regex for one character, once or repeated, and the characters: Nougat and UniMERNet have it, too.
const REPEATED: (&str, &str) = (
    r#"([!"\#\$%\&'\*\+,\-\./:;<=>\?\\\^_`\|\~])\1*"#,
    r#"! " \# \$ % \& ' \* \+ , \- \. / : ; < = > \? \\ \^ _ ` \| \~"#,
);

/// Atoms in pairloom's spelling and in Oniguruma's, and whether they are assertions. The first match is used.
static ATOM_SPELLINGS: LazyLock<Vec<(String, String, bool)>> = LazyLock::new(|| {
    let (theirs, ours) = (format!("[{WORD}{LATIN_1}]"), format!("[{WORD}{JOINERS}]"));
    let not = |class: &str| class.replacen('[', "[^", 1);
    let no_boundary = |word: &str| format!("(?:(?<={word})(?={word})|(?<!{word})(?!{word}))");
    let runs: Vec<String> = REPEATED.1.split(' ').map(|character| format!("{character}+")).collect();
    let runs = format!("(?:{})", runs.join("|"));
    let atoms: [(&str, &str, bool); 16] = [
        (&runs, REPEATED.0, false),
        (r"\A", r"\A", true),
        (r"\z", r"\z", true),
        // `\s` takes all line feeds, so the end of a line is the end of the text.
        (r"\s++$", r"\s++$", false),
        (r"(?=\n|\z)", "$", true),
        ("$", r"\z", true),
        // No line begins after a line feed that ends the text.
        (r"(?:\A|(?<=\n)(?!\z))", "^", true),
        ("^", r"\A", true),
        (&theirs, r"\w", false),
        (r"\w", &ours, false),
        (&not(&theirs), r"\W", false),
        (r"\W", &not(&ours), false),
        (&word_boundary(&theirs), r"\b", true),
        (r"\b", &word_boundary(&ours), true),
        (&no_boundary(&theirs), r"\B", true),
        (r"\B", &no_boundary(&ours), true),
    ];
    let owned =
        |(ours, theirs, is_assertion): (&str, &str, bool)| (ours.to_owned(), theirs.to_owned(), is_assertion);
    atoms.into_iter().map(owned).collect()
});

/// A translated pattern, and whether it can match nothing.
pub type Translated = (String, bool);

/// Translates a tokenizer.json's pattern for pairloom's engines. [`Error::Pattern`] names what is not supported.
pub fn read(pattern: &str) -> Result<Translated> {
    let translated = Translation { pattern, is_read: true, ..Translation::default() }.run()?;
    check_engine(&translated.0, pattern)?;
    Ok(translated)
}

/// Translates a pattern of pairloom for a tokenizer.json. [`Error::Pattern`] names what cannot be written.
pub fn write(pattern: &str) -> Result<Translated> {
    let translated = Translation { pattern, ..Translation::default() }.run()?;
    check_engine(pattern, pattern)?;
    Ok(translated)
}

/// Refuses a pattern that Oniguruma runs as it is written but pairloom's engine simplifies.
fn check_engine(ours: &str, pattern: &str) -> Result<()> {
    if is_run_as_written(ours)? {
        return Ok(());
    }
    let message = "pairloom's regex engine simplifies it and HuggingFace's does not, so they could split differently: it has \
    a repetition of a repetition, two equal repetitions with an optional part between them, or alternatives that all start \
    with a repetition; rewrite it without these";
    Err(Error::Pattern { pattern: pattern.to_owned(), message: message.to_owned() })
}

/// Where a class member or an escape is: outside of classes, in a class, or in a negated class.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    Class,
    NegatedClass,
}

#[derive(Default)]
struct Translation<'a> {
    pattern: &'a str,
    /// True from Oniguruma to pairloom, false for the other direction.
    is_read: bool,
    at: usize,
    written: String,
    depth: usize,
    ignores_case: bool,
    /// The previous letter, if case is ignored.
    letter: Option<char>,
    has_assertion: bool,
    n_dots: usize,
    /// The offset of a dot that is repeated without a limit.
    repeated_dot: Option<usize>,
}

/// Methods that return `Result<bool>` read a part of the pattern, write it, and return whether it can match nothing.
impl<'a> Translation<'a> {
    fn run(mut self) -> Result<Translated> {
        check_length(&[self.pattern])?;
        let can_be_empty = self.alternatives()?;
        if self.at < self.pattern.len() {
            return Err(self.refusal(self.at, "an unmatched closing parenthesis"));
        }
        if let Some(at) = self.repeated_dot.filter(|_| self.has_assertion) {
            return Err(self.refusal(at, "an unlimited repetition of a dot (in a pattern with assertions)"));
        }
        Ok((self.written, can_be_empty))
    }

    fn alternatives(&mut self) -> Result<bool> {
        let mut can_be_empty = false;
        loop {
            let mut is_empty = true;
            while !matches!(self.peek(), None | Some('|' | ')')) {
                is_empty &= self.repeated()?;
            }
            can_be_empty |= is_empty;
            self.letter = None;
            if self.peek() != Some('|') {
                return Ok(can_be_empty);
            }
            self.copy(1);
        }
    }

    /// Translates an atom and its quantifier.
    fn repeated(&mut self) -> Result<bool> {
        let (start, begin, n_dots) = (self.at, self.written.len(), self.n_dots);
        let can_be_empty = self.atom()?;
        let end = self.at;
        let Some((least, most)) = self.bounds()? else { return Ok(can_be_empty) };
        if can_be_empty {
            return Err(self.refusal(start, "a repetition of something that can match nothing"));
        }
        let quantifier = &self.pattern[end..self.at];
        let is_interval = quantifier.len() > 1;
        let suffix = self.peek().filter(|suffix| matches!(suffix, '+' | '?'));
        self.at += usize::from(suffix.is_some());
        // In Oniguruma, `{2}?` means that the repetition is optional, and `{0,2}+` repeats what can match nothing.
        let differs = match suffix {
            Some('?') => is_interval && !quantifier.contains(','),
            Some(_) => is_interval && self.is_read && least == 0,
            None => false,
        };
        if differs || matches!(self.peek(), Some('*' | '+' | '?' | '{')) {
            return Err(self.refusal(end, "a repetition of a repetition"));
        }
        if most.is_none() && self.n_dots > n_dots {
            self.repeated_dot.get_or_insert(start);
        }
        match suffix {
            Some('+') if is_interval => {
                let (before, after) = if self.is_read { ("(?:", ")+") } else { ("(?>", ")") };
                self.written.insert_str(begin, before);
                self.written.extend([quantifier, after]);
            }
            _ => self.written.push_str(&self.pattern[end..self.at]),
        }
        Ok(least == 0)
    }

    /// Reads the bounds of a quantifier, if there is one here, without writing it.
    fn bounds(&mut self) -> Result<Option<(u32, Option<u32>)>> {
        let mut n_bytes = 1;
        let bounds = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => {
                n_bytes += self.rest().find('}').unwrap_or_default();
                let inside = self.rest().get(1..n_bytes - 1).unwrap_or_default();
                let number = |text: &str| text.parse().ok().filter(|_| !text.starts_with('+'));
                let (least, most) = inside.split_once(',').unwrap_or((inside, inside));
                match (number(least), number(most)) {
                    (Some(least), Some(most)) if least <= most && most > 0 => (least, Some(most)),
                    (Some(least), None) if most.is_empty() => (least, None),
                    _ => return Err(self.refusal(self.at, "a brace that does not start a repetition")),
                }
            }
            _ => return Ok(None),
        };
        self.at += n_bytes;
        Ok(Some(bounds))
    }

    fn atom(&mut self) -> Result<bool> {
        let (at, rest) = (self.at, self.rest());
        for (ours, theirs, is_assertion) in ATOM_SPELLINGS.iter().filter(|_| !self.ignores_case) {
            let (from, to) = if self.is_read { (theirs, ours) } else { (ours, theirs) };
            if rest.starts_with(from) {
                self.respell(from.len(), to);
                self.has_assertion |= is_assertion;
                return Ok(*is_assertion);
            }
        }
        match self.peek() {
            Some('(') => return self.group(),
            Some('[') => self.class(Place::Outside)?,
            Some('.') => {
                self.n_dots += 1;
                self.letter = None;
                self.copy(1);
            }
            Some('*' | '+' | '?') => return Err(self.refusal(at, "a repetition of nothing")),
            Some('{' | '}' | '$' | '^') => return Err(self.refusal(at, &quoted(&rest[..1]))),
            _ => {
                let character = self.member(Place::Outside)?;
                self.note_letter(at, character)?;
            }
        }
        Ok(false)
    }

    fn group(&mut self) -> Result<bool> {
        let (start, rest) = (self.at, self.rest());
        let kinds = ["(?:", "(?>", "(?i:", "(?=", "(?!"];
        let kind = kinds.into_iter().find(|kind| rest.starts_with(kind)).unwrap_or("(");
        if kind == "(" && rest.starts_with("(?") {
            return Err(self.refusal(start, &shown(rest, 4)));
        }
        let ignored_case = self.ignores_case;
        self.ignores_case |= kind == "(?i:";
        self.copy(kind.len());
        self.enter(start)?;
        let can_be_empty = self.alternatives()?;
        self.depth -= 1;
        self.ignores_case = ignored_case;
        if self.peek() != Some(')') {
            return Err(self.refusal(start, "an unclosed group"));
        }
        self.copy(1);
        let is_assertion = kind == "(?=" || kind == "(?!";
        self.has_assertion |= is_assertion;
        Ok(can_be_empty || is_assertion)
    }

    fn enter(&mut self, start: usize) -> Result<()> {
        self.depth += 1;
        if self.depth <= MAX_DEPTH {
            return Ok(());
        }
        Err(self.refusal(start, &format!("more than {MAX_DEPTH} nested groups or classes")))
    }

    /// Translates a class that is inside `outer`.
    fn class(&mut self, outer: Place) -> Result<()> {
        let start = self.at;
        let is_negated = self.rest().starts_with("[^");
        if is_negated && outer == Place::NegatedClass {
            return Err(self.refusal(start, "a negated class inside a negated class"));
        }
        let place =
            if is_negated || outer == Place::NegatedClass { Place::NegatedClass } else { Place::Class };
        self.copy(1 + usize::from(is_negated));
        self.enter(start)?;
        self.letter = None;
        // Reading turns `\W` into this; writing turns it back, because Oniguruma has bugs with negated classes in classes.
        let not_word = format!("[^{WORD}]");
        let mut n_members = 0;
        loop {
            let (at, rest) = (self.at, self.rest());
            let has = |text: &str| rest.starts_with(text);
            n_members += 1;
            if has("]") && n_members > 1 {
                break;
            } else if has("&&") && n_members > 1 && !self.ignores_case {
                self.copy(2);
                n_members = 0;
            } else if !self.is_read && has(&not_word) {
                self.respell(not_word.len(), r"\W");
            } else if has("[") && !has("[:") && !self.ignores_case {
                self.class(place)?;
            } else if has("-]") || (has("-") && n_members == 1 && !has("--")) {
                self.copy(1);
            } else if rest.is_empty() || ["[", "]", "-", "&&", "~~"].into_iter().any(has) {
                return Err(self.refusal(at, &format!("{} in a class", shown(rest, 2))));
            } else {
                let first = self.member(place)?;
                let mut last = first;
                if self.peek() == Some('-') && !self.rest().starts_with("-]") {
                    self.copy(1);
                    last = self.member(place)?;
                    if first.is_none() || last < first {
                        return Err(self.refusal(at, "a range whose ends are not two characters in order"));
                    }
                }
                if outer != Place::Outside && is_negated && first == Some('\0') {
                    return Err(self.refusal(at, "U+0000 in a negated class inside a class"));
                }
                if self.ignores_case && last.is_some_and(|last| !last.is_ascii()) {
                    return Err(self.refusal(at, "a non-ASCII character where case is ignored"));
                }
            }
        }
        self.depth -= 1;
        self.copy(1);
        Ok(())
    }

    /// Translates a character or an escape. Returns the character, unless the escape stands for several.
    fn member(&mut self, place: Place) -> Result<Option<char>> {
        let (at, rest) = (self.at, self.rest());
        let mut characters = rest.chars();
        let (Some(first), next) = (characters.next(), characters.next()) else { return Ok(None) };
        if first != '\\' {
            if place != Place::Outside && matches!(first, '[' | ']' | '-') {
                return Err(self.refusal(at, &format!("{} in a class", shown(rest, 1))));
            }
            self.copy(first.len_utf8());
            return Ok(Some(first));
        }
        let is_in_class = place != Place::Outside;
        let joiners = if self.is_read { "" } else { JOINERS };
        let (n_bytes, character, respelt) = match next.unwrap_or_default() {
            'p' | 'P' | 'w' | 'W' if self.ignores_case => (0, None, None),
            'p' | 'P' => (property_len(rest), None, None),
            's' | 'S' | 'd' | 'D' => (2, None, None),
            'w' if is_in_class => (2, None, Some(format!("{WORD}{joiners}"))),
            'W' if is_in_class && (self.is_read || place == Place::Class) => {
                (2, None, Some(format!("[^{WORD}{joiners}]")))
            }
            'h' if self.is_read => {
                let members = if is_in_class { "0-9A-Fa-f" } else { "[0-9A-Fa-f]" };
                (2, None, Some(members.to_owned()))
            }
            'x' => code(rest, 2),
            'u' => code(rest, 4),
            'r' => (2, Some('\r'), None),
            'n' => (2, Some('\n'), None),
            't' => (2, Some('\t'), None),
            'f' => (2, Some('\x0c'), None),
            'v' => (2, Some('\x0b'), None),
            // In pairloom's engines, `\<` and `\>` are word boundaries.
            other @ ('<' | '>') => (if self.is_read { 2 } else { 0 }, Some(other), Some(other.to_string())),
            other if other.is_ascii_punctuation() || other == ' ' => (2, Some(other), None),
            _ => (0, None, None),
        };
        match respelt {
            _ if n_bytes == 0 => return Err(self.refusal(at, &shown(rest, 2))),
            None => self.copy(n_bytes),
            Some(text) => self.respell(n_bytes, &text),
        }
        Ok(character)
    }

    /// Refuses a character that Oniguruma can compare differently if case is ignored.
    fn note_letter(&mut self, at: usize, character: Option<char>) -> Result<()> {
        let before = mem::take(&mut self.letter);
        let (Some(character), true) = (character, self.ignores_case) else { return Ok(()) };
        if !character.is_ascii() {
            return Err(self.refusal(at, "a non-ASCII character where case is ignored"));
        }
        let letter = character.to_ascii_lowercase();
        let pair: String = before.into_iter().chain([letter]).collect();
        if PAIRS.contains(&pair.as_str()) {
            let what = format!(
                "{}, whose letters together equal a single character where case is ignored,",
                quoted(&pair)
            );
            return Err(self.refusal(at, &what));
        }
        self.letter = Some(letter);
        Ok(())
    }

    fn rest(&self) -> &'a str {
        self.pattern.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Copies the next `n_bytes`.
    fn copy(&mut self, n_bytes: usize) {
        self.written.push_str(&self.rest()[..n_bytes]);
        self.at += n_bytes;
    }

    /// Writes `text` in place of the next `n_bytes`.
    fn respell(&mut self, n_bytes: usize, text: &str) {
        self.written.push_str(text);
        self.at += n_bytes;
    }

    fn refusal(&self, at: usize, what: &str) -> Error {
        let nth = self.pattern.get(..at).map_or(0, |before| before.chars().count()) + 1;
        let why = match self.is_read {
            true => {
                "cannot be read from a tokenizer.json, because pairloom's regex engine could treat it differently;"
            }
            false => {
                "cannot be written to a tokenizer.json, because HuggingFace's regex engine could treat it differently; save \
                 as 'pairloom', or"
            }
        };
        let message = format!(
            "{what} at character {nth} {why} use only characters, classes, alternatives, repetitions, lookaheads and anchors"
        );
        Error::Pattern { pattern: self.pattern.to_owned(), message }
    }
}

/// Returns the length of the property at the start of `rest`; 0 if the engines do not agree on it.
fn property_len(rest: &str) -> usize {
    let Some((name, _)) =
        rest.get(2..).and_then(|rest| rest.strip_prefix('{')).and_then(|rest| rest.split_once('}'))
    else {
        return 0;
    };
    let plain = name.replace(['_', ' '], "").to_ascii_lowercase();
    let is_shared =
        !OTHER_PROPERTIES.contains(&plain.as_str()) && plain.bytes().all(|byte| byte.is_ascii_lowercase());
    if is_shared && !plain.is_empty() { name.len() + "\\p{}".len() } else { 0 }
}

/// Reads an escape of `n_digits` at the start of `rest`; results as in [`Translation::member`]. In Oniguruma, `\xe9` is a byte.
fn code(rest: &str, n_digits: usize) -> (usize, Option<char>, Option<String>) {
    let digits = rest.get(2..2 + n_digits).filter(|digits| !digits.starts_with('+'));
    match digits.and_then(|digits| char::from_u32(u32::from_str_radix(digits, 16).ok()?)) {
        Some(character) if n_digits == 4 || character.is_ascii() => (2 + n_digits, Some(character), None),
        _ => (0, None, None),
    }
}

/// Quotes the first characters of `rest` for a message.
fn shown(rest: &str, n_characters: usize) -> String {
    quoted(&rest.chars().take(n_characters).collect::<String>())
}
