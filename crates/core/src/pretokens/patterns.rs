//! The named patterns, as text, and which of them a text of a pattern is.
//!
//! A pattern is one regex, or several that split one after the other: each splits what the one before
//! left, matched or not, and nothing that one of them looks at reaches beyond such a piece.
//!
//! Only an exact text counts: a pattern that differs by a character goes to the regex engine, since a
//! lookalike may give other pretokens.

use super::families::Family;

/// The GPT-2 pattern, as published.
pub const GPT2: &str = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

/// The GPT-2 pattern, as first published.
const GPT2_FIRST: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

/// Name, texts, family. The first of a name is what the name means, without quantifiers that engines
/// understand differently; others are spellings of it, the owner's own among them.
pub(super) const NAMED: &[(&str, &[&str], Family)] = &[
    ("gpt2", &[GPT2], Family::Gpt2),
    (
        "gpt2",
        &[r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"],
        Family::Gpt2,
    ),
    ("gpt2", &[GPT2_FIRST], Family::Gpt2),
    (
        "cl100k",
        &[
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+(?![\s\S])|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
        Family::Cl100k,
    ),
    (
        "cl100k",
        &[
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
        ],
        Family::Cl100k,
    ),
    (
        "o200k",
        &[
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
        Family::O200k,
    ),
    // Llama 3, GLM 4 and 5, and the first text of cl100k.
    (
        "llama3",
        &[
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
        Family::Llama3,
    ),
    (
        "llama3",
        &[
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
        ],
        Family::Llama3,
    ),
    // Qwen 1 to 3.
    (
        "qwen2",
        &[
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
        Family::Qwen2,
    ),
    (
        "qwen3.5",
        &[
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
        Family::Qwen35,
    ),
    (
        "nanochat",
        &[
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
        Family::Nanochat,
    ),
    (
        "nanochat",
        &[
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
        ],
        Family::Nanochat,
    ),
    (
        "tekken",
        &[
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
        Family::Tekken,
    ),
    (
        "kimi",
        &[
            r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
        Family::Kimi,
    ),
    // DeepSeek V3 and later.
    (
        "deepseek",
        &[
            r"\p{N}{1,3}",
            "[一-龥\u{3040}-ゟ゠-ヿ]+",
            r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"##,
        ],
        Family::DeepSeek,
    ),
    // The same as it stands in tokenizer.json, where \r and \n are the characters themselves.
    (
        "deepseek",
        &[
            r"\p{N}{1,3}",
            "[一-龥\u{3040}-ゟ゠-ヿ]+",
            "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
        ],
        Family::DeepSeek,
    ),
    // StarCoder, SmolLM: numbers one by one and then GPT-2.
    ("starcoder", &[r"\p{N}", GPT2], Family::Gpt2Digits),
    ("starcoder", &[r"\p{N}", GPT2_FIRST], Family::Gpt2Digits),
];

/// The names of the named patterns.
pub fn names() -> impl Iterator<Item = &'static str> {
    let mut last = "";
    NAMED.iter().filter_map(move |&(name, ..)| (name != std::mem::replace(&mut last, name)).then_some(name))
}

/// The texts of a named pattern, one for each of its steps.
pub fn named_patterns(name: &str) -> Option<&'static [&'static str]> {
    NAMED.iter().find(|&&(known, ..)| known == name).map(|&(_, texts, _)| texts)
}

/// The text of a named pattern of one step.
pub fn named_pattern(name: &str) -> Option<&'static str> {
    match named_patterns(name) {
        Some(&[text]) => Some(text),
        _ => None,
    }
}

/// The hand-written scanner of exactly these texts.
pub(super) fn family_of<S: AsRef<str>>(patterns: &[S]) -> Option<Family> {
    let is_equal = |texts: &[&str]| texts.iter().copied().eq(patterns.iter().map(AsRef::as_ref));
    NAMED.iter().find(|&&(_, texts, _)| is_equal(texts)).map(|&(.., family)| family)
}
