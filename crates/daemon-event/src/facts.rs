//! The typed fields of an event that decide conditions.

use crate::field::{Field, FieldValue};

/// The typed fields of one event, ordered by field.
///
/// A field that is not there is unknown; a list that is there and empty is known to be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    entries: Vec<(Field, FieldValue)>,
}

impl Facts {
    /// Returns the value of a field, if it is known.
    pub fn get(&self, field: Field) -> Option<&FieldValue> {
        let at = self
            .entries
            .binary_search_by_key(&field, |(field, _)| *field);
        at.ok().map(|index| &self.entries[index].1)
    }

    /// Returns a field's text, or the first of its texts.
    pub fn text(&self, field: Field) -> Option<&str> {
        self.get(field)?.texts().next()
    }

    /// Returns all texts of a field; none if it is unknown.
    pub fn texts(&self, field: Field) -> impl Iterator<Item = &str> {
        self.get(field).into_iter().flat_map(FieldValue::texts)
    }

    /// Returns a flag, if it is known.
    pub fn flag(&self, field: Field) -> Option<bool> {
        match self.get(field)? {
            FieldValue::Flag(flag) => Some(*flag),
            FieldValue::Number(_) | FieldValue::Text(_) | FieldValue::Texts(_) => None,
        }
    }

    /// Returns a number, if it is known.
    pub fn number(&self, field: Field) -> Option<u64> {
        match self.get(field)? {
            FieldValue::Number(number) => Some(*number),
            FieldValue::Flag(_) | FieldValue::Text(_) | FieldValue::Texts(_) => None,
        }
    }

    /// Sets a field, replacing what was known of it.
    pub fn set(&mut self, field: Field, value: FieldValue) {
        match self
            .entries
            .binary_search_by_key(&field, |(field, _)| *field)
        {
            Ok(index) => self.entries[index].1 = value,
            Err(index) => self.entries.insert(index, (field, value)),
        }
    }

    /// Sets a field to one text.
    pub fn set_text(&mut self, field: Field, text: &str) {
        self.set(field, FieldValue::Text(text.into()));
    }

    /// Sets a field to a list of texts.
    pub fn set_texts<'a>(&mut self, field: Field, texts: impl IntoIterator<Item = &'a str>) {
        let texts = texts.into_iter().map(Into::into).collect();
        self.set(field, FieldValue::Texts(texts));
    }

    /// Makes a field unknown.
    pub fn forget(&mut self, field: Field) {
        self.entries.retain(|(known, _)| *known != field);
    }

    /// Adds a text to a list, which begins empty if it was unknown.
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

    /// Makes a list known: empty, unless it holds something already.
    pub fn know(&mut self, field: Field) {
        if let Err(index) = self
            .entries
            .binary_search_by_key(&field, |(field, _)| *field)
        {
            self.entries
                .insert(index, (field, FieldValue::Texts(Vec::new())));
        }
    }

    /// Adds what others know and this does not.
    pub fn complete(&mut self, others: &Self) {
        for (field, value) in &others.entries {
            if self.get(*field).is_none() {
                self.set(*field, value.clone());
            }
        }
    }

    /// Returns every known field with its value, ordered by field.
    pub fn iter(&self) -> impl Iterator<Item = (Field, &FieldValue)> {
        self.entries.iter().map(|(field, value)| (*field, value))
    }
}
