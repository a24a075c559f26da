//! Python lists of ids. A table of int objects, made once for a process, saves an allocation for each id.

use std::slice;

use pairloom_core::ids::Id;
use pairloom_core::pages;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyInt, PyList};

use crate::objects::{int, list, vec_for};

/// Ids below this have a cached int object; a vocabulary may have larger ids.
const MAX_CACHED: usize = 1 << 20;

/// Bytes of memory for lists that are requested at once.
const AHEAD_BYTES: usize = 16 << 20;

/// The int objects of a tokenizer's ids, made for the first list. Tokenizers share them ([`shared_ints`]).
pub struct CachedInts {
    n_ids: usize,
    ints: PyOnceLock<Vec<Py<PyInt>>>,
}

impl CachedInts {
    /// An empty table for the ids below `n_ids`.
    pub fn new(n_ids: usize) -> Self {
        CachedInts { n_ids: n_ids.min(MAX_CACHED), ints: PyOnceLock::new() }
    }

    fn ints(&self, py: Python<'_>) -> PyResult<&[Py<PyInt>]> {
        let ints = self.ints.get_or_try_init(py, || {
            let mut ints = vec_for(self.n_ids)?;
            shared_ints::fill(py, &mut ints, self.n_ids)?;
            Ok::<_, PyErr>(ints)
        })?;
        Ok(ints)
    }

    /// A list of `ids`; MemoryError if there is no memory.
    #[inline]
    pub fn list<'py, I: Id>(&self, py: Python<'py>, ids: &[I]) -> PyResult<Bound<'py, PyList>> {
        let ints = self.ints(py)?;
        // SAFETY: the interpreter is attached; a null result becomes the pending exception.
        let list =
            unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyList_New(ids.len() as ffi::Py_ssize_t))? };
        // SAFETY: `list` is a list object.
        let items = unsafe { (*list.as_ptr().cast::<ffi::PyListObject>()).ob_item };
        if !items.is_null() {
            // SAFETY: the new list has `ids.len()` items, all null, and no other reference to it exists.
            let items = unsafe { slice::from_raw_parts_mut(items, ids.len()) };
            pages::prefer_huge(items);
            for (id, item) in ids.iter().zip(items) {
                *item = match ints.get(id.to_u32() as usize) {
                    Some(int) => shared_ints::reference(int),
                    None => int(py, id.to_u32())?.into_ptr(),
                };
            }
        }
        // Without the interpreter's lock all threads stand still while the garbage collector visits the items of all lists.
        // Ints are in no cycle, so there the collector is told nothing of them.
        #[cfg(Py_GIL_DISABLED)]
        // SAFETY: it is a new list, which Python tracks. Deallocation does not require a list to be tracked.
        unsafe {
            ffi::PyObject_GC_UnTrack(list.as_ptr().cast())
        };
        // SAFETY: PyList_New returned it.
        Ok(unsafe { list.cast_into_unchecked() })
    }
}

/// Int objects whose references are paid in advance.
///
/// To count a reference is a write to a random place for each id, which took an eighth of the time of a list; where threads
/// run without the interpreter's lock it is an atomic instruction, and eight threads that made lists of the same ints were
/// slower than one. So the ints are made once for a process, never freed, and need no counting when a list refers to them:
/// where Python has immortal objects they are immortal; older ones get more references than can ever be dropped.
mod shared_ints {
    use pyo3::ffi;
    use pyo3::prelude::*;
    use pyo3::sync::MutexExt;
    use pyo3::types::PyInt;

    use crate::objects::{int, push};

    static INTS: std::sync::Mutex<Vec<Py<PyInt>>> = std::sync::Mutex::new(Vec::new());

    /// Whether references are paid in advance. Counts of 32 bits have no room for that.
    const PREPAID: bool = cfg!(any(Py_GIL_DISABLED, target_pointer_width = "64"));

    /// Appends the ints below `n_ids`, at most [`MAX_CACHED`](super::MAX_CACHED), to `ints`, which has room for them.
    pub(super) fn fill(py: Python<'_>, ints: &mut Vec<Py<PyInt>>, n_ids: usize) -> PyResult<()> {
        let mut all = INTS.lock_py_attached(py).unwrap_or_else(|poisoned| poisoned.into_inner());
        while all.len() < n_ids {
            let new = int(py, all.len() as u32)?;
            if PREPAID {
                // SAFETY: the interpreter is attached; `new` is a new object that no other thread can reach, or one of
                // CPython's small ints.
                unsafe { prepay(new.as_ptr()) };
            }
            push(&mut all, new)?;
        }
        ints.extend(all[..n_ids].iter().map(|int| int.clone_ref(py)));
        Ok(())
    }

    /// A new reference to one of these ints.
    #[inline(always)]
    pub(super) fn reference(int: &Py<PyInt>) -> *mut ffi::PyObject {
        let int = int.as_ptr();
        if !PREPAID {
            // SAFETY: the table owns a reference, so the int is alive, and the interpreter is attached.
            unsafe { ffi::Py_INCREF(int) };
        }
        int
    }

    /// Makes an int immortal, with the values that CPython gives immortal objects: all bits of the local count, nothing in
    /// the shared one. Its small ints are immortal already and are left alone.
    ///
    /// # Safety
    /// The int is new and known to this thread alone, or immortal.
    #[cfg(Py_GIL_DISABLED)]
    unsafe fn prepay(int: *mut ffi::PyObject) {
        use std::sync::atomic::Ordering;

        // SAFETY: the caller's promise.
        unsafe {
            if (*int).ob_ref_local.load(Ordering::Relaxed) != u32::MAX {
                (*int).ob_tid = 0;
                (*int).ob_ref_local.store(u32::MAX, Ordering::Relaxed);
                (*int).ob_ref_shared.store(0, Ordering::Relaxed);
            }
        }
    }

    /// The same where the lock guards a count of 32 bits whose highest bit says that the object is immortal; the bits above
    /// are kept, which hold flags from Python 3.14 on.
    ///
    /// # Safety
    /// The interpreter is attached.
    #[cfg(all(not(Py_GIL_DISABLED), Py_3_12))]
    unsafe fn prepay(int: *mut ffi::PyObject) {
        const IMMORTAL: u32 = if cfg!(Py_3_14) { 3 << 30 } else { u32::MAX };
        // SAFETY: the interpreter's lock is held, and the first 64 bits of an object are its count and its flags.
        unsafe {
            let count = (&raw mut (*int).ob_refcnt).cast::<u64>();
            if *count as u32 as i32 >= 0 {
                *count = *count & !u64::from(u32::MAX) | u64::from(IMMORTAL);
            }
        }
    }

    /// Adds references that the table owns and gives away with each list: more than can be dropped in a hundred years.
    ///
    /// # Safety
    /// The interpreter is attached.
    #[cfg(not(any(Py_GIL_DISABLED, Py_3_12)))]
    unsafe fn prepay(int: *mut ffi::PyObject) {
        // SAFETY: the interpreter's lock is held.
        unsafe { (*int).ob_refcnt += isize::MAX / 2 };
    }
}

/// Makes the allocator place many small lists in huge pages.
///
/// Lists are allocated one by one, and the allocator takes new memory from the system in small pages. Here a large block in
/// huge pages is allocated and freed at once, so that the allocator serves the next lists from it.
pub struct RoomAhead {
    /// About the bytes of the lists still to come.
    n_coming: usize,
    /// Bytes of the last block that are not used yet.
    n_ready: usize,
}

impl RoomAhead {
    /// For the lists of `n_text_bytes` bytes of text.
    pub fn new(n_text_bytes: usize) -> Self {
        // Rarely more than one id for two bytes of text; an item takes eight bytes.
        RoomAhead { n_coming: n_text_bytes.saturating_mul(4), n_ready: 0 }
    }

    /// Prepares memory for lists of `n_ids` ids in all.
    pub fn take(&mut self, n_ids: usize) {
        let n_bytes = n_ids * size_of::<*mut ffi::PyObject>();
        if self.n_ready < n_bytes {
            self.n_ready = n_bytes.max(AHEAD_BYTES.min(self.n_coming));
            pages::reserve(&mut Vec::<u8>::new(), self.n_ready);
        }
        self.n_ready -= n_bytes;
        self.n_coming = self.n_coming.saturating_sub(n_bytes);
    }
}

/// Lists that the cyclic garbage collector ignores while more of them are made.
///
/// Python tracks every new list, and every few hundred start a collection that visits all items of the young ones: a third
/// of the time of encoding many documents. Lists of int are in no cycle, so they are untracked until all are made. The
/// collector is not disabled instead: other threads would see that, and a process forked meanwhile would keep it disabled.
#[derive(Default)]
pub struct UntrackedLists(Vec<Py<PyList>>);

impl UntrackedLists {
    /// No lists, with room for `n`.
    pub fn with_room(n: usize) -> PyResult<Self> {
        vec_for(n).map(UntrackedLists)
    }

    /// Adds a list to which no other reference exists.
    pub fn push(&mut self, list: Bound<'_, PyList>) {
        // SAFETY: it is a new list, which Python tracks. Deallocation does not require a list to be tracked.
        unsafe { ffi::PyObject_GC_UnTrack(list.as_ptr().cast()) };
        self.0.push(list.unbind());
    }

    /// The list of all lists, all of them tracked again where lists of ids are.
    pub fn into_list(self, py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
        #[cfg(not(Py_GIL_DISABLED))]
        for list in &self.0 {
            // SAFETY: `push` untracked it, no other reference exists, and all its items are set.
            unsafe { ffi::PyObject_GC_Track(list.as_ptr().cast()) };
        }
        list(py, self.0)
    }
}
