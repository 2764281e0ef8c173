//! Parsing any front matter ends within a time limit, and every span is on character boundaries.
#![no_main]

use std::time::{Duration, Instant};

use daemon_spec::{Field, parse};
use libfuzzer_sys::fuzz_target;

/// The time limit for one file, times ten for instrumented code on a busy machine.
const LIMIT: Duration = Duration::from_millis(500);

fuzz_target!(|yaml: &str| {
    let input = format!("---\n{yaml}\n---\nbody\n");
    let start = Instant::now();
    let parsed = parse(input.clone().into_bytes());
    assert!(start.elapsed() < LIMIT, "{:?}", start.elapsed());
    let is_text = |span: daemon_spec::Span| input.get(span.range()).is_some();
    for member in parsed.file.members() {
        assert!(is_text(member.key) && is_text(member.value));
    }
    for list in [parsed.file.watch(), parsed.file.routines(), parsed.file.deny()] {
        for entry in list.value().into_iter().flat_map(|list| &list.entries) {
            assert!(is_text(entry.span()) && is_text(entry.token()));
        }
    }
    if let Field::Present { value, .. } = parsed.file.schedule() {
        let place = value.place(parsed.file.source(), 0..value.value.len());
        assert!(is_text(place) && value.span.contains(place));
    }
});
