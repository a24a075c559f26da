use super::*;

fn tokens(list: &[(u32, &[u8])]) -> Tokens {
    let mut tokens = Tokens::default();
    for &(id, bytes) in list {
        tokens.push(id, bytes).unwrap();
    }
    tokens
}

#[test]
fn vocabulary_finds_tokens_by_id_and_by_bytes() {
    let vocabulary =
        Vocabulary::from_merges(tokens(&[(7, b"ab"), (2, b"a"), (3, b"b")]), vec![[2, 3, 7]], false).unwrap();
    assert_eq!((vocabulary.n_ids(), vocabulary.n_tokens()), (8, 3));
    assert_eq!(vocabulary.token(7), Some(&b"ab"[..]));
    assert_eq!(vocabulary.token(0), None);
    assert_eq!(vocabulary.token(u32::MAX), None);
    assert_eq!(vocabulary.id_of(b"b"), Some(3));
    assert_eq!(vocabulary.id_of(b"abc"), None);
    assert_eq!(vocabulary.pair(2, 3), Some((0, 7)));
    assert_eq!(vocabulary.pair(3, 2), None);
    assert_eq!(vocabulary.pair(u32::MAX, 2), None);
    let in_order: Vec<u32> = vocabulary.tokens().map(|(id, _)| id).collect();
    assert_eq!(in_order, [2, 3, 7]);
}

#[test]
fn vocabulary_without_tokens_is_valid() {
    let vocabulary = Vocabulary::from_ranks(Tokens::default()).unwrap();
    assert_eq!(vocabulary.n_ids(), 0);
    assert_eq!(vocabulary.id_of(b""), None);
    assert!(vocabulary.merges().is_empty());
}

#[test]
fn vocabulary_from_ranks_merges_one_pair_a_token() {
    let vocabulary = Vocabulary::from_ranks(tokens(&[
        (0, b"a"),
        (1, b"b"),
        (2, b"c"),
        (3, b"ab"),
        (4, b"bc"),
        (5, b"abc"),
        (6, b"cab"),
        (7, b"xyz"),
    ]))
    .unwrap();
    assert_eq!(vocabulary.pair(3, 2), Some((2, 5)));
    // "a" and "bc" are never side by side: "ab" merges first.
    assert_eq!(vocabulary.pair(0, 4), None);
    // "xyz" cannot be made: its bytes are not tokens.
    assert_eq!(vocabulary.merges(), [[0, 1, 3], [1, 2, 4], [3, 2, 5], [2, 3, 6]]);
}

#[test]
fn pairs_of_tokens_are_found_at_every_cut() {
    // All strings of two letters in a scrambled order; each round leaves out different ones.
    let all: Vec<Vec<u8>> = (2..512u32)
        .map(|number| {
            let n_bits = number.ilog2();
            (0..n_bits).map(|bit| b'a' + (number >> bit & 1) as u8).collect()
        })
        .collect();
    for round in 1..20 {
        let kept: Vec<(u32, &[u8])> = (0..)
            .zip(&all)
            .filter(|(number, _)| number * 7 % round < 3)
            .map(|(number, token)| (number * 37 % 521, &token[..]))
            .collect();
        let vocabulary = Vocabulary::without_merges(tokens(&kept), &[]).unwrap();
        let pairs = from_characters::pairs(&vocabulary).unwrap();
        for &(left, first) in &kept {
            for &(right, second) in &kept {
                let joined = vocabulary.id_of(&[first, second].concat());
                let found = pairs.iter().find(|pair| pair[..2] == [left, right]);
                assert_eq!(found.map(|pair| pair[2]), joined);
            }
        }
    }
}

#[test]
fn pairs_of_huge_tokens_are_found_at_once() {
    // Hashing both parts at each of four million cuts would take hours.
    let huge = [&b"ab".repeat(2 << 20)[..], b"c"].concat();
    let list: [(u32, &[u8]); 5] = [(0, b"a"), (1, b"b"), (2, b"c"), (3, &huge[..huge.len() - 1]), (4, &huge)];
    let vocabulary = Vocabulary::from_ranks(tokens(&list)).unwrap();
    assert_eq!(from_characters::pairs(&vocabulary).unwrap(), [[3, 2, 4]]);
    assert!(vocabulary.merges().is_empty(), "no merges make them of bytes");
}

#[test]
fn from_merges_with_a_repeated_pair_uses_the_first() {
    let list = [(0, &b"a"[..]), (1, b"b"), (2, b"ab"), (3, b"ab")];
    let vocabulary = Vocabulary::from_merges(tokens(&list), vec![[0, 1, 3], [0, 1, 2]], false).unwrap();
    assert_eq!(vocabulary.pair(0, 1), Some((0, 3)));
    assert_eq!(vocabulary.id_of(b"ab"), Some(2));
    assert_eq!(vocabulary.byte_pair_rank(b'a', b'b'), 0);
}

#[test]
fn vocabulary_of_invalid_tokens_fails() {
    assert!(Vocabulary::from_ranks(tokens(&[(0, b"a"), (0, b"b")])).is_err());
    assert!(Vocabulary::from_ranks(tokens(&[(0, b"a"), (1, b"a")])).is_err());
    assert!(Vocabulary::from_ranks(tokens(&[(1 << 24, b"a")])).is_err());
}

#[test]
fn vocabulary_with_sparse_ids_finds_all_tokens() {
    let far = MAX_IDS as u32 - 1;
    let list = [(3, &b"a"[..]), (70_000, b"b"), (2_000_000, b"ab"), (far, b"abb")];
    let merges = vec![[3, 70_000, 2_000_000], [2_000_000, 70_000, far]];
    let vocabulary = Vocabulary::from_merges(tokens(&list), merges, false).unwrap();
    assert_eq!((vocabulary.n_ids(), vocabulary.n_tokens()), (MAX_IDS, 4));
    assert!(vocabulary.spans.dense.len() <= MIN_DENSE_IDS);
    assert_eq!(vocabulary.tokens().collect::<Vec<_>>(), list);
    for (id, token) in list {
        assert_eq!((vocabulary.token(id), vocabulary.id_of(token)), (Some(token), Some(id)));
    }
    assert_eq!((vocabulary.token(4), vocabulary.token(far - 1), vocabulary.token(NONE)), (None, None, None));
    assert_eq!(vocabulary.pair(2_000_000, 70_000), Some((1, far)));
    assert!(Vocabulary::from_ranks(tokens(&[(far, b"a"), (far, b"b")])).is_err());
}

#[test]
fn merge_table_with_many_pairs_finds_them_all() {
    let mut all = Tokens::default();
    for byte in 0..=255u8 {
        all.push(u32::from(byte), &[byte]).unwrap();
    }
    let mut merges = Vec::new();
    for pair in 0..20_000u32 {
        let (left, right) = (pair % 256, pair / 256);
        all.push(256 + pair, &[left as u8, right as u8]).unwrap();
        merges.push([left, right, 256 + pair]);
    }
    let vocabulary = Vocabulary::from_merges(all, merges.clone(), false).unwrap();
    for (rank, &[left, right, merged_id]) in merges.iter().enumerate() {
        assert_eq!(vocabulary.pair(left, right), Some((rank as u32, merged_id)));
        assert_eq!(vocabulary.byte_pair_rank(left as u8, right as u8), rank as u32);
    }
    assert_eq!(vocabulary.pair(0, 255), None);
    assert_eq!(vocabulary.byte_pair_rank(0, 255), NONE);
}
