//! The typed fields of an event that conditions are matched against.

use crate::field::{Field, FieldValue};

/// The typed fields of one event, ordered by field.
///
/// A missing field is unknown. A list that is present and empty is known to be empty: a condition on it is
/// decided, not left open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFacts {
    // A vector sorted by field: an event has a few dozen facts at most, and equality and iteration do not
    // depend on the order in which a payload lists them.
    entries: Vec<(Field, FieldValue)>,
}

impl EventFacts {
    /// Returns the value of a field, or `None` if it is unknown.
    pub fn get(&self, field: Field) -> Option<&FieldValue> {
        let at = self
            .entries
            .binary_search_by_key(&field, |(field, _)| *field);
        at.ok().map(|index| &self.entries[index].1)
    }

    /// Returns the string of a field, or the first one of a list.
    pub fn text(&self, field: Field) -> Option<&str> {
        self.get(field)?.texts().next()
    }

    /// Returns all strings of a field; empty if the field is unknown.
    pub fn texts(&self, field: Field) -> impl Iterator<Item = &str> {
        self.get(field).into_iter().flat_map(FieldValue::texts)
    }

    /// Returns the value of a flag, or `None` if it is unknown.
    pub fn flag(&self, field: Field) -> Option<bool> {
        match self.get(field)? {
            FieldValue::Flag(flag) => Some(*flag),
            FieldValue::Number(_) | FieldValue::Text(_) | FieldValue::Texts(_) => None,
        }
    }

    /// Returns the value of a number, or `None` if it is unknown.
    pub fn number(&self, field: Field) -> Option<u64> {
        match self.get(field)? {
            FieldValue::Number(number) => Some(*number),
            FieldValue::Flag(_) | FieldValue::Text(_) | FieldValue::Texts(_) => None,
        }
    }

    /// Sets a field, replacing its value.
    pub fn set(&mut self, field: Field, value: FieldValue) {
        match self
            .entries
            .binary_search_by_key(&field, |(field, _)| *field)
        {
            Ok(index) => self.entries[index].1 = value,
            Err(index) => self.entries.insert(index, (field, value)),
        }
    }

    /// Sets a field to one string.
    pub fn set_text(&mut self, field: Field, text: &str) {
        self.set(field, FieldValue::Text(text.into()));
    }

    /// Sets a field to a list of strings.
    pub fn set_texts<'a>(&mut self, field: Field, texts: impl IntoIterator<Item = &'a str>) {
        let texts = texts.into_iter().map(Into::into).collect();
        self.set(field, FieldValue::Texts(texts));
    }

    /// Removes a field, which makes it unknown.
    pub fn forget(&mut self, field: Field) {
        self.entries.retain(|(known, _)| *known != field);
    }

    /// Appends a string to a list field; an unknown list starts empty.
    pub fn push(&mut self, field: Field, text: &str) {
        self.know(field);
        if let Ok(index) = self
            .entries
            .binary_search_by_key(&field, |(field, _)| *field)
            && let FieldValue::Texts(texts) = &mut self.entries[index].1
        {
            texts.push(text.into());
        }
    }

    /// Makes a field of strings known: an unknown one becomes empty, a known one keeps its values.
    pub fn know(&mut self, field: Field) {
        if let Err(index) = self
            .entries
            .binary_search_by_key(&field, |(field, _)| *field)
        {
            self.entries
                .insert(index, (field, FieldValue::Texts(Vec::new())));
        }
    }

    /// Copies the fields of `others` that are unknown here.
    pub fn complete(&mut self, others: &Self) {
        for (field, value) in &others.entries {
            if self.get(*field).is_none() {
                self.set(*field, value.clone());
            }
        }
    }

    /// Returns the same facts with each string replaced.
    #[must_use]
    pub fn map_texts(&self, replace: impl Fn(&str) -> String) -> Self {
        let replaced = |value: &FieldValue| match value {
            FieldValue::Text(text) => FieldValue::Text(replace(text).into()),
            FieldValue::Texts(texts) => {
                FieldValue::Texts(texts.iter().map(|text| replace(text).into()).collect())
            }
            FieldValue::Flag(_) | FieldValue::Number(_) => value.clone(),
        };
        let entries = self.entries.iter();
        Self {
            entries: entries
                .map(|(field, value)| (*field, replaced(value)))
                .collect(),
        }
    }

    /// Returns every known field with its value, ordered by field.
    pub fn iter(&self) -> impl Iterator<Item = (Field, &FieldValue)> {
        self.entries.iter().map(|(field, value)| (*field, value))
    }
}
