//! Decodes many lists of ids to texts that lie one after the other.

use super::{DecodeErrors, Decoder};
use crate::error::{Error, Result};
use crate::ids::AnyId;
use crate::memory::TryReserve;
use crate::monitor::{Monitor, Stage};
use crate::text::valid;

/// Lists that are decoded between two calls of the monitor.
const LISTS_PER_REPORT: usize = 1 << 12;

impl Decoder {
    /// The texts, concatenated, and n + 1 offsets. List i is the ids from `ends[i - 1]` (0 for the first) to `ends[i]`.
    pub fn decode_lists<I: AnyId>(
        &self,
        ids: &[I],
        ends: &[i64],
        errors: DecodeErrors,
        monitor: &dyn Monitor,
    ) -> Result<(Vec<u8>, Vec<i64>)> {
        let (mut bytes, mut offsets) = (Vec::new(), Vec::with_room(ends.len() + 1, "offsets")?);
        offsets.push(0);
        let mut rest = ids;
        for (list, &end) in ends.iter().enumerate() {
            if list % LISTS_PER_REPORT == 0 {
                monitor.report(Stage::Encode, 0, 0)?;
            }
            let n = usize::try_from(end).unwrap_or(usize::MAX).checked_sub(ids.len() - rest.len());
            let Some((ids, after)) = n.and_then(|n| rest.split_at_checked(n)) else {
                return Err(Error::Invalid(format!("list {list} ends at {end}, outside of the ids")));
            };
            self.decode_list(ids, errors, &mut bytes).map_err(|error| error.in_list(list))?;
            offsets.push(bytes.len() as i64);
            rest = after;
        }
        Ok((bytes, offsets))
    }

    fn decode_list<I: AnyId>(&self, ids: &[I], errors: DecodeErrors, bytes: &mut Vec<u8>) -> Result<()> {
        let start = bytes.len();
        self.decode(ids, errors, bytes)?;
        if valid(&bytes[start..]).is_none() {
            let text = errors.text_of(bytes.split_off(start))?;
            bytes.try_extend(text.as_bytes(), "decoded text")?;
        }
        Ok(())
    }
}
