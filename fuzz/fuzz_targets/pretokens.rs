//! The hand-written scanners split any text as the regex engine does.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pairloom_core::pretokens::{Pretokenizer, patterns};

fuzz_target!(|input: (u8, &str)| {
    let (choice, text) = input;
    let names: Vec<&str> = patterns::names().collect();
    let steps = patterns::named_patterns(names[usize::from(choice) % names.len()]).unwrap();
    let scanned = Pretokenizer::sequence(steps).unwrap().ends(text).unwrap();
    assert_eq!(scanned, Pretokenizer::by_regex(steps).unwrap().ends(text).unwrap(), "{steps:?} on {text:?}");
});
