//! Code points of one, two or four bytes, and their AVX-512 loads and stores.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    self, _mm512_cvtepi32_epi8, _mm512_cvtepi32_epi16, _mm512_cvtepu8_epi32, _mm512_cvtepu16_epi32,
};
#[cfg(target_arch = "x86_64")]
use std::convert::identity;

/// Bytes of a vector: the most bytes of UTF-8 of sixteen characters.
pub(super) const STEP_BYTES: usize = 64;

/// A code point in some width.
pub trait Unit: Copy + Into<u32> + Default + private::Sealed {
    /// The most bytes of UTF-8 of a code point in this width.
    const MAX_BYTES: usize;

    /// Loads those of 16 units whose bit in `mask` is set; the others become 0.
    ///
    /// # Safety
    /// The processor has AVX-512 F, BW and VL; the units whose bits are set can be read.
    #[cfg(target_arch = "x86_64")]
    #[doc(hidden)]
    unsafe fn load(units: *const Self, mask: u16) -> x86_64::__m512i;

    /// Converts a code point, which must fit.
    #[doc(hidden)]
    fn of(number: u32) -> Self;

    /// Stores 16 code points, which must fit.
    ///
    /// # Safety
    /// The processor has AVX-512 F; 16 units can be written.
    #[cfg(target_arch = "x86_64")]
    #[doc(hidden)]
    unsafe fn store(numbers: x86_64::__m512i, units: *mut Self);
}

mod private {
    /// Keeps other crates from implementing `Unit`.
    pub trait Sealed {}

    impl Sealed for u8 {}
    impl Sealed for u16 {}
    impl Sealed for u32 {}
}

macro_rules! unit {
    ($integer:ty, $max_bytes:literal, $load:ident, $widen:ident, $narrow:ident, $store:ident) => {
        impl Unit for $integer {
            const MAX_BYTES: usize = $max_bytes;

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
            unsafe fn load(units: *const Self, mask: u16) -> x86_64::__m512i {
                // SAFETY: a masked load reads only the units in the mask, which the caller vouches for.
                $widen(unsafe { x86_64::$load(mask, units.cast()) })
            }

            #[inline(always)]
            fn of(number: u32) -> Self {
                number as Self
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f")]
            unsafe fn store(numbers: x86_64::__m512i, units: *mut Self) {
                // SAFETY: the caller vouches for room for 16 units.
                unsafe { x86_64::$store(units.cast(), $narrow(numbers)) };
            }
        }
    };
}

unit!(u8, 2, _mm_maskz_loadu_epi8, _mm512_cvtepu8_epi32, _mm512_cvtepi32_epi8, _mm_storeu_si128);
unit!(u16, 3, _mm256_maskz_loadu_epi16, _mm512_cvtepu16_epi32, _mm512_cvtepi32_epi16, _mm256_storeu_si256);
unit!(u32, 4, _mm512_maskz_loadu_epi32, identity, identity, _mm512_storeu_si512);
