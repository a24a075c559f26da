//! The engines of pairloom, without Python.
//!
//! The road: documents -> [`pretokens`] -> [`counts`] -> [`train`] -> [`vocabulary`] -> [`encoder`]
//! -> ids -> [`decoder`].

mod budget;
pub mod corpus;
pub mod counts;
pub mod cpu;
pub mod decoder;
pub mod encoder;
pub mod error;
pub mod ids;
pub mod memory;
pub mod model;
pub mod model_file;
pub mod monitor;
pub mod pages;
mod parallel;
pub mod prefetch;
pub mod pretokens;
pub mod special;
pub mod text;
pub mod train;
pub mod vocabulary;

pub use error::{Error, Result};
