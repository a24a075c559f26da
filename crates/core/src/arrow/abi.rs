//! The three structs of the C data interface. Their owner calls `release` once, here when they are dropped. Their default
//! is the released struct.

use std::ffi::{c_char, c_int, c_void};

/// A type: its format string, name, metadata and children.
#[derive(Default)]
#[repr(C)]
#[allow(missing_docs)]
pub struct ArrowSchema {
    pub format: *const c_char,
    pub name: *const c_char,
    pub metadata: *const c_char,
    pub flags: i64,
    pub n_children: i64,
    pub children: *mut *mut ArrowSchema,
    pub dictionary: *mut ArrowSchema,
    pub release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    pub private_data: *mut c_void,
}

/// Rows of one type: buffers and children.
#[derive(Default)]
#[repr(C)]
#[allow(missing_docs)]
pub struct ArrowArray {
    pub length: i64,
    pub null_count: i64,
    pub offset: i64,
    pub n_buffers: i64,
    pub n_children: i64,
    pub buffers: *mut *const c_void,
    pub children: *mut *mut ArrowArray,
    pub dictionary: *mut ArrowArray,
    pub release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    pub private_data: *mut c_void,
}

/// Arrays of one type, one after the other.
#[derive(Default)]
#[repr(C)]
#[allow(missing_docs)]
pub struct ArrowArrayStream {
    pub get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    pub get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    pub get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    pub release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    pub private_data: *mut c_void,
}

/// `ARROW_FLAG_NULLABLE`.
pub const NULLABLE: i64 = 2;

macro_rules! released_on_drop {
    ($($name:ident),*) => {$(
        impl Drop for $name {
            fn drop(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: the interface: `release` is called once, by the owner, and sets itself to null.
                    unsafe { release(self) };
                }
            }
        }

        // SAFETY: the interface lets a consumer read and release what it owns on any thread; the memory is immutable.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}
    )*};
}

released_on_drop!(ArrowSchema, ArrowArray, ArrowArrayStream);
