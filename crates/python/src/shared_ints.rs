//! Int objects for the items of lists, which all tokenizers share.
//!
//! A list refers to an int for each id. Looking up its address in a table took a twelfth of the time of a list, and
//! counting the reference an eighth: a write to a random address. Where threads run without the interpreter's lock that
//! is an atomic instruction, and eight threads that made lists of the same ints were slower than one. So the ints are
//! contiguous, and the address of an id's int is computed. They are made once per process and never freed, and a list's
//! references to them need not be counted: in a Python with immortal objects they are immortal; in an older one they
//! get more references than can ever be dropped.
//!
//! Tried, by `benchmarks/run.py --only encode`: counting references in a table and adding them to the objects later: 20
//! % slower.

use std::alloc::{self, Layout};
use std::ptr::{self, NonNull};
use std::sync::{Mutex, PoisonError};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;

use crate::objects::{int, no_memory};

/// Ids below this have a shared int; a vocabulary may have larger ids.
const MOST: usize = 1 << 20;

/// The fewest ints for which memory is allocated: enough for most vocabularies.
const LEAST: usize = 1 << 16;

/// Bytes from one int to the next.
const STRIDE: usize = if cfg!(Py_GIL_DISABLED) { 64 } else { 32 };

/// Whether references need not be counted: reference counts of 32 bits that the interpreter's lock guards have no room
/// for the references that are never counted.
const HAS_ROOM: bool = cfg!(any(Py_GIL_DISABLED, target_pointer_width = "64"));

/// Memory for ints, which is never freed; the first `n` are made.
struct Slab {
    first: NonNull<u8>,
    n: usize,
    capacity: usize,
}

// SAFETY: It is an address and two numbers. Writers to the memory hold the lock of `SLABS`, and nobody refers to an int
// before it is made.
unsafe impl Send for Slab {}

/// Each slab has room for at least twice as many ints as the one before.
static SLABS: Mutex<Vec<Slab>> = Mutex::new(Vec::new());

/// The ints of the ids below `n`.
#[derive(Clone, Copy)]
pub struct SharedInts {
    first: NonNull<u8>,
    n: usize,
}

// SAFETY: The ints never change once they are made, except for their counts, which Python guards, and are never freed.
unsafe impl Send for SharedInts {}
// SAFETY: as above.
unsafe impl Sync for SharedInts {}

impl SharedInts {
    /// Makes the ints of ids below `n_ids` that do not exist yet. Ids from [`MOST`] on have none.
    pub fn new(py: Python<'_>, n_ids: usize) -> PyResult<Self> {
        let Some(n_bytes) = bytes_of_int().filter(|_| n_ids > 0) else {
            return Ok(SharedInts { first: NonNull::dangling(), n: 0 });
        };
        let n = n_ids.min(MOST);
        let mut slabs = SLABS.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        if slabs.last().is_none_or(|last| last.capacity < n) {
            let new = Slab::new(n.next_power_of_two().max(LEAST))?;
            slabs.try_reserve(1).map_err(|_| no_memory())?;
            slabs.push(new);
        }
        let Some(slab) = slabs.iter_mut().find(|slab| slab.capacity >= n) else { return Err(no_memory()) };
        while slab.n < n {
            slab.make(py, n_bytes)?;
        }
        Ok(SharedInts { first: slab.first, n })
    }

    /// Whether all of these ids have an int.
    #[inline(always)]
    pub fn has_all<I: pairloom_core::ids::Id>(&self, ids: &[I]) -> bool {
        // Without an early end this is a few vector instructions.
        ids.iter().fold(0, |most, id| most.max(id.to_u32())) < self.n as u32
    }

    /// A reference to the int of an id, which a list may take over.
    #[inline(always)]
    pub fn get(&self, id: u32) -> Option<*mut ffi::PyObject> {
        // SAFETY: The id is below `n`.
        ((id as usize) < self.n).then(|| unsafe { self.get_unchecked(id) })
    }

    /// Like [`get`](Self::get), without a check.
    ///
    /// # Safety
    /// The id has an int.
    #[inline(always)]
    pub unsafe fn get_unchecked(&self, id: u32) -> *mut ffi::PyObject {
        // SAFETY: There are this many ints in the memory.
        unsafe { self.first.as_ptr().add(id as usize * STRIDE).cast() }
    }
}

/// The size of an int object of an id below [`MOST`], if it fits between two ints and references need not be counted.
fn bytes_of_int() -> Option<usize> {
    // Whatever the width of a digit, four bytes are enough for an id.
    // SAFETY: The type is a static object, which does not change.
    let n_bytes = unsafe { ffi::PyLong_Type.tp_basicsize } as usize + size_of::<u32>();
    (HAS_ROOM && n_bytes <= STRIDE).then_some(n_bytes)
}

impl Slab {
    fn new(capacity: usize) -> PyResult<Self> {
        let layout = Layout::from_size_align(capacity * STRIDE, 64).map_err(|_| no_memory())?;
        // SAFETY: The layout is not empty.
        let first = unsafe { alloc::alloc(layout) };
        Ok(Slab { first: NonNull::new(first).ok_or_else(no_memory)?, n: 0, capacity })
    }

    /// Makes the next int, a copy of one that Python made. There must be room.
    fn make(&mut self, py: Python<'_>, n_bytes: usize) -> PyResult<()> {
        let new = int(py, self.n as u32)?;
        // SAFETY: The int has at least one digit, however small it is, and Python allocates multiples of eight bytes,
        // so there are `n_bytes` bytes. They contain no address but that of its type, which is never freed. There is
        // room for them, to which nobody else refers yet, and the interpreter is attached.
        unsafe {
            let copy = self.first.as_ptr().add(self.n * STRIDE);
            ptr::copy_nonoverlapping(new.as_ptr().cast::<u8>(), copy, n_bytes);
            prepay(copy.cast());
        }
        self.n += 1;
        Ok(())
    }
}

/// Makes an int immortal, with the values that CPython gives immortal objects: all bits of the local count, nothing in
/// the shared one. CPython's small ints are immortal already and are left unchanged.
///
/// # Safety
/// The int is new and known only to this thread.
#[cfg(Py_GIL_DISABLED)]
unsafe fn prepay(int: *mut ffi::PyObject) {
    use std::sync::atomic::Ordering;

    // SAFETY: The caller promises this.
    unsafe {
        if (*int).ob_ref_local.load(Ordering::Relaxed) != u32::MAX {
            (*int).ob_tid = 0;
            (*int).ob_ref_local.store(u32::MAX, Ordering::Relaxed);
            (*int).ob_ref_shared.store(0, Ordering::Relaxed);
        }
    }
}

/// Makes an int immortal where the interpreter's lock guards a count of 32 bits, whose highest bit means immortal.
/// Keeps the bits above, which are flags from Python 3.14 on.
///
/// # Safety
/// The interpreter is attached.
#[cfg(all(not(Py_GIL_DISABLED), Py_3_12))]
unsafe fn prepay(int: *mut ffi::PyObject) {
    const IMMORTAL: u32 = if cfg!(Py_3_14) { 3 << 30 } else { u32::MAX };
    // SAFETY: The interpreter's lock is held, and the first 64 bits of an object are its count and its flags.
    unsafe {
        let count = (&raw mut (*int).ob_refcnt).cast::<u64>();
        if *count as u32 as i32 >= 0 {
            *count = *count & !u64::from(u32::MAX) | u64::from(IMMORTAL);
        }
    }
}

/// Gives an int more references than can be dropped in a hundred years.
///
/// # Safety
/// The interpreter is attached.
#[cfg(not(any(Py_GIL_DISABLED, Py_3_12)))]
unsafe fn prepay(int: *mut ffi::PyObject) {
    // SAFETY: The interpreter's lock is held.
    unsafe { (*int).ob_refcnt += isize::MAX / 2 };
}
