//! The loop over pretokens: find each in the cache, merge those that are new.
//!
//! Enters: text and the ends of its pretokens. Leaves: ids, in a sink. Pretokens are taken [`BATCH`] at a time
//! in two passes: the first makes their keys and asks for their buckets ahead of use, the second reads the
//! buckets and writes four ids for each pretoken, of which the cursor keeps as many as there are.
//!
//! A pretoken that is not in the cache is first cut wherever no token reaches across, since no merge ever
//! will: in writing without spaces that leaves single characters, which are in the cache. What remains is
//! merged, by [`scan`] if it is short, by [`heap`] if it is not.

use super::cache::{Cache, Known};
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
    keys: [(Key, u64); BATCH],
    scan: ScanScratch,
    heap: HeapScratch,
    /// The ids of the pretoken at hand.
    ids: Vec<u32>,
}

impl Merger {
    pub(super) fn new(cache_bytes: usize, n_ids: usize) -> Result<Self> {
        Ok(Merger {
            cache: Cache::new(cache_bytes, n_ids)?,
            keys: [(Key::UNCACHED, 0); BATCH],
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
            let mut cursor = sink.open(ends.len())?;
            for (index, &end) in ends.iter().enumerate() {
                let (key, place) = self.keys[index % BATCH];
                let known = self.cache.get(key, place, &text[start..end]);
                if let Known::Inline(ids) = known {
                    // SAFETY: The cursor was opened for this and all pretokens that follow in the batch.
                    unsafe { S::put_entry::<NARROW>(&mut cursor, ids) };
                } else {
                    // SAFETY: The cursor is the last one opened; the sink was not touched.
                    unsafe { sink.close(cursor) };
                    match known {
                        Known::Spilled(ids) => sink.extend(ids)?,
                        _ => self.encode_new(vocabulary, &text[start..end], key, place, sink)?,
                    }
                    cursor = sink.open(ends.len() - index - 1)?;
                }
                start = end;
            }
            // SAFETY: The cursor is the last one opened; the sink was not touched.
            unsafe { sink.close(cursor) };
        }
        Ok(())
    }

    /// Makes the keys of a batch and starts loading their buckets.
    #[inline(always)]
    fn look_up(&mut self, padded: &Padded<'_>, mut start: usize, ends: &[usize]) {
        for (slot, &end) in self.keys.iter_mut().zip(ends) {
            let key = match end - start {
                len @ ..=INLINE_BYTES => self.cache.hasher.short_key(padded.load(start), len),
                len @ ..=CACHED_BYTES => self.cache.hasher.long_key(&padded.text[start..start + len]),
                _ => Key::UNCACHED,
            };
            let place = self.cache.hasher.place(key);
            self.cache.prefetch(place);
            *slot = (key, place);
            start = end;
        }
    }

    /// Encodes a pretoken that the cache does not know.
    #[inline(never)]
    fn encode_new<S: Sink>(
        &mut self,
        vocabulary: &Vocabulary,
        pretoken: &[u8],
        key: Key,
        place: u64,
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
        let place = self.cache.hasher.place(key);
        match self.cache.get(key, place, part) {
            Known::Inline(ids) if self.cache.is_narrow => {
                self.ids.extend(ids.narrow().iter().take(ids.len()).map(|&id| u32::from(id)));
            }
            Known::Inline(ids) => self.ids.extend(ids.wide().iter().take(ids.len())),
            Known::Spilled(ids) => self.ids.extend_from_slice(ids),
            Known::Nothing => {
                let before = self.ids.len();
                self.merge(vocabulary, part)?;
                self.cache.insert(key, place, part, &self.ids[before..]);
            }
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
    tail: [u8; 32],
    tail_start: usize,
}

impl<'a> Padded<'a> {
    fn new(text: &'a [u8]) -> Self {
        let tail_start = text.len().saturating_sub(16);
        let mut tail = [0; 32];
        tail[..text.len() - tail_start].copy_from_slice(&text[tail_start..]);
        Padded { text, tail, tail_start }
    }

    #[inline(always)]
    fn load(&self, at: usize) -> [u8; 16] {
        match self.text.get(at..).and_then(<[u8]>::first_chunk) {
            Some(bytes) => *bytes,
            None => self
                .tail
                .get(at - self.tail_start..)
                .and_then(<[u8]>::first_chunk)
                .copied()
                .unwrap_or_default(),
        }
    }
}
