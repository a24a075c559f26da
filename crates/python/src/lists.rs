//! Python lists of ids.

use std::mem::MaybeUninit;
use std::slice;

use pairloom_core::ids::Id;
use pairloom_core::pages;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyList;

use crate::objects::{int, list, no_memory, vec_for};
use crate::shared_ints::SharedInts;

/// Bytes of memory for lists that are requested at once.
const AHEAD_BYTES: usize = 16 << 20;

/// The most that the allocator adds to the items of a list.
const ALLOCATION_BYTES: usize = 32;

/// Makes lists of the ids of a tokenizer.
pub struct IdLists {
    n_ids: usize,
    /// Made for the first list.
    ints: PyOnceLock<SharedInts>,
}

impl IdLists {
    /// For ids that are mostly below `n_ids`; the ints of larger ones are made anew each time.
    pub fn new(n_ids: usize) -> Self {
        IdLists { n_ids, ints: PyOnceLock::new() }
    }

    /// A list of `ids`; MemoryError if there is no memory.
    #[inline]
    pub fn list<'py, I: Id>(&self, py: Python<'py>, ids: &[I]) -> PyResult<Bound<'py, PyList>> {
        let ints = *self.ints.get_or_try_init(py, || SharedInts::new(py, self.n_ids))?;
        new_list(py, ids.len(), |room| {
            if ints.has_all(ids) {
                for (id, item) in ids.iter().zip(&mut *room) {
                    // SAFETY: all of them have one.
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

/// Where an item of a list is written: a reference that the list takes over.
type Item = MaybeUninit<*mut ffi::PyObject>;

/// A list of `n` items. `write` is given the room for them and returns how many it wrote, from the first on: all, or it
/// fails.
#[inline(always)]
fn new_list<'py>(
    py: Python<'py>,
    n: usize,
    write: impl FnOnce(&mut [Item]) -> (usize, PyResult<()>),
) -> PyResult<Bound<'py, PyList>> {
    let n_first = if HAS_ROOM { n } else { 0 };
    // SAFETY: the interpreter is attached; a null result becomes the pending exception; it is a new list, with room for `n`
    // items once `give_room` has run. After an error it drops what was written. No other thread has a reference to it:
    // `gc.get_objects` finds tracked lists, but this thread holds the interpreter's lock; where there is none, that function
    // stops all threads first, and none stops between `PyList_New` and `PyObject_GC_UnTrack`.
    unsafe {
        let list = Bound::from_owned_ptr_or_err(py, ffi::PyList_New(n_first as ffi::Py_ssize_t))?;
        // Without the interpreter's lock all threads stand still while the garbage collector visits the items of all lists.
        // Ints are in no cycle, so there the collector is told nothing of these lists, for good: docs/platforms.md has the
        // figures, and says what that means for a program that puts a list into itself.
        #[cfg(Py_GIL_DISABLED)]
        ffi::PyObject_GC_UnTrack(list.as_ptr().cast());
        if n > 0 {
            let object = list.as_ptr().cast::<ffi::PyListObject>();
            if !HAS_ROOM {
                give_room(object, n)?;
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

/// Whether a list is made with its room, because that is not memory of Python's usual functions.
const HAS_ROOM: bool = cfg!(Py_GIL_DISABLED);

/// Gives an empty list room for `n` items. `PyList_New` would fill it with null first, which for large lists is to write it
/// twice.
///
/// # Safety
/// The interpreter is attached, and no other reference to the list exists. `n` is not 0. The interpreter allocates, grows and
/// frees the items of a list by the functions of `PyMem`: not so where it has no lock.
unsafe fn give_room(list: *mut ffi::PyListObject, n: usize) -> PyResult<()> {
    // SAFETY: the caller's promise.
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
/// Lists are allocated one by one, and the allocator takes new memory from the system in small pages. Here a large block in
/// huge pages is allocated and freed at once, so that the allocator serves the next lists from it.
pub struct RoomAhead {
    /// About the bytes of the lists still to come.
    n_coming: usize,
    /// Bytes that are ready in huge pages and not used yet.
    n_ready: usize,
}

impl RoomAhead {
    /// For the lists of `n_text_bytes` bytes of text.
    pub fn new(n_text_bytes: usize) -> Self {
        // Rarely more than one id for two bytes of text; an item takes eight bytes.
        RoomAhead { n_coming: n_text_bytes.saturating_mul(4), n_ready: 0 }
    }

    /// Prepares memory for `n_lists` lists of `n_ids` ids in all.
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
        // SAFETY: it is a live list; one that is untracked already stays so. Deallocation does not require it to be tracked.
        unsafe { ffi::PyObject_GC_UnTrack(list.as_ptr().cast()) };
        self.0.push(list.unbind());
    }

    /// The list of all lists, all of them tracked again where lists of ids are: see `new_list`.
    pub fn into_list(self, py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
        #[cfg(not(Py_GIL_DISABLED))]
        for list in &self.0 {
            // SAFETY: `push` untracked it, no other reference exists, and all its items are set.
            unsafe { ffi::PyObject_GC_Track(list.as_ptr().cast()) };
        }
        list(py, self.0)
    }
}
