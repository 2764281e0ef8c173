//! The facts of an event as stored: versioned JSON, field by field.
//!
//! A long string or list is not stored in addition to the payload that contains it: the field is named, and read again
//! from the payload when the event is read.

use std::borrow::Cow;

use daemon_event::{Enrichment, EventFacts, Field, FieldValue, Source, read};
use serde::{Deserialize, Serialize};

use super::damaged;
use crate::error::StoreError;

const VERSION: u32 = 1;
/// The length in bytes from which a value is read again from the payload.
const LONG: usize = 1_024;

#[derive(Serialize, Deserialize)]
struct FactsRow<'a> {
    v: u32,
    facts: Vec<(Cow<'a, str>, ValueRow<'a>)>,
    /// The fields to be read from the payload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reread: Vec<Cow<'a, str>>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum ValueRow<'a> {
    Flag(bool),
    Number(u64),
    Text(Cow<'a, str>),
    Texts(Vec<Cow<'a, str>>),
}

/// Reads the facts that a payload contains.
pub fn of_payload(source: Source, kind: &str, payload: &[u8]) -> EventFacts {
    // A payload that cannot be parsed contains no facts.
    read(source, kind, payload, &Enrichment::default())
        .map(|reading| reading.facts)
        .unwrap_or_default()
}

/// Returns the title among stored facts; `None` if they contain none, or one that is read again from the payload.
pub fn title(text: &str) -> Option<String> {
    let row: FactsRow<'_> = serde_json::from_str(text).ok()?;
    let mut facts = row.facts.into_iter();
    let (_, value) = facts.find(|(name, _)| name == Field::Title.name())?;
    match value {
        ValueRow::Text(title) => Some(title.into_owned()),
        ValueRow::Flag(_) | ValueRow::Number(_) | ValueRow::Texts(_) => None,
    }
}

/// Returns what a listing has of facts: the title, unless it is read again from the payload.
pub fn listed(facts: &EventFacts) -> EventFacts {
    let title = facts.text(Field::Title).filter(|title| title.len() < LONG);
    of_title(title)
}

/// Returns what a listing has of stored facts.
pub fn listed_of_text(text: &str) -> EventFacts {
    of_title(title(text).as_deref())
}

fn of_title(title: Option<&str>) -> EventFacts {
    let mut facts = EventFacts::default();
    if let Some(title) = title {
        facts.set_text(Field::Title, title);
    }
    facts
}

/// Writes facts; `said` reads the facts of the payload, and is called only if one of the facts is long.
///
/// # Errors
/// The error of `said`.
pub fn to_text<E>(
    facts: &EventFacts,
    said: impl FnOnce() -> Result<EventFacts, E>,
) -> Result<String, E> {
    let said = match has_long(facts) {
        true => said()?,
        false => EventFacts::default(),
    };
    let is_said =
        |field: Field, value: &FieldValue| is_long(value) && said.get(field) == Some(value);
    let (reread, stored): (Vec<_>, Vec<_>) = facts
        .iter()
        .partition(|(field, value)| is_said(*field, value));
    let row = FactsRow {
        v: VERSION,
        facts: stored
            .into_iter()
            .map(|(field, value)| (field.name().into(), to_row(value)))
            .collect(),
        reread: reread
            .into_iter()
            .map(|(field, _)| field.name().into())
            .collect(),
    };
    Ok(serde_json::to_string(&row).expect("text, numbers and flags are JSON"))
}

/// Reports whether facts contain a value that [`to_text`] looks for in the payload.
pub fn has_long(facts: &EventFacts) -> bool {
    facts.iter().any(|(_, value)| is_long(value))
}

fn is_long(value: &FieldValue) -> bool {
    value.texts().map(str::len).sum::<usize>() >= LONG
}

/// Reads facts without fields that this version does not know; `said` reads the facts of the payload, if they are needed.
///
/// # Errors
/// `Damaged` for a string that [`to_text`] did not write.
pub fn from_text(text: &str, said: impl FnOnce() -> EventFacts) -> Result<EventFacts, StoreError> {
    let row: FactsRow<'_> = serde_json::from_str(text).map_err(|error| damaged("facts", error))?;
    let mut facts = EventFacts::default();
    for (name, value) in row.facts {
        if let Ok(field) = name.parse::<Field>() {
            facts.set(field, from_row(value));
        }
    }
    if !row.reread.is_empty() {
        let is_named = |field: Field| row.reread.iter().any(|name| name == field.name());
        let mut said = said();
        for field in Field::ALL.iter().filter(|field| !is_named(**field)) {
            said.forget(*field);
        }
        facts.complete(&said);
    }
    Ok(facts)
}

fn to_row(value: &FieldValue) -> ValueRow<'_> {
    match value {
        FieldValue::Flag(flag) => ValueRow::Flag(*flag),
        FieldValue::Number(number) => ValueRow::Number(*number),
        FieldValue::Text(text) => ValueRow::Text(Cow::Borrowed(text)),
        FieldValue::Texts(texts) => {
            ValueRow::Texts(texts.iter().map(|text| Cow::Borrowed(&**text)).collect())
        }
    }
}

fn from_row(value: ValueRow<'_>) -> FieldValue {
    let boxed = |text: Cow<'_, str>| text.into_owned().into_boxed_str();
    match value {
        ValueRow::Flag(flag) => FieldValue::Flag(flag),
        ValueRow::Number(number) => FieldValue::Number(number),
        ValueRow::Text(text) => FieldValue::Text(boxed(text)),
        ValueRow::Texts(texts) => FieldValue::Texts(texts.into_iter().map(boxed).collect()),
    }
}
