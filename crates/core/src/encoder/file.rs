//! A whole file to ids.

use std::path::Path;

use super::sink::Ids;
use super::{Encoder, SpecialPolicy};
use crate::error::{Error, Result};
use crate::ids::Id;
use crate::monitor::{Monitor, Stage};

impl Encoder {
    /// The ids of a file, which is UTF-8; special tokens are recognised.
    pub fn encode_file<I: Id>(&self, path: &Path, _threads: usize, monitor: &dyn Monitor) -> Result<Vec<I>> {
        self.check_width::<I>()?;
        let bytes = std::fs::read(path).map_err(Error::io(path))?;
        let text = std::str::from_utf8(&bytes).map_err(|error| Error::InvalidUtf8 {
            path: Some(path.to_owned()),
            offset: error.valid_up_to() as u64,
            hint: "",
        })?;
        monitor.report(Stage::Encode, 0, bytes.len() as u64)?;
        let mut out = Vec::new();
        self.with_worker(|worker| {
            worker.encode(self, text, self.recognised(SpecialPolicy::All), &mut Ids(&mut out))
        })?;
        monitor.report(Stage::Encode, bytes.len() as u64, bytes.len() as u64)?;
        Ok(out)
    }
}
