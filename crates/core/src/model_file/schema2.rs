//! Schema 2: tokens that merges make are derived from the merges, the others are listed; ids are run-length encoded.

use hashbrown::HashSet;

use crate::error::{Error, Result, quoted};
use crate::memory::TryReserve;
use crate::model::Columns;
use crate::pretokens::UNICODE_VERSION;
use crate::vocabulary::{ById, Tokens};

use super::json::{Json, Within};
use super::{DecodeErrors, File, LARGEST_ID, Model, base64, in_file, read_id, read_specials};

const KEYS: [&str; 13] = [
    "decode_errors",
    "ignore_merges",
    "made_ids",
    "merges",
    "pattern",
    "plain_specials",
    "rule",
    "schema_version",
    "special_tokens",
    "token_bytes",
    "token_ids",
    "token_lengths",
    "unicode_version",
];
const OPTIONAL: [&str; 6] =
    ["normalizer", "post_processor", "priorities", "special_rules", "tokenizer_config", "training"];

/// Longer tokens must be listed even if a merge makes them; otherwise forty doublings would take a terabyte.
pub(super) const MAX_DERIVED_BYTES: usize = 256;

/// Reads a file of schema 2.
pub(super) fn read(file: &File<'_>) -> Result<Model> {
    file.check_keys(&KEYS, &OPTIONAL)?;
    let decode_errors = file.value("decode_errors", |json| choice(json, &DecodeErrors::NAMED))?;
    let ignore_merges = file.value("ignore_merges", |json| json.boolean())?;
    let merged_runs = file.value("made_ids", numbers)?;
    let flat = file.value("merges", numbers)?;
    let normalizer = file.optional("normalizer", texts)?.unwrap_or_default();
    let patterns = file.value("pattern", read_patterns)?;
    let plain_specials = file.value("plain_specials", texts)?;
    let post_processor = file.optional("post_processor", |json| Ok(json.string()?.into_owned()))?;
    let priorities = file.optional("priorities", numbers)?;
    let rules = [("pairs", (false, false)), ("ranks", (true, false)), ("priorities", (false, true))];
    let (ranks, has_priorities) = file.value("rule", |json| choice(json, &rules))?;
    let special_rules = file.optional("special_rules", pairs)?.unwrap_or_default();
    let special_tokens = file.value("special_tokens", read_specials)?;
    let mut blob = Vec::new();
    file.value("token_bytes", |json| base64::append(json.string()?.as_bytes(), &mut blob))?;
    let token_runs = file.value("token_ids", numbers)?;
    let lengths = file.value("token_lengths", numbers)?;
    let tokenizer_config = file.optional("tokenizer_config", |json| Ok(json.string()?.into_owned()))?;
    let training = file.optional("training", |json| Ok(json.string()?.into_owned()))?;
    let unicode_version = file.value("unicode_version", |json| json.string())?;
    if unicode_version != UNICODE_VERSION {
        return Err(Error::Model(format!(
            "unicode_version is {}; this pairloom splits text by {UNICODE_VERSION}, so ids could differ: use the version of \
             pairloom that saved the file",
            quoted(&unicode_version)
        )));
    }
    let mut tokens = listed(blob, &token_runs, &lengths)?;
    if ranks && !flat.is_empty() {
        return Err(Error::Model(format!(
            "merges has {} numbers, but rule \"ranks\" has no merges; empty the list",
            flat.len()
        )));
    }
    if !flat.len().is_multiple_of(2) {
        return Err(Error::Model(format!("merges has {} numbers; it needs two for each merge", flat.len())));
    }
    if has_priorities != priorities.is_some() {
        return Err(Error::Model("priorities are allowed only with rule \"priorities\"".into()));
    }
    let merged_ids = expand(&merged_runs, flat.len() / 2).within(|| "made_ids".into())?;
    let n_listed = tokens.ids.len();
    derive(&mut tokens, &flat, &merged_ids)?;
    check_plain(&plain_specials, &special_tokens)?;
    let merges = rows(&flat, &merged_ids)?;
    // If every merge made a new token, its bytes are right, and no pair is repeated: it would have made an equal token.
    let checks_merges = tokens.ids.len() - n_listed < merged_ids.len();
    let columns = Columns { tokens: tokens.sorted()?, merges, ranks, ..Columns::default() };
    columns.check_tokens().map_err(in_file)?;
    if checks_merges {
        columns.check_merges().map_err(in_file)?;
    }
    let columns = columns.assume_checked();
    columns.check_specials(&special_tokens).map_err(in_file)?;
    let columns = match priorities {
        Some(priorities) => columns.with_priorities(priorities).map_err(in_file)?,
        None => columns,
    };
    Ok(Model {
        columns,
        ignore_merges,
        special_tokens,
        plain_specials,
        patterns,
        decode_errors,
        post_processor,
        tokenizer_config,
        normalizer,
        special_rules,
        training,
    })
}

/// Reads one of the given words.
fn choice<T: Copy>(json: &mut Json<'_>, choices: &[(&str, T)]) -> Result<T> {
    let word = json.string()?;
    let found = choices.iter().find(|(known, _)| *known == word);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<&str> = choices.iter().map(|(known, _)| *known).collect();
        Error::Model(format!("must be one of {}, not {}", known.join(", "), quoted(&word)))
    })
}

/// Reads a string, or a list of at least one string.
fn read_patterns(json: &mut Json<'_>) -> Result<Vec<String>> {
    if json.peek() != Some(b'[') {
        return Ok(vec![json.string()?.into_owned()]);
    }
    let texts = texts(json)?;
    if texts.is_empty() {
        return Err(Error::Model("the list is empty; add at least one pattern".into()));
    }
    Ok(texts)
}

/// Reads a list of strings.
fn texts(json: &mut Json<'_>) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    json.list(|json, _| texts.try_push(json.string()?.into_owned(), "texts"))?;
    Ok(texts)
}

/// Reads a flat list of texts as pairs.
fn pairs(json: &mut Json<'_>) -> Result<Vec<(String, String)>> {
    let texts = texts(json)?;
    let (pairs, rest) = texts.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(Error::Model(format!("has {} strings; it needs two for each rule", texts.len())));
    }
    let mut found = Vec::with_reserved(pairs.len(), "rules of special tokens")?;
    found.extend(pairs.iter().cloned().map(|[literal, rule]| (literal, rule)));
    Ok(found)
}

/// Checks that `plain` holds special tokens in ascending order.
fn check_plain(plain: &[String], specials: &[(String, u32)]) -> Result<()> {
    let known: HashSet<&str> = specials.iter().map(|(text, _)| text.as_str()).collect();
    if let Some(text) = plain.iter().find(|text| !known.contains(text.as_str())) {
        return Err(Error::Model(format!(
            "plain_specials contains {}, which is not a special token",
            quoted(text)
        )));
    }
    match plain.windows(2).find(|pair| pair[0] >= pair[1]) {
        None => Ok(()),
        Some(pair) => Err(Error::Model(format!(
            "plain_specials must be sorted, but {} is out of order",
            quoted(&pair[1])
        ))),
    }
}

/// Reads a list of numbers, none larger than the largest id.
fn numbers(json: &mut Json<'_>) -> Result<Vec<u32>> {
    let mut column = Vec::new();
    json.list(|json, index| column.try_push(read_id(json).within(|| format!("[{index}]"))?, "numbers"))?;
    Ok(column)
}

/// Expands runs (first, count, ...) to `n` ids. The sum of the counts is checked before anything is allocated.
fn expand(runs: &[u32], n: usize) -> Result<Vec<u32>> {
    if !runs.len().is_multiple_of(2) {
        return Err(Error::Model(format!("has {} numbers; it needs two for each run", runs.len())));
    }
    let mut n_left = n;
    for (index, &[first, count]) in runs.as_chunks().0.iter().enumerate() {
        let fits = count >= 1 && count as usize <= n_left && count - 1 <= LARGEST_ID - first;
        if !fits {
            return Err(Error::Model(format!(
                "run {index} has {count} ids from {first} on, but only {n_left} of {n} ids are left and the largest id is \
                 {LARGEST_ID}"
            )));
        }
        n_left -= count as usize;
    }
    if n_left > 0 {
        return Err(Error::Model(format!("the runs contain {} ids, but {n} are needed", n - n_left)));
    }
    let mut ids = Vec::with_reserved(n, "ids")?;
    for &[first, count] in runs.as_chunks().0 {
        ids.extend(first..=first + (count - 1));
    }
    Ok(ids)
}

/// Returns the tokens whose bytes the file lists; their ids must ascend.
fn listed(blob: Vec<u8>, runs: &[u32], lengths: &[u32]) -> Result<Tokens> {
    let mut ends = Vec::with_reserved(lengths.len(), "token lengths")?;
    let mut end = 0;
    for (index, &length) in lengths.iter().enumerate() {
        let n_left = blob.len() - end;
        if length == 0 || length as usize > n_left {
            return Err(Error::Model(format!(
                "token_lengths[{index}] is {length}, but only {n_left} bytes are left"
            )));
        }
        end += length as usize;
        ends.push(end as u64);
    }
    if end != blob.len() {
        return Err(Error::Model(format!(
            "token_bytes has {} bytes, but token_lengths add up to {end}",
            blob.len()
        )));
    }
    let ids = expand(runs, ends.len()).within(|| "token_ids".into())?;
    if let Some(pair) = ids.windows(2).find(|pair| pair[0] >= pair[1]) {
        return Err(Error::Model(format!("token_ids has {} after {}; ids must ascend", pair[1], pair[0])));
    }
    Ok(Tokens { ids, bytes: blob, ends })
}

/// Adds the tokens that merges make. Skips a merge whose result is known already; its parts can come later.
fn derive(tokens: &mut Tokens, flat: &[u32], merged_ids: &[u32]) -> Result<()> {
    let largest = tokens.ids.iter().chain(merged_ids).copied().max().unwrap_or(0);
    let mut index = ById::new(largest as usize + 1, tokens.ids.len() + merged_ids.len(), usize::MAX)?;
    for (token, &id) in tokens.ids.iter().enumerate() {
        index.set(id, token)?;
    }
    for (rank, (&[left, right], &id)) in flat.as_chunks().0.iter().zip(merged_ids).enumerate() {
        if index.get(id).is_some() {
            continue;
        }
        let (Some(first), Some(second)) = (index.get(left), index.get(right)) else {
            let part = if index.get(left).is_none() { left } else { right };
            return Err(Error::Model(format!(
                "merge {rank} uses id {part}, which is neither in token_ids nor made by an earlier merge"
            )));
        };
        let length = tokens.token(first).len() + tokens.token(second).len();
        if length > MAX_DERIVED_BYTES {
            return Err(Error::Model(format!(
                "merge {rank} makes a token of {length} bytes; tokens above {MAX_DERIVED_BYTES} bytes must be listed"
            )));
        }
        index.set(id, tokens.ids.len())?;
        tokens.push_joined(id, [first, second])?;
    }
    Ok(())
}

/// Returns left, right and merged id of each merge.
fn rows(flat: &[u32], merged_ids: &[u32]) -> Result<Vec<[u32; 3]>> {
    let mut rows = Vec::with_reserved(merged_ids.len(), "merges")?;
    let pairs = flat.as_chunks().0.iter();
    rows.extend(pairs.zip(merged_ids).map(|(&[left, right], &merged_id)| [left, right, merged_id]));
    Ok(rows)
}
