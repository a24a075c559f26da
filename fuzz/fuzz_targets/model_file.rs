//! No bytes make the reader of the native file panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = pairloom_core::model_file::read(data, "fuzz", false);
});
