//! Completion: fields, conditions and schedules.

use daemon_cron::{CronExpr, Schedule, Zone};
use daemon_spec::Span;
use jiff::Timestamp;
use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionItemLabelDetails, CompletionTextEdit,
    Documentation, InsertTextFormat, MarkupContent, MarkupKind, TextEdit,
};

use crate::document::OpenDocument;
use crate::hover::field_description;

/// A field, and the text that is inserted for it, with its places in the notation of snippets.
const FIELDS: [(&str, &str); 6] = [
    ("id", "id: ${1:$TM_DIRECTORY}"),
    ("purpose", "purpose: $1"),
    ("watch", "watch:\n  - $1"),
    ("schedule", "schedule: \"${1:0 9 * * 1-5}\""),
    ("routines", "routines:\n  - $1"),
    ("deny", "deny:\n  - $1"),
];

/// Schedules that many daemons have.
const SCHEDULES: [&str; 8] = [
    "0 9 * * 1-5",
    "0 9 * * 1",
    "0 9 * * *",
    "0 */2 * * *",
    "0 * * * *",
    "*/15 * * * *",
    "0 0 * * *",
    "0 9 1 * *",
];

/// Returns what can be inserted at an offset.
pub(crate) fn at(document: &OpenDocument, byte: usize, now: Timestamp) -> Vec<CompletionItem> {
    let file = document.file();
    let is_inside = file
        .front_matter()
        .is_some_and(|front| front.start <= byte && byte <= front.end);
    if !is_inside {
        return Vec::new();
    }
    let (start, line) = document.line(byte);
    let before = line.get(..byte - start).unwrap_or_default();
    if !before.starts_with([' ', '\t', '-']) && !before.contains(':') {
        return fields(document, Span::new(start, byte));
    }
    if let Some(typed) = before.strip_prefix("schedule:") {
        let value = Span::new(byte - typed.trim_start().len(), start + line.len());
        return schedules(document, value, now);
    }
    match entry(before) {
        Some(typed) if key_above(document, start) == Some("watch") => {
            conditions(document, Span::new(byte - typed.len(), start + line.len()))
        }
        _ => Vec::new(),
    }
}

/// Returns what is typed of an entry of a list, without its quote.
fn entry(before: &str) -> Option<&str> {
    let typed = before.trim_start().strip_prefix('-')?.trim_start();
    Some(typed.strip_prefix(['"', '\'']).unwrap_or(typed))
}

/// Returns the key of the list to which the entry on a line belongs.
fn key_above(document: &OpenDocument, line_start: usize) -> Option<&str> {
    let text = document.text().get(..line_start)?;
    let keys = text.lines().rev();
    let key = keys
        .into_iter()
        .find(|line| !line.is_empty() && !line.starts_with([' ', '\t', '-', '#']))?;
    Some(key.split_once(':')?.0.trim_end())
}

fn fields(document: &OpenDocument, typed: Span) -> Vec<CompletionItem> {
    let members = document.file().members();
    FIELDS
        .iter()
        .filter(|(name, _)| {
            // The field on this line is being typed.
            let is_there =
                |member: &daemon_spec::Member| member.name == *name && !typed.contains(member.key);
            !members.iter().any(is_there)
        })
        .map(|(name, snippet)| CompletionItem {
            label: (*name).to_owned(),
            kind: Some(CompletionItemKind::FIELD),
            documentation: field_description(name).map(markdown),
            insert_text_format: Some(InsertTextFormat::SNIPPET),
            text_edit: Some(replacement(document, typed, snippet)),
            ..CompletionItem::default()
        })
        .collect()
}

fn conditions(document: &OpenDocument, typed: Span) -> Vec<CompletionItem> {
    let phrasings = daemon_watch::phrasings().iter();
    phrasings
        .flat_map(|phrasing| {
            phrasing
                .phrases
                .iter()
                .map(move |phrase| (phrasing, phrase))
        })
        .map(|(phrasing, phrase)| CompletionItem {
            label: phrase.clone(),
            label_details: Some(CompletionItemLabelDetails {
                detail: None,
                description: Some(phrasing.event.to_string()),
            }),
            kind: Some(CompletionItemKind::EVENT),
            text_edit: Some(replacement(document, typed, phrase)),
            ..CompletionItem::default()
        })
        .collect()
}

fn schedules(document: &OpenDocument, value: Span, now: Timestamp) -> Vec<CompletionItem> {
    SCHEDULES
        .iter()
        .enumerate()
        .filter_map(|(index, text)| {
            let expression: CronExpr = text.parse().ok()?;
            let described = expression.describe();
            let next = Schedule::new(expression, Zone::utc()).next_after(now);
            let next = next.map_or_else(String::new, |at| format!("next in UTC: {at}"));
            Some(CompletionItem {
                label: format!("\"{text}\""),
                detail: Some(described),
                documentation: Some(markdown(next)),
                kind: Some(CompletionItemKind::VALUE),
                sort_text: Some(format!("{index:02}")),
                text_edit: Some(replacement(document, value, &format!("\"{text}\""))),
                ..CompletionItem::default()
            })
        })
        .collect()
}

fn replacement(document: &OpenDocument, span: Span, text: &str) -> CompletionTextEdit {
    CompletionTextEdit::Edit(TextEdit::new(document.range(span), text.to_owned()))
}

fn markdown(value: String) -> Documentation {
    Documentation::MarkupContent(MarkupContent {
        kind: MarkupKind::Markdown,
        value,
    })
}
