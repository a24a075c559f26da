//! Encodes one text in parts: on all threads, or only as much of it as holds the wanted number of ids.
//!
//! A text is divided at safe cuts ([`crate::pretokens::safe_cuts`]), even under a normaliser or if special tokens have
//! rules. So the ids of its parts, one after the other, are those of the text. If there is no cut near a target
//! offset, the part continues past it. The thread that encodes a part also converts it to UTF-8.

use std::ops::Range;

use super::output::{Counter, Ids, Output};
use super::{Encoder, SpecialPolicy, encode_jobs};
use crate::error::Result;
use crate::ids::Id;
use crate::memory::{ResultIds, TryReserve};
use crate::monitor::{Monitor, OnProgress, report_progress};
use crate::pages;
use crate::parallel;
use crate::pretokens::Place;
use crate::pretokens::safe_cuts::{REACH_BYTES, last_free_cut};
use crate::text::{Characters, Text};

/// Shorter texts are encoded on one thread: starting another would take longer than the work it would do.
pub const MIN_UNITS_IN_PARTS: usize = 1 << 19;

/// The most and the fewest units of a part; each thread gets several parts.
const MAX_PART_UNITS: usize = 1 << 20;
const MIN_PART_UNITS: usize = 1 << 16;
const PARTS_PER_THREAD: usize = 8;

/// Characters to read at first, for each wanted id and in addition: nearly always enough, since few tokens are longer.
const CHARS_PER_ID: usize = 8;
const EXTRA_CHARS: usize = 512;

impl Encoder {
    /// Like [`encode`](Self::encode), for long texts: on up to `threads` threads (0: one per processor), with a monitor.
    pub fn encode_long<I: Id>(
        &self,
        text: &Characters<'_>,
        specials: SpecialPolicy<'_>,
        threads: usize,
        out: &mut Vec<I>,
        monitor: &dyn Monitor,
    ) -> Result<()> {
        // Hardly any text has more than one id for two bytes.
        pages::reserve(out, text.n_units() / 2);
        let mut buffer = String::new();
        let text = self.readable(text, specials, threads, &mut buffer)?;
        let parts = self.parts(&text, specials, threads)?;
        if parts.is_empty() {
            let mut buffer = String::new();
            let text = text.utf8(&mut buffer)?;
            return self.encode_with_progress(text, specials, out, &mut report_progress(monitor, text.len()));
        }
        self.check_width::<I>()?;
        let before = out.len();
        let job = |number: usize, ids: &mut Vec<I>, on_progress: OnProgress<'_>| {
            *ids = ResultIds::for_part(MAX_PART_UNITS / 3);
            self.encode_part(&text, &parts[number], specials, &mut Ids(ids), on_progress)
        };
        let collect = |ids: &mut Vec<I>, _: OnProgress<'_>| {
            out.try_extend(ids, "ids")?;
            ResultIds::keep_part(std::mem::take(ids));
            Ok(())
        };
        let done = encode_jobs(parts.len(), threads, text.n_bytes() as u64, monitor, job, collect);
        if done.is_err() {
            out.truncate(before);
        }
        done
    }

    /// Returns the number of ids that [`encode`](Self::encode) would append.
    pub fn count(
        &self,
        text: &Characters<'_>,
        specials: SpecialPolicy<'_>,
        threads: usize,
        monitor: &dyn Monitor,
    ) -> Result<usize> {
        let (mut buffer, mut n_ids) = (String::new(), 0);
        let text = self.readable(text, specials, threads, &mut buffer)?;
        let parts = self.parts(&text, specials, threads)?;
        let count = |part: &Range<usize>, on_progress: OnProgress<'_>| {
            let mut counter = Counter { n: 0, limit: usize::MAX };
            self.encode_part(&text, part, specials, &mut counter, on_progress)?;
            Ok(counter.n)
        };
        if parts.is_empty() {
            return count(&(0..text.n_units()), &mut report_progress(monitor, text.n_bytes()));
        }
        let job = |number: usize, n: &mut usize, on_progress: OnProgress<'_>| {
            *n = count(&parts[number], on_progress)?;
            Ok(())
        };
        let collect = |n: &mut usize, _: OnProgress<'_>| {
            n_ids += *n;
            Ok(())
        };
        encode_jobs(parts.len(), threads, text.n_bytes() as u64, monitor, job, collect)?;
        Ok(n_ids)
    }

    /// Returns the number of ids of a text, but at most `limit`; reads little more of the text than those ids take.
    pub fn count_up_to(
        &self,
        text: &Characters<'_>,
        specials: SpecialPolicy<'_>,
        limit: usize,
        monitor: &dyn Monitor,
    ) -> Result<usize> {
        let enough = |text: &str| {
            let mut counter = Counter { n: 0, limit };
            let on_progress = &mut report_progress(monitor, text.len());
            specials.check(0, text)?;
            let text = Characters::Utf8(text);
            self.encode_part(&text, &(0..text.n_units()), specials, &mut counter, on_progress)?;
            Ok((counter.n.min(limit), counter.n >= limit))
        };
        Ok(self.beginning(text, specials, limit, enough)?.0)
    }

    /// Appends the ids of the beginning of a text, more than `limit` or all; returns how many characters they encode.
    pub fn encode_beginning<I: Id>(
        &self,
        text: &Characters<'_>,
        specials: SpecialPolicy<'_>,
        limit: usize,
        out: &mut Vec<I>,
        monitor: &dyn Monitor,
    ) -> Result<usize> {
        let before = out.len();
        let enough = |text: &str| {
            out.truncate(before);
            self.encode_with_progress(text, specials, out, &mut report_progress(monitor, text.len()))?;
            Ok(((), out.len() - before > limit))
        };
        Ok(self.beginning(text, specials, limit, enough)?.1)
    }

    /// Calls `encode` with longer and longer beginnings of a text, each up to a safe cut, until it reports that one was
    /// enough or has had the whole text; returns its result and the number of characters.
    fn beginning<T>(
        &self,
        text: &Characters<'_>,
        policy: SpecialPolicy<'_>,
        limit: usize,
        mut encode: impl FnMut(&str) -> Result<(T, bool)>,
    ) -> Result<(T, usize)> {
        let (mut buffer, n_all) = (String::new(), text.n_bytes());
        let can_cut = self.pretokenizer().has_cuts_within() && !policy.reads_all();
        let mut n_chars =
            if can_cut { limit.saturating_mul(CHARS_PER_ID).saturating_add(EXTRA_CHARS) } else { n_all };
        let recognised = self.recognised(policy);
        loop {
            let part = text.part(0..n_chars);
            let is_whole = part.n_bytes() == n_all;
            let mut utf8 = part.utf8(&mut buffer)?;
            if !is_whole {
                let range = utf8.len().saturating_sub(REACH_BYTES).max(1)..utf8.len();
                let cut = last_free_cut(self.pretokenizer(), utf8, range, recognised.as_slice());
                utf8 = &utf8[..cut.unwrap_or(0)];
            }
            if is_whole || !utf8.is_empty() {
                let (result, is_enough) = encode(utf8)?;
                if is_whole || is_enough {
                    return Ok((result, utf8.chars().count()));
                }
            }
            n_chars = n_chars.saturating_mul(4);
        }
    }

    /// Returns whether a text is worth dividing among threads.
    fn is_divided(&self, text: &Characters<'_>, threads: usize) -> bool {
        threads != 1 && text.n_units() >= MIN_UNITS_IN_PARTS && self.pretokenizer().has_cuts_within()
    }

    /// Returns the text; if all of it must be read at once, converts it to UTF-8 and checks it by the policy.
    fn readable<'a>(
        &self,
        text: &'a Characters<'a>,
        policy: SpecialPolicy<'_>,
        threads: usize,
        buffer: &'a mut String,
    ) -> Result<Characters<'a>> {
        if self.is_divided(text, threads) && !policy.reads_all() {
            return Ok(*text);
        }
        let text = text.utf8(buffer)?;
        policy.check(0, text)?;
        Ok(Characters::Utf8(text))
    }

    /// Returns the parts of a text for threads, in units; none if it is encoded as a whole.
    fn parts(
        &self,
        text: &Characters<'_>,
        policy: SpecialPolicy<'_>,
        threads: usize,
    ) -> Result<Vec<Range<usize>>> {
        let (mut parts, mut start, n_units) = (Vec::new(), 0, text.n_units());
        // Asking for the number of processors takes longer than encoding a short text.
        let threads = if self.is_divided(text, threads) { parallel::thread_count(threads) } else { 1 };
        if threads > 1 {
            let (recognised, mut buffer) = (self.recognised(policy), String::new());
            let recognised = recognised.as_slice();
            let longest = recognised.iter().map(|specials| specials.longest()).max().unwrap_or(0).max(1);
            let part_units = (n_units / (PARTS_PER_THREAD * threads)).clamp(MIN_PART_UNITS, MAX_PART_UNITS);
            for target in (part_units..n_units - MIN_PART_UNITS).step_by(part_units) {
                let mut from = target.saturating_sub(REACH_BYTES).max(start);
                if let Characters::Utf8(text) = text {
                    from = text.floor_char_boundary(from);
                }
                let near = text.part(from..target + longest);
                let utf8 = near.utf8(&mut buffer)?;
                // A special token that begins before `near` must not reach past the cut.
                let range = longest.min(utf8.len())..utf8.len();
                if let Some(cut) = last_free_cut(self.pretokenizer(), utf8, range, recognised) {
                    let is_utf8 = matches!(text, Characters::Utf8(_));
                    let end = from + if is_utf8 { cut } else { utf8[..cut].chars().count() };
                    parts.try_push(start..end, "the parts of a text")?;
                    start = end;
                }
            }
        }
        if start > 0 {
            parts.try_push(start..n_units, "the parts of a text")?;
        }
        Ok(parts)
    }

    /// Encodes a part of a text.
    fn encode_part<S: Output>(
        &self,
        text: &Characters<'_>,
        part: &Range<usize>,
        specials: SpecialPolicy<'_>,
        output: &mut S,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        let place = if part.start == 0 { Place::Start } else { Place::Within };
        let (part, mut buffer, recognised) =
            (text.part(part.clone()), String::new(), self.recognised(specials));
        let text = part.utf8(&mut buffer)?;
        self.with_worker(|worker| worker.encode(&self.shared, text, place, recognised, output, on_progress))
    }
}
