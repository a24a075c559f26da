//! Python str to text that the core reads, without leaving a cached UTF-8 copy on the object.

use std::borrow::Cow;

use pairloom_core::text::{Characters, Text};
use pyo3::exceptions::PyUnicodeEncodeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::exception;

/// The characters of `text` as they lie in its memory, lone surrogates among them.
#[inline]
pub fn characters<'a>(text: &'a Bound<'_, PyString>) -> Characters<'a> {
    let object = text.as_ptr();
    // SAFETY: `text` is a live str object, which never changes; its data are as many units as it has characters, of
    // the width that its kind says, aligned to that. ASCII is UTF-8.
    unsafe {
        let (data, n) = (ffi::PyUnicode_DATA(object), ffi::PyUnicode_GET_LENGTH(object) as usize);
        match ffi::PyUnicode_KIND(object) {
            ffi::PyUnicode_1BYTE_KIND => {
                let units = std::slice::from_raw_parts(data.cast::<u8>(), n);
                match ffi::PyUnicode_IS_ASCII(object) {
                    0 => Characters::latin1(units),
                    _ => Characters::utf8(std::str::from_utf8_unchecked(units)),
                }
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
    match characters(text).utf8(&mut buffer) {
        Ok(_) => Ok(Cow::Owned(buffer)),
        Err(error) => Err(placed(std::slice::from_ref(text), exception(text.py(), error))),
    }
}

/// Where `error` says that one of `texts` holds a lone surrogate, the error that names the surrogate and its place.
pub fn placed(texts: &[Bound<'_, PyString>], error: PyErr) -> PyErr {
    let is_of_a_text = |text: &Bound<'_, PyString>| error.is_instance_of::<PyUnicodeEncodeError>(text.py());
    match texts.first().is_some_and(is_of_a_text) {
        true => texts.iter().find_map(|text| text.encode_utf8().err()).unwrap_or(error),
        false => error,
    }
}
