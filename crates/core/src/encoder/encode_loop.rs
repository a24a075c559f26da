//! The hot loop of encoding: finds each pretoken in the cache, and merges those that are new.
//!
//! ```text
//! look up batch 0
//! for each batch of 64 pretokens:
//!     look up the next batch               its cache lines arrive while this batch is written
//!     prefetch a part of the next text     so that it is in the processor's cache when its turn comes
//!     compare the bytes of long pretokens  those that match keep the keys of their entries
//!     for each pretoken of this batch:
//!         an entry in its bucket?          copy as many ids as an entry can hold, advance by as many as it has
//!         an entry elsewhere in its group? the same
//!         otherwise                        merge, and add the ids to the cache
//!     copy the ids that are in the arena   prefetched when their entries were found
//! ```
//!
//! The arena holds ids that do not fit into an entry. Invariants:
//! - Both batches were looked up in the table of `handle`. When `encode_new` changes the table, the batches are moved
//!   to the new one and the keys of long pretokens are reset, since arena offsets are per table.
//! - `ends` ascend and lie within the text.
//! - No pretoken ends in the byte that pads keys, so different pretokens have different keys, and an entry that is
//!   found has at most as many ids as its pretoken has bytes.
//! - The output has room for the inline ids of a whole batch before any is written ([`Output::open`]).
//!
//! A new pretoken is first split wherever no token spans the boundary, since no merge can ever cross it: in text
//! without spaces that leaves single characters, or bytes of them. Parts of up to three bytes are merged at once;
//! longer ones are looked up in the cache, and merged ([`super::merge`]) on a miss.
//!
//! Tried, as `cargo run --release --example encode` reports "file, warm" on a Zen 4 (English, fifteen languages, C):
//! - Find all pretokens of a batch first, without a branch, and then copy their ids: 3 %, 1 % and 4 % slower.
//! - Find and compare long pretokens for 64 of them at once, ahead of their batches: 3 %, 3 % and 1 % slower.
//! - Search beside a full bucket within the loop instead of in a function: English 1 %, C 4 % slower.
//! - Copy the ids in the arena within the loop: languages 5 %, C 7 % slower.
//! - Collect the new pretokens of a batch and merge two at a time: 19 %, 12 % and 4 % slower on a first call.

use std::mem::MaybeUninit;
use std::ops::Range;

use super::cache::key::CACHED_BYTES;
use super::cache::lookup::{self, BATCH, Batch, Lookup, Query, pretoken_range};
use super::cache::packed::Packed;
use super::cache::table::Table;
use super::cache::{Cache, TableHandle};
use super::merge::short::{self, ShortScratch};
use super::merge::{by_rank, characters, few, heap};
use super::output::{Ids, Output};
use super::pretokens_of_text::{DocumentEnds, Pretokens};
use super::shared::EncoderData;
use super::words::{WordBuffers, are_lines, is_line};
use crate::cpu::at_tier;
use crate::error::Result;
use crate::memory::TryReserve;
use crate::monitor::OnProgress;
use crate::prefetch::Ahead;
use crate::pretokens::key::{PaddedText, PretokenKey};
use crate::vocabulary::Vocabulary;

/// Parts longer than this are merged by [`by_rank`] instead of [`heap`].
const MAX_HEAP_BYTES: usize = 1 << 15;

/// Bytes of a long pretoken that are merged between two calls of `on_progress`: milliseconds of work.
const BYTES_PER_TICK: usize = 1 << 16;

/// Cache lines of the next text to prefetch with each batch: more than its text takes at two bytes per character.
const LINES_AHEAD: usize = 12;

/// A thread's handle of the cache, and its buffers for merging.
pub(super) struct PretokenEncoder {
    handle: TableHandle,
    /// The current batch and the next one.
    batches: [Batch; 2],
    short: ShortScratch,
    /// The ids of the current pretoken.
    ids: Vec<u32>,
    words: WordBuffers,
    /// The text to prefetch, which is encoded next.
    ahead: Ahead,
}

impl PretokenEncoder {
    pub(super) fn new(handle: TableHandle) -> Self {
        PretokenEncoder {
            handle,
            batches: [Batch::new(), Batch::new()],
            short: ShortScratch::default(),
            ids: Vec::new(),
            words: WordBuffers::default(),
            ahead: Ahead::default(),
        }
    }

    /// Sets the text to prefetch, a little with each batch.
    pub(super) fn look_ahead(&mut self, ahead: Ahead) {
        self.ahead = ahead;
    }

    /// Switches to the newest table of the cache.
    pub(super) fn refresh(&mut self, cache: &Cache) {
        cache.refresh(&mut self.handle);
    }

    /// Appends the ids of pretokens to `output`. Stops early if it is full.
    pub(super) fn encode<S: Output>(
        &mut self,
        shared: &EncoderData,
        pretokens: Pretokens<'_>,
        output: &mut S,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        self.encode_documents(
            shared,
            pretokens,
            DocumentEnds { left: &[], n_ids: &mut Vec::new() },
            output,
            on_progress,
        )
    }

    /// Like [`encode`](Self::encode), for the consecutive pretokens of several documents, which are looked up together.
    pub(super) fn encode_documents<S: Output>(
        &mut self,
        shared: &EncoderData,
        pretokens: Pretokens<'_>,
        documents: DocumentEnds<'_>,
        output: &mut S,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        if are_lines(&pretokens)
            && !shared.pretokenizer.drops_missing_bytes()
            && let Some(words) = shared.words()?
        {
            return words.encode(
                &shared.vocabulary,
                &mut self.words,
                pretokens,
                documents,
                output,
                on_progress,
            );
        }
        self.encode_as_they_are(shared, pretokens, documents, output, on_progress)
    }

    /// Like [`encode_documents`](Self::encode_documents), but pretokens are not cut into words.
    pub(super) fn encode_as_they_are<S: Output>(
        &mut self,
        shared: &EncoderData,
        pretokens: Pretokens<'_>,
        documents: DocumentEnds<'_>,
        output: &mut S,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        self.refresh(&shared.cache);
        let tier = shared.cache.hasher.tier();
        // SAFETY: `Encoder::new` checked that the processor has the hasher's tier.
        unsafe { encode_at_tier(tier, self, shared, pretokens, documents, output, on_progress) }
    }

    /// Encodes with the instructions of `L`, which the processor must have. Entries of the cache hold ids of two bytes
    /// if `NARROW`, otherwise of four.
    #[inline(always)]
    fn encode_with_isa<L: Lookup, const NARROW: bool, S: Output>(
        &mut self,
        shared: &EncoderData,
        pretokens: Pretokens<'_>,
        mut documents: DocumentEnds<'_>,
        output: &mut S,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        let Pretokens { text, mut start, ends } = pretokens;
        let (padded, hasher) = (PaddedText::new(text), shared.cache.hasher);
        let mut chunks = ends.chunks(BATCH);
        documents.record_ends(0, output.n());
        let Some(mut ends) = chunks.next() else { return Ok(()) };
        let (mut current, mut n_before) = (0, 0);
        let query = Query { hasher, table: self.handle.table.view(), text: &padded };
        // SAFETY: The processor has the instructions, and `ends` ascend and lie within the text. The constructors of
        // `Pretokens` ensure that no pretoken ends in 0xff.
        unsafe { L::look_up(&mut self.batches[current], &query, start, ends) };
        loop {
            // `encode_new` can have changed the table.
            let query = Query { hasher, table: self.handle.table.view(), text: &padded };
            self.batches[current].prefetch_records(&self.handle.table);
            let end = ends.last().map_or(start, |&end| end as usize);
            let next = chunks.next();
            if let Some(next) = next {
                // SAFETY: as above.
                unsafe { L::look_up(&mut self.batches[current ^ 1], &query, end, next) };
            }
            self.ahead.prefetch(LINES_AHEAD);
            let batch = &mut self.batches[current];
            // SAFETY: This is still the table in which the records were prefetched.
            unsafe { batch.confirm(&self.handle.table, text, start, ends) };
            let these = Pretokens { start, ends, text };
            let mut n_done = 0;
            while n_done < ends.len() {
                let stop = documents.next().saturating_sub(n_before).min(ends.len());
                if n_done < stop {
                    n_done += self.put_cached::<L, NARROW, S>(current, these, n_done..stop, output)?;
                }
                if n_done == stop {
                    documents.record_ends(n_before + n_done, output.n());
                    continue;
                }
                // The cache has no ids for this pretoken.
                let (key, table) = (self.batches[current].keys[n_done], self.handle.table.number());
                self.encode_new(shared, these.get(n_done), key, output, on_progress)?;
                if self.handle.table.number() != table {
                    let table = self.handle.table.view();
                    self.batches.iter_mut().for_each(|batch| batch.move_to(table, hasher));
                }
                n_done += 1;
                documents.record_ends(n_before + n_done, output.n());
            }
            n_before += n_done;
            self.handle.n_looked_up += n_done;
            match next {
                Some(next) if !output.is_full() => (start, ends) = (end, next),
                _ => return Ok(()),
            }
            current ^= 1;
        }
    }

    /// Writes the ids of cached pretokens up to the first that has no entry; returns how many pretokens were written.
    #[inline(always)]
    fn put_cached<L: Lookup, const NARROW: bool, S: Output>(
        &self,
        batch: usize,
        pretokens: Pretokens<'_>,
        range: Range<usize>,
        output: &mut S,
    ) -> Result<usize> {
        let Pretokens { text, start, ends } = pretokens;
        let table = self.handle.table.view();
        let Batch { keys, slots, .. } = &self.batches[batch];
        let (keys, slots) = (&keys[range.clone()], &slots[range.clone()]);
        let mut cursor = output.open(keys.len(), pretokens.n_bytes(&range))?;
        let (mut n_put, mut n_gaps) = (0, 0);
        // Places for ids that are in the arena. They are filled in after the loop: if many words have many ids,
        // leaving the loop for each of them or waiting for the arena costs more than everything else.
        let mut gaps = [const { MaybeUninit::<(S::Cursor, &Packed)>::uninit() }; BATCH];
        for (key, &slot) in keys.iter().zip(slots) {
            // SAFETY: The processor has the instructions. The batch was looked up in this table or moved to it.
            let entry = match unsafe { L::find(table, key, slot) } {
                Some(entry) => entry,
                // A `match`: with `Option::or_else` the whole loop was 2 to 4 % slower.
                None => {
                    match find_overflow(
                        &self.handle.table,
                        *key,
                        slot,
                        text,
                        start,
                        ends,
                        range.start + n_put,
                    ) {
                        Some(entry) => entry,
                        None => break,
                    }
                }
            };
            if S::HAS_IDS && entry.is_spilled(NARROW) {
                self.handle.table.prefetch_ids(entry);
                gaps[n_gaps].write((cursor, entry));
                n_gaps += 1;
            }
            // SAFETY: The cursor was opened for all of these pretokens.
            unsafe { S::put_entry::<NARROW>(&mut cursor, entry) };
            n_put += 1;
        }
        for gap in &gaps[..n_gaps] {
            // SAFETY: The first `n_gaps` elements were written. Their entries are of this table and have their ids in
            // the arena; each cursor is where its entry was put.
            unsafe {
                let (cursor, entry) = gap.assume_init_read();
                S::fill(cursor, &self.handle.table.spilled_ids(entry));
            }
        }
        // SAFETY: The cursor is the last one opened, all gaps are filled, and the output was not used otherwise.
        unsafe { output.close(cursor) };
        Ok(n_put)
    }

    /// Encodes a pretoken of arbitrary bytes, which can end in the byte that pads keys.
    pub(super) fn encode_bytes<S: Output>(
        &mut self,
        shared: &EncoderData,
        pretoken: &[u8],
        output: &mut S,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        let key = PretokenKey::from_bytes(pretoken, shared.cache.hasher);
        self.encode_new(shared, pretoken, key, output, on_progress)
    }

    /// Encodes a pretoken that the batch did not find in the cache.
    #[inline(never)]
    fn encode_new<S: Output>(
        &mut self,
        shared: &EncoderData,
        pretoken: &[u8],
        key: PretokenKey,
        output: &mut S,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        debug_assert!(key.arena_offset().is_none());
        self.handle.n_new += 1;
        let vocabulary = &shared.vocabulary;
        self.refresh(&shared.cache);
        // Compute the slot again: the batch may have been looked up in another table.
        let slot = shared.cache.hasher.hash(key) as u32;
        if let Some(starts) = vocabulary.characters() {
            let is_cached = pretoken.len() <= CACHED_BYTES;
            self.ids.clear();
            if !is_cached || !self.handle.append_ids(key, slot, pretoken, &mut self.ids) {
                characters::merge(vocabulary, starts, pretoken, &mut self.ids, on_progress)?;
                if is_cached {
                    self.learn(shared, key, slot, pretoken, 0);
                }
            }
            return output.extend(self.ids.iter().copied());
        }
        if vocabulary.ignores_merges()
            && let Some(id) = vocabulary.id_of(pretoken)
        {
            if pretoken.len() <= CACHED_BYTES {
                self.ids.clear();
                self.ids.push(id);
                self.learn(shared, key, slot, pretoken, 0);
            }
            return output.put(id);
        }
        if shared.pretokenizer.drops_missing_bytes() {
            let is_missing = |byte: &&u8| vocabulary.id_of_byte(**byte).is_none();
            if pretoken.iter().any(|byte| is_missing(&byte)) {
                let mut kept = Vec::with_reserved(pretoken.len(), "a pretoken")?;
                kept.extend(pretoken.iter().filter(|byte| !is_missing(byte)));
                return if kept.is_empty() {
                    Ok(())
                } else {
                    self.encode_bytes(shared, &kept, output, on_progress)
                };
            }
        }
        if pretoken.len() > CACHED_BYTES {
            if self.encode_words(shared, pretoken, on_progress)? {
                return output.extend(self.ids.iter().copied());
            }
            let mut n_bytes = 0;
            for part in vocabulary.parts(pretoken) {
                n_bytes += part.len();
                if n_bytes >= BYTES_PER_TICK {
                    n_bytes = 0;
                    on_progress(0)?;
                }
                self.ids.clear();
                // `by_rank` allocates a list for each rank: too many if ids are ranks and have large gaps.
                if part.len() > MAX_HEAP_BYTES.max(vocabulary.n_ranks() / 8) {
                    by_rank::merge(vocabulary, part, |id| output.put(id), on_progress)?;
                } else if part.len() > CACHED_BYTES {
                    heap::merge(vocabulary, part, |id| output.put(id))?;
                } else {
                    self.encode_part(shared, part)?;
                    output.extend(self.ids.iter().copied())?;
                }
            }
            return Ok(());
        }
        self.ids.clear();
        if !self.handle.append_ids(key, slot, pretoken, &mut self.ids) {
            if !self.encode_words(shared, pretoken, on_progress)? {
                self.merge_parts(shared, pretoken)?;
            }
            self.learn(shared, key, slot, pretoken, 0);
        }
        output.extend(self.ids.iter().copied())
    }

    /// Encodes a long pretoken of several words, replacing `ids`; returns whether it is one.
    #[inline(never)]
    fn encode_words(
        &mut self,
        shared: &EncoderData,
        pretoken: &[u8],
        on_progress: OnProgress<'_>,
    ) -> Result<bool> {
        if !is_line(pretoken) || pretoken.contains(&0xff) {
            return Ok(false);
        }
        let Some(words) = shared.words()? else { return Ok(false) };
        let pretokens = Pretokens { text: pretoken, start: 0, ends: &[pretoken.len() as u32] };
        let documents = DocumentEnds { left: &[], n_ids: &mut Vec::new() };
        self.ids.clear();
        words.encode(
            &shared.vocabulary,
            &mut self.words,
            pretokens,
            documents,
            &mut Ids(&mut self.ids),
            on_progress,
        )?;
        Ok(true)
    }

    /// Adds `pretoken` to the cache with the ids `self.ids[first..]`.
    fn learn(&mut self, shared: &EncoderData, key: PretokenKey, slot: u32, pretoken: &[u8], first: usize) {
        if shared.cache.insert(&mut self.handle, key, slot, pretoken, &self.ids[first..]) {
            shared.refresh_idle();
        }
    }

    /// Merges at most [`CACHED_BYTES`] bytes that are not in the cache; appends to `ids`.
    fn merge_parts(&mut self, shared: &EncoderData, pretoken: &[u8]) -> Result<()> {
        let vocabulary = &shared.vocabulary;
        if pretoken.is_ascii() {
            // ASCII text hardly ever has a boundary that no token spans.
            return self.merge(vocabulary, pretoken);
        }
        for part in vocabulary.parts(pretoken) {
            if part.len() == pretoken.len() {
                self.merge(vocabulary, part)?;
            } else {
                self.encode_part(shared, part)?;
            }
        }
        Ok(())
    }

    /// Appends the ids of a part of a pretoken to `ids`.
    #[inline(always)]
    fn encode_part(&mut self, shared: &EncoderData, part: &[u8]) -> Result<()> {
        // Merging so few bytes takes less time than looking them up.
        if few::merge(&shared.vocabulary, part, &mut self.ids)? {
            return Ok(());
        }
        self.encode_long_part(shared, part)
    }

    /// Like [`encode_part`](Self::encode_part), for a part that is long enough to be worth a lookup.
    #[inline(never)]
    fn encode_long_part(&mut self, shared: &EncoderData, part: &[u8]) -> Result<()> {
        let mut key = PretokenKey::from_bytes(part, shared.cache.hasher);
        if shared.vocabulary.ignores_merges() {
            // A whole pretoken that is a token becomes that token; a part need not. So parts have keys of their own.
            key = key.as_part();
        }
        let slot = shared.cache.hasher.hash(key) as u32;
        if !self.handle.append_ids(key, slot, part, &mut self.ids) {
            let before = self.ids.len();
            self.merge(&shared.vocabulary, part)?;
            self.learn(shared, key, slot, part, before);
        }
        Ok(())
    }

    /// Merges at most [`CACHED_BYTES`] bytes; appends to `ids`.
    fn merge(&mut self, vocabulary: &Vocabulary, part: &[u8]) -> Result<()> {
        if part.len() <= short::MAX_BYTES {
            return short::merge(vocabulary, part, &mut self.short, &mut self.ids);
        }
        heap::merge(vocabulary, part, |id| {
            self.ids.push(id);
            Ok(())
        })
    }
}

at_tier! {
    /// Calls [`PretokenEncoder::encode_with_isa`] with the instructions of `tier` and the cache's width of ids.
    unsafe fn encode_at_tier<L in lookup, S: Output>(
        encoder: &mut PretokenEncoder,
        shared: &EncoderData,
        pretokens: Pretokens<'_>,
        documents: DocumentEnds<'_>,
        output: &mut S,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        if shared.cache.is_narrow() {
            encoder.encode_with_isa::<L, true, S>(shared, pretokens, documents, output, on_progress)
        } else {
            encoder.encode_with_isa::<L, false, S>(shared, pretokens, documents, output, on_progress)
        }
    }
}

/// Returns the entry of pretoken `index`, which is not in its own bucket, if it is in another bucket of the group.
/// Called from the loop over a batch but not inlined: leaving the loop, or searching within it, takes more time.
#[cold]
#[inline(never)]
fn find_overflow<'t>(
    table: &'t Table,
    key: PretokenKey,
    slot: u32,
    text: &[u8],
    start: usize,
    ends: &[u32],
    index: usize,
) -> Option<&'t Packed> {
    table.find_overflow(key, slot, &text[pretoken_range(start, ends, index)])
}
