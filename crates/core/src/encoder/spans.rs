//! The loop over pretokens: find each in the cache, merge those that are new.
//!
//! Enters: text and the ends of its pretokens. Leaves: ids, in a sink. Pretokens are taken [`BATCH`] at a time
//! in two passes: the first makes their keys and asks for their buckets ahead of use (and for the bytes of the
//! long ones, which lie elsewhere), the second reads the buckets and writes four ids for each pretoken, of
//! which the cursor keeps as many as there are.
//!
//! A pretoken that is not in the cache is first cut wherever no token reaches across, since no merge ever
//! will: in writing without spaces that leaves single characters, which are in the cache. What remains is
//! merged, by [`scan`] if it is short, by [`heap`] if it is not.

use super::EncoderOptions;
use super::cache::Cache;
use super::heap::{self, HeapScratch};
use super::key::{CACHED_BYTES, INLINE_BYTES, Key};
use super::scan::{self, ScanScratch};
use super::sink::Sink;
use crate::error::Result;
use crate::vocabulary::Vocabulary;

/// Pretokens between asking for their buckets and reading them, at most.
const BATCH: usize = 64;

/// A thread's cache and the buffers of merging.
pub(super) struct Merger {
    cache: Cache,
    /// The batch at hand.
    keys: [Key; BATCH],
    places: [u32; BATCH],
    /// Which of the batch are too long to be their own keys.
    long: [u8; BATCH],
    scan: ScanScratch,
    heap: HeapScratch,
    /// The ids of the pretoken at hand.
    ids: Vec<u32>,
}

impl Merger {
    pub(super) fn new(options: EncoderOptions, n_ids: usize) -> Result<Self> {
        Ok(Merger {
            cache: Cache::new(options, n_ids)?,
            keys: [Key::UNCACHED; BATCH],
            places: [0; BATCH],
            long: [0; BATCH],
            scan: ScanScratch::default(),
            heap: HeapScratch::default(),
            ids: Vec::new(),
        })
    }

    /// Encodes the pretokens of `text` that end at `ends`, the first of which begins at `start`.
    ///
    /// Stops early when the sink is full.
    pub(super) fn encode<S: Sink>(
        &mut self,
        vocabulary: &Vocabulary,
        text: &[u8],
        start: usize,
        ends: &[usize],
        sink: &mut S,
    ) -> Result<()> {
        if self.cache.is_narrow {
            self.encode_as::<true, S>(vocabulary, text, start, ends, sink)
        } else {
            self.encode_as::<false, S>(vocabulary, text, start, ends, sink)
        }
    }

    /// The same, once it is known how the cache packs ids.
    fn encode_as<const NARROW: bool, S: Sink>(
        &mut self,
        vocabulary: &Vocabulary,
        text: &[u8],
        mut start: usize,
        ends: &[usize],
        sink: &mut S,
    ) -> Result<()> {
        let padded = Padded::new(text);
        for ends in ends.chunks(BATCH) {
            if sink.is_full() {
                break;
            }
            self.look_up(&padded, start, ends);
            let mut n_done = 0;
            loop {
                n_done += self.put_known::<NARROW, S>(n_done, ends.len(), sink)?;
                let Some(&end) = ends.get(n_done) else { break };
                let begin = if n_done == 0 { start } else { ends[n_done - 1] };
                self.encode_slowly(vocabulary, &text[begin..end], self.keys[n_done], sink)?;
                n_done += 1;
            }
            start = ends.last().copied().unwrap_or(start);
        }
        Ok(())
    }

    /// Makes the keys of a batch and starts loading their buckets, and what the buckets refer to.
    #[inline(always)]
    fn look_up(&mut self, padded: &Padded<'_>, mut start: usize, ends: &[usize]) {
        let (hasher, table) = (self.cache.hasher, self.cache.view());
        let slots = self.keys.iter_mut().zip(&mut self.places);
        let mut n_long = 0;
        for (index, ((key, place), &end)) in slots.zip(ends).enumerate() {
            let len = end - start;
            self.long[n_long % BATCH] = index as u8;
            n_long += usize::from(len > INLINE_BYTES);
            *key = if len <= INLINE_BYTES {
                hasher.short_key(padded.load(start), len)
            } else if len <= CACHED_BYTES {
                hasher.long_key(&padded.text[start..end])
            } else {
                Key::UNCACHED
            };
            *place = hasher.place(*key) as u32;
            table.prefetch(*place);
            start = end;
        }
        for &index in &self.long[..n_long] {
            let index = usize::from(index) % BATCH;
            self.cache.prefetch_record(self.keys[index], self.places[index]);
        }
    }

    /// Puts the ids of pretokens `from..to` of the batch up to the first whose ids are not in its entry; gives
    /// how many that were.
    #[inline(always)]
    fn put_known<const NARROW: bool, S: Sink>(&self, from: usize, to: usize, sink: &mut S) -> Result<usize> {
        let table = self.cache.view();
        let (keys, places) = (&self.keys[from..to], &self.places[from..to]);
        let mut cursor = sink.open(keys.len())?;
        let mut n_put = 0;
        for (&key, &place) in keys.iter().zip(places) {
            let Some(ids) = table.inline_ids(key, place) else { break };
            // SAFETY: The cursor was opened for all of these pretokens.
            unsafe { S::put_entry::<NARROW>(&mut cursor, ids) };
            n_put += 1;
        }
        // SAFETY: The cursor is the last one opened; the sink was not touched.
        unsafe { sink.close(cursor) };
        Ok(n_put)
    }

    /// Encodes a pretoken whose ids are not in its entry: they are in the arena, or not known.
    #[inline(never)]
    fn encode_slowly<S: Sink>(
        &mut self,
        vocabulary: &Vocabulary,
        pretoken: &[u8],
        key: Key,
        sink: &mut S,
    ) -> Result<()> {
        let place = self.cache.hasher.place(key) as u32;
        self.ids.clear();
        if !self.cache.append_ids(key, place, pretoken, &mut self.ids) {
            return self.encode_new(vocabulary, pretoken, key, place, sink);
        }
        sink.extend(&self.ids)
    }

    /// Encodes a pretoken that the cache does not know.
    fn encode_new<S: Sink>(
        &mut self,
        vocabulary: &Vocabulary,
        pretoken: &[u8],
        key: Key,
        place: u32,
        sink: &mut S,
    ) -> Result<()> {
        if vocabulary.is_whole_first()
            && let Some(id) = vocabulary.id_of(pretoken)
        {
            if pretoken.len() <= CACHED_BYTES {
                self.cache.insert(key, place, pretoken, &[id]);
            }
            return sink.put(id);
        }
        if pretoken.len() > CACHED_BYTES {
            for part in vocabulary.parts(pretoken) {
                self.ids.clear();
                if part.len() > CACHED_BYTES {
                    heap::merge(vocabulary, part, &mut self.heap, |id| sink.put(id))?;
                } else {
                    self.encode_part(vocabulary, part)?;
                    sink.extend(&self.ids)?;
                }
            }
            return Ok(());
        }
        self.ids.clear();
        if pretoken.is_ascii() {
            // Hardly ever falls apart.
            self.merge(vocabulary, pretoken)?;
        } else {
            for part in vocabulary.parts(pretoken) {
                if part.len() == pretoken.len() {
                    self.merge(vocabulary, part)?;
                } else {
                    self.encode_part(vocabulary, part)?;
                }
            }
        }
        self.cache.insert(key, place, pretoken, &self.ids);
        sink.extend(&self.ids)
    }

    /// Appends the ids of a part of a pretoken to `ids`.
    fn encode_part(&mut self, vocabulary: &Vocabulary, part: &[u8]) -> Result<()> {
        let mut key = self.cache.hasher.key(part);
        if vocabulary.is_whole_first() {
            // A part that is a token need not become that token, a whole pretoken does.
            key = key.of_part();
        }
        let place = self.cache.hasher.place(key) as u32;
        if !self.cache.append_ids(key, place, part, &mut self.ids) {
            let before = self.ids.len();
            self.merge(vocabulary, part)?;
            self.cache.insert(key, place, part, &self.ids[before..]);
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

/// A text of which sixteen bytes can be loaded at every place, zeros past its end.
struct Padded<'a> {
    text: &'a [u8],
    /// Before here sixteen bytes of the text follow, as they do nowhere in a short text.
    whole_end: usize,
    /// Where `tail` begins.
    tail_begin: usize,
    /// The text's last bytes, and zeros.
    tail: [u8; 32],
}

impl<'a> Padded<'a> {
    #[inline]
    fn new(text: &'a [u8]) -> Self {
        let mut tail = [0; 32];
        let tail_begin = text.len().saturating_sub(16);
        let last = &text[tail_begin..];
        tail[..last.len()].copy_from_slice(last);
        Padded { text, whole_end: text.len().saturating_sub(15), tail_begin, tail }
    }

    #[inline(always)]
    fn load(&self, at: usize) -> [u8; 16] {
        if at < self.whole_end {
            // SAFETY: Sixteen bytes of the text follow.
            return unsafe { self.text.as_ptr().add(at).cast::<[u8; 16]>().read_unaligned() };
        }
        let begin = at.saturating_sub(self.tail_begin);
        self.tail.get(begin..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default()
    }
}
