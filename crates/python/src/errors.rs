//! Converts core errors to Python exceptions.

use pairloom_core::Error;
use pyo3::exceptions::{
    PyIsADirectoryError, PyKeyboardInterrupt, PyMemoryError, PyOSError, PyUnicodeDecodeError,
    PyUnicodeEncodeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyModule};

use crate::objects;

/// Returns the exception for `error`: one of `pairloom.errors` if there is a class for it.
pub fn exception(py: Python<'_>, error: Error) -> PyErr {
    let message = error.to_string();
    let (location, error) = match error {
        Error::InText { index, source } => (format!("texts[{index}]: "), *source),
        other => (String::new(), other),
    };
    match error {
        Error::Io { path, source } => match source.raw_os_error() {
            // With three arguments OSError chooses its subclass: FileNotFoundError, IsADirectoryError, ...
            Some(errno) => match os_strerror(py, errno) {
                Ok(text) => PyOSError::new_err((errno, text, path)),
                Err(failure) => failure,
            },
            None => match source.kind() {
                std::io::ErrorKind::OutOfMemory => memory_error(py, &message),
                std::io::ErrorKind::IsADirectory => PyIsADirectoryError::new_err(message),
                _ => PyOSError::new_err(message),
            },
        },
        Error::InvalidUtf8 { path: None, offset, hint } => decode_error(py, &location, offset, hint),
        Error::InvalidUtf8 { .. } | Error::Record { .. } => named(py, "CorpusError", message),
        Error::OutOfMemory { .. } | Error::MemoryLimit { .. } => memory_error(py, &message),
        Error::NotCharacters => PyUnicodeEncodeError::new_err(("utf-8", "", 0, 1, "surrogates not allowed")),
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        Error::Pattern { .. } => named(py, "PatternError", message),
        Error::DisallowedSpecial { token, offset } => named(
            py,
            "SpecialTokenError",
            format!(
                "{location}the text contains the disallowed special token {token} at byte {offset}; pass \
                 allowed_special={{{token}}} to encode it as its id, or leave it out of disallowed_special to encode it as \
                 plain text",
                token = pairloom_core::error::quoted(&token)
            ),
        ),
        Error::LiteralInData { .. } => named(py, "SpecialTokenError", message),
        Error::MissingByte { .. } | Error::InText { .. } => named(py, "MissingByteError", message),
        Error::UnknownTokenId { .. } => named(py, "UnknownTokenIdError", message),
        Error::Counts(_) => named(py, "CountsError", message),
        Error::Model(_) => named(py, "FormatError", message),
        Error::MissingKey(_) => named(py, "MissingKeyError", message),
        _ => PyValueError::new_err(message),
    }
}

/// Returns a MemoryError with this message, or without it if memory for it is lacking too.
fn memory_error(py: Python<'_>, message: &str) -> PyErr {
    match objects::str(py, message) {
        Ok(message) => PyMemoryError::new_err(message.unbind()),
        Err(refused) => refused,
    }
}

/// Returns the name of a value's type, for messages.
pub fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string())
}

/// Returns the UnicodeDecodeError for decoded bytes, which are no longer available.
fn decode_error(py: Python<'_>, location: &str, offset: u64, hint: &str) -> PyErr {
    let reason = format!("{location}invalid start byte or unexpected end{hint}");
    PyUnicodeDecodeError::new_err(("utf-8", PyBytes::new(py, b"").unbind(), offset, offset + 1, reason))
}

/// Returns the UnknownTokenIdError with this message.
pub fn unknown_id(py: Python<'_>, message: String) -> PyErr {
    named(py, "UnknownTokenIdError", message)
}

fn os_strerror(py: Python<'_>, errno: i32) -> PyResult<String> {
    py.import("os")?.call_method1("strerror", (errno,))?.extract()
}

/// Returns an exception of a class in `pairloom.errors`.
fn named(py: Python<'_>, class: &str, message: String) -> PyErr {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let instance = MODULE
        .get_or_try_init(py, || py.import("pairloom.errors").map(Bound::unbind))
        .and_then(|module| module.bind(py).getattr(class))
        .and_then(|class| class.call1((message,)));
    match instance {
        Ok(value) => PyErr::from_value(value),
        Err(failure) => failure,
    }
}
