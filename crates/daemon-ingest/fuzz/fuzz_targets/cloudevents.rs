//! No request is accepted without a token, and none with one causes a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/it/fuzz_bodies.rs"]
#[expect(dead_code, reason = "the other target uses the rest")]
mod fuzz_bodies;

fuzz_target!(|input: (fuzz_bodies::NumberedHeaders, Vec<u8>)| {
    let (headers, body) = input;
    fuzz_bodies::cloudevents(headers, &body);
});
