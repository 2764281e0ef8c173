//! Parses a daemon file and prints its fields and diagnostics. It uses no other crate of the workspace.
//!
//! `cargo run -p daemon-spec --example embed -- path/to/DAEMON.md`

use std::io::Write as _;
use std::process::ExitCode;

use daemon_spec::{Completeness, Field, FieldList, Text, parse};

const SAMPLE: &str = "---\nid: link-janitor\npurpose: Keeps relative links alive.\nwatch:\n  - when docs change\n\
                      routines:\n  - repair relative links\nschedule: 0 9 * * *\n---\nBe brief.\n";

fn main() -> std::io::Result<ExitCode> {
    let (name, bytes) = match std::env::args_os().nth(1) {
        Some(path) => (path.to_string_lossy().into_owned(), std::fs::read(path)?),
        None => ("sample".to_owned(), SAMPLE.as_bytes().to_vec()),
    };
    let parsed = parse(bytes);
    let file = &parsed.file;
    let mut out = std::io::stdout().lock();
    writeln!(out, "id        {}", text(file.id()))?;
    writeln!(out, "purpose   {}", text(file.purpose()))?;
    writeln!(out, "schedule  {}", text(file.schedule()))?;
    for (label, list) in [
        ("watch", file.watch()),
        ("routine", file.routines()),
        ("deny", file.deny()),
    ] {
        for entry in list.value().into_iter().flat_map(FieldList::texts) {
            let line = file.source().position(entry.span.start).line;
            writeln!(out, "{label:<9} {} (line {line})", entry.value)?;
        }
    }
    writeln!(out, "body      {} bytes", file.body_text().len())?;
    for found in &parsed.diagnostics {
        let place = file.source().position(found.span.start);
        writeln!(
            out,
            "{name}:{}:{}: {} {}",
            place.line, place.column, found.code, found.message
        )?;
    }
    let is_usable = file.completeness() == Completeness::Whole && parsed.diagnostics.is_empty();
    Ok(if is_usable {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn text(field: &Field<Text>) -> &str {
    match field {
        Field::Present { value, .. } => &value.value,
        Field::Mistyped { value, .. } => value.shape.describe(),
        Field::Absent => "absent",
    }
}
