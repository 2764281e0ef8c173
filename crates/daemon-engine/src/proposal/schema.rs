//! The JSON Schema of proposals, made from the table of verbs.

use serde_json::{Map, Value, json};

use super::field::{FieldKind, FieldRow};
use super::verb::{VERBS, VerbRow};
use super::{MAX_BODY_CHARS, PROPOSAL_VERSION};

/// Returns the JSON Schema, draft 2020-12, of a proposal with one of the verbs for which `is_served` returns true.
pub fn output_schema(is_served: impl Fn(&VerbRow) -> bool) -> Value {
    let served = VERBS.iter().filter(|row| is_served(row));
    let verbs: Vec<Value> = served.map(verb).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Proposed output",
        "description": "One line of the outputs file, or the `output` member of a line that a command prints.",
        "type": "object",
        "required": ["v", "verb"],
        "oneOf": verbs,
    })
}

fn verb(row: &VerbRow) -> Value {
    let mut properties = Map::new();
    properties.insert("v".to_owned(), json!({"const": PROPOSAL_VERSION}));
    properties.insert("verb".to_owned(), json!({"const": row.name}));
    if !row.targets.is_empty() {
        let forms: Vec<&str> = row.targets.iter().map(|kind| kind.form()).collect();
        let description = format!("{}; by default what woke the daemon", forms.join(" or "));
        let target = json!({"type": "string", "description": description});
        properties.insert("target".to_owned(), target);
    }
    properties.extend(row.fields.iter().flat_map(members));
    let required: Vec<&str> = ["v", "verb"]
        .into_iter()
        .chain(required(row.fields))
        .collect();
    json!({
        "type": "object",
        "description": row.summary,
        "required": required,
        "properties": properties,
        "additionalProperties": false,
    })
}

fn required(rows: &[FieldRow]) -> impl Iterator<Item = &'static str> {
    rows.iter()
        .filter(|row| row.is_required)
        .map(|row| row.name)
}

/// Returns the properties of a field: one for each of its names.
fn members(row: &FieldRow) -> impl Iterator<Item = (String, Value)> {
    let mut schema = kind(row.kind);
    schema["description"] = row.summary.into();
    let names = [Some(row.name), row.also].into_iter().flatten();
    names.map(move |name| (name.to_owned(), schema.clone()))
}

fn kind(kind: FieldKind) -> Value {
    let line = |most: usize| json!({"type": "string", "minLength": 1, "maxLength": most});
    match kind {
        FieldKind::Text => line(MAX_BODY_CHARS),
        FieldKind::Line(most) => line(most),
        FieldKind::Lines(most) => json!({"type": "array", "maxItems": most, "items": line(256)}),
        FieldKind::Name => json!({"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"}),
        FieldKind::Branch | FieldKind::Path => json!({"type": "string", "minLength": 1}),
        FieldKind::Output => json!({"type": "string", "pattern": "^[a-z2-7]{26}$"}),
        FieldKind::Number(least, most) => {
            json!({"type": "integer", "minimum": least, "maximum": most})
        }
        FieldKind::Flag => json!({"type": "boolean"}),
        FieldKind::OneOf(words) => json!({"enum": words}),
        FieldKind::Values => json!({"type": "object"}),
        FieldKind::Rows(rows, most) => {
            let properties: Map<String, Value> = rows.iter().flat_map(members).collect();
            let required: Vec<&str> = required(rows).collect();
            json!({
                "type": "array",
                "maxItems": most,
                "items": {
                    "type": "object",
                    "required": required,
                    "properties": properties,
                    "additionalProperties": false,
                },
            })
        }
    }
}
