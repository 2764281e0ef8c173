//! What came of tests, for people.

use super::{Ran, Report};
use crate::out::plain;
use crate::out::put;

const GREEN: &str = "\u{1b}[32m";
const RED: &str = "\u{1b}[1;31m";
const RESET: &str = "\u{1b}[0m";

/// Writes one line a case, and below a failing one what differs and what decided it.
///
/// Colours are taken out again where the stream is no terminal.
pub(super) fn text(report: &Report, n_failed: usize) -> String {
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

fn below(ran: &Ran) -> impl Iterator<Item = String> {
    let place = format!("{}:{}", ran.file, ran.line);
    let differences = ran.outcome.differences.iter().cloned();
    std::iter::once(place)
        .chain(differences)
        .chain([format!("because   {}", ran.outcome.why)])
}
