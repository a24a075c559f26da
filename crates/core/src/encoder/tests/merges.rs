//! All ways of merging return the same ids.

use super::super::merge;
use super::random::{Random, Setting, handmade};
use super::settings;
use crate::error::Error;
use crate::vocabulary::{Tokens, Vocabulary};

#[test]
fn merges_of_any_text_equal_the_definition() {
    for (setting, mut random) in settings() {
        let vocabulary = setting.vocabulary();
        for n in [1, 2, 3, 10, 100, 1000] {
            let text = setting.text(&mut random, n);
            let (mut by_heap, mut by_rank_ids) = (Vec::new(), Vec::new());
            let heap = merge::heap::merge(&vocabulary, text.as_bytes(), |id| {
                by_heap.push(id);
                Ok(())
            });
            let put = |id| {
                by_rank_ids.push(id);
                Ok(())
            };
            let by_rank = merge::by_rank::merge(&vocabulary, text.as_bytes(), put, &mut |_| Ok(()));
            assert_eq!((heap.is_ok(), &by_heap), (by_rank.is_ok(), &by_rank_ids), "{text:?}");
            if text.len() < 300 && !vocabulary.ignores_merges() && heap.is_ok() {
                assert_eq!(
                    by_heap,
                    merge::naive::encode_pretoken(&vocabulary, text.as_bytes()).unwrap(),
                    "{text:?}"
                );
            }
        }
    }
}

#[test]
fn merges_of_symbols_continue_merges_of_bytes() {
    let mut random = Random(3);
    for n in [2, 3, 8, 9, 64, 65, 30_000] {
        let vocabulary = Setting::of_lines(&mut random).vocabulary();
        let merges = vocabulary.merges();
        let words = vocabulary.restricted_to(&merges[..merges.len() / 2]).unwrap();
        let text: String = (0..n).map(|_| random.pick(&["the", " of", " a", "ing"])).collect();
        let ids_of = |vocabulary: &Vocabulary| {
            let mut ids = Vec::new();
            let put = |id| {
                ids.push(id);
                Ok(())
            };
            merge::heap::merge(vocabulary, text.as_bytes(), put).unwrap();
            ids
        };
        let mut ids = ids_of(&words);
        let n_left = merge::symbols::merge(&vocabulary, &mut ids, &mut |_| Ok(())).unwrap();
        assert_eq!(ids[..n_left], ids_of(&vocabulary), "{n}");
    }
}

#[test]
fn merges_of_runs_equal_the_definition() {
    // All strings of one or two letters as tokens, in any order: many ways to make the same token.
    let mut random = Random(5);
    for _ in 0..if cfg!(miri) { 1 } else { 2000 } {
        let letters = &b"ab"[..1 + random.below(2)];
        let mut tokens: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
        for _ in 0..random.below(12) {
            let token: Vec<u8> =
                (0..2 + random.below(5)).map(|_| letters[random.below(letters.len())]).collect();
            if !tokens.contains(&token) {
                tokens.push(token);
            }
        }
        let mut columns = Tokens::default();
        for (id, token) in (0..).zip(&tokens) {
            columns.push(id, token).unwrap();
        }
        let numbered: Vec<(u32, Vec<u8>)> = (0..).zip(tokens.iter().cloned()).collect();
        let vocabulary = match random.below(3) {
            0 => Vocabulary::from_ranks(columns),
            _ => Vocabulary::from_merges(columns, handmade(&mut random, &numbered), false),
        }
        .unwrap();
        let text: Vec<u8> = (0..7 + random.below(40)).map(|_| letters[random.below(letters.len())]).collect();
        let (mut expected, mut by_rank_ids) = (Vec::new(), Vec::new());
        merge::heap::merge(&vocabulary, &text, |id| {
            expected.push(id);
            Ok(())
        })
        .unwrap();
        let put = |id| {
            by_rank_ids.push(id);
            Ok(())
        };
        merge::by_rank::merge(&vocabulary, &text, put, &mut |_| Ok(())).unwrap();
        assert_eq!(by_rank_ids, expected, "{:?} {tokens:?}", text.escape_ascii().to_string());
        if vocabulary.id_of(&text).is_none() {
            assert_eq!(expected, merge::naive::encode_pretoken(&vocabulary, &text).unwrap());
        }
        // The whole text, and each of its prefixes and suffixes.
        for part in (0..=text.len()).flat_map(|at| [&text[at..], &text[..at]]) {
            let expected = short_merges(&vocabulary, part);
            assert!(expected.windows(2).all(|ids| ids[0] == ids[1]), "{part:?} {expected:?} {tokens:?}");
            if vocabulary.id_of(part).is_none() {
                assert_eq!(expected[0], merge::naive::encode_pretoken(&vocabulary, part).unwrap());
            }
        }
    }
}

/// Returns the ids of at most 48 bytes, by each implementation for so few.
fn short_merges(vocabulary: &Vocabulary, part: &[u8]) -> Vec<Vec<u32>> {
    // Other pretokens are merged first, so that their merges leave something in the scratch.
    let mut scratch = merge::short::ShortScratch::default();
    let mut ids = [const { Vec::new() }; 3];
    let long = [b"abab".repeat(12), b"b".to_vec()];
    for pretoken in long.iter().map(Vec::as_slice).chain([part]) {
        ids.iter_mut().for_each(Vec::clear);
        let [fastest, portable, few] = &mut ids;
        merge::short::merge(vocabulary, pretoken, &mut scratch, fastest).unwrap();
        merge::short::merge_portable(vocabulary, pretoken, &mut scratch, portable).unwrap();
        let is_few = merge::few::merge(vocabulary, pretoken, few).unwrap();
        assert_eq!(is_few, pretoken.len() <= 3);
        if !is_few {
            few.clone_from(portable);
        }
    }
    ids.into()
}

#[test]
fn a_missing_byte_is_named_whatever_merges_it() {
    let mut tokens = Tokens::default();
    for (id, token) in (0..).zip([b"a".as_slice(), b"b", b"ab"]) {
        tokens.push(id, token).unwrap();
    }
    let vocabulary = Vocabulary::from_merges(tokens, vec![[0, 1, 2]], false).unwrap();
    for part in [&b"x"[..], b"ax", b"xa", b"abx", b"xab", b"axb", b"xyz", b"aabx"] {
        let missing = part.iter().find(|byte| !b"ab".contains(byte)).copied().unwrap();
        let (mut scratch, mut ids) = (merge::short::ShortScratch::default(), Vec::new());
        let few = merge::few::merge(&vocabulary, part, &mut ids);
        let by_short = merge::short::merge(&vocabulary, part, &mut scratch, &mut ids);
        assert!(matches!(by_short, Err(Error::MissingByte { byte }) if byte == missing), "{part:?}");
        assert!(part.len() > 3 || matches!(few, Err(Error::MissingByte { byte }) if byte == missing));
    }
}
