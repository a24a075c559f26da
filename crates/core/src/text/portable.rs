//! Code points -> UTF-8 without vector intrinsics.

use super::units::Unit;

/// Writes the UTF-8 of `units` to `out`; returns its length, or `None` for surrogates and numbers above U+10FFFF.
///
/// # Safety
/// `U::MAX_BYTES` bytes for each unit, and 4 more, must be writable at `out`.
#[inline]
pub(super) unsafe fn to_utf8<U: Unit>(units: &[U], out: *mut u8) -> Option<usize> {
    let mut n_written = 0;
    for chunk in units.chunks(16) {
        if chunk.iter().fold(0, |all, &unit| all | unit.into()) < 0x80 {
            for (index, &unit) in chunk.iter().enumerate() {
                // SAFETY: There is room for a byte of each unit of the chunk.
                unsafe { out.add(n_written + index).write(unit.into() as u8) };
            }
            n_written += chunk.len();
            continue;
        }
        for &unit in chunk {
            let character = char::from_u32(unit.into())?;
            let mut bytes = [0; 4];
            character.encode_utf8(&mut bytes);
            // SAFETY: There is room for the longest UTF-8 of all units so far, and 4 bytes.
            unsafe { out.add(n_written).cast::<[u8; 4]>().write_unaligned(bytes) };
            n_written += character.len_utf8();
        }
    }
    Some(n_written)
}
