//! Files of any kind to documents, and documents to the engines, in blocks of bytes with offsets.
//!
//! Enters: decompressed bytes as they are read ([`PlainText`], [`JsonLines`]), or the buffers of a column
//! ([`Documents::from_column`]). Leaves: [`Documents`], some megabytes of text with the end of each document,
//! which [`BlockEncoder`] and [`BlockCounter`] take. Cost: each byte is checked once and copied once; no
//! document becomes an object of its own. Memory: one block, whatever the size of the corpus: a document that
//! is longer than a block is handed on in parts and cut where no cut can show ([`SafeCuts`]).

mod buffers;
mod columns;
mod documents;
mod json_lines;
mod limit;
mod plain_text;
pub(crate) mod split;
pub(crate) mod utf8_reader;

#[cfg(test)]
mod tests;

pub(crate) use buffers::BufferPool;
pub use buffers::{Buffer, Content};
pub use columns::check_ascending;
pub use documents::{Documents, RecordErrors};
pub use json_lines::JsonLines;
pub use limit::ByteLimit;
pub use plain_text::PlainText;
pub use utf8_reader::InputErrors;
