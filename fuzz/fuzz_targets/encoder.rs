//! The encoder returns the ids of the naive encoder, at once and as a stream, and decoding returns the text.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use pairloom_core::decoder::Decoder;
use pairloom_core::encoder::{Encoder, EncoderOptions, SpecialPolicy, Specials, StreamEncoder, merge::naive};
use pairloom_core::monitor::Silent;
use pairloom_core::pretokens::{Pretokenizer, gpt2_pattern};
use pairloom_core::special::SpecialTokens;
use pairloom_core::train::WeightedPretokens;
use pairloom_core::vocabulary::{Tokens, Vocabulary};

/// A vocabulary of the 256 bytes and of `pairs` merged, each a pair of earlier tokens counted from the end.
fn vocabulary(pairs: &[(u8, u8)]) -> Vocabulary {
    let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    let mut merges = Vec::new();
    for &(left, right) in pairs {
        // Counting from the end makes deep merges likely.
        let index = |back: u8| tokens.len() - 1 - usize::from(back) % tokens.len();
        let (left, right) = (index(left), index(right));
        let token = [tokens[left].clone(), tokens[right].clone()].concat();
        if token.len() <= 64 && !tokens.contains(&token) {
            merges.push([left as u32, right as u32, tokens.len() as u32]);
            tokens.push(token);
        }
    }
    let mut columns = Tokens::default();
    for (id, token) in tokens.iter().enumerate() {
        columns.push(id as u32, token).unwrap();
    }
    Vocabulary::from_merges(columns, merges, false).unwrap()
}

/// Keeps lines whole, so that merges can cross words.
const LINES: &str = r"[^\n]*\n+|[^\n]+";

fuzz_target!(|input: (Vec<(u8, u8)>, &str, u8, Vec<Vec<u8>>, bool)| {
    let (pairs, text, cut, words, has_lines) = input;
    let vocabulary = Arc::new(vocabulary(&pairs));
    let pretokenizer = Arc::new(Pretokenizer::new(if has_lines { LINES } else { gpt2_pattern() }).unwrap());
    // One that lies within another, which a piece of a stream may end in.
    let specials =
        [("<|x|>", 1000), ("ab", 1001), ("x|", 1002)].map(|(literal, id)| (literal.to_owned(), id));
    let specials = SpecialTokens::new(specials.to_vec()).unwrap();
    let decoder = Decoder::new(&vocabulary, &specials).unwrap();
    let encoder = Encoder::new(vocabulary.clone(), pretokenizer.clone(), specials, EncoderOptions::default());
    let encoder = Arc::new(encoder.unwrap());

    // Pretokens of any bytes, as a file of counts holds them, share the cache.
    let (mut bytes, mut ends, mut expected) = (Vec::new(), Vec::new(), Vec::new());
    for word in words.iter().filter(|word| !word.is_empty()) {
        expected.extend(naive::encode_pretoken(&vocabulary, word).unwrap());
        bytes.extend_from_slice(word);
        ends.push(bytes.len() as u64);
    }
    let pretokens = WeightedPretokens { bytes: &bytes, ends: &ends, counts: &vec![1; ends.len()] };
    assert_eq!(encoder.encode_pretokens(pretokens, None, 1, &Silent).unwrap().ids, expected);

    let (mut expected, mut start) = (Vec::new(), 0);
    for end in pretokenizer.ends(text).unwrap() {
        expected.extend(naive::encode_pretoken(&vocabulary, &text.as_bytes()[start..end]).unwrap());
        start = end;
    }
    let mut ids = Vec::<u32>::new();
    encoder.encode(text, SpecialPolicy::None, &mut ids).unwrap();
    assert_eq!(ids, expected);

    let mut whole = Vec::<u32>::new();
    encoder.encode(text, SpecialPolicy::All, &mut whole).unwrap();
    let cut = text.floor_char_boundary(usize::from(cut).min(text.len()));
    let (mut stream, mut pieces) = (StreamEncoder::new(encoder, Specials::Recognise), Vec::<u32>::new());
    stream.push(&text[..cut], &mut pieces, &Silent).unwrap();
    stream.push(&text[cut..], &mut pieces, &Silent).unwrap();
    stream.finish(&mut pieces, &Silent).unwrap();
    assert_eq!(pieces, whole);

    let mut bytes = Vec::new();
    decoder.append(&whole, &mut bytes).unwrap();
    assert_eq!(bytes, text.as_bytes());
});
