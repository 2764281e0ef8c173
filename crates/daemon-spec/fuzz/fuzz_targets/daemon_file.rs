//! Parsing any bytes keeps them unchanged, and every span is inside them.
#![no_main]

use daemon_spec::{Completeness, apply_fixes, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let parsed = parse(input.to_vec());
    assert_eq!(parsed.file.source().as_bytes(), input);
    assert!(parsed.file.completeness() == Completeness::Whole || !parsed.diagnostics.is_empty());
    for found in &parsed.diagnostics {
        assert!(found.span.start <= found.span.end && found.span.end <= input.len());
        if found.fix.is_some() {
            let fixed = apply_fixes(input, &found.fix);
            assert_eq!(fixed.applied, 1);
            assert!(std::str::from_utf8(&fixed.bytes).is_ok());
        }
    }
});
