//! SARIF 2.1.0, with one rule for each code.

use std::fmt::Write as _;
use std::io::{self, Write};

use daemon_spec::{Diagnostic, Severity, SourceText, Span};
use daemon_validate::{Profile, RuleEntry, rules};
use serde_json::{Value, json};

use super::LintReport;
use super::json::suggestions;
use crate::lint::Linted;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

pub(super) fn print(report: &LintReport<'_>, out: &mut dyn Write) -> io::Result<()> {
    let results: Vec<Value> = report
        .files
        .iter()
        .flat_map(|linted| linted.diagnostics.iter().map(|found| result(found, linted)))
        .collect();
    let mut log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "daemon-lint",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules().iter().map(rule).collect::<Vec<_>>(),
            }},
            // The default of SARIF is UTF-16 code units, but positions count code points.
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    if let Some(given) = report.suggestions {
        log["runs"][0]["properties"] = serde_json::to_value(suggestions(given))?;
    }
    serde_json::to_writer(&mut *out, &log)?;
    out.write_all(b"\n")
}

fn rule(entry: &RuleEntry) -> Value {
    json!({
        "id": entry.code().to_string(),
        "name": entry.name(),
        "shortDescription": {"text": entry.summary()},
        "help": {"text": entry.page(), "markdown": entry.page()},
        "defaultConfiguration": {"level": level(entry.severity(Profile::Spec))},
    })
}

fn result(found: &Diagnostic, linted: &Linted) -> Value {
    let text = match &found.help {
        Some(help) => format!("{}; help: {help}", found.message),
        None => found.message.clone(),
    };
    let artifact = json!({"uri": uri(&linted.path)});
    let mut location = json!({"artifactLocation": artifact});
    if let Some(source) = linted.source() {
        location["region"] = region(source, found.span);
    }
    let mut value = json!({
        "ruleId": found.code.to_string(),
        "ruleIndex": rules().iter().position(|entry| entry.code() == found.code),
        "level": level(found.severity),
        "message": {"text": text},
        "locations": [{"physicalLocation": location}],
    });
    // Byte offsets need the file that they refer to.
    if let (Some(fix), Some(_)) = (&found.fix, linted.source()) {
        let replacements: Vec<Value> = fix
            .edits
            .iter()
            .map(|edit| {
                let length = edit.span.end - edit.span.start;
                json!({
                    "deletedRegion": {"byteOffset": edit.span.start, "byteLength": length},
                    "insertedContent": {"text": edit.text},
                })
            })
            .collect();
        let change = json!({"artifactLocation": artifact, "replacements": replacements});
        value["fixes"] = json!([{"description": {"text": fix.title}, "artifactChanges": [change]}]);
    }
    value
}

fn region(source: &SourceText, span: Span) -> Value {
    let (start, end) = (source.position(span.start), source.position(span.end));
    json!({
        "startLine": start.line,
        "startColumn": start.column,
        "endLine": end.line,
        "endColumn": end.column,
        "byteOffset": start.byte,
        "byteLength": end.byte - start.byte,
    })
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Advice => "note",
    }
}

/// Returns a relative reference, or a `file` URI for an absolute path.
fn uri(path: &str) -> String {
    let mut acc = String::from(if path.starts_with('/') { "file://" } else { "" });
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                acc.push(char::from(byte));
            }
            _ => write!(acc, "%{byte:02X}").expect("writing to a string cannot fail"),
        }
    }
    acc
}
