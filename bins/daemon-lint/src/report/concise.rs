//! One line for each diagnostic, which editors and `grep` can read.

use std::io::{self, Write};

use daemon_validate::visible_line;

use super::LintReport;

pub(super) fn print(report: &LintReport<'_>, out: &mut dyn Write) -> io::Result<()> {
    for linted in report.files {
        let path = visible_line(&linted.path);
        for found in &linted.diagnostics {
            let place = linted
                .source()
                .map(|source| source.position(found.span.start));
            let (line, column) = place.map_or((1, 1), |place| (place.line, place.column));
            let (code, severity) = (found.code, found.severity.as_str());
            let message = visible_line(&found.message);
            writeln!(out, "{path}:{line}:{column}: {code} {severity} {message}")?;
        }
    }
    let given = report.suggestions.map(|suggestions| &suggestions.given);
    for given in given.into_iter().flatten() {
        let unclear = &given.unclear;
        let (path, line, column) = (visible_line(&unclear.path), unclear.line, unclear.column);
        for wording in given.wordings() {
            writeln!(
                out,
                "{path}:{line}:{column}: other wording: {}",
                wording.text()
            )?;
        }
    }
    Ok(())
}
