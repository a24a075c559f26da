//! Text that comes in pieces, to ids, in memory bounded by the longest pretoken.
//!
//! Enters: pieces of text, cut anywhere. Leaves: the ids of the joined text. What has come in is encoded as
//! far as nothing that may still come can change it; the rest is held back: the last two pretokens, a run of
//! white space at the end, and what may be the beginning of a special token. A pattern that looks behind
//! or far ahead gives no such bound, and its text is held until the next special token or the end.

use std::sync::Arc;

use super::sink::Ids;
use super::worker::{Marks, Window};
use super::{Encoder, SpecialPolicy};
use crate::error::{Error, Result};
use crate::ids::Id;

/// Encodes the concatenation of all it is given.
pub struct StreamEncoder {
    encoder: Arc<Encoder>,
    held: String,
    /// Do not look at `held` before it is this long: what is too long to be encoded yet is not scanned
    /// again for every few bytes that come.
    pub(super) patience: usize,
    pub(super) in_windows: bool,
}

impl StreamEncoder {
    /// A stream in which all special tokens of `encoder` are recognised.
    pub fn new(encoder: Arc<Encoder>) -> Self {
        let in_windows = encoder.pretokenizer.is_memoryless();
        StreamEncoder { encoder, held: String::new(), patience: 0, in_windows }
    }

    /// Takes more text; appends the ids that are certain by now to `out`.
    ///
    /// After an error neither the text nor `out` has changed.
    pub fn push<I: Id>(&mut self, text: &str, out: &mut Vec<I>) -> Result<()> {
        self.encoder.check_width::<I>()?;
        let (n_held, n_out) = (self.held.len(), out.len());
        self.held.try_reserve(text.len()).map_err(Error::out_of_memory("a stream's text"))?;
        self.held.push_str(text);
        if self.held.len() < self.patience {
            return Ok(());
        }
        let encoder = &self.encoder;
        let window =
            Window { text: &self.held, is_last: false, until: usize::MAX, in_windows: self.in_windows };
        let mut marks = Marks::default();
        let taken = encoder
            .with_worker(|worker| worker.encode_window(encoder, window, &mut marks, &mut Ids(out)))
            .inspect_err(|_| out.truncate(n_out));
        match taken {
            Ok(taken) => {
                self.held.drain(..taken);
                self.patience = self.held.len() * 2;
                Ok(())
            }
            Err(error) => {
                self.held.truncate(n_held);
                Err(error)
            }
        }
    }

    /// Ends the text; appends all remaining ids to `out`. The stream is empty again afterwards.
    pub fn finish<I: Id>(&mut self, out: &mut Vec<I>) -> Result<()> {
        let held = std::mem::take(&mut self.held);
        self.patience = 0;
        self.encoder.encode(&held, SpecialPolicy::All, out)
    }

    /// How many bytes of text are held back now.
    pub fn n_held_bytes(&self) -> usize {
        self.held.len()
    }
}
