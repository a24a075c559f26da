//! The engine against the definition, on thousands of small random corpora.

use super::*;
use crate::monitor::Silent;

/// A xorshift generator: the same corpora on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// Pretokens as the columns that the engine takes.
#[derive(Default, Debug, Clone)]
struct Corpus {
    bytes: Vec<u8>,
    ends: Vec<u64>,
    counts: Vec<u64>,
}

impl Corpus {
    fn push(&mut self, pretoken: &[u8], count: u64) {
        self.bytes.extend_from_slice(pretoken);
        self.ends.push(self.bytes.len() as u64);
        self.counts.push(count);
    }

    fn pretokens(&self) -> WeightedPretokens<'_> {
        WeightedPretokens { bytes: &self.bytes, ends: &self.ends, counts: &self.counts }
    }

    fn of(pretokens: &[(&str, u64)]) -> Corpus {
        let mut corpus = Corpus::default();
        for &(pretoken, count) in pretokens {
            corpus.push(pretoken.as_bytes(), count);
        }
        corpus
    }

    /// Runs of few letters, whitespace, several scripts, or any bytes; counts small, equal or huge.
    fn random(random: &mut Random) -> Corpus {
        let letters: &[&str] = match random.below(7) {
            0 => &["a"],
            1 => &["a", "b"],
            2 => &["a", "b", "c"],
            3 => &[" ", "\n", "\t", "\u{a0}", "\u{3000}"],
            4 => &["é", "ß", "д", "中", "文", "字", "ا", "ل", "🙂", "a"],
            5 => &["the", "in", "er", "an", "re", " ", "s"],
            _ => &["\0", "\u{7f}", "ÿ", "a\0", "\0\0"],
        };
        let longest = random.of(&[3, 6, 12, 40, 300]);
        let heaviest = random.of(&[1, 2, 5, 5000, 1 << 40]);
        let mut corpus = Corpus::default();
        for _ in 0..random.below(if longest == 300 { 4 } else { 30 }) {
            let mut pretoken = String::new();
            for _ in 0..random.below(longest) {
                pretoken.push_str(random.of(letters));
            }
            corpus.push(pretoken.as_bytes(), random.next() % (heaviest + 1));
        }
        corpus
    }
}

fn options(n_merges: usize, tie_break: TieBreak) -> MergeOptions {
    MergeOptions {
        n_merges,
        tie_break,
        byte_order: std::array::from_fn(|byte| byte as u8),
        min_frequency: 1,
        max_token_bytes: None,
        threads: 1,
    }
}

fn random_options(random: &mut Random) -> MergeOptions {
    let tie_break = random.of(&[TieBreak::IdsLeast, TieBreak::BytesGreatest]);
    let mut options = options(random.of(&[1, 5, 40, 300]), tie_break);
    if random.below(2) == 0 {
        for at in (1..256).rev() {
            options.byte_order.swap(at, random.below(at + 1));
        }
    }
    options.min_frequency = random.of(&[0, 1, 1, 2, 3, 10, 1 << 30]);
    options.max_token_bytes = random.of(&[None, None, None, Some(0), Some(1), Some(2), Some(3), Some(7)]);
    options.threads = random.of(&[1, 1, 1, 1, 1, 2, 3, 7]);
    options
}

fn random_tuning(random: &mut Random) -> Tuning {
    Tuning {
        threshold: random.of(&[0, 1, 2, 3, 10, 100, 1 << 20, u64::MAX]),
        share_from: random.of(&[0, 1, 2, 3, 5, 8, 20, usize::MAX]),
        is_thrifty: random.below(2) == 0,
        widths: random.of(&[(2, 4), (4, 4), (4, 8)]),
    }
}

/// Compares engine and definition, from the start and from some merges on.
fn agree(n_corpora: u64) {
    for seed in 1..=n_corpora {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let corpus = Corpus::random(&mut random);
        let options = random_options(&mut random);
        let tuning = random_tuning(&mut random);
        let expected = naive::learn(corpus.pretokens(), &options, &Silent).unwrap();
        let already = &expected[..if random.below(2) == 0 { 0 } else { random.below(expected.len() + 1) }];
        let mut passed = already.to_vec();
        let on_merges = &mut |new: &[Merge]| {
            passed.extend_from_slice(new);
            Ok(())
        };
        let learned = learn_tuned(corpus.pretokens(), &options, already, Some(tuning), on_merges, &Silent);
        let case = format!("seed {seed}: {} known of {corpus:?} under {options:?} {tuning:?}", already.len());
        assert_eq!(learned.unwrap(), expected, "{case}");
        assert_eq!(passed, expected, "{case}");
    }
}

#[test]
fn agrees_with_the_definition() {
    agree(800);
}

#[test]
#[ignore = "slow: run by make test-slow"]
fn agrees_with_the_definition_on_ten_thousand_corpora() {
    agree(10_000);
}

#[test]
fn worked_examples() {
    let corpus = Corpus::of(&[("ab", 1), (" ab", 2)]);
    let least = options(2, TieBreak::IdsLeast);
    assert_eq!(learn(corpus.pretokens(), &least, &Silent).unwrap(), [(97, 98), (32, 256)]);
    let run = Corpus::of(&[("aaa", 1)]);
    assert_eq!(learn(run.pretokens(), &least, &Silent).unwrap(), [(97, 97), (256, 97)]);
}
