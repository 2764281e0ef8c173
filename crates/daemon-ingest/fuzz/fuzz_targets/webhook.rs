//! No input is accepted without the secret, and no input causes a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/it/fuzz_bodies.rs"]
#[expect(dead_code, reason = "the other target uses the rest")]
mod fuzz_bodies;

fuzz_target!(|input: (u8, fuzz_bodies::NumberedHeaders, Vec<u8>)| {
    let (source, headers, body) = input;
    fuzz_bodies::webhook(source, headers, &body);
});
