//! Counting on several threads gives what a plain map gives.
#![no_main]

use std::collections::BTreeMap;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use pairloom_core::counts::{CorpusSpecials, CountOptions, Counter, InputErrors};
use pairloom_core::monitor::Silent;
use pairloom_core::pretokens::{GPT2_PATTERN, Pretokenizer};
use pairloom_core::special::SpecialTokens;

fuzz_target!(|texts: Vec<&str>| {
    let pretokenizer = Arc::new(Pretokenizer::new(GPT2_PATTERN).unwrap());
    let mut expected = BTreeMap::<Vec<u8>, u64>::new();
    for text in &texts {
        let mut start = 0;
        for end in pretokenizer.ends(text).unwrap() {
            *expected.entry(text.as_bytes()[start..end].to_vec()).or_default() += 1;
            start = end;
        }
    }
    let options = CountOptions {
        pretokenizer,
        specials: Arc::new(SpecialTokens::none()),
        corpus_specials: CorpusSpecials::Text,
        input_errors: InputErrors::Strict,
        threads: 3,
        max_memory: None,
        total_hint: None,
    };
    let mut counter = Counter::new(options).unwrap();
    counter.count_texts(&texts, &Silent).unwrap();
    let counts = counter.finish().unwrap();
    let found: BTreeMap<Vec<u8>, u64> = counts.iter().map(|(pretoken, n)| (pretoken.to_vec(), n)).collect();
    assert_eq!(found, expected);
});
