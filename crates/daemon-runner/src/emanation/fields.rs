//! Removing the members of a call's objects one by one, and collecting the faults.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::fault::CallFault;

/// The members of one object that were not read yet. A null counts as absent.
pub(super) struct Fields<'f> {
    at: String,
    map: Map<String, Value>,
    faults: &'f mut Vec<CallFault>,
}

impl<'f> Fields<'f> {
    pub(super) fn new(at: &str, map: Map<String, Value>, faults: &'f mut Vec<CallFault>) -> Self {
        Self {
            at: at.to_owned(),
            map,
            faults,
        }
    }

    /// Returns the members of a task; a value that is not an object has none.
    pub(super) fn of_task(&mut self, index: usize, value: Value) -> Fields<'_> {
        let map = match value {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        Fields::new(&format!("tasks[{index}]"), map, self.faults)
    }

    /// Returns the name of the object in messages; empty for the call itself.
    pub(super) fn at(&self) -> &str {
        &self.at
    }

    /// Returns the members that were not read.
    pub(super) fn rest(self) -> Map<String, Value> {
        self.map
    }

    /// Adds a fault for each member that was not read.
    pub(super) fn finish(&mut self) {
        let left: Vec<String> = std::mem::take(&mut self.map)
            .into_iter()
            .map(|(name, _)| self.named(&name.chars().take(80).collect::<String>()))
            .collect();
        for name in left {
            self.fault(format!("{name} is not a parameter here"));
        }
    }

    /// Adds a fault with this message.
    pub(super) fn fault(&mut self, message: impl Into<String>) {
        self.faults.push(CallFault::argument(message));
    }

    /// Removes a member.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.map.remove(name).filter(|value| !value.is_null())
    }

    /// Removes a string.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text),
            _ => self.wrong(name),
        }
    }

    /// Removes a required string, which must not be blank.
    pub(super) fn required(&mut self, name: &str) -> String {
        let text = self.text(name).filter(|text| !text.trim().is_empty());
        text.unwrap_or_else(|| {
            let name = self.named(name);
            self.fault(format!("{name} is required"));
            String::new()
        })
    }

    /// Removes an absolute path.
    pub(super) fn path(&mut self, name: &str) -> Option<PathBuf> {
        let path = PathBuf::from(self.text(name)?);
        if path.is_absolute() {
            return Some(path);
        }
        let name = self.named(name);
        self.fault(format!("{name} must be an absolute path"));
        None
    }

    /// Removes an integer that is not negative.
    pub(super) fn number(&mut self, name: &str) -> Option<u64> {
        let value = self.take(name)?;
        if value.is_u64() {
            return value.as_u64();
        }
        let name = self.named(name);
        self.fault(format!("{name} must be an integer of at least 0"));
        None
    }

    /// Removes a list of strings.
    pub(super) fn texts(&mut self, name: &str) -> Option<Vec<String>> {
        let values = self.values(name)?.into_iter();
        let texts: Option<Vec<String>> = values
            .map(|value| match value {
                Value::String(text) => Some(text),
                _ => None,
            })
            .collect();
        match texts {
            Some(texts) => Some(texts),
            None => self.wrong(name),
        }
    }

    /// Removes a list.
    pub(super) fn values(&mut self, name: &str) -> Option<Vec<Value>> {
        match self.take(name)? {
            Value::Array(values) => Some(values),
            _ => self.wrong(name),
        }
    }

    /// Removes an object.
    pub(super) fn object(&mut self, name: &str) -> Option<Map<String, Value>> {
        match self.take(name)? {
            Value::Object(map) => Some(map),
            _ => self.wrong(name),
        }
    }

    fn wrong<T>(&mut self, name: &str) -> Option<T> {
        let name = self.named(name);
        self.fault(format!("{name} has the wrong type"));
        None
    }

    fn named(&self, name: &str) -> String {
        if self.at.is_empty() {
            return name.to_owned();
        }
        format!("{}.{name}", self.at)
    }
}
