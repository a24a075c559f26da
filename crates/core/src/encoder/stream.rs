//! Text that comes in pieces, to ids, in memory bounded by the longest pretoken.
//!
//! Enters: pieces of text, cut anywhere. Leaves: the ids of the joined text. What has come in is encoded as
//! far as nothing that may still come can change it; the rest is held back: the last two pretokens, a run of
//! white space at the end, and what may be the beginning of a special token. A pattern that looks behind
//! or far ahead gives no such bound, and its text is held until the next special token or the end.

use std::sync::Arc;

use super::output::Ids;
use super::worker::OpenText;
use super::{Encoder, Specials};
use crate::error::{Error, Result};
use crate::ids::Id;
use crate::monitor::{Monitor, report_progress};

/// Encodes the concatenation of all it is given.
pub struct StreamEncoder {
    encoder: Arc<Encoder>,
    specials: Specials,
    held: String,
    /// Bytes of text before `held`.
    n_taken: u64,
    /// Do not look at `held` before it is this long: what is too long to be encoded yet is not scanned
    /// again for every few bytes that come.
    pub(super) patience: usize,
    pub(super) is_memoryless: bool,
}

impl StreamEncoder {
    /// A stream in which literals of special tokens are what `specials` says.
    pub fn new(encoder: Arc<Encoder>, specials: Specials) -> Self {
        let is_memoryless = encoder.shared.pretokenizer.is_memoryless();
        StreamEncoder { encoder, specials, held: String::new(), n_taken: 0, patience: 0, is_memoryless }
    }

    /// Takes more text; appends the ids that are certain by now to `out`.
    ///
    /// After an error neither the text nor `out` has changed.
    pub fn push<I: Id>(&mut self, text: &str, out: &mut Vec<I>, monitor: &dyn Monitor) -> Result<()> {
        self.encoder.check_width::<I>()?;
        let (n_held, n_out) = (self.held.len(), out.len());
        self.held.try_reserve(text.len()).map_err(Error::out_of_memory("a stream's text"))?;
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

    /// Encodes what is held as far as it is certain, to its end if it is the last; gives its length.
    fn encode_held<I: Id>(&self, is_last: bool, out: &mut Vec<I>, monitor: &dyn Monitor) -> Result<usize> {
        let text = OpenText {
            text: &self.held,
            is_last,
            offset: self.n_taken,
            is_memoryless: self.is_memoryless,
            specials: self.specials,
        };
        let mut on_progress = report_progress(monitor, self.held.len());
        self.encoder
            .with_worker(|worker| {
                worker.encode_open_text(&self.encoder.shared, text, &mut Ids(out), &mut on_progress)
            })
            .map_err(|error| error.in_data(String::new))
    }

    /// Ends the text; appends all remaining ids to `out`. The stream is empty again afterwards.
    pub fn finish<I: Id>(&mut self, out: &mut Vec<I>, monitor: &dyn Monitor) -> Result<()> {
        self.encoder.check_width::<I>()?;
        let n_out = out.len();
        let done = self.encode_held(true, out, monitor).inspect_err(|_| out.truncate(n_out));
        self.held = String::new();
        (self.n_taken, self.patience) = (0, 0);
        done.map(|_| ())
    }

    /// How many bytes of text are held back now.
    pub fn n_held_bytes(&self) -> usize {
        self.held.len()
    }
}
