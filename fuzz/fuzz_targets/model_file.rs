//! The readers of the native file and of a tokenizer.json never panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = pairloom_core::model_file::read(data, "fuzz");
    let _ = pairloom_core::format::tokenizer_json::read(data, "fuzz", false, None);
});
