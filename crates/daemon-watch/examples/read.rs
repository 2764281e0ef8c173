//! Prints what conditions mean, and how they were parsed: `read "when a pull request is opened" …`.

use std::error::Error;
use std::io::Write as _;

use daemon_watch::{interpret, trace};

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    for line in std::env::args().skip(1) {
        let meaning = interpret(&line);
        writeln!(out, "{line}\n  {}", meaning.status.as_str())?;
        for clause in &meaning.clauses {
            let events: Vec<String> = clause
                .events
                .iter()
                .map(|event| {
                    format!(
                        "{}:{}.{}",
                        event.source,
                        event.kind,
                        event.action.unwrap_or("*")
                    )
                })
                .collect();
            let filters: Vec<String> = clause
                .filters
                .iter()
                .map(|index| meaning.filters[*index].test.to_string())
                .collect();
            writeln!(out, "  {} [{}]", events.join(" "), filters.join("; "))?;
        }
        for span in &meaning.remainder {
            writeln!(out, "  left over: {}", span.of(&line))?;
        }
        for note in &meaning.notes {
            writeln!(out, "  note: {note}")?;
        }
        if let Some(suggestion) = &meaning.suggestion {
            writeln!(out, "  nearest: {suggestion}")?;
        }
        write!(out, "{}", trace(&line))?;
    }
    Ok(())
}
