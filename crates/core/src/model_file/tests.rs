use super::*;

fn read(data: &[u8]) -> Result<Model> {
    super::read(data, "model.json")
}

fn schema1(merges: &[(u32, u32)]) -> String {
    let mut vocab: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    for &(left, right) in merges {
        let joined = [vocab[left as usize].clone(), vocab[right as usize].clone()].concat();
        vocab.push(joined);
    }
    let n = vocab.len();
    vocab.push(b"<|endoftext|>".to_vec());
    let entries: Vec<String> =
        vocab.iter().enumerate().map(|(id, bytes)| format!("\"{id}\":{bytes:?}")).collect();
    let pairs: Vec<String> = merges.iter().map(|(left, right)| format!("[{left},{right}]")).collect();
    format!(
        "{{\"mergeable_vocab_size\":{n},\"merges\":[{}],\"pretokenizer_pattern\":{},\"schema_version\":1,\
         \"special_tokens\":{{\"<|endoftext|>\":{n}}},\"vocab\":{{{}}}}}",
        pairs.join(","),
        serde_json::to_string(crate::pretokens::gpt2_pattern()).unwrap(),
        entries.join(",")
    )
}

const SCHEMA2: &str = r#"{"decode_errors":"replace","ignore_merges":true,"made_ids":[10,1],"merges":[1,2],"pattern":["\\S","\\s"],"plain_specials":[],"rule":"pairs","schema_version":2,"special_tokens":{"\u00e9\ud83d\ude00":99},"token_bytes":"YWI=","token_ids":[1,2],"token_lengths":[1,1],"unicode_version":"16.0.0"}"#;

fn message(text: &str) -> String {
    read(text.as_bytes()).expect_err("the file is damaged").to_string()
}

#[test]
fn read_of_schema_1_returns_columns() {
    let model = read(schema1(&[(97, 98), (32, 256)]).as_bytes()).unwrap();
    let columns = &model.columns;
    assert_eq!(columns.tokens.ids, (0..258).collect::<Vec<u32>>());
    assert_eq!(columns.merges, [[97, 98, 256], [32, 256, 257]]);
    assert_eq!(&columns.tokens.bytes[256..], b"ab ab");
    assert_eq!(columns.tokens.ends[255..], [256, 258, 261]);
    assert_eq!(model.special_tokens, [("<|endoftext|>".to_string(), 258)]);
}

#[test]
fn read_of_schema_2_keeps_the_post_processor_text() {
    let with =
        SCHEMA2.replace("\"rule\"", "\"post_processor\":\"{\\\"type\\\":\\\"ByteLevel\\\"}\",\"rule\"");
    assert_eq!(read(with.as_bytes()).unwrap().post_processor.as_deref(), Some("{\"type\":\"ByteLevel\"}"));
    assert!(read(with.replace(",\"rule\"", ", \"rule\"").as_bytes()).is_ok());
    assert_eq!(read(SCHEMA2.as_bytes()).unwrap().post_processor, None);
    let twice = with.replace("\"rule\"", "\"post_processor\":\"{}\",\"rule\"");
    assert!(message(&twice).contains("appears twice"));
    assert!(
        message(&with.replace("\"post_processor\":\"", "\"post_processor\":1,\"x\":\""))
            .contains("\"x\" is not a key")
    );
}

#[test]
fn read_of_schema_2_keeps_the_tokenizer_config_text() {
    let with = SCHEMA2.replace("\"unicode_version\"", "\"tokenizer_config\":\"{}\",\"unicode_version\"");
    assert_eq!(read(with.as_bytes()).unwrap().tokenizer_config.as_deref(), Some("{}"));
    assert_eq!(read(SCHEMA2.as_bytes()).unwrap().tokenizer_config, None);
}

#[test]
fn read_of_schema_2_returns_columns() {
    let model = read(SCHEMA2.as_bytes()).unwrap();
    let columns = &model.columns;
    assert_eq!((&*columns.tokens.ids, &*columns.tokens.bytes), (&[1, 2, 10][..], &b"abab"[..]));
    assert_eq!((&*columns.merges, columns.ranks), (&[[1, 2, 10]][..], false));
    assert_eq!(model.special_tokens, [("é😀".to_string(), 99)]);
    assert_eq!(model.patterns, ["\\S", "\\s"]);
    assert!(model.ignore_merges);
}

#[test]
fn read_without_a_key_fails_with_missing_key() {
    for key in ["schema_version", "vocab", "merges", "special_tokens"] {
        let text = schema1(&[]).replace(&format!("\"{key}\""), "\"other\"");
        assert!(matches!(read(text.as_bytes()), Err(Error::MissingKey(_))), "{key}");
    }
}

#[test]
fn read_of_damaged_schema_1_names_the_location() {
    let good = schema1(&[(97, 98), (32, 256)]);
    let cases = [
        ("\"schema_version\":1", "\"schema_version\":3", "schema_version 3 is unknown"),
        (
            "\"schema_version\":1",
            "\"schema_version\":true",
            "schema_version: expected a non-negative integer",
        ),
        ("\"schema_version\":1", "\"schema_version\":1,\"x\":[]", "key \"x\" is not a key"),
        ("\"schema_version\":1", "\"schema_version\":1,\"schema_version\":1", "appears twice"),
        ("[97,98]", "[97,300]", "merges: [0]: uses id 300, which does not exist yet"),
        ("[97,98]", "[97,NaN]", "expected a value at byte 42, found \"NaN"),
        ("[97,98]", "[97,98.0]", "expected a non-negative integer"),
        ("[97,98]", "[97,098]", "expected a value"),
        ("[97,98]", "[97]", "merges: [0] must be [left id, right id]"),
        ("[97,98]", "[97,99]", "vocab['256'] is not the bytes of merges[0]"),
        ("\"17\":[17]", "\"17\":[256]", "vocab: ['17']: 256 is not a byte"),
        ("\"17\":[17]", "\"17\":[true]", "vocab: ['17']: expected a non-negative integer"),
        ("\"17\":[17]", "\"17\":[]", "is empty"),
        ("\"17\":[17]", "\"017\":[17]", "is not an id"),
        ("\"17\":[17]", "\"16\":[17]", "appears twice"),
        (",\"17\":[17]", "", "['17'] is missing"),
        ("endoftext|>\":258", "endoftext|>\":257", "special_tokens must be exactly"),
        ("\"258\":[60", "\"258\":[61", "vocab['258'] is not the bytes of the special token"),
        ("\"258\":[60", "\"259\":[60", "['259'] is not an id"),
        ("mergeable_vocab_size\":258", "mergeable_vocab_size\":259", "mergeable_vocab_size is 259"),
        ("[97,98]", "[97,99999999999999999999999]", "a number with at most 19 digits"),
    ];
    for (from, to, expected) in cases {
        assert!(good.contains(from), "{from}");
        let text = good.replacen(from, to, 1);
        let said = message(&text);
        assert!(said.contains(expected), "{to}: {said}");
    }
    for cut in [0, 1, 20, 100, good.len() - 1] {
        assert!(read(&good.as_bytes()[..cut]).is_err());
    }
    assert!(message(&format!("{good} x")).contains("the end of the file"));
}

#[test]
fn read_of_damaged_schema_2_names_the_defect() {
    let cases = [
        ("\"token_ids\":[1,2]", "\"token_ids\":[1,16000000]", "2 ids are left"),
        ("\"token_ids\":[1,2]", "\"token_ids\":[2,1,1,1]", "ids must ascend"),
        ("YWI=", "YWJ=", "canonical"),
        ("YWI=", "YW I", "not base64 at character 2"),
        ("YWI=", "YWE=", "the same bytes"),
        ("\"merges\":[1,2]", "\"merges\":[1,7]", "neither in token_ids nor made"),
        ("\"merges\":[1,2]", "\"merges\":[1,2,1,2]", "1 ids, but 2"),
        ("\\ude00", "", "surrogate"),
        ("[]", "[\"x\"]", "not a special token"),
        ("99", "10", "with other bytes"),
        ("16.0.0", "15.0.0", "unicode_version"),
        ("true", "1", "true or false"),
        ("\\ude00\":99", "\\ude00\":99,\"b\":99", "like another one"),
        ("\\ude00\":99", "\\ude00\":99,\"\":98", "is empty"),
    ];
    for (from, to, expected) in cases {
        assert!(SCHEMA2.contains(from), "{from}");
        let said = message(&SCHEMA2.replacen(from, to, 1));
        assert!(said.contains(expected), "{to}: {said}");
    }
    let ranks = SCHEMA2.replace("pairs", "ranks");
    assert!(message(&ranks).contains("no merges"));
    // The merge's token is also listed: first with the right bytes, then with others.
    let listed = |bytes: &str| {
        let lengths = SCHEMA2.replace("\"token_lengths\":[1,1]", "\"token_lengths\":[1,1,2]");
        lengths.replace("YWI=", bytes).replace("[1,2],\"token_l", "[1,2,10,1],\"token_l")
    };
    assert!(read(listed("YWJhYg==").as_bytes()).is_ok());
    assert!(message(&listed("YWJhYQ==")).contains("not those of the two parts joined"));
    let twice = listed("YWJhYg==").replace("\"merges\":[1,2]", "\"merges\":[1,2,1,2]");
    assert!(message(&twice.replace("[10,1]", "[10,1,10,1]")).contains("repeats the pair"));
}

#[test]
fn read_of_deep_nesting_or_doubling_tokens_fails() {
    let deep = format!("{{\"merges\":{}", "[".repeat(10_000_000));
    assert!(message(&deep).contains("expected a value, but the file ends"));
    let mut merges = String::from("1,2");
    for id in 10..50 {
        merges.push_str(&format!(",{id},{id}"));
    }
    let doubling =
        SCHEMA2.replace("\"merges\":[1,2]", &format!("\"merges\":[{merges}]")).replace("[10,1]", "[10,41]");
    assert!(message(&doubling).contains("must be listed"));
}

#[test]
fn read_of_mutated_files_never_panics() {
    let files = [schema1(&[(97, 98), (32, 256)]).into_bytes(), SCHEMA2.as_bytes().to_vec()];
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    for _ in 0..20_000 {
        let mut file = files[random(2)].clone();
        for _ in 0..1 + random(3) {
            let at = random(file.len());
            match random(3) {
                0 => file[at] = b"[]{}\",:0123456789.-eE\\untrf\x00\xff"[random(29)],
                1 => {
                    file.remove(at);
                }
                _ => file.insert(at, b"[]{}\",:0123456789"[random(17)]),
            }
        }
        let _ = read(&file);
    }
}
