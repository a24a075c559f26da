//! The core of pairloom: byte-pair-encoding tokenizers, without Python.
//!
//! Training: documents ([`corpus`]) -> [`pretokens`] -> [`counts`] -> [`train`] -> merges. Encoding: text ->
//! [`pretokens`] -> [`encoder`], which looks merges up in a [`vocabulary`] -> ids. Decoding: ids -> [`decoder`] -> text.

pub mod arrow;
mod budget;
pub mod corpus;
pub mod counts;
pub mod cpu;
pub mod decoder;
pub mod encoder;
pub mod error;
pub mod format;
pub mod ids;
pub mod memory;
pub mod model;
pub mod model_file;
pub mod monitor;
pub mod pages;
mod parallel;
pub mod prefetch;
pub mod pretokens;
mod short_bytes;
pub mod special;
pub mod text;
pub mod train;
pub mod vocabulary;

pub use error::{Error, Result};
