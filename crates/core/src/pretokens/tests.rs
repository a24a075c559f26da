//! Differential tests: compare the hand-written scanners with a regex engine that runs the same pattern.

use super::threes::WholeNumbers;
use super::*;
use crate::format::oniguruma;

/// Returns the ends of all pretokens, by calling `fill` up to the end of the text.
fn ends_of(pretokenizer: &Pretokenizer, document: &str) -> Vec<usize> {
    let (mut all, mut ends, mut from) = (Vec::new(), Vec::new(), 0);
    while from < document.len() {
        let end = pretokenizer.fill(document, from, &mut ends).unwrap();
        assert!(!ends.is_empty());
        assert!(ends.len() <= ENDS_PER_FILL || matches!(pretokenizer.engine, Engine::Sequence(..)));
        all.extend(ends.iter().map(|&distance| from + distance as usize));
        from = end;
        assert_eq!(all.last(), Some(&end));
    }
    all
}

fn show(document: &str, ends: &[usize]) -> Vec<String> {
    let mut from = 0;
    ends.iter().map(|&end| document[std::mem::replace(&mut from, end)..end].to_owned()).collect()
}

/// xorshift64* (Marsaglia; Vigna), with the same numbers in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize) % n
    }
}

/// Parts of test texts, some for each rule: kinds of space, contractions, scripts, marks, digits, symbols.
const HOSTILE: &[&str] = &[
    " ",
    " ",
    " ",
    "  ",
    "\n",
    "\r",
    "\r\n",
    "\t",
    "\u{b}",
    "\u{c}",
    "\u{1c}",
    "\u{1f}",
    "\u{85}",
    "\u{a0}",
    "\u{1680}",
    "\u{180e}",
    "\u{2003}",
    "\u{200b}",
    "\u{2028}",
    "\u{202f}",
    "\u{3000}",
    "'",
    "'",
    "'s",
    "'S",
    "'\u{17f}",
    "'t",
    "'re",
    "'RE",
    "'rE",
    "'ve",
    "'ll",
    "'l",
    "'lL",
    "'d",
    "'m",
    "'x",
    "\u{212a}",
    "\u{17f}",
    "a",
    "b",
    "s",
    "l",
    "v",
    "e",
    "A",
    "B",
    "the",
    "THE",
    "The",
    "camelCase",
    "HTTPServer",
    "0",
    "1",
    "12",
    "123",
    "1234",
    "\u{661}",
    "\u{ff11}",
    "\u{bd}",
    "\u{2167}",
    "\u{966}",
    "\u{1d7ce}",
    ".",
    ",",
    "(",
    "/",
    "//",
    "!",
    "-",
    "_",
    "\u{2019}",
    "\u{2014}",
    "\u{4e2d}",
    "文",
    "\u{3042}",
    "\u{30fc}",
    "\u{d55c}",
    "\u{e01}",
    "\u{e31}",
    "\u{915}",
    "\u{94d}",
    "\u{301}",
    "\u{300}",
    "\u{20dd}",
    "é",
    "É",
    "ß",
    "ж",
    "Ж",
    "\u{1c5}",
    "\u{1c6}",
    "\u{2b0}",
    "ª",
    "\u{5d0}",
    "\u{627}",
    "\u{64b}",
    "\u{1f600}",
    "\u{1f468}\u{200d}\u{1f469}",
    "\u{20000}",
    "\u{10400}",
    "\u{10428}",
    "\u{e0100}",
    "\u{3007}",
    "\u{2e80}",
    "\u{3005}",
    "\u{30fb}",
    "\u{3040}",
    "\u{9fa6}",
    "\u{302a}",
    "GPU",
    "\u{fe0f}",
    "\u{378}",
    "\0",
    "\u{7f}",
    "\u{10ffff}",
    "\u{11de3}",
    "\u{16ff5}",
    "\u{11def}",
    "\u{feff}",
];

fn hostile_text(random: &mut Random, n_parts: usize, kinds: usize) -> String {
    // Half of the alphabets are neighbours in the list, which are of the same kind.
    let (start, is_near) = (random.below(HOSTILE.len()), random.below(2) == 0);
    let alphabet: Vec<_> = (0..kinds)
        .map(|nth| if is_near { start + nth } else { random.below(HOSTILE.len()) })
        .map(|nth| HOSTILE[nth % HOSTILE.len()])
        .collect();
    let mut text = String::new();
    for _ in 0..n_parts {
        let part = alphabet[random.below(kinds)];
        let repeat = if random.below(12) == 0 { 1 + random.below(70) } else { 1 };
        text.extend(std::iter::repeat_n(part, repeat));
    }
    text
}

fn at_every_tier<S: AsRef<str>>(patterns: &[S]) -> Vec<(CpuTier, Pretokenizer)> {
    CpuTier::available().map(|tier| (tier, Pretokenizer::at_tier(patterns, tier).unwrap())).collect()
}

/// Compiles automata and the regex engine at every tier, even if a pattern has a hand-written scanner.
fn compiled_at_every_tier(patterns: &[String]) -> Vec<(CpuTier, Pretokenizer)> {
    let compiled = |tier| (tier, Pretokenizer::compile(patterns, tier, RegexScanner::new).unwrap());
    CpuTier::available().map(compiled).collect()
}

fn assert_equal(fast: &[(CpuTier, Pretokenizer)], oracle: &Pretokenizer, text: &str) {
    let expected = ends_of(oracle, text);
    for (tier, fast) in fast {
        let got = ends_of(fast, text);
        if got != expected {
            let at = got.iter().zip(&expected).take_while(|(got, expected)| got == expected).count();
            let from = if at == 0 { 0 } else { got[at - 1] };
            let near = |ends: &[usize]| {
                let ends: Vec<_> = ends[at..].iter().take(6).map(|end| end - from).collect();
                show(&text[from..], &ends)
            };
            panic!("{tier:?} {text:?}\nfrom {from}: {:?}\nbut regex {:?}", near(&got), near(&expected));
        }
    }
}

#[test]
fn scanners_on_hostile_texts_equal_the_regex() {
    for (_, texts) in patterns::spellings() {
        let (fast, oracle) = (at_every_tier(texts), Pretokenizer::by_regex(texts).unwrap());
        let mut random = Random(0x9E37_79B9);
        for round in 0..if cfg!(debug_assertions) { 400 } else { 20_000 } {
            let n_parts = 1 + random.below(if round % 8 == 0 { 200 } else { 12 });
            let kinds = 2 + random.below(10);
            assert_equal(&fast, &oracle, &hostile_text(&mut random, n_parts, kinds));
        }
    }
}

#[test]
fn scanners_on_every_character_in_context_equal_the_regex() {
    for (_, texts) in patterns::spellings() {
        let (fast, oracle) = (at_every_tier(texts), Pretokenizer::by_regex(texts).unwrap());
        let mut text = String::new();
        // Without optimisation the regex takes minutes for all of them, so distant ones are sampled.
        let is_sampled = cfg!(debug_assertions);
        for character in '\0'..=char::MAX {
            if is_sampled && character > '\u{600}' && u32::from(character) % 89 != 0 {
                continue;
            }
            for context in [" x", "ax", "1x", "'x", "x x", "Ax", "\nx", ".x", "x's", "xA", "xa", "x\n", "x1"]
            {
                text.extend(context.chars().map(|c| if c == 'x' { character } else { c }));
            }
            if text.len() > 200_000 {
                assert_equal(&fast, &oracle, &text);
                text.clear();
            }
        }
        assert_equal(&fast, &oracle, &text);
    }
}

#[test]
fn named_patterns_all_have_scanners() {
    for name in names() {
        assert!(patterns::scanner(named_patterns(name).unwrap()).is_some(), "{name}");
    }
    assert_eq!(names().count(), names().collect::<std::collections::HashSet<_>>().len());
    assert_eq!(named_pattern("no such pattern"), None);
}

#[test]
fn patterns_of_a_word_are_those_of_a_name() {
    assert_eq!(patterns_of("gpt2").unwrap(), [gpt2_pattern()]);
    assert!(patterns_of("digits").unwrap().len() > 1);
    assert_eq!(patterns_of(r"\w+").unwrap(), [r"\w+"]);
    assert_eq!(patterns_of("x").unwrap(), ["x"]);
    let message = patterns_of("cl10k").unwrap_err().to_string();
    assert!(message.starts_with("no pattern is named 'cl10k'; the names are gpt2, cl100k, "), "{message}");
}

/// Rule 1 of `is_memoryless`.
#[test]
fn scanners_started_at_any_pretoken_give_the_same_pretokens() {
    for (_, texts) in patterns::spellings() {
        let mut random = Random(0x1234_5677);
        for (tier, fast) in at_every_tier(texts) {
            for _ in 0..if cfg!(debug_assertions) { 5 } else { 1000 } {
                let text = hostile_text(&mut random, 60, 6);
                let all = ends_of(&fast, &text);
                for (nth, &end) in all.iter().enumerate() {
                    let mut ends = Vec::new();
                    // From there on, and with the text before it cut off.
                    for (document, from) in [(&*text, end), (&text[end..], 0)] {
                        fast.fill(document, from, &mut ends).unwrap();
                        let moved: Vec<_> = ends.iter().map(|&distance| end + distance as usize).collect();
                        assert_eq!(
                            moved,
                            all[nth + 1..][..moved.len()],
                            "{tier:?} {texts:?} {text:?} from {end}, in {document:?}"
                        );
                    }
                }
            }
        }
    }
}

/// Rule 2 of `is_memoryless`.
#[test]
fn scanners_on_appended_text_change_at_most_two_pretokens() {
    for (_, texts) in patterns::spellings() {
        let (mut random, fast) = (Random(0x7654_3211), Pretokenizer::sequence(texts).unwrap());
        for _ in 0..if cfg!(debug_assertions) { 200 } else { 5000 } {
            let text = hostile_text(&mut random, 20, 5);
            let whole = ends_of(&fast, &text);
            for (at, _) in text.char_indices() {
                let part = ends_of(&fast, &text[..at]);
                let n_settled = part.len().saturating_sub(2);
                assert_eq!(part[..n_settled], whole[..n_settled], "{texts:?} {text:?} cut at {at}");
            }
        }
    }
}

/// Lengths from zero to more than two windows, with the break at each offset.
#[test]
fn scanners_find_a_break_at_any_offset_of_a_window() {
    for (_, texts) in patterns::spellings() {
        let (fast, oracle) = (at_every_tier(texts), Pretokenizer::by_regex(texts).unwrap());
        for (run, break_) in [
            ("a", "B"),
            ("a", "'s"),
            (" ", "\n"),
            ("\n", " "),
            ("中", "A"),
            ("ж", "."),
            ("1", "a"),
            (".", "\n/"),
        ] {
            for n_before in 0..70 {
                for n_after in [0, 1, 2, 3, 70] {
                    let text = [&run.repeat(n_before), break_, &run.repeat(n_after)].concat();
                    assert_equal(&fast, &oracle, &text);
                }
            }
        }
    }
}

/// In a window that begins within a pretoken, starts depend on the character, of any length, before a contraction.
#[test]
fn scanners_look_back_over_a_character_of_any_length_at_any_offset_of_a_window() {
    for (_, texts) in patterns::spellings() {
        let (fast, oracle) = (at_every_tier(texts), Pretokenizer::by_regex(texts).unwrap());
        for before in ["a", " ", "é", "\u{a0}", "ő", "٣", "中", "…", "\u{3000}", "😀", "𝟙", "𐐀"]
        {
            for break_ in ["'ll", "'s", "''ve", " 're", "12", "\n", "\u{85}"] {
                for n in (0..130).step_by(if cfg!(debug_assertions) { 7 } else { 1 }) {
                    let text = format!("ж{}{before}{break_}{before}x 1{before}", "a".repeat(n));
                    assert_equal(&fast, &oracle, &text.repeat(2));
                }
            }
        }
    }
}

#[test]
fn scanners_see_digits_of_unicode_17_at_any_offset_of_a_window() {
    for (_, texts) in patterns::spellings().filter(|(name, _)| name.starts_with("digit")) {
        let (fast, oracle) = (at_every_tier(texts), Pretokenizer::by_regex(texts).unwrap());
        for (before, n) in ["a", "\u{3000}", "é", "\u{16ff5}", "'re"]
            .into_iter()
            .flat_map(|text| (0..70).map(move |n| (text, n)))
        {
            for digits in
                ["\u{3000}\u{3000}\u{16ff5}", "  \u{11de0}", "1\u{16ff4}\u{16ff7}", "x\u{11de9}\u{11dea}"]
            {
                assert_equal(
                    &fast,
                    &oracle,
                    &format!("{}{before}{digits}é {digits}{}", "b".repeat(n), "c".repeat(70)),
                );
            }
        }
    }
}

/// A pretoken can begin several windows before the one that shows its end.
#[test]
fn scanners_find_the_end_of_a_run_of_ascii_and_other_characters() {
    for (_, texts) in patterns::spellings() {
        let (fast, oracle) = (at_every_tier(texts), Pretokenizer::by_regex(texts).unwrap());
        for (ascii, other) in [("a", "é"), ("!", "…"), ("7", "٣"), (" ", "\u{a0}"), ("a", "か")] {
            for n_ascii in (0..260).step_by(if cfg!(debug_assertions) { 29 } else { 3 }) {
                for n_other in [1, 2, 30, 70] {
                    let run = ascii.repeat(n_ascii) + &other.repeat(n_other);
                    for rest in ["", "'s x", " x", "a1!"] {
                        assert_equal(&fast, &oracle, &format!("It's {run}{run}{rest}{ascii}"));
                    }
                }
            }
        }
    }
}

#[test]
fn scanners_split_a_long_run_of_one_character() {
    let n_bytes = if cfg!(debug_assertions) { 64 << 10 } else { 4 << 20 };
    for (_, texts) in patterns::spellings() {
        let fast = Pretokenizer::sequence(texts).unwrap();
        for run in [
            "a", "A", "中", "中A", "ア", " ", "\n", " \n", "\n ", "/\n", "7", ".", "\u{301}", "'", "'s",
            "\u{200d}",
        ] {
            let text = run.repeat(n_bytes / run.len());
            assert_eq!(ends_of(&fast, &text).last(), Some(&text.len()));
        }
    }
}

/// The named patterns and some others, without the hand-written scanners.
#[test]
fn automata_equal_the_backtracking_regex() {
    let others: &[&[&str]] = &[
        &[r"\p{L}+|\s+(?!\S)"],
        &[r"\s+(?!\S)|.x?"],
        &[r"a|\s+(?!\S)|\s*b"],
        &[r"\s+(?!\S)|\s+|a*"],
        &[r"(?:a|\p{Lu})+?|[^\s&&[^\n]]{2,3}|[a-z]*"],
        &[r"(?i:'s|THE)|\p{L}?+\p{L}++|\p{N}{1,3}+|[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s"],
        &[r"a(?!b)|(?=[\p{L}b])..|\s+(?=\n|$)|[1-3]{2,}?(?![12])|'"],
        &[r"(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}{1}|\s{4}(?!\S)|\s{1,2}(?!\S)|\s"],
        &["[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+"],
        &[r" ?[^(\s|[.,!?…。，、।۔،])]+", r"(?#contiguous)\p{N}"],
        &[
            "<s:[0-9]+>",
            "(GPU)(a|B){1,4}Z?",
            r"([\t\n]|    |  )",
            r"\p{N}",
            r"\p{P}",
            r" ?\p{L}+|\s+(?!\S)|\s+",
        ],
        &[
            r"[^\n]+|[\n]+",
            r"(?i:'s)|[^\r\n\p{L}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
        &[
            r"\p{N}{1,3}",
            r"[一-龥ぁ-ヿ]+",
            r"[!-/][A-Za-z]+| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+",
            r"\p{N}|l+e",
        ],
        &["GPU|ab|[0-9]a", r"s(?=[^a]|$)|GP", r"\s+(?!\S)|\s+|[^\sA-Z]+(?=\p{L}|$)"],
        &[r"\d{1,3}(?=(?:\d{3})*\b)", r"(?i:'s)|\p{N}{1,2}|\s?\p{L}+", r"\s+(?!\S)|[ab]"],
        &[r"[ab]{1,2}(?=b*(?:(?<=[ab])\s+|(?<![ab])x))", r"\p{L}+|\s"],
        &[r"a[^.]*\.|[^.]{3}x|\s{3}(?!\S)|\s{1,2}(?!\S)", r"(?:ab|a\s+b|\p{L}+s)", "e|'"],
    ];
    let mut n_automata = 0;
    for texts in patterns::spellings()
        .map(|(_, texts)| texts.to_vec())
        .chain(others.iter().map(|texts| texts.iter().map(|&text| text.to_owned()).collect()))
    {
        let (compiled, oracle) = (compiled_at_every_tier(&texts), Pretokenizer::by_regex(&texts).unwrap());
        n_automata += usize::from(texts.iter().all(|text| dfa::Dfa::new(text, usize::MAX).is_some()));
        let mut random = Random(0x0BAD_5EED);
        for _ in 0..if cfg!(debug_assertions) { 100 } else { 5000 } {
            assert_equal(&compiled, &oracle, &hostile_text(&mut random, 30, 8));
        }
    }
    assert!(n_automata >= 15, "{n_automata}");
}

/// What one pass decides late: gaps that ended further back, and matches that can still get longer, in any order.
#[test]
fn random_sequences_of_patterns_equal_the_backtracking_regex() {
    let parts = [
        r"\p{L}+",
        r"\s?\p{L}+",
        r"[^\n\p{L}]?\p{L}+",
        r"\p{L}+(?: \p{L}+)*",
        r" ?[^(\s|[.,])]+",
        r" ?[^\s\p{L}\p{N}]+",
        r"\s+",
        r"\s+(?!\S)",
        r"\s*\n+",
        r"\s{2}(?!\S)",
        r"\p{N}{1,3}",
        "a*b",
        "a",
        "ab|abab|b",
        "[ab]{2,3}",
        "\"[^\"]*\"",
    ];
    let (mut random, letters) =
        (Random(0x5EC0_4D5E), ["a", "b", "ab", " ", "  ", "\n", "\"", "1", ".,", "é", "中"]);
    for _ in 0..if cfg!(debug_assertions) { 60 } else { 600 } {
        let steps = (0..1 + random.below(3)).map(|_| {
            let any = (0..1 + random.below(3)).map(|_| parts[random.below(parts.len())]);
            any.collect::<Vec<_>>().join("|")
        });
        let steps: Vec<String> = steps.collect();
        let (compiled, oracle) = (compiled_at_every_tier(&steps), Pretokenizer::by_regex(&steps).unwrap());
        for _ in 0..20 {
            // Windows of only ASCII take another path.
            let letters = &letters[..letters.len() - 2 * random.below(2)];
            let text: String = (0..random.below(120)).map(|_| letters[random.below(letters.len())]).collect();
            assert_equal(&compiled, &oracle, &text);
        }
    }
}

#[test]
fn letters_after_an_automaton_equal_the_backtracking_regex() {
    let first = [r" ?\p{L}+| ?\p{N}+|\s+", r"\S+|\s+", r"\p{L}+"];
    let letters = ["[0-9]", r"\p{N}+", "[0-9][0-9][0-9]", "Ġ", "[Ġa]b?", "(?#contiguous)[b1]"];
    let (mut random, parts) = (Random(0x1E77_E125), ["a", "b", " ", "1", "23", "456", ".", "é", "\u{2028}"]);
    for _ in 0..if cfg!(debug_assertions) { 20 } else { 200 } {
        let mut steps = vec![first[random.below(first.len())].to_owned(), "(?#byte_level)".to_owned()];
        steps.extend((0..1 + random.below(2)).map(|_| letters[random.below(letters.len())].to_owned()));
        let (compiled, oracle) = (compiled_at_every_tier(&steps), Pretokenizer::by_regex(&steps).unwrap());
        for _ in 0..20 {
            let parts = &parts[..parts.len() - 2 * random.below(2)];
            let text: String = (0..random.below(60)).map(|_| parts[random.below(parts.len())]).collect();
            assert_equal(&compiled, &oracle, &text);
        }
    }
}

/// " " is not a pretoken before a "\u{2028}" that ends the segment, as the first pattern decides three characters
/// later.
#[test]
fn a_match_that_begins_later_is_the_end_of_a_segment_before_it() {
    for between in ["", "x", "ab"] {
        let text = format!("{between} \u{2028}IMGC  \u{2028}IMx{between}");
        pretokens_of(&["IMG[A-Z]", r"\s+(?!\S)|\s+|\S"], &text);
        pretokens_of(&["IMG[A-Z]", r"a(?=b|$)", r"b?\s+(?!\S)|\s+"], &text);
    }
    assert_eq!(pretokens_of(&["IMG[A-Z]", r"\s+(?!\S)|\s+"], " \u{2028}IMGC"), [" \u{2028}", "IMGC"]);
}

fn pretokens_of(patterns: &[&str], text: &str) -> Vec<String> {
    let pretokenizer = Pretokenizer::by_regex(patterns).unwrap();
    let pretokens = show(text, &ends_of(&pretokenizer, text));
    let compiled = Pretokenizer::compile(patterns, CpuTier::best(), RegexScanner::new).unwrap();
    assert_eq!(show(text, &ends_of(&compiled, text)), pretokens);
    pretokens
}

#[test]
fn regex_gaps_are_pretokens_and_empty_matches_are_not() {
    assert_eq!(pretokens_of(&["b+"], "aabba"), ["aa", "bb", "a"]);
    assert_eq!(pretokens_of(&["b*"], "aabba"), ["aa", "bb", "a"]);
    assert_eq!(pretokens_of(&["x*(?=b)"], "aéxbxxb"), ["aé", "x", "b", "xx", "b"]);
    assert_eq!(pretokens_of(&["(?=b)"], "aéb"), ["aéb"]);
    assert_eq!(pretokens_of(&[""], "aé"), ["aé"]);
    assert_eq!(pretokens_of(&["a"], ""), [""; 0]);
}

#[test]
fn sequence_patterns_see_only_their_segment() {
    assert_eq!(pretokens_of(&["[0-9]", r"\s+(?!\S)|\S+|\s"], "ab  12 c"), ["ab", "  ", "1", "2", " ", "c"]);
    assert_eq!(pretokens_of(&["b", "a|ab"], "aab"), ["a", "a", "b"]);
    assert_eq!(pretokens_of(&["[a-z]+", "^a"], "aba1ab"), ["a", "ba", "1", "a", "b"]);
    assert!(matches!(Pretokenizer::sequence::<&str>(&[]), Err(Error::Invalid(_))));
}

#[test]
fn comments_say_what_matches_are_joined_to() {
    let text = "a..b1.c";
    let joined = |comment: &str| pretokens_of(&[format!("(?#{comment})[.]").as_str()], text);
    assert_eq!(joined("isolated"), ["a", ".", ".", "b1", ".", "c"]);
    assert_eq!(joined("contiguous"), ["a", "..", "b1", ".", "c"]);
    assert_eq!(joined("merged_with_previous"), ["a.", ".", "b1.", "c"]);
    assert_eq!(joined("merged_with_next"), ["a", ".", ".b1", ".c"]);
    // Any other comment has no meaning.
    assert_eq!(pretokens_of(&["(?#other)[.]"], text), joined("isolated"));
    assert_eq!(pretokens_of(&["(?#isolated)a*"], "baac"), ["b", "aa", "c"]);
    assert_eq!(pretokens_of(&["(?#isolated)(?=b)", "(?#isolated)(?<=a)"], "aabb"), ["a", "a", "b", "b"]);
    assert_eq!(pretokens_of(&["(?#contiguous)"], "aé"), ["a", "é"]);
}

#[test]
fn matches_that_depend_on_the_last_match_are_searched_once() {
    // More ends than one call returns: a later call would begin at the start of a match, not at its end.
    let text = "xbb".repeat(2 * ENDS_PER_FILL);
    let mut expected: Vec<usize> = (1..text.len()).filter(|at| at % 3 > 0).collect();
    expected.push(text.len());
    for patterns in
        [&[r"(?#merged_with_next)\Gbb|b"][..], &["(?#isolated)[y]", r"(?#merged_with_next)\Gbb|b"]]
    {
        assert_eq!(Pretokenizer::sequence(patterns).unwrap().ends(&text).unwrap(), expected);
    }
    // No match begins before the last one ends, or after its own end.
    assert_eq!(pretokens_of(&[r"(?#isolated)(?<=\Ka)b|a"], "xabab"), ["x", "a", "b", "a", "b"]);
    assert_eq!(pretokens_of(&[r"(?#merged_with_previous)(?=ab\K)a"], "xabab"), ["xa", "ba", "b"]);
}

#[test]
fn patterns_behind_byte_level_see_letters_and_may_cut_characters() {
    let ends = |patterns: &[&str], text: &str| Pretokenizer::sequence(patterns).unwrap().ends(text).unwrap();
    assert_eq!(ends(&["(?#byte_level)", "²"], "a²²b"), [2, 3, 4, 5, 6]);
    assert_eq!(ends(&[" ", "(?#byte_level)", "[\u{101}Ġ]"], "a é\u{1}b"), [1, 2, 4, 5, 6]);
    assert_eq!(ends(&["(?#byte_level)"], "é"), [2]);
    let text = "1é".repeat(2 * ENDS_PER_FILL);
    assert_eq!(ends(&["(?#byte_level)", "[^1]"], &text).len(), text.len());
    let letters: String = ('\0'..='\u{ff}').map(String::from).collect();
    assert_eq!(ends(&["(?#byte_level)", r"\s|[\x00-\x20]"], &letters), [letters.len()]);
}

#[test]
fn digits_in_threes_equal_the_regex_engine() {
    let before_groups = [r"(?#isolated)(?=(\d{3})+(?!\d))", r"(?#isolated)(?=(?:\d{3})+(?!\d))"];
    let published = oniguruma::read(r"\d{1,3}(?=(?:\d{3})*\b)").unwrap().0;
    let whole_numbers = [r"\d{1,3}(?=(?:\d{3})*\b)", &published].map(|pattern| [pattern; 2]);
    let sequences: [&[&str]; 7] = [
        &[],
        &[r"\p{N}+"],
        &[r"\p{N}{1,3}"],
        &[" ", "[5x]"],
        &["3"],
        &["٣"],
        &["x", r" ?\w|\s*\n|\s+(?!\S)"],
    ];
    let mut compiled = Vec::new();
    for [own, other] in [before_groups].into_iter().chain(whole_numbers) {
        assert!(own == before_groups[0] || WholeNumbers::new(own).is_some(), "{own}");
        for patterns in sequences {
            for at in 0..=patterns.len() {
                let [mut ours, mut theirs] = [patterns.to_vec(), patterns.to_vec()];
                ours.insert(at, own);
                theirs.insert(at, other);
                compiled
                    .push((Pretokenizer::sequence(&ours).unwrap(), Pretokenizer::by_regex(&theirs).unwrap()));
            }
        }
    }
    let mut random = Random(9);
    for round in 0..if cfg!(miri) { 3 } else { 500 } {
        let parts =
            ["1", "23", "456", "7890123", "٣", "½", "x", " é", "", "\n", " ", "  ", "_", "²", "\u{200c}"];
        let n_parts = if round == 1 { ENDS_PER_FILL } else { random.below(30) };
        let mut text: String = (0..n_parts).map(|_| parts[random.below(parts.len())]).collect();
        if round == 1 {
            text += &"12".repeat(200);
        }
        for (ours, engine) in &compiled {
            let ends = ours.ends(&text).unwrap();
            assert!(ends == engine.ends(&text).unwrap(), "{text:?} {:?}", ours.patterns());
            for (before, (at, after)) in text.chars().zip(text.char_indices().skip(1)) {
                let is_end = ends.binary_search(&at).is_ok();
                assert!(is_end || !ours.ends_between(before, after), "{text:?} {at} {:?}", ours.patterns());
            }
            for max_bytes in [9, text.len() as u32 / 2] {
                let some = ends_within(&ours.engine, &text, max_bytes);
                assert!(ends.starts_with(&some), "{text:?} {:?} {max_bytes}", ours.patterns());
            }
        }
    }
    // One call returns only so many ends, and this number has more groups.
    let digits = "1".repeat(3 * ENDS_PER_FILL * 3 + 1);
    let ends: Vec<usize> = (1..=digits.len()).step_by(3).collect();
    for patterns in [&[whole_numbers[0][0]][..], &[whole_numbers[0][0], r"\s|[^\s]+"]] {
        assert_eq!(ends_of(&Pretokenizer::sequence(patterns).unwrap(), &digits), ends);
    }
    // A letter after the digits leaves them to the second pattern.
    let word = digits + "x";
    let by_digit = Pretokenizer::sequence(&[whole_numbers[0][0], "[0-9]"]).unwrap();
    assert_eq!(ends_of(&by_digit, &word).len(), word.len());
}

#[test]
fn is_total_says_whether_matches_leave_gaps() {
    let is_total = |pattern: &str| Pretokenizer::new(pattern).unwrap().is_total();
    for total in
        [r"\w+|[^\w\s]+|\s+", r" ?\p{L}+|[^\s\p{L}]+|\s+(?!\S)|\s+", r"[\s\S]", "(?#isolated)[\\s\\S]"]
    {
        assert!(is_total(total), "{total}");
    }
    for partial in [
        r"\w+|[^\w\s]+",
        r"\s+(?!\S)|\S+",
        ".",
        "a*|[\\s\\S]",
        "(?=a)[\\s\\S]",
        "(?#merged_with_next)[\\s\\S]",
    ] {
        assert!(!is_total(partial), "{partial}");
    }
}

#[test]
fn sequence_gives_all_ends_of_a_long_segment() {
    let text = "ab".repeat(10 * ENDS_PER_FILL) + "1" + &"c".repeat(3 * ENDS_PER_FILL);
    assert_eq!(pretokens_of(&["[0-9]", "[a-z]"], &text).len(), text.len());
}

/// Finds all ends with a limit of `max_bytes` instead of 4 GiB.
fn ends_within(engine: &Engine, text: &str, max_bytes: u32) -> Vec<usize> {
    let (mut all, mut ends, mut from) = (Vec::new(), Vec::new(), 0);
    loop {
        match engine {
            Engine::Named(..) | Engine::Characters(_) => unreachable!("other tests have these"),
            Engine::Sequence(steps) => {
                sequence::fill(steps, text, from, max_bytes, &mut ends, &mut |_| Ok(()))
            }
        }
        .unwrap();
        assert!(ends.iter().all(|&distance| distance <= max_bytes));
        all.extend(ends.iter().map(|&distance| from + distance as usize));
        match ends.last() {
            Some(&last) => from += last as usize,
            None => return all,
        }
    }
}

#[test]
fn regex_ends_too_far_away_are_left_to_the_next_call_or_not_given() {
    let text = "ab cd 1efghijklm no";
    let all = [2, 5, 6, 7, 16, 19];
    for (compile, limits_of_two) in [
        (RegexScanner::new as fn(&str, usize) -> _, [(9, 6), (8, 4)]),
        // The segments around "1" are all or nothing.
        (RegexScanner::backtracking, [(19, 6), (18, 0)]),
    ] {
        let pattern = Pretokenizer::compile(&[r" ?[a-z]+"], CpuTier::best(), compile).unwrap();
        assert_eq!(ends_within(&pattern.engine, text, u32::MAX), [2, 5, 7, 16, 19]);
        // A gap is returned without the match after it.
        for (max_bytes, n_ends) in [(9, 5), (8, 3), (2, 1), (1, 0)] {
            assert_eq!(ends_within(&pattern.engine, text, max_bytes).len(), n_ends, "{max_bytes}");
        }
        let sequence = Pretokenizer::compile(&["[0-9]", r" ?[a-z]+"], CpuTier::best(), compile).unwrap();
        assert_eq!(ends_within(&sequence.engine, text, u32::MAX), all);
        for (max_bytes, n_ends) in limits_of_two {
            assert_eq!(ends_within(&sequence.engine, text, max_bytes).len(), n_ends, "{max_bytes}");
        }
    }
}

#[test]
fn a_pretoken_whose_end_is_too_far_away_is_an_error_that_says_where() {
    // Every engine returns no ends for such a text.
    let none = Scanner {
        fill: |_, _, _, ends| {
            ends.clear();
            Ok(())
        },
        joins_words: false,
    };
    let pretokenizer = Pretokenizer::with_engine(&["a"], Engine::Named(none, CpuTier::Portable));
    let message = pretokenizer.fill("aaaa", 1, &mut vec![1]).unwrap_err().to_string();
    assert!(message.contains("more than 4 GiB, from byte 1 on"), "{message}");
    assert_eq!(pretokenizer.fill("aaaa", 4, &mut vec![1]).unwrap(), 4);
}

#[test]
fn patterns_that_do_not_compile_or_give_up_are_errors() {
    for pattern in ["(", "[a", "*", r"\p{Nonsense}", "(?<", r"\p{L}{9999}"] {
        let ends = Pretokenizer::new(pattern).and_then(|pretokenizer| pretokenizer.ends("aaaa"));
        assert!(matches!(ends, Err(Error::Pattern { .. })), "{pattern}");
    }
    let deep = "(".repeat(100_000);
    let message = Pretokenizer::new(&deep).err().unwrap().to_string();
    assert!(message.len() < 700 && message.contains("100000 bytes in all"), "{message}");
    assert!(Pretokenizer::sequence(&["a"; MAX_PATTERNS]).is_ok());
    let message = Pretokenizer::sequence(&["a"; MAX_PATTERNS + 1]).err().unwrap().to_string();
    assert!(message.contains("33 patterns that split in turn; at most 32"), "{message}");
    let long = "(?=a)".repeat(MAX_PATTERN_BYTES / 5) + "a";
    assert!(Pretokenizer::new(&long).is_ok());
    let halves = [&"a|".repeat(MAX_PATTERN_BYTES / 4), "a", &"b|".repeat(MAX_PATTERN_BYTES / 4)];
    for patterns in [&[format!("{long}aaaa").as_str()][..], &halves] {
        let message = Pretokenizer::sequence(patterns).err().unwrap().to_string();
        assert!(message.contains("16385 bytes; at most 16384"), "{message}");
    }
    // Few bytes that need many automata, or large ones.
    let many: String = (1..150).map(|n| format!(r"(?=\w{{{n}}})")).collect();
    for patterns in [&[&*(many + "#?")][..], &[r"\p{L}{9999}#?"]] {
        let message = Pretokenizer::sequence(patterns).err().unwrap().to_string();
        assert!(message.contains("its automaton is too large"), "{message}");
    }
    let exponential = Pretokenizer::new(r"(?:(?=ab?)a|a)*b(?!cc)").unwrap();
    assert!(matches!(exponential.ends(&"a".repeat(100_000)), Err(Error::Pattern { .. })));
}

/// The backtracking engine can give up, but must report it.
#[test]
fn regex_on_ten_megabytes_of_one_letter_splits_or_refuses() {
    let text = "a".repeat(10 << 20);
    let refused = Pretokenizer::new(r"\p{L}+(?!xy)|.").unwrap().ends(&text);
    assert!(matches!(refused, Err(Error::Pattern { .. })));
    for pattern in [r"\w+|\s+", r" ?[a-z]+|\s+(?!\S)|\s", r"[ab]?[A-Z]*[a-z]+(?i:'s)?|\s+(?!\S)"] {
        let pretokenizer = Pretokenizer::new(pattern).unwrap();
        assert_eq!(pretokenizer.ends(&text).unwrap(), [text.len()], "{pattern}");
    }
}
