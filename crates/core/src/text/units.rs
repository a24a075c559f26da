//! Characters by their numbers, in one, two or four bytes each.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    self, _mm512_cvtepi32_epi8, _mm512_cvtepi32_epi16, _mm512_cvtepu8_epi32, _mm512_cvtepu16_epi32,
};
#[cfg(target_arch = "x86_64")]
use std::convert::identity;

/// The most bytes that sixteen characters may fill.
pub(super) const STEP_BYTES: usize = 64;

/// A character's number in some width.
pub trait Unit: Copy + Into<u32> + Default + private::Sealed {
    /// Most bytes of UTF-8 that one can take.
    const MOST_BYTES: usize;

    /// The numbers of the first 16 of `units` whose bit in `there` is set, 0 for the others.
    ///
    /// # Safety
    /// The processor has AVX-512 with BW and VL; the units whose bits are set can be read.
    #[cfg(target_arch = "x86_64")]
    #[doc(hidden)]
    unsafe fn load(units: *const Self, there: u16) -> x86_64::__m512i;

    /// The number, which fits.
    #[doc(hidden)]
    fn of(number: u32) -> Self;

    /// Writes 16 numbers, which fit.
    ///
    /// # Safety
    /// The processor has AVX-512; 16 units can be written.
    #[cfg(target_arch = "x86_64")]
    #[doc(hidden)]
    unsafe fn store(numbers: x86_64::__m512i, units: *mut Self);
}

mod private {
    /// Only integers of this module's choice are units.
    pub trait Sealed {}

    impl Sealed for u8 {}
    impl Sealed for u16 {}
    impl Sealed for u32 {}
}

macro_rules! unit {
    ($integer:ty, $most_bytes:literal, $load:ident, $widen:ident, $narrow:ident, $store:ident) => {
        impl Unit for $integer {
            const MOST_BYTES: usize = $most_bytes;

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
            unsafe fn load(units: *const Self, there: u16) -> x86_64::__m512i {
                // SAFETY: a masked load touches only what the mask names, which the caller promises.
                $widen(unsafe { x86_64::$load(there, units.cast()) })
            }

            #[inline(always)]
            fn of(number: u32) -> Self {
                number as Self
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f")]
            unsafe fn store(numbers: x86_64::__m512i, units: *mut Self) {
                // SAFETY: the caller promises the room.
                unsafe { x86_64::$store(units.cast(), $narrow(numbers)) };
            }
        }
    };
}

unit!(u8, 2, _mm_maskz_loadu_epi8, _mm512_cvtepu8_epi32, _mm512_cvtepi32_epi8, _mm_storeu_si128);
unit!(u16, 3, _mm256_maskz_loadu_epi16, _mm512_cvtepu16_epi32, _mm512_cvtepi32_epi16, _mm256_storeu_si256);
unit!(u32, 4, _mm512_maskz_loadu_epi32, identity, identity, _mm512_storeu_si512);
