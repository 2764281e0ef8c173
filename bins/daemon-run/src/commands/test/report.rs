//! Formats the outcomes of tests as text.

use super::{FinishedCase, TestReport};
use crate::out::plain;
use crate::out::put;

const GREEN: &str = "\u{1b}[32m";
const RED: &str = "\u{1b}[1;31m";
const RESET: &str = "\u{1b}[0m";

/// Formats one line per case; a failing one is followed by its differences and the reason.
///
/// The text is always coloured. [`crate::out::Out::text`] removes the colours if the stream is not a terminal.
pub(super) fn text(report: &TestReport, n_failed: usize) -> String {
    let width = report
        .ran
        .iter()
        .map(|ran| ran.daemon_id.chars().count())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for ran in &report.ran {
        let name = plain(&ran.name);
        let id = plain(&ran.daemon_id);
        if ran.outcome.ok {
            put!(text, "{GREEN}ok{RESET}    {id:<width$}  {name}\n");
            continue;
        }
        put!(text, "{RED}FAIL{RESET}  {id:<width$}  {name}\n");
        for line in below(ran) {
            put!(text, "      {}\n", plain(&line));
        }
    }
    let n_passed = report.ran.len() - n_failed;
    let updated = match report.n_updated {
        0 => String::new(),
        n => format!(", {n} updated"),
    };
    put!(text, "{n_passed} passed, {n_failed} failed{updated}\n");
    text
}

fn below(ran: &FinishedCase) -> impl Iterator<Item = String> {
    let place = format!("{}:{}", ran.file, ran.line);
    let differences = ran.outcome.differences.iter().cloned();
    std::iter::once(place)
        .chain(differences)
        .chain([format!("because   {}", ran.outcome.why)])
}
