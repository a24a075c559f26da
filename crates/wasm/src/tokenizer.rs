//! Makes tokenizers, from a file of any format that the core reads or by training on one text, and decodes with them.

use std::sync::Arc;

use pairloom_core::counts::{CorpusSpecials, CountOptions, Counter};
use pairloom_core::decoder::DecodeErrors;
use pairloom_core::encoder::EncoderOptions;
use pairloom_core::format::{self, CallerSettings, gpt2};
use pairloom_core::model::CheckedColumns;
use pairloom_core::monitor::Silent;
use pairloom_core::pretokens::{Pretokenizer, patterns_of};
use pairloom_core::special::SpecialTokens;
use pairloom_core::train::{self, MergeOptions, TieBreak};
use pairloom_core::vocabulary::Vocabulary;
use pairloom_core::{Error, Result, Tokenizer};

/// Longer tokens' merges are not listed: finding them takes time quadratic in the token's length.
const MAX_TREE_BYTES: usize = 4096;

/// Loads a file of any format; with `merges`, GPT-2's vocab.json and merges.txt. `pattern`, if not empty, is for files that
/// store none.
pub fn load(data: &[u8], merges: &[u8], pattern: &str) -> Result<Tokenizer> {
    let pattern = Some(pattern).filter(|pattern| !pattern.is_empty());
    let model = if merges.is_empty() {
        format::read_any(data, "the file", pattern)?
    } else {
        let patterns = pattern.map(patterns_of).transpose()?;
        let settings = CallerSettings { patterns, ..CallerSettings::default() };
        gpt2::read(data, "vocab.json", merges, "merges.txt", settings)?
    };
    Tokenizer::from_model(model, encoder_options())
}

/// Trains on one text. Ids 0 to 255 are the bytes by value; then come the merges.
pub fn train(text: &str, pattern: &str, n_merges: usize, tie_break: TieBreak) -> Result<Tokenizer> {
    let patterns = patterns_of(pattern)?;
    let options = CountOptions {
        pretokenizer: Arc::new(Pretokenizer::sequence(&patterns)?),
        specials: Arc::new(SpecialTokens::none()),
        corpus_specials: CorpusSpecials::Text,
        threads: 1,
        max_memory: None,
    };
    let mut counter = Counter::new(options)?;
    counter.count_texts(&[text], &Silent)?;
    let counts = counter.finish()?;
    let options = MergeOptions { tie_break, ..MergeOptions::new(n_merges) };
    let merges = train::train(counts.columns(), &options, &Silent)?.merges;
    let columns = CheckedColumns::from_pairs(&merges, &options.byte_order, 0, 256)?;
    Tokenizer::new(&columns, false, SpecialTokens::none(), &patterns, Vec::new(), encoder_options())
}

/// Returns the bytes of ids; with `is_text`, a text in which the tokenizer's rule has replaced malformed UTF-8.
pub fn decode(tokenizer: &Tokenizer, ids: &[u32], is_text: bool) -> Result<Vec<u8>> {
    const HINT: &str = "; the ids end or start inside a character: decodeBytes(ids) returns the bytes";
    if !is_text {
        let mut bytes = Vec::new();
        tokenizer.decoder().decode(ids, DecodeErrors::Strict, &mut bytes)?;
        return Ok(bytes);
    }
    tokenizer.decode(ids).map(String::into_bytes).map_err(|error| match error {
        Error::InvalidUtf8 { path, offset, .. } => Error::InvalidUtf8 { path, offset, hint: HINT },
        other => other,
    })
}

/// Returns the merges that make a token from its bytes, in the encoder's order: rank, left, right and merged id of each.
/// Empty if merging does not make the token, or if it is a single byte.
pub fn merges_of(vocabulary: &Vocabulary, id: u32) -> Vec<[u32; 4]> {
    let bytes = vocabulary.token(id).unwrap_or_default();
    let symbols: Option<Vec<u32>> = match bytes.len() {
        0..=MAX_TREE_BYTES => bytes.iter().map(|&byte| vocabulary.id_of_byte(byte)).collect(),
        _ => None,
    };
    let mut symbols = symbols.unwrap_or_default();
    let mut done = Vec::new();
    // The definition: merge the pair of lowest rank, of equals the leftmost, until no pair merges.
    loop {
        let pairs = symbols.windows(2).enumerate();
        let ranked = pairs.filter_map(|(at, two)| Some((vocabulary.pair(two[0], two[1])?, at)));
        let Some(((rank, merged), at)) = ranked.min_by_key(|&((rank, _), at)| (rank, at)) else { break };
        done.push([rank, symbols[at], symbols[at + 1], merged]);
        symbols.splice(at..at + 2, [merged]);
    }
    if symbols == [id] { done } else { Vec::new() }
}

/// A small cache, since a page encodes little at a time.
fn encoder_options() -> EncoderOptions {
    EncoderOptions { cache_bytes: 4 << 20, ..EncoderOptions::default() }
}
