//! The JSON Schema and the parser accept the same front matter.

use daemon_spec::{Field, FieldList, ListEntry, Text, schema};

use crate::kit::file;

/// Valid and invalid front matter without syntax errors, which other parsers read in the same way.
pub(crate) const CORPUS: [&str; 36] = [
    "id: a\npurpose: Keeps things tidy.\nwatch:\n  - when a pull request is opened\nroutines:\n  - tidy up",
    "id: a\npurpose: b\nschedule: 0 9 * * 1-5\nroutines: [c]",
    "id: a\npurpose: b\nschedule: \"*/5 * * * *\"\nwatch: [c, 'd']\nroutines: [e]\ndeny:\n- f\n- \"g: h\"",
    "{\"id\": \"a\", \"purpose\": \"b\", \"watch\": [\"c\"], \"routines\": [\"d\"]}",
    "id: a\npurpose: >-\n  two\n  lines\nwatch:\n- |\n  kept\n  lines\nroutines:\n- >\n  folded\n  text",
    "id: 'it''s'\npurpose: \"tab\\tand \\u00e9\"\nwatch: [a]\nroutines: [b]",
    "id: a\npurpose: é🙂\nwatch: [a]\nroutines: [b]\nextra: {deep: [1, {x: null}]}",
    "id: a\npurpose: b\nwatch: &w [a, b]\nroutines: *w",
    "id: !!str 1\npurpose: b\nwatch: [a]\nroutines: [!!str 2]",
    "id: a # comment\npurpose: b\n# comment\nwatch:\n# comment\n- a # comment\n\nroutines: [b]",
    "id: 5:30 pm\npurpose: http://x.y/z#frag\nwatch: [a]\nroutines: [b]",
    "id: \"\"\npurpose: b\nwatch: [a]\nroutines: [b]",
    "id: a\npurpose: ''\nwatch: [a]\nroutines: [b]",
    "id: 1\npurpose: b\nwatch: [a]\nroutines: [b]",
    "id: true\npurpose: b\nwatch: [a]\nroutines: [b]",
    "id:\npurpose: b\nwatch: [a]\nroutines: [b]",
    "id: [a]\npurpose: b\nwatch: [a]\nroutines: [b]",
    "id: {a: b}\npurpose: b\nwatch: [a]\nroutines: [b]",
    "purpose: b\nwatch: [a]\nroutines: [b]",
    "id: a\nwatch: [a]\nroutines: [b]",
    "id: a\npurpose: b\nwatch: [a]",
    "id: a\npurpose: b\nroutines: [b]",
    "id: a\npurpose: b\nwatch: a\nroutines: [b]",
    "id: a\npurpose: b\nwatch:\nroutines: [b]",
    "id: a\npurpose: b\nwatch: []\nroutines: [b]",
    "id: a\npurpose: b\nwatch: [a]\nroutines: []",
    "id: a\npurpose: b\nwatch: [1]\nroutines: [b]",
    "id: a\npurpose: b\nwatch: [a]\nroutines: [null]",
    "id: a\npurpose: b\nwatch:\n- when: c\nroutines: [b]",
    "id: a\npurpose: b\nwatch: [a]\nroutines: [b]\ndeny: c",
    "id: a\npurpose: b\nwatch: [a]\nroutines: [b]\ndeny: [c, 1.5]",
    "id: a\npurpose: b\nwatch: [a]\nroutines: [b]\nschedule: 5",
    "id: a\npurpose: b\nwatch: [a]\nroutines: [b]\nschedule:",
    "id: a\npurpose: b\nschedule: [0 9 * * *]\nroutines: [b]",
    "id: a\npurpose: b\nwatch: {a: b}\nroutines: [b]",
    "ID: a\nPurpose: b\nwatch: [a]\nroutines: [b]",
];

/// Returns `true` if the parsed fields satisfy the schema: presence, types and emptiness.
fn is_well_typed(yaml: &str) -> bool {
    let file = file(yaml);
    let is_required =
        |field: &Field<Text>| field.value().is_some_and(|text| !text.value.is_empty());
    let is_texts = |list: &FieldList| {
        list.entries
            .iter()
            .all(|entry| matches!(entry, ListEntry::Text(_)))
    };
    let is_optional =
        |field: &Field<FieldList>| field.is_absent() || field.value().is_some_and(is_texts);
    is_required(file.id())
        && is_required(file.purpose())
        && file
            .routines()
            .value()
            .is_some_and(|list| !list.entries.is_empty() && is_texts(list))
        && is_optional(file.watch())
        && is_optional(file.deny())
        && (file.schedule().is_absent() || file.schedule().value().is_some())
        && !(file.watch().is_absent() && file.schedule().is_absent())
}

#[test]
fn the_schema_accepts_the_front_matter_that_the_parser_types() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let mut n_valid = 0;
    for yaml in CORPUS {
        let value: serde_yaml::Value = serde_yaml::from_str(yaml).unwrap();
        let instance = serde_json::to_value(value).unwrap();
        assert_eq!(validator.is_valid(&instance), is_well_typed(yaml), "{yaml}");
        n_valid += usize::from(is_well_typed(yaml));
    }
    assert_eq!(n_valid, 12, "the corpus holds good files and bad ones");
}

#[test]
fn the_schema_is_draft_2020_12_and_contains_the_six_fields() {
    let schema = schema();
    assert_eq!(
        schema["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    assert!(jsonschema::meta::is_valid(&schema));
    let names: Vec<_> = schema["properties"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        names,
        ["id", "purpose", "watch", "routines", "deny", "schedule"]
    );
    assert_eq!(
        schema["required"],
        serde_json::json!(["id", "purpose", "routines"])
    );
}
