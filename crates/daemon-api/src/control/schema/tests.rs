use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{OF_CONNECTIONS, Table, protocol_schema, result_of};
use crate::ops::Operation;

/// The schema as it was written by `daemon-run schema protocol`.
const CHECKED_IN: &str = include_str!("../../../../../docs/protocol.schema.json");

#[test]
fn the_checked_in_schema_is_that_of_the_protocol() {
    let text = serde_json::to_string_pretty(&protocol_schema()).expect("a schema is JSON");
    assert_eq!(
        format!("{text}\n"),
        CHECKED_IN,
        "write it again: `daemon-run schema protocol > docs/protocol.schema.json`"
    );
}

#[test]
fn the_table_has_every_method_and_no_other() {
    let table = Table::read(include_str!("methods.txt"));
    let methods: BTreeSet<&str> = table.methods.keys().copied().collect();
    let operations = Operation::ALL.iter().map(|operation| operation.method());
    let expected: BTreeSet<&str> = operations.chain(OF_CONNECTIONS).collect();
    assert_eq!(methods, expected);
}

#[test]
fn every_object_that_is_referred_to_is_defined() {
    fn references(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(members) => {
                if let Some(Value::String(reference)) = members.get("$ref") {
                    found.insert(reference.clone());
                }
                members.values().for_each(|value| references(value, found));
            }
            Value::Array(values) => values.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
    let schema = protocol_schema();
    let mut found = BTreeSet::new();
    references(&schema, &mut found);
    let missing = found.iter().filter(|reference| {
        let path = reference.strip_prefix('#').unwrap();
        schema.pointer(path).is_none()
    });
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&String>::new());
    assert!(found.contains("#/$defs/RosterRowObject"), "{found:?}");
}

#[test]
fn a_row_of_the_table_becomes_two_schemas() {
    let table = Table::read(
        "# words\n+page: limit number, after text\nx/y: name text!, +page -> =TurnObject, n? text[]\n",
    );
    assert_eq!(
        table.method("x/y"),
        json!({
            "params": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "limit": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]},
                    "after": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                },
                "required": ["name"],
                "additionalProperties": false,
            },
            "result": {"allOf": [
                {"$ref": "#/$defs/TurnObject"},
                {"type": "object", "properties": {"n": {"type": "array", "items": {"type": "string"}}}, "required": []},
            ]},
        })
    );
    assert_eq!(
        result_of("turn number?"),
        json!({
            "type": "object",
            "properties": {"turn": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]}},
            "required": ["turn"],
            "additionalProperties": false,
        })
    );
    assert_eq!(result_of("*"), json!({"type": "object"}));
}
