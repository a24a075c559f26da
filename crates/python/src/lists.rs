//! Makes Python lists of ids.

use std::mem::MaybeUninit;
use std::slice;

use pairloom_core::ids::Id;
use pairloom_core::pages;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyList;

use crate::objects::{int, list, no_memory, vec_with_capacity};
use crate::shared_ints::SharedInts;

/// How many bytes to request at once for lists still to come.
const AHEAD_BYTES: usize = 16 << 20;

/// The most bytes that the allocator adds to the items of a list.
const ALLOCATION_BYTES: usize = 32;

/// Makes lists of the ids of a tokenizer.
pub struct IdLists {
    n_ids: usize,
    /// Made with the first list.
    ints: PyOnceLock<SharedInts>,
}

impl IdLists {
    /// For ids that are mostly below `n_ids`; larger ids get a new int each time.
    pub fn new(n_ids: usize) -> Self {
        IdLists { n_ids, ints: PyOnceLock::new() }
    }

    /// Makes a list of `ids`; MemoryError if memory is lacking.
    #[inline]
    pub fn list<'py, I: Id>(&self, py: Python<'py>, ids: &[I]) -> PyResult<Bound<'py, PyList>> {
        let ints = *self.ints.get_or_try_init(py, || SharedInts::new(py, self.n_ids))?;
        new_list(py, ids.len(), |room| {
            if ints.has_all(ids) {
                for (id, item) in ids.iter().zip(&mut *room) {
                    // SAFETY: All of these ids have a shared int.
                    item.write(unsafe { ints.get_unchecked(id.to_u32()) });
                }
                return (ids.len(), Ok(()));
            }
            for (n_written, (id, item)) in ids.iter().zip(&mut *room).enumerate() {
                let id = id.to_u32();
                match ints.get(id).map_or_else(|| int(py, id).map(Bound::into_ptr), Ok) {
                    Ok(int) => item.write(int),
                    Err(error) => return (n_written, Err(error)),
                };
            }
            (ids.len(), Ok(()))
        })
    }
}

/// A slot of a list, for a reference that the list takes over.
type Item = MaybeUninit<*mut ffi::PyObject>;

/// Makes a list of `n` items. `write` gets the slots and returns how many it wrote, from the first one on: all of them, unless
/// it fails.
///
/// Tried: eight items at a time with one check of their ids was 11 to 14 % slower (`benchmarks/run.py --only encode`).
#[inline(always)]
fn new_list<'py>(
    py: Python<'py>,
    n: usize,
    write: impl FnOnce(&mut [Item]) -> (usize, PyResult<()>),
) -> PyResult<Bound<'py, PyList>> {
    let n_first = if HAS_ROOM { n } else { 0 };
    // SAFETY: The interpreter is attached; a null result becomes the pending exception; the list is new, and has room
    // for `n` items once `allocate_items` has run. After an error it drops the items that were written. No other thread
    // can have a reference to it: `gc.get_objects` finds tracked lists, but this thread holds the GIL; in a
    // free-threaded build that function stops all threads first, and none can stop between `PyList_New` and
    // `PyObject_GC_UnTrack`.
    unsafe {
        let list = Bound::from_owned_ptr_or_err(py, ffi::PyList_New(n_first as ffi::Py_ssize_t))?;
        // In a free-threaded build, all threads stop while the garbage collector visits the items of all lists. Ints
        // are in no cycle, so there these lists are never tracked by the collector. docs/platforms.md has the figures,
        // and what this means for a program that puts a list into itself.
        #[cfg(Py_GIL_DISABLED)]
        ffi::PyObject_GC_UnTrack(list.as_ptr().cast());
        if n > 0 {
            let object = list.as_ptr().cast::<ffi::PyListObject>();
            if !HAS_ROOM {
                allocate_items(object, n)?;
            }
            let room = slice::from_raw_parts_mut((*object).ob_item.cast::<Item>(), n);
            pages::prefer_huge(room);
            let (n_written, done) = write(room);
            (*object).ob_base.ob_size = n_written as ffi::Py_ssize_t;
            done?;
        }
        Ok(list.cast_into_unchecked())
    }
}

/// Whether `PyList_New` must allocate the items, because the interpreter does not allocate them with `PyMem`.
const HAS_ROOM: bool = cfg!(Py_GIL_DISABLED);

/// Allocates room for `n` items in an empty list. `PyList_New` would fill the room with null first, so large lists would be
/// written twice.
///
/// # Safety
/// The interpreter is attached, and no other reference to the list exists. `n` is not 0. The interpreter allocates, grows
/// and frees the items of a list with the functions of `PyMem`, which a free-threaded one does not.
unsafe fn allocate_items(list: *mut ffi::PyListObject, n: usize) -> PyResult<()> {
    // SAFETY: The caller promises this.
    unsafe {
        let room = ffi::PyMem_Malloc(n * size_of::<Item>()).cast::<*mut ffi::PyObject>();
        if room.is_null() {
            return Err(no_memory());
        }
        if !(*list).ob_item.is_null() {
            ffi::PyMem_Free((*list).ob_item.cast());
        }
        (*list).ob_item = room;
        (*list).allocated = n as ffi::Py_ssize_t;
    }
    Ok(())
}

/// Makes the allocator place many small lists in huge pages.
///
/// Lists are allocated one by one, and the allocator takes new memory from the system in small pages. So allocate a large
/// block in huge pages here and free it at once: the allocator then serves the next lists from it.
pub struct RoomAhead {
    /// About how many bytes the remaining lists will take.
    n_coming: usize,
    /// How many bytes in huge pages are ready and unused.
    n_ready: usize,
}

impl RoomAhead {
    /// Plans for the lists of `n_text_bytes` bytes of text.
    pub fn new(n_text_bytes: usize) -> Self {
        // A text rarely has more than one id per two bytes; an item takes eight bytes.
        RoomAhead { n_coming: n_text_bytes.saturating_mul(4), n_ready: 0 }
    }

    /// Prepares memory for `n_lists` lists of `n_ids` ids in total.
    pub fn take(&mut self, n_lists: usize, n_ids: usize) {
        let n_bytes = n_ids * size_of::<*mut ffi::PyObject>() + n_lists * ALLOCATION_BYTES;
        if self.n_ready < n_bytes {
            self.n_ready = pages::prepare(n_bytes.max(AHEAD_BYTES.min(self.n_coming)));
        }
        self.n_ready = self.n_ready.saturating_sub(n_bytes);
        self.n_coming = self.n_coming.saturating_sub(n_bytes);
    }
}

/// Lists that the cyclic garbage collector ignores while more of them are made.
///
/// Python tracks each new list, and every few hundred of them trigger a collection that visits all items of the young ones: a
/// third of the time of encoding many documents. Lists of int are in no cycle, so they stay untracked until all are made.
/// Disabling the collector instead would be visible to other threads, and a process forked meanwhile would keep it disabled.
#[derive(Default)]
pub struct UntrackedLists(Vec<Py<PyList>>);

impl UntrackedLists {
    /// Makes an empty collection with room for `n` lists.
    pub fn with_reserved(n: usize) -> PyResult<Self> {
        vec_with_capacity(n).map(UntrackedLists)
    }

    /// Adds a list to which no other reference exists.
    pub fn push(&mut self, list: Bound<'_, PyList>) {
        // SAFETY: It is a live list; untracking an untracked one has no effect. Deallocation does not require it to be
        // tracked.
        unsafe { ffi::PyObject_GC_UnTrack(list.as_ptr().cast()) };
        self.0.push(list.unbind());
    }

    /// Returns a list of all lists, and tracks them again, unless lists of ids are never tracked: see `new_list`.
    pub fn into_list(self, py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
        #[cfg(not(Py_GIL_DISABLED))]
        for list in &self.0 {
            // SAFETY: `push` untracked it, no other reference exists, and all its items are set.
            unsafe { ffi::PyObject_GC_Track(list.as_ptr().cast()) };
        }
        list(py, self.0)
    }
}
