//! Code points of one, two or four bytes.

/// The prefetch distance. Hardware prefetchers stop at page boundaries and do not know where a text starts.
#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))]
pub(super) const AHEAD_BYTES: usize = 1 << 10;

/// A code point in one of three widths.
pub trait Unit: Copy + Into<u32> + Default + private::Sealed {
    /// The most bytes of UTF-8 that a code point of this width takes.
    const MAX_BYTES: usize;

    /// Converts a code point, which must fit.
    #[doc(hidden)]
    fn from_code_point(number: u32) -> Self;
}

mod private {
    /// Keeps other crates from implementing `Unit`.
    pub trait Sealed {}

    impl Sealed for u8 {}
    impl Sealed for u16 {}
    impl Sealed for u32 {}
}

macro_rules! unit {
    ($integer:ty, $max_bytes:literal) => {
        impl Unit for $integer {
            const MAX_BYTES: usize = $max_bytes;

            #[inline(always)]
            fn from_code_point(number: u32) -> Self {
                number as Self
            }
        }
    };
}

unit!(u8, 2);
unit!(u16, 3);
unit!(u32, 4);

/// Returns the bytes of code points.
pub(super) fn as_bytes<U: Unit>(units: &[U]) -> &[u8] {
    // SAFETY: Units are u8, u16 or u32, which have no padding; the bytes are borrowed for as long as the units.
    unsafe { std::slice::from_raw_parts(units.as_ptr().cast(), size_of_val(units)) }
}
