//! Decoding id by id returns the text of decoding at once.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use pairloom_core::decoder::{DecodeErrors, Decoder};
use pairloom_core::special::SpecialTokens;
use pairloom_core::vocabulary::{Tokens, Vocabulary};

fuzz_target!(|input: (Vec<Vec<u8>>, Vec<u8>)| {
    let (more, ids) = input;
    let mut tokens = Tokens::default();
    for byte in 0..=255u8 {
        tokens.push(u32::from(byte), &[byte]).unwrap();
    }
    let mut next = 256;
    for token in more.iter().filter(|token| token.len() > 1).take(100) {
        tokens.push(next, token).unwrap();
        next += 1;
    }
    let Ok(vocabulary) = Vocabulary::from_merges(tokens, Vec::new(), false) else { return };
    let decoder = Arc::new(Decoder::new(&vocabulary, &SpecialTokens::none()).unwrap());
    let ids: Vec<u32> = ids.iter().map(|&id| u32::from(id) * 11 % next).collect();

    let mut bytes = Vec::new();
    decoder.append(&ids, &mut bytes).unwrap();
    let mut stream = decoder.stream(DecodeErrors::Replace);
    let mut text: String = ids.iter().map(|&id| stream.push(id).unwrap()).collect();
    text.push_str(&stream.finish().unwrap());
    assert_eq!(text, String::from_utf8_lossy(&bytes));
});
