//! Hands columns over: the C structs point into memory of ours, which lives until every copy of them is released.

use std::any::Any;
use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::Arc;

use super::abi::{ArrowArray, ArrowSchema, NULLABLE};
use crate::error::Result;
use crate::ids::Id;
use crate::memory::{ResultIds, TryReserve};

/// Which rows are not null. No bits are kept until the first null.
#[derive(Default)]
pub(super) struct Validity {
    bits: Vec<u8>,
    n_rows: usize,
    n_nulls: usize,
}

impl Validity {
    #[inline]
    pub(super) fn push(&mut self, is_valid: bool) -> Result<()> {
        const BITS: &str = "the nulls of a column";
        if !is_valid && self.n_nulls == 0 {
            self.bits.try_resize(self.n_rows.div_ceil(8), u8::MAX, BITS)?;
            if !self.n_rows.is_multiple_of(8)
                && let Some(last) = self.bits.last_mut()
            {
                *last >>= 8 - self.n_rows % 8;
            }
        }
        self.n_nulls += usize::from(!is_valid);
        if self.n_nulls > 0 {
            if self.n_rows.is_multiple_of(8) {
                self.bits.try_push(0, BITS)?;
            }
            if let Some(last) = self.bits.last_mut() {
                *last |= u8::from(is_valid) << (self.n_rows % 8);
            }
        }
        self.n_rows += 1;
        Ok(())
    }

    pub(super) fn is_valid(&self, row: usize) -> bool {
        self.n_nulls == 0 || self.bits[row / 8] >> (row % 8) & 1 == 1
    }
}

/// Memory that a buffer of the interface points to.
pub(super) struct Buffer {
    address: *const c_void,
    _memory: Box<dyn Any + Send + Sync>,
}

// SAFETY: the memory is Send and Sync, and nobody writes to it.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

#[cfg(test)]
impl Buffer {
    pub(super) fn missing() -> Self {
        Buffer { address: ptr::null(), _memory: Box::new(()) }
    }
}

impl<T: Send + Sync + 'static> From<Vec<T>> for Buffer {
    fn from(items: Vec<T>) -> Self {
        Buffer { address: items.as_ptr().cast(), _memory: Box::new(items) }
    }
}

impl<I: Id> From<ResultIds<I>> for Buffer {
    fn from(ids: ResultIds<I>) -> Self {
        Buffer { address: ids.as_ptr().cast(), _memory: Box::new(ids) }
    }
}

/// A column of ours.
pub struct Column {
    format: &'static CStr,
    name: &'static CStr,
    metadata: Vec<u8>,
    n_rows: usize,
    validity: Option<Validity>,
    buffers: Vec<Buffer>,
    children: Vec<Arc<Column>>,
}

impl Column {
    /// A column of this format, name and buffers, those of validity left out; without rows that are null.
    pub(super) fn new(
        format: &'static CStr,
        name: &'static CStr,
        n_rows: usize,
        buffers: Vec<Buffer>,
    ) -> Self {
        Column { format, name, metadata: Vec::new(), n_rows, validity: None, buffers, children: Vec::new() }
    }

    pub(super) fn with_validity(self, validity: Validity) -> Self {
        Column { validity: Some(validity), ..self }
    }

    pub(super) fn with_children(self, children: Vec<Column>) -> Self {
        Column { children: children.into_iter().map(Arc::new).collect(), ..self }
    }

    /// With key-value pairs in the schema.
    pub fn with_metadata(self, pairs: &[(Vec<u8>, Vec<u8>)]) -> Self {
        let int = |n: usize| i32::try_from(n).unwrap_or(i32::MAX).to_ne_bytes();
        let mut metadata = int(pairs.len()).to_vec();
        for item in pairs.iter().flat_map(|(key, value)| [key, value]) {
            metadata.extend(int(item.len()));
            metadata.extend(item);
        }
        Column { metadata, ..self }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.n_rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.n_rows == 0
    }

    /// The type of the column.
    pub fn schema(self: &Arc<Self>) -> ArrowSchema {
        let children = self.children.iter().map(|child| Box::into_raw(Box::new(child.schema()))).collect();
        let mut held = Box::new(HeldSchema { column: Arc::clone(self), children });
        ArrowSchema {
            format: held.column.format.as_ptr(),
            name: held.column.name.as_ptr(),
            metadata: match held.column.metadata.as_slice() {
                [] => ptr::null(),
                metadata => metadata.as_ptr().cast(),
            },
            flags: if held.column.validity.is_some() { NULLABLE } else { 0 },
            n_children: held.children.len() as i64,
            children: held.children.as_mut_ptr(),
            dictionary: ptr::null_mut(),
            release: Some(release_schema),
            private_data: Box::into_raw(held).cast(),
        }
    }

    /// The rows of the column, in the memory of this one.
    pub fn array(self: &Arc<Self>) -> ArrowArray {
        let children = self.children.iter().map(|child| Box::into_raw(Box::new(child.array()))).collect();
        let n_nulls = self.validity.as_ref().map_or(0, |validity| validity.n_nulls);
        let bits = self.validity.as_ref().filter(|_| n_nulls > 0);
        let mut buffers = vec![bits.map_or(ptr::null(), |validity| validity.bits.as_ptr().cast())];
        buffers.extend(self.buffers.iter().map(|buffer| buffer.address));
        let mut held = Box::new(HeldArray { _column: Arc::clone(self), buffers, children });
        ArrowArray {
            length: self.n_rows as i64,
            null_count: n_nulls as i64,
            offset: 0,
            n_buffers: held.buffers.len() as i64,
            n_children: held.children.len() as i64,
            buffers: held.buffers.as_mut_ptr(),
            children: held.children.as_mut_ptr(),
            dictionary: ptr::null_mut(),
            release: Some(release_array),
            private_data: Box::into_raw(held).cast(),
        }
    }
}

/// What an exported schema points into.
struct HeldSchema {
    column: Arc<Column>,
    children: Vec<*mut ArrowSchema>,
}

/// What an exported array points into.
struct HeldArray {
    _column: Arc<Column>,
    buffers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
}

/// Releases a schema of [`Column::schema`].
///
/// # Safety
/// It is one, and not released.
unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: `Column::schema` made `private_data` and the children from boxes; a child that a consumer moved away has
    // been marked as released, so dropping its box releases nothing twice.
    unsafe {
        let held = Box::from_raw((*schema).private_data.cast::<HeldSchema>());
        held.children.iter().for_each(|&child| drop(Box::from_raw(child)));
        (*schema).release = None;
    }
}

/// Releases an array of [`Column::array`].
///
/// # Safety
/// It is one, and not released.
unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: as for a schema.
    unsafe {
        let held = Box::from_raw((*array).private_data.cast::<HeldArray>());
        held.children.iter().for_each(|&child| drop(Box::from_raw(child)));
        (*array).release = None;
    }
}
