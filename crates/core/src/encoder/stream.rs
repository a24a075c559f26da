//! Encodes a text that arrives in parts, in memory bounded by the longest pretoken.
//!
//! The ids are those of the concatenated text, wherever it is divided. Each call encodes up to the last safe cut
//! ([`crate::pretokens::safe_cuts`]) and holds back the rest. With a pattern that needs backtracking there is no such bound:
//! text is held until the next special token or the end.

use std::sync::Arc;

use super::output::Ids;
use super::worker::DataPart;
use super::{Encoder, Specials};
use crate::error::{Error, Result};
use crate::ids::Id;
use crate::monitor::{Monitor, report_progress};
use crate::pretokens::Place;
use crate::pretokens::safe_cuts::SafeCuts;

/// Encodes a text given in parts.
pub struct StreamEncoder {
    encoder: Arc<Encoder>,
    specials: Specials,
    cuts: SafeCuts,
    /// Text that is not encoded yet.
    held: String,
    /// The offset of `held` in the whole text.
    n_taken: u64,
    /// `held` is not scanned until it has this many bytes. This doubles, so a long pretoken that arrives in small parts
    /// is scanned in linear time overall.
    pub(super) patience: usize,
}

impl StreamEncoder {
    /// Creates an empty stream. `specials` says what literals of special tokens become.
    pub fn new(encoder: Arc<Encoder>, specials: Specials) -> Self {
        let cuts = encoder.safe_cuts(specials);
        StreamEncoder { encoder, specials, cuts, held: String::new(), n_taken: 0, patience: 0 }
    }

    /// Takes more text and appends the ids that are final to `out`. On an error nothing has changed.
    pub fn push<I: Id>(&mut self, text: &str, out: &mut Vec<I>, monitor: &dyn Monitor) -> Result<()> {
        self.encoder.check_width::<I>()?;
        let (n_held, n_out) = (self.held.len(), out.len());
        self.held.try_reserve(text.len()).map_err(Error::out_of_memory("the text of a stream"))?;
        self.held.push_str(text);
        if self.held.len() < self.patience {
            return Ok(());
        }
        match self.encode_held(false, out, monitor) {
            Ok(taken) => {
                self.held.drain(..taken);
                self.n_taken += taken as u64;
                self.patience = self.held.len() * 2;
                Ok(())
            }
            Err(error) => {
                self.held.truncate(n_held);
                out.truncate(n_out);
                Err(error)
            }
        }
    }

    /// Encodes the part of `held` that is final, or all of it if `is_last`; returns its length.
    fn encode_held<I: Id>(&self, is_last: bool, out: &mut Vec<I>, monitor: &dyn Monitor) -> Result<usize> {
        let n = if is_last { self.held.len() } else { self.cuts.last(&self.held)?.map_or(0, |cut| cut.at) };
        let part = DataPart {
            text: &self.held[..n],
            offset: self.n_taken,
            place: if self.n_taken == 0 { Place::Start } else { Place::AfterSpecial },
            specials: self.specials,
        };
        let mut on_progress = report_progress(monitor, n);
        self.encoder
            .with_worker(|worker| {
                worker.encode_data(&self.encoder.shared, part, &mut Ids(out), &mut on_progress)
            })
            .map_err(|error| error.in_data(String::new))?;
        Ok(n)
    }

    /// Ends the text and appends its remaining ids to `out`. The stream is then empty and can be reused.
    pub fn finish<I: Id>(&mut self, out: &mut Vec<I>, monitor: &dyn Monitor) -> Result<()> {
        self.encoder.check_width::<I>()?;
        let n_out = out.len();
        let done = self.encode_held(true, out, monitor).inspect_err(|_| out.truncate(n_out));
        self.held = String::new();
        (self.n_taken, self.patience) = (0, 0);
        done.map(|_| ())
    }
}
