//! The JSON form of a parsed file.

use daemon_lint::CheckedFile;
use daemon_spec::{
    Completeness, DaemonFile, Field, FieldList, ListEntry, Mistyped, Severity, Shape, SourceText,
    Span, Text, parse,
};
use serde_json::{Value, json};

/// Parses the text of a daemon file and returns its fields with their places.
#[must_use]
pub fn parse_json(text: &[u8]) -> String {
    let parsed = parse(text.to_vec());
    let is_ok = parsed
        .diagnostics
        .iter()
        .all(|found| found.severity != Severity::Error);
    let checked = CheckedFile {
        file: parsed.file,
        diagnostics: parsed.diagnostics,
    };
    let file = &checked.file;
    let unknown: Vec<&str> = file.unknown().map(|member| member.name.as_str()).collect();
    let completeness = match file.completeness() {
        Completeness::Nothing => "nothing",
        Completeness::Parts => "parts",
        Completeness::Whole => "whole",
    };
    let answer = json!({
        "schema_version": 1,
        "ok": is_ok,
        "completeness": completeness,
        "fields": fields(file),
        "unknown": unknown,
        "body": range(file.source(), file.body()),
        "diagnostics": checked.diagnostics_json(),
    });
    answer.to_string()
}

fn fields(file: &DaemonFile) -> Value {
    let source = file.source();
    json!({
        "id": field(source, file.id(), text),
        "purpose": field(source, file.purpose(), text),
        "watch": field(source, file.watch(), list),
        "routines": field(source, file.routines(), list),
        "deny": field(source, file.deny(), list),
        "schedule": field(source, file.schedule(), text),
    })
}

fn field<T>(source: &SourceText, field: &Field<T>, read: fn(&SourceText, &T) -> Value) -> Value {
    match field {
        Field::Absent => Value::Null,
        Field::Present { value, .. } => read(source, value),
        Field::Mistyped { value, .. } => mistyped(source, value),
    }
}

fn list(source: &SourceText, list: &FieldList) -> Value {
    let entries = list.entries.iter().map(|entry| match entry {
        ListEntry::Text(value) => text(source, value),
        ListEntry::Mistyped(value) => mistyped(source, value),
    });
    entries.collect()
}

fn text(source: &SourceText, text: &Text) -> Value {
    value(source, Some(&text.value), Shape::Text, text.span)
}

fn mistyped(source: &SourceText, mistyped: &Mistyped) -> Value {
    value(source, None, mistyped.shape, mistyped.span)
}

fn value(source: &SourceText, text: Option<&str>, shape: Shape, span: Span) -> Value {
    let mut acc = range(source, span);
    acc["value"] = json!(text);
    acc["shape"] = json!(word(shape));
    acc
}

const fn word(shape: Shape) -> &'static str {
    match shape {
        Shape::Null => "null",
        Shape::Boolean => "boolean",
        Shape::Number => "number",
        Shape::Date => "date",
        Shape::Text => "text",
        Shape::List => "list",
        Shape::Mapping => "mapping",
        Shape::Tagged => "tagged",
        Shape::Unreadable => "unreadable",
    }
}

fn range(source: &SourceText, span: Span) -> Value {
    let place = |byte| {
        let place = source.position(byte);
        json!({"line": place.line, "column": place.column, "byte": place.byte})
    };
    json!({"start": place(span.start), "end": place(span.end)})
}
