//! Reads a corpus (files, columns or texts) as blocks of documents.
//!
//! [`PlainText`] and [`JsonLines`] take the decompressed bytes of a file as they are read; [`TextColumns`] takes the
//! buffers of an Arrow column. All return blocks of [`Documents`], some megabytes of text with the end of each
//! document, for the counter and the encoder. Each byte is validated once and copied once, and no document becomes a
//! separate object. Memory is one block, whatever the size of the corpus: a document longer than a block is passed on
//! in parts, split where that cannot change its pretokens (`split.rs`).

mod buffers;
mod columns;
mod documents;
mod json_lines;
mod limit;
mod not_text;
mod plain_text;
mod rows;
pub(crate) mod split;
pub(crate) mod utf8_reader;

#[cfg(test)]
mod tests;

pub(crate) use buffers::BufferPool;
pub use buffers::{Buffer, Content};
pub use columns::TextColumns;
pub(crate) use columns::not_utf8;
pub use documents::{Documents, RecordErrors};
pub use json_lines::{JsonLines, Origins};
pub use limit::ByteLimit;
pub use not_text::not_text;
pub use plain_text::PlainText;
pub use rows::{RowChunk, Rows, Utf8Row};
