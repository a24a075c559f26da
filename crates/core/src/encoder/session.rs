//! Sessions: a text that grows at its end, with ids that are always those of the whole text.
//!
//! ```text
//! text   |  chunk  |  chunk  |  chunk  |  tail  |        a chunk and its ids are settled: later text changes neither
//! append  tail + new text:  settle up to the last safe cut, encode what is left as the end of the text
//! ```
//!
//! A chunk ends at a safe cut ([`crate::pretokens::safe_cuts`]): between two characters, at a special token, or found
//! by scanning. `seen` is how much text proved the cut, so truncating the text to no less than that keeps the chunk.
//! Forks share chunks.
//!
//! **An endless pretoken** has no such cut. There a chunk ends between two tokens that merging leaves unchanged. Ids
//! are exactly those of merging if merging each pair of neighbours on its own changes nothing: the first merge across
//! a boundary would also happen between those two alone. So the next call encodes only the tail and merges the two
//! tokens at the seam; if they change, the chunk is taken back. The states of the automaton prove that scanning from
//! the cut continues as if the text had not been cut
//! ([`Pretokenizer::continues_identically`](crate::pretokens::Pretokenizer)).
//!
//! `append` costs as much as encoding the new text and the tail before it, usually a few words. The tail is longer in
//! two cases: with a pattern that needs backtracking it is all text since the last special token; and it is a whole
//! endless pretoken if the pattern is a custom one, if several patterns split in turn, or if a normaliser changes some
//! of its letters. With such a tail of 1 MB a call takes 60 to 400 ms.

use std::ops::Range;
use std::sync::Arc;

use super::merge::{characters, heap};
use super::output::Ids;
use super::{Encoder, SpecialPolicy};
use crate::error::{Error, Result};
use crate::memory::{TryReserve, copied, try_push_str};
use crate::monitor::{Monitor, OnProgress, report_progress};
use crate::pretokens::Place;
use crate::pretokens::safe_cuts::{SafeCuts, is_free, last_free_cut};
use crate::special::SpecialTokens;

/// Bytes of text that are settled at once, and the size up to which a chunk grows.
const CHUNK: usize = 1 << 12;
/// A tail of at least this many bytes is cut inside its last pretoken, at least `CUT_MARGIN` bytes before the end.
const MIN_CUT_TAIL: usize = 1 << 9;
const CUT_MARGIN: usize = 1 << 8;

const TEXT: &str = "the text of a session";
const IDS: &str = "the ids of a session";

/// What a call changed: the first `keep` ids stay, and `ids` follow them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// How many ids stay.
    pub keep: usize,
    /// The ids after them.
    pub ids: Vec<u32>,
}

/// What replacing text changed: the first `keep` ids stay, `ids` replace the next `n_removed`, and the rest stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// How many ids stay.
    pub keep: usize,
    /// How many old ids after these are removed.
    pub n_removed: usize,
    /// The ids in their place.
    pub ids: Vec<u32>,
}

/// A position in a text.
#[derive(Clone, Copy, Default)]
struct Position {
    bytes: usize,
    chars: usize,
    ids: usize,
}

/// Text that later text cannot change, and its ids.
#[derive(Clone)]
struct Chunk {
    text: String,
    ids: Vec<u32>,
    end: Position,
    /// How many bytes of the whole text it took to prove the cut at the end.
    seen: usize,
    /// The place of the text that follows.
    place: Place,
    /// Whether it ends inside a pretoken.
    is_inside: bool,
}

/// How far the tail has been searched for cuts.
#[derive(Clone, Copy, Default)]
struct Search {
    /// There is no cut between two characters before this offset.
    from: usize,
    /// The tail is not scanned until it is this long. Doubles, so that an endless pretoken is scanned in linear time.
    patience: usize,
}

/// What a call will change.
#[derive(Default)]
struct Plan {
    chunks: Vec<Chunk>,
    /// Bytes of the tail that they take.
    n_taken: usize,
    tail_ids: Vec<u32>,
    search: Search,
}

/// A text that grows at its end, with its ids.
#[derive(Clone)]
pub struct Session {
    encoder: Arc<Encoder>,
    allowed: Arc<SpecialTokens>,
    disallowed: Arc<SpecialTokens>,
    cuts: SafeCuts,
    chunks: Vec<Arc<Chunk>>,
    tail: String,
    tail_ids: Vec<u32>,
    search: Search,
}

impl Session {
    /// Creates a session of an empty text. `specials`: (allowed, disallowed); `None` allows all.
    pub fn new(encoder: Arc<Encoder>, specials: Option<(Arc<SpecialTokens>, Arc<SpecialTokens>)>) -> Self {
        let all = || (Arc::clone(&encoder.shared.specials), Arc::new(SpecialTokens::none()));
        let (allowed, disallowed) = specials.unwrap_or_else(all);
        let cuts = SafeCuts::new(Arc::clone(encoder.pretokenizer()), Arc::clone(&allowed), true);
        let (chunks, tail, tail_ids) = Default::default();
        Session { encoder, allowed, disallowed, cuts, chunks, tail, tail_ids, search: Search::default() }
    }

    /// Returns the number of ids.
    pub fn n_ids(&self) -> usize {
        self.settled().ids + self.tail_ids.len()
    }

    /// Returns the number of characters of the text.
    pub fn n_chars(&self) -> usize {
        self.settled().chars + self.tail.chars().count()
    }

    /// Returns the text.
    pub fn text(&self) -> Result<String> {
        self.text_between(0, self.settled().bytes + self.tail.len())
    }

    /// Returns the ids from index `first` on.
    pub fn ids_from(&self, first: usize) -> impl Iterator<Item = u32> {
        let n_before = self.chunks.partition_point(|chunk| chunk.end.ids <= first);
        let n_skipped = first - self.start_of(n_before).ids;
        let chunks = self.chunks[n_before..].iter().flat_map(|chunk| chunk.ids.iter());
        chunks.chain(&self.tail_ids).skip(n_skipped).copied()
    }

    /// Appends text. On an error nothing has changed.
    pub fn append(&mut self, text: &str, monitor: &dyn Monitor) -> Result<Change> {
        let n_before = self.tail.len();
        try_push_str(&mut self.tail, text, TEXT)?;
        let done = self.appended(&mut report_progress(monitor, text.len()));
        if done.is_err() {
            self.tail.truncate(n_before);
        }
        done
    }

    /// Truncates the text to its first `n_chars` characters. On an error nothing has changed.
    pub fn truncate(&mut self, n_chars: usize, monitor: &dyn Monitor) -> Result<Change> {
        if n_chars > self.n_chars() {
            let all = self.n_chars();
            return Err(Error::Invalid(format!(
                "a session of {all} characters cannot be truncated to {n_chars}; use append to make it longer"
            )));
        }
        let Replaced { keep, ids, .. } = self.replace(n_chars..usize::MAX, "", monitor)?;
        Ok(Change { keep, ids })
    }

    /// Replaces characters; a range beyond the text ends where the text does. Encodes from the end of the last chunk that the
    /// change cannot affect to the first cut between two characters, after the change, that still holds, or to the end. On an
    /// error nothing has changed.
    pub fn replace(&mut self, chars: Range<usize>, text: &str, monitor: &dyn Monitor) -> Result<Replaced> {
        let (from, to) = (self.offset_of(chars.start), self.offset_of(chars.end.max(chars.start)));
        let n_kept = self.chunks.partition_point(|chunk| chunk.seen <= from);
        let mut new = Session { chunks: self.chunks[..n_kept].to_vec(), ..self.empty() };
        let mut middle = self.text_between(self.start_of(n_kept).bytes, from)?;
        try_push_str(&mut middle, text, TEXT)?;
        let specials = &[&*self.allowed, &*self.disallowed];
        let (mut at, mut cut) = (to, None);
        let first = self.chunks.partition_point(|chunk| chunk.end.bytes < to);
        for (nth, chunk) in self.chunks.iter().enumerate().skip(first) {
            if chunk.place != Place::Within || chunk.is_inside {
                continue;
            }
            try_push_str(&mut middle, &self.text_between(at, chunk.end.bytes)?, TEXT)?;
            at = chunk.end.bytes;
            let n = middle.len();
            let next = self.chunks.get(nth + 1).map_or(&self.tail, |next| &next.text);
            try_push_str(&mut middle, next, TEXT)?;
            let holds = last_free_cut(self.encoder.pretokenizer(), &middle, n..n + 1, specials).is_some();
            middle.truncate(n);
            if holds {
                cut = Some((nth, chunk.end));
                break;
            }
        }
        if cut.is_none() {
            try_push_str(&mut middle, &self.text_between(at, self.settled().bytes + self.tail.len())?, TEXT)?;
        }
        let Change { keep, mut ids } = new.append(&middle, monitor)?;
        let mut n_removed = cut.map_or(self.n_ids(), |(_, end)| end.ids) - keep;
        let n_same = n_common(self.ids_from(keep).take(n_removed), &ids);
        ids.drain(..n_same);
        n_removed -= n_same;
        // Nothing fails from here on.
        if let Some((nth, old)) = cut {
            new.settle_tail(specials.iter().map(|specials| specials.longest()).fold(4, usize::max));
            let end = new.settled();
            let mut rest = self.chunks.split_off(nth + 1);
            for chunk in &mut rest {
                let Chunk { end: Position { bytes, chars, ids }, seen, .. } = Arc::make_mut(chunk);
                *bytes = *bytes - old.bytes + end.bytes;
                *chars = *chars - old.chars + end.chars;
                *ids = *ids - old.ids + end.ids;
                *seen = *seen - old.bytes + end.bytes;
            }
            new.chunks.append(&mut rest);
            new.tail = std::mem::take(&mut self.tail);
            (new.tail_ids, new.search) = (std::mem::take(&mut self.tail_ids), self.search);
        }
        *self = new;
        Ok(Replaced { keep: keep + n_same, n_removed, ids })
    }

    /// Turns the tail into a chunk. It ends at a cut between two characters that the next `n_seen` bytes prove.
    fn settle_tail(&mut self, n_seen: usize) {
        let (text, ids) = (std::mem::take(&mut self.tail), std::mem::take(&mut self.tail_ids));
        let mut end = self.settled();
        end.bytes += text.len();
        end.chars += text.chars().count();
        end.ids += ids.len();
        self.push(Chunk { text, ids, end, seen: end.bytes + n_seen, place: Place::Within, is_inside: false });
    }

    /// Returns the offset in bytes of a character; the end of the text if there are fewer.
    fn offset_of(&self, n_chars: usize) -> usize {
        let n_before = self.chunks.partition_point(|chunk| chunk.end.chars <= n_chars);
        let (start, text) =
            (self.start_of(n_before), self.chunks.get(n_before).map_or(&self.tail, |at| &at.text));
        let rest = text.char_indices().nth(n_chars - start.chars);
        start.bytes + rest.map_or(text.len(), |(at, _)| at)
    }

    /// Returns an empty session of the same tokenizer.
    fn empty(&self) -> Self {
        let specials = (Arc::clone(&self.allowed), Arc::clone(&self.disallowed));
        Session::new(Arc::clone(&self.encoder), Some(specials))
    }

    /// Returns where the first `n` chunks end.
    fn start_of(&self, n: usize) -> Position {
        n.checked_sub(1)
            .and_then(|last| self.chunks.get(last))
            .map_or_else(Position::default, |chunk| chunk.end)
    }

    fn settled(&self) -> Position {
        self.start_of(self.chunks.len())
    }

    /// Returns the text between two offsets in bytes.
    fn text_between(&self, start: usize, end: usize) -> Result<String> {
        let mut text = String::new();
        text.try_reserve(end.saturating_sub(start)).map_err(Error::out_of_memory(TEXT))?;
        let first = self.chunks.partition_point(|chunk| chunk.end.bytes <= start);
        let mut at = self.start_of(first).bytes;
        for part in self.chunks[first..].iter().map(|chunk| &chunk.text).chain([&self.tail]) {
            let range = start.max(at) - at..end.min(at + part.len()).saturating_sub(at);
            text.push_str(part.get(range).unwrap_or_default());
            at += part.len();
            if at >= end {
                break;
            }
        }
        Ok(text)
    }

    /// Encodes the tail, to which text was appended, and settles as much of it as it can.
    fn appended(&mut self, on_progress: OnProgress<'_>) -> Result<Change> {
        self.disallowed.refuse(&self.tail, self.settled().bytes as u64)?;
        let mut n_kept = self.chunks.len();
        let mut longer = None;
        let plan = loop {
            let (tail, search) =
                longer.as_ref().map_or((&self.tail, self.search), |tail| (tail, Search::default()));
            if let Some(plan) = self.plan(n_kept, tail, search, on_progress)? {
                break plan;
            }
            // The tokens at the seam have merged: take the last chunk back.
            n_kept -= 1;
            let end = self.settled().bytes + self.tail.len();
            longer = Some(self.text_between(self.start_of(n_kept).bytes, end)?);
        };
        let base = self.start_of(n_kept).ids;
        let n_ids = plan.chunks.iter().map(|chunk| chunk.ids.len()).sum::<usize>() + plan.tail_ids.len();
        let mut ids = Vec::with_reserved(n_ids, IDS)?;
        plan.chunks.iter().map(|chunk| &chunk.ids).chain([&plan.tail_ids]).for_each(|part| ids.extend(part));
        let n_same = n_common(self.ids_from(base), &ids);
        ids.drain(..n_same);
        self.chunks.try_reserve(plan.chunks.len()).map_err(Error::out_of_memory(TEXT))?;
        // Nothing fails from here on.
        self.chunks.truncate(n_kept);
        plan.chunks.into_iter().for_each(|chunk| self.push(chunk));
        if let Some(tail) = longer {
            self.tail = tail;
        }
        self.tail.drain(..plan.n_taken);
        (self.tail_ids, self.search) = (plan.tail_ids, plan.search);
        Ok(Change { keep: base + n_same, ids })
    }

    /// Adds a chunk, by appending it to the last one if that is small and no fork shares it.
    fn push(&mut self, chunk: Chunk) {
        if let Some(last) = self.chunks.last_mut().and_then(Arc::get_mut)
            && last.text.len() + chunk.text.len() <= CHUNK
        {
            last.text.push_str(&chunk.text);
            last.ids.extend_from_slice(&chunk.ids);
            *last =
                Chunk { text: std::mem::take(&mut last.text), ids: std::mem::take(&mut last.ids), ..chunk };
            return;
        }
        self.chunks.push(Arc::new(chunk));
    }

    /// Plans how to settle and encode `tail`, after the first `n_kept` chunks; `None` if it changes the last of these.
    fn plan(
        &self,
        n_kept: usize,
        tail: &str,
        mut search: Search,
        on_progress: OnProgress<'_>,
    ) -> Result<Option<Plan>> {
        let last = n_kept.checked_sub(1).and_then(|last| self.chunks.get(last));
        let (mut end, mut place) =
            last.map_or((Position::default(), Place::Start), |last| (last.end, last.place));
        let (base, mut inside) = (end.bytes, last.filter(|last| last.is_inside));
        let (mut plan, mut at, mut upto) = (Plan::default(), 0, 0);
        let mut chunk =
            |at: usize, n: usize, ids: Vec<u32>, upto: usize, place, is_inside| -> Result<Chunk> {
                let mut text = String::new();
                try_push_str(&mut text, &tail[at..at + n], TEXT)?;
                end.bytes += n;
                end.chars += text.chars().count();
                end.ids += ids.len();
                Ok(Chunk { text, ids, end, seen: base + upto, place, is_inside })
            };
        while upto < tail.len() {
            upto = tail.floor_char_boundary((upto + CHUNK).min(tail.len()));
            let Some((n, next)) = self.cut(&tail[at..upto], &mut search)? else { continue };
            let ids = self.encoded(&tail[at..at + n], place, on_progress)?;
            if !inside.take().is_none_or(|last| self.seam_is_stable(last, &ids)) {
                return Ok(None);
            }
            plan.chunks.try_push(chunk(at, n, ids, upto, next, false)?, TEXT)?;
            (at, place, search) = (at + n, next, Search::default());
        }
        let mut ids = self.encoded(&tail[at..], place, on_progress)?;
        if !inside.is_none_or(|last| self.seam_is_stable(last, &ids)) {
            return Ok(None);
        }
        if let Some((n, n_ids)) = self.cut_inside(&tail[at..], &ids, place)? {
            let rest = copied(&ids[n_ids..], IDS)?;
            ids.truncate(n_ids);
            plan.chunks.try_push(chunk(at, n, ids, tail.len(), Place::Within, true)?, TEXT)?;
            (at, ids, search) = (at + n, rest, Search::default());
        }
        (plan.n_taken, plan.tail_ids, plan.search) = (at, ids, search);
        Ok(Some(plan))
    }

    fn encoded(&self, text: &str, place: Place, on_progress: OnProgress<'_>) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        let specials = self
            .encoder
            .recognised(SpecialPolicy::Some { allowed: &self.allowed, disallowed: &self.disallowed });
        self.encoder.with_worker(|worker| {
            worker.encode(&self.encoder.shared, text, place, specials, &mut Ids(&mut ids), on_progress)
        })?;
        Ok(ids)
    }

    /// Returns the offset up to which no later text can change the ids, and the place of what comes after it.
    fn cut(&self, text: &str, search: &mut Search) -> Result<Option<(usize, Place)>> {
        let pretokenizer = self.encoder.pretokenizer();
        let specials = &[&*self.allowed, &*self.disallowed];
        let longest = self.allowed.longest().max(self.disallowed.longest()).max(1);
        let Some(latest) = text.len().checked_sub(longest) else { return Ok(None) };
        if pretokenizer.has_cuts_within() {
            let range = search.from.max(1)..latest + 1;
            if let Some(at) = last_free_cut(pretokenizer, text, range, specials) {
                return Ok(Some((at, Place::Within)));
            }
            search.from = search.from.max(latest + 1);
        }
        if text.len() < search.patience {
            return Ok(None);
        }
        search.patience = 2 * text.len();
        let found = self.cuts.last_by_scanning(text)?.map(|cut| cut.at);
        let is_free = |&at: &usize| at > 0 && is_free(text, at, &[&*self.disallowed]);
        Ok(found.filter(is_free).map(|at| (at, Place::AfterSpecial)))
    }

    /// Finds a cut inside the last pretoken of a long text without a safe cut: the offset, and the ids before it.
    fn cut_inside(&self, text: &str, ids: &[u32], place: Place) -> Result<Option<(usize, usize)>> {
        let (vocabulary, pretokenizer) = (self.encoder.vocabulary(), self.encoder.pretokenizer());
        if text.len() < MIN_CUT_TAIL || self.allowed.find(text.as_bytes(), 0).is_some() {
            return Ok(None);
        }
        let (mut at, mut n_ids) = (text.len(), ids.len());
        let is_between = |at: usize| {
            text.len() - at >= CUT_MARGIN
                && text.is_char_boundary(at)
                && is_free(text, at, &[&*self.allowed, &*self.disallowed])
        };
        // As long as the bytes of the tokens are those of the text, no normaliser has changed it.
        let mut starts = 0;
        while starts < 2 {
            let Some(token) = n_ids.checked_sub(1).and_then(|last| vocabulary.token(ids[last])) else {
                return Ok(None);
            };
            if !text.as_bytes()[..at].ends_with(token) || at < CUT_MARGIN {
                return Ok(None);
            }
            if starts == 1 {
                break;
            }
            (at, n_ids) = (at - token.len(), n_ids - 1);
            starts = usize::from(is_between(at));
        }
        // With `ignores_merges` a whole pretoken that is a token is not merged; all tokens must be too short for that.
        let is_short = |(_, token): (u32, &[u8])| token.len() < CUT_MARGIN;
        let is_merged = !vocabulary.ignores_merges() || vocabulary.tokens().all(is_short);
        let found = at > 0 && is_merged && pretokenizer.continues_identically(text, at, place)?;
        Ok(found.then_some((at, n_ids)))
    }

    /// Returns whether the last token of a chunk that ends inside a pretoken stays the same when `ids` follow.
    fn seam_is_stable(&self, chunk: &Chunk, ids: &[u32]) -> bool {
        let vocabulary = self.encoder.vocabulary();
        let (Some(&left), Some(&right)) = (chunk.ids.last(), ids.first()) else { return true };
        let (Some(start), Some(end)) = (vocabulary.token(left), vocabulary.token(right)) else {
            return false;
        };
        let both = [start, end].concat();
        let mut merged = Vec::new();
        let done = match vocabulary.characters() {
            Some(starts) => characters::merge(vocabulary, starts, &both, &mut merged, &mut |_| Ok(())),
            None => heap::merge(vocabulary, &both, |id| merged.try_push(id, IDS)),
        };
        done.is_ok() && merged == [left, right]
    }
}

/// Returns how many ids the two have in common at their beginning.
fn n_common(old: impl Iterator<Item = u32>, new: &[u32]) -> usize {
    old.zip(new).take_while(|(old, new)| old == *new).count()
}
