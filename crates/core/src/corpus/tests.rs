use std::sync::Arc;

use super::*;
use crate::counts::{CorpusSpecials, CountOptions, Counter, PretokenCounts};
use crate::error::{Error, Result};
use crate::monitor::Silent;
use crate::pretokens::safe_cuts::SafeCuts;
use crate::pretokens::{Pretokenizer, named_pattern, named_patterns, names};
use crate::special::SpecialTokens;

/// Returns all documents that a reader finds in `bytes`, pushed in blocks of `step` bytes.
fn read(
    bytes: &[u8],
    step: usize,
    mut push: impl FnMut(Option<&[u8]>) -> Result<Documents>,
) -> Result<Vec<String>> {
    let (mut all, mut open) = (Vec::new(), String::new());
    let blocks = bytes.chunks(step).map(Some).chain([None]);
    for block in blocks {
        let documents = push(block)?;
        for document in documents.iter() {
            open.push_str(document);
            all.push(std::mem::take(&mut open));
        }
        open.push_str(documents.open_text());
    }
    assert_eq!(open, "", "every document ends");
    Ok(all)
}

fn plain(
    bytes: &[u8],
    separator: Option<&str>,
    step: usize,
    record_errors: RecordErrors,
) -> Result<Vec<String>> {
    let mut reader = PlainText::new("a.txt".into(), separator, false, record_errors)?;
    read(bytes, step, |block| match block {
        Some(bytes) => reader.push(bytes),
        None => reader.finish(),
    })
}

fn json(bytes: &[u8], field: &str, step: usize, record_errors: RecordErrors) -> Result<Vec<String>> {
    let field = field.split('.').map(str::to_owned).collect();
    let mut reader = JsonLines::new("a.jsonl".into(), field, record_errors)?;
    read(bytes, step, |block| match block {
        Some(bytes) => reader.push(bytes),
        None => reader.finish(),
    })
}

const STRICT: RecordErrors = RecordErrors { replaces: false, skips: false };

impl PartialEq for Documents {
    fn eq(&self, other: &Self) -> bool {
        (self.text(), self.ends()) == (other.text(), other.ends())
    }
}

fn block(text: &str, ends: Vec<usize>) -> Documents {
    let mut documents = Documents { ends, ..Documents::default() };
    documents.text.push_str(text);
    documents
}

#[test]
fn a_separator_that_is_kept_ends_its_document() {
    let text = "eins\r\n\n東京\nlast";
    for step in 1..=text.len() {
        let mut reader = PlainText::new("a.txt".into(), Some("\n"), true, STRICT).unwrap();
        let documents = read(text.as_bytes(), step, |block| match block {
            Some(bytes) => reader.push(bytes),
            None => reader.finish(),
        });
        assert_eq!(documents.unwrap(), ["eins\r\n", "\n", "東京\n", "last"]);
    }
}

#[test]
fn plain_text_with_and_without_separator_gives_documents() {
    let text = "\u{feff}eins — 東京\r\n<|x|>zwei<|x|><|x|>drei 🙂<|x";
    for step in 1..=text.len() {
        assert_eq!(plain(text.as_bytes(), None, step, STRICT).unwrap(), [text]);
        let parts = plain(text.as_bytes(), Some("<|x|>"), step, STRICT).unwrap();
        assert_eq!(parts, ["\u{feff}eins — 東京\r\n", "zwei", "drei 🙂<|x"], "step {step}");
    }
    assert!(plain(b"", None, 1, STRICT).unwrap().is_empty());
    assert!(plain(b"\n\n", Some("\n"), 1, STRICT).unwrap().is_empty());
}

#[test]
fn plain_text_with_invalid_bytes_in_any_blocks_fails_or_replaces() {
    let bytes = b"caf\xc3\xa9 \xff\xe6\x9d end \xf0\x9f\x99";
    let replaces = RecordErrors { replaces: true, skips: false };
    for step in 1..=bytes.len() {
        match plain(bytes, None, step, STRICT) {
            Err(Error::InvalidUtf8 { offset: 6, .. }) => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(plain(bytes, None, step, replaces).unwrap(), [String::from_utf8_lossy(bytes)]);
        // The Latin-1 byte of é starts a three-byte character in UTF-8; here the line ends right after it.
        let lines = plain(b"caf\xe9\r\nau lait\r\n", Some("\r\n"), step, replaces);
        assert_eq!(lines.unwrap(), ["caf\u{fffd}", "au lait"], "step {step}");
    }
    let cut_off = plain(b"ab\xf0\x9f", None, 1, STRICT);
    assert!(matches!(cut_off, Err(Error::InvalidUtf8 { offset: 2, .. })));
}

#[test]
fn json_lines_in_any_blocks_give_the_field() {
    let lines = "\u{feff}{\"id\": 1, \"text\": \"a\\n\\u00e9\\ud83d\\ude42\"}\n\n  {\"text\":\"東京\",\"more\":{\"text\":[1,{}]}}\r\n\
                 {\"text\": \"\"}\n{\"text\":\"x\",\"text\":\"y\"}";
    for step in 1..=lines.len() {
        assert_eq!(json(lines.as_bytes(), "text", step, STRICT).unwrap(), ["a\né🙂", "東京", "", "y"]);
    }
    let nested = b"{\"a\":{\"c\":1,\"b\":\"deep\"},\"b\":\"flat\"}\n";
    assert_eq!(json(nested, "a.b", 7, STRICT).unwrap(), ["deep"]);
}

#[test]
fn json_lines_with_lists_give_each_text() {
    let lines = b"{\"m\":[{\"c\":\"a\",\"r\":[]},{\"c\":\"\"}]}\n{\"m\":[]}\n{\"m\":[{\"c\":\"x\"}],\"m\":[{\"c\":\"y\"}]}\n";
    for step in 1..=lines.len() {
        assert_eq!(json(lines, "m[].c", step, STRICT).unwrap(), ["a", "", "y"]);
    }
    assert_eq!(json(b"{\"t\":[[\"a\"],[],[\"b\",\"c\"]]}", "t[][]", 9, STRICT).unwrap(), ["a", "b", "c"]);
    let message = |line: &[u8], field: &str| json(line, field, 9, STRICT).unwrap_err().to_string();
    assert!(message(b"{\"t\":[\"a\"]}", "t").ends_with("add [] to the field to read the texts of a list"));
    assert!(
        message(b"{\"t\":[{\"c\":\"a\"}]}", "t.c")
            .ends_with("add [] to the field to read the texts of a list")
    );
    assert!(message(b"{\"t\":\"a\"}", "t[]").contains("expected a list"));
    assert!(message(b"{\"t\":[\"a\", null]}", "t[]").contains("expected a string"));
    assert!(message(b"{\"u\":[]}", "t[].c").contains("no field \"t[].c\"; the record has \"u\""));
    assert!(message(b"{\"t.c\":\"\"}", "t.c").contains("rename the key that contains one"));
    assert!(JsonLines::new("a".into(), vec!["[]".into()], STRICT).is_err());
    // Only the null itself is skipped in a list; any other damage skips the whole line.
    let skip = RecordErrors { replaces: false, skips: true };
    let mut reader = JsonLines::new("a".into(), vec!["t[]".into()], skip).unwrap();
    let lines = b"{\"t\":[\"a\",null,\"b\"]}\n{\"t\":[\"c\",5]}\n{\"t\":null}\n{\"t\":[\"d\"]}\n";
    let kept: Vec<String> = reader.push(lines).unwrap().iter().map(str::to_owned).collect();
    assert_eq!((kept.concat().as_str(), reader.n_skipped(), reader.messages().len()), ("abd", 3, 3));
}

#[test]
fn json_lines_with_invalid_record_fails_or_skips() {
    let message = |line: &str, field: &str| {
        let lines = format!("{{\"text\":\"ok\"}}\n{line}\n");
        json(lines.as_bytes(), field, 1000, STRICT).unwrap_err().to_string()
    };
    assert!(
        message("{\"text\": \"cut", "text").starts_with("a.jsonl: line 2: "),
        "{}",
        message("{\"text\": \"cut", "text")
    );
    assert!(message("{\"text\": \"cut", "text").ends_with("the line is truncated"));
    assert!(
        message("{\"body\": 1, \"id\": 2}", "text")
            .contains("no field \"text\"; the record has \"body\", \"id\"")
    );
    assert!(message("{\"text\": 5}", "text").contains("integer `5`, expected a string"));
    assert!(message("{\"text\": null}", "text").contains("expected a string"));
    assert!(message("[1]", "text").contains("expected an object"));
    assert!(message("{\"text\": \"a\"} x", "text").contains("trailing characters"));
    for big_endian in [false, true] {
        let units = "\u{feff}{\"text\": \"é\"}\n".encode_utf16();
        let utf16: Vec<u8> =
            units.flat_map(|unit| if big_endian { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect();
        for (lines, replaces) in [(&utf16[..], false), (&utf16[2..], false), (&utf16[..], true)] {
            let errors = RecordErrors { replaces, skips: false };
            let message = json(lines, "text", 1000, errors).unwrap_err().to_string();
            assert!(message.contains("looks like UTF-16"), "{message}");
        }
    }
    assert!(
        message("{\"text\": \"\\ud800\"}", "text").contains("surrogate")
            || !message("{\"text\": \"\\ud800\"}", "text").is_empty()
    );
    let lines = b"{\"text\":\"a\"}\nnonsense\n{\"text\":\"b\xff\"}\n{\"text\":\"c\"}";
    let mut reader =
        JsonLines::new("a.jsonl".into(), vec!["text".into()], RecordErrors { replaces: false, skips: true })
            .unwrap();
    let mut kept: Vec<String> = reader.push(lines).unwrap().iter().map(str::to_owned).collect();
    kept.extend(reader.finish().unwrap().iter().map(str::to_owned));
    assert_eq!((kept.concat().as_str(), reader.n_skipped(), reader.messages().len()), ("ac", 2, 2));
    let replaced = json(lines, "text", 3, RecordErrors { replaces: true, skips: true }).unwrap();
    assert_eq!(replaced, ["a", "b\u{fffd}", "c"]);
}

#[test]
fn json_lines_that_are_a_list_fail_before_the_line_ends() {
    for begin in ["[", " \r[{\"text\": ", "\u{feff}[{\"text\": \"a\"}, "] {
        for skips in [false, true] {
            let errors = RecordErrors { replaces: false, skips };
            let mut reader = JsonLines::new("a.json".into(), vec!["text".into()], errors).unwrap();
            let pushed = reader.push(begin.as_bytes());
            assert_eq!(pushed.is_ok(), skips);
            if let Err(error) = pushed {
                assert!(error.to_string().contains("record per line"), "{error}");
            }
            // A line can only be skipped once it has ended.
            assert!(!skips || (reader.finish().is_ok() && reader.n_skipped() == 1));
        }
    }
}

#[test]
fn json_lines_with_lone_surrogates_replaces_on_request() {
    let replace = RecordErrors { replaces: true, skips: false };
    for (line, expected) in [
        (br#"{"text": "a\ud83d b"}"#.as_slice(), "a\u{fffd} b"),
        (br#"{"text": "\ud83d\ude42"}"#, "\u{1f642}"),
        (br#"{"text": "\ude42\ud83d"}"#, "\u{fffd}\u{fffd}"),
        (br#"{"text": "\ud83d\ud83d\ude42\ude42"}"#, "\u{fffd}\u{1f642}\u{fffd}"),
        (br#"{"text": "\\ud83d \\\ud83d \uD83D\n"}"#, "\\ud83d \\\u{fffd} \u{fffd}\n"),
        (b"{\"text\": \"caf\xe9 \\udfff\"}", "caf\u{fffd} \u{fffd}"),
        (br#"{"te\u0078t": "a", "\ud800": 1}"#, "a"),
    ] {
        for step in [1, 1000] {
            assert_eq!(json(line, "text", step, replace).unwrap(), [expected], "{}", line.escape_ascii());
        }
    }
    assert!(json(br#"{"text": "\ud83"}"#, "text", 9, replace).is_err());
    let message = json(br#"{"text": "\ud83d"}"#, "text", 9, STRICT).unwrap_err().to_string();
    assert!(message.contains("input_errors=\"replace\""), "{message}");
    let message = json(b"{\"text\": \"\xe9\"}", "text", 9, STRICT).unwrap_err().to_string();
    assert!(message.contains("input_errors=\"replace\""), "{message}");
}

#[test]
fn documents_use_memory_of_dropped_ones() {
    let buffers = BufferPool::default();
    let first = Documents::from_texts_in(&buffers, &["abc"]).unwrap();
    let address = first.text().as_ptr();
    drop(first);
    let second = Documents::from_texts_in(&buffers, &["ij", "", "k"]).unwrap();
    assert_eq!((second.text().as_ptr(), second.ends()), (address, &[2, 2, 3][..]));
}

#[test]
fn byte_limit_truncates_at_characters() {
    let texts = |documents: &Documents| documents.iter().map(str::to_owned).collect::<Vec<_>>();
    let documents = Documents::from_texts(&["abcdef", "éé", "", "xyz"]).unwrap();
    let mut limit = ByteLimit::new(Some(3), None);
    assert_eq!(texts(&limit.apply(documents.skip(0).unwrap()).unwrap()), ["abc", "é", "", "xyz"]);
    assert!(!limit.is_full());
    let mut limit = ByteLimit::new(None, Some(9));
    assert_eq!(texts(&limit.apply(documents.skip(0).unwrap()).unwrap()), ["abcdef", "é"]);
    assert!(limit.is_full());
    assert!(limit.apply(documents.skip(0).unwrap()).unwrap().is_empty());
    let mut limit = ByteLimit::new(None, Some(7));
    assert_eq!(texts(&limit.apply(documents.skip(0).unwrap()).unwrap()), ["abcdef"], "é does not fit");
    let mut limit = ByteLimit::new(Some(4), Some(12));
    let open = |text: &str, ends: &[usize]| block(text, ends.to_vec());
    assert_eq!(limit.apply(open("abc", &[])).unwrap(), open("abc", &[]));
    assert_eq!(limit.apply(open("de|f", &[3])).unwrap(), open("df", &[1]));
    assert_eq!(limit.apply(open("gggg", &[])).unwrap(), open("ggg", &[]));
    assert_eq!(limit.apply(open("hhhiijjkkll", &[3, 5, 7, 9])).unwrap(), open("iijj", &[0, 2, 4]));
    assert!(limit.is_full());
}

fn special_tokens(tokens: &[&str]) -> Arc<SpecialTokens> {
    let tokens = tokens.iter().zip(300..).map(|(token, id)| ((*token).to_owned(), id));
    Arc::new(SpecialTokens::new(tokens.collect()).unwrap())
}

fn count(
    blocks: &[Documents],
    pretokenizer: &Arc<Pretokenizer>,
    specials: &Arc<SpecialTokens>,
    split: bool,
) -> PretokenCounts {
    let options = CountOptions {
        pretokenizer: Arc::clone(pretokenizer),
        specials: Arc::clone(specials),
        corpus_specials: if split { CorpusSpecials::Split } else { CorpusSpecials::Text },
        threads: 1,
        max_memory: None,
    };
    let mut counter = Counter::new(options).unwrap();
    for block in blocks {
        counter.count_block(block, 0, &Silent).unwrap();
    }
    counter.finish().unwrap()
}

/// Returns (pretokens, documents, special literals) of blocks, found by pretokenizing each text separately.
fn found(
    blocks: &[Documents],
    pretokenizer: &Arc<Pretokenizer>,
    specials: &Arc<SpecialTokens>,
    split: bool,
) -> (Vec<String>, u64, u64) {
    let mut parts =
        super::split::Splitter::new(SafeCuts::new(Arc::clone(pretokenizer), Arc::clone(specials), split));
    let (mut pretokens, mut n_documents, mut n_literals) = (Vec::new(), 0, 0);
    let mut document = |text: &str| {
        let ends = pretokenizer.ends(text).unwrap();
        pretokens.extend(
            std::iter::once(0).chain(ends.iter().copied()).zip(&ends).map(|(a, &b)| text[a..b].to_owned()),
        );
        n_documents += u64::from(!text.is_empty());
    };
    for block in blocks {
        let taken = parts.with_texts(block, |texts| {
            for text in &texts.texts {
                let (mut start, mut from) = (0, 0);
                while let Some(special) = specials.find(text.as_bytes(), from) {
                    n_literals += 1;
                    from = special.end;
                    if split {
                        document(&text[start..special.start]);
                        start = special.end;
                    }
                }
                document(&text[start..]);
            }
            Ok(texts.is_end.iter().filter(|&&is_end| is_end).count())
        });
        assert_eq!(taken.unwrap(), block.len());
    }
    (pretokens, n_documents - parts.n_cuts, n_literals)
}

#[test]
fn splitter_of_a_document_in_any_two_blocks_keeps_the_pretokens() {
    let specials = special_tokens(&["<|a|>", "<|a|> b c", "x y", " "]);
    let few = special_tokens(&["<|end of it|>"]);
    let within = special_tokens(&["<|end of it|>", "of", "t|"]);
    let none = special_tokens(&[]);
    let text = "it's a test  of<|a|> b 東京 の   <|a|> b c x y zz<|end of it|>12345678 <|end of it|\n\n \n a b c d'll \u{3000}e";
    for pattern in ["gpt2", "cl100k", "o200k", r"\S+|\s+", r"(?<=a)b|."] {
        let pretokenizer = Arc::new(Pretokenizer::new(named_pattern(pattern).unwrap_or(pattern)).unwrap());
        for (specials, split) in
            [&specials, &few, &within, &none].iter().flat_map(|s| [(*s, false), (*s, true)])
        {
            let whole = found(&[Documents::from_texts(&[text]).unwrap()], &pretokenizer, specials, split);
            for (at, _) in text.char_indices() {
                let (left, right) = text.split_at(at);
                let blocks = [block(left, vec![]), block(right, vec![right.len()])];
                let parts = found(&blocks, &pretokenizer, specials, split);
                assert_eq!(parts, whole, "{pattern} {split} at {at}");
            }
        }
    }
}

#[test]
fn splitter_of_random_documents_in_random_blocks_keeps_the_pretokens() {
    let pieces = [
        "東", "京", "\n", " ", "\t", "a", "B", "1", "'s", "\u{3000}", ".", "é", "\r", "<|e|>", "\u{301}",
        "/", "，", "。", "ж", "ั", "ห",
    ];
    let specials = [special_tokens(&["<|e|>"]), special_tokens(&[])];
    let mut state = 7u64;
    let mut below = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    for pattern in names() {
        let pretokenizer = Arc::new(Pretokenizer::sequence(named_patterns(pattern).unwrap()).unwrap());
        for case in 0..400 {
            let text: String = (0..1 + below(24)).map(|_| pieces[below(pieces.len())]).collect();
            let (specials, split) = (&specials[case % 2], case % 4 < 2);
            let whole =
                found(&[Documents::from_texts(&[&text[..]]).unwrap()], &pretokenizer, specials, split);
            let mut cuts =
                [below(text.len() + 1), below(text.len() + 1)].map(|at| text.floor_char_boundary(at));
            cuts.sort_unstable();
            let [first, second] = cuts;
            let blocks = [
                block(&text[..first], vec![]),
                block(&text[first..second], vec![]),
                block(&text[second..], vec![text.len() - second]),
            ];
            let parts = found(&blocks, &pretokenizer, specials, split);
            assert_eq!(parts, whole, "{pattern} {split} {cuts:?} {text:?}");
        }
    }
}

#[test]
fn counts_of_a_long_document_in_blocks_equal_those_of_the_whole() {
    let specials = special_tokens(&["<|end of it|>", "x y"]);
    let pretokenizer = Arc::new(Pretokenizer::new(named_pattern("gpt2").unwrap()).unwrap());
    let sentences = [
        "the quick brown x y fox, <|end of it|> 12 times over\n\n  a lazy 犬; ",
        // Has no safe cut nearby, so cuts are found by scanning.
        "12 x-y! <犬> 3\n\n  4; ",
    ];
    for (sentence, split) in sentences.into_iter().flat_map(|s| [(s, false), (s, true)]) {
        let text = sentence.repeat(12_000);
        let whole = count(&[Documents::from_texts(&[&text[..]]).unwrap()], &pretokenizer, &specials, split);
        let sum: u64 = whole.iter().map(|(pretoken, n)| pretoken.len() as u64 * n).sum();
        let once = count(&[Documents::from_texts(&[sentence]).unwrap()], &pretokenizer, &specials, split);
        assert!(
            sum <= text.len() as u64
                && whole.totals().n_special_literals == 12_000 * once.totals().n_special_literals
        );
        for step in [300_001, 77_777] {
            let mut blocks = Vec::new();
            let mut start = 0;
            while start < text.len() {
                let end = text.floor_char_boundary(start + step);
                let ends = if end == text.len() { vec![end - start] } else { vec![] };
                blocks.push(block(&text[start..end], ends));
                start = end;
            }
            let parts = count(&blocks, &pretokenizer, &specials, split);
            let sorted = |counts: &PretokenCounts| {
                counts
                    .sorted()
                    .unwrap()
                    .iter()
                    .map(|(pretoken, n)| (pretoken.to_vec(), n))
                    .collect::<Vec<_>>()
            };
            assert_eq!(sorted(&parts), sorted(&whole));
            assert_eq!(parts.totals().n_documents, whole.totals().n_documents, "{split} {step}");
            assert_eq!(parts.totals().n_special_literals, whole.totals().n_special_literals);
        }
    }
}

#[test]
fn count_words_across_blocks_counts_each_once() {
    let whole = Documents::from_texts(&["ab  cd\u{3000}e", "", " f"]).unwrap();
    assert_eq!(whole.count_words(false), (4, false));
    let open = block("ab c", vec![]);
    assert_eq!(open.count_words(false), (2, true));
    assert_eq!(open.count_words(true), (1, true));
}

#[test]
fn skip_returns_the_documents_after_the_first() {
    let documents = block("abcdef", vec![1, 3, 5]);
    assert_eq!(documents.skip(0).unwrap(), documents);
    assert_eq!(documents.skip(2).unwrap(), block("def", vec![2]));
    assert_eq!(documents.skip(3).unwrap(), block("f", vec![]));
}

#[test]
fn counting_a_pretoken_longer_than_max_memory_fails() {
    let options = CountOptions {
        pretokenizer: Arc::new(Pretokenizer::new(named_pattern("gpt2").unwrap()).unwrap()),
        specials: special_tokens(&[]),
        corpus_specials: CorpusSpecials::Text,
        threads: 1,
        max_memory: Some(8_000_000),
    };
    let mut counter = Counter::new(options).unwrap();
    let block = block(&"a".repeat(1 << 20), vec![]);
    let refused =
        (0..20).find_map(|n_blocks| Some((n_blocks, counter.count_block(&block, 0, &Silent).err()?)));
    let (n_blocks, error) = refused.expect("the pretoken is longer than the limit");
    assert!(matches!(error, Error::MemoryLimit { limit: 8_000_000, .. }), "{error}");
    assert!((2..=8).contains(&n_blocks), "refused after {n_blocks} blocks");
    assert!(counter.finish().is_err());
}

#[test]
fn splitter_of_a_long_pretoken_in_any_blocks_keeps_the_pretokens() {
    let pretokenizer = Arc::new(Pretokenizer::new(named_pattern("gpt2").unwrap()).unwrap());
    let specials = special_tokens(&[]);
    let text = format!("{}.東.京{}!東東x", "a".repeat(300), "b".repeat(77));
    let whole = found(&[Documents::from_texts(&[&text]).unwrap()], &pretokenizer, &specials, false);
    for step in [1, 3, 10, 64, 299] {
        let mut blocks = Vec::new();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let at = (step..=rest.len()).find(|&at| rest.is_char_boundary(at)).unwrap_or(rest.len());
            let (head, tail) = rest.split_at(at);
            let ends = if tail.is_empty() { vec![head.len()] } else { vec![] };
            blocks.push(block(head, ends));
            rest = tail;
        }
        assert_eq!(found(&blocks, &pretokenizer, &specials, false), whole, "step {step}");
    }
}
