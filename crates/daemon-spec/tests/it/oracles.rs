//! What other readers make of the same files, and where they are wrong.

use daemon_spec::{DaemonFile, Entry, Field, List, Text};
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

fn list_value(field: &Field<List>) -> Option<Value> {
    let list = field.value()?;
    let texts: Option<Vec<_>> = list.entries.iter().map(Entry::text).collect();
    Some(Value::Sequence(
        texts?
            .into_iter()
            .map(|text| Value::String(text.value.clone()))
            .collect(),
    ))
}

/// The typed view, field by field; `None` for what is absent or not of its type.
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
fn fields_read_as_serde_yaml_reads_them() {
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

/// `serde_yaml` follows YAML 1.2 for words; a reader of YAML 1.1 makes booleans, numbers and dates
/// of these, so they are no text here.
#[test]
fn serde_yaml_takes_words_for_text_that_others_do_not() {
    for word in ["no", "Yes", "on", "1_000", "2026-01-31"] {
        let oracle: Value = serde_yaml::from_str(&format!("id: {word}")).unwrap();
        assert_eq!(oracle.get("id"), Some(&Value::String(word.to_owned())));
        let file = file(&format!("id: {word}"));
        assert_eq!(file.id().value(), None, "{word}");
    }
}

/// `serde_yaml` gives up at the first problem, so it has nothing to say about the rest of a file.
#[test]
fn serde_yaml_stops_where_reading_goes_on() {
    let yaml = "id: a: b\nid: twice\npurpose: fine\n";
    assert!(serde_yaml::from_str::<Value>(yaml).is_err());
    let file = file(yaml.trim_end());
    assert_eq!(
        file.purpose().value().map(|text| text.value.as_str()),
        Some("fine")
    );
}

#[test]
fn frames_are_cut_where_gray_matter_cuts_them() {
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

/// `gray_matter` returns bodies that are not the author's: line breaks at both ends are gone.
#[test]
fn gray_matter_trims_bodies() {
    let text = "---\nid: x\n---\n\n  indented\n\n";
    assert_eq!(gray_matter(text).unwrap().content, "  indented\n");
    assert_eq!(parsed(text).file.body_text(), "\n  indented\n\n");
}

/// `gray_matter` rewrites every line break of the body.
#[test]
fn gray_matter_rewrites_line_breaks() {
    let text = "---\r\nid: x\r\n---\r\na\r\nb\r\n";
    assert_eq!(gray_matter(text).unwrap().content, "a\nb");
    assert_eq!(parsed(text).file.body_text(), "a\r\nb\r\n");
}

/// `gray_matter` sees no front matter after a byte order mark, and says nothing.
#[test]
fn gray_matter_misses_front_matter_after_a_byte_order_mark() {
    let text = "\u{FEFF}---\nid: x\n---\nbody\n";
    assert_eq!(gray_matter(text).unwrap().matter, "");
    let parsed = parsed(text);
    assert_eq!(
        parsed.file.id().value().map(|id| id.value.as_str()),
        Some("x")
    );
    assert_eq!(parsed.diagnostics.len(), 1);
}

/// `gray_matter` takes an unclosed fence for no front matter at all, and says nothing.
#[test]
fn gray_matter_makes_front_matter_without_an_end_a_body() {
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
