//! Encodes pretokens of several words, such as lines: looks words up like pretokens, then makes the merges that cross
//! words.
//!
//! Consider the merges that come before the first whose token crosses words, which is to say: has a space after a
//! character that is not white space. They never join anything across such a boundary, nor across any other that none
//! of their tokens spans. So their result is found for each part between boundaries on its own, in batches and with a
//! cache. That leaves the other merges some tens of symbols a line instead of hundreds of bytes. The ids are exact,
//! since a merge of lower rank comes first wherever it is.
//!
//! Most of these symbols stay as they are. Each token of the other merges is a sequence of them. So two symbols that
//! are adjacent in none of these sequences are never joined ([`Joints`]), and the few symbols between two such places
//! are merged on their own.
//!
//! Superwords, which are tokens that cross words, are learned after words, so nearly all merges of words come first.
//! If a vocabulary crosses words from its first merges on, this is of no use. If no token does, as with GPT-2's tokens
//! and a pattern that keeps lines whole, the ids of the words are the result.
//!
//! Lines hardly ever repeat, so they are not looked up as a whole where most of a text is lines: that made text seen
//! for the first time half as fast, and text seen before twice as fast.

use std::sync::Arc;

use super::merge::symbols;
use super::output::Output;
use super::pretokens_of_text::{DocumentEnds, Pretokens};
use crate::error::Result;
use crate::memory::{TryReserve, filled};
use crate::monitor::OnProgress;
use crate::vocabulary::{NONE, Vocabulary};

/// Pretokens shorter than this are merged from bytes in less time.
const MIN_BYTES: usize = 17;

/// Words are used if at least one in this many merges comes before the first that crosses words.
const MAX_MERGES_PER_WORD_MERGE: usize = 4;

/// How many pretokens are sampled to see whether any has several words.
const SAMPLE: usize = 8;

/// The number of lines whose words are looked up together.
const LINES: usize = 64;

const WHAT: &str = "the words of a pretoken";

/// Appends the ids of words to a vector, and records the number of ids at the end of each line.
pub(super) type EncodeWords =
    Box<dyn Fn(Pretokens<'_>, DocumentEnds<'_>, &mut Vec<u32>, OnProgress<'_>) -> Result<()> + Send + Sync>;

/// Finds the ids of words.
pub(super) struct Words {
    vocabulary: Arc<Vocabulary>,
    encode: EncodeWords,
    /// `None` if there are no merges that cross words.
    joints: Option<Joints>,
}

/// Buffers of a thread.
#[derive(Default)]
pub(super) struct WordBuffers {
    ends: Vec<u32>,
    /// The number of words, and of ids, up to the end of each line.
    n_words: Vec<usize>,
    n_ids: Vec<usize>,
    ids: Vec<u32>,
}

impl Words {
    /// Finds the words of a vocabulary; `None` if they are of no use. `encoder` makes the encoder for the vocabulary
    /// of words.
    pub(super) fn new(
        all: &Arc<Vocabulary>,
        encoder: impl Fn(Arc<Vocabulary>) -> Result<EncodeWords>,
    ) -> Result<Option<Box<Self>>> {
        if all.characters().is_some() {
            return Ok(None);
        }
        let merges = all.merges();
        let is_superword = |merge: &[u32; 3]| all.token(merge[2]).is_some_and(crosses_words);
        let n_first = merges.iter().position(is_superword).unwrap_or(merges.len());
        if n_first < merges.len() / MAX_MERGES_PER_WORD_MERGE {
            return Ok(None);
        }
        let has_superwords = n_first < merges.len();
        let vocabulary = if has_superwords || all.ignores_merges() {
            Arc::new(all.restricted_to(&merges[..n_first])?)
        } else {
            Arc::clone(all)
        };
        let mut joints = None;
        if has_superwords {
            // `restricted_to` omits a merge if a later one makes a part of it. No joint has such a merge, so lines are
            // encoded whole then.
            if vocabulary.merges().len() == n_first {
                joints = Joints::new(all, &vocabulary, &merges[n_first..])?;
            }
            if joints.is_none() {
                return Ok(None);
            }
        }
        let encode = encoder(Arc::clone(&vocabulary))?;
        Ok(Some(Box::new(Words { vocabulary, encode, joints })))
    }

    /// Appends the ids of pretokens, which do not contain the byte 0xff, to `output`.
    pub(super) fn encode<S: Output>(
        &self,
        all: &Vocabulary,
        buffers: &mut WordBuffers,
        pretokens: Pretokens<'_>,
        mut documents: DocumentEnds<'_>,
        output: &mut S,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        let WordBuffers { ends, n_words, n_ids, ids } = buffers;
        let (mut start, mut n_before) = (pretokens.start, 0);
        documents.record_ends(0, output.n());
        for lines in pretokens.ends.chunks(LINES) {
            let lines = Pretokens { start, ends: lines, ..pretokens };
            let ends = self.cut_into_words(lines, ends, n_words)?;
            ids.clear();
            n_ids.clear();
            n_ids.grow(n_words.len(), WHAT)?;
            let word_counts = DocumentEnds { left: n_words, n_ids };
            (self.encode)(Pretokens { ends, ..lines }, word_counts, ids, on_progress)?;
            let mut first = 0;
            for (number, &n) in n_ids.iter().enumerate() {
                let whole = if all.ignores_merges() { all.id_of(lines.get(number)) } else { None };
                match whole {
                    Some(id) => output.put(id)?,
                    None => {
                        let n_left = match &self.joints {
                            Some(joints) => joints.merge(all, &mut ids[first..n], on_progress)?,
                            None => n - first,
                        };
                        output.extend(ids[first..first + n_left].iter().copied())?;
                    }
                }
                first = n;
                documents.record_ends(n_before + number + 1, output.n());
            }
            if output.is_full() {
                return Ok(());
            }
            n_before += n_ids.len();
            start = lines.ends[lines.ends.len() - 1] as usize;
        }
        Ok(())
    }

    /// Sets `n_words` to the number of words up to the end of each pretoken, and returns the ends of the words. `ends`
    /// is a buffer, which is cleared only when it grows.
    fn cut_into_words<'e>(
        &self,
        pretokens: Pretokens<'_>,
        ends: &'e mut Vec<u32>,
        n_words: &mut Vec<usize>,
    ) -> Result<&'e [u32]> {
        n_words.clear();
        n_words.grow(pretokens.ends.len(), WHAT)?;
        let mut start = pretokens.start;
        let n_bytes = pretokens.ends.last().map_or(0, |&end| end as usize - start);
        if ends.len() < n_bytes {
            ends.try_resize(n_bytes, 0, WHAT)?;
        }
        let mut n = 0;
        for &end in pretokens.ends {
            let end = end as usize;
            n += self.vocabulary.part_ends(&pretokens.text[start..end], start as u32, &mut ends[n..]);
            n_words.push(n);
            start = end;
        }
        Ok(&ends[..n])
    }
}

/// The pairs of symbols that are adjacent in a token: one bit for each hash, so that a few other pairs are found too.
struct Joints {
    bits: Vec<u64>,
    /// The hash of a pair is shifted down by this.
    shift: u32,
}

impl Joints {
    /// Finds the pairs in the tokens of `merges`, whose symbols are the tokens of `words`. `None` if several merges
    /// make one token, or a part is made by a later merge: then a token can be several sequences.
    fn new(all: &Vocabulary, words: &Vocabulary, merges: &[[u32; 3]]) -> Result<Option<Self>> {
        // The first and the last symbol of each token known so far.
        let mut bounds = filled(all.n_ids(), [NONE; 2], WHAT)?;
        for (id, _) in words.tokens() {
            bounds[id as usize] = [id; 2];
        }
        let n_bits = (16 * merges.len()).next_power_of_two().max(64);
        let mut joints = Joints { bits: filled(n_bits / 64, 0, WHAT)?, shift: 64 - n_bits.ilog2() };
        for &[left, right, merged] in merges {
            let ([first, before], [after, last]) = (bounds[left as usize], bounds[right as usize]);
            if first == NONE || last == NONE || bounds[merged as usize][0] != NONE {
                return Ok(None);
            }
            bounds[merged as usize] = [first, last];
            let (word, bit) = joints.bit_of(before, after);
            joints.bits[word] |= bit;
        }
        Ok(Some(joints))
    }

    #[inline]
    fn bit_of(&self, before: u32, after: u32) -> (usize, u64) {
        let pair = u64::from(before) << 32 | u64::from(after);
        let place = pair.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift;
        ((place >> 6) as usize, 1 << (place & 63))
    }

    #[inline]
    fn may_have(&self, before: u32, after: u32) -> bool {
        let (word, bit) = self.bit_of(before, after);
        self.bits[word] & bit != 0
    }

    /// Merges the symbols of a pretoken in place; returns how many ids are left.
    fn merge(&self, all: &Vocabulary, ids: &mut [u32], on_progress: OnProgress<'_>) -> Result<usize> {
        let (mut n_left, mut first) = (0, 0);
        for at in 1..=ids.len() {
            if at < ids.len() && self.may_have(ids[at - 1], ids[at]) {
                continue;
            }
            let n = symbols::merge(all, &mut ids[first..at], on_progress)?;
            for index in first..first + n {
                ids[n_left] = ids[index];
                n_left += 1;
            }
            first = at;
        }
        Ok(n_left)
    }
}

/// Returns whether the pretokens are long on average, and some of a sample have several words.
#[inline]
pub(super) fn are_lines(pretokens: &Pretokens<'_>) -> bool {
    let Pretokens { text, start, ends } = *pretokens;
    let end = ends.last().map_or(start, |&end| end as usize);
    end - start >= MIN_BYTES * ends.len()
        && (0..ends.len()).step_by(ends.len() / SAMPLE + 1).any(|number| is_line(pretokens.get(number)))
        && memchr::memchr(0xff, &text[start..end]).is_none()
}

/// Returns whether a pretoken is long and has several words.
pub(super) fn is_line(pretoken: &[u8]) -> bool {
    pretoken.len() >= MIN_BYTES && u32::try_from(pretoken.len()).is_ok() && crosses_words(pretoken)
}

/// Whether a space follows a character that is no white space.
fn crosses_words(text: &[u8]) -> bool {
    text.utf8_chunks().any(|chunk| {
        let characters = chunk.valid().chars();
        characters.clone().zip(characters.skip(1)).any(|(one, next)| next == ' ' && !one.is_whitespace())
    })
}
