//! Readings as the tests write them.

use daemon_watch::{Clause, Interpretation, interpret};

/// Writes a clause: its events, then its filters, each as `told` writes it.
pub(crate) fn clause(
    meaning: &Interpretation,
    clause: &Clause,
    told: impl Fn(String) -> String,
) -> String {
    let events: Vec<String> = clause
        .events
        .iter()
        .map(|event| {
            let action = event.action.unwrap_or("*");
            format!("{}:{}.{action}", event.source, event.kind)
        })
        .collect();
    let filters: Vec<String> = clause
        .filters
        .iter()
        .map(|index| told(meaning.filters[*index].test.to_string()))
        .collect();
    format!("{} [{}]", events.join(" "), filters.join("; "))
}

/// Writes each line and, indented, its status, its clauses and the words left over.
pub(crate) fn table(lines: &[&str]) -> String {
    let readings: Vec<String> = lines.iter().map(|line| reading(line)).collect();
    readings.join("\n")
}

fn reading(line: &str) -> String {
    let meaning = interpret(line);
    let mut parts = vec![meaning.status.as_str().to_owned()];
    for clause in &meaning.clauses {
        parts.push(self::clause(&meaning, clause, |test| test));
    }
    parts.extend(
        meaning
            .remainder
            .iter()
            .map(|span| format!("left over: {}", span.of(line))),
    );
    format!("{line}\n    {}", parts.join("\n    "))
}
