//! Hand-written scanners and automata split any text as the regex engine does.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use pairloom_core::pretokens::{Pretokenizer, patterns};

/// Patterns in use that have no scanner: bloom, deepseek-coder, EXAONE 4, DeepSeek after digits, Chameleon.
const OTHERS: [&[&str]; 5] = [
    &[r" ?[^(\s|[.,!?…。，、।۔،])]+"],
    &["[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+", r"\p{N}"],
    &[
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+",
    ],
    &[
        r"\p{N}",
        r"[!-/:-@\[-`{-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ],
    &["<s:[0-9]+>", "(IMG)((A|B){1,4})Z", r"([\t\n]|    |  )", r"\p{N}", r"\p{P}", r" ?\p{L}+|\s+(?!\S)|\s+"],
];

/// Each pattern as it runs, and by the regex engine.
static PAIRS: LazyLock<Vec<[Pretokenizer; 2]>> = LazyLock::new(|| {
    let named = patterns::names().map(|name| patterns::named_patterns(name).unwrap().to_vec());
    let others = OTHERS.map(|texts| texts.iter().map(|&text| text.to_owned()).collect());
    let all = named.chain(others);
    all.map(|texts| [Pretokenizer::sequence(&texts).unwrap(), Pretokenizer::by_regex(&texts).unwrap()])
        .collect()
});

fuzz_target!(|input: (u8, &str)| {
    let (choice, text) = input;
    let [fast, regex] = &PAIRS[usize::from(choice) % PAIRS.len()];
    assert_eq!(fast.ends(text).unwrap(), regex.ends(text).unwrap(), "{:?} on {text:?}", fast.patterns());
});
