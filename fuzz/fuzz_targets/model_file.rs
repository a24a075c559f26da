//! The reader of the native model file never panics.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = pairloom_core::model_file::read(data, "fuzz");
});
