//! Arrow columns in and out of the process's other libraries, over the C data interface.
//!
//! Producers (pyarrow, polars, DuckDB, pandas, nanoarrow) hand over three C structs ([`abi`]); no Arrow library is needed
//! on either side. [`Chunked`] owns what a producer handed over and reads rows from its buffers without copying them;
//! [`Column`] hands our vectors over without copying them.
//!
//! What is checked: types, lengths, that offsets ascend, that rows lie within the buffers as far as these have a length,
//! UTF-8, dictionary indices. What cannot be checked: that a pointer points to as much memory as its array says, and that
//! nobody changes it meanwhile. Producer and consumer share a process, so a producer could do harm without Arrow as well.
//!
//! Source: <https://arrow.apache.org/docs/format/CDataInterface.html>, `CStreamInterface.html`, `Columnar.html`.

pub mod abi;
mod counts;
mod encode;
mod export;
mod import;
mod rows;

#[cfg(test)]
mod tests;

pub use encode::{IdType, decode_column};
pub use export::Column;
pub use import::Chunked;
pub use rows::{Rows, Utf8Row};
