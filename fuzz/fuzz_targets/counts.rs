//! Counting texts and files, divided anywhere, returns the counts of a plain hash map.
#![no_main]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use pairloom_core::counts::{CorpusSpecials, CountOptions, Counter, Plan, PretokenCounts};
use pairloom_core::monitor::Silent;
use pairloom_core::pretokens::{Pretokenizer, named_patterns, names};
use pairloom_core::special::SpecialTokens;

type Found = (BTreeMap<Vec<u8>, u64>, u64, u64);

fuzz_target!(|input: (&[u8], [u8; 2], u8, Vec<&str>)| {
    let (bytes, [part_bytes, block_bytes], choice, mut literals) = input;
    let choose = |shift: u8, n: usize| usize::from(choice >> shift) % n;
    literals.retain(|literal| !literal.is_empty());
    literals.sort_unstable();
    literals.dedup();
    let specials = literals.iter().take(4).map(|&literal| (literal.to_owned(), 0)).collect();
    let patterns = names().nth(choose(3, names().count())).and_then(named_patterns).unwrap();
    let options = CountOptions {
        pretokenizer: Arc::new(Pretokenizer::sequence(patterns).unwrap()),
        specials: Arc::new(SpecialTokens::new(specials).unwrap()),
        corpus_specials: [CorpusSpecials::Text, CorpusSpecials::Split][choose(0, 2)],
        threads: 1 + choose(1, 3),
        max_memory: None,
    };
    let plan = Plan { part_bytes: 1 + u64::from(part_bytes), block_bytes: 1 + usize::from(block_bytes) };
    let text = String::from_utf8_lossy(bytes);
    let expected = define(&options, &text);

    let mut counter = Counter::with_plan(options.clone(), plan).unwrap();
    counter.count_texts(&[&text], &Silent).unwrap();
    assert_eq!(found(&counter.finish().unwrap()), expected, "a text");

    let path: PathBuf = std::env::temp_dir().join(format!("pairloom-fuzz-counts-{}", std::process::id()));
    std::fs::write(&path, text.as_bytes()).unwrap();
    let mut counter = Counter::with_plan(options, plan).unwrap();
    counter.count_files(&[path], &Silent).unwrap();
    assert_eq!(found(&counter.finish().unwrap()), expected, "a file");
});

fn found(counts: &PretokenCounts) -> Found {
    let items = counts.iter().map(|(pretoken, count)| (pretoken.to_vec(), count)).collect();
    (items, counts.totals().n_documents, counts.totals().n_special_literals)
}

fn define(options: &CountOptions, text: &str) -> Found {
    let (mut items, mut n_documents, mut n_literals) = (BTreeMap::new(), 0, 0);
    let mut document = |document: &str| {
        let mut start = 0;
        for end in options.pretokenizer.ends(document).unwrap() {
            *items.entry(document.as_bytes()[start..end].to_vec()).or_insert(0) += 1;
            start = end;
        }
        n_documents += u64::from(!document.is_empty());
    };
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
    (items, n_documents, n_literals)
}
