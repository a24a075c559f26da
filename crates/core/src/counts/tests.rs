//! Compares counting with its definition: pretokenize the whole text and count in a map.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::error::{Error, Result};
use crate::monitor::{Monitor, Silent, Stage};
use crate::pretokens::{gpt2_pattern, named_patterns, names};

/// xorshift64* (Vigna): the same numbers in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Returns a text of parts that make pretokens, literals and cuts interact.
    fn text(&mut self, max_parts: usize) -> String {
        const PARTS: &[&str] = &[
            " ",
            " ",
            "  ",
            "\n",
            "\r\n",
            "\t",
            "\u{a0}",
            "\u{2003}",
            "\u{3000} ",
            "a",
            "b",
            "the",
            " the",
            "s",
            "e",
            "r",
            "'",
            "'s",
            "'r",
            "'re",
            "é",
            "中",
            "字",
            "ß",
            "\u{301}",
            "😀",
            "1",
            "23",
            "٣",
            "!",
            "...",
            "<",
            "|",
            ">",
            "<|",
            "|>",
            "<|e|>",
            "<|e|>",
            "<|e|><|e|>",
            "aa",
            "aaa",
            "\0",
            "abcdefghijklmno",
            "abcdefghijklmnop",
            " abcdefghijklmno",
            "0123456789abcdef",
        ];
        // Some texts repeat a few parts, so that pretokens span many cuts.
        let few: Vec<&str> = (0..1 + self.below(6)).map(|_| self.pick(PARTS)).collect();
        let from = if self.below(3) == 0 { few.as_slice() } else { PARTS };
        (0..self.below(max_parts + 1)).map(|_| self.pick(from)).collect()
    }

    fn bytes(&mut self, max_parts: usize) -> Vec<u8> {
        let mut bytes = self.text(max_parts).into_bytes();
        for _ in 0..self.below(6) {
            let at = self.below(bytes.len() + 1);
            let malformed: &[&[u8]] = &[
                b"\xff",
                b"\x80",
                b"\xe4\xb8",
                b"\xf0\x9f\x98",
                b"\xed\xa0\x80",
                b"\xc0\xaf",
                b"\xe4",
                b"\x80\x80",
            ];
            let part = self.pick(malformed);
            bytes.splice(at..at, part.iter().copied());
        }
        bytes
    }

    fn plan(&mut self) -> Plan {
        Plan {
            part_bytes: self.pick(&[1, 2, 3, 5, 8, 16, 40, 100, 1000]),
            block_bytes: self.pick(&[1, 2, 3, 7, 16, 64, 500]),
        }
    }
}

/// A file that is removed after the test.
struct TempFile(PathBuf);

impl TempFile {
    fn new(bytes: &[u8]) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("pairloom-counts-{}-{number}", std::process::id()));
        fs::write(&path, bytes).unwrap();
        TempFile(path)
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn options(pattern: &str, literals: &[&str]) -> CountOptions {
    let literals =
        literals.iter().enumerate().map(|(id, literal)| (literal.to_string(), id as u32)).collect();
    CountOptions {
        pretokenizer: Arc::new(Pretokenizer::new(pattern).unwrap()),
        specials: Arc::new(SpecialTokens::new(literals).unwrap()),
        corpus_specials: CorpusSpecials::Text,
        threads: 0,
        max_memory: None,
    }
}

/// The whole result of counting: pretokens, bytes, documents, literals.
type Found = (BTreeMap<Vec<u8>, u64>, u64, u64, u64);

fn found(counts: &PretokenCounts) -> Found {
    let items: BTreeMap<_, _> = counts.iter().map(|(pretoken, count)| (pretoken.to_vec(), count)).collect();
    assert_eq!(items.len(), counts.len(), "a pretoken occurs twice");
    let Totals { n_bytes, n_documents, n_special_literals } = counts.totals();
    (items, n_bytes, n_documents, n_special_literals)
}

fn define(options: &CountOptions, texts: &[&str]) -> Found {
    let (mut items, mut n_bytes, mut n_documents, mut n_literals) = (BTreeMap::new(), 0, 0, 0);
    let mut document = |document: &str| {
        let mut start = 0;
        for end in options.pretokenizer.ends(document).unwrap() {
            *items.entry(document.as_bytes()[start..end].to_vec()).or_insert(0) += 1;
            start = end;
        }
        n_documents += u64::from(!document.is_empty());
    };
    for text in texts {
        n_bytes += text.len() as u64;
        let (mut from, mut search) = (0, 0);
        while let Some(literal) = options.specials.find(text.as_bytes(), search) {
            n_literals += 1;
            search = literal.end;
            if options.corpus_specials == CorpusSpecials::Split {
                document(&text[from..literal.start]);
                from = literal.end;
            }
        }
        document(&text[from..]);
    }
    (items, n_bytes, n_documents, n_literals)
}

fn count_texts(options: &CountOptions, plan: Plan, texts: &[&str]) -> Result<PretokenCounts> {
    let mut counter = Counter::with_plan(options.clone(), plan)?;
    counter.count_texts(texts, &Silent)?;
    counter.finish()
}

fn count_files(options: &CountOptions, plan: Plan, files: &[TempFile]) -> Result<PretokenCounts> {
    let paths: Vec<PathBuf> = files.iter().map(|file| file.0.clone()).collect();
    let mut counter = Counter::with_plan(options.clone(), plan)?;
    counter.count_files(&paths, &Silent)?;
    counter.finish()
}

/// Lists of literals: none, one, and some that overlap themselves and each other.
const LITERALS: &[&[&str]] =
    &[&[], &["<|e|>"], &["aa", "<|e|>", "a<|"], &["<|e|>", "<|e|><|e|>", "|>"], &["aaa", "aa", " "], &["中"]];

/// Every named pattern, and one that is not memoryless.
fn pretokenizers() -> Vec<Arc<Pretokenizer>> {
    let named = names().map(|name| Pretokenizer::sequence(named_patterns(name).unwrap()).unwrap());
    let other = Pretokenizer::new(r"(?<=a)b+|\s+$|\w+|[^\w\s]+|\s+(?!\S)|\s").unwrap();
    named.chain([other]).map(Arc::new).collect()
}

fn agrees_with_the_definition(seed: u64, n_cases: usize) {
    let mut random = Random(seed);
    let pretokenizers = pretokenizers();
    for case in 0..n_cases {
        let mut options = options(gpt2_pattern(), random.pick(LITERALS));
        options.pretokenizer = Arc::clone(&pretokenizers[random.below(pretokenizers.len())]);
        options.corpus_specials = random.pick(&[CorpusSpecials::Text, CorpusSpecials::Split]);
        options.threads = random.pick(&[1, 2, 3, 7]);
        let texts: Vec<String> = (0..random.below(4)).map(|_| random.text(60)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let plan = random.plan();
        let defined = define(&options, &texts);
        let specials = options.specials.tokens();
        let pattern = options.pretokenizer.pattern();
        let context = format!("seed {seed}, case {case}: {plan:?} {pattern:?} {specials:?} {texts:?}");
        assert_eq!(found(&count_texts(&options, plan, &texts).unwrap()), defined, "texts, {context}");
        let files: Vec<TempFile> = texts.iter().map(|text| TempFile::new(text.as_bytes())).collect();
        assert_eq!(found(&count_files(&options, plan, &files).unwrap()), defined, "files, {context}");
    }
}

#[test]
fn counts_of_text_cut_anywhere_equal_the_definition() {
    agrees_with_the_definition(0x5eed, 400);
}

#[test]
#[ignore = "slow: run it after a change to safe cuts, parts or windows"]
fn counts_of_many_texts_cut_anywhere_equal_the_definition() {
    for seed in 1..6 {
        agrees_with_the_definition(seed * 0x9e37_79b9, 2000);
    }
}

#[test]
fn count_files_names_the_first_malformed_byte_of_the_first_file() {
    let mut random = Random(4242);
    for case in 0..300 {
        let mut options = options(gpt2_pattern(), random.pick(LITERALS));
        options.corpus_specials = random.pick(&[CorpusSpecials::Text, CorpusSpecials::Split]);
        options.threads = random.pick(&[1, 2, 3]);
        let contents: Vec<Vec<u8>> = (0..3).map(|_| random.bytes(60)).collect();
        let files: Vec<TempFile> = contents.iter().map(|bytes| TempFile::new(bytes)).collect();
        let expected = contents.iter().zip(&files).find_map(|(bytes, file)| {
            let error = std::str::from_utf8(bytes).err()?;
            Some((file.0.clone(), error.valid_up_to() as u64))
        });
        let plan = random.plan();
        let named = match count_files(&options, plan, &files) {
            Ok(_) => None,
            Err(Error::InvalidUtf8 { path, offset, .. }) => Some((path.unwrap(), offset)),
            Err(error) => panic!("{error}"),
        };
        assert_eq!(named, expected, "case {case}: {plan:?} {contents:x?}");
    }
}

#[test]
fn count_files_hints_at_the_encoding_of_a_file() {
    let hint_for = |bytes: &[u8]| match count_files(
        &options(gpt2_pattern(), &[]),
        Plan { block_bytes: 8, ..Plan::default() },
        &[TempFile::new(bytes)],
    ) {
        Err(Error::InvalidUtf8 { hint, .. }) => hint.to_owned(),
        Err(Error::Record { message, .. }) => message,
        other => panic!("{:?}", other.map(|counts| counts.len())),
    };
    assert!(hint_for(b"\x1f\x8b\x08\x00").contains("gzip"));
    assert!(hint_for(b"\xff\xfea\0b\0").contains("UTF-16"));
    assert!(hint_for(b"\0a\0b\0\xe9").contains("UTF-16"));
    assert!(hint_for(b"a text that goes on for a while, then a caf\xe9").contains("Latin-1"));
}

#[test]
fn count_files_names_a_path_that_is_no_readable_file() {
    let options = options(gpt2_pattern(), &[]);
    for path in [PathBuf::from("/nonexistent/corpus.txt"), std::env::temp_dir()] {
        let mut counter = Counter::new(options.clone()).unwrap();
        match counter.count_files(std::slice::from_ref(&path), &Silent) {
            Err(Error::Io { path: named, .. }) => assert_eq!(named, path),
            other => panic!("{other:?}"),
        }
        assert!(counter.finish().is_err(), "a counter that failed returns no counts");
    }
}

#[test]
fn counts_of_empty_texts_are_empty() {
    let options = options(gpt2_pattern(), &["<|e|>"]);
    assert!(count_texts(&options, Plan::default(), &[]).unwrap().is_empty());
    assert!(count_texts(&options, Plan::default(), &["", ""]).unwrap().is_empty());
    let counts = count_files(&options, Plan::default(), &[TempFile::new(b""), TempFile::new(b"")]).unwrap();
    assert_eq!(found(&counts), (BTreeMap::new(), 0, 0, 0));
}

#[test]
fn counts_of_batches_add_up() {
    let options = options(gpt2_pattern(), &[]);
    let mut counter = Counter::new(options.clone()).unwrap();
    for _ in 0..100 {
        counter.count_texts(&["ab ab ab", "c"], &Silent).unwrap();
    }
    let counts = counter.finish().unwrap();
    let items = BTreeMap::from([(b"ab".to_vec(), 100), (b" ab".to_vec(), 200), (b"c".to_vec(), 100)]);
    assert_eq!(found(&counts), (items, 900, 200, 0));
}

#[test]
fn counts_of_batches_that_grow_equal_the_definition() {
    let options = options(gpt2_pattern(), &[]);
    let mut counter = Counter::new(options.clone()).unwrap();
    let texts: Vec<String> = (0..14)
        .map(|batch| (0..3 << batch).map(|n| format!(" {} a longer pretoken{}", n % 5000, n % 700)).collect())
        .collect();
    for text in &texts {
        counter.count_texts(&[text], &Silent).unwrap();
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert_eq!(found(&counter.finish().unwrap()), define(&options, &texts));
}

#[test]
fn counts_of_more_pretokens_than_a_local_table_holds_equal_the_definition() {
    let text: String = (0..200_000).map(|n| format!(" w{} {:032}", n % 150_000, n % 5000)).collect();
    let options = options(gpt2_pattern(), &[]);
    let counts = count_texts(&options, Plan::default(), &[&text]).unwrap();
    assert_eq!(found(&counts), define(&options, &[&text]));
}

#[test]
fn count_texts_beyond_max_memory_is_an_error() {
    let text: String = (0..200_000).map(|n| format!(" word{n}")).collect();
    let mut options = options(gpt2_pattern(), &[]);
    options.max_memory = Some(8_000_000);
    match count_texts(&options, Plan::default(), &[&text]) {
        Err(Error::MemoryLimit { limit: 8_000_000, .. }) => {}
        other => panic!("{:?}", other.map(|counts| counts.len())),
    }
    options.max_memory = Some(64_000_000);
    assert_eq!(found(&count_texts(&options, Plan::default(), &[&text]).unwrap()), define(&options, &[&text]));
}

#[test]
fn counts_of_few_pretokens_fit_in_little_memory_however_many_threads_there_are() {
    let text = "the cat sat on the mat, and a longer pretoken: incomprehensibilities\n".repeat(3000);
    let mut options = options(gpt2_pattern(), &[]);
    options.threads = 16;
    let expected = define(&options, &[&text]);
    for megabytes in 3..50 {
        options.max_memory = Some(megabytes * 1_000_000);
        let plan = Plan { part_bytes: 5000, block_bytes: 1000 };
        let counts = count_texts(&options, plan, &[&text]).unwrap();
        assert_eq!(found(&counts), expected, "{megabytes} MB");
    }
}

/// Stops at the n-th report; keeps all reports.
struct Stopping(std::cell::RefCell<Vec<(u64, u64)>>, usize);

impl Monitor for Stopping {
    fn report(&self, stage: Stage, done: u64, total: u64) -> Result<()> {
        assert_eq!(stage, Stage::Count);
        self.0.borrow_mut().push((done, total));
        if self.0.borrow().len() >= self.1 { Err(Error::Interrupted) } else { Ok(()) }
    }
}

#[test]
fn count_files_reports_progress_from_zero_to_all() {
    let options = options(gpt2_pattern(), &[]);
    let monitor = Stopping(Default::default(), usize::MAX);
    let mut counter = Counter::new(options.clone()).unwrap();
    let file = TempFile::new(&b"some text ".repeat(1000));
    counter.count_files(std::slice::from_ref(&file.0), &monitor).unwrap();
    let reports = monitor.0.into_inner();
    assert_eq!((reports[0], *reports.last().unwrap()), ((0, 10_000), (10_000, 10_000)));
    assert!(reports.is_sorted());
}

#[test]
fn count_texts_stops_at_an_error_of_the_monitor() {
    let mut options = options(r"\w+ (?=\w)|\w+|\W", &[]);
    options.threads = 2;
    let texts = vec!["some words to be slow with ".repeat(5_000); 400];
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut counter = Counter::new(options).unwrap();
    let monitor = Stopping(Default::default(), 2);
    let stopped = counter.count_texts(&texts, &monitor);
    assert!(matches!(stopped, Err(Error::Interrupted)), "{stopped:?}");
    assert_eq!(monitor.0.borrow().len(), 2);
}

#[test]
fn counts_of_a_pretoken_longer_than_many_parts_are_one() {
    let plan = Plan { part_bytes: 1 << 12, block_bytes: 1 << 10 };
    let options = options(gpt2_pattern(), &[]);
    let text = "x".repeat(1 << 20);
    let counts = count_files(&options, plan, &[TempFile::new(text.as_bytes())]).unwrap();
    assert_eq!(counts.iter().collect::<Vec<_>>(), [(text.as_bytes(), 1)]);
}

#[test]
fn merge_is_commutative_and_associative() {
    let options = options(gpt2_pattern(), &["<|e|>"]);
    let mut random = Random(9);
    for _ in 0..50 {
        let texts: Vec<String> = (0..3).map(|_| random.text(80)).collect();
        let count = |texts: &[&str]| count_texts(&options, Plan::default(), texts).unwrap();
        let [a, b, c] = [0, 1, 2].map(|index| count(&[&texts[index]]));
        let whole = found(&count(&texts.iter().map(String::as_str).collect::<Vec<_>>()));
        let merge = |parts: &[&PretokenCounts]| PretokenCounts::merge(parts).unwrap();
        assert_eq!(found(&merge(&[&a, &b, &c])), whole);
        assert_eq!(found(&merge(&[&merge(&[&c, &b]), &a])), whole);
        assert_eq!(found(&merge(&[&a, &merge(&[&b, &c])])), whole);
        assert_eq!(found(&merge(&[&a, &PretokenCounts::default()])), found(&a));
    }
    assert!(PretokenCounts::merge(&[]).unwrap().is_empty());
}

#[test]
fn add_gives_what_merge_gives_and_leaves_the_other_as_it_is() {
    let options = options(gpt2_pattern(), &["<|e|>"]);
    let mut random = Random(10);
    for round in 0..50 {
        // Parts of very different sizes, in both orders.
        let lengths = if round % 2 == 0 { [400, 9] } else { [9, 400] };
        let [a, b] = lengths
            .map(|n| count_texts(&options, Plan::default(), &[&random.text(n), &"long".repeat(n)]).unwrap());
        let mut both = PretokenCounts::merge(&[&a]).unwrap();
        both.add(&b).unwrap();
        assert_eq!(found(&both), found(&PretokenCounts::merge(&[&a, &b]).unwrap()));
        both.add(&PretokenCounts::default()).unwrap();
        both.add(&a).unwrap();
        assert_eq!(found(&both), found(&PretokenCounts::merge(&[&a, &b, &a]).unwrap()));
        let mut empty = PretokenCounts::default();
        empty.add(&b).unwrap();
        assert_eq!(found(&empty), found(&b));
    }
}

#[test]
fn add_on_many_threads_gives_what_merge_gives() {
    let columns = |words: std::ops::Range<u64>| {
        let pretokens: Vec<String> = words.clone().map(|word| format!("pretoken number {word}")).collect();
        let ends = pretokens.iter().scan(0, |end, pretoken| {
            *end += pretoken.len() as u64;
            Some(*end)
        });
        let counts = words.map(|word| word + 1).collect();
        PretokenCounts::from_columns(
            pretokens.concat().into_bytes(),
            ends.collect(),
            counts,
            Totals { n_bytes: 1, n_documents: 2, n_special_literals: 3 },
            false,
        )
        .unwrap()
    };
    let (mut a, b) = (columns(0..150_000), columns(100_000..300_000));
    let merged = PretokenCounts::merge(&[&a, &b]).unwrap();
    a.add(&b).unwrap();
    assert_eq!(found(&a), found(&merged));
}

#[test]
fn add_that_overflows_changes_nothing() {
    let make = |bytes: &[u8], count, n_bytes, n_documents, n_special_literals| {
        PretokenCounts::from_columns(
            bytes.to_vec(),
            vec![1],
            vec![count],
            Totals { n_bytes, n_documents, n_special_literals },
            false,
        )
        .unwrap()
    };
    let mut counts = make(b"a", u64::MAX - 1, 5, 6, 7);
    let before = found(&counts);
    for other in [
        make(b"a", 2, 0, 0, 0),
        make(b"b", 2, 0, 0, 0),
        make(b"b", 1, u64::MAX, 0, 0),
        make(b"b", 1, 0, u64::MAX, 0),
        make(b"b", 1, 0, 0, u64::MAX),
    ] {
        assert!(matches!(counts.add(&other), Err(Error::Counts(_))));
        assert_eq!(found(&counts), before);
    }
    counts.add(&make(b"b", 1, 1, 1, 1)).unwrap();
    assert_eq!(counts.len(), 2);
}

#[test]
fn sorted_orders_counts_by_bytes() {
    let options = options(gpt2_pattern(), &[]);
    // Pretokens that differ only in the padding of their first sixteen bytes, or after those.
    let long = ["pq", "pa", "p", "", "pqr"].map(|end| format!("abcdefghijklmno{end} ")).concat();
    let text = format!("b a\0 a\0\0 a \0\0 \0 ab abcdefgh abcdefghi abcdefgh\u{e9} b  \n {long}").repeat(3);
    let sorted = count_texts(&options, Plan::default(), &[&text]).unwrap().sorted().unwrap();
    assert!(sorted.iter().map(|(pretoken, _)| pretoken).is_sorted());
    assert_eq!(found(&sorted), define(&options, &[&text]));
}

#[test]
fn from_columns_adds_equal_pretokens_and_rejects_bad_columns() {
    let make = |bytes: &[u8], ends: &[u64], counts: &[u64]| {
        let totals = Totals { n_bytes: 9, n_documents: 2, n_special_literals: 1 };
        PretokenCounts::from_columns(bytes.to_vec(), ends.to_vec(), counts.to_vec(), totals, false)
    };
    let counts = make(b"abab", &[1, 2, 4], &[1, 2, 0]).unwrap();
    assert_eq!(found(&counts), (BTreeMap::from([(b"a".to_vec(), 1), (b"b".to_vec(), 2)]), 9, 2, 1));
    let counts = make(b"aab", &[1, 2, 3], &[1, 2, 3]).unwrap();
    assert_eq!(found(&counts).0, BTreeMap::from([(b"a".to_vec(), 3), (b"b".to_vec(), 3)]));
    let refused: [(&[u8], &[u64], &[u64]); 6] = [
        (b"ab", &[1, 2], &[1]),
        (b"ab", &[1], &[1]),
        (b"ab", &[1, 1, 2], &[1, 1, 1]),
        (b"ab", &[2, 1], &[1, 1]),
        (b"", &[0], &[1]),
        (b"aa", &[1, 2], &[u64::MAX, 1]),
    ];
    for (bytes, ends, counts) in refused {
        assert!(matches!(make(bytes, ends, counts), Err(Error::Counts(_))), "{bytes:?} {ends:?} {counts:?}");
    }
}

#[test]
fn check_ascending_rejects_unsorted_and_empty_rows() {
    assert!(check_ascending(b"aabb", &[1, 3, 4]).is_ok());
    assert!(check_ascending(b"", &[]).is_ok());
    for (bytes, ends) in [(b"ba", [1, 2]), (b"aa", [1, 2]), (b"ab", [0, 2]), (b"ab", [2, 2]), (b"ab", [1, 3])]
    {
        assert!(check_ascending(bytes, &ends).is_err(), "{bytes:?} {ends:?}");
    }
    assert!(check_ascending(b"abc", &[1, 2]).is_err());
}
