//! Random vocabularies, special tokens and texts, with many merges, cuts and near misses.

use std::sync::Arc;

use super::super::{Encoder, EncoderOptions};
use crate::monitor::Silent;
use crate::pretokens::Pretokenizer;
use crate::special::SpecialTokens;
use crate::train::{MergeOptions, TieBreak, WeightedPretokens, naive};
use crate::vocabulary::{Tokens, Vocabulary};

/// SplitMix64.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub(super) fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// A vocabulary, its pattern and its special tokens.
pub(super) struct Setting {
    tokens: Vec<(u32, Vec<u8>)>,
    /// [`None`]: the vocabulary is made from ranks.
    merges: Option<Vec<[u32; 3]>>,
    ignore_merges: bool,
    pattern: &'static str,
    specials: Vec<(String, u32)>,
    alphabet: Vec<&'static str>,
}

const ALPHABETS: [&[&str]; 4] = [
    &["a", "b", "ab", "aa", " ", "c"],
    &["a", "A", "b", "'", "'re", "'LL", "1", "23", " ", "  ", "\n", "\r\n", "!", "/", "\t", "'s"],
    &["中", "文", "é", "É", "a", "A", "ſ", " ", "\u{3000}", "😀", "\u{301}", "한", "ا", "9", "'", "ʰ"],
    &["the", " the", " of", "ing", " ", "\n", "x", "y", ".", ",", "'t", "Q", "zz"],
];

const WORDS: [&str; 14] =
    ["the", " the", " of", "ing", "zz", ",", " a", "\u{a0}", " \u{a0}", "é", " é", "中", "  ", "\n"];

impl Setting {
    pub(super) fn new(random: &mut Random, pattern: &'static str) -> Setting {
        let alphabet = ALPHABETS[random.below(4)].to_vec();
        let mut tokens: Vec<(u32, Vec<u8>)> = (0..=255u8).map(|byte| (u32::from(byte), vec![byte])).collect();
        let kind = random.below(4);
        let mut merges = None;
        if kind < 2 {
            merges = Some(learned(random, &alphabet, &mut tokens));
        } else {
            // Tokens of any kind; merges cannot reach many of them, and ids have gaps.
            let mut id = 256;
            for _ in 0..random.below(120) {
                let parts = 1 + random.below(4);
                let text: String = (0..parts).map(|_| random.pick(&alphabet)).collect();
                let cut = random.below(text.len());
                let bytes = if random.below(3) == 0 { &text.as_bytes()[cut..] } else { text.as_bytes() };
                if tokens.iter().all(|(_, token)| token != bytes) {
                    id += 1 + random.below(2) as u32;
                    tokens.push((id, bytes.to_vec()));
                }
            }
        }
        if kind == 3 {
            merges = Some(handmade(random, &tokens));
        }
        let mut specials = Vec::new();
        let literals = ["<|end|>", "<|end|><|end|>", "d|", "ab", "<|", "a b", " \n", "é"];
        for literal in literals.iter().take(random.below(literals.len() + 1)) {
            specials.push(((*literal).to_owned(), 60_000 + specials.len() as u32));
        }
        Setting { tokens, merges, ignore_merges: random.below(2) == 0, pattern, specials, alphabet }
    }

    /// Creates a setting with a pattern of whole lines, and merges of words followed by merges that cross words.
    pub(super) fn of_lines(random: &mut Random) -> Setting {
        let mut tokens: Vec<(u32, Vec<u8>)> = (0..=255u8).map(|byte| (u32::from(byte), vec![byte])).collect();
        let mut merges = Vec::new();
        let by_ranks = random.below(3) == 0;
        let has_doubles = !by_ranks && random.below(3) == 0;
        let n_of_words = random.below(1500);
        for number in 0..n_of_words + random.below(1500) {
            let mut text = random.pick(&WORDS).to_owned();
            if number >= n_of_words {
                text += random.pick(&WORDS);
                text += random.pick(&WORDS);
            }
            let mut cuts = [(); 3].map(|()| random.below(text.len() + 1));
            cuts.sort_unstable();
            let [start, middle, end] = cuts;
            let id = |part: &[u8]| tokens.iter().find(|(_, token)| token == part).map(|&(id, _)| id);
            let (left, right) = (&text.as_bytes()[start..middle], &text.as_bytes()[middle..end]);
            let (Some(left), Some(right)) = (id(left), id(right)) else { continue };
            match id(&text.as_bytes()[start..end]) {
                None => {
                    merges.push([left, right, tokens.len() as u32]);
                    tokens.push((tokens.len() as u32, text.as_bytes()[start..end].to_vec()));
                }
                // Another way to make a token.
                Some(made) if has_doubles && random.below(5) == 0 => merges.push([left, right, made]),
                Some(_) => {}
            }
        }
        for _ in 0..if by_ranks { random.below(30) } else { 0 } {
            // A token may have a lower rank than its parts.
            let at = 256 + random.below(tokens.len().saturating_sub(256).max(1));
            let before = 256 + random.below(at - 255);
            if at < tokens.len() && before + 40 > at {
                let own = tokens[at].1.clone();
                tokens[at].1 = tokens[before].1.clone();
                tokens[before].1 = own;
            }
        }
        Setting {
            tokens,
            merges: (!by_ranks).then_some(merges),
            ignore_merges: random.below(2) == 0,
            pattern: r"[^\n]*\n+|[^\n]+",
            specials: Vec::new(),
            alphabet: WORDS.to_vec(),
        }
    }

    pub(super) fn vocabulary(&self) -> Vocabulary {
        let mut tokens = Tokens::default();
        for (id, token) in &self.tokens {
            tokens.push(*id, token).unwrap();
        }
        match &self.merges {
            Some(merges) => Vocabulary::from_merges(tokens, merges.clone(), self.ignore_merges).unwrap(),
            None => Vocabulary::from_ranks(tokens).unwrap(),
        }
    }

    pub(super) fn encoder(&self, options: EncoderOptions) -> Encoder {
        let pretokenizer = Arc::new(Pretokenizer::new(self.pattern).unwrap());
        let specials = SpecialTokens::new(self.specials.clone()).unwrap();
        Encoder::new(Arc::new(self.vocabulary()), pretokenizer, specials, options).unwrap()
    }

    /// Returns a text of up to `max` parts, among them special tokens and prefixes of them.
    pub(super) fn text(&self, random: &mut Random, max: usize) -> String {
        let mut text = String::new();
        for _ in 0..random.below(max + 1) {
            match random.below(40) {
                0 => text += "<|end|>",
                1 => text += &"<|end|><|end|>"[..random.below(15)],
                2 => text += &random.pick(&self.alphabet).repeat(random.below(40)),
                _ => text += random.pick(&self.alphabet),
            }
        }
        text
    }
}

/// Learns merges from a random corpus; appends their tokens to `tokens`.
fn learned(random: &mut Random, alphabet: &[&str], tokens: &mut Vec<(u32, Vec<u8>)>) -> Vec<[u32; 3]> {
    let (mut bytes, mut ends, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..60 {
        for _ in 0..1 + random.below(8) {
            bytes.extend_from_slice(random.pick(alphabet).as_bytes());
        }
        ends.push(bytes.len() as u64);
        counts.push(1 + random.below(9) as u64);
    }
    let options = MergeOptions {
        n_merges: random.below(80),
        tie_break: TieBreak::IdsLeast,
        byte_order: std::array::from_fn(|byte| byte as u8),
        min_frequency: 1,
        max_token_bytes: None,
        max_memory: None,
        threads: 1,
        n_traced: 0,
    };
    let pretokens = WeightedPretokens { bytes: &bytes, ends: &ends, counts: &counts };
    let mut merges = Vec::new();
    for [left, right] in naive::train(pretokens, &options, &Silent).unwrap() {
        let merged_id = tokens.len() as u32;
        let joined = [&tokens[left as usize].1[..], &tokens[right as usize].1[..]].concat();
        tokens.push((merged_id, joined));
        merges.push([left, right, merged_id]);
    }
    merges
}

/// Returns random pairs of tokens that join into a token, in random order.
pub(super) fn handmade(random: &mut Random, tokens: &[(u32, Vec<u8>)]) -> Vec<[u32; 3]> {
    let mut merges = Vec::new();
    for (merged_id, token) in tokens {
        for cut in 1..token.len() {
            let find = |part: &[u8]| tokens.iter().find(|(_, token)| token == part).map(|&(id, _)| id);
            if let (Some(left), Some(right)) = (find(&token[..cut]), find(&token[cut..]))
                && random.below(5) > 0
            {
                merges.insert(random.below(merges.len() + 1), [left, right, *merged_id]);
            }
        }
    }
    merges
}
