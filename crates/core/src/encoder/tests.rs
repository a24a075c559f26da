//! The encoder against its definition, on random vocabularies and random texts.

mod merges;
mod random;

use std::process::Command;
use std::sync::{Arc, LazyLock};

use super::file::Division;
use super::*;
use crate::cpu::DISABLE_VARIABLE;
use crate::monitor::Silent;
use crate::text::Characters;
use crate::train::WeightedPretokens;
use random::{Random, Setting};

const CL100K: &str = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s";
const O200K: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
static PATTERNS: LazyLock<[&str; 3]> = LazyLock::new(|| [crate::pretokens::gpt2_pattern(), CL100K, O200K]);

/// Encodes by the definition: special tokens first, then pretokens, each merged by `merge::naive`.
fn definition(encoder: &Encoder, text: &str) -> Result<Vec<u32>> {
    let mut ids = Vec::new();
    let mut at = 0;
    loop {
        let found = encoder.shared.specials.find(text.as_bytes(), at);
        let document = &text[at..found.map_or(text.len(), |found| found.start)];
        let (mut from, mut ends) = (0, Vec::new());
        while from < document.len() {
            let filled = encoder.shared.pretokenizer.fill(document, from, &mut ends)?;
            let mut rest = &document.as_bytes()[from..];
            let mut before = 0;
            for &end in &ends {
                let (pretoken, after) = rest.split_at((end - before) as usize);
                ids.extend(merge::naive::encode_pretoken(&encoder.shared.vocabulary, pretoken)?);
                (rest, before) = (after, end);
            }
            from = filled;
        }
        let Some(found) = found else { return Ok(ids) };
        ids.push(encoder.shared.specials.tokens()[found.index].1);
        at = found.end;
    }
}

fn encode(encoder: &Encoder, text: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    encoder.encode(text, SpecialPolicy::All, &mut ids).unwrap();
    ids
}

fn settings() -> impl Iterator<Item = (Setting, Random)> {
    (0..30u64).map(|seed| {
        let mut random = Random(seed);
        let pattern = PATTERNS[seed as usize % 3];
        (Setting::new(&mut random, pattern), random)
    })
}

#[test]
fn instructions_that_the_processor_lacks_are_refused() {
    #[cfg(target_arch = "x86_64")]
    let all = [CpuTier::Portable, CpuTier::Avx2, CpuTier::Avx512];
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    let all = [CpuTier::Portable, CpuTier::Neon];
    #[cfg(not(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little"))))]
    let all = [CpuTier::Portable];
    let setting = Setting::new(&mut Random(7), PATTERNS[0]);
    for tier in all {
        let pretokenizer = Pretokenizer::at_tier(&PATTERNS[..1], tier);
        let (vocabulary, ours) = (Arc::new(setting.vocabulary()), Pretokenizer::new(PATTERNS[0]).unwrap());
        let options = EncoderOptions { tier, ..EncoderOptions::default() };
        let encoder = Encoder::new(vocabulary, Arc::new(ours), SpecialTokens::none(), options);
        for refused in [pretokenizer.err(), encoder.err()] {
            match refused {
                None => assert!(tier <= CpuTier::best(), "{tier:?} is accepted"),
                Some(Error::Invalid(message)) => {
                    assert!(tier > CpuTier::best() && message.contains("this processor has no"), "{message}");
                }
                Some(error) => panic!("{error}"),
            }
        }
    }
    // The processor may have all instructions: run the test again in a process where they are turned off.
    if CpuTier::best() > CpuTier::Portable {
        let test = "encoder::tests::instructions_that_the_processor_lacks_are_refused";
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([test, "--exact"]).env(DISABLE_VARIABLE, CpuTier::NAMES.join(","));
        let done = match command.output() {
            // Under an emulator the system cannot run the program directly; some emulators report that only by this
            // status.
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return,
            Ok(done) if cfg!(not(target_arch = "x86_64")) && done.status.code() == Some(127) => return,
            done => done.unwrap(),
        };
        let output = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && output.contains("1 passed"), "{output}");
    }
}

#[test]
fn lines_of_words_and_superwords_equal_the_definition() {
    for seed in 0..if cfg!(miri) { 2 } else { 100 } {
        let mut random = Random(seed);
        let setting = Setting::of_lines(&mut random);
        for tier in CpuTier::available() {
            let encoder = setting.encoder(EncoderOptions { tier, ..EncoderOptions::default() });
            let n_words: Vec<usize> =
                (0..if cfg!(miri) { 8 } else { 400 }).map(|_| [0, 3, 12, 20, 40][random.below(5)]).collect();
            let texts: Vec<String> = n_words.iter().map(|&n| setting.text(&mut random, n)).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            check_batch(&encoder, &texts);
            for text in texts.into_iter().take(20) {
                let expected = definition(&encoder, text).unwrap();
                assert_eq!(encode(&encoder, text), expected, "{text:?}");
                let (characters, limit) = (Characters::Utf8(text), random.below(expected.len() + 2));
                let counted = encoder.count_up_to(&characters, SpecialPolicy::All, limit, &Silent).unwrap();
                assert_eq!(counted, expected.len().min(limit), "{text:?}");
            }
        }
    }
}

#[test]
fn encode_on_every_tier_equals_the_definition() {
    for (setting, mut random) in settings() {
        let tiers = CpuTier::available().flat_map(|tier| [0, 256, 1 << 20].map(|n_bytes| (tier, n_bytes)));
        for (tier, cache_bytes) in tiers {
            let encoder = setting.encoder(EncoderOptions { cache_bytes, tier });
            for _ in 0..10 {
                let text = setting.text(&mut random, 200);
                let expected = definition(&encoder, &text).unwrap();
                assert_eq!(encode(&encoder, &text), expected, "{text:?}");
                let counted =
                    encoder.count(&Characters::Utf8(&text), SpecialPolicy::All, 1, &Silent).unwrap();
                assert_eq!(counted, expected.len());
                let limit = random.below(expected.len() + 2);
                let characters = Characters::Utf8(&text);
                let counted = encoder.count_up_to(&characters, SpecialPolicy::All, limit, &Silent).unwrap();
                assert_eq!(counted, expected.len().min(limit));
            }
        }
    }
}

#[test]
fn encode_of_long_pretokens_equals_the_definition() {
    for (setting, mut random) in settings().take(20) {
        let encoder = setting.encoder(EncoderOptions::default());
        for n in [14, 15, 16, 17, 31, 32, 33, 47, 48, 49, 50, 100, 700] {
            let text: String = (0..n).map(|_| random.pick(&["a", "b", "c"])).collect();
            assert_eq!(encode(&encoder, &text), definition(&encoder, &text).unwrap(), "{text:?}");
            let text = "b".repeat(n);
            assert_eq!(encode(&encoder, &text), definition(&encoder, &text).unwrap(), "{n}");
        }
    }
}

#[test]
fn merge_by_rank_takes_a_linear_number_of_steps() {
    let mut random = Random(7);
    // The vocabulary has learned merges of "a" and "b", among others.
    let encoder = Setting::new(&mut random, PATTERNS[0]).encoder(EncoderOptions::default());
    let n = 1_000_000;
    let letters = ["a", "b", "中", "文", "z"];
    let texts = [
        "a".repeat(n),
        "ab".repeat(n / 2),
        " ".repeat(n),
        "中文".repeat(n / 6),
        (0..n).map(|_| random.pick(&letters)).collect(),
    ];
    for text in &texts {
        let (mut n_bytes, mut n_calls) = (0, 0);
        let put = |id| {
            n_bytes += encoder.shared.vocabulary.token(id).unwrap().len();
            Ok(())
        };
        let mut on_progress = |_| {
            n_calls += 1;
            Ok(())
        };
        merge::by_rank::merge(&encoder.shared.vocabulary, text.as_bytes(), put, &mut on_progress).unwrap();
        assert_eq!(n_bytes, text.len());
        // At most a candidate for each byte, two for each merge, an id for each byte, and a step for each rank.
        let max_steps = 4 * text.len() + encoder.shared.vocabulary.n_ranks();
        assert!(n_calls > 0 && n_calls <= max_steps / merge::by_rank::STEPS_PER_CALL, "{n_calls} calls");
    }
}

#[test]
fn huge_pretokens_keep_their_bytes() {
    let encoder = Setting::new(&mut Random(7), PATTERNS[0]).encoder(EncoderOptions::default());
    for text in ["a", "ab", " ", "中文"].map(|unit| unit.repeat(100_000)) {
        let mut ids = Vec::<u32>::new();
        encoder.encode(&text, SpecialPolicy::None, &mut ids).unwrap();
        let n_bytes: usize = ids.iter().map(|&id| encoder.shared.vocabulary.token(id).unwrap().len()).sum();
        assert_eq!(n_bytes, text.len());
    }
}

#[test]
fn encode_batch_gives_the_same_ids_for_any_number_of_threads() {
    for (setting, mut random) in settings().take(6) {
        let encoder = setting.encoder(EncoderOptions { cache_bytes: 1 << 12, ..EncoderOptions::default() });
        let texts: Vec<String> = (0..random.below(40)).map(|_| setting.text(&mut random, 900)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let mut ids = Vec::new();
        let (mut offsets, mut counts) = (vec![0], Vec::new());
        for text in &texts {
            let own = encode(&encoder, text);
            counts.push(own.len() as i64);
            ids.extend(own);
            offsets.push(ids.len() as i64);
        }
        for threads in [0, 1, 2, 3, 7] {
            let batch = encoder.encode_batch::<u32>(&texts, SpecialPolicy::All, threads, &Silent).unwrap();
            assert_eq!((&*batch.0, &batch.1), (&ids, &offsets));
            let counted = encoder.count_batch(&texts, SpecialPolicy::All, threads, &Silent).unwrap();
            assert_eq!(counted, counts);
        }
    }
}

#[test]
fn encode_batch_of_short_texts_on_every_tier_equals_the_definition() {
    for (setting, mut random) in settings() {
        // Most texts are joined, some are too long for that, and some joined texts hold literals that no single text
        // holds.
        let texts: Vec<String> = (0..300)
            .map(|_| {
                let most = [0, 3, 6, 12, 600][random.below(5)];
                setting.text(&mut random, most)
            })
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        for (tier, cache_bytes) in CpuTier::available().flat_map(|tier| [(tier, 256), (tier, 1 << 20)]) {
            let encoder = setting.encoder(EncoderOptions { cache_bytes, tier });
            check_batch(&encoder, &texts);
        }
    }
}

/// Checks the ids of a batch against the definition, and their numbers.
fn check_batch(encoder: &Encoder, texts: &[&str]) {
    let (ids, offsets) = encoder.encode_batch::<u32>(texts, SpecialPolicy::All, 1, &Silent).unwrap();
    let counts = encoder.count_batch(texts, SpecialPolicy::All, 1, &Silent).unwrap();
    for (index, text) in texts.iter().enumerate() {
        let own = &ids[offsets[index] as usize..offsets[index + 1] as usize];
        let expected = definition(encoder, text).unwrap();
        assert_eq!((own, counts[index]), (&expected[..], expected.len() as i64), "{text:?}");
    }
}

/// Checks the result of a file or a stream against its whole text; `recognised` are its ids with special tokens.
fn check_specials(
    encoder: &Encoder,
    text: &str,
    specials: Specials,
    given: Result<Vec<u32>>,
    recognised: &[u32],
) {
    let mut ordinary = Vec::<u32>::new();
    encoder.encode(text, SpecialPolicy::None, &mut ordinary).unwrap();
    let first = encoder.specials().find(text.as_bytes(), 0);
    match (specials, first) {
        (Specials::Recognise, _) => assert_eq!(given.unwrap(), recognised, "{text:?}"),
        (Specials::Error, Some(first)) => match given {
            Err(Error::LiteralInData { token, offset, .. }) => {
                let expected = (&encoder.specials().tokens()[first.index].0, first.start);
                assert_eq!((&token, offset), expected, "{text:?}");
            }
            other => panic!("{other:?} for {text:?}"),
        },
        _ => assert_eq!(given.unwrap(), ordinary, "{text:?}"),
    }
}

#[test]
fn stream_of_any_specials_equals_encode() {
    for (setting, mut random) in settings() {
        let encoder = Arc::new(setting.encoder(EncoderOptions::default()));
        let text = setting.text(&mut random, 60);
        let recognised = encode(&encoder, &text);
        for specials in [Specials::Recognise, Specials::Ordinary, Specials::Error] {
            for at in (0..=text.len()).filter(|&at| text.is_char_boundary(at)) {
                let mut ids = Vec::<u32>::new();
                let mut stream = StreamEncoder::new(Arc::clone(&encoder), specials);
                let pushed = stream
                    .push(&text[..at], &mut ids, &Silent)
                    .and_then(|()| stream.push(&text[at..], &mut ids, &Silent));
                let done = pushed.and_then(|()| stream.finish(&mut ids, &Silent)).map(|()| ids);
                check_specials(&encoder, &text, specials, done, &recognised);
            }
        }
    }
}

#[test]
fn replacing_text_in_a_session_equals_encoding_it_anew() {
    for (setting, mut random) in settings() {
        let encoder = Arc::new(setting.encoder(EncoderOptions::default()));
        let mut text: Vec<char> = setting.text(&mut random, 9000).chars().collect();
        let mut session = Session::new(Arc::clone(&encoder), None);
        session.append(&text.iter().collect::<String>(), &Silent).unwrap();
        let mut fork = session.clone();
        let mut ids: Vec<u32> = session.ids_from(0).collect();
        for turn in 0..40 {
            let start = random.below(text.len() + 1);
            let end = text.len().min(start + random.below(if turn % 10 == 0 { 9000 } else { 9 }));
            let n_pieces = [0, 1, 3, 3000][random.below(4)];
            let new = setting.text(&mut random, n_pieces);
            let Replaced { keep, n_removed, ids: more } = session.replace(start..end, &new, &Silent).unwrap();
            ids.splice(keep..keep + n_removed, more);
            text.splice(start..end, new.chars());
            let whole: String = text.iter().collect();
            assert!(ids == encode(&encoder, &whole), "{start}..{end} by {new:?} at turn {turn}");
            assert!(session.text().unwrap() == whole && session.ids_from(0).eq(ids.iter().copied()));
            assert_eq!((session.n_chars(), session.n_ids()), (text.len(), ids.len()));
            if turn == 20 {
                fork = session.clone();
                session.append("b a", &Silent).unwrap();
                session.truncate(text.len(), &Silent).unwrap();
            }
        }
        let whole = fork.text().unwrap();
        assert!(fork.ids_from(0).eq(encode(&encoder, &whole)), "a fork is not changed");
    }
}

#[test]
fn encode_batch_counts_literals_or_rejects_them() {
    for (setting, mut random) in settings() {
        let encoder = setting.encoder(EncoderOptions::default());
        let texts: Vec<String> = (0..40).map(|_| setting.text(&mut random, 20)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let mut expected = Vec::new();
        let mut first = None;
        for (number, text) in texts.iter().enumerate() {
            let (mut from, mut counts) = (0, vec![0; encoder.specials().tokens().len()]);
            while let Some(found) = encoder.specials().find(text.as_bytes(), from) {
                first = first.or(Some((number, found)));
                counts[found.index] += 1;
                from = found.end;
            }
            let some = counts.into_iter().enumerate().filter(|&(_, n)| n > 0);
            expected.extend(some.map(|(token, n)| LiteralCount { text: number, token, n }));
        }
        let plain = encoder.encode_batch::<u32>(&texts, SpecialPolicy::None, 1, &Silent).unwrap();
        for threads in [1, 3] {
            let counts = LiteralCounts::new(encoder.specials(), false);
            let counted = encoder
                .encode_batch::<u32>(&texts, SpecialPolicy::Counted(&counts), threads, &Silent)
                .unwrap();
            assert_eq!(counted, plain);
            assert_eq!(counts.into_sorted(), expected);
            let counts = LiteralCounts::new(encoder.specials(), true);
            let refused =
                encoder.encode_batch::<u32>(&texts, SpecialPolicy::Counted(&counts), threads, &Silent);
            match (refused, first) {
                (Ok(ids), None) => assert_eq!(ids, plain),
                (Err(Error::InText { index, source, .. }), Some((number, found))) => {
                    let Error::DisallowedSpecial { offset, .. } = *source else { panic!("{source:?}") };
                    assert_eq!((counts.into_sorted()[0].text, index, offset), (number, number, found.start));
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn stream_cut_anywhere_equals_encode() {
    for (setting, mut random) in settings() {
        let encoder = Arc::new(setting.encoder(EncoderOptions::default()));
        let text = setting.text(&mut random, 60);
        let expected = encode(&encoder, &text);
        let offsets: Vec<usize> = (0..=text.len()).filter(|&at| text.is_char_boundary(at)).collect();
        for &first in &offsets {
            let mut ids = Vec::<u32>::new();
            let mut stream = StreamEncoder::new(Arc::clone(&encoder), Specials::Recognise);
            stream.push(&text[..first], &mut ids, &Silent).unwrap();
            stream.push(&text[first..], &mut ids, &Silent).unwrap();
            stream.finish(&mut ids, &Silent).unwrap();
            assert_eq!(ids, expected, "{text:?} cut at {first}");
        }
        let mut ids = Vec::<u32>::new();
        let mut stream = StreamEncoder::new(Arc::clone(&encoder), Specials::Recognise);
        for pair in offsets.windows(2) {
            stream.patience = 0;
            stream.push(&text[pair[0]..pair[1]], &mut ids, &Silent).unwrap();
        }
        stream.finish(&mut ids, &Silent).unwrap();
        assert_eq!(ids, expected, "{text:?} one by one");
    }
}

#[test]
fn count_recognises_the_specials_of_the_policy() {
    let mut random = Random(1);
    let setting = Setting::new(&mut random, PATTERNS[0]);
    let allowed = SpecialTokens::new(vec![("<|end|>".into(), 70_000)]).unwrap();
    let pretokenizer = Arc::new(Pretokenizer::new(PATTERNS[0]).unwrap());
    let vocabulary = Arc::new(setting.vocabulary());
    let encoder = Encoder::new(vocabulary, pretokenizer, allowed.clone(), EncoderOptions::default()).unwrap();
    let text = "ab<|end|>ab";
    let none = SpecialTokens::none();
    let count = |policy| encoder.count(&Characters::Utf8(text), policy, 1, &Silent);
    let plain = count(SpecialPolicy::None).unwrap();
    assert_eq!(count(SpecialPolicy::Some { allowed: &none, disallowed: &none }).unwrap(), plain);
    let some = SpecialPolicy::Some { allowed: &allowed, disallowed: &none };
    assert_eq!(count(some).unwrap(), count(SpecialPolicy::All).unwrap());
    match count(SpecialPolicy::Some { allowed: &none, disallowed: &allowed }) {
        Err(Error::DisallowedSpecial { token, offset }) => {
            assert_eq!((token.as_str(), offset), ("<|end|>", 2))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn encode_of_a_missing_byte_names_it_and_leaves_out_unchanged() {
    let mut tokens = crate::vocabulary::Tokens::default();
    tokens.push(0, b"a").unwrap();
    tokens.push(1, b"b").unwrap();
    let vocabulary = Arc::new(Vocabulary::from_merges(tokens, Vec::new(), false).unwrap());
    let pretokenizer = Arc::new(Pretokenizer::new(PATTERNS[0]).unwrap());
    let encoder =
        Encoder::new(vocabulary, pretokenizer, SpecialTokens::none(), EncoderOptions::default()).unwrap();
    let mut out = vec![9u16];
    for text in ["abc".to_owned(), "ab".repeat(100) + "c"] {
        match encoder.encode(&text, SpecialPolicy::All, &mut out) {
            Err(Error::MissingByte { byte }) => assert_eq!(byte, b'c'),
            other => panic!("{other:?}"),
        }
        assert_eq!(out, [9]);
    }
}

#[test]
fn encode_rejects_ids_wider_than_the_output() {
    let mut random = Random(3);
    let setting = Setting::new(&mut random, PATTERNS[0]);
    let vocabulary = Arc::new(setting.vocabulary());
    let specials = SpecialTokens::new(vec![("<s>".into(), 70_000)]).unwrap();
    let pretokenizer = Arc::new(Pretokenizer::new(PATTERNS[0]).unwrap());
    let encoder = Encoder::new(vocabulary, pretokenizer, specials, EncoderOptions::default()).unwrap();
    assert!(encoder.encode::<u16>("a", SpecialPolicy::All, &mut Vec::new()).is_err());
    assert!(encoder.encode::<u32>("a", SpecialPolicy::All, &mut Vec::new()).is_ok());
}

#[test]
fn encode_of_the_textbook_example_gives_its_ids() {
    let list: [&[u8]; 11] = [b" ", b"a", b"c", b"e", b"h", b"t", b"th", b" c", b" a", b"the", b" at"];
    let mut tokens = crate::vocabulary::Tokens::default();
    for (id, token) in list.iter().enumerate() {
        tokens.push(id as u32, token).unwrap();
    }
    let merges = vec![[5, 4, 6], [0, 2, 7], [0, 1, 8], [6, 3, 9], [8, 5, 10]];
    let vocabulary = Arc::new(Vocabulary::from_merges(tokens, merges, false).unwrap());
    let pretokenizer = Arc::new(Pretokenizer::new(PATTERNS[0]).unwrap());
    let encoder =
        Encoder::new(vocabulary, pretokenizer, SpecialTokens::none(), EncoderOptions::default()).unwrap();
    assert_eq!(encode(&encoder, "the cat ate"), [9, 7, 1, 5, 10, 3]);
}

/// A file that is removed when it goes out of scope.
struct TemporaryFile(std::path::PathBuf);

impl TemporaryFile {
    fn new(content: &[u8]) -> Self {
        static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("pairloom-{}-{number}.txt", std::process::id()));
        std::fs::write(&path, content).unwrap();
        TemporaryFile(path)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // A file left in the temporary folder does no harm.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn encode_file_cut_anywhere_equals_encode() {
    for (setting, mut random) in settings() {
        let encoder = setting.encoder(EncoderOptions { cache_bytes: 1 << 12, ..EncoderOptions::default() });
        let text = setting.text(&mut random, 200);
        let expected = encode(&encoder, &text);
        let file = TemporaryFile::new(text.as_bytes());
        for threads in [1, 2, 7] {
            for part_bytes in [1, 3, 50, 333, 1 << 20] {
                for has_blocks in [true, false] {
                    let how = Division { part_bytes, can_cut: true, has_blocks };
                    for specials in [Specials::Recognise, Specials::Ordinary, Specials::Error] {
                        let ids = encoder.encode_parts::<u32>(&file.0, specials, threads, how, &Silent);
                        check_specials(&encoder, &text, specials, ids.map(|ids| ids.to_vec()), &expected);
                    }
                }
            }
        }
    }
}

#[test]
fn encode_file_of_many_parts_equals_encode() {
    for (setting, mut random) in settings().step_by(3).take(4) {
        let encoder = setting.encoder(EncoderOptions::default());
        let mut text = String::new();
        while text.len() < 60_000 {
            text += &setting.text(&mut random, 300);
            if random.below(30) == 0 {
                text += &random.pick(&["a", " ", "12", "\n", "ab"]).repeat(random.below(9_000));
            }
        }
        let expected = encode(&encoder, &text);
        let file = TemporaryFile::new(text.as_bytes());
        for threads in [1, 3] {
            for part_bytes in [2_000, 10_000] {
                let how = Division { part_bytes, can_cut: true, has_blocks: true };
                let ids = encoder.encode_parts::<u32>(&file.0, Specials::Recognise, threads, how, &Silent);
                assert!(*ids.unwrap() == expected);
            }
        }
    }
}

#[test]
fn encode_file_that_becomes_shorter_is_an_error() {
    use crate::budget::Budget;
    use crate::corpus::utf8_reader::{Source, Utf8Reader};

    let path = std::env::temp_dir().join(format!("pairloom-shorter-{}.txt", std::process::id()));
    std::fs::write(&path, "a text").unwrap();
    let file = std::fs::File::open(&path).unwrap();
    // The size when the file was opened.
    let (source, budget) = (Source::Open(&path, &file, Some(100)), Budget::new(None));
    let mut reader = Utf8Reader::open(source, &budget, Vec::new()).unwrap();
    let error = reader.window(0, 100).map(|window| window.text.len()).unwrap_err();
    let Error::Io { source, .. } = error else { panic!("{error}") };
    assert_eq!(source.kind(), std::io::ErrorKind::UnexpectedEof);
    assert!(source.to_string().contains("was truncated"), "{source}");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn encode_file_names_the_first_invalid_byte() {
    let mut random = Random(5);
    let setting = Setting::new(&mut random, PATTERNS[0]);
    let encoder = setting.encoder(EncoderOptions::default());
    let offset_of = |content: &[u8], part_bytes| {
        let file = TemporaryFile::new(content);
        let how = Division { part_bytes, can_cut: true, has_blocks: true };
        match encoder.encode_parts::<u32>(&file.0, Specials::Recognise, 3, how, &Silent) {
            Err(Error::InvalidUtf8 { offset, hint, path }) => {
                assert_eq!(path.as_deref(), Some(&*file.0));
                (offset as usize, hint)
            }
            other => panic!("{other:?}"),
        }
    };
    for at in [0, 1, 99, 100, 101, 250, 499, 500] {
        for malformed in [&b"\xff"[..], b"\x80\x80\x80\x80", b"\xe4\xb8"] {
            let mut content = "ab é ".repeat(100).into_bytes();
            let at = (0..=at).rev().find(|&at| content[at] & 0xc0 != 0x80).unwrap();
            content.splice(at..at, malformed.iter().copied());
            assert_eq!(offset_of(&content, 100).0, at);
            content.extend_from_slice(b"\xff");
            assert_eq!(offset_of(&content, 7).0, at);
        }
    }
    assert!(offset_of(b"\xff\xfea\0b\0", 100).1.contains("UTF-16"));
    assert!(
        offset_of("a caf\u{e9}".chars().map(|c| c as u8).collect::<Vec<_>>().as_slice(), 100)
            .1
            .contains("Latin-1")
    );
    let missing = std::path::Path::new("no/such/file");
    let encoded = encoder.encode_file::<u32>(missing, Specials::Recognise, 1, &Silent);
    assert!(matches!(encoded, Err(Error::Io { .. })));
}

#[test]
fn encode_stopped_by_on_progress_leaves_out_unchanged() {
    let (setting, mut random) = settings().next().unwrap();
    let encoder = setting.encoder(EncoderOptions::default());
    let text: String = (0..1000).map(|_| setting.text(&mut random, 200)).collect();
    let (mut ids, mut n_done) = (vec![7u32], 0);
    let stopped = encoder.encode_with_progress(&text, SpecialPolicy::All, &mut ids, &mut |n_bytes| {
        n_done += n_bytes;
        if n_done > text.len() / 2 { Err(Error::Invalid("enough".into())) } else { Ok(()) }
    });
    assert!(matches!(stopped, Err(Error::Invalid(_))) && n_done < text.len(), "{n_done}");
    assert_eq!(ids, [7]);
}

/// Returns pretokens as columns, each with a count of one.
fn once(pretokens: &[Vec<u8>]) -> (Vec<u8>, Vec<u64>, Vec<u64>) {
    let ends = pretokens.iter().scan(0, |end, pretoken| {
        *end += pretoken.len() as u64;
        Some(*end)
    });
    (pretokens.concat(), ends.collect(), vec![1; pretokens.len()])
}

#[test]
fn pretokens_of_any_bytes_have_the_ids_of_the_definition_and_leave_the_cache_right() {
    for (setting, mut random) in settings() {
        for tier in CpuTier::available() {
            let encoder = setting.encoder(EncoderOptions { tier, ..EncoderOptions::default() });
            // The text's pretokens differ from these only by bytes that pad keys. It is encoded before or after them.
            let text = setting.text(&mut random, 100);
            let (mut start, mut pretokens) = (0, Vec::new());
            for end in encoder.shared.pretokenizer.ends(&text).unwrap() {
                let n_padding = random.below(18);
                let pretoken = [&text.as_bytes()[start..end], &vec![0xff; n_padding]].concat();
                let last = [0xff, 0xfe, b'a'][random.below(3)];
                pretokens.extend([[&pretoken[..], &[last]].concat(), pretoken, vec![last; 1 + n_padding]]);
                start = end;
            }
            if random.below(2) == 0 {
                assert_eq!(encode(&encoder, &text), definition(&encoder, &text).unwrap(), "{text:?}");
            }
            let (bytes, ends, counts) = once(&pretokens);
            let given = WeightedPretokens { bytes: &bytes, ends: &ends, counts: &counts };
            let found = encoder.encode_pretokens(given, None, 1 + random.below(2), &Silent).unwrap();
            let mut start = 0;
            for (pretoken, &end) in pretokens.iter().zip(&found.ends) {
                let ids = &found.ids[start..end as usize];
                let expected = merge::naive::encode_pretoken(&encoder.shared.vocabulary, pretoken).unwrap();
                assert_eq!(ids, expected, "{pretoken:?}");
                start = end as usize;
            }
            assert_eq!(encode(&encoder, &text), definition(&encoder, &text).unwrap(), "{text:?}");
        }
    }
}

#[test]
fn ends_of_pretokens_that_do_not_ascend_are_refused() {
    let encoder = settings().next().unwrap().0.encoder(EncoderOptions::default());
    for ends in [&[2, 1][..], &[1, 4], &[u64::MAX]] {
        let given = WeightedPretokens { bytes: b"abc", ends, counts: &[1, 1][..ends.len()] };
        assert!(matches!(encoder.encode_pretokens(given, None, 1, &Silent), Err(Error::Invalid(_))));
    }
}
