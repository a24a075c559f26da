//! The engines of pairloom, without Python.
//!
//! The road: documents -> [`pretokens`] -> [`counts`] -> [`merges`] -> [`vocabulary`] -> [`encoder`]
//! -> ids -> [`decoder`].

pub mod counts;
pub mod decoder;
pub mod encoder;
pub mod error;
pub mod ids;
pub mod memory;
pub mod merges;
pub mod model;
pub mod model_file;
pub mod monitor;
pub mod pages;
pub mod prefetch;
pub mod pretokens;
pub mod ranks;
pub mod records;
pub mod special;
pub mod text;
mod threads;
pub mod vocabulary;

pub use error::{Error, Result};
