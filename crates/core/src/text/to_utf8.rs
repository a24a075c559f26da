//! Code points -> UTF-8, eight at a time with AVX2 (`avx2.rs`), four with NEON (`neon.rs`).
//!
//! Tried: 32 at a time with AVX-512. Texts are encoded no faster, since converting takes so little of the time.

#[cfg(target_arch = "x86_64")]
use super::avx2;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
use super::neon;
#[cfg(not(all(target_arch = "aarch64", target_endian = "little")))]
use super::portable;
use super::units::Unit;
use crate::cpu::CpuTier;
use crate::error::{Error, Result};
use crate::memory::TryReserve;
use crate::pages;

/// How many bytes can be written after the UTF-8.
const SLACK_BYTES: usize = 64;

/// Replaces `text` by the UTF-8 of `units`.
pub(super) fn to_utf8<U: Unit>(units: &[U], text: &mut String) -> Result<()> {
    to_utf8_with_isa(CpuTier::best(), units, text)
}

/// [`to_utf8`] with the instructions of `tier`, which the processor must have.
pub(super) fn to_utf8_with_isa<U: Unit>(tier: CpuTier, units: &[U], text: &mut String) -> Result<()> {
    text.clear();
    // SAFETY: Only the UTF-8 of characters is appended to the empty string; on error it stays empty.
    let out = unsafe { text.as_mut_vec() };
    // If this saturates, as it can with 32-bit sizes, `grow` fails.
    let n_most = units.len().saturating_mul(U::MAX_BYTES).saturating_add(SLACK_BYTES);
    pages::reserve(out, n_most);
    out.grow(n_most, "a text")?;
    let start = out.as_mut_ptr();
    // SAFETY: The processor has the tier, and there is room for the longest UTF-8 of all units and the slack.
    let n_bytes = unsafe {
        match tier {
            #[cfg(target_arch = "x86_64")]
            CpuTier::Avx2 | CpuTier::Avx512 => avx2::to_utf8(units, start),
            // Every aarch64 processor has NEON, but not AES.
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            CpuTier::Portable | CpuTier::Neon => neon::to_utf8(units, start),
            #[cfg(not(all(target_arch = "aarch64", target_endian = "little")))]
            CpuTier::Portable => portable::to_utf8(units, start),
        }
    };
    // SAFETY: This many bytes were written, within the capacity.
    unsafe { out.set_len(n_bytes.ok_or(Error::NotCharacters)?) };
    Ok(())
}
