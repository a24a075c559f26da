//! Code points -> UTF-8.
//!
//! With AVX-512 32 characters at a time (`avx512.rs`), with AVX2 eight (`avx2.rs`); docs/decisions/encoder.md has the figures.

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
use super::neon;
#[cfg(not(all(target_arch = "aarch64", target_endian = "little")))]
use super::portable;
use super::units::Unit;
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};
use crate::cpu::CpuTier;
use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::pages;

/// What may be written behind the UTF-8.
const SLACK_BYTES: usize = 64;

/// Replaces `text` by the UTF-8 of `units`.
pub(super) fn to_utf8<U: Unit>(units: &[U], text: &mut String) -> Result<()> {
    to_utf8_by(CpuTier::best(), units, text)
}

/// The same by the instructions of `tier`, which the processor has.
pub(super) fn to_utf8_by<U: Unit>(tier: CpuTier, units: &[U], text: &mut String) -> Result<()> {
    text.clear();
    // SAFETY: only the UTF-8 of characters is appended to the empty string; on error it is empty still.
    let out = unsafe { text.as_mut_vec() };
    // Where it saturates, as 32 bits may, there is no such room, and `grow` fails.
    let n_most = units.len().saturating_mul(U::MAX_BYTES).saturating_add(SLACK_BYTES);
    pages::reserve(out, n_most);
    out.grow(n_most, "a text")?;
    let begin = out.as_mut_ptr();
    // SAFETY: the processor has the tier, and there is room for the longest UTF-8 of all units and the slack.
    let n_bytes = unsafe {
        match tier {
            #[cfg(target_arch = "x86_64")]
            CpuTier::Avx512 => avx512::to_utf8(units, begin),
            #[cfg(target_arch = "x86_64")]
            CpuTier::Avx2 => avx2::to_utf8(units, begin),
            // NEON is on every processor, AES need not be.
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            CpuTier::Portable | CpuTier::Neon => neon::to_utf8(units, begin),
            #[cfg(not(all(target_arch = "aarch64", target_endian = "little")))]
            CpuTier::Portable => portable::to_utf8(units, begin),
        }
    };
    // SAFETY: so many bytes were written, within the capacity.
    unsafe { out.set_len(n_bytes.ok_or(Error::NotCharacters)?) };
    Ok(())
}
