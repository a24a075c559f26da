//! BPE-dropout (Provilkov et al. 2020): merging that skips each possible merge with a given probability.
//!
//! Before each merge, the pairs that could merge are tried in the order in which they would be merged, lowest rank
//! first, leftmost first. Each is skipped with the given probability, and the first that is not skipped is merged. If
//! all are skipped the pretoken is finished. This has the same distribution as the paper's algorithm, which draws for
//! all pairs and takes the best of those that are left. `reference/dropout.py` is the definition, including the random
//! numbers.
//!
//! Cost: n log n, times 1 / (1 - probability).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::merge::spans::{Spans, candidate};
use super::worker::place;
use super::{Encoder, SpecialPolicy};
use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::monitor::{Monitor, report_progress};
use crate::pretokens::Place;
use crate::special::Finder;
use crate::vocabulary::Vocabulary;

/// Named in the message of [`Error::OutOfMemory`].
const WHAT: &str = "the merging of a pretoken";

/// Decides which merges are skipped, using SplitMix64 (Steele et al. 2014): the same numbers on every machine.
pub struct Dropout {
    /// A draw of 53 bits below this is a skip.
    threshold: u64,
    state: u64,
}

impl Dropout {
    /// Creates a sequence of draws in which a skip has the probability `threshold` / 2^53.
    pub fn new(threshold: u64, seed: u64) -> Self {
        Dropout { threshold, state: seed }
    }

    fn skips(&mut self) -> bool {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) >> 11 < self.threshold
    }
}

impl Encoder {
    /// Appends the ids of `text`, with merges skipped by `dropout`. Whole pretokens are not looked up in the
    /// vocabulary.
    pub fn encode_with_dropout(
        &self,
        text: &str,
        specials: SpecialPolicy<'_>,
        dropout: &mut Dropout,
        out: &mut Vec<u32>,
        monitor: &dyn Monitor,
    ) -> Result<()> {
        specials.check(0, text)?;
        if self.vocabulary().characters().is_some() || self.pretokenizer().leaves_words() {
            return Err(Error::Invalid(
                "dropout needs a tokenizer that merges bytes; this one merges characters (like SentencePiece) or marks the \
                 ends of words (like CLIP)"
                    .into(),
            ));
        }
        let mut on_progress = report_progress(monitor, text.len());
        let recognised = self.recognised(specials);
        let mut finder = recognised.map(|specials| Finder::new(specials, text));
        let vocabulary = self.vocabulary();
        let drops_missing = self.pretokenizer().drops_missing_bytes();
        let mut kept = Vec::new();
        let mut at = 0;
        loop {
            let found = recognised.zip(finder.as_mut().and_then(Iterator::next));
            let end = found.map_or(text.len(), |(_, found)| found.start);
            let document = &*self.pretokenizer().normalized(&text[at..end], place(at, Place::Start))?;
            let mut start = 0;
            for end in self.pretokenizer().ends_with_progress(document, &mut |_| on_progress(0))? {
                let mut pretoken = &document.as_bytes()[start..end];
                if drops_missing {
                    kept.clear();
                    kept.try_reserve(pretoken.len()).map_err(Error::out_of_memory(WHAT))?;
                    kept.extend(pretoken.iter().filter(|&&byte| vocabulary.id_of_byte(byte).is_some()));
                    pretoken = &kept;
                }
                if !pretoken.is_empty() {
                    merge(vocabulary, pretoken, dropout, out)?;
                }
                on_progress(end - start)?;
                start = end;
            }
            let Some((specials, found)) = found else { return Ok(()) };
            out.try_push(specials.tokens()[found.index].1, WHAT)?;
            at = found.end;
        }
    }
}

fn merge(vocabulary: &Vocabulary, pretoken: &[u8], dropout: &mut Dropout, out: &mut Vec<u32>) -> Result<()> {
    // Pairs in the order in which they are tried. Stale ones stay until they are popped.
    let mut heap: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
    let push = |heap: &mut BinaryHeap<_>, rank, at| {
        heap.try_reserve(1).map_err(Error::out_of_memory(WHAT))?;
        heap.push(Reverse(candidate(rank, at)));
        Ok(())
    };
    let mut spans = Spans::new(vocabulary, pretoken, |rank, at| push(&mut heap, rank, at))?;
    let mut skipped = Vec::new();
    while let Some(Reverse(least)) = heap.pop() {
        let (rank, at) = ((least >> 32) as u32, least as u32);
        if spans.pair(rank, at).is_none() {
            continue;
        }
        if dropout.skips() {
            skipped.try_push(Reverse(least), WHAT)?;
            continue;
        }
        heap.try_reserve(skipped.len()).map_err(Error::out_of_memory(WHAT))?;
        heap.extend(skipped.drain(..));
        spans.merge(rank, at, |rank, at| push(&mut heap, rank, at))?;
    }
    spans.put_all(|id| out.try_push(id, WHAT))
}
