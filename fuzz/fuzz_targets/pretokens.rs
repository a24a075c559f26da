//! A hand-written scanner splits any text as the regex engine does.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pairloom_core::pretokens::{Pretokenizer, RegexScanner, patterns};

fuzz_target!(|input: (u8, &str)| {
    let (choice, text) = input;
    let names: Vec<&str> = patterns::names().collect();
    let pattern = patterns::named_pattern(names[usize::from(choice) % names.len()]).unwrap();
    let scanned = Pretokenizer::new(pattern).unwrap().ends(text).unwrap();
    let (regex, mut ends, mut from, mut expected) =
        (RegexScanner::new(pattern).unwrap(), Vec::new(), 0, Vec::new());
    while from < text.len() {
        regex.fill(text, from, &mut ends).unwrap();
        expected.extend_from_slice(&ends);
        from = *ends.last().unwrap();
    }
    assert_eq!(scanned, expected, "{pattern} on {text:?}");
});
