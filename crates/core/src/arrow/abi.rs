//! The three structs of the C data interface. Their owner calls `release` once, here when they are dropped. Their default
//! is the released struct.
//!
//! Their fields are private to `arrow`, because safe code follows the pointers in them: `drop` calls `release`, and
//! [`IdType::of`](super::IdType::of) reads a schema. Others get a struct by `Default`, from [`Column`](super::Column), or
//! through a producer's pointer, in `unsafe` code that vouches for it.

use std::ffi::{c_char, c_int, c_void};

/// A type: its format string, name, metadata and children.
#[derive(Default)]
#[repr(C)]
pub struct ArrowSchema {
    pub(super) format: *const c_char,
    pub(super) name: *const c_char,
    pub(super) metadata: *const c_char,
    pub(super) flags: i64,
    pub(super) n_children: i64,
    pub(super) children: *mut *mut ArrowSchema,
    pub(super) dictionary: *mut ArrowSchema,
    pub(super) release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    pub(super) private_data: *mut c_void,
}

/// Rows of one type: buffers and children.
#[derive(Default)]
#[repr(C)]
pub struct ArrowArray {
    pub(super) length: i64,
    pub(super) null_count: i64,
    pub(super) offset: i64,
    pub(super) n_buffers: i64,
    pub(super) n_children: i64,
    pub(super) buffers: *mut *const c_void,
    pub(super) children: *mut *mut ArrowArray,
    pub(super) dictionary: *mut ArrowArray,
    pub(super) release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    pub(super) private_data: *mut c_void,
}

/// Arrays of one type, one after the other.
#[derive(Default)]
#[repr(C)]
pub struct ArrowArrayStream {
    pub(super) get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    pub(super) get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    pub(super) get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    pub(super) release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    pub(super) private_data: *mut c_void,
}

/// `ARROW_FLAG_NULLABLE`.
pub const NULLABLE: i64 = 2;

macro_rules! released_on_drop {
    ($($name:ident),*) => {$(
        impl Drop for $name {
            fn drop(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: only `arrow` and producers set `release`. The interface: it is called once, by the owner, and
                    // sets itself to null.
                    unsafe { release(self) };
                }
            }
        }

        impl $name {
            /// Whether nothing is left to release: another consumer took it.
            pub fn is_released(&self) -> bool {
                self.release.is_none()
            }
        }

        // SAFETY: the interface lets a consumer read and release what it owns on any thread; the memory is immutable.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}
    )*};
}

released_on_drop!(ArrowSchema, ArrowArray, ArrowArrayStream);
