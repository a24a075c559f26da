//! Converts str to text for the core, and back. Unlike `PyUnicode_AsUTF8AndSize`, this does not cache a UTF-8 copy in the
//! object.

use std::borrow::Cow;
use std::mem::MaybeUninit;

use pairloom_core::Error;
use pairloom_core::decoder::{DecodeErrors, PARTIAL_CHARACTER};
use pairloom_core::pages;
use pairloom_core::text::{self, Characters, Text, Unit};
use pyo3::exceptions::{PyTypeError, PyUnicodeDecodeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::{exception, type_name};

/// Borrows the characters of `text`, which can include lone surrogates. Raises Python's exception if it cannot make `text`
/// ready.
#[inline]
pub fn characters<'a>(text: &'a Bound<'_, PyString>) -> PyResult<Characters<'a>> {
    make_ready(text)?;
    if let Some(text) = ascii(text) {
        return Ok(Characters::Utf8(text));
    }
    let object = text.as_ptr();
    // SAFETY: `text` is a live str object, which is ready and immutable; its data is `n` units of the width of its
    // kind, aligned to that width.
    Ok(unsafe {
        let (data, n) = (ffi::PyUnicode_DATA(object), ffi::PyUnicode_GET_LENGTH(object) as usize);
        match ffi::PyUnicode_KIND(object) {
            ffi::PyUnicode_1BYTE_KIND => Characters::Latin1(std::slice::from_raw_parts(data.cast::<u8>(), n)),
            ffi::PyUnicode_2BYTE_KIND => Characters::Ucs2(std::slice::from_raw_parts(data.cast::<u16>(), n)),
            _ => Characters::Ucs4(std::slice::from_raw_parts(data.cast::<u32>(), n)),
        }
    })
}

/// Makes sure that `text` has its kind and data. Before CPython 3.12, C code can create a str without them
/// (`PyUnicode_FromStringAndSize(NULL, n)`), and they have to be requested.
#[inline]
fn make_ready(text: &Bound<'_, PyString>) -> PyResult<()> {
    #[cfg(not(Py_3_12))]
    // SAFETY: The interpreter is attached and `text` is a live str object; after a failure an exception is set.
    if unsafe { ffi::PyUnicode_READY(text.as_ptr()) } != 0 {
        return Err(PyErr::fetch(text.py()));
    }
    let _ = text;
    Ok(())
}

/// Returns the UTF-8 of `text`, borrowed if it is ASCII. UnicodeEncodeError for lone surrogates.
#[inline]
pub fn utf8<'a>(text: &'a Bound<'_, PyString>) -> PyResult<Cow<'a, str>> {
    let (found, mut buffer) = (characters(text)?, String::new());
    if let Characters::Utf8(text) = found {
        return Ok(Cow::Borrowed(text));
    }
    match found.utf8(&mut buffer) {
        Ok(_) => Ok(Cow::Owned(buffer)),
        Err(Error::NotCharacters) => Err(lone_surrogate(text, "")),
        Err(error) => Err(exception(text.py(), error)),
    }
}

/// Returns the UnicodeEncodeError for a lone surrogate in `text`: Python's own, which has the surrogate and its position, plus
/// `location` and the remedy.
#[cold]
pub fn lone_surrogate(text: &Bound<'_, PyString>, location: &str) -> PyErr {
    let Err(error) = text.encode_utf8() else { return exception(text.py(), Error::NotCharacters) };
    let reason = format!(
        "surrogates not allowed{location}; text.encode(\"utf-16\", \"surrogatepass\").decode(\"utf-16\", \"replace\") \
         joins surrogate pairs and replaces lone surrogates by U+FFFD"
    );
    error.value(text.py()).setattr("reason", reason).err().unwrap_or(error)
}

/// Returns the argument `text` as a str; TypeError if it is not one.
#[inline]
pub fn text_argument<'a, 'py>(text: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, PyString>> {
    text.cast().map_err(|_| not_a_str("text", text))
}

/// Returns the TypeError for an argument `name` that is not a str.
#[cold]
pub fn not_a_str(name: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let kind = type_name(value);
    let remedy = if kind == "bytes" { "; decode it first" } else { "" };
    PyTypeError::new_err(format!("{name} must be a str, not {kind}{remedy}"))
}

/// Borrows the memory of `text`, which must be ready, if it is ASCII.
///
/// Since CPython 3.14 the ASCII flag is not in the API, but the address of the data shows it. An ASCII str's data follows the
/// header that all str objects have; other strs have a longer header or separate data. An instance of a subclass has
/// separate data, so it is treated as Latin-1, which is correct for ASCII, too.
#[inline]
fn ascii<'a>(text: &'a Bound<'_, PyString>) -> Option<&'a str> {
    let object = text.as_ptr();
    // SAFETY: `text` is a live str object, which is immutable; the data of an ASCII str is one byte for each character. The
    // end of the header is within the object or directly after its end.
    unsafe {
        let data = ffi::PyUnicode_DATA(object);
        (data == object.cast::<ffi::PyASCIIObject>().add(1).cast()).then(|| {
            let n = ffi::PyUnicode_GET_LENGTH(object) as usize;
            std::str::from_utf8_unchecked(std::slice::from_raw_parts(data.cast(), n))
        })
    }
}

/// Makes the str of decoded bytes. UnicodeDecodeError if `errors` is strict and they are not UTF-8.
pub fn str_of<'py>(py: Python<'py>, bytes: &[u8], errors: DecodeErrors) -> PyResult<Bound<'py, PyString>> {
    /// From this length on, huge pages pay off for a new str.
    const MIN_HUGE_BYTES: usize = 1 << 20;
    if bytes.len() >= MIN_HUGE_BYTES
        && let Some(text) = py.detach(|| text::valid(bytes))
    {
        return long_str(py, text);
    }
    let errors = match errors {
        DecodeErrors::Strict => c"strict",
        DecodeErrors::Replace => c"replace",
        DecodeErrors::ReplaceBytes | DecodeErrors::ReplaceRuns => {
            let mended = errors.text_of(bytes.to_vec()).map_err(|error| exception(py, error))?;
            return Ok(PyString::new(py, &mended));
        }
        DecodeErrors::Ignore => c"ignore",
    };
    // SAFETY: `bytes` and `errors` are valid during the call, which returns a new str, or null with an exception set.
    unsafe {
        let size = bytes.len() as ffi::Py_ssize_t;
        let text = ffi::PyUnicode_DecodeUTF8(bytes.as_ptr().cast(), size, errors.as_ptr());
        match Bound::from_owned_ptr_or_err(py, text) {
            Ok(text) => Ok(text.cast_into_unchecked()),
            Err(error) => Err(extend_reason(py, error, "", PARTIAL_CHARACTER)),
        }
    }
}

/// Extends the reason of a UnicodeDecodeError; returns any other error unchanged.
#[cold]
pub fn extend_reason(py: Python<'_>, error: PyErr, before: &str, after: &str) -> PyErr {
    if !error.is_instance_of::<PyUnicodeDecodeError>(py) {
        return error;
    }
    let value = error.value(py);
    let named = value
        .getattr("reason")
        .and_then(|reason| value.setattr("reason", format!("{before}{reason}{after}")));
    named.err().unwrap_or(error)
}

/// Makes the str of a long text in huge pages: page faults of new memory would take most of the time.
fn long_str<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
    let (n, largest) = py.detach(|| text::measure(text));
    // SAFETY: `PyUnicode_New` returns a new str of `n` characters, whose width follows from `largest` as in the match
    // below, or null with an exception set. No other reference to it exists, so writing to it is allowed; `fill` writes
    // all units.
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
