//! Python str to text that the core reads, without leaving a cached UTF-8 copy on the object.

use std::borrow::Cow;

use pairloom_core::text::{Characters, Text};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::exception;

/// The characters of `text` as they lie in its memory; UnicodeEncodeError for lone surrogates.
#[inline]
pub fn characters<'a>(text: &'a Bound<'_, PyString>) -> PyResult<Characters<'a>> {
    // SAFETY: `text` is a live str object and the interpreter is attached.
    if unsafe { ffi::PyUnicode_IS_ASCII(text.as_ptr()) } != 0 {
        // The UTF-8 of an ASCII str is its own memory.
        return Ok(Characters::utf8(text.to_str()?));
    }
    wide(text).ok_or_else(|| match text.encode_utf8() {
        Err(error) => error,
        Ok(_) => pyo3::exceptions::PyValueError::new_err("the text cannot be encoded as UTF-8"),
    })
}

/// The same for a str that is not ASCII; `None` for lone surrogates.
fn wide<'a>(text: &'a Bound<'_, PyString>) -> Option<Characters<'a>> {
    let object = text.as_ptr();
    // SAFETY: `text` is a live str object, which never changes; its data are as many units as it has characters, of
    // the width that its kind says, aligned to that.
    unsafe {
        let (data, n) = (ffi::PyUnicode_DATA(object), ffi::PyUnicode_GET_LENGTH(object) as usize);
        match ffi::PyUnicode_KIND(object) {
            ffi::PyUnicode_1BYTE_KIND => {
                Some(Characters::latin1(std::slice::from_raw_parts(data.cast::<u8>(), n)))
            }
            ffi::PyUnicode_2BYTE_KIND => Characters::ucs2(std::slice::from_raw_parts(data.cast::<u16>(), n)),
            _ => Characters::ucs4(std::slice::from_raw_parts(data.cast::<u32>(), n)),
        }
    }
}

/// The UTF-8 of `text`, which is its own memory if it is ASCII; UnicodeEncodeError for lone surrogates.
#[inline]
pub fn utf8<'a>(text: &'a Bound<'_, PyString>) -> PyResult<Cow<'a, str>> {
    // SAFETY: `text` is a live str object and the interpreter is attached.
    if unsafe { ffi::PyUnicode_IS_ASCII(text.as_ptr()) } != 0 {
        return text.to_str().map(Cow::Borrowed);
    }
    let mut buffer = String::new();
    match characters(text)?.utf8(&mut buffer) {
        Ok(_) => Ok(Cow::Owned(buffer)),
        Err(error) => Err(exception(text.py(), error)),
    }
}
