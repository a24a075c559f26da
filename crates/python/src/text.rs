//! Python str to UTF-8, without leaving a cached copy on the object.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// The UTF-8 of a str: its own memory when it is ASCII, a temporary copy when it is not.
pub enum Utf8<'a, 'py> {
    /// An ASCII str is UTF-8 as it lies in memory.
    Ascii(&'a str),
    /// CPython would cache the UTF-8 of any other str on the object; a bytes object of our own goes away.
    Copied(Bound<'py, PyBytes>),
}

impl<'a, 'py> Utf8<'a, 'py> {
    /// Reads `text`; UnicodeEncodeError for lone surrogates.
    #[inline]
    pub fn of(text: &'a Bound<'py, PyString>) -> PyResult<Self> {
        // SAFETY: `text` is a live str object and the interpreter is attached.
        if unsafe { ffi::PyUnicode_IS_ASCII(text.as_ptr()) } != 0 {
            Ok(Utf8::Ascii(text.to_str()?))
        } else {
            Ok(Utf8::Copied(text.encode_utf8()?))
        }
    }

    /// The text.
    #[inline]
    pub fn as_str(&self) -> &str {
        match self {
            Utf8::Ascii(text) => text,
            // SAFETY: CPython's strict UTF-8 encoder made these bytes, and bytes objects never change.
            Utf8::Copied(bytes) => unsafe { std::str::from_utf8_unchecked(bytes.as_bytes()) },
        }
    }
}
