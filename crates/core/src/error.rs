//! The errors of the core. A message says what is wrong, where, and how to fix it.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// The result of every fallible function of the core.
pub type Result<T> = std::result::Result<T, Error>;

/// An error, with the path, offset, id or limit that it is about.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be opened, read, mapped or written.
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Input that must be UTF-8 is not.
    InvalidUtf8 {
        /// The file, when the bytes came from one.
        path: Option<PathBuf>,
        /// Offset in bytes of the first invalid byte.
        offset: u64,
        /// The likely cause (gzip, UTF-16, Latin-1) and the remedy.
        hint: &'static str,
    },
    /// A record of a corpus cannot be read.
    Record {
        /// The file and the line or row.
        location: String,
        /// What is wrong with it.
        message: String,
    },
    /// The system refused an allocation whose size depends on input.
    OutOfMemory {
        /// What was to be allocated.
        what: &'static str,
    },
    /// The work would exceed `max_memory`.
    MemoryLimit {
        /// The limit in bytes.
        limit: u64,
        /// What would have exceeded it.
        what: &'static str,
        /// What helps, other than a higher limit.
        remedy: &'static str,
    },
    /// The monitor asked to stop (Ctrl-C, or an exception in a progress callback).
    Interrupted,
    /// An invalid argument; the message names it and the remedy.
    Invalid(String),
    /// Counts that are inconsistent or overflow; the message names the defect and the remedy.
    Counts(String),
    /// A text contains a lone surrogate, which is not a character and has no UTF-8.
    NotCharacters,
    /// A pattern that does not compile, or whose regex engine gave up on a text.
    Pattern {
        /// The text of the pattern.
        pattern: String,
        /// The message of the regex engine.
        message: String,
    },
    /// A text contains a special token that is disallowed.
    DisallowedSpecial {
        /// The special token's text.
        token: String,
        /// Its offset in the text, in bytes.
        offset: usize,
    },
    /// A file, a stream or a corpus contains the literal of a special token that is disallowed.
    LiteralInData {
        /// The file and the document, if any.
        location: String,
        /// The special token's text.
        token: String,
        /// Its offset in bytes.
        offset: usize,
    },
    /// A byte that the vocabulary has no token for.
    MissingByte {
        /// The byte.
        byte: u8,
    },
    /// An error about one text of a batch.
    InText {
        /// The index of the text.
        index: usize,
        /// The error.
        source: Box<Error>,
    },
    /// An id that is not in the vocabulary.
    UnknownTokenId {
        /// The id as it was given.
        id: i64,
    },
    /// A model file is damaged; the message names the defect, the location and the remedy.
    Model(String),
    /// A model file lacks a required key.
    MissingKey(String),
}

impl Error {
    /// Returns a closure that makes an [`Error::OutOfMemory`] for `what`; meant for `map_err` on `try_reserve`.
    pub fn out_of_memory<E>(what: &'static str) -> impl FnOnce(E) -> Error {
        move |_| Error::OutOfMemory { what }
    }

    /// Turns [`Error::DisallowedSpecial`] into [`Error::LiteralInData`] at `location`; other errors are unchanged.
    pub fn in_data(self, location: impl FnOnce() -> String) -> Error {
        match self {
            Error::DisallowedSpecial { token, offset } => {
                Error::LiteralInData { location: location(), token, offset }
            }
            other => other,
        }
    }

    /// Turns an error that is about one text into [`Error::InText`]; other errors are unchanged.
    pub(crate) fn in_text(self, index: usize) -> Error {
        match self {
            Error::DisallowedSpecial { .. }
            | Error::MissingByte { .. }
            | Error::InvalidUtf8 { path: None, .. } => Error::InText { index, source: Box::new(self) },
            other => other,
        }
    }

    /// Removes the index of a text: turns [`Error::InText`] into its source.
    pub(crate) fn without_text(self) -> Error {
        match self {
            Error::InText { source, .. } => *source,
            other => other,
        }
    }

    /// Returns a closure that makes an [`Error::Io`] on `path`; meant for `map_err` on file operations.
    pub fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::Io { path, source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Error::InvalidUtf8 { path, offset, hint } => {
                if let Some(path) = path {
                    write!(f, "{}: ", path.display())?;
                }
                write!(f, "invalid UTF-8 at byte {offset}{hint}")
            }
            Error::Record { location, message } => write!(f, "{location}: {message}"),
            Error::OutOfMemory { what } => write!(f, "out of memory while allocating {what}"),
            Error::MemoryLimit { limit, what, remedy } => {
                write!(f, "{what} would exceed max_memory={limit} bytes; raise max_memory, or {remedy}")
            }
            Error::Interrupted => write!(f, "interrupted"),
            Error::NotCharacters => write!(f, "the text contains a lone surrogate, which is not a character"),
            Error::Invalid(message)
            | Error::Counts(message)
            | Error::Model(message)
            | Error::MissingKey(message) => f.write_str(message),
            Error::Pattern { pattern, message } => {
                write!(f, "pattern {}: {}", quoted(pattern), last_part(message))
            }
            Error::DisallowedSpecial { token, offset } => {
                write!(f, "the text contains the disallowed special token {} at byte {offset}", quoted(token))
            }
            Error::LiteralInData { location, token, offset } => {
                let colon = if location.is_empty() { "" } else { ": " };
                write!(
                    f,
                    "{location}{colon}found the special token {} at byte {offset}; encode such literals as plain text with \
                     specials=\"ordinary\", or as the token's id with specials=\"recognise\"",
                    quoted(token)
                )
            }
            Error::MissingByte { byte } => {
                write!(f, "the vocabulary has no token for byte {byte} (0x{byte:02x}); add one")
            }
            Error::InText { index, source } => write!(f, "texts[{index}]: {source}"),
            Error::UnknownTokenId { id } => write!(f, "unknown token id {id}"),
        }
    }
}

/// Quotes text of a caller or a file for a message; long text is cut.
pub fn quoted(text: &str) -> String {
    const MAX_CHARACTERS: usize = 200;
    match text.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{:?}... ({} bytes in all)", &text[..end], text.len()),
        None => format!("{text:?}"),
    }
}

/// Returns the end of a regex engine's message, which may begin with the whole pattern and names the defect last.
fn last_part(message: &str) -> String {
    const MAX_CHARACTERS: usize = 300;
    match message.char_indices().rev().nth(MAX_CHARACTERS) {
        Some((begin, _)) => format!("...{}", &message[begin..]),
        None => message.to_owned(),
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            Error::InText { source, .. } => Some(source),
            _ => None,
        }
    }
}
