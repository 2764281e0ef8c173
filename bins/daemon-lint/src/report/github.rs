//! Annotations of a GitHub workflow, one line each.

use std::io::{self, Write};

use daemon_spec::{LineColumn, Severity};
use daemon_validate::{visible, visible_line};

use super::LintReport;
use crate::suggestions::Suggestion;

pub(super) fn print(report: &LintReport<'_>, out: &mut dyn Write) -> io::Result<()> {
    for linted in report.files {
        for found in &linted.diagnostics {
            let level = match found.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Advice => "notice",
            };
            let first = LineColumn {
                line: 1,
                column: 1,
                byte: 0,
            };
            let place = |at| linted.source().map_or(first, |source| source.position(at));
            let (start, end) = (place(found.span.start), place(found.span.end));
            write!(out, "::{level} file={}", property(&linted.path))?;
            write!(out, ",line={},endLine={}", start.line, end.line)?;
            // GitHub rejects columns in an annotation over several lines.
            if start.line == end.line {
                write!(out, ",col={},endColumn={}", start.column, end.column)?;
            }
            let help = found
                .help
                .as_deref()
                .map(|help| format!("\nhelp: {help}"))
                .unwrap_or_default();
            writeln!(
                out,
                ",title={}::{}",
                found.code,
                message(&format!("{}{help}", found.message))
            )?;
        }
    }
    let given = report.suggestions.map(|suggestions| &suggestions.given);
    given
        .into_iter()
        .flatten()
        .try_for_each(|given| suggestion(given, out))
}

/// Prints a notice with the other wordings of a condition, if there are any.
fn suggestion(given: &Suggestion, out: &mut dyn Write) -> io::Result<()> {
    let unclear = &given.unclear;
    let wordings: Vec<String> = given
        .wordings()
        .iter()
        .map(|wording| {
            let reading = wording.reading().join("; or ");
            format!("{}\n  wakes on {reading}", wording.text())
        })
        .collect();
    if wordings.is_empty() {
        return Ok(());
    }
    write!(out, "::notice file={}", property(&unclear.path))?;
    write!(out, ",line={},col={}", unclear.line, unclear.column)?;
    let text = message(&wordings.join("\n"));
    writeln!(out, ",title=other wordings::{text}")
}

/// Escapes the message of a workflow command.
fn message(text: &str) -> String {
    // People read the log of a workflow on a terminal too, so control characters are escaped as well.
    visible(text).replace('%', "%25").replace('\n', "%0A")
}

/// Escapes a property of a workflow command, which also ends at `:` and `,`.
fn property(text: &str) -> String {
    message(&visible_line(text))
        .replace(':', "%3A")
        .replace(',', "%2C")
}
