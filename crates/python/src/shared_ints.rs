//! Int objects for the items of lists, shared by all tokenizers.
//!
//! A list refers to an int for each id. Looking up its address in a table took a twelfth of the time of making a list, and
//! counting the reference an eighth: a write to a random address. In a free-threaded build that write is an atomic
//! instruction, and eight threads that made lists of the same ints were slower than one. So the ints are contiguous, and the
//! address of an id's int is computed. They are made once per process and never freed, and a list's references to them need
//! not be counted: in a Python with immortal objects they are immortal; in an older one they get more references than can
//! ever be dropped.
//!
//! Tried: counting references in a table and adding them to the objects later was 20 % slower (`benchmarks/run.py --only
//! encode`).

use std::alloc::{self, Layout};
use std::ptr::{self, NonNull};
use std::sync::{Mutex, PoisonError};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;

use crate::objects::{int, no_memory};

/// Ids below this can have a shared int; a vocabulary can have larger ids.
const ID_LIMIT: usize = 1 << 20;

/// The fewest ints to allocate memory for: enough for most vocabularies.
const MIN_INTS: usize = 1 << 16;

/// Bytes from one int to the next.
const STRIDE: usize = if cfg!(Py_GIL_DISABLED) { 64 } else { 32 };

/// Whether references need not be counted. A 32-bit reference count that the GIL guards has no room for the references that
/// are never counted.
const HAS_ROOM: bool = cfg!(any(Py_GIL_DISABLED, target_pointer_width = "64"));

/// Memory for ints, which is never freed. The first `n` ints exist.
struct Slab {
    first: NonNull<u8>,
    n: usize,
    capacity: usize,
}

// SAFETY: It is an address and two numbers. Writers to the memory hold the lock of `SLABS`, and nothing refers to an int
// before it is made.
unsafe impl Send for Slab {}

/// Each slab has room for at least twice as many ints as the previous one.
static SLABS: Mutex<Vec<Slab>> = Mutex::new(Vec::new());

/// The ints of the ids below `n`.
#[derive(Clone, Copy)]
pub struct SharedInts {
    first: NonNull<u8>,
    n: usize,
}

// SAFETY: The ints are never freed, and never change once they are made, except for their reference counts, which Python
// guards.
unsafe impl Send for SharedInts {}
// SAFETY: as above.
unsafe impl Sync for SharedInts {}

impl SharedInts {
    /// Makes the missing ints of ids below `n_ids`. Ids from [`ID_LIMIT`] on have none.
    pub fn new(py: Python<'_>, n_ids: usize) -> PyResult<Self> {
        let Some(n_bytes) = bytes_of_int().filter(|_| n_ids > 0) else {
            return Ok(SharedInts { first: NonNull::dangling(), n: 0 });
        };
        let n = n_ids.min(ID_LIMIT);
        let mut slabs = SLABS.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        if slabs.last().is_none_or(|last| last.capacity < n) {
            let new = Slab::new(n.next_power_of_two().max(MIN_INTS))?;
            slabs.try_reserve(1).map_err(|_| no_memory())?;
            slabs.push(new);
        }
        let Some(slab) = slabs.iter_mut().find(|slab| slab.capacity >= n) else { return Err(no_memory()) };
        while slab.n < n {
            slab.make(py, n_bytes)?;
        }
        Ok(SharedInts { first: slab.first, n })
    }

    /// Returns whether all of these ids have an int.
    #[inline(always)]
    pub fn has_all<I: pairloom_core::ids::Id>(&self, ids: &[I]) -> bool {
        // Without an early exit, this compiles to a few vector instructions.
        ids.iter().fold(0, |most, id| most.max(id.to_u32())) < self.n as u32
    }

    /// Returns a reference to an id's int, which a list can take over.
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
        // SAFETY: The caller promises that the id has an int, so the address is within the slab.
        unsafe { self.first.as_ptr().add(id as usize * STRIDE).cast() }
    }
}

/// Returns the size of the int object of an id below [`ID_LIMIT`], if it fits in a stride and references need not be
/// counted.
fn bytes_of_int() -> Option<usize> {
    // Four bytes of digits are enough for an id, whatever the width of a digit.
    // SAFETY: The type is a static object that never changes.
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
        // SAFETY: The int has at least one digit, even if it is 0, and Python allocates multiples of eight bytes, so it has
        // `n_bytes` bytes to read. They contain no address except that of its type, which is never freed. The slab has room
        // for them, nothing else refers to that room yet, and the interpreter is attached.
        unsafe {
            let copy = self.first.as_ptr().add(self.n * STRIDE);
            ptr::copy_nonoverlapping(new.as_ptr().cast::<u8>(), copy, n_bytes);
            make_immortal(copy.cast());
        }
        self.n += 1;
        Ok(())
    }
}

/// Makes an int immortal, with the values that CPython gives immortal objects: all bits set in the local count, none in the
/// shared count. CPython's small ints are immortal already and stay unchanged.
///
/// # Safety
/// The int is new and known only to this thread.
#[cfg(Py_GIL_DISABLED)]
unsafe fn make_immortal(int: *mut ffi::PyObject) {
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

/// Makes an int immortal in a build where the GIL guards a 32-bit count, whose highest bit means immortal. Keeps the bits
/// above, which are flags from Python 3.14 on.
///
/// # Safety
/// The interpreter is attached.
#[cfg(all(not(Py_GIL_DISABLED), Py_3_12))]
unsafe fn make_immortal(int: *mut ffi::PyObject) {
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
unsafe fn make_immortal(int: *mut ffi::PyObject) {
    // SAFETY: The interpreter's lock is held.
    unsafe { (*int).ob_refcnt += isize::MAX / 2 };
}
