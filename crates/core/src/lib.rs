//! The engines of pairloom, without Python.
//!
//! The road: documents -> [`pretokens`] -> [`counts`] -> [`merges`] -> [`vocabulary`] -> [`encoder`]
//! -> ids -> [`decoder`].

pub mod counts;
pub mod error;
pub mod merges;
pub mod monitor;
pub mod pretokens;
pub mod special;

pub use error::{Error, Result};
