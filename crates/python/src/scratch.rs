//! A vector for the ids of one text, which each thread reuses.
//!
//! A new vector for each text would be reallocated several times while it grows. A new one with room for the most ids that a
//! text can have would leave a hole in memory after each array.

use std::cell::Cell;
use std::thread::LocalKey;

use pairloom_core::ids::Id;

/// The largest capacity of a vector that is kept.
const MAX_KEPT: usize = 1 << 16;

/// The types of ids for which each thread keeps a vector.
pub trait Kept: Id {
    /// Returns the thread's vector; an empty one while it is in use.
    fn vector() -> &'static LocalKey<Cell<Vec<Self>>>;
}

macro_rules! kept {
    ($($id:ty),*) => {$(
        impl Kept for $id {
            fn vector() -> &'static LocalKey<Cell<Vec<$id>>> {
                thread_local!(static IDS: Cell<Vec<$id>> = const { Cell::new(Vec::new()) });
                &IDS
            }
        }
    )*};
}

kept!(u16, u32);

/// Calls `work` with an empty vector. If `work` runs Python code that gets here again, the nested call gets another vector.
#[inline]
pub fn with_ids<I: Kept, T>(work: impl FnOnce(&mut Vec<I>) -> T) -> T {
    // A thread that is ending has no vector any more.
    let mut ids = I::vector().try_with(Cell::take).unwrap_or_default();
    ids.clear();
    let done = work(&mut ids);
    if ids.capacity() <= MAX_KEPT {
        let _ = I::vector().try_with(|kept| kept.set(ids));
    }
    done
}
