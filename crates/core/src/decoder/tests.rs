use std::sync::Arc;

use super::*;
use crate::vocabulary::Tokens;

fn decoder() -> Arc<Decoder> {
    let mut tokens = Tokens::default();
    for byte in 0..=255u8 {
        tokens.push(u32::from(byte), &[byte]).unwrap();
    }
    for len in 2..40u32 {
        tokens.push(300 + len, &vec![b'x'; len as usize]).unwrap();
    }
    let vocabulary = Vocabulary::from_ranks(tokens).unwrap();
    let specials =
        SpecialTokens::new(vec![("<|end|>".into(), 500), ("<|a very long special one|>".into(), 501)]);
    Arc::new(Decoder::new(&vocabulary, &specials.unwrap()).unwrap())
}

#[test]
fn decoder_with_sparse_ids_decodes_all() {
    let mut tokens = Tokens::default();
    tokens.push(1, b"a").unwrap();
    tokens.push(9_000_000, b"a token of many bytes").unwrap();
    let vocabulary = Vocabulary::from_merges(tokens, Vec::new(), false).unwrap();
    let specials = SpecialTokens::new(vec![("<|end|>".into(), 16_000_000)]).unwrap();
    let decoder = Decoder::new(&vocabulary, &specials).unwrap();
    assert!(decoder.slots.len() <= 1 << 16);
    let mut out = Vec::new();
    decoder.append(&[1, 16_000_000, 9_000_000, 1], &mut out).unwrap();
    assert_eq!(out, b"a<|end|>a token of many bytesa");
    for unknown in [0, 2, 65_536, 9_000_001, 16_000_001, -1] {
        assert!(decoder.token(unknown).is_err(), "{unknown}");
    }
}

#[test]
fn decode_of_tokens_of_any_length_and_id_type_returns_their_bytes() {
    let decoder = decoder();
    let mut ids: Vec<u32> = (0..256).collect();
    ids.extend((302..340).chain([500, 501, 302]));
    let ids: Vec<u32> = ids.iter().copied().cycle().take(5000).collect();
    let mut expected = Vec::new();
    for &id in &ids {
        expected.extend_from_slice(decoder.token(id).unwrap());
    }
    let mut out = b"before".to_vec();
    decoder.append(&ids, &mut out).unwrap();
    assert_eq!(&out[6..], expected);
    let mut signed = Vec::new();
    decoder.append(&ids.iter().map(|&id| i64::from(id)).collect::<Vec<_>>(), &mut signed).unwrap();
    assert_eq!(signed, expected);
    let mut narrow = Vec::new();
    decoder.append(&ids.iter().map(|&id| id as u16).collect::<Vec<_>>(), &mut narrow).unwrap();
    assert_eq!(narrow, expected);
}

#[test]
fn decode_of_unknown_ids_fails_and_keeps_the_output() {
    let decoder = decoder();
    let mut out = b"before".to_vec();
    for unknown in [301, 502, -1, i64::MAX, i64::MIN] {
        let mut ids = vec![65i64; 3000];
        ids.push(unknown);
        match decoder.append(&ids, &mut out) {
            Err(Error::UnknownTokenId { id }) => assert_eq!(id, unknown),
            other => panic!("{other:?}"),
        }
        assert_eq!(out, b"before");
    }
}

#[test]
fn stream_of_any_ids_returns_the_text_of_the_whole() {
    let decoder = decoder();
    let text = "aé€😀<|end|>é".as_bytes();
    let broken = [&text[..9], b"\xff\xe2\x82A\xf0\x9f", &text[6..], b"\xf0\x9f\x98"].concat();
    for bytes in [text, &broken] {
        let mut stream = decoder.stream(DecodeErrors::Replace);
        let mut ignoring = decoder.stream(DecodeErrors::Ignore);
        let (mut replaced, mut ignored) = (String::new(), String::new());
        for &byte in bytes {
            replaced += &stream.push(byte).unwrap();
            ignored += &ignoring.push(byte).unwrap();
            assert!(stream.pending.len() < 4);
        }
        replaced += &stream.finish().unwrap();
        ignored += &ignoring.finish().unwrap();
        assert_eq!(replaced, String::from_utf8_lossy(bytes));
        assert_eq!(ignored, String::from_utf8_lossy(bytes).replace('\u{fffd}', ""));
    }
}

#[test]
fn stream_with_strict_errors_fails_at_the_offset() {
    let decoder = Arc::new(decoder().without(&[501, 500]).unwrap());
    let mut stream = decoder.stream(DecodeErrors::Strict);
    assert_eq!(stream.push(b'a').unwrap(), "a");
    assert_eq!(stream.push(0xe2u8).unwrap(), "");
    match stream.push(b'b') {
        Err(Error::InvalidUtf8 { offset, .. }) => assert_eq!(offset, 1),
        other => panic!("{other:?}"),
    }
    assert_eq!(stream.push(0x82u8).unwrap(), "");
    assert_eq!(stream.push(500u16).unwrap(), "");
    assert_eq!(stream.push(0xacu8).unwrap(), "€");
    assert_eq!(stream.push(0xf0u8).unwrap(), "");
    assert!(stream.finish().is_err());
    assert!(stream.push(9999u32).is_err());
}
