//! Comparison with other parsers, and the cases in which they differ.

use daemon_spec::{DaemonFile, Field, FieldList, ListEntry, Text};
use gray_matter::{Matter, ParsedEntity, engine::YAML};
use serde_yaml::Value;

use crate::kit::{file, parsed};
use crate::schema::CORPUS;

fn gray_matter(text: &str) -> Option<ParsedEntity> {
    Matter::<YAML>::new().parse(text).ok()
}

fn text_value(field: &Field<Text>) -> Option<Value> {
    field.value().map(|text| Value::String(text.value.clone()))
}

fn list_value(field: &Field<FieldList>) -> Option<Value> {
    let list = field.value()?;
    let texts: Option<Vec<_>> = list.entries.iter().map(ListEntry::text).collect();
    Some(Value::Sequence(
        texts?
            .into_iter()
            .map(|text| Value::String(text.value.clone()))
            .collect(),
    ))
}

/// Returns the value of each field, or `None` if it is absent or mistyped.
fn typed(file: &DaemonFile) -> [(&'static str, Option<Value>); 6] {
    [
        ("id", text_value(file.id())),
        ("purpose", text_value(file.purpose())),
        ("watch", list_value(file.watch())),
        ("routines", list_value(file.routines())),
        ("deny", list_value(file.deny())),
        ("schedule", text_value(file.schedule())),
    ]
}

#[test]
fn fields_have_the_values_that_serde_yaml_reads() {
    for yaml in CORPUS {
        let file = file(yaml);
        let oracle: Value = serde_yaml::from_str(&format!("{yaml}\n")).unwrap();
        for (name, ours) in typed(&file) {
            let is_strings = |value: &Value| match value {
                Value::Sequence(entries) => entries.iter().all(Value::is_string),
                value => value.is_string(),
            };
            let is_list = matches!(name, "watch" | "routines" | "deny");
            let theirs = oracle
                .get(name)
                .filter(|value| is_strings(value) && value.is_sequence() == is_list);
            assert_eq!(ours.as_ref(), theirs, "`{name}` in {yaml}");
        }
    }
}

/// `serde_yaml` follows YAML 1.2. YAML 1.1 reads these words as booleans, numbers and dates, so this
/// parser does not accept them as text.
#[test]
fn words_that_only_serde_yaml_reads_as_text_are_mistyped() {
    for word in ["no", "Yes", "on", "1_000", "2026-01-31"] {
        let oracle: Value = serde_yaml::from_str(&format!("id: {word}")).unwrap();
        assert_eq!(oracle.get("id"), Some(&Value::String(word.to_owned())));
        let file = file(&format!("id: {word}"));
        assert_eq!(file.id().value(), None, "{word}");
    }
}

/// `serde_yaml` stops at the first problem, so it reports nothing about the rest of a file.
#[test]
fn parsing_continues_after_an_error_at_which_serde_yaml_stops() {
    let yaml = "id: a: b\nid: twice\npurpose: fine\n";
    assert!(serde_yaml::from_str::<Value>(yaml).is_err());
    let file = file(yaml.trim_end());
    assert_eq!(
        file.purpose().value().map(|text| text.value.as_str()),
        Some("fine")
    );
}

#[test]
fn front_matter_ends_where_gray_matter_ends_it() {
    for yaml in CORPUS {
        let text = format!("---\n{yaml}\n---\nbody with --- dashes\n\n- a list");
        let oracle = gray_matter(&text).unwrap();
        let file = parsed(&text).file;
        assert_eq!(
            file.source().slice(file.front_matter().unwrap()).trim_end(),
            oracle.matter.trim_end()
        );
        assert_eq!(file.body_text(), oracle.content);
    }
}

/// `gray_matter` removes line breaks at both ends of the body.
#[test]
fn a_body_that_gray_matter_trims_is_unchanged() {
    let text = "---\nid: x\n---\n\n  indented\n\n";
    assert_eq!(gray_matter(text).unwrap().content, "  indented\n");
    assert_eq!(parsed(text).file.body_text(), "\n  indented\n\n");
}

/// `gray_matter` rewrites every line break of the body.
#[test]
fn line_breaks_that_gray_matter_rewrites_are_unchanged() {
    let text = "---\r\nid: x\r\n---\r\na\r\nb\r\n";
    assert_eq!(gray_matter(text).unwrap().content, "a\nb");
    assert_eq!(parsed(text).file.body_text(), "a\r\nb\r\n");
}

/// `gray_matter` silently ignores front matter after a byte order mark.
#[test]
fn front_matter_after_a_byte_order_mark_is_read_and_ignored_by_gray_matter() {
    let text = "\u{FEFF}---\nid: x\n---\nbody\n";
    assert_eq!(gray_matter(text).unwrap().matter, "");
    let parsed = parsed(text);
    assert_eq!(
        parsed.file.id().value().map(|id| id.value.as_str()),
        Some("x")
    );
    assert_eq!(parsed.diagnostics.len(), 1);
}

/// `gray_matter` silently reads unclosed front matter as a body.
#[test]
fn unclosed_front_matter_is_reported_and_read_as_a_body_by_gray_matter() {
    let text = "---\nid: x\n";
    let oracle = gray_matter(text).unwrap();
    assert_eq!(
        (oracle.matter.as_str(), oracle.content.as_str()),
        ("", "id: x")
    );
    let codes: Vec<_> = parsed(text)
        .diagnostics
        .iter()
        .map(|found| found.code.number())
        .collect();
    assert_eq!(codes, [5]);
}
