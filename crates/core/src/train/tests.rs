//! Compares the trainer with [`naive`] on random corpora, and tests what `naive` does not cover: errors, interruption,
//! shortages, and the work on long pretokens.

use std::cell::{Cell, RefCell};

use super::pair_queue::{NextSymbol, PairQueue};
use super::pair_table::{key_of, pair_of};
use super::*;
use crate::monitor::{Silent, Stage};

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

/// Pretokens as the columns that training takes.
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

    /// Generates pretokens of few letters, white space, several scripts or control characters, with small, equal or
    /// huge counts.
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
        max_memory: None,
        threads: 1,
        n_traced: 0,
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
        min_shared_positions: random.of(&[0, 1, 2, 3, 5, 8, 20, usize::MAX]),
        reuses_slots: random.below(2) == 0,
        widths: random.of(&[(2, 4), (4, 4), (4, 8)]),
    }
}

/// Returns the shortage by its definition, from the pairs that are left after all merges.
fn shortage(corpus: &Corpus, options: &MergeOptions, merges: &[Merge]) -> Option<Shortage> {
    let mut lengths = vec![1; 256];
    for &[left, right] in merges {
        lengths.push(lengths[left as usize] + lengths[right as usize]);
    }
    let mut shortage = Shortage::default();
    let mut start = 0;
    for (&end, &count) in corpus.ends.iter().zip(&corpus.counts) {
        let mut word: Vec<u32> = corpus.bytes[start..end as usize].iter().map(|&byte| byte.into()).collect();
        start = end as usize;
        for (merged, &pair) in (256..).zip(merges) {
            naive::replace(&mut word, pair, merged);
        }
        for pair in word.windows(2).filter(|_| count > 0) {
            let merged_len = lengths[pair[0] as usize] + lengths[pair[1] as usize];
            let is_long = options.max_token_bytes.is_some_and(|limit| merged_len > limit);
            shortage.has_long |= is_long;
            shortage.has_rare |= !is_long;
        }
    }
    (merges.len() < options.n_merges).then_some(shortage)
}

/// Compares the trainer with `naive`.
fn check_against_naive(n_corpora: u64) {
    for seed in 1..=n_corpora {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let corpus = Corpus::random(&mut random);
        let options = random_options(&mut random);
        let tuning = random_tuning(&mut random);
        let expected = naive::train(corpus.pretokens(), &options, &Silent).unwrap();
        let trained = train_tuned(corpus.pretokens().into(), &options, Some(tuning), &Silent).unwrap();
        let case = format!("seed {seed}: {corpus:?} under {options:?} {tuning:?}");
        assert_eq!(trained.merges, expected, "{case}");
        assert_eq!(trained.shortage, shortage(&corpus, &options, &expected), "{case}");
    }
}

#[test]
fn train_on_random_corpora_equals_naive() {
    check_against_naive(800);
}

#[test]
#[ignore = "slow: run by make test-slow"]
fn train_on_ten_thousand_random_corpora_equals_naive() {
    check_against_naive(10_000);
}

#[test]
fn train_on_small_corpora_gives_known_merges() {
    let corpus = Corpus::of(&[("ab", 1), (" ab", 2)]);
    let least = options(2, TieBreak::IdsLeast);
    assert_eq!(train(corpus.pretokens(), &least, &Silent).unwrap().merges, [[97, 98], [32, 256]]);
    let run = Corpus::of(&[("aaa", 1)]);
    assert_eq!(train(run.pretokens(), &least, &Silent).unwrap().merges, [[97, 97], [256, 97]]);
}

#[test]
fn pair_queue_with_equal_counts_compares_tuples_not_joined_bytes() {
    let winner = |pairs: &[(usize, usize)]| {
        let budget = Budget::new(None);
        let mut queue = PairQueue::new(&options(0, TieBreak::BytesGreatest), &budget);
        // 257 is AB, 258 BC, 259 AB0 with a zero byte, 260 0C, 261 BA, 262 ZZ.
        for (left, right) in [(65, 66), (66, 67), (257, 0), (0, 67), (66, 65), (90, 90)] {
            queue.add_symbol(NextSymbol::Merge(left, right)).unwrap();
        }
        for &(left, right) in pairs {
            queue.push(key_of(left, right), 7).unwrap();
        }
        pair_of(queue.top().unwrap().0)
    };
    assert_eq!(winner(&[(65, 66), (65, 67), (66, 262), (261, 65)]), (261, 65));
    assert_eq!(winner(&[(257, 67), (65, 258)]), (257, 67));
    assert_eq!(winner(&[(257, 260), (259, 67)]), (259, 67));
}

/// Records all reports, and fails at report number `failing`.
struct Recorder {
    reports: RefCell<Vec<(u64, u64)>>,
    failing: usize,
}

impl Monitor for Recorder {
    fn report(&self, stage: Stage, done: u64, total: u64) -> Result<()> {
        assert_eq!(stage, Stage::Merge);
        self.reports.borrow_mut().push((done, total));
        if self.reports.borrow().len() == self.failing { Err(Error::Interrupted) } else { Ok(()) }
    }
}

#[test]
fn train_reports_from_zero_to_the_last_merge() {
    let corpus = Corpus::of(&[("aaa", 1)]);
    let recorder = Recorder { reports: RefCell::default(), failing: 0 };
    train(corpus.pretokens(), &options(9, TieBreak::IdsLeast), &recorder).unwrap();
    let reports = recorder.reports.into_inner();
    assert_eq!((reports.first(), reports.last()), (Some(&(0, 9)), Some(&(2, 9))));
}

/// Returns random letters from an alphabet of 64.
fn base64(n_letters: usize) -> Vec<u8> {
    let mut random = Random(7);
    (0..n_letters).map(|_| b'0' + random.below(64) as u8).collect()
}

#[test]
fn train_with_failing_monitor_returns_its_error() {
    let mut corpus = Corpus::default();
    corpus.push(&base64(60_000), 3);
    let options = MergeOptions { threads: 3, ..options(3000, TieBreak::BytesGreatest) };
    let tuning = Tuning { threshold: 10, min_shared_positions: 50, reuses_slots: true, widths: (2, 4) };
    for failing in 1..4 {
        let recorder = Recorder { reports: RefCell::default(), failing };
        match train_tuned(corpus.pretokens().into(), &options, Some(tuning), &recorder) {
            Err(Error::Interrupted) => assert_eq!(recorder.reports.borrow().len(), failing),
            trained => assert!(failing > 1 && trained.unwrap().merges.len() == 3000),
        }
    }
}

#[test]
fn train_without_enough_pairs_reports_why() {
    let corpus = Corpus::of(&[("abcabc", 5), ("xy", 1), ("q", 9)]);
    let shortage = |n, min_frequency, max_token_bytes| {
        let options = MergeOptions { min_frequency, max_token_bytes, ..options(n, TieBreak::IdsLeast) };
        train(corpus.pretokens(), &options, &Silent).unwrap().shortage
    };
    assert_eq!(shortage(4, 1, None), None);
    assert_eq!(shortage(99, 1, None), Some(Shortage { has_rare: false, has_long: false }));
    assert_eq!(shortage(99, 2, None), Some(Shortage { has_rare: true, has_long: false }));
    assert_eq!(shortage(99, 1, Some(3)), Some(Shortage { has_rare: false, has_long: true }));
    assert_eq!(shortage(99, 2, Some(3)), Some(Shortage { has_rare: true, has_long: true }));
}

#[test]
fn train_on_inconsistent_columns_fails() {
    let options = options(9, TieBreak::IdsLeast);
    let train = |bytes: &[u8], ends: &[u64], counts: &[u64], options: &MergeOptions| {
        train(WeightedPretokens { bytes, ends, counts }, options, &Silent).map(|trained| trained.merges)
    };
    assert!(matches!(train(b"ab", &[2], &[], &options), Err(Error::Counts(_))));
    assert!(matches!(train(b"ab", &[3], &[1], &options), Err(Error::Counts(_))));
    assert!(matches!(train(b"ab", &[2, 1], &[1, 1], &options), Err(Error::Counts(_))));
    assert!(matches!(train(b"ab", &[2], &[1 << 63], &options), Err(Error::Counts(_))));
    assert_eq!(train(b"ab", &[2], &[u64::MAX / 2], &options).unwrap(), [[97, 98]]);
    assert!(train(b"", &[], &[], &options).unwrap().is_empty());
    let everything = MergeOptions { n_merges: usize::MAX, ..options.clone() };
    assert_eq!(train(b"ab", &[2], &[1], &everything).unwrap(), [[97, 98]]);
    let narrow = MergeOptions { max_memory: Some(20), ..options.clone() };
    assert!(matches!(train(b"ab", &[2], &[1], &narrow), Err(Error::MemoryLimit { limit: 20, .. })));
    let no_order = MergeOptions { byte_order: [0; 256], ..options };
    assert!(matches!(train(b"ab", &[2], &[1], &no_order), Err(Error::Invalid(_))));
}

/// Returns four pretokens: a repeated letter, a repeated pair, random letters, and Chinese without spaces.
fn long_pretokens(n_bytes: usize) -> [Vec<u8>; 4] {
    let mut random = Random(11);
    let chinese = (0..n_bytes / 3).map(|_| char::from_u32(0x4E00 + (random.below(3000) as u32)).unwrap());
    [
        vec![b'a'; n_bytes],
        b"ab".repeat(n_bytes / 2),
        base64(n_bytes),
        chinese.collect::<String>().into_bytes(),
    ]
}

#[test]
fn train_on_long_pretokens_equals_naive() {
    for pretoken in long_pretokens(20_000) {
        let mut corpus = Corpus::default();
        corpus.push(&pretoken, 2);
        let options = MergeOptions { threads: 2, ..options(20, TieBreak::IdsLeast) };
        let tuning = Tuning { threshold: 100, min_shared_positions: 64, reuses_slots: false, widths: (2, 4) };
        let trained = train_tuned(corpus.pretokens().into(), &options, Some(tuning), &Silent).unwrap();
        assert_eq!(trained.merges, naive::train(corpus.pretokens(), &options, &Silent).unwrap());
    }
}

thread_local! {
    /// Positions that the trainer has read from lists, plus tokens that it has counted.
    static N_VISITS: Cell<usize> = const { Cell::new(0) };
}

/// Called by the trainer before it reads `n` positions or tokens.
pub(super) fn note_visits(n: usize) {
    N_VISITS.set(N_VISITS.get() + n);
}

#[test]
fn train_on_long_pretokens_visits_n_log_n_positions() {
    let visits = |n_bytes| {
        long_pretokens(n_bytes).map(|pretoken| {
            let mut corpus = Corpus::default();
            corpus.push(&pretoken, 1);
            N_VISITS.set(0);
            train(corpus.pretokens(), &options(32_000, TieBreak::BytesGreatest), &Silent).unwrap();
            N_VISITS.get() as f64
        })
    };
    let (short, long) = (visits(20_000), visits(160_000));
    for (short, long) in short.into_iter().zip(long) {
        // Eight times the length: n log n allows 8 * log(160,000) / log(20,000) = 9.7.
        assert!(long < 9.7 * short, "{short} positions, then {long} for eight times as many bytes");
    }
}
