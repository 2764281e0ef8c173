//! The facts of an event as stored: versioned JSON, field by field.

use daemon_event::{Facts, Field, FieldValue};
use serde::{Deserialize, Serialize};

use crate::failure::{Outcome, damaged};

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct FactsRow {
    v: u32,
    facts: Vec<(String, ValueRow)>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum ValueRow {
    Flag(bool),
    Number(u64),
    Text(Box<str>),
    Texts(Vec<Box<str>>),
}

/// Writes facts.
pub(crate) fn to_text(facts: &Facts) -> String {
    let row = FactsRow {
        v: VERSION,
        facts: facts
            .iter()
            .map(|(field, value)| (field.name().to_owned(), to_row(value)))
            .collect(),
    };
    serde_json::to_string(&row).expect("text, numbers and flags are JSON")
}

/// Reads facts; a field that this version does not know is left out.
pub(crate) fn from_text(text: &str) -> Outcome<Facts> {
    let row: FactsRow = serde_json::from_str(text).map_err(|error| damaged("facts", error))?;
    let mut facts = Facts::default();
    for (name, value) in row.facts {
        if let Ok(field) = name.parse::<Field>() {
            facts.set(field, from_row(value));
        }
    }
    Ok(facts)
}

fn to_row(value: &FieldValue) -> ValueRow {
    match value {
        FieldValue::Flag(flag) => ValueRow::Flag(*flag),
        FieldValue::Number(number) => ValueRow::Number(*number),
        FieldValue::Text(text) => ValueRow::Text(text.clone()),
        FieldValue::Texts(texts) => ValueRow::Texts(texts.clone()),
    }
}

fn from_row(value: ValueRow) -> FieldValue {
    match value {
        ValueRow::Flag(flag) => FieldValue::Flag(flag),
        ValueRow::Number(number) => FieldValue::Number(number),
        ValueRow::Text(text) => FieldValue::Text(text),
        ValueRow::Texts(texts) => FieldValue::Texts(texts),
    }
}
