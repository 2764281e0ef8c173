//! Hover: what a field is for, how a condition is read, when a schedule is due.

use std::sync::LazyLock;

use daemon_cron::{CronExpr, Schedule};
use daemon_spec::{FieldList, Span, Text};
use daemon_validate::visible;
use daemon_watch::{Clause, Interpretation, Status, TimeKind, interpret};
use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind};
use serde_json::Value;

use crate::document::OpenDocument;
use crate::server::Workspace;

/// How many of the next due times are shown.
const SHOWN_TIMES: usize = 5;
/// How many events of a clause are named.
const SHOWN_EVENTS: usize = 6;

static SCHEMA: LazyLock<Value> = LazyLock::new(daemon_spec::schema);

/// Returns what is shown at an offset.
pub(crate) fn at(document: &OpenDocument, byte: usize, workspace: &Workspace<'_>) -> Option<Hover> {
    let file = document.file();
    let is_at = |span: Span| span.start <= byte && byte <= span.end;
    if let Some(member) = file.members().iter().find(|member| is_at(member.key)) {
        return Some(shown(
            document,
            member.key,
            field_description(&member.name)?,
        ));
    }
    let conditions = file.watch().value().into_iter().flat_map(FieldList::texts);
    if let Some(condition) = conditions.into_iter().find(|text| is_at(text.token)) {
        let reading = interpret(&condition.value);
        return Some(shown(
            document,
            condition.token,
            reading_text(condition, &reading),
        ));
    }
    let schedule = file.schedule().value().filter(|text| is_at(text.token))?;
    let text = schedule_text(document, schedule, workspace)?;
    Some(shown(document, schedule.token, text))
}

/// Returns what a field of the format is for.
pub(crate) fn field_description(name: &str) -> Option<String> {
    let text = SCHEMA["properties"][name]["description"].as_str()?;
    Some(text.to_owned())
}

fn shown(document: &OpenDocument, span: Span, value: String) -> Hover {
    Hover {
        contents: HoverContents::Markup(MarkupContent {
            kind: MarkupKind::Markdown,
            value,
        }),
        range: Some(document.range(span)),
    }
}

fn reading_text(condition: &Text, reading: &Interpretation) -> String {
    let mut text = String::new();
    let words = |span: &daemon_watch::Span| {
        code(
            condition
                .value
                .get(span.start..span.end)
                .unwrap_or_default(),
        )
    };
    let first = match (reading.status, &reading.time) {
        (Status::Mapped, _) => "**mapped**: wakes on",
        (Status::Partial, _) => "**partial**: wakes on",
        (Status::Vague, _) => "**vague**: no event is named, so it wakes on nothing",
        (Status::Unmapped, _) => "**unmapped**: no known source reports this",
        (Status::TimeBased, Some(TimeKind::Elapsed)) => {
            "**time-based**: a state that lasts; no event and no schedule can say it"
        }
        (Status::TimeBased, _) => "**time-based**: put it in `schedule`",
    };
    put(&mut text, first);
    for clause in &reading.clauses {
        put(&mut text, &format!("- {}", clause_text(reading, clause)));
    }
    if let Some(TimeKind::Schedule(Some(expression))) = &reading.time {
        put(&mut text, &format!("\nas a schedule: {}", code(expression)));
    }
    for span in &reading.remainder {
        put(&mut text, &format!("\nnot understood: {}", words(span)));
    }
    for correction in &reading.corrections {
        let read = code(&correction.replacement);
        put(
            &mut text,
            &format!("\n{} is read as {read}", words(&correction.span)),
        );
    }
    for note in &reading.notes {
        put(&mut text, &format!("\n{}", visible(note)));
    }
    if let Some(suggestion) = &reading.suggestion {
        put(&mut text, &format!("\nnearest: {}", code(suggestion)));
    }
    text
}

fn clause_text(reading: &Interpretation, clause: &Clause) -> String {
    let events = clause.events.iter().take(SHOWN_EVENTS);
    let names: Vec<String> = events.map(|event| code(&event.to_string())).collect();
    let mut text = names.join(" or ");
    let n_more = clause.events.len().saturating_sub(SHOWN_EVENTS);
    if n_more > 0 {
        text = format!("{text} or {n_more} more");
    }
    for (index, filter) in clause.filters.iter().enumerate() {
        let Some(filter) = reading.filters.get(*filter) else {
            continue;
        };
        let joined = if index == 0 { " where " } else { " and " };
        text.push_str(joined);
        text.push_str(&code(&filter.test.to_string()));
    }
    text
}

fn schedule_text(
    document: &OpenDocument,
    schedule: &Text,
    workspace: &Workspace<'_>,
) -> Option<String> {
    let expression: CronExpr = schedule.value.parse().ok()?;
    let zone = (workspace.zone)(document.root(), document.id());
    let mut text = expression.describe();
    let (name, civil) = (zone.name().to_owned(), zone.time_zone().clone());
    let schedule = Schedule::new(expression, zone);
    let mut at = (workspace.now)();
    put(&mut text, &format!("\n\nnext in {}:", code(&name)));
    for _ in 0..SHOWN_TIMES {
        let Some(next) = schedule.next_after(at) else {
            break;
        };
        let due = next.to_zoned(civil.clone());
        put(
            &mut text,
            &format!("- {}", due.strftime("%a %Y-%m-%d %H:%M")),
        );
        at = next;
    }
    Some(text)
}

/// Returns words of the author or of a file as code, which no editor renders as a link or an image.
fn code(words: &str) -> String {
    let words = visible(words);
    // A fence longer than every run of backticks inside it.
    let longest = words.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let space = if longest > 0 { " " } else { "" };
    format!("{fence}{space}{words}{space}{fence}")
}

fn put(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_contain_backticks_stay_inside_of_their_code() {
        assert_eq!(code("main"), "`main`");
        assert_eq!(code("`a` ``b``"), "``` `a` ``b`` ```");
    }
}
