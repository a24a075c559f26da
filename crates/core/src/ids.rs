//! The integer types of ids: what the encoder writes and what the decoder reads.

use std::sync::Mutex;

use crate::memory::Kept;

/// A type in which ids are written: `u16` for small vocabularies, otherwise `u32`.
///
/// Sealed, because the encoder copies the bytes of its ids into types of two and of four bytes: each bit pattern must
/// be a valid value of these types, and the same value as in `u16` or `u32`.
pub trait Id: Copy + Default + Send + Sync + private::Sealed + 'static {
    /// The largest id that fits.
    const MAX: u32;

    /// Converts an id, which must be at most [`Id::MAX`].
    fn from_u32(id: u32) -> Self;

    /// Returns the id.
    fn to_u32(self) -> u32;

    /// Returns where the memory of a dropped large result is kept ([`ResultIds`](crate::memory::ResultIds)).
    fn kept_memory() -> &'static Mutex<Kept<Self>>;
}

pub(crate) mod private {
    /// Keeps other crates from implementing `Id`.
    pub trait Sealed {}
}

macro_rules! id {
    ($($integer:ty),*) => {$(
        impl private::Sealed for $integer {}

        impl Id for $integer {
            const MAX: u32 = <$integer>::MAX as u32;

            #[inline(always)]
            fn from_u32(id: u32) -> Self {
                id as $integer
            }

            #[inline(always)]
            fn to_u32(self) -> u32 {
                self.into()
            }

            fn kept_memory() -> &'static Mutex<Kept<Self>> {
                static KEPT: Mutex<Kept<$integer>> = Mutex::new(Kept::empty());
                &KEPT
            }
        }
    )*};
}

id!(u16, u32);

/// Any integer type that a caller may pass as an id to decode.
pub trait AnyId: Copy {
    /// Returns the id as an index; a negative id becomes an index beyond any vocabulary.
    fn index(self) -> usize;

    /// Returns the id as shown in an error.
    fn shown(self) -> i64;
}

macro_rules! any_id {
    ($($integer:ty),*) => {$(
        impl AnyId for $integer {
            #[inline(always)]
            fn index(self) -> usize {
                usize::try_from(self).unwrap_or(usize::MAX)
            }

            #[inline(always)]
            fn shown(self) -> i64 {
                i64::try_from(self).unwrap_or(i64::MAX)
            }
        }
    )*};
}

any_id!(u8, i8, u16, i16, u32, i32, u64, i64);
