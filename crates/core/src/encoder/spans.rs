//! The loop over pretokens: find each in the cache, merge those that are new.
//!
//! Enters: text and the ends of its pretokens. Leaves: ids, in a sink. Pretokens are taken [`BATCH`] at a time
//! in two passes: the first makes their keys and asks for their buckets, a batch ahead of use, and then for what lies
//! in the arena of the long ones; the second reads the buckets and writes as many ids for each pretoken as an entry
//! holds, of which the cursor keeps as many as there are. How keys are made and buckets read is [`super::probe`]'s.
//!
//! A pretoken that is not in the cache is first cut wherever no token reaches across, since no merge ever
//! will: in writing without spaces that leaves single characters, which are in the cache. What remains is
//! merged, by [`scan`] if it is short, by [`heap`] if it is long, by [`places`] if it is very long.

use std::ops::Range;

use super::Encoder;
use super::cache::{Cache, Known};
use super::heap::{self, HeapScratch};
use super::key::{CACHED_BYTES, Key};
use super::places;
#[cfg(target_arch = "x86_64")]
use super::probe::Avx512;
use super::probe::{BATCH, Batch, Padded, Portable, Probe};
use super::scan::{self, ScanScratch};
use super::sink::Sink;
use crate::error::Result;
use crate::monitor::Pulse;
use crate::vocabulary::Vocabulary;

/// From more bytes on a part of a pretoken is merged by [`places`], not by [`heap`].
const VERY_LONG: usize = 1 << 15;

/// Bytes of a long pretoken that are merged between two calls of a pulse: milliseconds of work.
const BYTES_PER_PULSE: usize = 1 << 16;

/// A thread's table and the buffers of merging.
pub(super) struct Merger {
    known: Known,
    /// The batch at hand and the next one.
    batches: [Batch; 2],
    scan: ScanScratch,
    heap: HeapScratch,
    /// The ids of the pretoken at hand.
    ids: Vec<u32>,
}

impl Merger {
    pub(super) fn new(known: Known) -> Self {
        Merger {
            known,
            batches: [Batch::new(), Batch::new()],
            scan: ScanScratch::default(),
            heap: HeapScratch::default(),
            ids: Vec::new(),
        }
    }

    /// Uses the newest table of the cache.
    pub(super) fn refresh(&mut self, cache: &Cache) {
        cache.refresh(&mut self.known);
    }

    /// Encodes the pretokens of `text` that end at `ends`, the first of which begins at `start`.
    ///
    /// Stops early when the sink is full.
    pub(super) fn encode<S: Sink>(
        &mut self,
        encoder: &Encoder,
        text: &[u8],
        start: usize,
        ends: &[usize],
        sink: &mut S,
        pulse: Pulse<'_>,
    ) -> Result<()> {
        self.refresh(&encoder.cache);
        #[cfg(target_arch = "x86_64")]
        if encoder.cache.hasher.is_wide() {
            // SAFETY: The hasher has asked the processor.
            return unsafe { self.encode_avx512(encoder, text, start, ends, sink, pulse) };
        }
        self.encode_by::<Portable, S>(encoder, text, start, ends, sink, pulse)
    }

    /// The same, compiled for a processor that has what [`Hasher::is_wide`](super::key::Hasher::is_wide) asks for.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx2,aes,vaes,bmi1,bmi2,lzcnt,popcnt")]
    fn encode_avx512<S: Sink>(
        &mut self,
        encoder: &Encoder,
        text: &[u8],
        start: usize,
        ends: &[usize],
        sink: &mut S,
        pulse: Pulse<'_>,
    ) -> Result<()> {
        self.encode_by::<Avx512, S>(encoder, text, start, ends, sink, pulse)
    }

    /// The same by the instructions of `P`, which the processor has.
    #[inline(always)]
    fn encode_by<P: Probe, S: Sink>(
        &mut self,
        encoder: &Encoder,
        text: &[u8],
        start: usize,
        ends: &[usize],
        sink: &mut S,
        pulse: Pulse<'_>,
    ) -> Result<()> {
        if encoder.cache.is_narrow() {
            self.encode_as::<P, true, S>(encoder, text, start, ends, sink, pulse)
        } else {
            self.encode_as::<P, false, S>(encoder, text, start, ends, sink, pulse)
        }
    }

    /// The same, once it is known how the cache packs ids.
    #[inline(always)]
    fn encode_as<P: Probe, const NARROW: bool, S: Sink>(
        &mut self,
        encoder: &Encoder,
        text: &[u8],
        mut start: usize,
        ends: &[usize],
        sink: &mut S,
        pulse: Pulse<'_>,
    ) -> Result<()> {
        let (padded, hasher) = (Padded::new(text), encoder.cache.hasher);
        let mut chunks = ends.chunks(BATCH);
        let Some(mut ends) = chunks.next() else { return Ok(()) };
        let mut current = 0;
        // SAFETY: The processor has the instructions; ends ascend and lie within the text.
        unsafe {
            P::look_up(&mut self.batches[current], hasher, self.known.table.view(), &padded, start, ends)
        };
        loop {
            let table = self.known.table.view();
            self.batches[current].prefetch_records(&self.known.table);
            let end = ends.last().copied().unwrap_or(start);
            let next = chunks.next();
            if let Some(next) = next {
                // SAFETY: as above.
                unsafe { P::look_up(&mut self.batches[current ^ 1], hasher, table, &padded, end, next) };
            }
            let mut n_done = 0;
            loop {
                n_done += self.put_known::<P, NARROW, S>(current, n_done..ends.len(), sink)?;
                let Some(&end) = ends.get(n_done) else { break };
                let begin = if n_done == 0 { start } else { ends[n_done - 1] };
                self.encode_slowly(encoder, current, n_done, &text[begin..end], sink, pulse)?;
                n_done += 1;
            }
            match next {
                Some(next) if !sink.is_full() => (start, ends) = (end, next),
                _ => return Ok(()),
            }
            current ^= 1;
        }
    }

    /// Puts the ids of some pretokens of a batch up to the first whose ids are not in its entry; gives
    /// how many that were.
    #[inline(always)]
    fn put_known<P: Probe, const NARROW: bool, S: Sink>(
        &self,
        batch: usize,
        pretokens: Range<usize>,
        sink: &mut S,
    ) -> Result<usize> {
        let table = self.known.table.view();
        let batch = &self.batches[batch];
        let (keys, places) = (&batch.keys[pretokens.clone()], &batch.places[pretokens]);
        let mut cursor = sink.open(keys.len())?;
        let mut n_put = 0;
        for (key, &place) in keys.iter().zip(places) {
            // SAFETY: The processor has the instructions.
            let Some(ids) = (unsafe { P::inline_ids(table, key, place) }) else { break };
            // SAFETY: The cursor was opened for all of these pretokens.
            unsafe { S::put_entry::<NARROW>(&mut cursor, ids) };
            n_put += 1;
        }
        // SAFETY: The cursor is the last one opened; the sink was not touched.
        unsafe { sink.close(cursor) };
        Ok(n_put)
    }

    /// Encodes pretoken `index` of a batch, whose ids are not in its entry: they are in the arena, or not known.
    #[inline(always)]
    fn encode_slowly<S: Sink>(
        &mut self,
        encoder: &Encoder,
        batch: usize,
        index: usize,
        pretoken: &[u8],
        sink: &mut S,
        pulse: Pulse<'_>,
    ) -> Result<()> {
        let (key, place) = (self.batches[batch].keys[index], self.batches[batch].places[index]);
        match self.known.table.spilled_ids(key, place, pretoken) {
            Some(ids) => sink.put_stored(ids),
            None => self.encode_new(encoder, pretoken, key, sink, pulse),
        }
    }

    /// Encodes a pretoken that the cache does not know.
    #[inline(never)]
    fn encode_new<S: Sink>(
        &mut self,
        encoder: &Encoder,
        pretoken: &[u8],
        key: Key,
        sink: &mut S,
        pulse: Pulse<'_>,
    ) -> Result<()> {
        let vocabulary = &encoder.vocabulary;
        self.refresh(&encoder.cache);
        // The table may be another one than that for which the batch was looked up.
        let place = encoder.cache.hasher.place(key);
        if vocabulary.is_whole_first()
            && let Some(id) = vocabulary.id_of(pretoken)
        {
            if pretoken.len() <= CACHED_BYTES {
                self.ids.clear();
                self.ids.push(id);
                self.learn(encoder, key, place, pretoken, 0);
            }
            return sink.put(id);
        }
        if pretoken.len() > CACHED_BYTES {
            let mut n_bytes = 0;
            for part in vocabulary.parts(pretoken) {
                n_bytes += part.len();
                if n_bytes >= BYTES_PER_PULSE {
                    n_bytes = 0;
                    pulse(0)?;
                }
                self.ids.clear();
                // The former has a list for each rank: too many where ids are ranks and far apart.
                if part.len() > VERY_LONG.max(vocabulary.n_ranks() / 8) {
                    places::merge(vocabulary, part, |id| sink.put(id), pulse)?;
                } else if part.len() > CACHED_BYTES {
                    heap::merge(vocabulary, part, &mut self.heap, |id| sink.put(id))?;
                } else {
                    self.encode_part(encoder, part)?;
                    sink.extend(self.ids.iter().copied())?;
                }
            }
            return Ok(());
        }
        self.ids.clear();
        if !self.known.append_ids(key, place, pretoken, &mut self.ids) {
            self.merge_parts(encoder, pretoken)?;
            self.learn(encoder, key, place, pretoken, 0);
        }
        sink.extend(self.ids.iter().copied())
    }

    /// Remembers that `pretoken`, whose key and place these are, has the last of the `ids`, from number `begin` on.
    fn learn(&mut self, encoder: &Encoder, key: Key, place: u32, pretoken: &[u8], begin: usize) {
        if encoder.cache.insert(&mut self.known, key, place, pretoken, &self.ids[begin..]) {
            encoder.refresh_idle();
        }
    }

    /// Merges at most [`CACHED_BYTES`] bytes that the cache does not know; appends to `ids`.
    fn merge_parts(&mut self, encoder: &Encoder, pretoken: &[u8]) -> Result<()> {
        let vocabulary = &encoder.vocabulary;
        if pretoken.is_ascii() {
            // Hardly ever falls apart.
            return self.merge(vocabulary, pretoken);
        }
        for part in vocabulary.parts(pretoken) {
            if part.len() == pretoken.len() {
                self.merge(vocabulary, part)?;
            } else {
                self.encode_part(encoder, part)?;
            }
        }
        Ok(())
    }

    /// Appends the ids of a part of a pretoken to `ids`.
    fn encode_part(&mut self, encoder: &Encoder, part: &[u8]) -> Result<()> {
        let mut key = encoder.cache.hasher.key(part);
        if encoder.vocabulary.is_whole_first() {
            // A part that is a token need not become that token, a whole pretoken does.
            key = key.of_part();
        }
        let place = encoder.cache.hasher.place(key);
        if !self.known.append_ids(key, place, part, &mut self.ids) {
            let before = self.ids.len();
            self.merge(&encoder.vocabulary, part)?;
            self.learn(encoder, key, place, part, before);
        }
        Ok(())
    }

    /// Merges at most [`CACHED_BYTES`] bytes; appends to `ids`.
    fn merge(&mut self, vocabulary: &Vocabulary, part: &[u8]) -> Result<()> {
        if part.len() <= scan::MOST_BYTES {
            return scan::merge(vocabulary, part, &mut self.scan, &mut self.ids);
        }
        heap::merge(vocabulary, part, &mut self.heap, |id| {
            self.ids.push(id);
            Ok(())
        })
    }
}
