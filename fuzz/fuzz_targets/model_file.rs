//! The readers of the native file, a tokenizer.json, a SentencePiece model and a GGUF file never panic, nor does making a
//! vocabulary of what they read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pairloom_core::format::{self, Format, CallerSettings};

fuzz_target!(|data: &[u8]| {
    let _ = pairloom_core::model_file::read(data, "fuzz");
    let _ = format::tokenizer_json::read(data, "fuzz", false, None);
    let format = if data.starts_with(b"GGUF") { Format::Gguf } else { Format::SentencePiece };
    if let Ok(model) = format::read(data, "fuzz", format, CallerSettings::default()) {
        let steps = pairloom_core::pretokens::normalizer::steps_named(&model.normalizer);
        let _ = steps.and_then(|steps| model.columns.engine(false, &["(?#characters)"], steps));
    }
});
