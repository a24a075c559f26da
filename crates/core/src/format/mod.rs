//! Reads the files of other libraries into a [`Model`](crate::model_file::Model).

pub mod added_tokens;
pub mod byte_vocabulary;
pub mod gpt2;
mod node;
pub mod oniguruma;
pub mod pre_tokenizer;
pub mod tokenizer_json;
