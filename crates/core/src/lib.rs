#![doc = include_str!("../README.md")]
//!
//! Training: documents ([`corpus`]) -> [`pretokens`] -> [`counts`] -> [`train`] -> merges. Encoding: text ->
//! [`pretokens`] -> [`encoder`], which looks merges up in a [`vocabulary`] -> ids. Decoding: ids -> [`decoder`] -> text.

mod budget;
pub mod corpus;
pub mod counts;
pub mod cpu;
pub mod decoder;
pub mod encoder;
pub mod error;
pub mod format;
pub mod ids;
#[doc(hidden)]
pub mod memory;
pub mod model;
pub mod model_file;
pub mod monitor;
#[doc(hidden)]
pub mod pages;
mod parallel;
#[doc(hidden)]
pub mod prefetch;
pub mod pretokens;
mod short_bytes;
pub mod special;
pub mod text;
mod tokenizer;
pub mod train;
pub mod vocabulary;

pub use error::{Error, Result};
pub use tokenizer::Tokenizer;

/// Implements `Debug` by printing only the type's name: the contents are large and tell a reader nothing.
macro_rules! opaque_debug {
    ($($of:ty, $name:literal;)*) => {$(
        impl std::fmt::Debug for $of {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct($name).finish_non_exhaustive()
            }
        }
    )*};
}

opaque_debug! {
    counts::CountOptions, "CountOptions";
    counts::Counter, "Counter";
    encoder::Encoder, "Encoder";
    encoder::Session, "Session";
    encoder::SpecialPolicy<'_>, "SpecialPolicy";
    encoder::StreamEncoder, "StreamEncoder";
    format::CallerSettings<'_>, "CallerSettings";
    pretokens::Pretokenizer, "Pretokenizer";
}
