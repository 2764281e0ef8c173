//! Checks `docs/conditions.md` against the interpreter.

use std::fmt::Write as _;

use daemon_event::Source;
use daemon_event::vocabulary::RowGuard;
use daemon_watch::{Clause, Interpretation, Phrasing, Status, Test, TimeKind};
use daemon_watch::{interpret, phrasings};
use expect_test::expect_file;

const OPENING: &str = "<!-- phrasings: written by `cargo xtask docs` -->\n";
const CLOSING: &str = "<!-- end of phrasings -->\n";

/// `cargo xtask docs` runs this with `UPDATE_EXPECT` set, which writes the page.
#[test]
fn the_page_of_conditions_holds_the_readings_and_the_vocabulary() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/conditions.md");
    let page = std::fs::read_to_string(path).expect("the page is there");
    expect_file![path].assert_eq(&with_table(&with_readings(&page)));
}

/// Writes the reading of each condition below it.
fn with_readings(page: &str) -> String {
    let mut acc = String::new();
    let mut is_inside = false;
    for line in page.lines() {
        if line.starts_with("```") {
            is_inside = line == "```condition";
        } else if is_inside && line.starts_with("  ") {
            continue;
        } else if is_inside {
            writeln!(acc, "{line}\n{}", reading(line)).expect("a string takes it");
            continue;
        }
        acc.push_str(line);
        acc.push('\n');
    }
    acc
}

fn reading(line: &str) -> String {
    let meaning = interpret(line);
    let mut lines = Vec::new();
    let status = meaning.status.as_str();
    match (&meaning.time, meaning.clauses.as_slice()) {
        (Some(TimeKind::Schedule(Some(cron))), _) => {
            lines.push(format!("{status}: schedule: \"{cron}\""));
        }
        (Some(TimeKind::Schedule(None)), _) => lines.push(format!("{status}: a schedule")),
        (Some(TimeKind::Elapsed), _) => lines.push(format!("{status}: elapsed")),
        (None, []) => lines.push(match &meaning.suggestion {
            Some(phrase) => format!("{status}: nearest is `{phrase}`"),
            None => status.to_owned(),
        }),
        (None, clauses) => {
            let said = clauses.iter().map(|clause| clause_text(&meaning, clause));
            lines.push(format!(
                "{status}: {}",
                said.collect::<Vec<_>>().join("\n    or ")
            ));
        }
    }
    if meaning.status == Status::Partial {
        let left = meaning.remainder.iter();
        lines.extend(left.map(|span| format!("confirm first: \"{}\"", span.of(line))));
    }
    if meaning.status.can_wake() {
        lines.extend(meaning.notes.iter().map(|note| format!("note: {note}")));
    }
    lines
        .iter()
        .map(|line| format!("  → {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}

fn clause_text(meaning: &Interpretation, clause: &Clause) -> String {
    let events: Vec<String> = clause.events.iter().map(ToString::to_string).collect();
    let filters: Vec<String> = clause
        .filters
        .iter()
        .map(|index| filter_text(&meaning.filters[*index].test))
        .collect();
    let events = events.join(", ");
    match filters.is_empty() {
        true => events,
        false => format!("{events} if {}", filters.join(" and ")),
    }
}

fn filter_text(test: &Test) -> String {
    match test.values() {
        [first, _, _, _, _, rest @ ..] if !rest.is_empty() => {
            format!(
                "{} {} {first} | … | {}",
                test.field(),
                test.op().as_str(),
                rest[rest.len() - 1]
            )
        }
        _ => test.to_string(),
    }
}

/// Writes the table of phrasings between its marks.
fn with_table(page: &str) -> String {
    let (before, rest) = page.split_once(OPENING).expect("the table has its mark");
    let (_, after) = rest.split_once(CLOSING).expect("the table has its end");
    let mut acc = format!("{before}{OPENING}");
    let phrasings = phrasings();
    for source in Source::ALL {
        let rows = phrasings.iter().filter(|row| row.event.source == source);
        let title = match source {
            Source::Github => "GitHub",
            Source::Linear => "Linear",
            Source::Slack => "Slack",
            Source::Sentry => "Sentry",
            Source::Git => "git, in a watched local repository",
            // No condition can name them.
            Source::Cloudevents => continue,
        };
        write!(acc, "\n### {title}\n\n| event | | say |\n|---|---|---|\n")
            .expect("a string takes it");
        for row in rows {
            writeln!(acc, "{}", table_row(row)).expect("a string takes it");
        }
    }
    acc.push('\n');
    acc.push_str(CLOSING);
    acc.push_str(after);
    acc
}

fn table_row(row: &Phrasing) -> String {
    let mut event = row.event.kind.to_owned();
    if let Some(action) = row.event.action {
        event = format!("{event}.{action}");
    }
    let mut guards: Vec<String> = row.guards.iter().map(guard_text).collect();
    if row.names_files {
        guards.push("changed_files are those named".to_owned());
    }
    let holds = match guards.is_empty() {
        true => String::new(),
        false => format!("<br>{}", guards.join(" and ")),
    };
    let mark = if row.is_beyond_the_format { "+" } else { "" };
    let phrases: Vec<String> = row.phrases.iter().map(|said| format!("`{said}`")).collect();
    let phrases = match phrases.is_empty() {
        true => "no words for it yet".to_owned(),
        false => phrases.join("<br>"),
    };
    format!("| `{event}`{holds} | {mark} | {phrases} |")
}

fn guard_text(guard: &RowGuard) -> String {
    match guard {
        RowGuard::Is(field, values) => format!("{field} is {}", values.join(" or ")),
        RowGuard::IsNot(field, values) => format!("{field} is not {}", values.join(" or ")),
        RowGuard::Present(field) => format!("{field} is present"),
        RowGuard::Absent(field) => format!("{field} is empty"),
    }
}
