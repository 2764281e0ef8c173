//! Bad input, one row each: what is reported, and where.

use daemon_spec::parse;

/// Lints `input` and lists `code line:column` per finding.
fn findings(input: &[u8]) -> Vec<String> {
    let parsed = parse(input.to_vec());
    assert_eq!(
        parsed.file.source().as_bytes(),
        input,
        "the bytes come back as they went in"
    );
    let source = parsed.file.source();
    parsed
        .diagnostics
        .iter()
        .map(|found| {
            let place = source.position(found.span.start);
            format!("{} {}:{}", found.code, place.line, place.column)
        })
        .collect()
}

#[test]
fn every_broken_field_of_a_file_is_reported_in_one_pass() {
    let input = "---\nid: x\npurpose: Fix: now\nwatch:\n  - when a\n  - *.md changes\n  - posted to #alerts\n\
                 schedule: */5 * * * *\ndeny: [a, b\n---\nbody\n";
    assert_eq!(
        findings(input.as_bytes()),
        [
            "D011 3:10",
            "D012 6:5",
            "D013 7:15",
            "D012 8:11",
            "D010 9:7"
        ]
    );
}
