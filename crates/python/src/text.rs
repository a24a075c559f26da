//! Python str to text that the core reads, without leaving a cached UTF-8 copy on the object, and back.

use std::borrow::Cow;
use std::mem::MaybeUninit;

use pairloom_core::Error;
use pairloom_core::decoder::DecodeErrors;
use pairloom_core::pages;
use pairloom_core::text::{self, Characters, Text, Unit};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::{exception, type_name};

/// The characters of `text` as they lie in its memory, lone surrogates among them.
#[inline]
pub fn characters<'a>(text: &'a Bound<'_, PyString>) -> Characters<'a> {
    if let Some(text) = ascii(text) {
        return Characters::Utf8(text);
    }
    let object = text.as_ptr();
    // SAFETY: `text` is a live str object, which never changes; its data are as many units as it has characters, of
    // the width that its kind says, aligned to that.
    unsafe {
        let (data, n) = (ffi::PyUnicode_DATA(object), ffi::PyUnicode_GET_LENGTH(object) as usize);
        match ffi::PyUnicode_KIND(object) {
            ffi::PyUnicode_1BYTE_KIND => Characters::Latin1(std::slice::from_raw_parts(data.cast::<u8>(), n)),
            ffi::PyUnicode_2BYTE_KIND => Characters::Ucs2(std::slice::from_raw_parts(data.cast::<u16>(), n)),
            _ => Characters::Ucs4(std::slice::from_raw_parts(data.cast::<u32>(), n)),
        }
    }
}

/// The UTF-8 of `text`, which is its own memory if it is ASCII; UnicodeEncodeError for lone surrogates.
#[inline]
pub fn utf8<'a>(text: &'a Bound<'_, PyString>) -> PyResult<Cow<'a, str>> {
    if let Some(text) = ascii(text) {
        return Ok(Cow::Borrowed(text));
    }
    let mut buffer = String::new();
    match characters(text).utf8(&mut buffer) {
        Ok(_) => Ok(Cow::Owned(buffer)),
        // Python's own error names the surrogate and its place.
        Err(Error::NotCharacters) => match text.encode_utf8() {
            Err(error) => Err(error),
            Ok(_) => Err(exception(text.py(), Error::NotCharacters)),
        },
        Err(error) => Err(exception(text.py(), error)),
    }
}

/// `text` as the str that it must be; TypeError names what it is instead.
#[inline]
pub fn text_argument<'a, 'py>(text: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, PyString>> {
    text.cast().map_err(|_| not_a_str("text", text))
}

/// The TypeError for the argument `name`, which is no str.
#[cold]
pub fn not_a_str(name: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let kind = type_name(value);
    let remedy = if kind == "bytes" { "; decode it first" } else { "" };
    PyTypeError::new_err(format!("{name} must be a str, not {kind}{remedy}"))
}

/// The memory of `text`, if it is ASCII and so UTF-8 as it lies.
#[cfg(not(Py_3_14))]
#[inline]
fn ascii<'a>(text: &'a Bound<'_, PyString>) -> Option<&'a str> {
    let object = text.as_ptr();
    // SAFETY: `text` is a live str object, which never changes; the data of one of ASCII are a byte for each
    // character.
    unsafe {
        (ffi::PyUnicode_IS_ASCII(object) != 0).then(|| {
            let (data, n) = (ffi::PyUnicode_DATA(object), ffi::PyUnicode_GET_LENGTH(object) as usize);
            std::str::from_utf8_unchecked(std::slice::from_raw_parts(data.cast(), n))
        })
    }
}

/// The memory of `text`, if it is ASCII and so UTF-8 as it lies.
///
/// From CPython 3.14 on the flag that says so is no part of what extension modules may read, but its data say it
/// too: those of ASCII come right behind the header that all str objects have, those of other str objects behind a
/// longer one or elsewhere. A subclass of str keeps its data elsewhere and is taken for Latin-1, which ASCII is as
/// well.
#[cfg(Py_3_14)]
#[inline]
fn ascii<'a>(text: &'a Bound<'_, PyString>) -> Option<&'a str> {
    let object = text.as_ptr();
    // SAFETY: As above. The end of the header lies within the object or right behind it.
    unsafe {
        let data = ffi::PyUnicode_DATA(object);
        (data == object.cast::<ffi::PyASCIIObject>().add(1).cast()).then(|| {
            let n = ffi::PyUnicode_GET_LENGTH(object) as usize;
            std::str::from_utf8_unchecked(std::slice::from_raw_parts(data.cast(), n))
        })
    }
}

/// The str of `bytes`, which were decoded from ids; UnicodeDecodeError where `errors` is strict and they are no
/// UTF-8.
pub fn str_of<'py>(py: Python<'py>, bytes: &[u8], errors: DecodeErrors) -> PyResult<Bound<'py, PyString>> {
    /// Below this a new str lies in memory that is at hand.
    const LONG: usize = 1 << 20;
    if bytes.len() >= LONG
        && let Some(text) = py.detach(|| text::valid(bytes))
    {
        return long_str(py, text);
    }
    let errors = match errors {
        DecodeErrors::Strict => c"strict",
        DecodeErrors::Replace => c"replace",
        DecodeErrors::Ignore => c"ignore",
    };
    // SAFETY: `bytes` and `errors` live through the call; it gives a str, or null and sets an exception.
    unsafe {
        let size = bytes.len() as ffi::Py_ssize_t;
        let text = ffi::PyUnicode_DecodeUTF8(bytes.as_ptr().cast(), size, errors.as_ptr());
        Ok(Bound::from_owned_ptr_or_err(py, text)?.cast_into_unchecked())
    }
}

/// The str of a long text, in huge pages where the system has them: most of the time goes to fresh memory.
fn long_str<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
    let (n, largest) = py.detach(|| text::measure(text));
    // SAFETY: `PyUnicode_New` gives a str of n characters up to `largest`, the width of which follows from that
    // alone, or null and sets an exception; nobody else has seen it yet, so its memory is ours to fill. All of it is
    // filled.
    unsafe {
        let new = ffi::PyUnicode_New(n as ffi::Py_ssize_t, largest);
        let new = Bound::from_owned_ptr_or_err(py, new)?.cast_into_unchecked::<PyString>();
        let data = ffi::PyUnicode_DATA(new.as_ptr());
        match largest {
            0..=0xff => fill::<u8>(py, text, std::slice::from_raw_parts_mut(data.cast(), n)),
            0x100..=0xffff => fill::<u16>(py, text, std::slice::from_raw_parts_mut(data.cast(), n)),
            _ => fill::<u32>(py, text, std::slice::from_raw_parts_mut(data.cast(), n)),
        }
        Ok(new)
    }
}

fn fill<U: Unit + Send>(py: Python<'_>, text: &str, units: &mut [MaybeUninit<U>]) {
    py.detach(|| {
        pages::prefer_huge(units);
        text::from_utf8(text, units);
    });
}
